"""Rays against a field: along the ray, how high it is over the ground is linear within each triangle, so where it enters and
leaves the ground are sign changes of it.

The ray is cut at the lines of the grid and at the diagonals. Its side (above, inside, below, or beside the ground) at the end
of one piece is its side at the begin of the next, so that no roundoff lets it slip through an edge or a vertex. Nodes of the
tree that it passes above or below are passed over as a whole. Everything is in the grid's frame, x and y in cells.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.bvh.height_tree import (
    BOTTOM,
    DEPTH,
    SPACING_X,
    SPACING_Y,
    TOP,
    cell_corners,
    is_there,
    node_index,
    node_range,
    node_rectangle,
    triangle_there,
)
from thud.gates import unit
from thud.heightfield.cells import clamped
from thud.heightfield.tolerances import FIELD_ROOM, RAY_LINE, RAY_START
from thud.math.pose import load_rotation, load_translation, rotate, unrotate
from thud.math.vec3 import load3, sub
from thud.pairing.rows import row_of
from thud.results import RayCrossings, RayHits
from thud.shapes.height_field import HeightField

# Sides: of the ground and where there is none; at the begin of a ray that starts over the field; after a node was passed over.
BELOW, INSIDE, ABOVE, BESIDE, UNKNOWN, PASSED = -1, 0, 1, 2, 3, 4

# What a piece of the ray begins at: a line of the grid across x, one across y, a diagonal.
ACROSS_X, ACROSS_Y, DIAGONAL = 0, 1, 2

# Columns of a crossing: distance, outward normal, triangle.
ALONG, OUTWARD, TRIANGLE = 0, 1, 4
CROSSING = 5

#: Crossings of a ray that there is room for at first (a count).
_ROOM = 16

#: Level of the tree that a ray is followed on first: nodes of 16 cells a side.
_FIRST_LEVEL = 2

#: Rows that are worth a hand-over to another thread.
_ROWS = 256


class Ray(NamedTuple):
    """A ray in the grid's frame: where it starts and how it goes along u and v (x and y in cells) and z."""

    u: float
    v: float
    z: float
    du: float
    dv: float
    dz: float


@device
def add_crossing(events, count, t, normal, triangle):
    """Note a crossing, if there is room. Returns their number."""
    if count < events.shape[0]:
        events[count, ALONG], events[count, TRIANGLE] = t, np.float64(triangle)
        events[count, OUTWARD], events[count, OUTWARD + 1], events[count, OUTWARD + 2] = normal
    return count + 1


@device
def wall_normal(grid, ray, axis, k, leaving):
    """Unit outward normal of the wall of a triangle k that the ray enters, or leaves."""
    if axis == DIAGONAL:
        x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
        length = math.sqrt(x * x + y * y)
        s = 1.0 if k == 1 else -1.0
        return s * y / length, -s * x / length, 0.0
    s = 1.0 if leaving else -1.0
    if axis == ACROSS_X:
        return math.copysign(s, s * ray.du), 0.0, 0.0
    return 0.0, math.copysign(s, s * ray.dv), 0.0


@device
def side_of(f, deep):
    """Side of a height f over the surface."""
    return ABOVE if f > 0.0 else (BELOW if f < -deep else INSIDE)


@device
def crossing_time(ta, tb, f, slope):
    """When a height that is f at ta and changes by `slope` is 0, within [ta, tb]."""
    t = ta - f / slope if slope != 0.0 else ta
    return min(max(t, ta), tb) if t == t else ta


