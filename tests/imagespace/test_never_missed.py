"""No pair that shares a ball of the stated size is missed and no distant one reported, on random scenes of all kinds."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.imagespace.never_missed import KINDS, SIZES, run
from tests.oracles.common_balls import Part, ball_radius, box_overlap, common_ball, hull_distance, solid_distance


def test_no_pair_is_missed() -> None:
    tally = run(20 if os.environ.get("THUD_TEST_SIZE") == "small" else SIZES["ci"])
    assert tally.cases == []
    assert set(tally.kinds) == set(KINDS)
    for way in ("plain", "precise", "exact"):
        assert tally.must[way] > tally.scenes
    # Not only those that had to be found.
    assert tally.shallow > 0.05 * tally.scenes
    assert tally.reported > tally.must["plain"]


def corners(low: tuple[float, float, float], high: tuple[float, float, float]) -> Part:
    return Part(np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])], float))


def test_the_oracle_on_boxes() -> None:
    """Answers that one can do by hand."""
    one, two, far = corners((0, 0, 0), (1, 1, 1)), corners((0.7, 0.2, 0.1), (2, 2, 2)), corners((4, 5, 1), (6, 6, 6))
    assert ball_radius(one, two) == pytest.approx(0.15)
    assert ball_radius(one, far) < 0.0
    assert hull_distance(one, far) == pytest.approx(5.0)
    assert hull_distance(one, two) == 0.0
    assert common_ball([one, far], [two]) == pytest.approx(0.3)
    assert solid_distance([one, two], [far]) == pytest.approx(np.sqrt(4 + 9))
    assert box_overlap([one], [two]) == pytest.approx(np.sqrt(0.3**2 + 0.8**2 + 0.9**2))
    assert box_overlap([one], [far]) == 0.0
