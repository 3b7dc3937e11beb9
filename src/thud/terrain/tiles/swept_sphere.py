"""A sphere that moves among triangles and slides along them: faces, edges and vertices, until its motion is used up.

The distance of a moving point from a triangle is a convex function of time. So Newton's method on it, from the start on, comes
to the first contact from before and never passes it, whatever part of the triangle is met; where the distance grows there is
no contact at all. The centre keeps farther from every triangle than the radius, always.

All in one frame, in which the sphere starts at the origin.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.geometry.triangle import area_vector, closest_point_triangle
from thud.math.vec3 import add_scaled, cross, dot, load3, norm, scale, sub
from thud.terrain.tiles.tolerances import (
    LEAN_AGAIN,
    LEAN_LEAST,
    LEAN_MORE,
    LEAN_MOST,
    LEAN_ROUNDS,
    SAME_NORMAL,
    SLIDE_HITS,
    SLIDE_PARALLEL,
    SWEEP_STEPS,
    TOUCHING_NORMALS,
)


@device
def gap_and_normal(corners, k, p):
    """(distance of p from triangle k, unit vector from the triangle to p, whether its face is nearest rather than an edge or a
    vertex); at distance 0 the triangle's normal."""
    a, b, c = load3(corners, k, 0), load3(corners, k, 3), load3(corners, k, 6)
    distance2, point, region = closest_point_triangle(p, a, b, c)
    distance = math.sqrt(distance2)
    if distance > 0.0:
        return distance, scale(sub(p, point), 1.0 / distance), region == 6
    n = area_vector(sub(b, a), sub(c, b), sub(a, c))
    length = norm(n)
    return distance, (scale(n, 1.0 / length) if length > 0.0 else (0.0, 0.0, 1.0)), region == 6


@device
def touch_range(radius, skin, face):
    """(least, greatest) distance at which a sphere that comes to a triangle stops.

    Nearer to edges and vertices than to faces: a sphere that rests on a face then never feels the edge of the next one beyond,
    of which it is as near as of the face but for the square of a small length.
    """
    return (radius + 0.25 * skin, radius + 0.5 * skin) if face else (radius + 0.0625 * skin, radius + 0.125 * skin)


@kernel(inner="f8[:,::1], i8, vec3, vec3, f8, f8")
def first_touch(corners, count, p, v, radius, skin):
    """(time, triangle, whether a limit was reached): when the point p, moving by v in unit time, first comes into the range of
    a triangle, approaching it; (1, -1, False) for never."""
    best, row, limit = 1.0, np.int64(-1), False
    speed = norm(v)
    for k in range(count):
        t, steps = 0.0, 0
        while True:
            distance, n, face = gap_and_normal(corners, k, add_scaled(p, v, t))
            slope = dot(v, n)
            near, stop = touch_range(radius, skin, face)
            if distance <= stop:
                # What runs along it goes on, unless it would lose the room it has by the end of the way.
                least = radius + 0.75 * (near - radius)
                sinks = distance >= least and distance + slope * (1.0 - t) < least
                if (slope < -SLIDE_PARALLEL * speed or (sinks and slope < 0.0)) and t < best:
                    best, row, limit = t, np.int64(k), False
                break
            if slope >= 0.0:
                break
            # The tangent lies below the distance: where it ends, the sphere has not arrived.
            t += (distance - near) / -slope
            if t >= best:
                break
            steps += 1
            if steps == SWEEP_STEPS:
                best, row, limit = t, np.int64(k), True
                break
    return best, row, limit


@device
def _feasible(r, normals, count):
    """Whether r leads into no surface."""
    size = norm(r)
    for i in range(count):  # noqa: SIM110 (a kernel)
        if dot(r, load3(normals, i, 0)) < -0.5 * SLIDE_PARALLEL * size:
            return False
    return True


@device
def _along_plane(v, n):
    """v without its part along n; twice, so that what is left is orthogonal for a short rest too."""
    r = add_scaled(v, n, -dot(v, n))
    return add_scaled(r, n, -dot(r, n))


@kernel(inner="vec3, f8[:,::1], i8")
def slide_along(v, normals, count):
    """The motion closest to v that leads into none of the surfaces with these normals: v itself, its part along one of them,
    along the crease of two, or none."""
    least = 0.0
    for i in range(count):
        least = min(least, dot(v, load3(normals, i, 0)))
    if least == 0.0:
        return v
    best, best2 = (0.0, 0.0, 0.0), 0.0
    for i in range(count):
        r = _along_plane(v, load3(normals, i, 0))
        r2 = dot(r, r)
        if r2 > best2 and _feasible(r, normals, count):
            best, best2 = r, r2
    if best2 > 0.0:
        return best
    for i in range(count):
        for j in range(i):
            e = cross(load3(normals, i, 0), load3(normals, j, 0))
            length = norm(e)
            if length > 0.0:
                e = scale(e, 1.0 / length)
                r = scale(e, dot(v, e))
                r2 = dot(r, r)
                if r2 > best2 and _feasible(r, normals, count):
                    best, best2 = r, r2
    return best