@kernel(inner="height_grid, Tuple((f8, f8, f8, f8, f8, f8)), UniTuple(f8, 4), i8, i8, i8, f8, f8, i8, i8, i8, f8, f8[:,::1]")
def ray_piece(grid, numbers, corners, j, i, k, ta, tb, axis, side, count, start_room, events):
    """One piece [ta, tb] of the ray, over triangle k of cell [j, i], which begins at a line `axis` and from `side`.

    Returns (side at its end, number of crossings)."""
    ray = Ray(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])
    number = 2 * (j * grid.columns + i) + k
    if not is_there(corners, k):
        if side == INSIDE:
            # Out of the triangle before, of which this line is a wall.
            before, left = number ^ 1, 1 - k
            if axis == ACROSS_X:
                before, left = 2 * (j * grid.columns + (i - 1 if ray.du > 0.0 else i + 1)), 0 if ray.du > 0.0 else 1
                before += left
            elif axis == ACROSS_Y:
                left = 1 if ray.dv > 0.0 else 0
                before = 2 * ((j - 1 if ray.dv > 0.0 else j + 1) * grid.columns + i) + left
            count = add_crossing(events, count, ta, wall_normal(grid, ray, axis, left, True), before)
        return BESIDE, count
    h00, h10, h01, h11 = corners
    # Slopes a cell.
    a, b = (h10 - h00, h11 - h10) if k == 0 else (h11 - h01, h01 - h00)
    u, v = min(max(ray.u + ta * ray.du - i, 0.0), 1.0), min(max(ray.v + ta * ray.dv - j, 0.0), 1.0)
    fa = ray.z + ta * ray.dz - (h00 + a * u + b * v)
    slope = ray.dz - (a * ray.du + b * ray.dv)
    fb, deep = fa + slope * (tb - ta), grid.numbers[DEPTH]
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    up = (-a / x, -b / y, 1.0)
    length = math.sqrt(up[0] * up[0] + up[1] * up[1] + 1.0)
    up = (up[0] / length, up[1] / length, 1.0 / length)
    end = side_of(fb, deep)
    if side == UNKNOWN:
        side = side_of(fa, deep)
        if abs(fa) <= start_room:
            # It starts on the surface, which is a crossing.
            return end, add_crossing(events, count, ta, up, number)
        if abs(fa + deep) <= start_room:
            return end, add_crossing(events, count, ta, (-up[0], -up[1], -up[2]), number)
    elif side in (BESIDE, PASSED):
        begin = side_of(fa, deep)
        if begin == INSIDE:
            wall = side == BESIDE
            if not wall:
                # From a node that the ray passed over: through a wall, or through the surface within a roundoff of its edge.
                if axis == ACROSS_X:
                    wall = not triangle_there(grid, j, i - 1 if ray.du > 0.0 else i + 1, 0 if ray.du > 0.0 else 1)
                else:
                    wall = not triangle_there(grid, j - 1 if ray.dv > 0.0 else j + 1, i, 1 if ray.dv > 0.0 else 0)
            normal = wall_normal(grid, ray, axis, k, False) if wall else up
            count = add_crossing(events, count, ta, normal, number)
        side = begin
    if side > end:
        if side == ABOVE:
            count = add_crossing(events, count, crossing_time(ta, tb, fa, slope), up, number)
        if end == BELOW:
            count = add_crossing(events, count, crossing_time(ta, tb, fa + deep, slope), (-up[0], -up[1], -up[2]), number)
    elif side < end:
        if side == BELOW:
            count = add_crossing(events, count, crossing_time(ta, tb, fa + deep, slope), (-up[0], -up[1], -up[2]), number)
        if end == ABOVE:
            count = add_crossing(events, count, crossing_time(ta, tb, fa, slope), up, number)
    return end, count


@device
def line_time(start, slowness, line):
    """When a coordinate reaches a line, by one over its speed; inf if it does not move."""
    return (line - start) * slowness if slowness != 0.0 else math.inf


@device
def passes_over(corners, za, zb):
    """Whether heights from za to zb are above all four corners, none of which is a hole."""
    h00, h10, h01, h11 = corners
    z = min(za, zb)
    return z > h00 and z > h10 and z > h01 and z > h11


