"""Casts of meshes that turn while they move, against meshes and convex shapes.

No point of the two moves faster, relative to the other, than the displacement plus each rate of rotation times the farthest
point's distance from the shape's origin. While the surfaces are farther apart than a few triangles are long, time goes on by
their distance over that speed: conservative advancement, each distance being searched for from the last one's triangles.

From there on it goes by windows of time, in which points come closer by no more than a few triangles' length. Within one the
trees are walked as for a linear cast, with the rotations of its middle and boxes that grow by as far as rotation moves any
point from where it is amid the window: they hold every place that their triangles pass. Where two leaves meet, the cast of
turning convex shapes decides, limited to the window. So no contact is passed, and the time is never later than the true one.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_sweep8, lowest_bit
from thud._core.status import AT_START, CAST_UNCONVERGED, MISS, SEPARATED
from thud.convex.casts.linear_cast import earlier
from thud.convex.casts.turning import MOVER, make_mover, place, shift, turn_rate
from thud.convex.casts.turning_cast import cast_turning, meeting_time, write_turned
from thud.geometry.moving_sphere import moving_sphere_sphere
from thud.math.pose import load_rotation, load_translation, relative_rotation, rotate, transform, transpose, unrotate
from thud.math.vec3 import add, load3, norm, sub
from thud.mesh.box_tree import U, absolute
from thud.mesh.cast import slownesses
from thud.mesh.distance import walk_distance
from thud.mesh.mesh_convex import in_box_frame, query_size, set_triangle, shape_box, walk_convex_distance
from thud.mesh.mesh_mesh import STACK, F, box_query, load_slot, pair_size, single3, single9
from thud.mesh.tolerances import BOX_SLACK, TURN_ERROR, TURN_NEAR, TURN_ROUNDS
from thud.pairing.rows import row_of
from thud.shapes.packed import BOUND, CENTER, KIND, RADIUS
from thud.shapes.shape import HALF_SPACE

TREE = "f4[::1], i8[::1], f8[::1]"
WORK = "u8[::1], f4[::1], f4[::1]"


@device
def window_pose(mover_a, mover_b, d, v, begin, end):
    """(R, t, m): B's frame in A's, rotations as amid the window, places as at its start; and B's displacement in it."""
    ra, pa = place(mover_a, 0.5 * (begin + end))
    rb, pb = place(mover_b, 0.5 * (begin + end))
    t = unrotate(ra, sub(add(shift(d, v, begin), pb), pa))
    h = end - begin
    return relative_rotation(ra, rb), t, unrotate(ra, (h * v[0], h * v[1], h * v[2]))


@device
def balls_meet(reals, a, b, mover_a, mover_b, r, t, m, h):
    """Whether balls about parts a and b may meet in a window of length h; (R, t), m from `window_pose`."""
    x, y = load3(reals, a, CENTER), load3(reals, b, CENTER)
    # How far rotation moves their points.
    far_a = norm(add(x, unrotate(mover_a[0], mover_a[1]))) + reals[a, BOUND]
    far_b = norm(add(y, unrotate(mover_b[0], mover_b[1]))) + reals[b, BOUND]
    radius = reals[a, BOUND] + reals[b, BOUND] + 0.5 * h * (mover_a[3] * far_a + mover_b[3] * far_b)
    d = sub(transform(r, t, y), x)
    return moving_sphere_sphere(d, m, radius + 1e-9 * (radius + norm(d) + norm(m))) <= 1.0


