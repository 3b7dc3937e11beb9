"""Which of many parts touch? M pairs of S shapes in one call, and the closest pair first."""

from __future__ import annotations

import numpy as np

import thud


def run() -> thud.Distances:
    """A ring of 12 posts around a drum: distances of all pairs."""
    drum, post = thud.Cylinder(radius=1.0, half_length=0.5), thud.Capsule(radius=0.2, half_length=0.6)
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    ring = np.stack([1.5 * np.cos(angle), 1.5 * np.sin(angle), np.zeros(12)], axis=1)
    shapes = [drum, *[post] * 12]
    poses = thud.Pose(np.concatenate([[[0.0, 0.0, 0.0]], ring]))
    pairs = np.stack(np.triu_indices(len(shapes), 1), axis=1)
    result = thud.distance_pairs(shapes, pairs, poses)
    nearest = int(result.distance.argmin())
    print(f"closest: shapes {pairs[nearest].tolist()}, {result.distance[nearest]:.3f} m apart")
    return result


def check(result: thud.Distances) -> None:
    """Every post is 0.3 m from the drum; neighbours are 2 * 1.5 * sin(pi/12) - 0.4 apart."""
    np.testing.assert_allclose(result.distance[:12], 0.3, atol=1e-6)
    np.testing.assert_allclose(result.distance[12:].min(), 3.0 * np.sin(np.pi / 12.0) - 0.4, atol=1e-9)
    assert (result.status == thud.Status.SEPARATED).all()


if __name__ == "__main__":
    check(run())
