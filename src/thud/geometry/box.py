"""Boxes: closest points and clipping, devices in the box's own frame, where it is |x| <= half_extents (3-tuple).

Two convex polytopes that do not meet are closest at a vertex of one, or inside an edge of each. So the general pairs
try all of these, each by a formula that is right to the last digits. Not the fastest way, but without iteration,
tolerance or special case.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.geometry.ray_local import slab_interval
from thud.geometry.segment import closest_point_segment, crossing_points
from thud.geometry.triangle import piercing_points, point_triangle_called
from thud.math.pose import transform, untransform
from thud.math.vec3 import add_scaled, norm2, sub


@device
def closest_point_box(p, half_extents):
    """(distance2, point): squared distance of p from the solid box and its closest point, p itself if inside."""
    x = (
        min(max(p[0], -half_extents[0]), half_extents[0]),
        min(max(p[1], -half_extents[1]), half_extents[1]),
        min(max(p[2], -half_extents[2]), half_extents[2]),
    )
    return norm2(sub(p, x)), x


@device
def box_corner(half_extents, k):
    """Corner k of 8: bit 0, 1, 2 of k choose the sign of x, y, z."""
    return (
        half_extents[0] if k & 1 else -half_extents[0],
        half_extents[1] if k & 2 else -half_extents[1],
        half_extents[2] if k & 4 else -half_extents[2],
    )


@device
def box_edge(half_extents, k):
    """Edge k of 12 as two corners: k // 4 is its axis, k % 4 the signs of the other two."""
    axis, low = k // 4, k % 4
    # Insert a zero bit at the axis: the corners of a face's four edges along it.
    start = low if axis == 2 else (low & 1) | ((low & 2) << 1) if axis == 1 else low << 1
    return box_corner(half_extents, start), box_corner(half_extents, start | (1 << axis))


@kernel
def clip_segment_box(p, q, half_extents):
    """(meets, point): whether the segment pq meets the box, and the middle of what is inside. Closed, rounded."""
    d = sub(q, p)
    near, far = 0.0, 1.0
    for axis in range(3):
        t0, t1 = slab_interval(p[axis], d[axis], -half_extents[axis], half_extents[axis])
        near, far = max(near, t0), min(far, t1)
    if not near <= far:
        return False, p
    # Back into the box, where rounding has left it.
    _, point = closest_point_box(add_scaled(p, d, 0.5 * (near + far)), half_extents)
    return True, point


@kernel
def closest_segment_box(p, q, half_extents):
    """(distance2, on_segment, on_box): squared distance of the segment pq and the solid box, and their closest points.

    0 and one common point where they meet.
    """
    meets, point = clip_segment_box(p, q, half_extents)
    if meets:
        return 0.0, point, point
    best2, on_box = closest_point_box(p, half_extents)
    on_segment = p
    gap2, x = closest_point_box(q, half_extents)
    if gap2 < best2:
        best2, on_segment, on_box = gap2, q, x
    for k in range(8):
        corner = box_corner(half_extents, k)
        gap2, _, x = closest_point_segment(corner, p, q)
        if gap2 < best2:
            best2, on_segment, on_box = gap2, x, corner
    for k in range(12):
        start, end = box_edge(half_extents, k)
        gap2, x, y = crossing_points(p, q, start, end)
        if gap2 < best2:
            best2, on_segment, on_box = gap2, x, y
    return best2, on_segment, on_box


@kernel
def closest_triangle_box(a, b, c, half_extents):
    """(distance2, on_triangle, on_box): squared distance of the triangle abc and the solid box, and their closest points.

    0 and one common point where they meet.
    """
    corners = a, b, c
    # They meet where an edge of the triangle meets the box, or an edge of the box pierces the triangle.
    for i in range(3):
        meets, point = clip_segment_box(corners[i], corners[(i + 1) % 3], half_extents)
        if meets:
            return 0.0, point, point
    best2, on_triangle, on_box = math.inf, a, a
    for k in range(12):
        start, end = box_edge(half_extents, k)
        gap2, x, y = piercing_points(start, end, a, b, c)
        if gap2 < best2:
            best2, on_triangle, on_box = gap2, y, x
        if best2 == 0.0:
            return best2, on_triangle, on_box
    # Apart: corners of each against the other, edges against edges.
    for i in range(3):
        gap2, x = closest_point_box(corners[i], half_extents)
        if gap2 < best2:
            best2, on_triangle, on_box = gap2, corners[i], x
    for k in range(8):
        corner = box_corner(half_extents, k)
        gap2, x = point_triangle_called(corner, a, b, c)
        if gap2 < best2:
            best2, on_triangle, on_box = gap2, x, corner
    for i in range(3):
        for k in range(12):
            start, end = box_edge(half_extents, k)
            gap2, x, y = crossing_points(corners[i], corners[(i + 1) % 3], start, end)
            if gap2 < best2:
                best2, on_triangle, on_box = gap2, x, y
    return best2, on_triangle, on_box


@kernel
def closest_box_box(half_a, rotation_ab, translation_ab, half_b):
    """(distance2, on_a, on_b) in A's frame: squared distance of two solid boxes and their closest points.

    rotation_ab (9-tuple, row-major) and translation_ab place B in A's frame. 0 and one common point where they meet.
    """
    # They meet where an edge of one meets the other: edges of B in A's frame, edges of A in B's.
    for k in range(12):
        start, end = box_edge(half_b, k)
        meets, point = clip_segment_box(
            transform(rotation_ab, translation_ab, start), transform(rotation_ab, translation_ab, end), half_a
        )
        if meets:
            return 0.0, point, point
        start, end = box_edge(half_a, k)
        meets, point = clip_segment_box(
            untransform(rotation_ab, translation_ab, start), untransform(rotation_ab, translation_ab, end), half_b
        )
        if meets:
            point = transform(rotation_ab, translation_ab, point)
            return 0.0, point, point
    # Apart: corners of each against the other, edges against edges.
    best2, on_a, on_b = math.inf, half_a, half_b
    for k in range(8):
        corner = transform(rotation_ab, translation_ab, box_corner(half_b, k))
        gap2, x = closest_point_box(corner, half_a)
        if gap2 < best2:
            best2, on_a, on_b = gap2, x, corner
        corner = box_corner(half_a, k)
        gap2, x = closest_point_box(untransform(rotation_ab, translation_ab, corner), half_b)
        if gap2 < best2:
            best2, on_a, on_b = gap2, corner, transform(rotation_ab, translation_ab, x)
    for k in range(12):
        start, end = box_edge(half_b, k)
        start, end = transform(rotation_ab, translation_ab, start), transform(rotation_ab, translation_ab, end)
        for i in range(12):
            p, q = box_edge(half_a, i)
            gap2, x, y = crossing_points(p, q, start, end)
            if gap2 < best2:
                best2, on_a, on_b = gap2, x, y
    return best2, on_a, on_b
