"""The scene of `thud demo`: one of each shape on the ground, some of them touching."""

from __future__ import annotations

import numpy as np

import thud
from thud.shapes.shape import Shape


def scene() -> tuple[list[str], list[Shape], thud.Pose]:
    """Names, shapes and poses (metres, z up)."""
    rng = np.random.default_rng(7)
    stone = rng.normal(size=(40, 3))
    stone *= 0.45 / np.linalg.norm(stone, axis=1, keepdims=True)
    hammer = thud.Compound(
        [thud.Cylinder(0.06, 0.5), thud.Box([0.28, 0.12, 0.12])],
        [thud.Pose(), thud.Pose([0, 0, 0.5])],
    )
    tilt = [np.cos(0.3), np.sin(0.3), 0.0, 0.0]
    lying = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
    entries: list[tuple[str, Shape, list[float], list[float]]] = [
        ("ground", thud.HalfSpace([0, 0, 1]), [0, 0, 0], [1, 0, 0, 0]),
        ("crate", thud.Box([0.5, 0.5, 0.5]), [0, 0, 0.495], [1, 0, 0, 0]),
        ("ball", thud.Sphere(0.35), [0.1, 0.05, 1.33], [1, 0, 0, 0]),
        ("stone", thud.ConvexHull(stone), [0.85, 0.1, 0.40], [1, 0, 0, 0]),
        ("barrel", thud.Cylinder(0.3, 0.45), [-0.785, 0.2, 0.445], [1, 0, 0, 0]),
        ("post", thud.Capsule(0.12, 0.6), [-0.2, 1.5, 0.12], lying),
        ("cone", thud.Cone(0.3, 0.4), [0.6, -0.95, 0.4], [1, 0, 0, 0]),
        ("egg", thud.Ellipsoid([0.2, 0.2, 0.3]), [-0.55, -0.8, 0.295], [1, 0, 0, 0]),
        ("hammer", hammer, [1.4, 0.75, 0.62], tilt),
    ]
    return (
        [entry[0] for entry in entries],
        [entry[1] for entry in entries],
        thud.Pose([entry[2] for entry in entries], [entry[3] for entry in entries]),
    )
