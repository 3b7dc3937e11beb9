"""Closest points of points and segments: devices on 3-tuples, in any one frame, lengths in metres.

The differences of the inputs are taken first and all else is computed from them, so that an offset of the frame costs
no digits.
"""

from __future__ import annotations

from thud._core.decorators import device, kernel
from thud.geometry.tolerances import NEARLY_PARALLEL
from thud.math.vec3 import add_scaled, cross, dot, neg, norm2, sub


@device
def clamp01(t):
    """t limited to [0, 1]."""
    return min(max(t, 0.0), 1.0)


@device
def closest_point_segment(p, a, b):
    """(distance2, s, point): squared distance of p from the segment ab and the closest point a + s (b - a)."""
    d, r = sub(b, a), sub(p, a)
    length2 = norm2(d)
    s = clamp01(dot(r, d) / length2) if length2 > 0.0 else 0.0
    # At the end b itself, so that no rounding of s * d shows.
    if s == 1.0:
        return norm2(sub(p, b)), s, b
    return norm2(add_scaled(r, d, -s)), s, add_scaled(a, d, s)


@device
def _foot(r, d, length2):
    """Parameter in [0, 1] of the point of the segment s * d closest to r; 0 for a segment of no length."""
    if length2 > 0.0:
        return clamp01(dot(r, d) / length2)
    return 0.0


@device
def _gap2(r, d1, d2, s, t):
    """|r + s d1 - t d2|^2."""
    return norm2(add_scaled(add_scaled(r, d1, s), d2, -t))


@kernel
def crossing_parameters(r, d1, d2):
    """(distance2, s, t) of the segments r + s d1 and t d2 where the closest points lie inside both.

    Elsewhere the pair is a valid one, s and t in [0, 1], but not the closest: the ends are then to be tried as well.
    Accurate however close to parallel the two are: the distance is right to about 1e-15 of the lengths.
    """
    n = cross(d1, d2)
    n2, a, e = norm2(n), norm2(d1), norm2(d2)
    if not n2 > 0.0:
        return norm2(r), 0.0, 0.0
    # Start from the middle and the point of the other line opposite: what is left of r is then across the lines, and
    # the division by n^2 meets no large cancelling part. The second round removes the first one's rounding.
    s = 0.5
    t = 0.0
    for _ in range(2):
        opposite = add_scaled(r, d1, s)
        t = dot(opposite, d2) / e
        across = add_scaled(opposite, d2, -t)
        s = clamp01(s - dot(cross(across, d2), n) / n2)
        t = _foot(add_scaled(r, d1, s), d2, e)
        s = clamp01(dot(add_scaled(neg(r), d2, t), d1) / a)
    return _gap2(r, d1, d2, s, t), s, t


@kernel
def _nearly_parallel_parameters(r, d1, d2):
    """closest_segment_parameters by trying all: the four ends against the other segment, and the inside of both."""
    a, e = norm2(d1), norm2(d2)
    best2, best_s, best_t = crossing_parameters(r, d1, d2)
    for end in (0.0, 1.0):
        t = _foot(add_scaled(r, d1, end), d2, e)
        gap2 = _gap2(r, d1, d2, end, t)
        if gap2 < best2:
            best2, best_s, best_t = gap2, end, t
        s = _foot(sub((d2[0] * end, d2[1] * end, d2[2] * end), r), d1, a)
        gap2 = _gap2(r, d1, d2, s, end)
        if gap2 < best2:
            best2, best_s, best_t = gap2, s, end
    return best2, best_s, best_t


@device
def closest_segment_parameters(r, d1, d2):
    """(distance2, s, t): the closest points of the segments r + s d1 and t d2, s and t in [0, 1]. Either may be a point."""
    a, e, b = norm2(d1), norm2(d2), dot(d1, d2)
    n2 = norm2(cross(d1, d2))
    if not n2 > NEARLY_PARALLEL * a * e:
        return _nearly_parallel_parameters(r, d1, d2)
    # Ericson 2005 (5.1.9): the closest points of the two lines, then clamp s, then t for it, then s again if t was clamped.
    c, f = dot(d1, r), dot(d2, r)
    s = clamp01((b * f - c * e) / n2)
    t = (b * s + f) / e
    if t < 0.0:
        t = 0.0
        s = clamp01(-c / a)
    elif t > 1.0:
        t = 1.0
        s = clamp01((b - c) / a)
    return _gap2(r, d1, d2, s, t), s, t


@device
def closest_segment_segment(p0, p1, q0, q1):
    """(distance2, point_p, point_q): squared distance of the segments p0p1 and q0q1 and their closest points."""
    d1, d2, r = sub(p1, p0), sub(q1, q0), sub(p0, q0)
    distance2, s, t = closest_segment_parameters(r, d1, d2)
    return distance2, add_scaled(p0, d1, s), add_scaled(q0, d2, t)


@kernel
def crossing_points(p0, p1, q0, q1):
    """(distance2, point_p, point_q): closest points of two segments where they lie inside both; else some pair of theirs."""
    d1, d2 = sub(p1, p0), sub(q1, q0)
    distance2, s, t = crossing_parameters(sub(p0, q0), d1, d2)
    return distance2, add_scaled(p0, d1, s), add_scaled(q0, d2, t)
