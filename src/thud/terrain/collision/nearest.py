"""Closest points of a convex part and a bilinear patch, made exact.

`patch_query` finds the distance to PATCH_FLAT of the patch; its points may still be off along the patch by the root of that.
From there the two are projected onto each other in turn: the part's point onto the patch itself, by Newton's method, that one
onto the part.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel, kernel
from thud._core.status import SEPARATED
from thud.convex.convex_pair import pair_distance
from thud.convex.gjk import center_axis
from thud.shapes.packed import RADIUS
from thud.terrain.collision.patch import patch_point, tangents
from thud.terrain.collision.tolerances import FOOT_STEPS, NEAREST_STEP, NEAREST_TURNS
from thud.terrain.collision.volumes import set_points
from thud.terrain.collision.work_space import PLACE


@exact_device
def held(x):
    """Within the patch."""
    return min(max(x, 0.0), 1.0)


@exact_device
def gap2(corners, p, a, b):
    """Squared distance of p from point (a, b) of a patch."""
    q = patch_point(corners, a, b)
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    return x * x + y * y + z * z


@exact_kernel(inner="f8[:,::1], vec3, f8, f8")
def foot_on_patch(corners, p, a, b):
    """(a, b) of the point of the patch that is nearest to p, near the one given. Newton's method on the square of the distance,
    held within the patch; where that does not gain, along a and along b, on each of which the patch is straight."""
    a, b = held(a), held(b)
    gx = corners[3, 0] - corners[1, 0] - corners[2, 0] + corners[0, 0]
    gy = corners[3, 1] - corners[1, 1] - corners[2, 1] + corners[0, 1]
    gz = corners[3, 2] - corners[1, 2] - corners[2, 2] + corners[0, 2]
    best = gap2(corners, p, a, b)
    for _ in range(FOOT_STEPS):
        q = patch_point(corners, a, b)
        rx, ry, rz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        ex, ey, ez, fx, fy, fz = tangents(corners, a, b)
        ee, ff = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
        ef = ex * fx + ey * fy + ez * fz + rx * gx + ry * gy + rz * gz
        re, rf = rx * ex + ry * ey + rz * ez, rx * fx + ry * fy + rz * fz
        whole = ee * ff - ef * ef
        to_a, to_b, moved = a, b, False
        # At an edge that it is pushed against, along the edge alone.
        fixed_a, fixed_b = (
            (a == 0.0 and re > 0.0) or (a == 1.0 and re < 0.0),
            (b == 0.0 and rf > 0.0) or (b == 1.0 and rf < 0.0),
        )
        if not fixed_a and not fixed_b and whole > 0.0:
            to_a, to_b = held(a - (ff * re - ef * rf) / whole), held(b - (ee * rf - ef * re) / whole)
            moved = gap2(corners, p, to_a, to_b) < best
        if not moved:
            to_a = a if fixed_a or not ee > 0.0 else held(a - re / ee)
            ex, ey, ez, fx, fy, fz = tangents(corners, to_a, b)
            ff = fx * fx + fy * fy + fz * fz
            q = patch_point(corners, to_a, b)
            rf = (q[0] - p[0]) * fx + (q[1] - p[1]) * fy + (q[2] - p[2]) * fz
            to_b = held(b - rf / ff) if ff > 0.0 else b
        value = gap2(corners, p, to_a, to_b)
        if not value < best:
            break
        a, b, best = to_a, to_b, value
    return a, b


@kernel(inner="parts, part_query, work_space, f8, f8, vec3")
def foot_and_back(parts, query, space, u, v, y):
    """(outcome, u, v, point of the patch in `space`, its distance from the part, normal to it): a point y projected onto the
    patch, near (u, v), and that one onto the part."""
    a, b, r, t, _m, _mode = query
    u, v = foot_on_patch(space.corners, y, u, v)
    x = patch_point(space.corners, u, v)
    space.points[0, 0], space.points[0, 1], space.points[0, 2] = x
    o = set_points(parts, a, space.points, 1)
    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
    outcome, far, _q, away = pair_distance(parts, a, b, r, at, center_axis(parts, a, b, r, at), math.inf)
    return outcome, u, v, x, far, away


@kernel(inner="parts, part_query, work_space, f8, vec3, vec3")
def exact_nearest(parts, query, space, d, p, n):
    """(distance, point of the patch, normal to the part) from those that were found for the patch in `space`, apart from each
    other; result[PLACE]: where in the patch."""
    corners, result = space.corners, space.result
    u, v = result[PLACE], result[PLACE + 1]
    size2 = gap2(corners, (corners[3, 0], corners[3, 1], corners[3, 2]), 0.0, 0.0)
    # Of what is rounded, the core's point: it moves less from turn to turn.
    radius = parts.reals[query.b, RADIUS]
    reach = d + radius
    y = (p[0] + reach * n[0], p[1] + reach * n[1], p[2] + reach * n[2])
    for _ in range(NEAREST_TURNS):
        outcome, u, v, x, far, away = foot_and_back(parts, query, space, u, v, y)
        if outcome != SEPARATED:
            return d, p, n
        reach = far + radius
        z = (x[0] + reach * away[0], x[1] + reach * away[1], x[2] + reach * away[2])
        step = (z[0] - y[0]) * (z[0] - y[0]) + (z[1] - y[1]) * (z[1] - y[1]) + (z[2] - y[2]) * (z[2] - y[2])
        d, p, n, y = far, x, away, z
        if step <= NEAREST_STEP * NEAREST_STEP * size2:
            break
    result[PLACE], result[PLACE + 1] = u, v
    return d, p, n
