"""Two minutes of the soak; an hour: `python -m tests.world.soak`."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.world.soak import Soak

SECONDS = 20.0 if os.environ.get("THUD_TEST_SIZE") == "small" else 120.0


def test_a_heap_that_is_disturbed() -> None:
    soak = Soak(seed=1)
    soak.run(SECONDS)
    soak.check()
    assert soak.added > 20
    assert soak.put_in > 1e4
    assert soak.broken + soak.removed + soak.asleep > 0


@pytest.mark.parametrize("seed", range(4))
def test_a_spinning_rod_gains_nothing(seed: int) -> None:
    """A rod that turns by a radian or two in a step, among balls: contacts are found for parts of the step. (For whole steps
    the energy nearly doubles.)"""
    world = thud.World(threads=1)
    world.add(thud.HalfSpace((0.0, 0.0, 1.0)), static=True, friction=0.5)
    world.add_many(thud.Sphere(0.2), [(x, y, 0.2, 1, 0, 0, 0) for x in (-0.5, 0.0, 0.5) for y in (-0.5, 0.0, 0.5)])
    spin = np.random.default_rng(seed).normal(size=3) * 70.0
    world.add(thud.Box((0.3, 0.06, 0.06)), (0.0, 0.0, 0.75, 1, 0, 0, 0), angular_velocity=spin, restitution=0.5)
    world.step(1e-6)
    first = last = sum(world.energy())
    gained = 0.0
    for _ in range(60):
        world.step(1 / 60)
        energy = sum(world.energy())
        gained += max(energy - last, 0.0)
        last = energy
    assert gained < 0.05 * first
