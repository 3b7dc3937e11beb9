"""Distance of two triangles that do not meet: the fast one, for the leaves of the trees.

The closest points of two disjoint triangles lie on two edges, or at a corner and inside a face: nine pairs of edges, and
six corners of which only those matter that lie above the inside of the other. Three of them are measured at once, in lanes
(`_core/lanes.py`), to see which is the nearest; that one alone is then solved. Where edges are all but parallel, or a triangle
is a needle, whose normal is lost in roundoff and with it what lies above its inside, all are solved one by one.
`geometry.triangle.closest_triangle_triangle` is the careful one throughout, which also knows of triangles that meet.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.lanes import four, greater, lane, least, pick
from thud.geometry.segment import closest_segment_parameters
from thud.geometry.tolerances import NEARLY_PARALLEL, NEEDLE
from thud.geometry.triangle import area_vector, point_triangle_called
from thud.math.vec3 import add_scaled, cross, dot, norm2, sub
from thud.mesh.tolerances import ROUNDED


@device
def corner_over_face(p, a, e1, e2, n, n2, best2):
    """(distance2, point): p and the face a, a + e1, a + e2 with normal n, if p lies above its inside and about nearer than
    best2."""
    r = sub(p, a)
    height = dot(n, r)
    if height * height < best2 * n2 * ROUNDED:
        # Barycentric coordinates of the foot, times n2.
        v, w = dot(cross(r, e2), n), dot(cross(e1, r), n)
        if v > 0.0 and w > 0.0 and v + w < n2:
            return height * height / n2, add_scaled(p, n, -height / n2)
    return best2, p


@device
def is_needle(n2, d0, d1, d2):
    """Whether the direction of a triangle's normal n, n2 = |n|^2, is uncertain; by its three edges."""
    longest2 = max(norm2(d0), max(norm2(d1), norm2(d2)))
    return not n2 > NEEDLE * longest2 * longest2


@device
def edge_pair(p, d, q, e, best2, on_a, on_b):
    """Better of the best so far and the closest points of the segments p + s d and q + t e."""
    gap2, s, t = closest_segment_parameters(sub(p, q), d, e)
    if gap2 < best2:
        return gap2, add_scaled(p, d, s), add_scaled(q, e, t)
    return best2, on_a, on_b


@kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, f8")
def each_gap(a0, a1, a2, b0, b1, b2, best2):
    """`triangle_gap`, with all pairs of edges and all corners solved one by one."""
    d0, d1, d2 = sub(a1, a0), sub(a2, a1), sub(a0, a2)
    e0, e1, e2 = sub(b1, b0), sub(b2, b1), sub(b0, b2)
    on_a, on_b = a0, b0
    for i in range(3):
        p = a0 if i == 0 else (a1 if i == 1 else a2)
        d = d0 if i == 0 else (d1 if i == 1 else d2)
        best2, on_a, on_b = edge_pair(p, d, b0, e0, best2, on_a, on_b)
        best2, on_a, on_b = edge_pair(p, d, b1, e1, best2, on_a, on_b)
        best2, on_a, on_b = edge_pair(p, d, b2, e2, best2, on_a, on_b)
    f2 = (-d2[0], -d2[1], -d2[2])
    n = area_vector(d0, d1, d2)
    n2 = norm2(n)
    needle = is_needle(n2, d0, d1, d2)
    for i in range(3):
        p = b0 if i == 0 else (b1 if i == 1 else b2)
        if needle:
            gap2, x = point_triangle_called(p, a0, a1, a2)
        else:
            gap2, x = corner_over_face(p, a0, d0, f2, n, n2, best2)
        if gap2 < best2:
            best2, on_a, on_b = gap2, x, p
    f2 = (-e2[0], -e2[1], -e2[2])
    n = area_vector(e0, e1, e2)
    n2 = norm2(n)
    needle = is_needle(n2, e0, e1, e2)
    for i in range(3):
        p = a0 if i == 0 else (a1 if i == 1 else a2)
        if needle:
            gap2, x = point_triangle_called(p, b0, b1, b2)
        else:
            gap2, x = corner_over_face(p, b0, e0, f2, n, n2, best2)
        if gap2 < best2:
            best2, on_a, on_b = gap2, p, x
    return best2, on_a, on_b


@device
def three(p, q, s):
    """Three points in lanes; the last lane has the first again."""
    return four(p[0], q[0], s[0], p[0]), four(p[1], q[1], s[1], p[1]), four(p[2], q[2], s[2], p[2])


