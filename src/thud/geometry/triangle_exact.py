"""Do a segment and a triangle, or two triangles, meet, and where: exact. All are closed and may be degenerate.

Two triangles meet where an edge of one meets the other, also when they lie in one plane. Every decision is a sign of
an exact determinant (after Guigue and Devillers 2003); only the coordinates of the points are rounded.
"""

from __future__ import annotations

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import add_scaled, drop_axis, norm2, sub
from thud.geometry.predicates import none_apart, orient2d, orient2d_precise, orient3d, orient3d_precise, same_side
from thud.geometry.segment_exact import NOTHING, POINT, SEGMENT, flat_axis, segment_segment, segments_meet_2d


@exact_device
def point_in_triangle_2d(p, a, b, c):
    """Whether p lies in the closed triangle abc of the plane (2-tuples), which must have an area."""
    return none_apart(orient2d(a, b, p), orient2d(b, c, p), orient2d(c, a, p))


@exact_device
def _longer(p, q, kind, start, end):
    """The pair of points farthest apart of (p, q) and (start, end), each taken from either; `kind` says if p, q exist."""
    if kind == NOTHING:
        return start, end
    # Each new point replaces the end it lies beyond. On one line this keeps the two outermost.
    for x in (start, end):
        length2, from_p, from_q = norm2(sub(p, q)), norm2(sub(x, p)), norm2(sub(x, q))
        if from_p > length2 and from_p >= from_q:
            q = x
        elif from_q > length2:
            p = x
    return p, q


@exact_kernel
def _clip_in_plane(p, q, a, b, c, axis):
    """(kind, start, end) of the segment pq and the triangle abc in one plane, seen along `axis`, where abc has an area."""
    p2, q2 = drop_axis(p, axis), drop_axis(q, axis)
    corners = drop_axis(a, axis), drop_axis(b, axis), drop_axis(c, axis)
    meets = point_in_triangle_2d(p2, corners[0], corners[1], corners[2])
    for i in range(3):
        meets = meets or segments_meet_2d(p2, q2, corners[i], corners[(i + 1) % 3])
    if not meets:
        return NOTHING, p, p
    # Cut off what is outside each edge. Rounding may turn a single point inside out: then it is in the middle.
    turn = 1.0 if orient2d(corners[0], corners[1], corners[2]) > 0.0 else -1.0
    t0, t1 = 0.0, 1.0
    for i in range(3):
        side_p = turn * orient2d_precise(corners[i], corners[(i + 1) % 3], p2)
        side_q = turn * orient2d_precise(corners[i], corners[(i + 1) % 3], q2)
        if side_p < 0.0 and side_q >= 0.0:
            t0 = max(t0, side_p / (side_p - side_q))
        elif side_q < 0.0 and side_p >= 0.0:
            t1 = min(t1, side_p / (side_p - side_q))
    if t0 > t1:
        t0 = 0.5 * (t0 + t1)
        t1 = t0
    d = sub(q, p)
    start = p if t0 == 0.0 else add_scaled(p, d, t0)
    end = q if t1 == 1.0 else add_scaled(p, d, t1)
    return (SEGMENT if norm2(sub(start, end)) > 0.0 else POINT), start, end


@exact_kernel
def segment_triangle(p, q, a, b, c):
    """(kind, start, end): what the segment pq and the triangle abc share: NOTHING, a POINT (start = end) or a SEGMENT."""
    side_p, side_q = orient3d(a, b, c, p), orient3d(a, b, c, q)
    if same_side(side_p, side_q):
        return NOTHING, p, p
    if side_p == 0.0 and side_q == 0.0:
        axis = flat_axis(a, b, c)
        if axis >= 0:
            return _clip_in_plane(p, q, a, b, c, axis)
        # A triangle without area is the union of its edges, and all of them lie on one line.
        kind, start, end = NOTHING, p, p
        corners = a, b, c
        for i in range(3):
            edge_kind, x, y = segment_segment(p, q, corners[i], corners[(i + 1) % 3])
            if edge_kind != NOTHING:
                start, end = _longer(start, end, kind, x, y)
                kind = max(kind, edge_kind)
        return kind, start, end
    # The line crosses the plane in one point. It lies in the triangle if the line passes all edges on one side.
    if not none_apart(orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)):
        return NOTHING, p, p
    if side_p == 0.0:
        return POINT, p, p
    if side_q == 0.0:
        return POINT, q, q
    side_p, side_q = orient3d_precise(a, b, c, p), orient3d_precise(a, b, c, q)
    point = add_scaled(p, sub(q, p), side_p / (side_p - side_q))
    return POINT, point, point


@exact_kernel
def triangle_triangle(a, b, c, d, e, f):
    """(kind, coplanar, start, end): what the triangles abc and def share.

    kind NOTHING, POINT (start = end) or SEGMENT; exact. Of two triangles in one plane that overlap in an area, start
    and end are two points of the overlap. `coplanar`: all six points lie in the plane of a triangle that has an area.
    """
    # All of one strictly on one side of the other's plane: the usual end.
    side_d, side_e, side_f = orient3d(a, b, c, d), orient3d(a, b, c, e), orient3d(a, b, c, f)
    if same_side(side_d, side_e) and same_side(side_e, side_f):
        return NOTHING, False, a, a
    side_a, side_b, side_c = orient3d(d, e, f, a), orient3d(d, e, f, b), orient3d(d, e, f, c)
    if same_side(side_a, side_b) and same_side(side_b, side_c):
        return NOTHING, False, a, a
    coplanar = side_a == 0.0 and side_b == 0.0 and side_c == 0.0 and side_d == 0.0 and side_e == 0.0 and side_f == 0.0
    coplanar = coplanar and (flat_axis(a, b, c) >= 0 or flat_axis(d, e, f) >= 0)
    # The edges of each against the other: what they share spans all that the triangles share.
    first, second = (a, b, c), (d, e, f)
    kind, start, end = NOTHING, a, a
    for _ in range(2):
        for i in range(3):
            edge_kind, x, y = segment_triangle(first[i], first[(i + 1) % 3], second[0], second[1], second[2])
            if edge_kind != NOTHING:
                start, end = _longer(start, end, kind, x, y)
                kind = POINT
        first, second = second, first
    if kind != NOTHING and norm2(sub(start, end)) > 0.0:
        kind = SEGMENT
    return kind, coplanar, start, end
