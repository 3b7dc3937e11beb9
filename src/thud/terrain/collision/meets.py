"""Does a shape meet a displaced surface, how far are they apart, and when do they first touch: rows of poses.

A part meets the ground if it touches the surface, the bottom or a side of the ground, or lies inside (`ground_walk.py`).
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, HIT, MISS, OVERLAPPING, SEPARATED, UNCONVERGED
from thud.constants import UNIT_ROUNDOFF
from thud.convex.own_parts import own_parts
from thud.convex.support import curved_support
from thud.math.pose import compose_rotation, load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import add_scaled, dot, load3, norm2, sub
from thud.pairing.rows import relative_pose, row_of
from thud.shapes.packed import BOUND, CENTER, KIND, P0, P1, P2, RADIUS, VERTEX_COUNT, VERTEX_START
from thud.shapes.shape import BOX, HALF_SPACE, HULL
from thud.terrain.collision.column import load_column, set_face
from thud.terrain.collision.compound_walk import OTHER_FACES, SHEET_ALONE, compound_meets
from thud.terrain.collision.ground_walk import near_ground_parts, part_inside, walk_ground
from thud.terrain.collision.nearest import exact_nearest
from thud.terrain.collision.patch import load_patch, patch_size, twist
from thud.terrain.collision.patch_query import CAST, DISTANCE, MEET, patch_query
from thud.terrain.collision.tolerances import (
    CAST_CURVED,
    CAST_FLAT,
    CAST_MORE,
    CAST_REST,
    CAST_STEEP,
    LEVELS,
    LISTED,
    PATCH_FLAT,
)
from thud.terrain.collision.walk import near_parts, part_box, walk_nearest, walk_part
from thud.terrain.collision.work_space import AWAY, BEST, FACE, POINT, STATUS, UNSURE, PartQuery, new_work_space

_I = np.int64


@device
def part_place(poses, b, r, t):
    """Part b in the surface's frame, where its shape is at (r, t)."""
    rp, tp = load_rotation(poses, b), load_translation(poses, b)
    return compose_rotation(r, rp), transform(r, t, tp)


@kernel
def part_point(parts, b, which):
    """Point `which` of part b, in its frame: its centre (-1), a vertex, or of what is curved one of six extreme points."""
    if which < 0:
        return parts.reals[b, CENTER], parts.reals[b, CENTER + 1], parts.reals[b, CENTER + 2]
    kind = parts.ints[b, KIND]
    if kind == HULL:
        at = parts.ints[b, VERTEX_START] + which
        return parts.vertices[0, at], parts.vertices[1, at], parts.vertices[2, at]
    x, y, z = parts.reals[b, P0], parts.reals[b, P1], parts.reals[b, P2]
    if kind == BOX:
        return x * (1.0 if which & 1 else -1.0), y * (1.0 if which & 2 else -1.0), z * (1.0 if which & 4 else -1.0)
    sign = 1.0 if which & 1 else -1.0
    d = (sign if which < 2 else 0.0, sign if 2 <= which < 4 else 0.0, sign if which >= 4 else 0.0)
    p, radius = curved_support(kind, x, y, z, d), parts.reals[b, RADIUS]
    return p[0] + radius * d[0], p[1] + radius * d[1], p[2] + radius * d[2]


@device
def vertex_count(parts, b):
    """Vertices of a hull or box; extreme points of what is curved."""
    if parts.ints[b, KIND] == HULL:
        return parts.ints[b, VERTEX_COUNT]
    return _I(8) if parts.ints[b, KIND] == BOX else _I(6)


