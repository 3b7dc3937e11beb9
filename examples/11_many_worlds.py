"""64 crawlers with four legs try a gait each, all at once; the one that came farthest tries it again in a world of its own."""

from __future__ import annotations

import numpy as np

import thud
from thud.dynamics import Hinge, Motor
from thud.world import WorldBatch

DT = 1.0 / 60.0

#: Gaits that are tried; steps of a try.
GAITS, STEPS = 64, 150


def crawler() -> thud.World:
    """A trunk on four legs of two parts, which hinges drive to angles."""
    world = thud.World(sleep_after=None)
    world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True, friction=0.9)
    trunk = world.add(thud.Box((0.3, 0.12, 0.06)), thud.Pose((0, 0, 0.42)), density=400.0)
    motor = Motor(position=0.0, stiffness=60.0, damping=3.0, force=60.0)
    for x in (-0.24, 0.24):
        for y in (-0.18, 0.18):
            thigh = world.add(thud.Capsule(0.04, 0.07), thud.Pose((x, y, 0.32)), density=800.0)
            shin = world.add(thud.Capsule(0.04, 0.09), thud.Pose((x, y, 0.13)), density=800.0, friction=0.9)
            world.add_joint(Hinge((x, y, 0.41), (0, 1, 0), motor=motor), thigh, trunk)
            world.add_joint(Hinge((x, y, 0.23), (0, 1, 0), motor=motor), shin, thigh)
    return world


def angles(gaits: np.ndarray, time: float) -> np.ndarray:
    """(N, 8) angles of the hinges of gaits (N, 3, 8): swing, phase and middle of each hinge."""
    return gaits[:, 0] * np.sin(2.0 * np.pi * (1.5 * time + gaits[:, 1])) + gaits[:, 2]


def run() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far each went, where the best one ended, and where it ended alone."""
    rng = np.random.default_rng(7)
    low, high = np.array([0.0, 0.0, -0.3]), np.array([0.6, 1.0, 0.3])
    gaits = rng.uniform(low[:, None], high[:, None], (GAITS, 3, 8))
    batch = WorldBatch(crawler(), GAITS)
    for step in range(STEPS):
        batch.set_targets(angles(gaits, step * DT))
        batch.step(DT)
    far = batch.poses()[:, 1, 0]
    best = int(np.argmax(far))
    print(f"{GAITS} gaits in {STEPS * DT:.1f} s: median {np.median(far):.2f} m, the best one {far[best]:.2f} m")

    alone = crawler()
    for step in range(STEPS):
        alone.set_targets(alone.joints(), angles(gaits[best : best + 1], step * DT)[0])
        alone.step(DT)

    # The worse half begins again with gaits near the best one; the others go on.
    worse = np.argsort(far)[: GAITS // 2]
    batch.reset(worse)
    gaits[worse] = np.clip(gaits[best] + 0.05 * rng.normal(size=(len(worse), 3, 8)), low[:, None], high[:, None])
    for step in range(STEPS):
        batch.set_targets(angles(gaits, step * DT))
        batch.step(DT)
    again = batch.poses()[worse, 1, 0]
    print(f"{len(worse)} gaits near it: median {np.median(again):.2f} m, the best one {again.max():.2f} m")
    return far, alone.poses(), again


def check(results: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """The best one came forward, alone it comes to the same place to the last bit, and gaits near it are better than most."""
    far, alone, again = results
    assert far.max() > 0.3
    assert alone[1, 0] == far.max()
    assert np.median(again) > np.median(far)


if __name__ == "__main__":
    check(run())