@device
def next_level(level, levels, node_j, node_i, j, i):
    """Level to go on with at cell [j, i], after a node: one up where that is in another parent, since the node's own had to be
    opened."""
    shift = level + 3  # a parent is 2^3 cells wide on level 0
    return level + 1 if level < levels and (i >> shift != node_i >> 1 or j >> shift != node_j >> 1) else level


@device
def slab(start, speed, size):
    """(from when, until when) a coordinate is in [0, size]; (inf, -inf) if never."""
    if speed == 0.0:
        return (-math.inf, math.inf) if 0.0 <= start <= size else (math.inf, -math.inf)
    a, b = -start / speed, (size - start) / speed
    return (a, b) if a < b else (b, a)


@device
def inside_border(start, speed, size):
    """A coordinate in cells, of a ray that does not move along it: from beyond the border by roundoff, on it."""
    if speed != 0.0:
        return start
    start = 0.0 if -RAY_LINE <= start < 0.0 else start
    return size if size < start <= size + RAY_LINE else start


@kernel(inner="height_grid, Tuple((f8, f8, f8, f8, f8, f8)), f8, f8, i8, f8, f8[:,::1]")
def upright_crossings(grid, numbers, t0, t1, side, start_room, events):
    """Crossings of a ray straight up or down. At a node or on an edge the ground of any triangle there counts."""
    u, v = numbers[0], numbers[1]
    i0, i1 = clamped(u - RAY_LINE, grid.columns), clamped(u + RAY_LINE, grid.columns)
    j0, j1 = clamped(v - RAY_LINE, grid.rows), clamped(v + RAY_LINE, grid.rows)
    for j in range(j1, j0 - 1, -1):
        for i in range(i1, i0 - 1, -1):
            corners, w = cell_corners(grid, j, i), (u - i) - (v - j)
            # The upper triangle first where it is on the diagonal.
            for k in range(1, -1, -1):
                if is_there(corners, k) and (w >= -RAY_LINE if k == 0 else w <= RAY_LINE):
                    _side, count = ray_piece(
                        grid, numbers, corners, j, i, k, t0, t1, np.int64(ACROSS_X), side, np.int64(0), start_room, events
                    )
                    return count
    return np.int64(0)