@kernel(
    "i8, i8, surface, query_object, f8[:,::1], f8[:,::1], i8[:,::1], u1[::1]",
)
def surface_intersects_rows(
    start, stop, surface, shape, poses_s, poses_o,
    last_inout, status_out,
):  # fmt: skip
    """Status of surface and shape for each row. last_inout (N, 4): part, quad, x, y of the patch that was met in the last
    frame and is asked first (part -1: none); then of the one met now."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    box, corners, result, found = space.box, space.corners, space.result, space.found
    listed, lists, levels = np.empty(part_poses.shape[0], np.int64), np.empty(LISTED, np.int64), np.empty((LEVELS, 3), np.int64)
    a, still = _I(part_poses.shape[0] - 1), (0.0, 0.0, 0.0)
    for row in range(start, stop):
        r, t = relative_pose(poses_s, row_of(poses_s, row), poses_o, row_of(poses_o, row))
        guess = last_inout[row, 0]
        if 0 <= guess < a and last_inout[row, 1] < surface.quads.shape[0]:
            rb, tb = part_place(part_poses, guess, r, t)
            load_patch(surface, last_inout[row, 1], last_inout[row, 2], last_inout[row, 3], corners)
            query = PartQuery(a, guess, rb, tb, still, _I(MEET))
            hit, outcome, _v, _p, _n = patch_query(parts, query, space, 0.0)
            if hit and outcome == OVERLAPPING:
                status_out[row] = OVERLAPPING
                continue
        last_inout[row, 0] = -1
        status, done = compound_meets(surface, parts, shape, r, t, _I(SHEET_ALONE), space, lists, levels)
        if status == OVERLAPPING:
            for k in range(4):
                last_inout[row, k] = found[0, k]
        elif not done:
            many = near_parts(surface, shape, r, t, 0.0, box, listed)
            for i in range(many):
                b = listed[i]
                rb, tb = part_place(part_poses, b, r, t)
                part_box(parts, b, rb, tb, box)
                result[BEST] = 0.0
                hits = walk_part(surface, parts, PartQuery(a, b, rb, tb, still, _I(MEET)), space, _I(0))
                if hits > 0:
                    status = max(status, _I(result[STATUS])) if status != OVERLAPPING else status
                    if result[STATUS] == OVERLAPPING:
                        status = _I(OVERLAPPING)
                        for k in range(4):
                            last_inout[row, k] = found[0, k]
                        break
        if status == SEPARATED:
            status, done = compound_meets(surface, parts, shape, r, t, _I(OTHER_FACES), space, lists, levels)
        if status == SEPARATED and not done:
            many = near_ground_parts(surface, shape, r, t, 0.0, _I(0), box, listed)
            for i in range(many):
                b = listed[i]
                rb, tb = part_place(part_poses, b, r, t)
                part_box(parts, b, rb, tb, box)
                result[BEST] = 0.0
                if walk_ground(surface, parts, PartQuery(a, b, rb, tb, still, _I(MEET)), space, _I(0)) > 0:
                    status = _I(OVERLAPPING)
                    break
        if status == SEPARATED:
            # No part touches a face: of parts that hang together one tells of all.
            for i in range(shape.heads.shape[0]):
                b = shape.heads[i]
                rb, tb = part_place(part_poses, b, r, t)
                if part_inside(surface, parts, PartQuery(a, b, rb, tb, still, _I(MEET)), space)[0]:
                    status = _I(OVERLAPPING)
                    break
        status_out[row] = status


@kernel("i8, i8, surface, query_object, f8[:,::1], f8[:,::1], f8, distance_fields, i8[:,::1], f8[::1]")
def surface_distance_rows(start, stop, surface, shape, poses_s, poses_o, reach, out, place_out, rough_out):
    """Unsigned distances from the ground, world frame, normal from it to the shape. place_out: part, quad, x, y of the nearest
    patch; part -1 beyond reach. A part in the ground is OVERLAPPING at distance 0. rough_out: by how much a distance may be
    too large at most, as far as patches are not looked at for what is nearer by less."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    box, result, found = space.box, space.result, space.found
    a, still = _I(part_poses.shape[0] - 1), (0.0, 0.0, 0.0)
    for row in range(start, stop):
        row_s = row_of(poses_s, row)
        r, t = relative_pose(poses_s, row_s, poses_o, row_of(poses_o, row))
        best, status, p, n = reach, _I(SEPARATED), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        place_out[row, 0], rough_out[row], result[UNSURE] = -1, 0.0, 0.0
        for b in range(a):
            rb, tb = part_place(part_poses, b, r, t)
            part_box(parts, b, rb, tb, box)
            query = PartQuery(a, b, rb, tb, still, _I(DISTANCE))
            if shape.group[b] == b:
                # Of parts that hang together and touch nothing one tells of all.
                inside, quad, x, y, buried = part_inside(surface, parts, query, space)
                if inside:
                    status, best, p, n = _I(OVERLAPPING), 0.0, buried, (0.0, 0.0, 0.0)
                    place_out[row, 0], place_out[row, 1], place_out[row, 2], place_out[row, 3] = b, quad, x, y
                    break
            result[BEST], result[STATUS] = best, SEPARATED
            hits = walk_nearest(surface, parts, query, space)
            if hits == 0 or result[STATUS] != OVERLAPPING:
                # Bottom and sides of the ground may be nearer.
                hits += walk_ground(surface, parts, query, space, _I(0))
            if hits > 0:
                best, status, p, n = result[BEST], _I(result[STATUS]), load_row(result, POINT), load_row(result, AWAY)
                for k in range(4):
                    place_out[row, k] = found[0, k]
                if status == SEPARATED and parts.ints[b, KIND] != HALF_SPACE:
                    load_column(surface, found[0, 1], found[0, 2], found[0, 3], space.tops, space.ends)
                    set_face(_I(result[FACE]), space.tops, space.ends, space.corners, space.above)
                    best, p, n = exact_nearest(parts, query, space, best, p, n)
                    # The tetrahedron of a flat patch is the patch.
                    rough_out[row] = min(PATCH_FLAT * patch_size(space.corners), 0.25 * twist(space.corners))
            if status == OVERLAPPING:
                break
        world_r, world_t = load_rotation(poses_s, row_s), load_translation(poses_s, row_s)
        if result[UNSURE] > 0.0 and status == SEPARATED:
            status = _I(UNCONVERGED)
        if place_out[row, 0] < 0:
            out.distance[row], out.status[row] = math.inf, status
            p, n, best, world_t = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0)
        else:
            out.distance[row], out.status[row] = best, status
        p, n = transform(world_r, world_t, p), rotate(world_r, n)
        for k in range(3):
            out.point_a[row, k], out.normal[row, k], out.point_b[row, k] = p[k], n[k], p[k] + best * n[k]


