"""Random fast bodies between thin walls and among each other, on demand: `python -m tests.world.tunnelling --bodies 10000`.

Bodies are in closed cells of six thin walls, two to a cell, so that they meet walls and each other. One that is outside its
cell after a step has tunnelled.
"""

from __future__ import annotations

import argparse

import numpy as np

import thud

DT = 1.0 / 60.0
HALF = 0.5
THIN = 0.004


def shapes(rng: np.random.Generator, count: int) -> list[thud.Shape]:
    """Small ones of several kinds."""
    made: list[thud.Shape] = []
    for k in range(count):
        a, b, c = rng.uniform(0.01, 0.06, 3)
        made.append(
            [
                thud.Sphere(a), thud.Box((a, b, c)), thud.Capsule(a, b), thud.Cylinder(a, b),
                thud.ConvexHull(rng.normal(size=(12, 3)) * [a, b, c] * 0.6), thud.Box((0.15, 0.01, 0.02)),
            ][k % 6]
        )  # fmt: skip
    return made


def escaped(count: int, seed: int, steps: int, cells_a_world: int = 50) -> list[int]:
    """Numbers of bodies that left their cells. Two bodies a cell."""
    rng = np.random.default_rng(seed)
    found: list[int] = []
    for first in range(0, count, 2 * cells_a_world):
        found += [first + k for k in _escaped(rng, min(count - first, 2 * cells_a_world), steps)]
    return found


def _escaped(rng: np.random.Generator, count: int, steps: int) -> list[int]:
    world, cells = thud.World(gravity=(0, 0, 0), sleep_after=None), -(-count // 2)
    centers = 3.0 * np.stack(np.unravel_index(np.arange(cells), (8, 8, -(-cells // 64))), axis=1)
    for axis in range(3):
        sides = np.full(3, HALF + 0.05)
        sides[axis] = THIN
        for sign in (-1.0, 1.0):
            at = centers.copy()
            at[:, axis] += sign * (HALF + THIN)
            world.add_many(thud.Box(sides), thud.Pose(at), static=True)
    own = np.repeat(centers, 2, axis=0)[:count]
    offset = rng.uniform(-0.1, 0.1, (count, 3))
    offset[:, 0] += np.where(np.arange(count) % 2, 0.22, -0.22)
    way = rng.normal(size=(count, 3))
    speed = 10.0 ** rng.uniform(0.0, 3.5, count)
    quaternion = rng.normal(size=(count, 4))
    poses = np.column_stack([own + offset, quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)])
    bodies = world.add_many(
        shapes(rng, count), poses, velocity=way / np.linalg.norm(way, axis=1, keepdims=True) * speed[:, None],
        angular_velocity=rng.normal(size=(count, 3)) * 10.0 ** rng.uniform(0.0, 2.0, (count, 1)),
        restitution=rng.uniform(0, 1, count),
    )  # fmt: skip
    gone = np.zeros(count, np.bool_)
    for _ in range(steps):
        world.step(DT)
        inside = np.abs(world.poses(bodies)[:, :3] - own) < HALF + THIN
        gone |= ~inside.all(axis=1)
    return np.flatnonzero(gone).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = escaped(arguments.bodies, arguments.seed, arguments.steps)
    print(f"{len(found)} of {arguments.bodies} bodies tunnelled: {found[:20]}")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
