"""A hill with a tunnel through it as a displaced surface: what no height map can hold, at some eleven bytes a sample."""

from __future__ import annotations

import numpy as np

import thud


def ground(points: np.ndarray) -> np.ndarray:
    """Signed distance, negative inside the ground: rolling land, a hill, and a tunnel along x."""
    x, y, z = points.T
    hill = 14.0 * np.exp(-(x**2 + y**2) / 200.0) + 0.4 * np.sin(0.4 * x) * np.cos(0.3 * y)
    land = 0.8 * (z - hill)
    tunnel = np.hypot(y - 2.0 * np.sin(0.1 * x), z - 3.0) - 4.0
    return np.maximum(land, -tunnel)


def run() -> tuple[thud.terrain.MadeSurface, thud.RayCrossings]:
    """Make the surface, and look for ground along a vertical line through the tunnel."""
    made = thud.terrain.from_field(ground, [-32, -32, -8], [32, 32, 20], cell=4.0, samples=8)
    print(made.surface)
    print(made.report)
    crossings = thud.raycast_all(made.surface.to_mesh(), [[0.3, 0.2, 20.0]], [[0.0, 0.0, -1.0]])
    print("ground at heights", (20.0 - crossings.distance).round(2).tolist())
    return made, crossings


def check(results: tuple[thud.terrain.MadeSurface, thud.RayCrossings]) -> None:
    """The line meets hilltop, roof and floor of the tunnel; samples lie on the original."""
    made, crossings = results
    np.testing.assert_allclose(20.0 - crossings.distance, [14.0, 7.0, -1.0], atol=0.1)
    assert made.error_mean < 0.01
    assert made.failed < 0.01 * made.traced
    # One quad's samples: base + length * direction.
    one = made.surface.samples(0)
    np.testing.assert_allclose(one.position + one.length[..., None] * one.direction, one.point, atol=1e-12)


if __name__ == "__main__":
    check(run())
