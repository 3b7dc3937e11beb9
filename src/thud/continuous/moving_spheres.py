"""Moving spheres against spheres and triangles: [Slides], moving tests.

Two points in uniform motion are at pos0_a + v_a t and pos0_b + v_b t. With dpos = pos0_b - pos0_a and dv = v_b - v_a the
square of their distance is A + B t + C t^2, A = |dpos|^2, B = 2 dpos.dv, C = |dv|^2, and spheres touch where it is
(r1 + r2)^2. The slides' condition for that, (dpos.dv)^2 > (|dpos|^2 - (r1 + r2)^2) |dv|^2, holds also for spheres that part
and for contacts before or after the step: here they must approach, and 0 <= t <= 1 (`geometry/moving_sphere.py`).

A sphere touches a triangle where its centre meets the triangle thickened by the radius: one of two planes beside the face,
above its inside; a cylinder about an edge, between its ends; a sphere about a vertex. The first of these that the centre
comes to is the first contact, unless it starts in one of them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, HIT, MISS
from thud._core.threads import run_rows
from thud.gates import broadcast_rows
from thud.geometry._gates import Array, as_lengths, as_points, as_triangles
from thud.geometry.intersections import sphere_way_out
from thud.geometry.moving_sphere import moving_sphere_sphere
from thud.geometry.triangle import point_triangle_called
from thud.math.vec3 import add_scaled, cross, dot, load3, norm, norm2, sub
from thud.pairing.motions import empty_impacts
from thud.pairing.rows import row_of
from thud.results import CastStatus, Impacts

__all__ = ["sphere_sphere", "sphere_triangle"]


@device
def edge_time(c, m, radius, p, q):
    """When a sphere about c that moves by m first touches the inside of the segment pq; inf for never."""
    e, x = sub(q, p), sub(c, p)
    length = norm(e)
    if length == 0.0:
        return math.inf
    u = (e[0] / length, e[1] / length, e[2] / length)
    # Across the segment: |(x + t m) x u| = radius.
    t = moving_sphere_sphere(cross(x, u), cross(m, u), radius)
    if t > 1.0:
        return math.inf
    along = dot(x, u) + t * dot(m, u)
    return t if 0.0 <= along <= length else math.inf


@device
def face_time(c, m, radius, a, b, d):
    """When a sphere about c that moves by m first touches the inside of the face a, b, d from outside; inf for never."""
    e1, e2, x = sub(b, a), sub(d, a), sub(c, a)
    n = cross(e1, e2)
    height, speed, thick = dot(n, x), dot(n, m), radius * norm(n)
    if height < 0.0:
        height, speed = -height, -speed
    if not (thick > 0.0 and speed < 0.0 and height >= thick and height - thick <= -speed):
        return math.inf
    t = (height - thick) / -speed
    at = add_scaled(x, m, t)
    # Barycentric coordinates of the foot, times n^2; borders belong to the edges too.
    v, w = dot(cross(at, e2), n), dot(cross(e1, at), n)
    return t if v >= 0.0 and w >= 0.0 and v + w <= norm2(n) else math.inf


@kernel(inner="vec3, vec3, f8, vec3, vec3, vec3")
def swept_sphere_triangle(c, m, radius, a, b, d):
    """(status, time) of the first contact of a sphere about c, moving by m over [0, 1], with the triangle a, b, d."""
    distance2, _x = point_triangle_called(c, a, b, d)
    if distance2 <= radius * radius:
        return AT_START, 0.0
    time = face_time(c, m, radius, a, b, d)
    # What the face is touched inside of, no edge is touched before.
    if not time <= 1.0:
        time = min(edge_time(c, m, radius, a, b), min(edge_time(c, m, radius, b, d), edge_time(c, m, radius, d, a)))
        time = min(time, moving_sphere_sphere(sub(a, c), (-m[0], -m[1], -m[2]), radius))
        time = min(time, moving_sphere_sphere(sub(b, c), (-m[0], -m[1], -m[2]), radius))
        time = min(time, moving_sphere_sphere(sub(d, c), (-m[0], -m[1], -m[2]), radius))
    return (HIT, time) if time <= 1.0 else (MISS, math.inf)


@device
def write_touch(i, status, time, c, x, move, time_out, point_out, normal_out, status_out):
    """Row i: a sphere's centre c and the point x that it touches at `time`, both less what the other moves by until then."""
    time_out[i], status_out[i] = time, status
    for k in range(3):
        point_out[i, k], normal_out[i, k] = 0.0, 0.0
    if status == MISS:
        return
    for k in range(3):
        point_out[i, k] = x[k] + time * move[k]
    n = sub(x, c)
    length = norm(n)
    if status == HIT and length > 0.0:
        normal_out[i, 0], normal_out[i, 1], normal_out[i, 2] = n[0] / length, n[1] / length, n[2] / length


@kernel("i8, i8, f8[:,::1], f8[::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], u1[::1]")
def sphere_sphere_rows(
    start, stop, center_a, radius_a, center_b, radius_b, motion_a, motion_b, time_out, point_out, normal_out, status_out
):
    """First contact of two moving spheres for each row."""
    for i in range(start, stop):
        a, b = load3(center_a, row_of(center_a, i), 0), load3(center_b, row_of(center_b, i), 0)
        ra, rb = radius_a[row_of(radius_a, i)], radius_b[row_of(radius_b, i)]
        move_a, move_b = load3(motion_a, row_of(motion_a, i), 0), load3(motion_b, row_of(motion_b, i), 0)
        d, m = sub(b, a), sub(move_b, move_a)
        status, time = AT_START, 0.0
        distance = norm(d)
        # In an overlap a point of both, on the line of the centres: as deep in A as in B if it can be.
        share = min(max(0.5 * (ra + distance - rb), -ra), ra)
        if norm2(d) > (ra + rb) * (ra + rb):
            time = moving_sphere_sphere(d, m, ra + rb)
            status = HIT if time <= 1.0 else MISS
            d = add_scaled(d, m, min(time, 1.0))
            distance, share = norm(d), ra
        x = add_scaled(a, d, share / distance) if distance > 0.0 else a
        write_touch(i, status, time, a, x, move_a, time_out, point_out, normal_out, status_out)


