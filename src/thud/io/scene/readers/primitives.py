"""Boxes, balls, cylinders, cones and capsules as triangles, closed and facing outward."""

from __future__ import annotations

import numpy as np

#: Sides of what is round (a count). The triangles are inside the shape, by at most 0.5 % of its radius.
SIDES = 32


def box(size: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """A box of these lengths about the origin."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return corners * np.asarray(size, dtype=np.float64), np.array(faces)


def lathe(profile: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Points (radius, height) turned about z, from the lowest to the highest; the first and last are on the axis."""
    angle = np.arange(SIDES) * (2.0 * np.pi / SIDES)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = [np.column_stack([radius * around, np.full(SIDES, height)]) for radius, height in profile[1:-1]]
    vertices = np.concatenate([[[0.0, 0.0, profile[0][1]]], *rings, [[0.0, 0.0, profile[-1][1]]]])
    k = np.arange(SIDES)
    after = (k + 1) % SIDES
    faces = [np.column_stack([np.zeros(SIDES, dtype=np.int64), 1 + after, 1 + k])]
    for ring in range(len(rings) - 1):
        low, high = 1 + ring * SIDES, 1 + (ring + 1) * SIDES
        faces += [np.column_stack([low + k, low + after, high + after]), np.column_stack([low + k, high + after, high + k])]
    top = 1 + (len(rings) - 1) * SIDES
    faces.append(np.column_stack([top + k, top + after, np.full(SIDES, len(vertices) - 1)]))
    return vertices, np.concatenate(faces)


def cylinder(radius: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """About z, from -height / 2 to height / 2."""
    return lathe([(0.0, -height / 2), (radius, -height / 2), (radius, height / 2), (0.0, height / 2)])


def cone(radius: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """About z, its tip up at height / 2."""
    return lathe([(0.0, -height / 2), (radius, -height / 2), (0.0, height / 2)])


def capsule(radius: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """About z, with half balls at both ends of a cylinder of this height."""
    angle = np.linspace(-np.pi / 2, 0.0, SIDES // 4 + 1)
    low = [(radius * float(np.cos(a)), radius * float(np.sin(a)) - height / 2) for a in angle]
    high = [(r, -z) for r, z in reversed(low)]
    profile = low + (high[1:] if height == 0.0 else high)
    profile[0], profile[-1] = (0.0, profile[0][1]), (0.0, profile[-1][1])
    return lathe(profile)


def sphere(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """About the origin."""
    return capsule(radius, 0.0)
