"""A heap of boxes and balls that has come to rest, drawn with its contacts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import thud


def run() -> tuple[thud.World, thud.WorldContacts, bytes]:
    """Twelve bodies fall into a heap; four seconds later it is drawn. Returns the world, its contacts and the picture."""
    world = thud.World(gravity=(0, 0, -9.81))
    world.add(thud.HalfSpace((0, 0, 1)), static=True, friction=0.8, name="floor")
    rng = np.random.default_rng(18)
    shapes = [thud.Box((0.25, 0.2, 0.15)), thud.Sphere(0.2), thud.Cylinder(0.2, 0.15)]
    for k in range(12):
        world.add(shapes[k % 3], thud.Pose([*rng.uniform(-0.3, 0.3, 2), 0.4 + 0.45 * k]), friction=0.8)
    for _ in range(240):
        world.step(1 / 60)
    touch = world.contacts()
    print(touch)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "heap.png"
        thud.plot(world, touch, file=file, title="a heap and its contacts")
        return world, touch, file.read_bytes()


def check(results: tuple[thud.World, thud.WorldContacts, bytes]) -> None:
    """Everything lies on something, nothing has sunk in, and there is a picture."""
    world, touch, picture = results
    rows = world.poses()  # (N, 7): x y z qw qx qy qz
    assert (rows[1:, 2] > 0.14).all()
    assert rows[1:, 2].max() < 1.5
    assert touch.depth.max() < 2e-3
    assert set(world.index(touch.pairs.ravel()).tolist()) == set(range(13))
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000


if __name__ == "__main__":
    check(run())