@device
def _touching(corners, count, p, radius, skin, normals_out, alike_out):
    """(how many different normals of triangles in whose range p is were written; -1 if there are too many; how many rows were
    written that are almost, but not to the bit, one of them; the greatest coordinate of those triangles)."""
    found, alike, span = 0, 0, 0.0
    for k in range(count):
        distance, n, face = gap_and_normal(corners, k, p)
        if distance > touch_range(radius, skin, face)[1]:
            continue
        for c in range(9):
            span = max(span, abs(corners[k, c]))
        known, equal = False, False
        for i in range(found):
            m = load3(normals_out, i, 0)
            known |= dot(n, m) > 1.0 - SAME_NORMAL
            equal |= n[0] == m[0] and n[1] == m[1] and n[2] == m[2]
        if known:
            if not equal and alike < alike_out.shape[0]:
                alike_out[alike, 0], alike_out[alike, 1], alike_out[alike, 2] = n
                alike += 1
            continue
        if found == normals_out.shape[0]:
            return np.int64(-1), np.int64(alike), span
        normals_out[found, 0], normals_out[found, 1], normals_out[found, 2] = n
        found += 1
    return np.int64(found), np.int64(alike), span


@kernel(inner="vec3, f8[:,::1], i8, f8[:,::1], i8, f8")
def lean_off(v, normals, found, alike, count, least):
    """A motion that leads into no surface, made to lean off those by `least` of its length, and off those whose normals are
    almost the same too. Else it would meet what it has just met again where it is, and again."""
    for _ in range(LEAN_ROUNDS):
        want, lack, m = least * norm(v), 0.0, (0.0, 0.0, 0.0)
        for rows, many in ((normals, found), (alike, count)):
            for i in range(many):
                n = load3(rows, i, 0)
                slope = dot(v, n)
                if slope < want:
                    lack, m = max(lack, want - slope), add_scaled(m, n, 1.0)
        size = norm(m)
        if lack == 0.0 or size == 0.0:
            break
        m, across = scale(m, 1.0 / size), 1.0
        for rows, many in ((normals, found), (alike, count)):
            for i in range(many):
                n = load3(rows, i, 0)
                if dot(v, n) < want:
                    across = min(across, dot(m, n))
        if lack * LEAN_MORE > LEAN_MOST * norm(v) * across:
            break
        v = add_scaled(v, m, LEAN_MORE * lack / across)
    return v


@kernel("f8[:,::1], i8, f8[::1], f8, f8, f8, f8, f8[::1], f8[::1], f8[::1]")
def slide_sphere(corners, count, motion, radius, skin, way, end, position_out, normal_out, rest_out):
    """(hits, status): move a sphere from the origin and slide, up to a length `way`; what is left of the motion then is written
    to rest_out, 0 once it is shorter than `end`.

    It stops less than `skin` before what it meets. position_out, normal_out, rest_out: (3,) where it ends, the normal of the
    last thing met, 0 for none, and the rest. status: 0 nothing met, 1 met, 2 nearer than its radius at the start, 3 a limit was
    reached.
    """
    normals, alike = np.empty((TOUCHING_NORMALS, 3)), np.empty((TOUCHING_NORMALS, 3))
    p, v = (0.0, 0.0, 0.0), (motion[0], motion[1], motion[2])
    hits, stuck, status, last = 0, 0, 0, (0.0, 0.0, 0.0)
    for k in range(count):
        distance, _, _ = gap_and_normal(corners, k, p)
        if distance < radius:
            status = 2
    while norm(v) > end and way > 0.0:
        part = min(1.0, way / norm(v))
        step = scale(v, part)
        t, row, limit = first_touch(corners, count, p, step, radius, skin)
        p = add_scaled(p, step, t)
        if row < 0:
            v = scale(v, 1.0 - part)
            break
        way -= t * norm(step)
        gap, last, face = gap_and_normal(corners, row, p)
        hits += 1
        if limit or hits == SLIDE_HITS:
            status = 3
            break
        status = max(status, 1)
        found, others, span = _touching(corners, count, p, radius, skin, normals, alike)
        if found < 0:
            status = 3
            break
        v = slide_along(scale(v, 1.0 - part * t), normals, found)
        stuck = stuck + 1 if t == 0.0 and hits > 1 else 0
        if others or stuck:
            least = LEAN_LEAST * (1.0 + span / radius) * LEAN_AGAIN ** (stuck - 1) if stuck else 0.0
            v = lean_off(v, normals, found, alike, others, least)
        if found == 1 and face:
            # Back to where it feels no edge beyond, if it came over one.
            v = add_scaled(v, last, max(touch_range(radius, skin, face)[0] - max(gap, radius), 0.0))
    left = 0.0 if status == 3 or norm(v) <= end else 1.0
    for axis in range(3):
        position_out[axis], normal_out[axis], rest_out[axis] = p[axis], last[axis], left * v[axis]
    return hits, status
