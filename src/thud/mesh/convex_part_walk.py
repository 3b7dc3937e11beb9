"""Walks of one tree with a convex shape, restricted to some of its triangles: do they meet, and when do they first touch on a
way along a line. See `mesh/part_walk.py` for parts, `mesh/mesh_convex.py` for the shape."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_meet8, boxes_sweep8
from thud._core.status import AT_START, MISS, SEPARATED
from thud.convex.casts.linear_cast import cast_pair
from thud.convex.convex_pair import pair_intersects
from thud.convex.gjk import center_axis
from thud.math.pose import rotate
from thud.mesh.box_tree import F, U, push_slots
from thud.mesh.cast import begin_walk, slownesses
from thud.mesh.mesh_convex import box_extent, query_size, set_triangle, shape_query
from thud.mesh.tolerances import BOUND_ROUNDING, BOX_SLACK, WAY_KNOWN_CONVEX


@device
def triangle_meets(tree, k, parts, r, t):
    """Whether the shape meets the triangle at tree position k; what is undecided counts."""
    a, b = np.int64(0), np.int64(1)
    set_triangle(parts, b, tree.corners, U(k))
    return pair_intersects(parts, a, b, r, t, center_axis(parts, a, b, r, t))[0] != SEPARATED


@kernel(inner="part_tree, i8, parts, f8[::1], mat3, vec3, walk_space, i8[:,::1], i8, i8[:,::1]")
def convex_part_meets(tree, part, parts, box, r, t, space, known, count, found_out):
    """Whether the shape meets a triangle of the part: its tree position in found_out[0, 1]. (R, t) is the tree in the shape's
    frame. known[:count, 1]: positions to try first."""
    for k in range(min(count, WAY_KNOWN_CONVEX)):
        if triangle_meets(tree, known[k, 1], parts, r, t):
            found_out[0, 0], found_out[0, 1] = 0, known[k, 1]
            return True
    size = query_size(parts, box, box_extent(tree.boxes), t)
    _axes, _rotation, query = shape_query(parts, box, r, t, size, F(BOX_SLACK * size))
    depth = begin_walk(space)
    while depth > U(0):
        depth -= U(1)
        slot = space.stack[depth]
        if part != 0 and tree.mark[slot] != part:
            continue
        down = tree.child[slot]
        if down < 0:
            if triangle_meets(tree, -1 - down, parts, r, t):
                found_out[0, 0], found_out[0, 1] = 0, -1 - down
                return True
            continue
        meet = boxes_meet8(tree.boxes, U(48) * U(down), query, space.lanes)
        depth = push_slots(space, depth, meet, U(8) * U(down))
    return False


@device
def triangle_touched(tree, k, parts, r, t, m, limit):
    """(whether it is, time, normal against the motion, point): the triangle at tree position k, moving by m, meets the
    shape."""
    a, b = np.int64(0), np.int64(1)
    set_triangle(parts, b, tree.corners, U(k))
    status, time, p, n = cast_pair(parts, a, b, r, t, m, limit)
    if status == AT_START:
        length = math.sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2])
        n = (-m[0] / length, -m[1] / length, -m[2] / length)
    return status != MISS, time, n, p


@kernel(inner="part_tree, i8, parts, f8[::1], mat3, vec3, vec3, f8, walk_space, i8[:,::1], i8, i8[:,::1]")
def convex_first_touch(tree, part, parts, box, r, t, m, latest, space, known, count, found_out):
    """As `first_touch`, for a convex shape that the part's triangles pass with the motion m. found_out[0, 1]: position of the
    one that touches; found_out[0, 0] is -1 if it is a known one."""
    zero = (0.0, 0.0, 0.0)
    best, normal, point = math.inf, zero, zero
    found_out[0, 0], found_out[0, 1] = -1, -1
    for k in range(min(count, WAY_KNOWN_CONVEX)):
        found, time, n, p = triangle_touched(tree, known[k, 1], parts, r, t, m, min(best, latest))
        if found and time < best:
            best, normal, point = time, n, p
    size = query_size(parts, box, box_extent(tree.boxes), t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    axes, rotation, query = shape_query(parts, box, r, t, size, F(BOX_SLACK * size))
    slow = slownesses(rotation, rotate(axes, m))
    depth = begin_walk(space)
    while depth > U(0):
        depth -= U(1)
        limit = min(best, latest)
        if space.waiting[depth] * (1.0 - BOUND_ROUNDING) > limit:
            continue
        slot = space.stack[depth]
        if part != 0 and tree.mark[slot] != part:
            continue
        down = tree.child[slot]
        if down < 0:
            found, time, n, p = triangle_touched(tree, -1 - down, parts, r, t, m, limit)
            if found and time < best:
                best, normal, point = time, n, p
                found_out[0, 0], found_out[0, 1] = 0, -1 - down
            continue
        late = F(limit * (1.0 + BOUND_ROUNDING))
        meet = boxes_sweep8(tree.boxes, U(48) * U(down), query, slow, late, space.lanes)
        depth = push_slots(space, depth, meet, U(8) * U(down))
    return best, normal, point
