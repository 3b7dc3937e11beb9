"""Distance of two triangles that do not meet: the fast one, for the leaves of the trees.

The closest points of two disjoint triangles lie on two edges, or at a corner and inside a face. Nine pairs of edges, and
six corners of which only those matter that lie closer to the other's plane than the best so far and above its inside.
A needle's normal is lost in roundoff, and with it what lies above its inside: its corners take the careful test.
`geometry.triangle.closest_triangle_triangle` is the careful one throughout, which also knows of triangles that meet.
"""

from __future__ import annotations

from thud._core.decorators import device, kernel
from thud.geometry.segment import closest_segment_parameters
from thud.geometry.tolerances import NEEDLE
from thud.geometry.triangle import area_vector, point_triangle_called
from thud.math.vec3 import add_scaled, cross, dot, norm2, sub


@device
def corner_over_face(p, a, e1, e2, n, n2, best2):
    """(distance2, point): p and the face a, a + e1, a + e2 with normal n, if p lies above its inside and nearer than best2."""
    r = sub(p, a)
    height = dot(n, r)
    if height * height < best2 * n2:
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
def triangle_gap(a0, a1, a2, b0, b1, b2, best2):
    """(distance2, point of A, point of B) of two triangles that do not meet; no better than best2 if they are farther."""
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
