"""The smallest box with a side on a face of the convex hull.

The box of least volume has at least two neighbouring sides flush with edges of the hull (O'Rourke 1985). Here one side is
flush with a face: over each face's normal the box stands on the smallest rectangle about the hull's shadow, which has a side on
an edge of the shadow's hull (rotating calipers). It is never larger than the box given.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from thud._core.arrays import Floats
from thud.bounds.tolerances import TIGHT_FACES, TIGHT_SAME


def tight_box(points: Floats, axes: Floats) -> Floats:
    """(3, 3) axes of the box; `axes` if none is smaller, and of points that are flat."""
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return _flat_box(points, axes)
    corners = points[hull.vertices]
    normals = hull.equations[:, :3]
    # One of each pair of opposite ones, and of those that are the same.
    sign = np.sign(normals[np.arange(len(normals)), np.abs(normals).argmax(axis=1)])
    normals = np.unique(np.round(normals * sign[:, None] / TIGHT_SAME) * TIGHT_SAME, axis=0)[:TIGHT_FACES]
    best, least = axes, float(np.prod(np.ptp(corners @ axes.T, axis=0)))
    for n in normals / np.linalg.norm(normals, axis=1)[:, None]:
        frame = _standing(corners, n)
        volume = float(np.prod(np.ptp(corners @ frame.T, axis=0)))
        if volume < least:
            best, least = frame, volume
    return best


def _standing(corners: Floats, n: Floats) -> Floats:
    """Axes of the smallest box with a side along n."""
    u = np.eye(3)[np.abs(n).argmin()]
    u = u - (u @ n) * n
    u /= np.linalg.norm(u)
    v = np.cross(n, u)
    shadow = corners @ np.stack([u, v], axis=1)
    angle = _smallest_rectangle(shadow)
    side = np.cos(angle) * u + np.sin(angle) * v
    return np.stack([side, np.cross(n, side), n])


def _smallest_rectangle(shadow: Floats) -> float:
    """The angle of a side of the smallest rectangle about points in the plane."""
    try:
        around = shadow[ConvexHull(shadow).vertices]
    except (QhullError, ValueError):
        around = shadow
    edges = np.roll(around, -1, axis=0) - around
    angles = np.arctan2(edges[:, 1], edges[:, 0])
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    along, across = around[:, 0] * c + around[:, 1] * s, around[:, 1] * c - around[:, 0] * s
    return float(angles[(np.ptp(along, axis=1) * np.ptp(across, axis=1)).argmin()])


def _flat_box(points: Floats, axes: Floats) -> Floats:
    """Of points in a plane, or on a line: the smallest rectangle in the plane of the two longest axes."""
    across = np.ptp(points @ axes.T, axis=0)
    order = np.argsort(-across, kind="stable")
    if across[order[1]] <= TIGHT_SAME * across[order[0]]:
        return axes
    return _standing(points, axes[order[2]])
