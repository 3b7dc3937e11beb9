"""Rectangle against triangle in the plane, two ways that agree on everything: exact, closed sets, degenerate ones too.

The rectangle is axis-aligned, given by its lower and upper corner; all points are 2-tuples.
"""

from __future__ import annotations

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.predicates import orient2d, same_side
from thud.geometry.segment_exact import segments_meet_2d
from thud.geometry.triangle_exact import point_in_triangle_2d


@exact_device
def _corners(lower, upper):
    """The rectangle's corners in order around it."""
    return lower, (upper[0], lower[1]), upper, (lower[0], upper[1])


@exact_kernel
def intersected_tri_rect(a, b, c, lower, upper):
    """[Yang] Algorithm 9, IntersectedTriRect: vertices first, which settle most cases, then the edges."""
    corners = _corners(lower, upper)
    triangle = a, b, c
    # One vertex of the rectangle is inside the triangle. Without an area the triangle is its edges: left to them below.
    if orient2d(a, b, c) != 0.0:
        for corner in corners:
            if point_in_triangle_2d(corner, a, b, c):
                return True
    # One vertex of the triangle is inside the rectangle.
    for p in triangle:
        if lower[0] <= p[0] <= upper[0] and lower[1] <= p[1] <= upper[1]:
            return True
    # An edge of the triangle meets an edge of the rectangle.
    for i in range(3):
        for k in range(4):
            if segments_meet_2d(triangle[i], triangle[(i + 1) % 3], corners[k], corners[(k + 1) % 4]):
                return True
    return False


@exact_kernel
def rectangle_triangle_sat(a, b, c, lower, upper):
    """Separating axis theorem: they meet unless one of five axes, the edges' normals, shows a gap."""
    # The rectangle's two axes.
    if min(a[0], min(b[0], c[0])) > upper[0] or max(a[0], max(b[0], c[0])) < lower[0]:
        return False
    if min(a[1], min(b[1], c[1])) > upper[1] or max(a[1], max(b[1], c[1])) < lower[1]:
        return False
    # The triangle's: all corners strictly beyond an edge, on the side where the triangle is not.
    corners = _corners(lower, upper)
    triangle = a, b, c
    for i in range(3):
        p, q, opposite = triangle[i], triangle[(i + 1) % 3], triangle[(i + 2) % 3]
        first = orient2d(p, q, corners[0])
        beyond = first != 0.0 and not same_side(first, orient2d(p, q, opposite))
        for k in range(1, 4):
            beyond = beyond and same_side(first, orient2d(p, q, corners[k]))
        if beyond:
            return False
    return True