@kernel("i8, i8, f8[:,::1], f8[::1], f8[:,:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], u1[::1]")
def sphere_triangle_rows(
    start, stop, center, radius, triangle, motion_s, motion_t, time_out, point_out, normal_out, status_out
):
    """First contact of a moving sphere and a moving triangle for each row."""
    for i in range(start, stop):
        c, r, k = load3(center, row_of(center, i), 0), radius[row_of(radius, i)], row_of(triangle, i)
        a = (triangle[k, 0, 0], triangle[k, 0, 1], triangle[k, 0, 2])
        b = (triangle[k, 1, 0], triangle[k, 1, 1], triangle[k, 1, 2])
        d = (triangle[k, 2, 0], triangle[k, 2, 1], triangle[k, 2, 2])
        move_s, move_t = load3(motion_s, row_of(motion_s, i), 0), load3(motion_t, row_of(motion_t, i), 0)
        m = sub(move_s, move_t)
        status, time = swept_sphere_triangle(c, m, r, a, b, d)
        c = add_scaled(c, m, min(time, 1.0))
        _distance2, x = point_triangle_called(c, a, b, d)
        write_touch(i, status, time, c, x, move_t, time_out, point_out, normal_out, status_out)


def _as_move(motion: npt.ArrayLike, name: str) -> Array:
    if np.ndim(motion) == 0 and motion == 0:
        return np.zeros((1, 3))
    return as_points(motion, name)


def sphere_sphere(
    center_a: npt.ArrayLike,
    radius_a: npt.ArrayLike,
    center_b: npt.ArrayLike,
    radius_b: npt.ArrayLike,
    motion_a: npt.ArrayLike,
    motion_b: npt.ArrayLike = 0.0,
    *,
    threads: int | None = None,
) -> Impacts:
    """When N pairs of spheres in uniform motion first touch; in closed form, right to some roundoffs.

    Grazing counts, and so does touching at the start (OVERLAPPING_AT_START, even if they then part).

    Parameters
    ----------
    center_a, center_b : (3,) or (N, 3) metres, world frame, at time 0
    radius_a, radius_b : a number or (N,) metres, 0 or more
    motion_a, motion_b : (3,) or (N, 3) displacements over the step, metres, world frame; 0 for at rest
    threads : how many to use; default all cores

    Returns
    -------
    Impacts; the normal points from A to B. Where they overlap at the start, B moved by depth * normal is free of A; of spheres
    with one centre the normal is +z.
    """
    a, b = as_points(center_a, "center_a"), as_points(center_b, "center_b")
    ra, rb = as_lengths(radius_a, "radius_a", zero=True), as_lengths(radius_b, "radius_b", zero=True)
    ma, mb = _as_move(motion_a, "motion_a"), _as_move(motion_b, "motion_b")
    count = broadcast_rows("center_a, radius_a, center_b, radius_b, motion_a, motion_b", a, ra, b, rb, ma, mb)
    out = empty_impacts(count)
    fields = (out.time, out.point, out.normal, out.status)
    run_rows(sphere_sphere_rows, count, threads, a, ra, b, rb, ma, mb, *fields)
    start = out.status == CastStatus.OVERLAPPING_AT_START
    normal, out.depth[start] = sphere_way_out(*(np.broadcast_to(x, (count, *x.shape[1:]))[start] for x in (a, ra, b, rb)))
    out.normal[start] = normal
    return out


def sphere_triangle(
    center: npt.ArrayLike,
    radius: npt.ArrayLike,
    triangle: npt.ArrayLike,
    motion: npt.ArrayLike,
    triangle_motion: npt.ArrayLike = 0.0,
    *,
    threads: int | None = None,
) -> Impacts:
    """When N spheres in uniform motion first touch N triangles, at a face, an edge or a vertex; in closed form.

    Both sides of a triangle count, grazing counts, and so does touching at the start (OVERLAPPING_AT_START, even if they then
    part). Triangles may be degenerate.

    Parameters
    ----------
    center : (3,) or (N, 3) metres, world frame, at time 0
    radius : a number or (N,) metres, above 0
    triangle : (3, 3) or (N, 3, 3) corners at time 0, metres
    motion, triangle_motion : (3,) or (N, 3) displacements of sphere and triangle over the step, metres; 0 for at rest
    threads : how many to use; default all cores

    Returns
    -------
    Impacts; the normal points from the sphere to the triangle, 0 where they overlap at the start; the depth is then NaN.
    """
    c, r = as_points(center, "center"), as_lengths(radius, "radius")
    corners = as_triangles(triangle, "triangle")
    ms, mt = _as_move(motion, "motion"), _as_move(triangle_motion, "triangle_motion")
    count = broadcast_rows("center, radius, triangle, motion, triangle_motion", c, r, corners, ms, mt)
    out = empty_impacts(count)
    run_rows(sphere_triangle_rows, count, threads, c, r, corners, ms, mt, out.time, out.point, out.normal, out.status)
    return _without_depth(out)


def _without_depth(out: Impacts) -> Impacts:
    """No depth is known where the two overlap at the start."""
    out.depth[out.status == CastStatus.OVERLAPPING_AT_START] = np.nan
    return out
