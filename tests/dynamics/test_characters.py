"""Random characters in random worlds, in short; see `characters.py`."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.dynamics.characters import above, gap, problems, scene


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_moves_end_outside_and_pass_through_nothing(seed: int) -> None:
    wrong, seen = problems(100, seed)
    assert not wrong
    assert seen["hits"] > 20


def test_the_checks_see_what_is_wrong() -> None:
    place = scene(np.random.default_rng(0))
    radii = np.array([0.2, 0.3, 0.4])
    place.add(thud.Sphere(0.1), np.array([0.5, 0.5, 0.5]), np.array([1.0, 0, 0, 0]))
    # A ball that it has swallowed, one that it touches from outside, the cell's wall.
    assert gap(place, np.array([0.5, 0.5, 0.5]), radii) < 0.0
    assert gap(place, np.array([0.5, 0.5, 0.5 + 0.49]), radii) < 0.0
    assert gap(place, np.array([3.0 - 0.199, 2.9, 2.0]), radii) < 0.0
    place.add(thud.Box((1.0, 1.0, 1.0)), np.array([0.0, 0.0, 0.0]), np.array([1.0, 0, 0, 0]))
    assert gap(place, np.array([0.1, 0.1, 0.1]), np.array([0.01, 0.01, 0.01])) < 0.0
    ground = thud.HeightField(np.zeros((3, 3)), 1.0)
    vertices, faces, _ = ground.surface()
    place.heights = vertices[faces]
    assert above(place, np.array([0.5, 0.7, 0.1]))
    assert not above(place, np.array([0.5, 0.7, -0.1]))
