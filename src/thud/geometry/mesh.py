"""Points and rays against a triangle mesh given as vertices and faces: exact, every triangle tried.

No ray is ever chosen at random and none can be fooled by an edge or a vertex. Where a ray meets one exactly, it is
moved by an infinitely small step (Edelsbrunner and Muecke 1990): the step only decides ties, and it decides them alike
for the two triangles of an edge, so that a surface without holes shows none to a ray.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import dot, drop_axis, load3, sub
from thud.geometry.predicates import (
    cross_component,
    line_side,
    line_side_precise,
    none_apart,
    orient2d,
    orient3d,
    same_side,
)
from thud.geometry.segment_exact import NOTHING, flat_axis, segment_segment
from thud.geometry.triangle_exact import point_in_triangle_2d


@exact_kernel
def point_on_triangle(p, a, b, c):
    """Whether p lies on the closed triangle abc, exactly. The triangle may be degenerate."""
    if orient3d(a, b, c, p) != 0.0:
        return False
    axis = flat_axis(a, b, c)
    if axis >= 0:
        return point_in_triangle_2d(drop_axis(p, axis), drop_axis(a, axis), drop_axis(b, axis), drop_axis(c, axis))
    # Without an area it is the union of its edges.
    for q, r in ((a, b), (b, c), (c, a)):  # noqa: SIM110
        if segment_segment(p, p, q, r)[0] != NOTHING:
            return True
    return False


@exact_kernel
def _side_across_x(p, a, b):
    """+1 or -1: on which side of the edge ab the point p passes, seen along x; ties by moving p by (0, eps, eps^2).

    0 only for an edge parallel to x.
    """
    a2, b2 = drop_axis(a, 0), drop_axis(b, 0)
    side = orient2d(a2, b2, drop_axis(p, 0))
    if side == 0.0:
        side = a2[1] - b2[1] if a2[1] != b2[1] else b2[0] - a2[0]
    if side > 0.0:
        return 1
    return -1 if side < 0.0 else 0


@exact_kernel
def parity_along_x(p, a, b, c):
    """The triangle abc for a ray from p along +x: 2 if p lies on it, 1 if the ray crosses it, else 0."""
    volume = orient3d(a, b, c, p)
    if volume == 0.0 and point_on_triangle(p, a, b, c):
        return 2
    side = _side_across_x(p, a, b)
    if side == 0 or side != _side_across_x(p, b, c) or side != _side_across_x(p, c, a):
        return 0
    # The line crosses the triangle, whose normal has the sign `side` along x: ahead of p if p is behind the normal.
    return 1 if (side > 0 and volume < 0.0) or (side < 0 and volume > 0.0) else 0


@exact_kernel
def point_in_mesh(p, vertices, faces):
    """Whether p lies in or on the closed mesh: the number of triangles that the ray from p along +x crosses is odd."""
    inside = False
    for f in range(faces.shape[0]):
        a, b, c = load3(vertices, faces[f, 0], 0), load3(vertices, faces[f, 1], 0), load3(vertices, faces[f, 2], 0)
        # Triangles behind p or beside its ray.
        if max(a[0], max(b[0], c[0])) < p[0]:
            continue
        if max(a[1], max(b[1], c[1])) < p[1] or min(a[1], min(b[1], c[1])) > p[1]:
            continue
        if max(a[2], max(b[2], c[2])) < p[2] or min(a[2], min(b[2], c[2])) > p[2]:
            continue
        found = parity_along_x(p, a, b, c)
        if found == 2:
            return True
        if found == 1:
            inside = not inside
    return inside


@exact_kernel
def _ray_edge_on(o, d, a, b, c):
    """Distance to the triangle abc that the ray sees edge on, as a piece of a line through o; inf for a miss."""
    if point_on_triangle(o, a, b, c):
        return 0.0
    nearest = math.inf
    for p, q in ((a, b), (b, c), (c, a)):
        # d x (p - o) and d x (q - o) are parallel; the ray's line passes between p and q unless they point one way.
        apart, across_p, across_q = False, 0.0, 0.0
        for axis in range(3):
            side_p, side_q = cross_component(d, p, o, axis), cross_component(d, q, o, axis)
            apart = apart or same_side(side_p, side_q)
            if abs(side_p) + abs(side_q) > across_p + across_q:
                across_p, across_q = abs(side_p), abs(side_q)
        if apart:
            continue
        t_p, t_q = dot(sub(p, o), d), dot(sub(q, o), d)
        if across_p + across_q > 0.0:
            t = t_p + (t_q - t_p) * (across_p / (across_p + across_q))
        else:
            t = min(t_p, t_q)
        if t >= 0.0:
            nearest = min(nearest, t)
    return nearest


@exact_device
def _distance_through(o, d, a, b, c):
    """Distance along the ray of its crossing with the plane of abc, which it crosses within the triangle."""
    # The crossing as a mean of the corners, weighted by the sides on which the ray passes the edges.
    u, v, w = line_side_precise(o, d, b, c), line_side_precise(o, d, c, a), line_side_precise(o, d, a, b)
    along = u * dot(sub(a, o), d) + v * dot(sub(b, o), d) + w * dot(sub(c, o), d)
    return max(along / (u + v + w), 0.0)


@exact_kernel
def ray_triangle_exact(o, d, a, b, c):
    """Distance from o along the unit direction d to the closed triangle abc, from either side; inf for a miss.

    Whether it hits is decided exactly, on edges, at corners and for rays in the triangle's plane too.
    """
    u, v, w = line_side(o, d, b, c), line_side(o, d, c, a), line_side(o, d, a, b)
    if not none_apart(u, v, w):
        return math.inf
    if u == 0.0 and v == 0.0 and w == 0.0:
        return _ray_edge_on(o, d, a, b, c)
    # u + v + w = n . d and the volume = n . (o - a): the plane is ahead if they differ in sign.
    volume = orient3d(a, b, c, o)
    if volume == 0.0:
        return 0.0
    if same_side(volume, u + v + w):
        return math.inf
    return _distance_through(o, d, a, b, c)


@exact_kernel
def ray_mesh(o, d, vertices, faces):
    """(t, face): distance along the unit direction d to the first triangle that the ray meets; (inf, -1) for none."""
    nearest, face = math.inf, -1
    for f in range(faces.shape[0]):
        a, b, c = load3(vertices, faces[f, 0], 0), load3(vertices, faces[f, 1], 0), load3(vertices, faces[f, 2], 0)
        t = ray_triangle_exact(o, d, a, b, c)
        if t < nearest:
            nearest, face = t, f
    return nearest, face


@exact_kernel
def _line_side_moved(o, d, a, b):
    """+1 or -1: the sign of line_side, ties decided by moving o by (eps, eps^2, eps^3). 0 for an edge parallel to d."""
    side = line_side(o, d, a, b)
    axis = 0
    while side == 0.0 and axis < 3:
        side = cross_component(d, b, a, axis)
        axis += 1
    if side > 0.0:
        return 1
    return -1 if side < 0.0 else 0


@exact_kernel
def ray_crossing(o, d, a, b, c):
    """Distance at which the ray passes through the triangle abc; inf where it does not.

    On a closed mesh a ray through a common edge or vertex passes through exactly one of the triangles there, or, where
    it only grazes the surface, through none or two of them.
    """
    side = _line_side_moved(o, d, a, b)
    if side == 0 or side != _line_side_moved(o, d, b, c) or side != _line_side_moved(o, d, c, a):
        return math.inf
    volume = orient3d(a, b, c, o)
    if volume == 0.0:
        return 0.0
    if same_side(volume, np.float64(side)):
        return math.inf
    return _distance_through(o, d, a, b, c)
