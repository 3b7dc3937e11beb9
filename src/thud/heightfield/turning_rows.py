"""Casts of a convex shape or a mesh (B) that turns while it moves, against a field (A) that does not turn.

Time goes by windows in which turning moves the object's points by no more than about a cell. Within one the tree is walked as
for a linear cast, with the object turned as amid the window and boxes that grow by as far as turning moves any point from it:
they hold every place that it passes. Where a part and a prism may meet, the cast of turning convex shapes decides, limited to
the window. How fast the object goes on along its way does not count: what slides along the ground, even in touch, takes no more
windows than what turns as far in the air. Where nothing is near, time advances by the distance over the largest speed instead.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, CAST_UNCONVERGED, MISS, SEPARATED
from thud.bvh.height_tree import is_there, sample
from thud.convex.casts.linear_cast import earlier
from thud.convex.casts.turning import MOVER, core_reach
from thud.convex.casts.turning_cast import cast_turning, write_turned
from thud.heightfield.objects import PRISM, SHAPE, new_field_space, own_object
from thud.heightfield.prism import box_reach, part_box, triangle_box, widened
from thud.heightfield.rows import is_filled, is_mesh, nearest_object, slot_box
from thud.heightfield.tolerances import FIELD_ROOM, TURN_ROUNDING
from thud.heightfield.walk import begin_sweep, box_may_meet, is_in_the_way, next_block, part_room, swept_by
from thud.math.pose import load_translation
from thud.math.vec3 import load3, norm, sub
from thud.mesh.box_tree import U
from thud.mesh.mesh_convex import set_triangle
from thud.mesh.turning_cast import load_mover, window_pose
from thud.pairing.rows import row_of

_A, _B = np.int64(PRISM), np.int64(SHAPE)


@kernel(
    inner="height_grid, parts, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8, f8, mat3, vec3, vec3, UniTuple(f8, 6), f8, "
    "field_space"
)
def turn_part(grid, parts, mover_f, mover_o, d, v, begin, end, latest, r, t, m, box, wider, space):
    """(status, time, point, normal) of the first contact of the ground and the part in a window of time, up to the time
    `latest`. World axes, relative to the origin of the field's shape.

    (R, t), m : the part in the window (`window_pose`), with its box; wider : how far turning moves its points from there
    """
    room = wider + FIELD_ROOM * (part_room(grid, parts, t, box) + abs(m[0]) + abs(m[1]) + abs(m[2]))
    box, h = widened(box, room), end - begin
    status, best, point, normal = MISS, math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    depth, cells = begin_sweep(grid, box, m, (latest - begin) / h, space)
    while True:
        depth, block = next_block(grid, box, m, (min(best, latest) - begin) / h, cells, depth, space)
        if depth < 0:
            break
        for y in range(block[2], block[3] + 1):
            for x in range(block[0], block[1] + 1):
                corners = sample(grid, y, x), sample(grid, y, x + 1), sample(grid, y + 1, x), sample(grid, y + 1, x + 1)
                for k in range(2):
                    limit = min(best, latest)
                    if not is_there(corners, k) or not is_in_the_way(
                        grid, parts, r, t, m, box, room, (limit - begin) / h, corners, y, x, np.int64(k)
                    ):
                        continue
                    found, time, p, n = cast_turning(parts, _A, _B, mover_f, mover_o, d, v, begin, limit)
                    if earlier(found, time, status, best):
                        status, best, point, normal = found, time, p, n
                        if status == AT_START:
                            return status, best, point, normal
    return status, best, point, normal


@kernel(inner="height_grid, field_object, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8, f8, field_space")
def turn_object(grid, other, mover_f, mover_o, d, v, begin, end, wider, space):
    """The same of the whole object."""
    parts, tree = other.parts, other.tree
    r, t, m = window_pose(mover_f, mover_o, d, v, begin, end)
    if not is_mesh(tree):
        return turn_part(grid, parts, mover_f, mover_o, d, v, begin, end, end, r, t, m, part_box(parts, r, t), wider, space)
    status, best, point, normal = MISS, math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    space.slots[0], depth = U(0), U(1)
    while depth > U(0):
        depth -= U(1)
        latest = min(best, end)
        down = tree.child[space.slots[depth]]
        if down < 0:
            box = triangle_box(tree.corners, U(-1 - down), r, t)
            set_triangle(parts, np.int64(SHAPE), tree.corners, U(-1 - down))
            found, time, p, n = turn_part(grid, parts, mover_f, mover_o, d, v, begin, end, latest, r, t, m, box, wider, space)
            if earlier(found, time, status, best):
                status, best, point, normal = found, time, p, n
                if status == AT_START:
                    break
            continue
        share = (latest - begin) / (end - begin)
        for lane in range(8):
            child = U(8) * U(down) + U(lane)
            if is_filled(tree, child):
                # What it sweeps up to the best time so far.
                swept = swept_by(slot_box(tree, child, r, t), (share * m[0], share * m[1], share * m[2]))
                if box_may_meet(grid, widened(swept, wider + FIELD_ROOM * box_reach(swept))):
                    space.slots[depth] = child
                    depth += U(1)
    return status, best, point, normal


@device
def turned_way(parts, tree, mover, far):
    """How far turning moves any point of the object over the step."""
    if mover[3] == 0.0:
        return 0.0
    if not is_mesh(tree):
        far = core_reach(parts, _B, mover)[0]
    return mover[3] * far * (1.0 + TURN_ROUNDING)


@kernel(
    "i8, i8, height_grid, field_object, f8[:,::1], f8[:,::1], f8, f8, f8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], "
    "impact_fields"
)
def field_turning_rows(
    start, stop, grid, other, inner_f, inner_o, far, near, error, most, poses_f, poses_o, motion_f, motion_o, out
):
    """First contact for each row. Poses and motions (N, 6) are those of the shapes that the two are
    part of; the field's has no rotation.

    inner_f, inner_o (1, 12) : frames of the grid, and of the object's tree or part, in their shapes'
    far : of a mesh, the farthest point from its shape's origin; near : how far turning may move points in half a window
    error : what a distance may be too large by; most : windows
    """
    other, space = own_object(other), new_field_space()
    parts = other.parts
    for row in range(start, stop):
        row_f, row_o = row_of(poses_f, row), row_of(poses_o, row)
        mover_f = load_mover(poses_f, row_f, motion_f, row, inner_f)
        mover_o = load_mover(poses_o, row_o, motion_o, row, inner_o)
        tf, to = load_translation(poses_f, row_f), load_translation(poses_o, row_o)
        move_f, move_o = load3(motion_f, row_of(motion_f, row), 0), load3(motion_o, row_of(motion_o, row), 0)
        d, v = sub(to, tf), sub(move_o, move_f)
        turned = turned_way(parts, other.tree, mover_o, far)
        speed = (norm(v) + turned) * (1.0 + TURN_ROUNDING)
        status, time, p, n = MISS, math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        begin, windows = 0.0, 0
        while status == MISS and begin < 1.0:
            if windows == most:
                status, time = CAST_UNCONVERGED, begin
                break
            windows += 1
            end = 1.0
            if turned * (1.0 - begin) > 2.0 * near:
                # More than one window: where nothing is near, the distance leads farther.
                end = begin + 2.0 * near / turned
                r, t, _m = window_pose(mover_f, mover_o, d, v, begin, begin)
                outcome, apart, _p, _n, at = nearest_object(grid, other, r, t, speed * (1.0 - begin) + error, space)
                if at < 0:
                    break
                if outcome == SEPARATED and begin + (apart - error) / speed > end:
                    begin += (apart - error) / speed
                    continue
            wider = 0.5 * (end - begin) * turned * (1.0 + TURN_ROUNDING)
            status, time, p, n = turn_object(grid, other, mover_f, mover_o, d, v, begin, end, wider, space)
            begin = end
        write_turned(row, status, time, p, n, tf, move_f, out)