@device
def load_row(result, column):
    """Three numbers of the result."""
    return result[column], result[column + 1], result[column + 2]


@kernel(inner="surface, parts, part_query, work_space, f8, vec3, vec3")
def exact_time(surface, parts, query, space, time, p, n):
    """(time, point, normal): a time that was found with pieces of patches, a little early, made exact: on by the distance
    that is left, over the speed along its normal."""
    a, b, r, t, m, _mode = query
    box, result = space.box, space.result
    if parts.ints[b, KIND] == HALF_SPACE:
        return time, p, n
    speed, rest = math.sqrt(norm2(m)), CAST_REST * parts.reals[b, BOUND]
    rest += 16.0 * UNIT_ROUNDOFF * (abs(t[0]) + abs(t[1]) + abs(t[2]) + speed)
    # It stopped at a piece that touches, which leaves its patch by CAST_FLAT at most.
    load_column(surface, space.found[0, 1], space.found[0, 2], space.found[0, 3], space.tops, space.ends)
    set_face(_I(result[FACE]), space.tops, space.ends, space.corners, space.above)
    size = patch_size(space.corners)
    reach = 2.0 * (CAST_FLAT * size + rest)
    for _ in range(CAST_MORE):
        at = (t[0] + time * m[0], t[1] + time * m[1], t[2] + time * m[2])
        near = PartQuery(a, b, r, at, (0.0, 0.0, 0.0), _I(DISTANCE))
        part_box(parts, b, r, at, box)
        result[BEST], result[STATUS] = reach, SEPARATED
        hits = walk_part(surface, parts, near, space, _I(0))
        if hits == 0 or result[STATUS] != OVERLAPPING:
            hits += walk_ground(surface, parts, near, space, _I(0))
        if hits == 0 and reach < math.inf:
            reach = math.inf
            continue
        if hits == 0 or result[STATUS] != SEPARATED:
            break
        p, n = load_row(result, POINT), load_row(result, AWAY)
        if result[BEST] <= rest:
            break
        # It does not get farther away.
        reach = 2.0 * result[BEST]
        # Along a surface that it hardly comes nearer to, no farther than is safe.
        approach = max(-dot(m, n), CAST_STEEP * speed)
        # A patch is curved, so that a whole step may lead in by the gap's square.
        step = result[BEST] / approach * (1.0 - min(0.5, CAST_CURVED * result[BEST] / size))
        time += step
        # If the next look finds them in touch, this is where: the part's closest point has moved along.
        p = add_scaled(add_scaled(p, n, result[BEST]), m, step)
        if time > 1.0:
            break
    return time, p, n


