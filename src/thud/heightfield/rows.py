"""Rows of a field (A) and a convex shape or a mesh (B). A mesh's tree is walked to its triangles, each of which is a part.

Into the grid's frame: one relative pose, never two world poses.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, MISS, OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.casts.linear_cast import earlier
from thud.heightfield.cells import cell_range, level_range, start_level
from thud.heightfield.objects import SHAPE, new_field_space, own_object
from thud.heightfield.prism import box_reach, part_box, triangle_box, widened
from thud.heightfield.tolerances import FIELD_ROOM
from thud.heightfield.walk import box_may_meet, cast_part, meets_part, nearest_part, node_gap
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import load3, sub
from thud.mesh.box_tree import U, load_slot, tree_pose
from thud.mesh.cast import write_impact
from thud.mesh.mesh_convex import set_triangle
from thud.pairing.rows import row_of


@device
def slot_box(tree, slot, r, t):
    """The box of a slot of a mesh's tree in the grid's frame, and what rounding adds to it."""
    b = load_slot(tree.boxes, slot)
    c = transform(r, t, (np.float64(b[0]), np.float64(b[1]), np.float64(b[2])))
    hx, hy, hz = np.float64(b[3]), np.float64(b[4]), np.float64(b[5])
    x = abs(r[0]) * hx + abs(r[1]) * hy + abs(r[2]) * hz
    y = abs(r[3]) * hx + abs(r[4]) * hy + abs(r[5]) * hz
    z = abs(r[6]) * hx + abs(r[7]) * hy + abs(r[8]) * hz
    whole = (c[0] - x, c[0] + x, c[1] - y, c[1] + y, c[2] - z, c[2] + z)
    return widened(whole, FIELD_ROOM * (box_reach(whole) + abs(t[0]) + abs(t[1]) + abs(t[2])))


@device
def is_mesh(tree):
    """Whether the object is a mesh."""
    return tree.corners.shape[0] > 0


# Do they meet? ------------------------------------------------------------------------------------------------------------


@kernel(inner="height_grid, field_object, mat3, vec3, field_space")
def meets_object(grid, other, r, t, space):
    """Status of the ground and the object; (R, t) is the frame of the object's tree, or part, in the grid's."""
    parts, tree = other.parts, other.tree
    if not is_mesh(tree):
        return meets_part(grid, parts, r, t, part_box(parts, r, t), space.stack, np.int64(0), space.none)[0]
    status = SEPARATED
    space.slots[0], depth = U(0), U(1)
    while depth > U(0):
        depth -= U(1)
        slot = space.slots[depth]
        down = tree.child[slot]
        if down < 0:
            box = triangle_box(tree.corners, U(-1 - down), r, t)
            set_triangle(parts, np.int64(SHAPE), tree.corners, U(-1 - down))
            outcome = meets_part(grid, parts, r, t, box, space.stack, np.int64(0), space.none)[0]
            if outcome == OVERLAPPING:
                return OVERLAPPING
            if outcome == UNCONVERGED:
                status = UNCONVERGED
            continue
        for lane in range(8):
            child = U(8) * U(down) + U(lane)
            if is_filled(tree, child) and box_may_meet(grid, slot_box(tree, child, r, t)):
                space.slots[depth] = child
                depth += U(1)
    return status


@device
def is_filled(tree, slot):
    """Whether a slot of the 8-wide tree stands for anything: the empty ones have boxes that nothing meets."""
    return tree.boxes[U(48) * (slot >> U(3)) + (slot & U(7)) + U(24)] >= 0.0


@kernel("i8, i8, height_grid, field_object, f8[:,::1], f8[:,::1], u1[::1]")
def field_intersects_rows(start, stop, grid, other, poses_f, poses_o, status_out):
    """Status of ground and object for each row of poses."""
    other, space = own_object(other), new_field_space()
    for row in range(start, stop):
        r, t = tree_pose(poses_f, row_of(poses_f, row), poses_o, row_of(poses_o, row), grid.origin, other.tree.origin)
        status_out[row] = meets_object(grid, other, r, t, space)


# How near are they? -------------------------------------------------------------------------------------------------------


@kernel(inner="height_grid, UniTuple(f8, 6), f8")
def box_distance(grid, box, reach):
    """Lower bound of the distance of a box and the ground, by the nodes of the level where all that is within `reach` of the
    box is at most two nodes wide; inf if nothing is that near."""
    cells = cell_range(grid, widened(box, reach))
    if cells[0] > cells[1]:
        return math.inf
    level = start_level(grid, cells)
    i0, i1, j0, j1 = level_range(cells, level)
    center = (0.5 * (box[0] + box[1]), 0.5 * (box[2] + box[3]), 0.5 * (box[4] + box[5]))
    best = math.inf
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            # No ball: the box says it all.
            best = min(best, node_gap(grid, level, j, i, box, center, math.inf))
    return best


@device
def push_slot(space, depth, first, slot, bound):
    """Put a slot on its stack, among those from `first` on that with the least bound on top. Returns the depth."""
    k = depth
    while k > first and space.slot_bounds[k - U(1)] < bound:
        space.slots[k], space.slot_bounds[k] = space.slots[k - U(1)], space.slot_bounds[k - U(1)]
        k -= U(1)
    space.slots[k], space.slot_bounds[k] = slot, bound
    return depth + U(1)


@kernel(inner="height_grid, field_object, mat3, vec3, f8, field_space")
def nearest_object(grid, other, r, t, reach, space):
    """(status, distance, point of the ground, normal, triangle of the field) of the ground and the object, looking no farther
    than `reach`; triangle -1 if nothing is that near."""
    parts, tree = other.parts, other.tree
    if not is_mesh(tree):
        return nearest_part(grid, parts, r, t, part_box(parts, r, t), reach, space)
    zero = (0.0, 0.0, 0.0)
    status, best, p, n, at = SEPARATED, reach, zero, zero, np.int64(-1)
    space.slots[0], space.slot_bounds[0], depth = U(0), 0.0, U(1)
    while depth > U(0):
        depth -= U(1)
        if space.slot_bounds[depth] > best:
            continue
        down = tree.child[space.slots[depth]]
        if down < 0:
            box = triangle_box(tree.corners, U(-1 - down), r, t)
            set_triangle(parts, np.int64(SHAPE), tree.corners, U(-1 - down))
            outcome, d, q, m, k = nearest_part(grid, parts, r, t, box, best, space)
            if k >= 0 and outcome == OVERLAPPING:
                return outcome, 0.0, q, zero, k
            if k >= 0 and (d < best or at < 0):
                status, best, p, n, at = outcome, d, q, m, k
            continue
        first = depth
        for lane in range(8):
            child = U(8) * U(down) + U(lane)
            if is_filled(tree, child):
                bound = box_distance(grid, slot_box(tree, child, r, t), best)
                if bound <= best and bound < math.inf:
                    depth = push_slot(space, depth, first, child, bound)
    return status, best, p, n, at


@kernel("i8, i8, height_grid, field_object, f8[:,::1], f8[:,::1], f8, distance_fields")
def field_distance_rows(start, stop, grid, other, poses_f, poses_o, reach, out):
    """Unsigned distances, world frame, normal from the ground to the object; rows beyond `reach` get inf."""
    other, space = own_object(other), new_field_space()
    for row in range(start, stop):
        row_f = row_of(poses_f, row)
        r, t = tree_pose(poses_f, row_f, poses_o, row_of(poses_o, row), grid.origin, other.tree.origin)
        status, d, p, n, at = nearest_object(grid, other, r, t, reach, space)
        if at < 0 or d > reach:
            out.distance[row], out.status[row] = math.inf, SEPARATED
            for k in range(3):
                out.point_a[row, k], out.point_b[row, k], out.normal[row, k] = 0.0, 0.0, 0.0
            continue
        rf, tf = load_rotation(poses_f, row_f), load_translation(poses_f, row_f)
        p = transform(rf, tf, (p[0] + grid.origin[0], p[1] + grid.origin[1], p[2] + grid.origin[2]))
        n = rotate(rf, n)
        out.distance[row], out.status[row] = d, status
        for k in range(3):
            out.point_a[row, k], out.point_b[row, k], out.normal[row, k] = p[k], p[k] + d * n[k], n[k]


# When do they first touch? ------------------------------------------------------------------------------------------------


@kernel(inner="height_grid, field_object, mat3, vec3, vec3, field_space")
def cast_object(grid, other, r, t, m, space):
    """(status, time, point, normal) of the first contact of the ground and the object, which moves by m over [0, 1]."""
    parts, tree = other.parts, other.tree
    if not is_mesh(tree):
        return cast_part(grid, parts, r, t, m, part_box(parts, r, t), 1.0, space)
    zero = (0.0, 0.0, 0.0)
    status, best, point, normal = MISS, math.inf, zero, zero
    space.slots[0], depth = U(0), U(1)
    while depth > U(0):
        depth -= U(1)
        latest = min(best, 1.0)
        down = tree.child[space.slots[depth]]
        if down < 0:
            box = triangle_box(tree.corners, U(-1 - down), r, t)
            set_triangle(parts, np.int64(SHAPE), tree.corners, U(-1 - down))
            found, time, p, n = cast_part(grid, parts, r, t, m, box, latest, space)
            if earlier(found, time, status, best):
                status, best, point, normal = found, time, p, n
                if status == AT_START:
                    break
            continue
        for lane in range(8):
            child = U(8) * U(down) + U(lane)
            if is_filled(tree, child):
                b = slot_box(tree, child, r, t)
                # What it sweeps up to the best time so far.
                x, y, z = latest * m[0], latest * m[1], latest * m[2]
                swept = (
                    b[0] + min(x, 0.0), b[1] + max(x, 0.0), b[2] + min(y, 0.0), b[3] + max(y, 0.0),
                    b[4] + min(z, 0.0), b[5] + max(z, 0.0),
                )  # fmt: skip
                if box_may_meet(grid, widened(swept, FIELD_ROOM * box_reach(swept))):
                    space.slots[depth] = child
                    depth += U(1)
    return status, best, point, normal


@kernel("i8, i8, height_grid, field_object, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], impact_fields")
def field_cast_rows(start, stop, grid, other, poses_f, poses_o, motion_f, motion_o, out):
    """First contact for each row; motions are displacements over the step, world frame; normal from the ground to the
    object."""
    other, space = own_object(other), new_field_space()
    for row in range(start, stop):
        row_f = row_of(poses_f, row)
        r, t = tree_pose(poses_f, row_f, poses_o, row_of(poses_o, row), grid.origin, other.tree.origin)
        rf, tf = load_rotation(poses_f, row_f), load_translation(poses_f, row_f)
        move_f, move_o = load3(motion_f, row_of(motion_f, row), 0), load3(motion_o, row_of(motion_o, row), 0)
        m = unrotate(rf, sub(move_o, move_f))
        status, time, p, n = cast_object(grid, other, r, t, m, space)
        write_impact(row, status, time, p, n, rf, tf, grid.origin, move_f, out)