@kernel(inner=TREE + ", " + TREE + ", *hulls, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8, f8, " + WORK)
def walk_window(
    boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, ints, reals, verts, link_starts, links, mover_a, mover_b, d, v,
    begin, end, wider, stack, waiting, entry,
):  # fmt: skip
    """(status, time, point, normal from A to B) of the first contact of two surfaces in a window of time.

    wider: how far rotation moves points from their places amid the window, both surfaces together.
    """
    pa, pb = np.int64(0), np.int64(1)
    r, t, m = window_pose(mover_a, mover_b, d, v, begin, end)
    h = end - begin
    size = pair_size(boxes_a, boxes_b, t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    slack = F(BOX_SLACK * size + wider)
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
    status, best, point, normal = MISS, math.inf, zero, zero
    stack[0], stack[1], waiting[0], depth = U(0), U(0), F(0.0), U(1)
    while depth > U(0):
        depth -= U(1)
        latest = min(best, end)
        limit = (latest - begin) / h
        if waiting[depth] * (1.0 - 1e-6) > limit:
            continue
        i, j = stack[U(2) * depth], stack[U(2) * depth + U(1)]
        down_a, down_b = child_a[i], child_b[j]
        if down_a < 0 and down_b < 0:
            set_triangle(ints, reals, verts, pa, corners_a, U(-1 - down_a))
            set_triangle(ints, reals, verts, pb, corners_b, U(-1 - down_b))
            if not balls_meet(reals, pa, pb, mover_a, mover_b, r, t, m, h):
                continue
            found, time, p, n = cast_turning(
                ints, reals, verts, link_starts, links, pa, pb, mover_a, mover_b, d, v, begin, latest
            )
            if earlier(found, time, status, best):
                status, best, point, normal = found, time, p, n
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
    return status, best, point, normal


@kernel(inner="f4[::1], " + TREE + ", *hulls, f8[::1], " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8, f8, " + WORK)
def walk_convex_window(
    obbs, boxes, child, corners, ints, reals, verts, link_starts, links, box, mover_a, mover_b, d, v, begin, end, wider,
    stack, waiting, entry,
):  # fmt: skip
    """As `walk_window`, for a convex shape A (part 0) and a surface B."""
    a, b = np.int64(0), np.int64(1)
    half_space = ints[0, KIND] == HALF_SPACE
    r, t, m = window_pose(mover_a, mover_b, d, v, begin, end)
    h = end - begin
    size = query_size(ints, reals, box, obbs, t) + 8.0 * (abs(m[0]) + abs(m[1]) + abs(m[2]) + wider)
    axes, center, half = shape_box(ints, reals, box, 0.25 * size)
    rotation, at = in_box_frame(axes, center, r, t)
    radius = reals[0, RADIUS]
    x, y, z = half[0] + radius, half[1] + radius, half[2] + radius
    rotation32 = single9(rotation)
    query = box_query(
        rotation32, absolute(rotation32), single3(at), (F(0.0), F(0.0), F(0.0), F(x), F(y), F(z)), F(BOX_SLACK * size + wider)
    )
    slow = slownesses(rotation, rotate(axes, m))
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal = MISS, math.inf, zero, zero
    stack[0], waiting[0], depth = U(0), F(0.0), U(1)
    while depth > U(0):
        depth -= U(1)
        latest = min(best, end)
        limit = (latest - begin) / h
        if waiting[depth] * (1.0 - 1e-6) > limit:
            continue
        down = child[stack[depth]]
        if down < 0:
            set_triangle(ints, reals, verts, b, corners, U(-1 - down))
            if not (half_space or balls_meet(reals, a, b, mover_a, mover_b, r, t, m, h)):
                continue
            found, time, p, n = cast_turning(
                ints, reals, verts, link_starts, links, a, b, mover_a, mover_b, d, v, begin, latest
            )
            if earlier(found, time, status, best):
                status, best, point, normal = found, time, p, n
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
    return status, best, point, normal


@device
def root_size(boxes):
    """The half extents of a tree's box, summed."""
    box = load_slot(boxes, U(0))
    return np.float64(box[3] + box[4] + box[5])


@device
def triangle_size(boxes, corners):
    """About how long the triangles of a mesh are."""
    return root_size(boxes) / math.sqrt(corners.shape[0] / 9.0)


@device
def load_mover(poses, row, motion, i, inner):
    """Mover of the frame at `inner` (1, 12) in the shape at poses[row]."""
    u, w = turn_rate(load3(motion, row_of(motion, i), 3))
    return make_mover(load_rotation(poses, row), u, w, load_rotation(inner, 0), load_translation(inner, 0))


@kernel(
    "i8, i8, f4[::1], " + TREE + ", f8[:,::1], f8, f4[::1], " + TREE + ", f8[:,::1], f8, *hulls, f8[:,::1], f8[:,::1], "
    "f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], u1[::1]"
)
def mesh_turning_rows(
    start, stop, obbs_a, boxes_a, child_a, corners_a, inner_a, far_a, obbs_b, boxes_b, child_b, corners_b, inner_b, far_b, ints,
    reals, vertices, link_starts, links, poses_a, poses_b, motion_a, motion_b, time_out, point_out, normal_out, status_out,
):  # fmt: skip
    """First contact of two surfaces for each row. Poses and motions (N, 6) are those of the shapes that the meshes are part
    of; inner (1, 12): the trees' frames in those; far: how far the meshes reach from the shapes' origins."""
    reals, verts = reals.copy(), vertices.copy()
    stack, waiting, entry = np.empty(2 * STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32)
    zero = (0.0, 0.0, 0.0)
    near = TURN_NEAR * max(triangle_size(boxes_a, corners_a), triangle_size(boxes_b, corners_b))
    error = TURN_ERROR * (root_size(boxes_a) + root_size(boxes_b))
    for row in range(start, stop):
        row_a, row_b = row_of(poses_a, row), row_of(poses_b, row)
        mover_a, mover_b = (
            load_mover(poses_a, row_a, motion_a, row, inner_a),
            load_mover(poses_b, row_b, motion_b, row, inner_b),
        )
        ta, tb = load_translation(poses_a, row_a), load_translation(poses_b, row_b)
        move_a, move_b = load3(motion_a, row_of(motion_a, row), 0), load3(motion_b, row_of(motion_b, row), 0)
        d, v = sub(tb, ta), sub(move_b, move_a)
        turned = mover_a[3] * far_a + mover_b[3] * far_b
        speed = (norm(v) + turned) * (1.0 + 1e-9)
        begin, last = meeting_time(d, v, far_a + far_b)
        status, time, p, n, rounds = MISS, math.inf, zero, zero, 0
        at_a, at_b = np.int64(-1), np.int64(-1)
        while status == MISS and begin < last:
            if rounds == TURN_ROUNDS:
                status, time = CAST_UNCONVERGED, begin
                break
            rounds += 1
            r, t, _m = window_pose(mover_a, mover_b, d, v, begin, begin)
            apart2, _x, _y, at_a, at_b, _tests = walk_distance(
                obbs_a, child_a, corners_a, obbs_b, child_b, corners_b, r, t, speed * (last - begin) + error, at_a, at_b, stack,
                waiting, entry,
            )  # fmt: skip
            if at_a < 0:
                break
            apart = math.sqrt(apart2)
            if apart > near:
                begin += (apart - error) / speed
                continue
            end = min(begin + (apart + near) / speed, last)
            status, time, p, n = walk_window(
                boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, ints, reals, verts, link_starts, links, mover_a,
                mover_b, d, v, begin, end, 0.5 * (end - begin) * turned * (1.0 + 1e-9), stack, waiting, entry,
            )  # fmt: skip
            begin = end
        write_turned(row, status, time, p, n, ta, move_a, time_out, point_out, normal_out, status_out)


@kernel(
    "i8, i8, f4[::1], " + TREE + ", f8[:,::1], f8, *hulls, f8[::1], f8[:,::1], f8, f8[:,::1], f8[:,::1], "
    "f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], u1[::1]"
)
def convex_turning_rows(
    start, stop, obbs, boxes, child, corners, inner_mesh, far_mesh, ints, reals, vertices, link_starts, links, box, inner_shape,
    far_shape, poses_shape, poses_mesh, motion_shape, motion_mesh, time_out, point_out, normal_out, status_out,
):  # fmt: skip
    """First contact of a convex shape and a surface for each row; the normal points from the shape to the mesh."""
    reals, verts = reals.copy(), vertices.copy()
    stack, waiting, entry = np.empty(STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32)
    zero = (0.0, 0.0, 0.0)
    near = TURN_NEAR * triangle_size(boxes, corners)
    for row in range(start, stop):
        row_s, row_m = row_of(poses_shape, row), row_of(poses_mesh, row)
        mover_s = load_mover(poses_shape, row_s, motion_shape, row, inner_shape)
        mover_m = load_mover(poses_mesh, row_m, motion_mesh, row, inner_mesh)
        ts, tm = load_translation(poses_shape, row_s), load_translation(poses_mesh, row_m)
        move_s, move_m = load3(motion_shape, row_of(motion_shape, row), 0), load3(motion_mesh, row_of(motion_mesh, row), 0)
        d, v = sub(tm, ts), sub(move_m, move_s)
        if ints[0, KIND] == HALF_SPACE:
            # Of a half-space only what the mesh can reach counts.
            far, begin, last = max(norm(d), norm(shift(d, v, 1.0))) + far_mesh, 0.0, 1.0
        else:
            far = far_shape
            begin, last = meeting_time(d, v, far + far_mesh)
        turned = mover_s[3] * far + mover_m[3] * far_mesh
        speed, error = (norm(v) + turned) * (1.0 + 1e-9), TURN_ERROR * (far + far_mesh)
        status, time, p, n, rounds, at = MISS, math.inf, zero, zero, 0, np.int64(-1)
        while status == MISS and begin < last:
            if rounds == TURN_ROUNDS:
                status, time = CAST_UNCONVERGED, begin
                break
            rounds += 1
            r, t, _m = window_pose(mover_s, mover_m, d, v, begin, begin)
            outcome, apart, _p, _n, at = walk_convex_distance(
                obbs, child, corners, ints, reals, verts, link_starts, links, box, r, t, speed * (last - begin) + error, at,
                stack, waiting, entry,
            )  # fmt: skip
            if at < 0:
                break
            if outcome == SEPARATED and apart > near + error:
                begin += (apart - error) / speed
                continue
            end = min(begin + (min(apart, near) + near) / speed, last)
            status, time, p, n = walk_convex_window(
                obbs, boxes, child, corners, ints, reals, verts, link_starts, links, box, mover_s, mover_m, d, v, begin, end,
                0.5 * (end - begin) * turned * (1.0 + 1e-9), stack, waiting, entry,
            )  # fmt: skip
            begin = end
        write_turned(row, status, time, p, n, ts, move_s, time_out, point_out, normal_out, status_out)
