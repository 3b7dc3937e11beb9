"""Linear casts of meshes: when does a mesh first touch another mesh or a convex shape that passes along a straight line?

The trees are walked by the time at which boxes first meet, earliest first; at the leaves the convex cast decides, which
never passes a contact. So the time is never later than the true one.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_sweep8, lowest_bit
from thud._core.status import AT_START, HIT, MISS
from thud.convex.casts.linear_cast import cast_pair, earlier
from thud.math.pose import load_rotation, load_translation, rotate, transform, transpose, unrotate
from thud.math.vec3 import cross, dot, load3, sub
from thud.mesh.box_tree import U, absolute, load_triangle, place_triangle, tree_pose
from thud.mesh.mesh_convex import PlaceholderTriangle, in_box_frame, query_size, set_triangle, shape_box
from thud.mesh.mesh_mesh import STACK, F, box_query, load_slot, pair_size, single3, single9
from thud.mesh.tolerances import BOX_SLACK
from thud.pairing.rows import row_of
from thud.shapes.packed import RADIUS, Packed, pack


@lru_cache(maxsize=1)
def two_triangles() -> Packed:
    """Two placeholder triangles."""
    return pack((PlaceholderTriangle(), PlaceholderTriangle()))


@device
def inverse32(x):
    """1 / x in float32, at most 1e30."""
    if abs(x) < 1e-30:
        return F(1e30)
    return F(min(max(1.0 / x, -1e30), 1e30))


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


@kernel(inner="f4[::1], i8[::1], f8[::1], f4[::1], i8[::1], f8[::1], *hulls, mat3, vec3, vec3, f8, u8[::1], f4[::1], f4[::1]")
def walk_cast(
    boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, ints, reals, verts, link_starts, links, r, t, m, latest,
    stack, waiting, entry,
):  # fmt: skip
    """(status, time, point, normal from A to B, tree positions) of the first contact of two surfaces, B moving by m over
    [0, 1], up to `latest`. (R, t) is B's tree in the frame of A's, in which all results are."""
    pa, pb = np.int64(0), np.int64(1)
    size = pair_size(boxes_a, boxes_b, t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    slack, touch = F(BOX_SLACK * size), 1e-9 * size
    r_ab, t_ab = single9(r), single3(t)
    r_ba = transpose(r_ab)
    back = unrotate(r, t)
    t_ba = F(-back[0]), F(-back[1]), F(-back[2])
    s_ab = absolute(r_ab)
    s_ba = transpose(s_ab)
    # B's children pass A's box with m; A's pass B's box with -m.
    slow_b = slownesses(r, m)
    away = unrotate(r, m)
    slow_a = slownesses(transpose(r), (-away[0], -away[1], -away[2]))
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal, at_a, at_b = MISS, math.inf, zero, zero, np.int64(-1), np.int64(-1)
    stack[0], stack[1], waiting[0], depth = U(0), U(0), F(0.0), U(1)
    while depth > U(0):
        depth -= U(1)
        limit = min(best, latest)
        if waiting[depth] * (1.0 - 1e-6) > limit:
            continue
        i, j = stack[U(2) * depth], stack[U(2) * depth + U(1)]
        down_a, down_b = child_a[i], child_b[j]
        if down_a < 0 and down_b < 0:
            triangle_a = load_triangle(corners_a, U(-1 - down_a))
            triangle_b = place_triangle(r, t, load_triangle(corners_b, U(-1 - down_b)))
            if pass_time(triangle_a, triangle_b, m, touch) > limit:
                continue
            set_triangle(ints, reals, verts, pa, corners_a, U(-1 - down_a))
            set_triangle(ints, reals, verts, pb, corners_b, U(-1 - down_b))
            found, time, p, n = cast_pair(ints, reals, verts, link_starts, links, pa, pb, r, t, m, limit)
            if earlier(found, time, status, best):
                status, best, point, normal, at_a, at_b = found, time, p, n, -1 - down_a, -1 - down_b
                if status == AT_START:
                    break
            continue
        a, b = load_slot(boxes_a, i), load_slot(boxes_b, j)
        open_a = down_b < 0 or (down_a >= 0 and a[3] + a[4] + a[5] >= b[3] + b[4] + b[5])
        if open_a:
            query = box_query(r_ba, s_ba, t_ba, b, slack)
            meet = boxes_sweep8(boxes_a, U(48) * U(down_a), query, slow_a, F(limit * (1.0 + 1e-6)), entry)
            base = U(8) * U(down_a)
        else:
            query = box_query(r_ab, s_ab, t_ab, a, slack)
            meet = boxes_sweep8(boxes_b, U(48) * U(down_b), query, slow_b, F(limit * (1.0 + 1e-6)), entry)
            base = U(8) * U(down_b)
        first = depth
        while meet != 0:
            # The earliest on top.
            lane = lowest_bit(meet)
            meet &= meet - np.uint32(1)
            key = entry[lane]
            k = depth
            while k > first and waiting[k - U(1)] < key:
                waiting[k] = waiting[k - U(1)]
                stack[U(2) * k], stack[U(2) * k + U(1)] = stack[U(2) * k - U(2)], stack[U(2) * k - U(1)]
                k -= U(1)
            waiting[k] = key
            stack[U(2) * k], stack[U(2) * k + U(1)] = (base + lane, j) if open_a else (i, base + lane)
            depth += U(1)
    return status, best, point, normal, at_a, at_b


@kernel(inner="f4[::1], f4[::1], i8[::1], f8[::1], *hulls, f8[::1], mat3, vec3, vec3, f8, u8[::1], f4[::1], f4[::1]")
def walk_convex_cast(
    boxes, obbs, child, corners, ints, reals, verts, link_starts, links, box, r, t, m, latest, stack, waiting, entry
):
    """(status, time, point, normal from the shape to the mesh, tree position) of the first contact of a convex shape (part 0)
    and a surface that moves by m over [0, 1], up to `latest`. (R, t) is the mesh's tree in the shape's frame."""
    a, b = np.int64(0), np.int64(1)
    size = query_size(ints, reals, box, obbs, t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    axes, center, half = shape_box(ints, reals, box, 0.25 * size)
    rotation, place = in_box_frame(axes, center, r, t)
    radius = reals[0, RADIUS]
    x, y, z = half[0] + radius, half[1] + radius, half[2] + radius
    rotation32 = single9(rotation)
    query = box_query(
        rotation32, absolute(rotation32), single3(place), (F(0.0), F(0.0), F(0.0), F(x), F(y), F(z)), F(BOX_SLACK * size)
    )
    slow = slownesses(rotation, rotate(axes, m))
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal, at = MISS, math.inf, zero, zero, np.int64(-1)
    stack[0], waiting[0], depth = U(0), F(0.0), U(1)
    while depth > U(0):
        depth -= U(1)
        limit = min(best, latest)
        if waiting[depth] * (1.0 - 1e-6) > limit:
            continue
        down = child[stack[depth]]
        if down < 0:
            set_triangle(ints, reals, verts, b, corners, U(-1 - down))
            found, time, p, n = cast_pair(ints, reals, verts, link_starts, links, a, b, r, t, m, limit)
            if earlier(found, time, status, best):
                status, best, point, normal, at = found, time, p, n, -1 - down
                if status == AT_START:
                    break
            continue
        meet = boxes_sweep8(boxes, U(48) * U(down), query, slow, F(limit * (1.0 + 1e-6)), entry)
        first = depth
        while meet != 0:
            lane = lowest_bit(meet)
            meet &= meet - np.uint32(1)
            key = entry[lane]
            k = depth
            while k > first and waiting[k - U(1)] < key:
                waiting[k], stack[k] = waiting[k - U(1)], stack[k - U(1)]
                k -= U(1)
            waiting[k], stack[k] = key, U(8) * U(down) + lane
            depth += U(1)
    return status, best, point, normal, at


@device
def write_impact(row, status, time, p, n, r, t, origin, move, time_out, point_out, normal_out, status_out):
    """Row `row` from a frame at (R, t), whose tree is at `origin` in it and which moves by `move`, to the world."""
    time_out[row], status_out[row] = time, status
    n = rotate(r, n)
    normal_out[row, 0], normal_out[row, 1], normal_out[row, 2] = n
    for k in range(3):
        point_out[row, k] = 0.0
    if status in (HIT, AT_START):
        p = transform(r, t, (p[0] + origin[0], p[1] + origin[1], p[2] + origin[2]))
        for k in range(3):
            point_out[row, k] = p[k] + time * move[k]


@kernel(
    "i8, i8, f4[::1], i8[::1], f8[::1], f8[::1], f4[::1], i8[::1], f8[::1], f8[::1], *hulls, f8[:,::1], f8[:,::1], "
    "f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], u1[::1]"
)
def mesh_cast_rows(
    start, stop, boxes_a, child_a, corners_a, origin_a, boxes_b, child_b, corners_b, origin_b, ints, reals, vertices,
    link_starts, links, poses_a, poses_b, motion_a, motion_b, time_out, point_out, normal_out, status_out,
):  # fmt: skip
    """First contact of two surfaces for each row; motions are displacements over the step, world frame."""
    reals, verts = reals.copy(), vertices.copy()
    stack, waiting, entry = np.empty(2 * STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32)
    for row in range(start, stop):
        row_a, row_b = row_of(poses_a, row), row_of(poses_b, row)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b)
        ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
        move_a, move_b = load3(motion_a, row_of(motion_a, row), 0), load3(motion_b, row_of(motion_b, row), 0)
        m = unrotate(ra, sub(move_b, move_a))
        status, time, p, n, _i, _j = walk_cast(
            boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, ints, reals, verts, link_starts, links, r, t, m, 1.0,
            stack, waiting, entry,
        )  # fmt: skip
        write_impact(row, status, time, p, n, ra, ta, origin_a, move_a, time_out, point_out, normal_out, status_out)


@kernel(
    "i8, i8, f4[::1], f4[::1], i8[::1], f8[::1], f8[::1], *hulls, f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], "
    "f8[::1], f8[:,::1], f8[:,::1], u1[::1]"
)
def convex_cast_rows(
    start, stop, boxes, obbs, child, corners, origin, ints, reals, vertices, link_starts, links, box, poses_shape, poses_mesh,
    motion_shape, motion_mesh, time_out, point_out, normal_out, status_out,
):  # fmt: skip
    """First contact of a convex shape and a surface for each row; the normal points from the shape to the mesh."""
    reals, verts, zero = reals.copy(), vertices.copy(), np.zeros(3)
    stack, waiting, entry = np.empty(STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32)
    for row in range(start, stop):
        row_s, row_m = row_of(poses_shape, row), row_of(poses_mesh, row)
        r, t = tree_pose(poses_shape, row_s, poses_mesh, row_m, zero, origin)
        rs, ts = load_rotation(poses_shape, row_s), load_translation(poses_shape, row_s)
        move_s, move_m = load3(motion_shape, row_of(motion_shape, row), 0), load3(motion_mesh, row_of(motion_mesh, row), 0)
        m = unrotate(rs, sub(move_m, move_s))
        status, time, p, n, _at = walk_convex_cast(
            boxes, obbs, child, corners, ints, reals, verts, link_starts, links, box, r, t, m, 1.0, stack, waiting, entry
        )
        write_impact(row, status, time, p, n, rs, ts, zero, move_s, time_out, point_out, normal_out, status_out)
