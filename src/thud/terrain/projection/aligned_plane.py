"""The aligned plane method, [Yang] 2.4.1: the one in use there before, exact only where the directions are parallel."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import add_scaled, cross, dot, norm2, sub
from thud.terrain.projection.alpha_triangle import INSIDE, OUTSIDE, belongs, in_own_units
from thud.terrain.projection.rows import SIGNATURE, load_point, load_triangle
from thud.terrain.projection.tolerances import PROJECTION_COLLAPSE


@exact_device
def length_at(u, v, w, e1, e2, n0, d1, d2):
    """Length along the direction at (u, v) that comes nearest to the point: (P' - P) . N / N^2, in own units."""
    g = add_scaled(add_scaled(w, e1, -u), e2, -v)
    m = add_scaled(add_scaled(n0, d1, u), d2, v)
    mm = norm2(m)
    return dot(g, m) / mm if mm > 0.0 else math.inf


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8")
def aligned_project(p, p0, p1, p2, n0, n1, n2, lo, hi):
    """(status, u, v, length): the corners are moved along their directions into the plane through p parallel to the primitive,
    and the (u, v) of p in that triangle are taken for those of the primitive. OUTSIDE, at infinity, where a direction lies in
    the plane."""
    w, e1, e2, n0, d1, d2, unit, noise = in_own_units(p, p0, p1, p2, n0, n1, n2)
    n = cross(e1, e2)
    # Heights of the point and of each direction's end over the primitive, times |n|; the corners are moved by t_i.
    height, rise0, rise1, rise2 = dot(n, w), dot(n, n0), dot(n, n0) + dot(n, d1), dot(n, n0) + dot(n, d2)
    if unit == 0.0 or rise0 == 0.0 or rise1 == 0.0 or rise2 == 0.0:
        return OUTSIDE, math.inf, math.inf, math.inf
    q0 = (n0[0] * (height / rise0), n0[1] * (height / rise0), n0[2] * (height / rise0))
    q1 = add_scaled(add_scaled(e1, n0, height / rise1), d1, height / rise1)
    q2 = add_scaled(add_scaled(e2, n0, height / rise2), d2, height / rise2)
    s1, s2, x = sub(q1, q0), sub(q2, q0), sub(w, q0)
    m = cross(s1, s2)
    mm = norm2(m)
    if not mm > PROJECTION_COLLAPSE * PROJECTION_COLLAPSE * norm2(s1) * norm2(s2):
        return OUTSIDE, math.inf, math.inf, math.inf
    u, v = dot(cross(x, s2), m) / mm, dot(cross(s1, x), m) / mm
    length = length_at(u, v, w, e1, e2, n0, d1, d2)
    in_primitive, in_range = belongs(u, v, length, lo / unit, hi / unit, noise, e1, e2, n0, d1, d2)
    return (INSIDE if in_primitive and in_range else OUTSIDE), u, v, length * unit


@exact_kernel(SIGNATURE)
def aligned_plane_rows(
    start, stop, points, positions, directions, ranges, starts, u_out, v_out, length_out, iterations_out, status_out
):
    """Each row by `aligned_project`; `starts` is not read."""
    for i in range(start, stop):
        p, lo, hi = load_point(points, ranges, i)
        p0, p1, p2 = load_triangle(positions, i)
        n0, n1, n2 = load_triangle(directions, i)
        status, u, v, length = aligned_project(p, p0, p1, p2, n0, n1, n2, lo, hi)
        u_out[i], v_out[i], length_out[i] = u, v, length
        iterations_out[i], status_out[i] = 0, np.uint8(status)
