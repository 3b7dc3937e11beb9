"""Closest points of a convex part and a bilinear patch, made exact.

`patch_query` finds the distance to PATCH_FLAT of the patch; its points may still be off along the patch by the root of that.
From there the two are projected onto each other in turn: the part's point onto the patch itself, by Newton's method, that one
onto the part.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel, kernel
from thud._core.status import OVERLAPPING, SEPARATED
from thud.convex.convex_pair import analytic_touch, pair_distance
from thud.convex.gjk import center_axis
from thud.convex.point_distance import point_part
from thud.math.pose import rotate, unrotate
from thud.shapes.packed import KIND, RADIUS
from thud.shapes.shape import HULL
from thud.terrain.collision.patch import patch_point, tangents
from thud.terrain.collision.tolerances import (
    FOOT_GAIN,
    FOOT_HALVES,
    FOOT_STEPS,
    NEAREST_APART,
    NEAREST_DONE,
    NEAREST_STEP,
    NEAREST_TURNS,
)
from thud.terrain.collision.volumes import set_points
from thud.terrain.collision.work_space import PLACE

_I = np.int64


@exact_device
def held(x):
    """Within the patch."""
    return min(max(x, 0.0), 1.0)


@exact_device
def part_within(a, b, da, db):
    """How much of a step (da, db) from a place of the patch stays on it: 1 is all."""
    part = 1.0
    if a + da > 1.0 or a + da < 0.0:
        part = ((1.0 if da > 0.0 else 0.0) - a) / da
    if b + db > 1.0 or b + db < 0.0:
        part = min(part, ((1.0 if db > 0.0 else 0.0) - b) / db)
    return part


@exact_device
def gap2(corners, p, a, b):
    """Squared distance of p from point (a, b) of a patch."""
    q = patch_point(corners, a, b)
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    return x * x + y * y + z * z


@exact_kernel(inner="f8[:,::1], vec3, f8, f8, f8")
def foot_on_edges(corners, p, a, b, best):
    """(whether a point of the four edges is nearer to p than `best`, squared, where, how near): edges are straight."""
    better = False
    for k in range(4):
        # From corner i to corner j: along a at b = 0 and 1, along b at a = 0 and 1.
        i = 0 if k != 1 and k != 3 else (2 if k == 1 else 1)
        j = 1 if k == 0 else (2 if k == 2 else 3)
        ex, ey, ez = corners[j, 0] - corners[i, 0], corners[j, 1] - corners[i, 1], corners[j, 2] - corners[i, 2]
        rx, ry, rz = p[0] - corners[i, 0], p[1] - corners[i, 1], p[2] - corners[i, 2]
        ee = ex * ex + ey * ey + ez * ez
        x = held((rx * ex + ry * ey + rz * ez) / ee) if ee > 0.0 else 0.0
        to_a = x if k < 2 else (1.0 if k == 3 else 0.0)
        to_b = x if k >= 2 else (1.0 if k == 1 else 0.0)
        value = gap2(corners, p, to_a, to_b)
        if value < best:
            better, a, b, best = True, to_a, to_b, value
    return better, a, b, best


@exact_kernel(inner="f8[:,::1], vec3, f8, f8")
def foot_on_patch(corners, p, a, b):
    """(a, b) of the point of the patch that is nearest to p, near the one given or nearer than what is near to it; of a flat
    patch the nearest. Newton's method on the square of the distance; where that is not convex, as if the patch were flat.
    A step that leads out of the patch is cut short, and the edges are asked, each of which is straight: along a and along b
    in turn it would take very long on a patch with a sharp corner."""
    a, b = held(a), held(b)
    gx = corners[3, 0] - corners[1, 0] - corners[2, 0] + corners[0, 0]
    gy = corners[3, 1] - corners[1, 1] - corners[2, 1] + corners[0, 1]
    gz = corners[3, 2] - corners[1, 2] - corners[2, 2] + corners[0, 2]
    best, edges = gap2(corners, p, a, b), False
    for _ in range(FOOT_STEPS):
        q = patch_point(corners, a, b)
        rx, ry, rz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        ex, ey, ez, fx, fy, fz = tangents(corners, a, b)
        ee, ff = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
        flat = ex * fx + ey * fy + ez * fz
        ef = flat + rx * gx + ry * gy + rz * gz
        re, rf = rx * ex + ry * ey + rz * ez, rx * fx + ry * fy + rz * fz
        whole = ee * ff - ef * ef
        if not whole > 0.0:
            ef, whole = flat, ee * ff - flat * flat
        gained = False
        if whole > 0.0:
            da, db = (ef * rf - ff * re) / whole, (ef * re - ee * rf) / whole
            part = part_within(a, b, da, db)
            inside = part == 1.0
            # Where what it promises is lost in rounding there is nothing to be gained by halving it.
            for _half in range(FOOT_HALVES if -(re * da + rf * db) > FOOT_GAIN * best else 1):
                to_a, to_b = held(a + part * da), held(b + part * db)
                value = gap2(corners, p, to_a, to_b)
                if value < best:
                    gained, a, b, best = True, to_a, to_b, value
                    break
                part *= 0.5
            if gained and inside:
                continue
        if not edges:
            # They do not change: once will do.
            edges = True
            better, a, b, best = foot_on_edges(corners, p, a, b, best)
            gained = gained or better
        if not gained:
            break
    return a, b


@kernel(inner="parts, part_query, work_space, f8, f8")
def back_to_part(parts, query, space, u, v):
    """(outcome, point (u, v) of the patch in `space`, its distance from the part, normal to it): by closed forms, since GJK's
    normal of a curved part is right to the root of what its distance is right to; of hulls by GJK, which has their faces."""
    a, b, r, t, _m, _mode = query
    x = patch_point(space.corners, u, v)
    if parts.ints[b, KIND] != HULL:
        at = (x[0] - t[0], x[1] - t[1], x[2] - t[2])
        d, _q, n = point_part(parts, b, unrotate(r, at))
        n = rotate(r, n)
        if d > analytic_touch(parts, a, b, at):
            return _I(SEPARATED), x, d, (-n[0], -n[1], -n[2])
        return _I(OVERLAPPING), x, 0.0, (0.0, 0.0, 0.0)
    space.points[0, 0], space.points[0, 1], space.points[0, 2] = x
    o = set_points(parts, a, space.points, 1)
    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
    outcome, far, _q, away = pair_distance(parts, a, b, r, at, center_axis(parts, a, b, r, at), math.inf)
    return _I(outcome), x, far, away


@kernel(inner="parts, part_query, work_space, f8, f8, vec3")
def foot_and_back(parts, query, space, u, v, y):
    """(outcome, u, v, point of the patch in `space`, its distance from the part, normal to it): a point y projected onto the
    patch, near (u, v), and that one onto the part."""
    u, v = foot_on_patch(space.corners, y, u, v)
    outcome, x, far, away = back_to_part(parts, query, space, u, v)
    return outcome, u, v, x, far, away


@exact_device
def slope(corners, away, u, v):
    """Derivatives along u and v of the distance of patch point (u, v) from a part in direction `away`."""
    ex, ey, ez, fx, fy, fz = tangents(corners, u, v)
    return -(away[0] * ex + away[1] * ey + away[2] * ez), -(away[0] * fx + away[1] * fy + away[2] * fz)


@exact_device
def is_held(x, derivative):
    """Whether a coordinate is on the patch's border and could only gain beyond it."""
    return (x <= 0.0 and derivative >= 0.0) or (x >= 1.0 and derivative <= 0.0)


