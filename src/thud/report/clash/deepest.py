"""The deepest point of one surface below another, by halving triangles where it may be."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.queries import closest_point
from thud.report.clash.meeting import Body
from thud.report.clash.tolerances import MOST_HALVED, NEARLY


def deepest_point(a: Body, b: Body, lower: Floats, upper: Floats, tolerance: float) -> tuple[float, bool]:
    """(metres, decided), of two closed meshes: above the tolerance if any point of either surface is deeper in the other than
    that and by more than `NEARLY` of it; else the deepest found, at least 0. Not decided: `MOST_HALVED` points a side do not
    tell.

    No point of a triangle is deeper than its middle by more than the radius about that, so that most of them are done with
    at once, and the others are cut into four.

    lower, upper : (3,) the box that both share
    """
    deepest, decided = 0.0, True
    for body, other in ((a, b), (b, a)):
        corners = body.place(np.asarray(body.mesh.vertices))[np.asarray(body.mesh.faces)]
        near = (corners.min(axis=1) <= upper).all(axis=1) & (corners.max(axis=1) >= lower).all(axis=1)
        left, asked = corners[near], 0
        while len(left) and asked < MOST_HALVED:
            # The largest first, where there are too many.
            middle = left.mean(axis=1)
            radius = np.linalg.norm(left - middle[:, None], axis=2).max(axis=1)
            decided &= len(left) <= MOST_HALVED - asked
            some = np.sort(np.argsort(-radius, kind="stable")[: MOST_HALVED - asked])
            left, middle, radius = left[some], middle[some], radius[some]
            asked += len(left)
            depth = -closest_point(other.mesh, middle, pose=other.pose, signed=True, threads=1).distance
            deepest = max(deepest, float(depth.max()))
            if deepest > tolerance:
                return deepest, True
            left = _quarters(left[depth + radius > tolerance * (1.0 + NEARLY)])
        decided &= len(left) == 0
    return deepest, decided


def _quarters(corners: Floats) -> Floats:
    """(4 N, 3, 3) of (N, 3, 3) triangles."""
    p, q, r = corners[:, 0], corners[:, 1], corners[:, 2]
    pq, qr, rp = 0.5 * (p + q), 0.5 * (q + r), 0.5 * (r + p)
    return np.concatenate([np.stack(one, axis=1) for one in ((p, pq, rp), (pq, q, qr), (rp, qr, r), (pq, qr, rp))])