@device
def between(x, low, high):
    """Lanes limited to [low, high]."""
    return least(greater(x, low), high)


@device
def edge_gaps(p, d, q, e):
    """(squared distances of the segment p + s d from the segments q + t e, how far each is from parallel: 0 or less where the
    distance is not to be believed); q and e in lanes.

    `closest_segment_parameters` without branches: s for the two lines, then t for it, then s for that, which changes nothing
    where t was not clamped."""
    r = sub(p, q)
    a, e2, b, c, f = norm2(d), norm2(e), dot(e, d), dot(r, d), dot(e, r)
    n2 = norm2(cross(e, d))
    s = between((b * f - c * e2) / n2, 0.0, 1.0)
    t = between((b * s + f) / e2, 0.0, 1.0)
    s = between((b * t - c) / a, 0.0, 1.0)
    gap = (r[0] + s * d[0] - t * e[0], r[1] + s * d[1] - t * e[1], r[2] + s * d[2] - t * e[2])
    return norm2(gap), n2 - NEARLY_PARALLEL * a * e2


@device
def corner_gaps(q, a, e1, e2, n, n2):
    """Squared distances of the points q, in lanes, from the face a, a + e1, a + e2 with normal n; inf beside it."""
    r = sub(q, a)
    height, v, w = dot(r, n), dot(cross(r, e2), n), dot(cross(e1, r), n)
    return pick(least(v, least(w, n2 - v - w)), 0.0, height * height / n2, four(math.inf, math.inf, math.inf, math.inf))


@device
def first_lane(x, value):
    """The first of three lanes with this value, -1 if there is none."""
    return 0 if lane(x, 0) == value else (1 if lane(x, 1) == value else (2 if lane(x, 2) == value else -1))


@device
def chosen(k, x, y, z):
    """One of three."""
    return x if k == 0 else (y if k == 1 else z)


@kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, f8")
def triangle_gap(a0, a1, a2, b0, b1, b2, best2):
    """(distance2, point of A, point of B) of two triangles that do not meet; no better than best2 if they are farther."""
    d0, d1, d2 = sub(a1, a0), sub(a2, a1), sub(a0, a2)
    e0, e1, e2 = sub(b1, b0), sub(b2, b1), sub(b0, b2)
    n, m = area_vector(d0, d1, d2), area_vector(e0, e1, e2)
    n2, m2 = norm2(n), norm2(m)
    q, e = three(b0, b1, b2), three(e0, e1, e2)
    (gaps0, sure0), (gaps1, sure1), (gaps2, sure2) = edge_gaps(a0, d0, q, e), edge_gaps(a1, d1, q, e), edge_gaps(a2, d2, q, e)
    sure = least(sure0, least(sure1, sure2))
    if (
        not min(lane(sure, 0), min(lane(sure, 1), lane(sure, 2))) > 0.0
        or is_needle(n2, d0, d1, d2)
        or is_needle(m2, e0, e1, e2)
    ):
        return each_gap(a0, a1, a2, b0, b1, b2, best2)
    d3, e3 = (-d2[0], -d2[1], -d2[2]), (-e2[0], -e2[1], -e2[2])
    over_a, over_b = corner_gaps(q, a0, d0, d3, n, n2), corner_gaps(three(a0, a1, a2), b0, e0, e3, m, m2)
    nearest = least(least(least(gaps0, gaps1), gaps2), least(over_a, over_b))
    gap2 = min(lane(nearest, 0), min(lane(nearest, 1), lane(nearest, 2)))
    # What is nearer by roundoff is decided below, by numbers that do not depend on what it is compared with.
    if not gap2 < best2 * ROUNDED:
        return best2, a0, b0
    for i in range(3):
        k = first_lane(chosen(i, gaps0, gaps1, gaps2), gap2)
        if k >= 0:
            p, d = chosen(i, a0, a1, a2), chosen(i, d0, d1, d2)
            return edge_pair(p, d, chosen(k, b0, b1, b2), chosen(k, e0, e1, e2), best2, a0, b0)
    k = first_lane(over_a, gap2)
    if k >= 0:
        p = chosen(k, b0, b1, b2)
        found2, x = corner_over_face(p, a0, d0, d3, n, n2, best2)
        return (found2, x, p) if found2 < best2 else (best2, a0, b0)
    p = chosen(first_lane(over_b, gap2), a0, a1, a2)
    found2, x = corner_over_face(p, b0, e0, e3, m, m2, best2)
    return (found2, p, x) if found2 < best2 else (best2, a0, b0)
