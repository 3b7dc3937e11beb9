"""No deep pair is missed and no distant one reported, on random scenes."""

from __future__ import annotations

import os

from tests.imagespace.never_missed import SIZES, run


def test_no_deep_pair_is_missed() -> None:
    tally = run(20 if os.environ.get("THUD_TEST_SIZE") == "small" else SIZES["ci"])
    assert tally.cases == []
    assert tally.deep > tally.scenes
