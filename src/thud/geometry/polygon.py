"""Is a point in a polygon: exact. A polygon is one row of an (M, K, 2) or (M, K, 3) array; it is closed, edges included."""

from __future__ import annotations

from thud._core.decorators import exact_kernel
from thud.geometry.predicates import line_side, orient2d


@exact_kernel
def point_in_convex_polygon_2d(p, polygons, m):
    """Whether p (2-tuple) lies in the convex polygon m: on one side of all its edges. Either winding."""
    count = polygons.shape[1]
    left, right = False, False
    x0, x1, y0, y1 = polygons[m, 0, 0], polygons[m, 0, 0], polygons[m, 0, 1], polygons[m, 0, 1]
    for k in range(count):
        j = k + 1 if k + 1 < count else 0
        a, b = (polygons[m, k, 0], polygons[m, k, 1]), (polygons[m, j, 0], polygons[m, j, 1])
        side = orient2d(a, b, p)
        left, right = left or side > 0.0, right or side < 0.0
        x0, x1, y0, y1 = min(x0, a[0]), max(x1, a[0]), min(y0, a[1]), max(y1, a[1])
    # In the box too: on one line with a polygon that has no area, nothing else tells.
    return not (left and right) and x0 <= p[0] <= x1 and y0 <= p[1] <= y1


@exact_kernel
def point_in_convex_polygon_3d(p, normal, polygons, m):
    """Whether p lies in the prism over the convex polygon m along its normal: on one side of the planes through its edges."""
    count = polygons.shape[1]
    left, right = False, False
    for k in range(count):
        j = k + 1 if k + 1 < count else 0
        a = (polygons[m, k, 0], polygons[m, k, 1], polygons[m, k, 2])
        b = (polygons[m, j, 0], polygons[m, j, 1], polygons[m, j, 2])
        # The plane through the edge with the up vector normal x edge: its value at p is normal . (edge x (p - a)).
        side = line_side(a, normal, b, p)
        left, right = left or side > 0.0, right or side < 0.0
    # Exactly one of them: both is outside, none a polygon that has no area as seen along the normal.
    return left != right


@exact_kernel
def point_in_polygon_2d(p, polygons, m):
    """Whether p (2-tuple) lies in or on the polygon m: the ray along +x crosses its edges an odd number of times."""
    count = polygons.shape[1]
    inside = False
    for k in range(count):
        j = k + 1 if k + 1 < count else 0
        a, b = (polygons[m, k, 0], polygons[m, k, 1]), (polygons[m, j, 0], polygons[m, j, 1])
        if max(a[1], b[1]) < p[1] or min(a[1], b[1]) > p[1] or max(a[0], b[0]) < p[0]:
            continue
        side = orient2d(a, b, p)
        if side == 0.0 and min(a[0], b[0]) <= p[0]:
            return True
        # An edge owns its lower end and not its upper one, so a ray through a vertex is counted once or twice, rightly.
        if (a[1] > p[1]) != (b[1] > p[1]) and (side > 0.0) == (b[1] > a[1]):
            inside = not inside
    return inside
