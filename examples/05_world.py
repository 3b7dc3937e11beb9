"""A world of many bodies: crates on a floor, one dropped among them, and the whole scene saved and loaded."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import thud


def run() -> tuple[thud.World, thud.World, int, int]:
    """Twenty by twenty crates that touch; a ball falls on one of them. Returns the world, its copy, the ball and that crate."""
    world = thud.World()
    world.add(thud.HalfSpace((0, 0, 1)), static=True, name="floor")
    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0), indexing="ij")
    places = np.stack([x, y, np.full_like(x, 0.5)], axis=-1).reshape(-1, 3)
    crates = world.add_many(thud.Box((0.5, 0.5, 0.5)), thud.Pose(places), mass=10.0)
    ball = world.add(thud.Sphere(0.4), thud.Pose((7.0, 3.0, 5.4)), velocity=(0, 0, -20), name="ball")

    # One crate is gone, one is lifted.
    world.remove(crates[0])
    world.set_poses(crates[-1], thud.Pose((19.0, 19.0, 9.0)))
    meeting, touch = world.intersecting(), world.contacts()
    print(f"{world}: {len(meeting)} pairs meet in {len(touch.depth)} points")
    print("milliseconds by phase:", {name: round(1e3 * seconds, 2) for name, seconds in world.stats.seconds.items()})

    hits = world.impacts(dt=0.5)
    fall = hits.handle_b == ball
    print(f"the ball hits crate {int(hits.handle_a[fall][0])} after {0.5 * hits.time[fall][0]:.3f} s")

    with tempfile.TemporaryDirectory() as folder:
        thud.io.save_world(world, Path(folder) / "crates.npz")
        copy = thud.io.load_world(Path(folder) / "crates.npz")
    return world, copy, ball, int(crates[7 * 20 + 3])


def check(results: tuple[thud.World, thud.World, int, int]) -> None:
    """A crate touches its neighbours, also across a corner; the ball falls 4 m at 20 m/s; the copy answers alike."""
    world, copy, ball, below = results
    # 20 x 20 crates have 1482 pairs of neighbours; two corner crates lack 3 each. 398 stand on the floor.
    assert len(world.intersecting()) == 1482 - 6 + 398
    hits = world.impacts(dt=0.5)
    fall = np.flatnonzero(hits.handle_b == ball)
    assert hits.handle_a[fall[0]] == below
    np.testing.assert_allclose(0.5 * hits.time[fall[0]], 0.2, atol=1e-6)
    assert copy.name(ball) == "ball"
    for a, b in ((world.contacts(), copy.contacts()), (world.distances(0.5), copy.distances(0.5))):
        assert a.handle_a.tobytes() == b.handle_a.tobytes()
        assert a.normal.tobytes() == b.normal.tobytes()
    try:
        world.set_poses(1 << 32 | 1, None)
    except thud.errors.StaleHandleError as error:
        print(error)
    else:
        raise AssertionError("the first crate was removed, so its handle is stale")


if __name__ == "__main__":
    check(run())
