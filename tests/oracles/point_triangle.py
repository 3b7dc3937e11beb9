"""Distance of a point from triangles: the foot on the plane if it lies inside, else the nearest of the three edges."""

from __future__ import annotations

import numpy as np


def point_segment(p, a, b):
    """(N,) distances of p (3,) from segments a, b (N, 3)."""
    along = b - a
    length2 = np.einsum("ij,ij->i", along, along)
    s = np.einsum("ij,ij->i", p - a, along) / np.where(length2 > 0.0, length2, 1.0)
    return np.linalg.norm(a + np.clip(s, 0.0, 1.0)[:, None] * along - p, axis=1)


def point_triangles(p, corners):
    """(N,) distances of p (3,) from triangles (N, 3, 3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    best = np.minimum(np.minimum(point_segment(p, a, b), point_segment(p, b, c)), point_segment(p, c, a))
    normal = np.cross(b - a, c - a)
    area = np.linalg.norm(normal, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        normal = normal / area[:, None]
        height = np.einsum("ij,ij->i", p - a, normal)
        foot = p - height[:, None] * normal
        inside = np.ones(len(a), dtype=bool)
        for one, two in ((a, b), (b, c), (c, a)):
            inside &= np.einsum("ij,ij->i", np.cross(two - one, foot - one), normal) >= 0.0
    return np.where(inside & (area > 0.0), np.minimum(np.abs(height), best), best)