@kernel(inner="height_grid, vec3, vec3, f8, i8, f8[:,::1]")
def walked_crossings(grid, o, d, reach, most, events):
    """As `ray_crossings`, of the cells that the ray is in: of one on a line, those on its upper side."""
    x, y, deep = grid.numbers[SPACING_X], grid.numbers[SPACING_Y], grid.numbers[DEPTH]
    u = inside_border(o[0] / x, d[0], np.float64(grid.columns))
    v = inside_border(o[1] / y, d[1], np.float64(grid.rows))
    ray = Ray(u, v, o[2], d[0] / x, d[1] / y, d[2])
    numbers = (ray.u, ray.v, ray.z, ray.du, ray.dv, ray.dz)
    # Over the field from t0 to t1, where it may also be too high or too low for the rest of its way.
    a, b = slab(ray.u, ray.du, np.float64(grid.columns))
    c, e = slab(ray.v, ray.dv, np.float64(grid.rows))
    t0, t1 = max(a, c), min(b, e)
    axis, out_axis = ACROSS_X if a >= c else ACROSS_Y, ACROSS_X if b <= e else ACROSS_Y
    if not t0 <= t1 or t1 < 0.0 or t0 > reach:
        return 0
    side = BESIDE
    if t0 < 0.0:
        t0, side = 0.0, UNKNOWN
    top, bottom = grid.numbers[TOP], grid.numbers[BOTTOM]
    room = FIELD_ROOM * (abs(ray.z) + top - bottom + x + y)
    start_room = RAY_START * (top - bottom + x + y)
    leaves = True
    if ray.dz != 0.0:
        # Above and below all, by more than roundoff, nothing happens.
        high, low = (top + room - ray.z) / ray.dz, (bottom - deep - room - ray.z) / ray.dz
        enter, leave = (high, low) if ray.dz < 0.0 else (low, high)
        if enter > t0:
            t0, side = enter, ABOVE if ray.dz < 0.0 else BELOW
        if leave < t1:
            t1, leaves = leave, False
        if not t1 < math.inf:
            # Straight down, into ground without end.
            t1, leaves = max((bottom - room - x - ray.z) / ray.dz, t0), False
    if reach < t1:
        t1, leaves = reach, False
    if not t0 <= t1:
        return 0
    if ray.du == 0.0 and ray.dv == 0.0:
        return upright_crossings(grid, numbers, t0, t1, side, start_room, events)
    slow_u, slow_v = 1.0 / ray.du if ray.du != 0.0 else 0.0, 1.0 / ray.dv if ray.dv != 0.0 else 0.0
    step_i, step_j = np.int64(1) if ray.du > 0.0 else np.int64(-1), np.int64(1) if ray.dv > 0.0 else np.int64(-1)
    i, j = clamped(ray.u + t0 * ray.du, grid.columns), clamped(ray.v + t0 * ray.dv, grid.rows)
    levels = np.int64(grid.levels.shape[0] - 1)
    # Between the highest and the lowest place of all there is something in every large node.
    count, t, level = np.int64(0), t0, min(np.int64(_FIRST_LEVEL), levels)
    while True:
        node_i, node_j = i >> (level + 2), j >> (level + 2)
        i0, i1, j0, j1 = node_rectangle(grid, level, node_j, node_i)
        tx = line_time(ray.u, slow_u, np.float64(i1 if ray.du > 0.0 else i0))
        ty = line_time(ray.v, slow_v, np.float64(j1 if ray.dv > 0.0 else j0))
        te = max(min(min(tx, ty), t1), t)
        low, high = node_range(grid, node_index(grid, level, node_j, node_i))
        za, zb = ray.z + t * ray.dz, ray.z + te * ray.dz
        over, under = min(za, zb) > high, max(za, zb) < low - deep
        if (over or under) and side != INSIDE:
            if side != BESIDE or low <= high:
                side = PASSED
            # From inside, or where all are holes, the side of the next piece is not known.
            if low > high:
                side = BESIDE
        elif level > 0:
            level -= 1
            continue
        else:
            # Cell by cell through the block.
            while True:
                corners = cell_corners(grid, j, i)
                tx = line_time(ray.u, slow_u, np.float64(i + 1 if ray.du > 0.0 else i))
                ty = line_time(ray.v, slow_v, np.float64(j + 1 if ray.dv > 0.0 else j))
                te = max(min(min(tx, ty), t1), t)
                wa = (ray.u + t * ray.du - i) - (ray.v + t * ray.dv - j)
                wb = (ray.u + te * ray.du - i) - (ray.v + te * ray.dv - j)
                if side in (ABOVE, PASSED) and passes_over(corners, ray.z + t * ray.dz, ray.z + te * ray.dz):
                    side = np.int64(PASSED)
                elif (wa > 0.0 and wb < 0.0) or (wa < 0.0 and wb > 0.0):
                    middle = min(max(t + wa / (wa - wb) * (te - t), t), te)
                    k = np.int64(0) if wa > 0.0 else np.int64(1)
                    side, count = ray_piece(grid, numbers, corners, j, i, k, t, middle, axis, side, count, start_room, events)
                    if count < most:
                        side, count = ray_piece(
                            grid, numbers, corners, j, i, 1 - k, middle, te, np.int64(DIAGONAL), side, count, start_room, events
                        )
                else:
                    k = np.int64(0) if wa + wb > 0.0 else np.int64(1)
                    if wa + wb == 0.0 and not is_there(corners, 1):
                        k = np.int64(0)
                    side, count = ray_piece(grid, numbers, corners, j, i, k, t, te, axis, side, count, start_room, events)
                if count >= most:
                    return count
                t = te
                if te >= t1 or (tx <= te and ty <= te):
                    break
                if tx < ty:
                    i, axis = i + step_i, np.int64(ACROSS_X)
                else:
                    j, axis = j + step_j, np.int64(ACROSS_Y)
                if i < i0 or i >= i1 or j < j0 or j >= j1:
                    break
            if te < t1 and tx <= te and ty <= te:
                # Through a vertex, to the cell beyond it.
                i, j, axis = i + step_i, j + step_j, np.int64(ACROSS_X)
            if te >= t1 or i < 0 or j < 0 or i >= grid.columns or j >= grid.rows:
                break
            level = next_level(level, levels, node_j, node_i, j, i)
            continue
        t = te
        if te >= t1:
            break
        # On to the next node: across one line, or through a corner.
        if tx <= te:
            i, axis = (i1 if ray.du > 0.0 else i0 - 1), np.int64(ACROSS_X)
        if ty <= te:
            j = j1 if ray.dv > 0.0 else j0 - 1
            if tx > te:
                axis = np.int64(ACROSS_Y)
        if tx > te:
            i = min(max(clamped(ray.u + te * ray.du, grid.columns), i0), i1 - 1)
        if ty > te:
            j = min(max(clamped(ray.v + te * ray.dv, grid.rows), j0), j1 - 1)
        if i < 0 or j < 0 or i >= grid.columns or j >= grid.rows:
            break
        level = next_level(level, levels, node_j, node_i, j, i)
    if side == INSIDE and leaves:
        last = 2 * (min(max(j, 0), grid.rows - 1) * grid.columns + min(max(i, 0), grid.columns - 1))
        k = np.int64(0) if (ray.du > 0.0 if out_axis == ACROSS_X else ray.dv < 0.0) else np.int64(1)
        count = add_crossing(events, count, t1, wall_normal(grid, ray, np.int64(out_axis), k, True), last + k)
    return count


