"""Two meshes that turn: when, where and along what do they first touch?"""

from __future__ import annotations

import numpy as np

import thud

LENGTH, WIDTH, APART, TURN = 1.0, 0.1, 1.5, 2.0


def run() -> thud.Impacts:
    """Two bars side by side turn towards each other, by 2 radians in the step: displacement, then rotation vector."""
    bar = thud.Box((WIDTH, LENGTH, 0.05)).to_mesh()
    hit = thud.cast(bar, bar, None, thud.Pose([APART, 0, 0]), [0, 0, 0, 0, 0, -TURN], [0, 0, 0, 0, 0, TURN])
    print(f"they touch after {hit.time[0]:.6f} of the step, at {hit.point[0].round(3).tolist()}")
    return hit


def check(hit: thud.Impacts) -> None:
    """Each bar is the other's mirror image: they meet when a corner reaches the plane between them, never reported late."""
    angle = np.arcsin(APART / 2.0 / np.hypot(LENGTH, WIDTH)) - np.arctan(WIDTH / LENGTH)
    assert hit.status[0] == thud.CastStatus.HIT
    assert angle / TURN - 1e-7 < hit.time[0] <= angle / TURN + 1e-12
    corner = LENGTH * np.cos(angle) - WIDTH * np.sin(angle)
    np.testing.assert_allclose(hit.point[0, :2], [APART / 2.0, corner], atol=1e-6)
    np.testing.assert_allclose(np.abs(hit.normal[0, 0]), 1.0, atol=1e-5)


if __name__ == "__main__":
    check(run())
