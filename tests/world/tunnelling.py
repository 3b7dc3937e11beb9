"""Random fast bodies between thin walls and among each other, on demand: `python -m tests.world.tunnelling --bodies 10000`.

Bodies are in closed cells of six thin walls, two to a cell, so that they meet walls and each other. One that is outside its
cell after a step has tunnelled. Nothing drives them, so no cell may come to hold more kinetic energy than it began with.
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


#: Part of its energy that a cell may gain: what a step's noise explains, over a few parts of a step.
GAIN = 0.1


def escaped(count: int, seed: int, steps: int, cells_a_world: int = 50) -> tuple[list[int], list[int]]:
    """Numbers of bodies that left their cells, and of the first bodies of cells that gained energy. Two bodies a cell."""
    rng = np.random.default_rng(seed)
    found: list[int] = []
    gained: list[int] = []
    for first in range(0, count, 2 * cells_a_world):
        gone, more = _escaped(rng, min(count - first, 2 * cells_a_world), steps)
        found += [first + k for k in gone]
        gained += [first + 2 * k for k in more]
    return found, gained


def kinetic(world: thud.World, handles: np.ndarray) -> np.ndarray:
    """(N,) joules, from the public state alone."""
    energy = np.empty(len(handles))
    linear, angular = world.velocities(handles)
    for k, (handle, pose) in enumerate(zip(handles.tolist(), world.poses(handles), strict=True)):
        known = thud.mass_properties(world.shape(handle), 1000.0)
        turn = thud.Pose.from_array(pose).rotation.reshape(3, 3)
        v = linear[k] + np.cross(angular[k], turn @ known.center_of_mass)
        u = turn.T @ angular[k]
        energy[k] = 0.5 * known.mass * (v @ v) + 0.5 * u @ known.inertia @ u
    return energy


def _escaped(rng: np.random.Generator, count: int, steps: int) -> tuple[list[int], list[int]]:
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
    gone, gained = np.zeros(count, np.bool_), np.zeros(cells, np.bool_)
    begin = np.add.reduceat(kinetic(world, bodies), np.arange(0, count, 2))
    for number in range(steps):
        world.step(DT)
        if number % 10 == 1 or number == steps - 1:
            gained |= np.add.reduceat(kinetic(world, bodies), np.arange(0, count, 2)) > (1.0 + GAIN) * begin
        inside = np.abs(world.poses(bodies)[:, :3] - own) < HALF + THIN
        gone |= ~inside.all(axis=1)
    return np.flatnonzero(gone).tolist(), np.flatnonzero(gained).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found, gained = escaped(arguments.bodies, arguments.seed, arguments.steps)
    print(f"{len(found)} of {arguments.bodies} bodies tunnelled: {found[:20]}")
    print(f"{len(gained)} cells gained energy: {gained[:20]}")
    raise SystemExit(bool(found or gained))


if __name__ == "__main__":
    main()