@kernel(inner="height_grid, vec3, vec3, f8, i8, f8[:,::1]")
def ray_crossings(grid, o, d, reach, most, events):
    """Crossings of a ray with the surface of the ground, in order, up to `most`; d has unit length. Returns their number; those
    that there is room for are in `events`. Of a ray along a line of the grid, not upright: those on the side where it meets
    ground first."""
    found = walked_crossings(grid, o, d, reach, most, events)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    if (d[0] == 0.0) == (d[1] == 0.0):
        return found
    start, count = (o[0] / x, grid.columns) if d[0] == 0.0 else (o[1] / y, grid.rows)
    line = np.floor(start + 0.5)
    if abs(start - line) > RAY_LINE or line <= 0.0 or line >= count:
        return found
    # The other side of the line.
    near = events[0, ALONG] if found > 0 else math.inf
    start = line - RAY_LINE if start >= line else line + RAY_LINE
    beside = (start * x, o[1], o[2]) if d[0] == 0.0 else (o[0], start * y, o[2])
    other = walked_crossings(grid, beside, d, reach, most, events)
    if other > 0 and events[0, ALONG] < near:
        return other
    return walked_crossings(grid, o, d, reach, most, events)


@device
def unit_direction(directions, row):
    """A direction of length 1; by the largest component first, so that no square over- or underflows."""
    d = load3(directions, row, 0)
    largest = max(abs(d[0]), max(abs(d[1]), abs(d[2])))
    d = (d[0] / largest, d[1] / largest, d[2] / largest)
    length = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    return d[0] / length, d[1] / length, d[2] / length


@device
def in_grid(grid, r, t, o, d):
    """(origin, direction) of a ray of the world in the frame of a grid at pose (R, t)."""
    o, d = unrotate(r, sub(o, t)), unrotate(r, d)
    return (o[0] - grid.origin[0], o[1] - grid.origin[1], o[2] - grid.origin[2]), d


