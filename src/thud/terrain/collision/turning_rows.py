"""Casts of a shape that turns while it moves, against a displaced surface that does not turn: rows of poses.

Time goes by windows in which turning moves the shape's points by less than about half its size. Within one each part, turned as
amid the window and rounded off by as far as turning moves its points from there, goes straight on past volumes and patches.
Where it may meet the piece of a patch, the cast of turning convex shapes decides, limited to the window. So neither the way nor
a gap of about nothing costs windows.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, CAST_UNCONVERGED, HIT, MISS
from thud.convex.casts.linear_cast import earlier
from thud.convex.casts.turning import core_reach, make_mover, place, shift, turn_rate
from thud.convex.own_parts import own_parts
from thud.math.pose import compose_rotation, load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import add, load3, sub
from thud.pairing.rows import relative_pose, row_of
from thud.shapes.packed import RADIUS
from thud.terrain.collision.ground_walk import part_inside, walk_ground
from thud.terrain.collision.meets import load_row
from thud.terrain.collision.patch_query import CAST, MEET
from thud.terrain.collision.tolerances import TURN_ROUNDING
from thud.terrain.collision.walk import part_box, walk_part
from thud.terrain.collision.work_space import (
    AWAY,
    BEGIN,
    BEST,
    END,
    MOVER_P,
    MOVER_R,
    MOVER_U,
    MOVER_W,
    OWN_RADIUS,
    POINT,
    SHAPE_AT,
    SHAPE_MOVE,
    STATUS,
    TURNS,
    PartQuery,
    new_work_space,
)

_I = np.int64


@device
def part_mover(part_poses, b, inner, r, u, w):
    """Mover of part b of a shape that stands at `inner` (1, 12) in one that turns, whose rotation is r."""
    ri, ti = load_rotation(inner, 0), load_translation(inner, 0)
    rp, tp = load_rotation(part_poses, b), load_translation(part_poses, b)
    return make_mover(r, u, w, compose_rotation(ri, rp), transform(ri, ti, tp))


@device
def write_turn(turn, mover, d, v, begin, end, radius):
    """Fields of a window's motion."""
    turn[TURNS], turn[MOVER_W], turn[BEGIN], turn[END], turn[OWN_RADIUS] = 1.0, mover[3], begin, end, radius
    for k in range(9):
        turn[MOVER_R + k] = mover[0][k]
    for k in range(3):
        turn[MOVER_P + k], turn[MOVER_U + k] = mover[1][k], mover[2][k]
        turn[SHAPE_AT + k], turn[SHAPE_MOVE + k] = d[k], v[k]


@kernel(
    "i8, i8, surface, query_object, f8[:,::1], f8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], impact_fields",
)
def surface_turning_rows(start, stop, surface, shape, inner, near, most, poses_s, poses_o, motion_s, motion_o, out):
    """First contact for each row; normal from the surface to the shape, world frame. Motions (N, 6), the surface's without a
    rotation. The shape stands at `inner` (1, 12) in the one that poses and motion are of.

    near : how far turning may move points in half a window; most : windows
    """
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    box, result, turn, still = space.box, space.result, space.turn, (0.0, 0.0, 0.0)
    a = _I(part_poses.shape[0] - 1)
    for row in range(start, stop):
        row_s = row_of(poses_s, row)
        r, d = relative_pose(poses_s, row_s, poses_o, row_of(poses_o, row))
        world_r, world_t = load_rotation(poses_s, row_s), load_translation(poses_s, row_s)
        move_s, i = load3(motion_s, row_of(motion_s, row), 0), row_of(motion_o, row)
        v = unrotate(world_r, sub(load3(motion_o, i, 0), move_s))
        u, w = turn_rate(load3(motion_o, i, 3))
        u = unrotate(world_r, u)
        best, status, p, n = math.inf, _I(MISS), still, still
        turned = 0.0
        for b in range(a):
            mover = part_mover(part_poses, b, inner, r, u, w)
            turned = max(turned, w * core_reach(parts, b, mover)[0] * (1.0 + TURN_ROUNDING))
            if shape.group[b] == b:
                # Of parts that hang together and touch nothing one tells of all.
                turn[TURNS] = 0.0
                at = PartQuery(a, b, mover[0], add(d, mover[1]), still, _I(MEET))
                inside, _quad, _x, _y, buried = part_inside(surface, parts, at, space)
                if inside:
                    best, status, p = 0.0, _I(AT_START), buried
                    break
        begin, windows = 0.0, 0
        while status == MISS and begin < 1.0:
            if windows == most:
                best, status = begin, _I(CAST_UNCONVERGED)
                break
            windows += 1
            end = 1.0
            if turned * (1.0 - begin) > 2.0 * near:
                end = begin + 2.0 * near / turned
            h = end - begin
            m = (h * v[0], h * v[1], h * v[2])
            for b in range(a):
                mover, radius = part_mover(part_poses, b, inner, r, u, w), parts.reals[b, RADIUS]
                write_turn(turn, mover, d, v, begin, end, radius)
                rb, pb = place(mover, 0.5 * (begin + end))
                tb = add(shift(d, v, begin), pb)
                parts.reals[b, RADIUS] = radius + 0.5 * h * w * core_reach(parts, b, mover)[0] * (1.0 + TURN_ROUNDING)
                part_box(parts, b, rb, tb, box)
                query = PartQuery(a, b, rb, tb, m, _I(CAST))
                result[BEST], result[STATUS] = (min(best, end) - begin) / h, MISS
                hits = walk_part(surface, parts, query, space, _I(0))
                if hits == 0 or result[STATUS] != AT_START:
                    hits += walk_ground(surface, parts, query, space, _I(0))
                parts.reals[b, RADIUS] = radius
                if hits > 0:
                    time, outcome = begin + h * result[BEST], _I(result[STATUS])
                    if earlier(outcome, time, status, best):
                        best, status, p, n = time, outcome, load_row(result, POINT), load_row(result, AWAY)
                if status == AT_START:
                    break
            begin = end
        turn[TURNS] = 0.0
        out.time[row], out.status[row] = best, status
        moved = min(best, 1.0)
        p, n = transform(world_r, world_t, p), rotate(world_r, n)
        for k in range(3):
            out.point[row, k] = p[k] + moved * move_s[k] if status in (HIT, AT_START) else 0.0
            out.normal[row, k] = n[k]
