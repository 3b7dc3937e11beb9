"""A depth image of terrain, as a camera over it would measure."""

from __future__ import annotations

import numpy as np

import thud

WIDTH, HEIGHT = 160, 120
EYE, FORWARD = np.array([4.0, 4.0, 18.0]), np.array([1.0, 1.0, -0.5]) / 1.5


def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Hills, metres."""
    return 3.0 * np.sin(0.2 * x) * np.cos(0.15 * y)


def run() -> tuple[np.ndarray, thud.RayHits]:
    """One ray a pixel, rows from the top of the image. Depth is measured along the camera's axis; inf is sky."""
    x, y = np.meshgrid(np.arange(0.0, 64.25, 0.25), np.arange(0.0, 64.25, 0.25))
    hills = thud.terrain.from_heights(height(x, y), 0.25, samples=16).surface
    origins, directions = thud.geometry.camera_rays(EYE, FORWARD, [0, 0, 1], 1.2, WIDTH, HEIGHT)
    seen = thud.raycast(hills, origins, directions)
    depth = (seen.distance * (directions @ FORWARD)).reshape(HEIGHT, WIDTH)
    print(f"{np.isfinite(depth).mean():.0%} of the image is ground, {depth.min():.2f} m and more away")
    return depth, seen


def check(results: tuple[np.ndarray, thud.RayHits]) -> None:
    """What is seen lies on the hills, is seen first, and the sky is above."""
    depth, seen = results
    ground = np.isfinite(seen.distance)
    point = seen.point[ground]
    np.testing.assert_allclose(point[:, 2], height(point[:, 0], point[:, 1]), atol=2e-3)
    np.testing.assert_allclose((point - EYE) @ FORWARD, depth.ravel()[ground], atol=1e-9)
    # Nothing stands between the eye and what it sees.
    way = EYE + np.linspace(0.0, 0.999, 200)[:, None, None] * (point - EYE)
    assert (way[..., 2] > height(way[..., 0], way[..., 1]) - 5e-3).all()
    assert np.isinf(depth[0]).all()
    assert np.isfinite(depth[-1]).all()


if __name__ == "__main__":
    check(run())
