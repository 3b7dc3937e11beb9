"""Casts of meshes that turn while they move, against meshes and convex shapes.

No point of the two moves faster, relative to the other, than the displacement plus each rate of rotation times the farthest
point's distance from the shape's origin. While the surfaces are farther apart than a few triangles are long, time advances by
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
from thud._core.status import AT_START, CAST_UNCONVERGED, MISS, SEPARATED
from thud.convex.casts.linear_cast import earlier
from thud.convex.casts.turning import MOVER, make_mover, place, shift, turn_rate
from thud.convex.casts.turning_cast import cast_turning, meeting_time, write_turned
from thud.convex.own_parts import own_parts
from thud.geometry.moving_sphere import moving_sphere_sphere
from thud.math.pose import load_rotation, load_translation, relative_rotation, rotate, transform, unrotate
from thud.math.vec3 import add, load3, norm, sub
from thud.mesh.box_tree import F, U, load_slot, pair_size
from thud.mesh.cast import begin_walk, next_leaf, next_leaves, pair_sweep, slownesses
from thud.mesh.distance import walk_distance
from thud.mesh.mesh_convex import obb_extent, query_size, set_triangle, shape_query, walk_convex_distance
from thud.mesh.tolerances import BOX_SLACK, TURN_ERROR, TURN_NEAR, TURN_ROUNDING, TURN_ROUNDS
from thud.mesh.trees import new_walk_space
from thud.pairing.rows import row_of
from thud.shapes.packed import BOUND, CENTER, KIND
from thud.shapes.shape import HALF_SPACE


@device
def window_pose(mover_a, mover_b, d, v, begin, end):
    """(R, t, m): B's frame in A's, rotations as amid the window, places as at its start; and B's displacement in it."""
    ra, pa = place(mover_a, 0.5 * (begin + end))
    rb, pb = place(mover_b, 0.5 * (begin + end))
    t = unrotate(ra, sub(add(shift(d, v, begin), pb), pa))
    h = end - begin
    return relative_rotation(ra, rb), t, unrotate(ra, (h * v[0], h * v[1], h * v[2]))


@device
def balls_meet(parts, a, b, mover_a, mover_b, r, t, m, h):
    """Whether balls about parts a and b may meet in a window of length h; (R, t), m from `window_pose`."""
    x, y = load3(parts.reals, a, CENTER), load3(parts.reals, b, CENTER)
    # How far rotation moves their points.
    far_a = norm(add(x, unrotate(mover_a[0], mover_a[1]))) + parts.reals[a, BOUND]
    far_b = norm(add(y, unrotate(mover_b[0], mover_b[1]))) + parts.reals[b, BOUND]
    radius = parts.reals[a, BOUND] + parts.reals[b, BOUND] + 0.5 * h * (mover_a[3] * far_a + mover_b[3] * far_b)
    d = sub(transform(r, t, y), x)
    return moving_sphere_sphere(d, m, radius + TURN_ROUNDING * (radius + norm(d) + norm(m))) <= 1.0


