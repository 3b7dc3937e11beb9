"""A sheet falls on a ball, which feels it; a rope hangs; a sheet tears."""

from __future__ import annotations

import numpy as np

import thud

DT = 1.0 / 60.0


def run() -> tuple[thud.World, int, thud.dynamics.Sticks, thud.dynamics.Sticks, thud.dynamics.Sticks]:
    """Three nets of points and sticks."""
    world = thud.World()
    world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
    ball = world.add(thud.Sphere(0.3), thud.Pose([0, 0, 0.3]), mass=2.0)
    sheet = thud.dynamics.cloth((15, 15), 0.1, thud.Pose([0.2, 0, 0.8]))
    for _ in range(45):
        world.step(DT)
        told = sheet.step(world, DT)
    print(sheet, f"{told.contacts} contacts, sticks miss their lengths by at most {told.error:.1%}")

    rope = thud.dynamics.rope((0, 0, 2), (1, 0, 2), 21, length=1.3, pinned=[0, 20], damping=4.0, substeps=20, iterations=4)
    for _ in range(200):
        rope.step(None, DT)
    print(f"the rope sags by {2.0 - rope.position[:, 2].min():.3f} m")

    torn = thud.dynamics.cloth((6, 6), 0.1, pinned=np.arange(6), gravity=(0, 0, 0), tear=0.2)
    for _ in range(20):
        torn.pin(np.arange(30, 36), torn.position[30:] + [0, 0.03, 0])
        torn.step(None, DT)
    print(torn, f"{int((~torn.alive).sum())} sticks broke")
    return world, ball, sheet, rope, torn


def check(results: tuple[thud.World, int, thud.dynamics.Sticks, thud.dynamics.Sticks, thud.dynamics.Sticks]) -> None:
    """The sheet lies on the ball and has pushed it; the rope hangs in its middle; faces are gone with their sticks."""
    world, ball, sheet, rope, torn = results
    assert sheet.position[:, 2].min() > 0.0
    assert world.closest(sheet.position).distance.min() > -0.001
    assert np.linalg.norm(world.velocities(ball)[0]) > 1e-4
    assert np.argmin(rope.position[:, 2]) == 10
    assert (~torn.alive).any()
    assert len(torn.faces) < 50


if __name__ == "__main__":
    check(run())
