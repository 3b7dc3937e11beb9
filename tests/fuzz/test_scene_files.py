"""Sixty malformed scene files; `python -m tests.fuzz.scene_files` has more."""

from __future__ import annotations

import os

from tests.fuzz.scene_files import originals, run_case
from thud.io.scene.child import Readers

CASES = 13 if os.environ.get("THUD_TEST_SIZE") == "small" else 60


def test_malformed_files_are_scenes_or_named_errors(tmp_path):
    with Readers() as readers:
        files = originals(tmp_path)
        outcomes = [run_case(case, files, readers) for case in range(CASES)]
    assert [outcome for outcome in outcomes if outcome.broken] == []
    # Mutations that every reader overlooks would show nothing.
    assert sum(outcome.what != "scene" for outcome in outcomes) > CASES // 3
