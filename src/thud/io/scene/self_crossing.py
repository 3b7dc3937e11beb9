"""Triangles of a mesh that cross each other."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.broadphase import pairs
from thud.geometry import triangle_triangle
from thud.io.scene.tolerances import CROSSING_BLOCK, CROSSING_CROWD, CROSSING_INSIDE, CROSSING_SAMPLE


def self_crossings(vertices: Floats, faces: Ints) -> int | None:
    """How many pairs of triangles without a common corner cross in a segment that runs through the inside of both.

    Touching along edges and in points is no crossing, nor are triangles that lie in each other. None if so many boxes of
    triangles overlap that it would cost more than it tells.
    """
    corners = vertices[faces]
    lower, upper = corners.min(axis=1), corners.max(axis=1)
    if _crowd(lower, upper) > CROSSING_CROWD:
        return None
    near = pairs(lower, upper)
    apart = (faces[near[:, 0], :, None] != faces[near[:, 1], None, :]).all(axis=(1, 2))
    near, count = near[apart], 0
    for start in range(0, len(near), CROSSING_BLOCK):
        some = near[start : start + CROSSING_BLOCK]
        a, b = corners[some[:, 0]], corners[some[:, 1]]
        # Most are told apart by the plane of one of them, which is cheaper than the exact test.
        open_ = ~(_one_side(a, b) | _one_side(b, a))
        a, b = a[open_], b[open_]
        if len(a) == 0:
            continue
        met = triangle_triangle(a, b)
        segment = met.intersects & ~met.coplanar & (met.start != met.end).any(axis=1)
        middle = 0.5 * (met.start + met.end)[segment]
        count += int(np.count_nonzero(_inside(middle, a[segment]) & _inside(middle, b[segment])))
    return count


def _crowd(lower: Floats, upper: Floats) -> float:
    """How many boxes a box overlaps, on average, by a sample of them."""
    rows = np.random.default_rng(0).choice(len(lower), min(len(lower), CROSSING_SAMPLE), replace=False)
    counts = [int(np.count_nonzero((lower <= upper[k]).all(axis=1) & (upper >= lower[k]).all(axis=1))) for k in rows]
    return float(np.mean(counts))


def _one_side(a: Floats, b: Floats) -> Bools:
    """Whether all corners of triangle b are clearly on one side of the plane of a."""
    normal = np.cross(a[:, 1] - a[:, 0], a[:, 2] - a[:, 0])
    heights = np.einsum("ni,nki->nk", normal, b - a[:, :1])
    margin = CROSSING_INSIDE * np.linalg.norm(normal, axis=1) * np.abs(b - a[:, :1]).max(axis=(1, 2))
    return (heights > margin[:, None]).all(axis=1) | (heights < -margin[:, None]).all(axis=1)


def _inside(points: Floats, triangles: Floats) -> Bools:
    """Whether points in the planes of triangles are inside of them, not on their edges."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normal = np.cross(b - a, c - a)
    whole = np.einsum("ni,ni->n", normal, normal)
    weights = [np.einsum("ni,ni->n", np.cross(q - p, points - p), normal) / whole for p, q in ((a, b), (b, c), (c, a))]
    return np.min(weights, axis=0) > CROSSING_INSIDE
