"""Closest points and rays of triangles: devices on 3-tuples, in any one frame, lengths in metres."""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.constants import TOUCH
from thud.geometry.segment import closest_point_segment, crossing_points
from thud.geometry.tolerances import NEEDLE, PIERCING
from thud.math.vec3 import add, add_scaled, cross, dot, norm2, sub


@device
def area_vector(ab, bc, ca):
    """ab x bc of a triangle's edges, from its two shorter ones: with a needle's two long ones it is lost in their roundoff."""
    ab2, bc2, ca2 = norm2(ab), norm2(bc), norm2(ca)
    if ab2 >= bc2 and ab2 >= ca2:
        return cross(bc, ca)
    return cross(ca, ab) if bc2 >= ca2 else cross(ab, bc)


@device
def _edge_candidate(a, b, e):
    """(distance2, x, at): the point x of the segment ab = a + s e closest to the origin; at 0 for a, 1 for b, 2 between."""
    length2 = norm2(e)
    s = -dot(a, e)
    if not s > 0.0:
        return norm2(a), a, 0
    if s >= length2:
        return norm2(b), b, 1
    x = add_scaled(a, e, s / length2)
    return norm2(x), x, 2


@device
def _shift_along(x, e, give, take):
    """x moved along e to the foot of the origin, as far as the weights of e's ends allow (from -take to give)."""
    return add_scaled(x, e, min(max(-dot(x, e) / norm2(e), -take), give))


@device
def closest_point_triangle(p, a, b, c):
    """(distance2, point, region): squared distance of p from the triangle abc, the closest point, and where it lies.

    region: 0, 1, 2 the vertices a, b, c; 3, 4, 5 the edges ab, bc, ca; 6 the face. Right for needles and for triangles
    without area too: the point is always a point of the triangle, and no better one is missed by more than roundoff.
    """
    # In the frame of p: the closest point to the origin.
    ar, br, cr = sub(a, p), sub(b, p), sub(c, p)
    ab, bc, ca = sub(b, a), sub(c, b), sub(a, c)
    n = area_vector(ab, bc, ca)
    n2 = norm2(n)
    # Barycentric weights of the projection, times n^2.
    wa, wb, wc = dot(cross(br, cr), n), dot(cross(cr, ar), n), dot(cross(ar, br), n)
    best2, best, region = math.inf, ar, 6
    longest2 = max(norm2(ab), max(norm2(bc), norm2(ca)))
    total = wa + wb + wc
    if wa >= 0.0 and wb >= 0.0 and wc >= 0.0 and total > 0.0:
        wa, wb, wc = wa / total, wb / total, wc / total
        best = (
            wa * ar[0] + wb * br[0] + wc * cr[0],
            wa * ar[1] + wb * br[1] + wc * cr[1],
            wa * ar[2] + wb * br[2] + wc * cr[2],
        )
        # A needle's weights are uncertain along its length; the foot on its longest edge is not.
        if norm2(ab) == longest2:
            best = _shift_along(best, ab, wa, wb)
        elif norm2(bc) == longest2:
            best = _shift_along(best, bc, wb, wc)
        else:
            best = _shift_along(best, ca, wc, wa)
        best2 = norm2(best)
    if best2 == math.inf or n2 < NEEDLE * longest2 * longest2:
        gap2, x, at = _edge_candidate(ar, br, ab)
        if gap2 < best2:
            best2, best, region = gap2, x, at if at < 2 else 3
        gap2, x, at = _edge_candidate(br, cr, bc)
        if gap2 < best2:
            best2, best, region = gap2, x, 1 + at if at < 2 else 4
        gap2, x, at = _edge_candidate(cr, ar, ca)
        if gap2 < best2:
            best2, best, region = gap2, x, (2 + at) % 3 if at < 2 else 5
    # A vertex is returned as it was given.
    point = add(p, best)
    if region == 0:
        point = a
    elif region == 1:
        point = b
    elif region == 2:
        point = c
    return best2, point, region


@device
def _pass_weights(ar, br, cr, d):
    """Weights of the corners, relative to the ray's origin, at which the line along d passes the triangle; (0, 0, 0) beside it.

    Each is the volume d . (b x c) of the line and the opposite edge. They have one sign, or the line misses.
    """
    wa, wb, wc = dot(d, cross(br, cr)), dot(d, cross(cr, ar)), dot(d, cross(ar, br))
    if (wa >= 0.0 and wb >= 0.0 and wc >= 0.0) or (wa <= 0.0 and wb <= 0.0 and wc <= 0.0):
        return wa, wb, wc
    return 0.0, 0.0, 0.0