@kernel(inner="box_tree, box_tree, parts, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8, f8, walk_space")
def walk_window(tree_a, tree_b, parts, mover_a, mover_b, d, v, begin, end, wider, space):
    """(status, time, point, normal from A to B) of the first contact of two surfaces in a window of time.

    wider: how far rotation moves points from their places amid the window, both surfaces together.
    """
    pa, pb = np.int64(0), np.int64(1)
    r, t, m = window_pose(mover_a, mover_b, d, v, begin, end)
    h = end - begin
    size = pair_size(tree_a, tree_b, t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    sweep = pair_sweep(r, t, m, F(BOX_SLACK * size + wider))
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal = MISS, math.inf, zero, zero
    depth = begin_walk(space)
    while status != AT_START:
        latest = min(best, end)
        depth, i, j = next_leaves(tree_a, tree_b, sweep, (latest - begin) / h, depth, space)
        if i < 0:
            break
        set_triangle(parts, pa, tree_a.corners, U(i))
        set_triangle(parts, pb, tree_b.corners, U(j))
        if not balls_meet(parts, pa, pb, mover_a, mover_b, r, t, m, h):
            continue
        found, time, p, n = cast_turning(parts, pa, pb, mover_a, mover_b, d, v, begin, latest)
        if earlier(found, time, status, best):
            status, best, point, normal = found, time, p, n
    return status, best, point, normal


@kernel(inner="turning_tree, parts, f8[::1], " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8, f8, walk_space")
def walk_convex_window(mesh, parts, box, mover_a, mover_b, d, v, begin, end, wider, space):
    """As `walk_window`, for a convex shape A (part 0) and a surface B."""
    a, b = np.int64(0), np.int64(1)
    half_space = parts.ints[0, KIND] == HALF_SPACE
    r, t, m = window_pose(mover_a, mover_b, d, v, begin, end)
    h = end - begin
    size = query_size(parts, box, obb_extent(mesh.obbs.obbs), t) + 8.0 * (abs(m[0]) + abs(m[1]) + abs(m[2]) + wider)
    axes, rotation, query = shape_query(parts, box, r, t, size, F(BOX_SLACK * size + wider))
    slow = slownesses(rotation, rotate(axes, m))
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal = MISS, math.inf, zero, zero
    depth = begin_walk(space)
    while status != AT_START:
        latest = min(best, end)
        depth, i = next_leaf(mesh.tree, query, slow, (latest - begin) / h, depth, space)
        if i < 0:
            break
        set_triangle(parts, b, mesh.tree.corners, U(i))
        if not (half_space or balls_meet(parts, a, b, mover_a, mover_b, r, t, m, h)):
            continue
        found, time, p, n = cast_turning(parts, a, b, mover_a, mover_b, d, v, begin, latest)
        if earlier(found, time, status, best):
            status, best, point, normal = found, time, p, n
    return status, best, point, normal


@device
def root_size(tree):
    """The half extents of a tree's box, summed."""
    box = load_slot(tree.boxes, U(0))
    return np.float64(box[3] + box[4] + box[5])


@device
def triangle_size(tree):
    """About how long the triangles of a mesh are."""
    return root_size(tree) / math.sqrt(tree.corners.shape[0] / 9.0)


@device
def load_mover(poses, row, motion, i, inner):
    """Mover of the frame at `inner` (1, 12) in the shape at poses[row]."""
    u, w = turn_rate(load3(motion, row_of(motion, i), 3))
    return make_mover(load_rotation(poses, row), u, w, load_rotation(inner, 0), load_translation(inner, 0))


@kernel("i8, i8, turning_tree, turning_tree, parts, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], impact_fields")
def mesh_turning_rows(start, stop, mesh_a, mesh_b, parts, poses_a, poses_b, motion_a, motion_b, out):
    """First contact of two surfaces for each row. Poses and motions (N, 6) are those of the shapes that the meshes are part
    of."""
    parts, space = own_parts(parts), new_walk_space()
    zero = (0.0, 0.0, 0.0)
    near = TURN_NEAR * max(triangle_size(mesh_a.tree), triangle_size(mesh_b.tree))
    error = TURN_ERROR * (root_size(mesh_a.tree) + root_size(mesh_b.tree))
    for row in range(start, stop):
        row_a, row_b = row_of(poses_a, row), row_of(poses_b, row)
        mover_a = load_mover(poses_a, row_a, motion_a, row, mesh_a.inner)
        mover_b = load_mover(poses_b, row_b, motion_b, row, mesh_b.inner)
        ta, tb = load_translation(poses_a, row_a), load_translation(poses_b, row_b)
        move_a, move_b = load3(motion_a, row_of(motion_a, row), 0), load3(motion_b, row_of(motion_b, row), 0)
        d, v = sub(tb, ta), sub(move_b, move_a)
        turned = mover_a[3] * mesh_a.far + mover_b[3] * mesh_b.far
        speed = (norm(v) + turned) * (1.0 + TURN_ROUNDING)
        begin, last = meeting_time(d, v, mesh_a.far + mesh_b.far)
        status, time, p, n, rounds = MISS, math.inf, zero, zero, 0
        at_a, at_b = np.int64(-1), np.int64(-1)
        while status == MISS and begin < last:
            if rounds == TURN_ROUNDS:
                status, time = CAST_UNCONVERGED, begin
                break
            rounds += 1
            r, t, _m = window_pose(mover_a, mover_b, d, v, begin, begin)
            reach = speed * (last - begin) + error
            apart2, _x, _y, at_a, at_b, _tests = walk_distance(mesh_a.obbs, mesh_b.obbs, r, t, reach, (at_a, at_b), space)
            if at_a < 0:
                break
            apart = math.sqrt(apart2)
            if apart > near:
                begin += (apart - error) / speed
                continue
            end = min(begin + (apart + near) / speed, last)
            wider = 0.5 * (end - begin) * turned * (1.0 + TURN_ROUNDING)
            status, time, p, n = walk_window(mesh_a.tree, mesh_b.tree, parts, mover_a, mover_b, d, v, begin, end, wider, space)
            begin = end
        write_turned(row, status, time, p, n, ta, move_a, out)


@kernel("i8, i8, turning_tree, parts, f8[::1], f8[:,::1], f8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], impact_fields")
def convex_turning_rows(
    start, stop, mesh, parts, box, inner_shape, far_shape, poses_shape, poses_mesh, motion_shape, motion_mesh, out
):
    """First contact of a convex shape and a surface for each row; the normal points from the shape to the mesh. inner_shape
    (1, 12) and far_shape: of the convex shape, as the mesh's in `TurningTree`."""
    parts, space = own_parts(parts), new_walk_space()
    zero = (0.0, 0.0, 0.0)
    near = TURN_NEAR * triangle_size(mesh.tree)
    for row in range(start, stop):
        row_s, row_m = row_of(poses_shape, row), row_of(poses_mesh, row)
        mover_s = load_mover(poses_shape, row_s, motion_shape, row, inner_shape)
        mover_m = load_mover(poses_mesh, row_m, motion_mesh, row, mesh.inner)
        ts, tm = load_translation(poses_shape, row_s), load_translation(poses_mesh, row_m)
        move_s, move_m = load3(motion_shape, row_of(motion_shape, row), 0), load3(motion_mesh, row_of(motion_mesh, row), 0)
        d, v = sub(tm, ts), sub(move_m, move_s)
        if parts.ints[0, KIND] == HALF_SPACE:
            # Of a half-space only what the mesh can reach counts.
            far, begin, last = max(norm(d), norm(shift(d, v, 1.0))) + mesh.far, 0.0, 1.0
        else:
            far = far_shape
            begin, last = meeting_time(d, v, far + mesh.far)
        turned = mover_s[3] * far + mover_m[3] * mesh.far
        speed, error = (norm(v) + turned) * (1.0 + TURN_ROUNDING), TURN_ERROR * (far + mesh.far)
        status, time, p, n, rounds, at = MISS, math.inf, zero, zero, 0, np.int64(-1)
        while status == MISS and begin < last:
            if rounds == TURN_ROUNDS:
                status, time = CAST_UNCONVERGED, begin
                break
            rounds += 1
            r, t, _m = window_pose(mover_s, mover_m, d, v, begin, begin)
            reach = speed * (last - begin) + error
            outcome, apart, _p, _n, at = walk_convex_distance(mesh.obbs, parts, box, r, t, reach, at, space)
            if at < 0:
                break
            if outcome == SEPARATED and apart > near + error:
                begin += (apart - error) / speed
                continue
            end = min(begin + (min(apart, near) + near) / speed, last)
            wider = 0.5 * (end - begin) * turned * (1.0 + TURN_ROUNDING)
            status, time, p, n = walk_convex_window(mesh, parts, box, mover_s, mover_m, d, v, begin, end, wider, space)
            begin = end
        write_turned(row, status, time, p, n, ts, move_s, out)
