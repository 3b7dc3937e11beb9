"""Where an edge pierces a triangle, by exact predicates."""

from __future__ import annotations

import math

from thud._core.decorators import exact_kernel
from thud.geometry.exact_vec3 import add_scaled, cross, load3, norm2, sub
from thud.geometry.predicates import none_apart, orient3d, orient3d_precise, same_side

# How an edge meets a triangle that it is not in the plane of.
MISSES, TOUCHES, PIERCES = 0, 1, 2


@exact_kernel
def edge_triangle(p, q, a, b, c):
    """(how, along, entering): MISSES, TOUCHES (an end of pq on abc, or a point of pq on a side of abc) or PIERCES, exactly;
    where, 0 at p and 1 at q; whether pq goes against the normal of abc. An edge in the triangle's plane misses it."""
    side_p, side_q = orient3d(a, b, c, p), orient3d(a, b, c, q)
    if same_side(side_p, side_q) or (side_p == 0.0 and side_q == 0.0):
        return MISSES, 0.0, False
    u, v, w = orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)
    if not none_apart(u, v, w):
        return MISSES, 0.0, False
    entering = side_p > side_q
    if side_p == 0.0:
        return TOUCHES, 0.0, entering
    if side_q == 0.0:
        return TOUCHES, 1.0, entering
    side_p, side_q = orient3d_precise(a, b, c, p), orient3d_precise(a, b, c, q)
    how = PIERCES if u != 0.0 and v != 0.0 and w != 0.0 else TOUCHES
    return how, side_p / (side_p - side_q), entering


@exact_kernel("i8, i8, i8[::1], i8[::1], f8[:,::1], i8[:,::1], i8[:,::1], i1[::1], b1[::1], f8[::1], f8[:,::1], f8[:,::1]")
def piercing_rows(
    start, stop, edge_rows, face_rows, vertices, edges, triangles, how_out, entering_out, along_out, point_out, normal_out
):  # fmt: skip
    """Each edge of `edge_rows` against the triangle of `face_rows` beside it: how they meet, where, and the unit normal."""
    for k in range(start, stop):
        e, f = edge_rows[k], face_rows[k]
        p, q = load3(vertices, edges[e, 0], 0), load3(vertices, edges[e, 1], 0)
        a, b = load3(vertices, triangles[f, 0], 0), load3(vertices, triangles[f, 1], 0)
        c = load3(vertices, triangles[f, 2], 0)
        how, along, entering = edge_triangle(p, q, a, b, c)
        how_out[k], entering_out[k], along_out[k] = how, entering, along
        point = q if along == 1.0 else add_scaled(p, sub(q, p), along)
        n = cross(sub(b, a), sub(c, a))
        length = math.sqrt(norm2(n))
        for axis in range(3):
            point_out[k, axis] = point[axis]
            normal_out[k, axis] = n[axis] / length if length > 0.0 else 0.0