@device
def ray_triangle(o, d, a, b, c):
    """(t, u, v): the ray from o along the unit direction d meets the triangle, from either side, at a + u (b - a) + v (c - a).

    t is in metres, inf for a miss. Edges belong to the triangle as far as rounding lets them; a ray in its plane misses.
    `ray_triangle_exact` decides those cases exactly. After Moeller and Trumbore 1997, with symmetric weights.
    """
    ar, br, cr = sub(a, o), sub(b, o), sub(c, o)
    wa, wb, wc = _pass_weights(ar, br, cr, d)
    total = wa + wb + wc
    if total == 0.0:
        return math.inf, 0.0, 0.0
    wa, wb, wc = wa / total, wb / total, wc / total
    t = wa * dot(ar, d) + wb * dot(br, d) + wc * dot(cr, d)
    if not t >= 0.0:
        return math.inf, 0.0, 0.0
    return t, wb, wc


@kernel
def point_triangle_called(p, a, b, c):
    """`closest_point_triangle`, (distance2, point), as a call, for functions that need it many times."""
    distance2, point, _ = closest_point_triangle(p, a, b, c)
    return distance2, point


@kernel
def piercing_points(p, q, a, b, c):
    """(distance2, on_segment, on_triangle) where the segment pq passes the plane of abc: 0 and one point if it pierces abc.

    A pair of points of theirs in any case, so a bound of the distance; inf where both ends are on one side of the plane.
    """
    d, n = sub(q, p), area_vector(sub(b, a), sub(c, b), sub(a, c))
    height_p, height_q = dot(n, sub(p, a)), dot(n, sub(q, a))
    if (height_p > 0.0 and height_q > 0.0) or (height_p < 0.0 and height_q < 0.0) or height_p == height_q:
        return math.inf, p, a
    # Errors of the heights shift x along the segment, not off the triangle's plane: flat angles do no harm.
    x = add_scaled(p, d, height_p / (height_p - height_q))
    gap2, y = point_triangle_called(x, a, b, c)
    size2 = max(max(norm2(d), norm2(sub(a, p))), max(norm2(sub(b, p)), norm2(sub(c, p))))
    # A needle's normal is uncertain, and so is x: go back and forth between the two sets, down to roundoff.
    for _ in range(3):
        if gap2 > PIERCING * size2 or gap2 <= (TOUCH * TOUCH) * size2:
            break
        gap2, _, x = closest_point_segment(y, p, q)
        gap2, y = point_triangle_called(x, a, b, c)
    if gap2 <= (TOUCH * TOUCH) * size2:
        return 0.0, y, y
    return gap2, x, y


@kernel
def closest_segment_triangle(p, q, a, b, c):
    """(distance2, on_segment, on_triangle): squared distance of the segment pq and the triangle abc, and their closest points.

    0 and one common point where the segment pierces the triangle.
    """
    best2, on_segment, on_triangle = piercing_points(p, q, a, b, c)
    if best2 == 0.0:
        return best2, on_segment, on_triangle
    # Apart: an end of the segment is closest, or its inside is to the inside of an edge.
    for end in (p, q):
        gap2, x = point_triangle_called(end, a, b, c)
        if gap2 < best2:
            best2, on_segment, on_triangle = gap2, end, x
    corners = a, b, c
    for i in range(3):
        # A corner against the segment, then the edge that starts there.
        gap2, _, x = closest_point_segment(corners[i], p, q)
        if gap2 < best2:
            best2, on_segment, on_triangle = gap2, x, corners[i]
        gap2, x, y = crossing_points(p, q, corners[i], corners[(i + 1) % 3])
        if gap2 < best2:
            best2, on_segment, on_triangle = gap2, x, y
    return best2, on_segment, on_triangle


@kernel
def closest_triangle_triangle(a, b, c, d, e, f):
    """(distance2, on_abc, on_def): squared distance of two triangles and their closest points.

    0 and one common point where they intersect.
    """
    first, second = (a, b, c), (d, e, f)
    best2, on_first, on_second = math.inf, a, d
    for i in range(3):
        gap2, x, y = piercing_points(first[i], first[(i + 1) % 3], d, e, f)
        if gap2 < best2:
            best2, on_first, on_second = gap2, x, y
        gap2, x, y = piercing_points(second[i], second[(i + 1) % 3], a, b, c)
        if gap2 < best2:
            best2, on_first, on_second = gap2, y, x
        if best2 == 0.0:
            return best2, on_first, on_second
    # Apart: a corner of one is closest to the other, or two edges are, inside both.
    for i in range(3):
        gap2, x = point_triangle_called(first[i], d, e, f)
        if gap2 < best2:
            best2, on_first, on_second = gap2, first[i], x
        gap2, x = point_triangle_called(second[i], a, b, c)
        if gap2 < best2:
            best2, on_first, on_second = gap2, x, second[i]
        for k in range(3):
            gap2, x, y = crossing_points(first[i], first[(i + 1) % 3], second[k], second[(k + 1) % 3])
            if gap2 < best2:
                best2, on_first, on_second = gap2, x, y
    return best2, on_first, on_second