@kernel("i8, i8, surface, query_object, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], impact_fields")
def surface_cast_rows(start, stop, surface, shape, poses_s, poses_o, motion_s, motion_o, out):
    """First contact of surface and shape in motion; normal from the surface to the shape, world frame."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    box, result = space.box, space.result
    a = _I(part_poses.shape[0] - 1)
    for row in range(start, stop):
        row_s = row_of(poses_s, row)
        r, t = relative_pose(poses_s, row_s, poses_o, row_of(poses_o, row))
        world_r, world_t = load_rotation(poses_s, row_s), load_translation(poses_s, row_s)
        move_s = load3(motion_s, row_of(motion_s, row), 0)
        m = unrotate(world_r, sub(load3(motion_o, row_of(motion_o, row), 0), move_s))
        best, status, p, n = math.inf, _I(MISS), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for b in range(a):
            rb, tb = part_place(part_poses, b, r, t)
            part_box(parts, b, rb, tb, box)
            query = PartQuery(a, b, rb, tb, m, _I(CAST))
            result[BEST], result[STATUS] = min(best, 1.0), MISS
            hits = walk_part(surface, parts, query, space, _I(0))
            if hits == 0 or result[STATUS] != AT_START:
                hits += walk_ground(surface, parts, query, space, _I(0))
            if hits > 0 and (result[BEST] < best or status == MISS):
                time, outcome, q, away = result[BEST], _I(result[STATUS]), load_row(result, POINT), load_row(result, AWAY)
                if outcome == HIT:
                    time, q, away = exact_time(surface, parts, query, space, time, q, away)
                # Not all that pieces of patches stop touches a patch in time.
                if time < best and (time <= 1.0 or outcome != HIT):
                    best, status, p, n = time, outcome, q, away
            if status != AT_START and shape.group[b] == b:
                inside, _quad, _x, _y, buried = part_inside(surface, parts, query, space)
                if inside:
                    best, status, p, n = 0.0, _I(AT_START), buried, (0.0, 0.0, 0.0)
            if status == AT_START:
                break
        out.time[row], out.status[row] = best, status
        moved = min(best, 1.0)
        p, n = transform(world_r, world_t, p), rotate(world_r, n)
        for k in range(3):
            hit = status in (HIT, AT_START)
            out.point[row, k] = p[k] + moved * move_s[k] if hit else 0.0
            out.normal[row, k] = n[k]


@kernel("i8, i8, surface, query_object, f8[:,::1], f8[::1], f8[:,::1], i8[::1]")
def surface_points_rows(
    start, stop, surface, shape, points_in,
    distance_out, point_out, quad_out,
):  # fmt: skip
    """The nearest point of the surface to each point, in the surface's frame. The shape is a point."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    box, result, found = space.box, space.result, space.found
    a, b, still = _I(part_poses.shape[0] - 1), _I(0), (0.0, 0.0, 0.0)
    r = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    for row in range(start, stop):
        t = (points_in[row, 0], points_in[row, 1], points_in[row, 2])
        part_box(parts, b, r, t, box)
        result[BEST], result[STATUS] = math.inf, SEPARATED
        found[0, 1] = -1
        for k in range(3):
            result[POINT + k] = 0.0
        query = PartQuery(a, b, r, t, still, _I(DISTANCE))
        walk_nearest(surface, parts, query, space)
        best, p = result[BEST], load_row(result, POINT)
        if result[STATUS] == SEPARATED and found[0, 1] >= 0:
            load_patch(surface, found[0, 1], found[0, 2], found[0, 3], space.corners)
            best, p, _n = exact_nearest(parts, query, space, best, p, load_row(result, AWAY))
        distance_out[row], quad_out[row] = best, found[0, 1]
        for k in range(3):
            point_out[row, k] = p[k]
