"""What a convex part asks of one bilinear patch.

A patch lies in the tetrahedron of its corners, and no point of that is farther from the patch than a quarter of its twist. So
the patch is cut into 2 x 2, and its pieces again, as long as their tetrahedra leave it by more than PATCH_FLAT of its size
and may matter: GJK is asked about the tetrahedra. A piece that is touched at one of its middle lines, which lie in the
patch, need not be cut. A face of the ground counts where no sheet cuts its columns.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, HIT, MISS, OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.casts.linear_cast import cast_pair
from thud.convex.casts.turning_cast import cast_turning
from thud.convex.convex_pair import pair_distance, pair_intersects
from thud.convex.gjk import center_axis
from thud.math.pose import transform
from thud.shapes.packed import BOUND, CENTER, RADIUS
from thud.terrain.collision.nearest import foot_and_back
from thud.terrain.collision.patch import patch_point, patch_size, twist
from thud.terrain.collision.tolerances import BOUND_TURNS, CAST_EARLY, CAST_FLAT, PATCH_FLAT, PATCH_LEAST, PIECE_WIDEST
from thud.terrain.collision.volumes import set_points
from thud.terrain.collision.work_space import (
    BEGIN,
    END,
    MOVER_P,
    MOVER_R,
    MOVER_U,
    MOVER_W,
    OWN_RADIUS,
    PLACE,
    SHAPE_AT,
    SHAPE_MOVE,
    TURNS,
)

_I = np.int64

MEET, GATHER, CAST, DISTANCE, NEARBY = 0, 1, 2, 3, 4

# Columns of pieces: lowest corner in the patch, side, distance or time.
SIDE_OF, VALUE = 2, 3


@device
def set_line(parts, query, space, x0, y0, x1, y1):
    """Write a straight line of the patch over the placeholder. Returns where it begins and where the part is from there."""
    points = space.points
    p, q = patch_point(space.corners, x0, y0), patch_point(space.corners, x1, y1)
    points[0, 0], points[0, 1], points[0, 2] = p
    points[1, 0], points[1, 1], points[1, 2] = q
    o = set_points(parts, query.a, points, 2)
    return o, (query.t[0] - o[0], query.t[1] - o[1], query.t[2] - o[2])


@kernel(inner="parts, part_query, work_space, f8, f8, f8, f8")
def line_met(parts, query, space, x0, y0, x1, y1):
    """Whether the part touches a straight line of the patch."""
    _o, at = set_line(parts, query, space, x0, y0, x1, y1)
    axis = center_axis(parts, query.a, query.b, query.r, at)
    return pair_intersects(parts, query.a, query.b, query.r, at, axis)[0] != SEPARATED


@kernel(inner="parts, part_query, work_space, f8, f8, f8, f8")
def line_point(parts, query, space, x0, y0, x1, y1):
    """A point that the part shares with a straight line of the patch that it touches."""
    o, at = set_line(parts, query, space, x0, y0, x1, y1)
    axis = center_axis(parts, query.a, query.b, query.r, at)
    _status, _d, q, _n = pair_distance(parts, query.a, query.b, query.r, at, axis, math.inf)
    return q[0] + o[0], q[1] + o[1], q[2] + o[2]


@device
def three(values, at):
    """Three of an array's numbers."""
    return values[at], values[at + 1], values[at + 2]


