"""The separating-axis test of two convex polytopes ([Slides], "Separating planes"): whether some axis has them apart.

If two polytopes are apart, they are so along the normal of a face of one of them, or along the cross product of an edge of
each. Only pairs of edges that make a face of the Minkowski difference can have an axis that no face has: on the Gauss map,
where an edge is the arc between the normals of its two faces, the arc of A's edge crosses that of B's, mirrored (Gregorius
2013). So most pairs of edges cost three signs. Of the others the edges themselves are extreme along their axis, and only an
axis that separates is proved by support points.

It ends at the first axis that separates. If they meet, all faces and all pairs of edges are looked at, which for hulls of
many edges is far more than GJK's few steps; it iterates nothing and is never undecided.

Everything is in A's frame; (r, t) is the pose of B in it.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED
from thud.convex.gjk import difference_support, touch_distance
from thud.convex.support import load_part, support
from thud.convex.tolerances import SAT_PARALLEL
from thud.math.pose import rotate, unrotate
from thud.math.vec3 import add, cross, dot, load3, neg, norm2, sub
from thud.pairing.rows import placed_parts
from thud.shapes.packed import CENTER, EDGE_COUNT, EDGE_START, FACE_COUNT, FACE_START, VERTEX_START


@device
def vertex_of(parts, start, k):
    """Vertex k of a hull whose vertices begin at `start`, in its own frame."""
    return parts.vertices[0, start + k], parts.vertices[1, start + k], parts.vertices[2, start + k]


@device
def face_apart(packed, x, y, r, t, touch):
    """Whether some face of polytope x has y in front of it; (r, t) is y in x's frame."""
    parts = packed.parts
    part_y = load_part(parts, y)
    first = parts.ints[x, FACE_START]
    for f in range(first, first + parts.ints[x, FACE_COUNT]):
        n = load3(packed.planes, f, 0)
        lowest = add(rotate(r, support(parts, part_y, neg(unrotate(r, n)))), t)
        if dot(n, lowest) - packed.planes[f, 3] > touch:
            return True
    return False


@device
def edges_apart(packed, a, b, r, t, touch):
    """Whether the axis of some pair of edges has the two apart."""
    parts, planes, edges = packed.parts, packed.planes, packed.edges
    faces_a, faces_b = parts.ints[a, FACE_START], parts.ints[b, FACE_START]
    first_a, first_b = parts.ints[a, EDGE_START], parts.ints[b, EDGE_START]
    vertices_a, vertices_b = parts.ints[a, VERTEX_START], parts.ints[b, VERTEX_START]
    center = load3(parts.reals, a, CENTER)
    part_a, part_b = load_part(parts, a), load_part(parts, b)
    for j in range(first_b, first_b + parts.ints[b, EDGE_COUNT]):
        # B's arc, mirrored.
        c = neg(rotate(r, load3(planes, faces_b + edges[j, 2], 0)))
        d = neg(rotate(r, load3(planes, faces_b + edges[j, 3], 0)))
        tail_b = add(rotate(r, vertex_of(parts, vertices_b, edges[j, 0])), t)
        way_b = sub(add(rotate(r, vertex_of(parts, vertices_b, edges[j, 1])), t), tail_b)
        for i in range(first_a, first_a + parts.ints[a, EDGE_COUNT]):
            tail_a = vertex_of(parts, vertices_a, edges[i, 0])
            way_a = sub(vertex_of(parts, vertices_a, edges[i, 1]), tail_a)
            c_side, d_side = dot(c, way_a), dot(d, way_a)
            if c_side * d_side >= 0.0:
                continue
            n_left, n_right = load3(planes, faces_a + edges[i, 2], 0), load3(planes, faces_a + edges[i, 3], 0)
            left_side, right_side = dot(n_left, way_b), dot(n_right, way_b)
            if left_side * right_side >= 0.0 or c_side * right_side <= 0.0:
                continue
            axis = cross(way_a, way_b)
            length2 = norm2(axis)
            if length2 <= SAT_PARALLEL * SAT_PARALLEL * norm2(way_a) * norm2(way_b):
                continue
            if dot(axis, sub(tail_a, center)) < 0.0:
                axis = neg(axis)
            along = dot(axis, sub(tail_b, tail_a))
            # Of edges that are all but parallel the axis is no better than roundoff, and neither edge need be extreme along it:
            # what separates is seen on the extreme points.
            if along > 0.0 and along > touch * math.sqrt(length2):
                w, _pa = difference_support(parts, part_a, part_b, r, t, neg(axis))
                if -dot(axis, w) > touch * math.sqrt(length2):
                    return True
    return False


@kernel(inner="packed, i8, i8, mat3, vec3")
def sat_intersects(packed, a, b, r, t):
    """Whether two polytopes (boxes, hulls) meet; touching counts."""
    touch = touch_distance(packed.parts, a, b, t)
    if face_apart(packed, a, b, r, t, touch):
        return SEPARATED
    # A in B's frame.
    back = (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8])
    if face_apart(packed, b, a, back, neg(unrotate(r, t)), touch):
        return SEPARATED
    if edges_apart(packed, a, b, r, t, touch):
        return SEPARATED
    return OVERLAPPING


@kernel("i8, i8, pair_batch, u1[::1]")
def sat_rows(start, stop, batch, status_out):
    """`sat_intersects` of rows start .. stop-1: pairs of single boxes or hulls, poses in the world."""
    for i in range(start, stop):
        a, b, _row, (r, t) = placed_parts(batch, i)
        status_out[i] = sat_intersects(batch.packed, a, b, r, t)