@exact_device
def inward(x, step):
    """A small step that stays on the patch."""
    return step if x + step <= 1.0 else -step


@exact_kernel(inner="f8, f8, f8, f8, f8, f8, f8")
def newton_step(gu, gv, uu, uv, vv, u, v):
    """(whether the function is convex here, du, dv): Newton's step for a gradient and second derivatives, along what is not
    held at the border."""
    held_u, held_v = is_held(u, gu), is_held(v, gv)
    du, dv = 0.0, 0.0
    if held_u and held_v:
        return True, du, dv
    if held_u:
        convex = vv > 0.0
        if convex:
            dv = -gv / vv
    elif held_v:
        convex = uu > 0.0
        if convex:
            du = -gu / uu
    else:
        whole = uu * vv - uv * uv
        convex = uu > 0.0 and whole > 0.0
        if convex:
            du, dv = (uv * gv - vv * gu) / whole, (uv * gu - uu * gv) / whole
    return convex, du, dv


@kernel(inner="parts, part_query, work_space, f8, vec3, vec3")
def exact_nearest(parts, query, space, d, p, n):
    """(distance, point of the patch, normal to the part) from those that were found for the patch in `space`, apart from each
    other; result[PLACE]: where in the patch.

    Projections in turn gain less and less where both are all but flat, R / (R + d) of the way that is left with a radius of
    curvature R. So there is a step of Newton's method on the distance over the patch after each: its gradient comes of the
    normal, its second derivatives of differences."""
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
        done = False
        gu, gv = slope(corners, away, u, v)
        hu, hv = inward(u, NEAREST_APART), inward(v, NEAREST_APART)
        along_u, along_v = back_to_part(parts, query, space, u + hu, v), back_to_part(parts, query, space, u, v + hv)
        if along_u[0] == SEPARATED and along_v[0] == SEPARATED:
            gu_u, gv_u = slope(corners, along_u[3], u + hu, v)
            gu_v, gv_v = slope(corners, along_v[3], u, v + hv)
            uv = 0.5 * ((gv_u - gv) / hu + (gu_v - gu) / hv)
            convex, du, dv = newton_step(gu, gv, (gu_u - gu) / hu, uv, (gv_v - gv) / hv, u, v)
            if convex:
                done = abs(du) + abs(dv) <= NEAREST_DONE
                part = part_within(u, v, du, dv)
                to_u, to_v = held(u + part * du), held(v + part * dv)
                outcome, to_x, to_far, to_away = back_to_part(parts, query, space, to_u, to_v)
                if outcome == SEPARATED and (to_far < far or done):
                    u, v, x, far, away = to_u, to_v, to_x, to_far, to_away
        reach = far + radius
        z = (x[0] + reach * away[0], x[1] + reach * away[1], x[2] + reach * away[2])
        step = (z[0] - y[0]) * (z[0] - y[0]) + (z[1] - y[1]) * (z[1] - y[1]) + (z[2] - y[2]) * (z[2] - y[2])
        d, p, n, y = far, x, away, z
        if done or step <= NEAREST_STEP * NEAREST_STEP * size2:
            break
    result[PLACE], result[PLACE + 1] = u, v
    return d, p, n