@kernel(inner="parts, i8, i8, f8[::1], vec3, f8, f8")
def turned_cast(parts, a, b, turn, o, since, latest):
    """(status, time, point, normal) of the placeholder, relative to o, and a part that turns (`work_space.py`). Times are
    shares of the window; the point is relative to o."""
    begin, h = turn[BEGIN], turn[END] - turn[BEGIN]
    d, v = three(turn, SHAPE_AT), three(turn, SHAPE_MOVE)
    k = MOVER_R
    rotation = (
        turn[k], turn[k + 1], turn[k + 2], turn[k + 3], turn[k + 4], turn[k + 5], turn[k + 6], turn[k + 7], turn[k + 8],
    )  # fmt: skip
    still = ((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.0)
    mover = (rotation, three(turn, MOVER_P), three(turn, MOVER_U), turn[MOVER_W])
    wide = parts.reals[b, RADIUS]
    parts.reals[b, RADIUS] = turn[OWN_RADIUS]
    at = (d[0] - o[0], d[1] - o[1], d[2] - o[2])
    outcome, time, q, n = cast_turning(parts, a, b, still, mover, at, v, begin + h * since, begin + h * latest)
    parts.reals[b, RADIUS] = wide
    return outcome, (time - begin) / h, q, n


@kernel(inner="parts, part_query, work_space, f8, f8, f8, f8, f8, vec3")
def piece_query(parts, query, space, x, y, w, best, since, away):
    """(counts, outcome, distance or time, point, normal) of a part and the tetrahedron of a piece of the patch in `space`.
    since: no time before it comes into question. away: the normal of what is near to the piece, where it is known; else 0."""
    a, b, r, t, m, mode = query
    points = space.points
    for k in range(4):
        points[k, 0], points[k, 1], points[k, 2] = patch_point(space.corners, x + (k & 1) * w, y + (k >> 1) * w)
    o = set_points(parts, a, points, 4)
    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
    zero = (0.0, 0.0, 0.0)
    if mode <= GATHER:
        outcome = pair_intersects(parts, a, b, r, at, center_axis(parts, a, b, r, at))[0]
        return outcome != SEPARATED, _I(outcome), np.float64(outcome), o, zero
    if mode >= DISTANCE:
        axis = (-away[0], -away[1], -away[2])
        if axis[0] == 0.0 and axis[1] == 0.0 and axis[2] == 0.0:
            axis = center_axis(parts, a, b, r, at)
        outcome, d, q, n = pair_distance(parts, a, b, r, at, axis, best)
        counts = outcome == OVERLAPPING or d < best
    elif space.turn[TURNS] > 0.0:
        outcome, d, q, n = turned_cast(parts, a, b, space.turn, o, since, best)
        counts = outcome != MISS and d <= best
    else:
        at = (at[0] + since * m[0], at[1] + since * m[1], at[2] + since * m[2])
        outcome, d, q, n = cast_pair(parts, a, b, r, at, m, best - since)
        d += since
        if outcome == AT_START and since > 0.0:
            outcome = HIT
        counts = outcome != MISS and d <= best
    return counts, _I(outcome), d, (q[0] + o[0], q[1] + o[1], q[2] + o[2]), n


@kernel(inner="parts, part_query, work_space, f8, vec3, i8")
def nearby(parts, query, space, best, y, turns):
    """(found, status, distance, point, normal) of a place of the patch that is nearer than `best`, by projections onto patch
    and part in turn from a point y: an upper bound, most often the least distance itself. result[PLACE]: where."""
    u, v, found, radius = 0.5, 0.5, False, parts.reals[query.b, RADIUS]
    p, n = y, (0.0, 0.0, 0.0)
    for _ in range(turns):
        outcome, u, v, x, far, away = foot_and_back(parts, query, space, u, v, y)
        if outcome == OVERLAPPING:
            space.result[PLACE], space.result[PLACE + 1] = u, v
            return True, _I(OVERLAPPING), 0.0, x, (0.0, 0.0, 0.0)
        if outcome != SEPARATED:
            break
        if far < best:
            found, best, p, n = True, far, x, away
            space.result[PLACE], space.result[PLACE + 1] = u, v
        # Of what is rounded, the core's point.
        far += radius
        y = (x[0] + far * away[0], x[1] + far * away[1], x[2] + far * away[2])
    return found, _I(SEPARATED), best, p, n


@device
def middle_of(parts, query):
    """Where the middle of a part is."""
    b = query.b
    return transform(query.r, query.t, (parts.reals[b, CENTER], parts.reals[b, CENTER + 1], parts.reals[b, CENTER + 2]))


@kernel(inner="parts, part_query, work_space, f8")
def patch_bound(parts, query, space, best):
    """A distance that some place of the patch in `space` is within, if that is less than `best`; else `best`."""
    zero = (0.0, 0.0, 0.0)
    counts, outcome, d, p, n = piece_query(parts, query, space, 0.0, 0.0, 1.0, best, 0.0, zero)
    if not counts or outcome != SEPARATED:
        return best
    y = (p[0] + d * n[0], p[1] + d * n[1], p[2] + d * n[2])
    return nearby(parts, query, space, best, y, _I(1))[2]


@kernel(inner="parts, part_query, work_space, f8")
def patch_query(parts, query, space, best):
    """(found, status, distance or time, point, normal) of a part and the patch in `space`. Only what is nearer or earlier than
    `best` counts. result[PLACE]: the middle of the piece that was found."""
    mode, corners, pieces = query.mode, space.corners, space.pieces
    zero = (0.0, 0.0, 0.0)
    size = patch_size(corners)
    off = 0.25 * twist(corners)
    # The time of a linear cast is made exact by distances.
    turns = mode == CAST and space.turn[TURNS] > 0.0
    flat = (CAST_FLAT if mode == CAST and not turns else PATCH_FLAT) * size
    # One with rotation ends at a gap that is a part of the sizes: of what turns, not of patches that are far larger.
    widest = PIECE_WIDEST * parts.reals[query.b, BOUND] if turns else math.inf
    found, status, p, n = False, _I(SEPARATED), zero, zero
    early = 0.0
    if mode == CAST:
        way = math.sqrt(query.m[0] * query.m[0] + query.m[1] * query.m[1] + query.m[2] * query.m[2])
        if turns:
            # Rounded off by how far turning moves its points in half the window.
            way += 2.0 * (parts.reals[query.b, RADIUS] - space.turn[OWN_RADIUS])
        early = CAST_EARLY * size / way if way > 0.0 else 0.0
    counts, outcome, value, q, away = piece_query(parts, query, space, 0.0, 0.0, 1.0, best, 0.0, zero)
    if not counts:
        return False, _I(UNCONVERGED if mode == DISTANCE and outcome == UNCONVERGED else SEPARATED), best, p, n
    # Below `bound` there is something on the patch; nothing at or beyond it, or nearer by less than `room`, is looked at.
    bound, room = best, 0.0
    if mode == DISTANCE:
        own = middle_of(parts, query)
        if outcome == SEPARATED:
            far = value + parts.reals[query.b, RADIUS]
            own = (q[0] + far * away[0], q[1] + far * away[1], q[2] + far * away[2])
        found, status, bound, p, n = nearby(parts, query, space, best, own, _I(BOUND_TURNS))
        if status == OVERLAPPING:
            return found, status, bound, p, n
        if found:
            # Of a flat patch nothing is left out.
            room = min(flat, off)
    pieces[0, 0], pieces[0, 1], pieces[0, SIDE_OF], pieces[0, VALUE] = 0.0, 0.0, 1.0, value
    depth = 1
    while depth > 0:
        depth -= 1
        x, y, w, value = pieces[depth, 0], pieces[depth, 1], pieces[depth, SIDE_OF], pieces[depth, VALUE]
        if mode > GATHER and (value > bound or (found and value >= bound - room)):
            continue
        last = (off * w * w <= flat and size * w <= widest) or w <= PATCH_LEAST
        middle, since = 0.5 * w, 0.0
        if mode == CAST:
            # Not before it touches what holds the piece; a little earlier, so as not to begin in touch.
            since = max(value - early, 0.0)
        if (mode <= GATHER or (mode == DISTANCE and value == 0.0 and not found)) and not last:
            # Along a, then along b.
            last = line_met(parts, query, space, x, y + middle, x + w, y + middle)
            if last and mode == DISTANCE:
                p = line_point(parts, query, space, x, y + middle, x + w, y + middle)
            if not last:
                last = line_met(parts, query, space, x + middle, y, x + middle, y + w)
                if last and mode == DISTANCE:
                    p = line_point(parts, query, space, x + middle, y, x + middle, y + w)
            if last and mode == DISTANCE:
                space.result[PLACE], space.result[PLACE + 1] = x + middle, y + middle
                return True, _I(OVERLAPPING), 0.0, p, zero
            value = np.float64(OVERLAPPING) if mode <= GATHER else 0.0
        if last:
            if mode <= GATHER:
                space.result[PLACE], space.result[PLACE + 1] = x + middle, y + middle
                return True, _I(value), 0.0, patch_point(corners, x + middle, y + middle), zero
            counts, outcome, value, q, away = piece_query(parts, query, space, x, y, w, bound - room, since, n)
            if counts:
                space.result[PLACE], space.result[PLACE + 1] = x + middle, y + middle
            if mode == DISTANCE and outcome == OVERLAPPING:
                return True, outcome, 0.0, q, zero
            # What begins in touch with a piece may still be apart from the patch.
            touch = mode == CAST and counts and outcome == AT_START
            if not (touch and off * w * w > PATCH_FLAT * size and w > PATCH_LEAST):
                if counts:
                    found, status, bound, p, n = True, outcome, value, q, away
                continue
        if mode == DISTANCE:
            # Some point of the patch is this near.
            least = (value + off * w * w) * (1.0 + PATCH_FLAT)
            if least < bound:
                found, bound, room = False, least, 0.0
        first = depth
        for k in range(4):
            i, j = x + (k & 1) * middle, y + (k >> 1) * middle
            counts, outcome, value, q, away = piece_query(parts, query, space, i, j, middle, bound - room, since, n)
            if mode == DISTANCE and not counts and outcome == UNCONVERGED and not found:
                # It may be nearer than it seems.
                status = _I(UNCONVERGED)
            if not counts:
                continue
            # The nearest on top.
            at = depth
            while at > first and pieces[at - 1, VALUE] < value:
                for c in range(4):
                    pieces[at, c] = pieces[at - 1, c]
                at -= 1
            pieces[at, 0], pieces[at, 1], pieces[at, SIDE_OF], pieces[at, VALUE] = i, j, middle, value
            depth += 1
    if not found:
        return False, status, best, p, n
    return True, status, bound, p, n
