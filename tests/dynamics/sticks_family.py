"""Cloth that must not pass itself or a sheet without thickness: folding, draped, and pulled through a slit.

A step is one sub-step here, so that points go straight from step to step and an oracle can look at all of their ways.
`python -m tests.dynamics.sticks_family [--seeds 5]` looks at many.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

import thud
from tests.oracles.sticks import passed_between
from thud._core.arrays import Floats, Ints
from thud.dynamics import Sticks, cloth

KINDS = ("fold", "drape", "slit")

DT = 1.0 / 240.0


class Case(NamedTuple):
    """A world, a sheet in it, the triangles that stand still, steps, and points that are pulled along x."""

    world: thud.World
    sheet: Sticks
    fixed: Floats
    steps: int
    pulled: Ints


def case(kind: str, seed: int, itself: bool = True) -> Case:
    """One of a family."""
    rng = np.random.default_rng(seed)
    world = thud.World(threads=1)
    fixed, pulled = np.empty((0, 3, 3)), np.empty(0, np.int64)
    options = {"substeps": 1, "self_collision": itself, "threads": 1}
    if kind == "fold":
        # An upright sheet falls on the ground and lays itself in folds.
        world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
        pose = thud.Pose.from_rotation_vector([0, 0, 0.5], [1.5 + 0.1 * rng.normal(), 0.2 * rng.normal(), rng.normal()])
        return Case(world, cloth((16, 8), 0.06, pose, bend=1.0, velocity=(0, 0, -4), **options), fixed, 80, pulled)
    if kind == "drape":
        # On spikes: triangles of which a sheet meets corners and edges.
        fixed = 0.15 * rng.normal(size=(6, 1, 3)) + [0, 0, 0.2] + 0.1 * rng.normal(size=(6, 3, 3))
        world.add(thud.TriangleMesh(fixed.reshape(-1, 3), np.arange(18).reshape(-1, 3)), static=True)
        sheet = cloth((12, 12), 0.06, thud.Pose([0, 0, 0.6]), velocity=(0, 0, -3), **options)
        return Case(world, sheet, fixed, 70, pulled)
    # Two walls with a slit between them; the sheet is pulled through it by two of its points, and gathers.
    wall = np.array([[0, 0.05, -1.0], [0, 2, -1], [0, 2, 1], [0, 0.05, 1]])
    corners, faces = np.concatenate([wall, wall * [1, -1, 1]]), np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])
    world.add(thud.TriangleMesh(corners, faces), static=True)
    sheet = cloth((11, 10), 0.06, thud.Pose([-0.3, 0, 0]), gravity=(0, 0, 0), **options)
    sheet.velocity[:] = 0.3 * rng.normal(size=(len(sheet), 3))
    pulled = np.array([5, 6]) * 10 - 1
    return Case(world, sheet, corners[faces], 90, pulled)


def passed(kind: str, seed: int, itself: bool = True) -> tuple[int, int, int]:
    """How often the sheet passed itself or a triangle; its most contacts, and pairs that were held back."""
    world, sheet, fixed, steps, pulled = case(kind, seed, itself)
    total = most = held = 0
    for _ in range(steps):
        before = sheet.position.copy()
        if len(pulled):
            sheet.velocity[pulled, 0] += 2.0
        step = sheet.step(world, DT)
        assert step.crossed == 0
        most, held = max(most, step.contacts), held + step.held
        total += passed_between(before, sheet.position, sheet.faces, fixed)
    return total, most, held


def main() -> None:
    """Look at many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    for seed in range(parser.parse_args().seeds):
        for kind in KINDS:
            total, most, held = passed(kind, seed)
            print(f"{kind} {seed}: passed {total} times; {most} contacts at most, {held} pairs held back", flush=True)


if __name__ == "__main__":
    main()
