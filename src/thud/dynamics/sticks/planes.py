"""The plane between a point and a face, or between two edges: what keeps them on their sides.

Both are convex, so the direction between their closest points separates them, vertex by vertex. While all points move straight
from x to y, the difference of two of them along a fixed direction is linear in time: if it is positive at both ends it is so in
between, and the two do not meet. No root of a cubic is looked for.
"""

from __future__ import annotations

import math

from thud._core.decorators import device
from thud.dynamics.sticks.types import FACE
from thud.geometry.segment import closest_segment_parameters
from thud.math.vec3 import add_scaled, cross, dot, norm2, sub


@device
def face_weights(p, a, b, c):
    """Weights of the point of the triangle abc closest to p (Ericson 2005, 5.1.5)."""
    ab, ac, ap = sub(b, a), sub(c, a), sub(p, a)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    bp = sub(p, b)
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3) if d1 > d3 else 0.0
        return 1.0 - v, v, 0.0
    cp = sub(p, c)
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6) if d2 > d6 else 0.0
        return 1.0 - w, 0.0, w
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        whole = (d4 - d3) + (d5 - d6)
        w = (d4 - d3) / whole if whole > 0.0 else 0.0
        return 0.0, 1.0 - w, w
    # Inside. The cross products lose less in needles than the products above.
    n = cross(ab, ac)
    n2 = norm2(n)
    v, w = dot(cross(ap, ac), n) / n2, dot(cross(ab, ap), n) / n2
    return 1.0 - v - w, v, w


@device
def pair_plane(kind, p0, p1, p2, p3):
    """(distance, normal from B to A, weights of the four points): sum of weight x point is the way from B's closest point to
    A's. Normal 0 where the two touch."""
    if kind == FACE:
        u, v, w = face_weights(p0, p1, p2, p3)
        d = sub(p0, p1)
        d = add_scaled(add_scaled(d, sub(p1, p2), v), sub(p1, p3), w)
        w0, w1, w2, w3 = 1.0, -u, -v, -w
    else:
        d1, d2, r = sub(p1, p0), sub(p3, p2), sub(p0, p2)
        _gap2, s, t = closest_segment_parameters(r, d1, d2)
        d = add_scaled(add_scaled(r, d1, s), d2, -t)
        w0, w1, w2, w3 = 1.0 - s, s, t - 1.0, -t
    length = math.sqrt(norm2(d))
    n = (d[0] / length, d[1] / length, d[2] / length) if length > 0.0 else (0.0, 0.0, 0.0)
    return length, n, w0, w1, w2, w3


@device
def gap_along(kind, n, p0, p1, p2, p3):
    """How far A is beyond B along n: the least of A less the greatest of B."""
    a, b, c, d = dot(n, p0), dot(n, p1), dot(n, p2), dot(n, p3)
    if kind == FACE:
        return a - max(b, max(c, d))
    return min(a, b) - max(c, d)


@device
def _apart(kind, a, b, c, d, e, f, g, h, reach):
    """Along one axis, at the begin (a, b, c, d) and at the end (e, f, g, h), on the same side."""
    if kind == FACE:
        return (a - max(b, max(c, d)) > reach and e - max(f, max(g, h)) > reach) or (
            min(b, min(c, d)) - a > reach and min(f, min(g, h)) - e > reach
        )
    return (min(a, b) - max(c, d) > reach and min(e, f) - max(g, h) > reach) or (
        min(c, d) - max(a, b) > reach and min(g, h) - max(e, f) > reach
    )


@device
def ways_apart(kind, x0, x1, x2, x3, y0, y1, y2, y3, reach):
    """Whether A and B are apart by more than a reach along an axis of the world, from the begin to the end."""
    return (
        _apart(kind, x0[0], x1[0], x2[0], x3[0], y0[0], y1[0], y2[0], y3[0], reach)
        or _apart(kind, x0[1], x1[1], x2[1], x3[1], y0[1], y1[1], y2[1], y3[1], reach)
        or _apart(kind, x0[2], x1[2], x2[2], x3[2], y0[2], y1[2], y2[2], y3[2], reach)
    )
