"""A world saved in the middle of a fall goes on from the file to the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import thud


def run() -> tuple[thud.World, thud.World, np.ndarray]:
    """A tower is knocked over; half way it is saved and loaded, and both worlds go on."""
    world = thud.World(gravity=(0, 0, -9.81))
    world.add(thud.HalfSpace((0, 0, 1)), static=True, name="floor")
    tower = world.add_many(thud.Box((0.25, 0.25, 0.25)), thud.Pose([[0, 0, 0.25 + 0.5 * k] for k in range(6)]))
    ball = world.add(thud.Sphere(0.3), thud.Pose([-3, 0, 1.6]), velocity=(12, 0, 1), mass=80.0, name="ball")
    for _ in range(25):
        world.step(1 / 60)
    with tempfile.TemporaryDirectory() as folder:
        thud.io.save_world(world, Path(folder) / "tower.npz")
        again = thud.io.load_world(Path(folder) / "tower.npz")
    for _ in range(60):
        world.step(1 / 60)
        again.step(1 / 60)
    print(f"{again}: the top box is at {again.poses(tower[-1])[0, :3].round(3).tolist()} in both")
    return world, again, np.append(tower, ball)


def check(results: tuple[thud.World, thud.World, np.ndarray]) -> None:
    """Handles and names are still valid, and the two futures are one; the tower did fall."""
    world, again, handles = results
    assert again.name(handles[-1]) == "ball"
    assert world.poses(handles).tobytes() == again.poses(handles).tobytes()
    for one, other in zip(world.velocities(handles), again.velocities(handles), strict=True):
        assert one.tobytes() == other.tobytes()
    assert world.contacts().point.tobytes() == again.contacts().point.tobytes()
    assert world.poses(handles[-2])[0, 2] < 2.0


if __name__ == "__main__":
    check(run())
