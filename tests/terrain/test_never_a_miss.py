"""3,000 random poses here; 100,000: `python -m tests.terrain.never_a_miss --size standard`."""

from __future__ import annotations

import os

from tests.terrain.never_a_miss import SIZES, run


def test_no_collision_is_missed_and_no_alarm_is_false() -> None:
    small = os.environ.get("THUD_TEST_SIZE") == "small"
    tally = run(SIZES["small" if small else "ci"])
    assert tally.missed == 0
    assert tally.false_alarms == 0
    assert tally.paper_differs == 0
    if not small:
        # Both outcomes, the ground and the margin are there to be judged.
        assert tally.hits > 1_200
        assert tally.poses - tally.hits > 600
        assert tally.buried > 5
        assert tally.within < 100
