"""Linear casts of meshes: when does a mesh first touch another mesh or a convex shape that passes along a straight line?

The trees are walked by the time at which boxes first meet, earliest first; at the leaves the convex cast decides, which
never passes a contact. So the time is never later than the true one.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_sweep8
from thud._core.status import AT_START, HIT, MISS
from thud.convex.casts.linear_cast import cast_pair, earlier
from thud.convex.own_parts import own_parts
from thud.math.pose import load_rotation, load_translation, rotate, transform, transpose, unrotate
from thud.math.vec3 import cross, dot, load3, sub
from thud.mesh.box_tree import (
    F,
    U,
    box_query,
    load_slot,
    load_triangle,
    pair_frames,
    pair_size,
    place_triangle,
    push_pairs,
    push_slots,
    tree_pose,
)
from thud.mesh.mesh_convex import PlaceholderTriangle, box_extent, query_size, set_triangle, shape_query
from thud.mesh.tolerances import BOUND_ROUNDING, BOX_SLACK, PASS_TOUCH, SLOWEST
from thud.mesh.trees import new_walk_space
from thud.pairing.rows import row_of
from thud.shapes.packed import Parts, pack


@lru_cache(maxsize=1)
def two_triangles() -> Parts:
    """Two placeholder triangles."""
    return pack((PlaceholderTriangle(), PlaceholderTriangle())).parts


@device
def inverse32(x):
    """1 / x in float32, at most 1 / SLOWEST."""
    if abs(x) < SLOWEST:
        return F(1.0 / SLOWEST)
    return F(min(max(1.0 / x, -1.0 / SLOWEST), 1.0 / SLOWEST))


@device
def slownesses(r, u):
    """One over the speed along each of the 15 axes of a box and of its children, whose frame has the rotation R in the box's
    and which move by u over the step."""
    v = unrotate(r, u)
    return (
        inverse32(u[0]), inverse32(u[1]), inverse32(u[2]), inverse32(v[0]), inverse32(v[1]), inverse32(v[2]),
        inverse32(r[3] * u[2] - r[6] * u[1]), inverse32(r[4] * u[2] - r[7] * u[1]), inverse32(r[5] * u[2] - r[8] * u[1]),
        inverse32(r[6] * u[0] - r[0] * u[2]), inverse32(r[7] * u[0] - r[1] * u[2]), inverse32(r[8] * u[0] - r[2] * u[2]),
        inverse32(r[0] * u[1] - r[3] * u[0]), inverse32(r[1] * u[1] - r[4] * u[0]), inverse32(r[2] * u[1] - r[5] * u[0]),
    )  # fmt: skip


@device
def shadows_apart(p, q, axis, touch):
    """Whether the intervals of two triangles along `axis` are more than touch |axis| apart."""
    a0, a1, a2 = dot(p[0], axis), dot(p[1], axis), dot(p[2], axis)
    b0, b1, b2 = dot(q[0], axis), dot(q[1], axis), dot(q[2], axis)
    blur = touch * (abs(axis[0]) + abs(axis[1]) + abs(axis[2]))
    return min(b0, min(b1, b2)) > max(a0, max(a1, a2)) + blur or min(a0, min(a1, a2)) > max(b0, max(b1, b2)) + blur


@device
def plane_entry(p, q, m, touch):
    """Lower bound of the time at which q, moving by m, first meets the plane of p; inf if it never does after time 0."""
    n = cross(sub(p[1], p[0]), sub(p[2], p[0]))
    speed = dot(n, m)
    h0, h1, h2 = dot(n, sub(q[0], p[0])), dot(n, sub(q[1], p[0])), dot(n, sub(q[2], p[0]))
    blur = touch * (abs(n[0]) + abs(n[1]) + abs(n[2]))
    low, high = min(h0, min(h1, h2)) - blur, max(h0, max(h1, h2)) + blur
    if low > 0.0:
        return low / -speed if speed < 0.0 else math.inf
    if high < 0.0:
        return -high / speed if speed > 0.0 else math.inf
    return 0.0


@kernel(inner="Tuple((vec3, vec3, vec3)), Tuple((vec3, vec3, vec3)), vec3, f8")
def pass_time(p, q, m, touch):
    """Lower bound of the time at which triangle q, moving by m, first meets triangle p; inf if they pass each other.

    Seen along m the two must overlap (no edge of either separates their shadows), and each must reach the other's plane.
    """
    for i in range(3):
        d = sub(p[1], p[0]) if i == 0 else (sub(p[2], p[1]) if i == 1 else sub(p[0], p[2]))
        e = sub(q[1], q[0]) if i == 0 else (sub(q[2], q[1]) if i == 1 else sub(q[0], q[2]))
        if shadows_apart(p, q, cross(d, m), touch) or shadows_apart(p, q, cross(e, m), touch):
            return math.inf
    return max(plane_entry(p, q, m, touch), plane_entry(q, p, (-m[0], -m[1], -m[2]), touch))


@device
def pair_sweep(r, t, m, slack):
    """What `next_leaves` needs of B's place (R, t) in A's tree and of its displacement m there."""
    b_in_a, a_in_b = pair_frames(r, t)
    # B's children pass A's box with m; A's pass B's box with -m.
    away = unrotate(r, m)
    return b_in_a, a_in_b, slownesses(r, m), slownesses(transpose(r), (-away[0], -away[1], -away[2])), slack


@device
def next_leaves(tree_a, tree_b, sweep, limit, depth, space):
    """Continues a walk of two trees: (depth of the stack, tree positions of the next two leaves whose boxes meet on their way
    up to the part `limit` of it). Positions are -1 when none is left."""
    b_in_a, a_in_b, slow_b, slow_a, slack = sweep
    latest = F(limit * (1.0 + BOUND_ROUNDING))
    while depth > U(0):
        depth -= U(1)
        if space.waiting[depth] * (1.0 - BOUND_ROUNDING) > limit:
            continue
        i, j = space.stack[U(2) * depth], space.stack[U(2) * depth + U(1)]
        down_a, down_b = tree_a.child[i], tree_b.child[j]
        if down_a < 0 and down_b < 0:
            return depth, -1 - down_a, -1 - down_b
        a, b = load_slot(tree_a.boxes, i), load_slot(tree_b.boxes, j)
        open_a = down_b < 0 or (down_a >= 0 and a[3] + a[4] + a[5] >= b[3] + b[4] + b[5])
        if open_a:
            query, base = box_query(a_in_b, b, slack), U(8) * U(down_a)
            meet = boxes_sweep8(tree_a.boxes, U(48) * U(down_a), query, slow_a, latest, space.lanes)
        else:
            query, base = box_query(b_in_a, a, slack), U(8) * U(down_b)
            meet = boxes_sweep8(tree_b.boxes, U(48) * U(down_b), query, slow_b, latest, space.lanes)
        depth = push_pairs(space, depth, meet, base, i, j, open_a)
    return depth, np.int64(-1), np.int64(-1)


@device
def next_leaf(tree, query, slow, limit, depth, space):
    """The same of one tree that passes a box: (depth of the stack, tree position of the next leaf)."""
    latest = F(limit * (1.0 + BOUND_ROUNDING))
    while depth > U(0):
        depth -= U(1)
        if space.waiting[depth] * (1.0 - BOUND_ROUNDING) > limit:
            continue
        down = tree.child[space.stack[depth]]
        if down < 0:
            return depth, -1 - down
        meet = boxes_sweep8(tree.boxes, U(48) * U(down), query, slow, latest, space.lanes)
        depth = push_slots(space, depth, meet, U(8) * U(down))
    return depth, np.int64(-1)


@device
def begin_walk(space):
    """The roots wait. Returns the depth of the stack."""
    space.stack[0], space.stack[1], space.waiting[0] = U(0), U(0), F(0.0)
    return U(1)


@kernel(inner="box_tree, box_tree, parts, mat3, vec3, vec3, walk_space")
def walk_cast(tree_a, tree_b, parts, r, t, m, space):
    """(status, time, point, normal from A to B) of the first contact of two surfaces, B moving by m over [0, 1]. (R, t) is B's
    tree in the frame of A's, in which all results are."""
    pa, pb = np.int64(0), np.int64(1)
    size = pair_size(tree_a, tree_b, t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    touch, sweep = PASS_TOUCH * size, pair_sweep(r, t, m, F(BOX_SLACK * size))
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal = MISS, math.inf, zero, zero
    depth = begin_walk(space)
    while status != AT_START:
        limit = min(best, 1.0)
        depth, i, j = next_leaves(tree_a, tree_b, sweep, limit, depth, space)
        if i < 0:
            break
        triangle_b = place_triangle(r, t, load_triangle(tree_b.corners, U(j)))
        if pass_time(load_triangle(tree_a.corners, U(i)), triangle_b, m, touch) > limit:
            continue
        set_triangle(parts, pa, tree_a.corners, U(i))
        set_triangle(parts, pb, tree_b.corners, U(j))
        found, time, p, n = cast_pair(parts, pa, pb, r, t, m, limit)
        if earlier(found, time, status, best):
            status, best, point, normal = found, time, p, n
    return status, best, point, normal


@kernel(inner="box_tree, parts, f8[::1], mat3, vec3, vec3, walk_space")
def walk_convex_cast(tree, parts, box, r, t, m, space):
    """(status, time, point, normal from the shape to the mesh) of the first contact of a convex shape (part 0) and a surface
    that moves by m over [0, 1]. (R, t) is the mesh's tree in the shape's frame."""
    a, b = np.int64(0), np.int64(1)
    size = query_size(parts, box, box_extent(tree.boxes), t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    axes, rotation, query = shape_query(parts, box, r, t, size, F(BOX_SLACK * size))
    slow = slownesses(rotation, rotate(axes, m))
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal = MISS, math.inf, zero, zero
    depth = begin_walk(space)
    while status != AT_START:
        limit = min(best, 1.0)
        depth, i = next_leaf(tree, query, slow, limit, depth, space)
        if i < 0:
            break
        set_triangle(parts, b, tree.corners, U(i))
        found, time, p, n = cast_pair(parts, a, b, r, t, m, limit)
        if earlier(found, time, status, best):
            status, best, point, normal = found, time, p, n
    return status, best, point, normal


@device
def write_impact(row, status, time, p, n, r, t, origin, move, out):
    """Row `row` from a frame at (R, t), whose tree is at `origin` in it and which moves by `move`, to the world."""
    out.time[row], out.status[row] = time, status
    n = rotate(r, n)
    out.normal[row, 0], out.normal[row, 1], out.normal[row, 2] = n
    for k in range(3):
        out.point[row, k] = 0.0
    if status in (HIT, AT_START):
        p = transform(r, t, (p[0] + origin[0], p[1] + origin[1], p[2] + origin[2]))
        for k in range(3):
            out.point[row, k] = p[k] + time * move[k]


@kernel("i8, i8, box_tree, box_tree, parts, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], impact_fields")
def mesh_cast_rows(start, stop, tree_a, tree_b, parts, poses_a, poses_b, motion_a, motion_b, out):
    """First contact of two surfaces for each row; motions are displacements over the step, world frame."""
    parts, space = own_parts(parts), new_walk_space()
    for row in range(start, stop):
        row_a, row_b = row_of(poses_a, row), row_of(poses_b, row)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, tree_a.origin, tree_b.origin)
        ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
        move_a, move_b = load3(motion_a, row_of(motion_a, row), 0), load3(motion_b, row_of(motion_b, row), 0)
        m = unrotate(ra, sub(move_b, move_a))
        status, time, p, n = walk_cast(tree_a, tree_b, parts, r, t, m, space)
        write_impact(row, status, time, p, n, ra, ta, tree_a.origin, move_a, out)


@kernel("i8, i8, box_tree, parts, f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], impact_fields")
def convex_cast_rows(start, stop, tree, parts, box, poses_shape, poses_mesh, motion_shape, motion_mesh, out):
    """First contact of a convex shape and a surface for each row; the normal points from the shape to the mesh."""
    parts, space, zero = own_parts(parts), new_walk_space(), np.zeros(3)
    for row in range(start, stop):
        row_s, row_m = row_of(poses_shape, row), row_of(poses_mesh, row)
        r, t = tree_pose(poses_shape, row_s, poses_mesh, row_m, zero, tree.origin)
        rs, ts = load_rotation(poses_shape, row_s), load_translation(poses_shape, row_s)
        move_s, move_m = load3(motion_shape, row_of(motion_shape, row), 0), load3(motion_mesh, row_of(motion_mesh, row), 0)
        m = unrotate(rs, sub(move_m, move_s))
        status, time, p, n = walk_convex_cast(tree, parts, box, r, t, m, space)
        write_impact(row, status, time, p, n, rs, ts, zero, move_s, out)
