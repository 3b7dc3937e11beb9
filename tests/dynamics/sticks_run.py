"""Cloth that falls on a moving mesh beside a thin wall, looked at by brute force after each step.

`python -m tests.dynamics.sticks_run [--points 10000] [--steps 90] [--every 1]` prints steps a second and what passed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import thud
from tests.oracles.meshes import blob_mesh, placed_corners
from tests.oracles.sticks import passings
from thud._core.arrays import Floats
from thud.pose import as_poses

DT = 1.0 / 60.0


def scene(side: int, substeps: int = 4, threads: int | None = None) -> tuple[thud.World, int, thud.dynamics.Sticks, Floats]:
    """A world, the moving mesh in it, the cloth, and the triangles of the thin wall."""
    world = thud.World(threads=threads)
    world.add(thud.HalfSpace((0.0, 0.0, 1.0), 0.0), static=True)
    vertices, faces = blob_mesh(14, 3, 0.25)
    ball = world.add(
        thud.TriangleMesh(0.35 * vertices, faces), thud.Pose([0.0, 0.0, 0.5]), kinematic=True, velocity=(0.4, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 1.5),
    )  # fmt: skip
    # A sheet without thickness, upright, across the cloth's way.
    corners = np.array([[-0.6, -0.4, 0.0], [-0.6, 0.4, 0.0], [-0.6, 0.4, 0.6], [-0.6, -0.4, 0.6]])
    wall = thud.TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]]))
    world.add(wall, static=True)
    cloth = thud.dynamics.cloth(
        (side, side), 1.8 / (side - 1), thud.Pose([0.0, 0.0, 1.0]), substeps=substeps, damping=0.2, threads=threads
    )
    return world, ball, cloth, corners[[[0, 1, 2], [0, 2, 3]]]


def mesh_now(world: thud.World, handle: int) -> Floats:
    """(T, 3, 3) triangles of a body's mesh where it is."""
    mesh = world.shape(handle)
    assert isinstance(mesh, thud.TriangleMesh)
    return placed_corners(mesh, as_poses(world.poses(handle), "poses")[0])


def main() -> None:
    """Run it at full size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--every", type=int, default=15)
    parser.add_argument("--substeps", type=int, default=4)
    options = parser.parse_args()
    world, ball, cloth, wall = scene(round(options.points**0.5), options.substeps)
    spent, worst = [], (0, 0)
    for k in range(options.steps):
        world.step(DT)
        begin = time.perf_counter()
        step = cloth.step(world, DT)
        spent.append(time.perf_counter() - begin)
        if (k + 1) % options.every == 0:
            found = passings(cloth.position, cloth.faces, np.concatenate([mesh_now(world, ball), wall]))
            below = int((cloth.position[:, 2] < 0.0).sum())
            worst = max(worst, found)
            print(
                f"step {k + 1}: {1e3 * np.mean(spent[-options.every :]):.0f} ms a step, {step.contacts} contacts, stick error"
                f" {step.error:.3f} (mean {step.mean_error:.4f}), passed itself {found[0]}, bodies {found[1]}, ground {below},"
                f" crossed {step.crossed}",
                flush=True,
            )
    print(f"{len(spent) / sum(spent[1:]):.1f} steps a second over all, worst {worst}")


if __name__ == "__main__":
    main()
