"""Do two segments meet, and where: exact, in two and in three dimensions. Segments are closed and may be points."""

from __future__ import annotations

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import add_scaled, cross, drop_axis, sub
from thud.geometry.predicates import orient2d, orient2d_precise, orient3d, same_side

#: What two closed sets have in common.
NOTHING, POINT, SEGMENT = 0, 1, 2


@exact_kernel
def segments_meet_2d(p, q, a, b):
    """Whether the segments pq and ab of the plane (2-tuples) have a point in common."""
    # Boxes apart: settles most pairs, and is the whole test for segments on one line.
    if max(p[0], q[0]) < min(a[0], b[0]) or max(a[0], b[0]) < min(p[0], q[0]):
        return False
    if max(p[1], q[1]) < min(a[1], b[1]) or max(a[1], b[1]) < min(p[1], q[1]):
        return False
    # Neither may lie strictly on one side of the other.
    if same_side(orient2d(p, q, a), orient2d(p, q, b)):
        return False
    return not same_side(orient2d(a, b, p), orient2d(a, b, q))


@exact_kernel
def flat_axis(a, b, c):
    """The axis along which the triangle abc is best seen: dropping it keeps an area. -1 where abc has none (exactly)."""
    n = cross(sub(b, a), sub(c, a))
    best = 0
    for axis in range(1, 3):
        if abs(n[axis]) > abs(n[best]):
            best = axis
    for step in range(3):
        axis = (best + step) % 3
        if orient2d(drop_axis(a, axis), drop_axis(b, axis), drop_axis(c, axis)) != 0.0:
            return axis
    return -1


@exact_device
def _ordered(p, q, axis):
    """The two points in order along the axis."""
    if p[axis] <= q[axis]:
        return p, q
    return q, p


@exact_kernel
def _overlap_on_line(p0, p1, q0, q1):
    """(kind, start, end) for four points on one line: compare them along the axis they spread over most."""
    axis, widest = 0, -1.0
    for k in range(3):
        width = max(max(p0[k], p1[k]), max(q0[k], q1[k])) - min(min(p0[k], p1[k]), min(q0[k], q1[k]))
        if width > widest:
            axis, widest = k, width
    p_low, p_high = _ordered(p0, p1, axis)
    q_low, q_high = _ordered(q0, q1, axis)
    start = p_low if p_low[axis] >= q_low[axis] else q_low
    end = p_high if p_high[axis] <= q_high[axis] else q_high
    if start[axis] > end[axis]:
        return NOTHING, p0, p0
    return (SEGMENT if start[axis] < end[axis] else POINT), start, end


@exact_kernel
def segment_segment(p0, p1, q0, q1):
    """(kind, start, end): what the segments p0p1 and q0q1 share: NOTHING, a POINT (start = end) or a SEGMENT of one line.

    The kind is exact; start and end are rounded, unless they are ends of the segments.
    """
    if orient3d(p0, p1, q0, q1) != 0.0:
        return NOTHING, p0, p0
    # In one plane: look along an axis that shows it. If none does, the four points are on one line.
    axis = flat_axis(p0, p1, q0)
    if axis < 0:
        axis = flat_axis(p0, p1, q1)
    if axis < 0:
        axis = flat_axis(q0, q1, p0)
    if axis < 0:
        return _overlap_on_line(p0, p1, q0, q1)
    a, b, c, d = drop_axis(p0, axis), drop_axis(p1, axis), drop_axis(q0, axis), drop_axis(q1, axis)
    side_q0, side_q1 = orient2d(a, b, c), orient2d(a, b, d)
    side_p0, side_p1 = orient2d_precise(c, d, a), orient2d_precise(c, d, b)
    if same_side(side_q0, side_q1) or same_side(side_p0, side_p1):
        return NOTHING, p0, p0
    # An end that lies on the other segment is the point itself.
    if side_p0 == 0.0:
        return POINT, p0, p0
    if side_p1 == 0.0:
        return POINT, p1, p1
    if side_q0 == 0.0:
        return POINT, q0, q0
    if side_q1 == 0.0:
        return POINT, q1, q1
    point = add_scaled(p0, sub(p1, p0), side_p0 / (side_p0 - side_p1))
    return POINT, point, point