@kernel("i8, i8, height_grid, f8[:,::1], f8[:,::1], f8[:,::1], f8, f8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def field_ray_rows(start, stop, grid, origins, directions, poses, reach, distance_out, point_out, normal_out, triangle_out):
    """First hits of rays in the world."""
    events, most = np.empty((1, CROSSING)), np.int64(1)
    for row in range(start, stop):
        row_p = row_of(poses, row)
        r, t = load_rotation(poses, row_p), load_translation(poses, row_p)
        origin, along = load3(origins, row_of(origins, row), 0), unit_direction(directions, row_of(directions, row))
        o, d = in_grid(grid, r, t, origin, along)
        if ray_crossings(grid, o, d, reach, most, events) == 0:
            distance_out[row], triangle_out[row] = math.inf, -1
            for k in range(3):
                point_out[row, k] = normal_out[row, k] = 0.0
            continue
        distance = events[0, ALONG]
        n = rotate(r, (events[0, OUTWARD], events[0, OUTWARD + 1], events[0, OUTWARD + 2]))
        distance_out[row], triangle_out[row] = distance, np.int64(events[0, TRIANGLE])
        for k in range(3):
            point_out[row, k], normal_out[row, k] = origin[k] + distance * along[k], n[k]


@kernel("i8, i8, height_grid, f8[:,::1], f8[:,::1], f8[:,::1], f8, i8[::1], f8[:,:,::1]")
def field_crossing_rows(start, stop, grid, origins, directions, poses, reach, count_out, table_out):
    """All crossings of rays, in the grid's frame, as far as they fit: count_out says how many there are."""
    events = np.empty((table_out.shape[1], CROSSING))
    for row in range(start, stop):
        row_p = row_of(poses, row)
        r, t = load_rotation(poses, row_p), load_translation(poses, row_p)
        origin, along = load3(origins, row_of(origins, row), 0), unit_direction(directions, row_of(directions, row))
        o, d = in_grid(grid, r, t, origin, along)
        found = ray_crossings(grid, o, d, reach, np.int64(4611686018427387904), events)
        count_out[row] = found
        for k in range(min(found, events.shape[0])):
            for column in range(CROSSING):
                table_out[row, k, column] = events[k, column]


def raycast(
    field: HeightField, origins: Floats, directions: Floats, rows: Floats, count: int, *, reach: float, any_hit: bool,
    threads: int | None,
) -> RayHits:  # fmt: skip
    """First hits on the surface of the ground, from either side; `triangle` is that whose top, underside or wall was hit."""
    found, normal, triangle = np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64)
    point = np.empty((count, 3))
    arguments = (field.grid, origins, directions, rows, reach, found, point, normal, triangle)
    run_rows(field_ray_rows, count, threads, *arguments, rows_per_chunk=_ROWS)
    return RayHits(found, point, normal, triangle)


def raycast_all(
    field: HeightField, origins: Floats, directions: Floats, rows: Floats, count: int, *, reach: float, threads: int | None
) -> RayCrossings:
    """All crossings with the surface of the ground, where a ray enters it and where it leaves."""
    along = unit(directions)
    counts, room = np.zeros(count, dtype=np.int64), _ROOM
    while True:
        table = np.empty((count, room, CROSSING))
        arguments = (field.grid, origins, directions, rows, reach, counts, table)
        run_rows(field_crossing_rows, count, threads, *arguments, rows_per_chunk=_ROWS)
        if not len(counts) or counts.max() <= room:
            break
        room = int(counts.max())
    row = np.repeat(np.arange(count), counts)
    found = table[np.arange(room) < counts[:, None]]
    distance = np.ascontiguousarray(found[:, ALONG])
    turn = (rows if len(rows) == 1 else rows[row])[:, :9].reshape(-1, 3, 3)
    normal = np.einsum("nij,nj->ni", np.broadcast_to(turn, (len(row), 3, 3)), found[:, OUTWARD : OUTWARD + 3])
    origin = origins if len(origins) == 1 else origins[row]
    direction = along if len(along) == 1 else along[row]
    point = origin + distance[:, None] * direction
    return RayCrossings(row, distance, point, normal, found[:, TRIANGLE].astype(np.int64))
