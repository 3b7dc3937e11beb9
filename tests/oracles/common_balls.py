"""How much two solids share, and how far they are apart, in NumPy and SciPy alone.

A solid is a list of convex parts, each the hull of points in the world; parts may overlap. What two convex parts share is an
intersection of half-spaces, and the largest ball in it is a linear program. The distance of two hulls is the least norm in
the hull of their vertices' differences, a least-squares problem with positive unknowns (Lawson and Hanson 1974, 23.4).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, nnls
from scipy.spatial import ConvexHull as Qhull

Floats = npt.NDArray[np.float64]


class Part:
    """The hull of (N, 3) points."""

    def __init__(self, points: Floats) -> None:
        hull = Qhull(points)
        self.points = points[hull.vertices]
        self.planes = np.unique(hull.equations.round(14), axis=0)
        """(F, 4): inside where normal . x + offset <= 0."""


def ball_radius(a: Part, b: Part) -> float:
    """Radius of the largest ball in what two parts share; negative where they share nothing."""
    middle = 0.5 * (a.points.mean(axis=0) + b.points.mean(axis=0))
    planes = np.concatenate([a.planes, b.planes])
    rows = np.column_stack([planes[:, :3], np.ones(len(planes))])
    found = linprog([0, 0, 0, -1], rows, -planes[:, 3] - planes[:, :3] @ middle, bounds=[(None, None)] * 4)
    assert found.status == 0, found.message
    return float(found.x[3])


def hull_distance(a: Part, b: Part) -> float:
    """Distance of two parts that share nothing; 0 where they do."""
    between = (a.points[:, None] - b.points[None]).reshape(-1, 3)
    size = np.abs(between).max()
    rows = np.vstack([between.T / size, np.ones(len(between))])
    weights, off = nnls(rows, np.array([0.0, 0.0, 0.0, 1.0]))
    if off < 1e-9:
        return 0.0
    return float(size * np.linalg.norm(rows[:3] @ weights) / weights.sum())


def common_ball(a: Sequence[Part], b: Sequence[Part]) -> float:
    """Diameter of a ball that two solids share: the largest that two of their parts do; negative if none overlap."""
    return max(2.0 * ball_radius(p, q) for p in a for q in b if _near(p, q)) if any(_near(p, q) for p in a for q in b) else -1.0


def solid_distance(a: Sequence[Part], b: Sequence[Part]) -> float:
    """Distance of two solids; 0 where they overlap."""
    return min(hull_distance(p, q) for p in a for q in b)


def box_overlap(a: Sequence[Part], b: Sequence[Part]) -> float:
    """Diagonal of what the boxes around two solids share, 0 if that is nothing."""
    low = np.maximum(*(np.min([p.points.min(axis=0) for p in solid], axis=0) for solid in (a, b)))
    high = np.minimum(*(np.max([p.points.max(axis=0) for p in solid], axis=0) for solid in (a, b)))
    return float(np.linalg.norm(high - low)) if (high >= low).all() else 0.0


def _near(a: Part, b: Part) -> bool:
    return bool((a.points.min(axis=0) <= b.points.max(axis=0)).all() and (b.points.min(axis=0) <= a.points.max(axis=0)).all())
