"""Walks of one convex part (part 0) down the tree of a field: does it meet the ground, how near is it, when does it first
touch?

The box of the part gives a range of cells; the tree is entered at the level where that range is two nodes wide, and left where
a node's heights are out of reach. What is below a triangle is a convex prism, so the ground is a union of such: met if any is
met, as far as the nearest, touched as early as the first. Walls between neighbours are inside the ground and can be neither
nearest nor first. Everything is in the grid's frame; (R, t) is the part in it; the normal points from the ground to the part.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, MISS, OVERLAPPING, SEPARATED
from thud.bvh.height_tree import (
    BOTTOM,
    DEPTH,
    SPACING_X,
    SPACING_Y,
    TOP,
    is_there,
    node_code,
    node_index,
    node_of,
    node_range,
    node_rectangle,
    sample,
    slopes,
)
from thud.convex.casts.linear_cast import cast_pair, earlier
from thud.convex.convex_pair import pair_distance, pair_intersects
from thud.convex.gjk import center_axis
from thud.geometry.triangle import point_triangle_called
from thud.heightfield.cells import block_cells, cell_range, child_range, clamped, in_ground, level_range, start_level
from thud.heightfield.objects import PRISM, SHAPE
from thud.heightfield.prism import (
    box_reach,
    floor_below,
    heights_of,
    lowest_point,
    set_prism,
    triangle_points,
    widened,
)
from thud.heightfield.tolerances import FEW_CELLS, FIELD_ROOM, NEAR_ROOM
from thud.math.pose import transform
from thud.math.vec3 import dot, norm2, sub
from thud.shapes.packed import BOUND, CENTER, KIND
from thud.shapes.shape import SPHERE

_A, _B = np.int64(PRISM), np.int64(SHAPE)


# What bounds a part ------------------------------------------------------------------------------------------------------


@device
def part_room(grid, parts, t, box):
    """What counts as touching, and some more, for a part with this box."""
    size = box_reach(box) + abs(t[0]) + abs(t[1]) + abs(t[2]) + parts.reals[SHAPE, BOUND]
    size += grid.numbers[SPACING_X] + grid.numbers[SPACING_Y] + grid.numbers[TOP] - grid.numbers[BOTTOM]
    return size


@kernel(inner="height_grid, UniTuple(f8, 6)")
def box_may_meet(grid, box):
    """Whether a box may meet the ground, by the nodes of the level where it is at most two nodes wide."""
    if box[4] > grid.numbers[TOP] or box[5] < grid.numbers[BOTTOM] - grid.numbers[DEPTH]:
        return False
    cells = cell_range(grid, box)
    if cells[0] > cells[1]:
        return False
    level = start_level(grid, cells)
    i0, i1, j0, j1 = level_range(cells, level)
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            low, high = node_range(grid, node_index(grid, level, j, i))
            if high >= box[4] and low - grid.numbers[DEPTH] <= box[5]:
                return True
    return False


# Does it meet? ------------------------------------------------------------------------------------------------------------


@device
def over_plane(p, x, y, height, gx, gy):
    """How far p is above (upright) the plane through (x, y, height) with the slopes gx, gy."""
    return p[2] - height - gx * (p[0] - x) - gy * (p[1] - y)


@device
def part_center(parts, r, t):
    """The middle of part 0."""
    return transform(r, t, (parts.reals[SHAPE, CENTER], parts.reals[SHAPE, CENTER + 1], parts.reals[SHAPE, CENTER + 2]))


@device
def reaches_up(points, n):
    """How far a triangle reaches along n; so far does the ground below it, if n points upwards."""
    return max(dot(n, points[0]), max(dot(n, points[1]), dot(n, points[2])))


@device
def center_gap(parts, r, t, center, points):
    """(lower bound of the distance of the part and the ground below a triangle, the unit normal that shows it, how low the
    part is along it): along the line from the triangle's nearest point to the middle of the part. -inf if that does not lead
    up."""
    _d2, q = point_triangle_called(center, points[0], points[1], points[2])
    n = sub(center, q)
    length = math.sqrt(norm2(n))
    if not n[2] > 0.0:
        return -math.inf, n, 0.0
    n = (n[0] / length, n[1] / length, n[2] / length)
    low = dot(n, lowest_point(parts, r, t, n))
    return low - dot(n, q), n, low


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), f8, UniTuple(f8, 4), i8, i8, i8, vec3, f8")
def triangle_meets(grid, parts, r, t, box, room, corners, j, i, k, n, low_n):
    """(status of the part and the ground below triangle k of cell [j, i], a normal that parts them, how low the part is along
    it). `box` is the part's, wider by `room`; the normal and height given are tried first."""
    low, high = heights_of(corners, k)
    deep = grid.numbers[DEPTH]
    if high < box[4] or low - deep > box[5]:
        return SEPARATED, n, low_n
    points = triangle_points(grid, corners, j, i, k)
    if n[2] > 0.0 and low_n - reaches_up(points, n) > room:
        return SEPARATED, n, low_n
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    gx, gy = slopes(grid, corners, k)
    blur = room * (1.0 + abs(gx) + abs(gy))
    p = lowest_point(parts, r, t, (-gx, -gy, 1.0))
    above = over_plane(p, x * i, y * j, corners[0], gx, gy)
    if above > blur:
        return SEPARATED, n, low_n
    if above <= 0.0 and above >= -deep:
        # A point of the part in the ground: no search is needed.
        u, v = p[0] / x - i, p[1] / y - j
        if 0.0 <= u <= 1.0 and 0.0 <= v <= 1.0 and (u >= v if k == 0 else v >= u):
            return OVERLAPPING, n, low_n
    if deep < math.inf:
        q = lowest_point(parts, r, t, (gx, gy, -1.0))
        if over_plane(q, x * i, y * j, corners[0], gx, gy) < -deep - blur:
            return SEPARATED, n, low_n
    set_prism(parts, grid, points, floor_below(grid, min(low, box[4])))
    status, axis = pair_intersects(parts, _A, _B, r, t, center_axis(parts, _A, _B, r, t))
    if status == SEPARATED and axis[2] < 0.0:
        # What parts them may part the neighbours too.
        length = math.sqrt(norm2(axis))
        n = (-axis[0] / length, -axis[1] / length, -axis[2] / length)
        low_n = dot(n, lowest_point(parts, r, t, n))
    return status, n, low_n


@device
def node_reach(grid, level, j, i, n):
    """How far the ground below a node reaches along n, which points upwards; -inf if that is all holes."""
    _low, high = node_range(grid, node_index(grid, level, j, i))
    i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    return n[0] * x * (i1 if n[0] > 0.0 else i0) + n[1] * y * (j1 if n[1] > 0.0 else j0) + n[2] * high


@kernel(inner="height_grid, i8, i8, i8, parts, mat3, vec3, vec3")
def axis_gap(grid, level, j, i, parts, r, t, center):
    """The same along the line from the ground's nearest point to the middle of the part: what is compact is held by it closely.
    Not positive where the middle is in the node's block."""
    low, high = node_range(grid, node_index(grid, level, j, i))
    i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    q = (
        min(max(center[0], x * i0), x * i1), min(max(center[1], y * j0), y * j1),
        min(max(center[2], low - grid.numbers[DEPTH]), high),
    )  # fmt: skip
    n = (center[0] - q[0], center[1] - q[1], center[2] - q[2])
    length = math.sqrt(norm2(n))
    if not length > 0.0:
        return 0.0
    p = lowest_point(parts, r, t, n)
    return (n[0] * (p[0] - q[0]) + n[1] * (p[1] - q[1]) + n[2] * (p[2] - q[2])) / length


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), i8[::1], i8, i8[::1]")
def meets_part(grid, parts, r, t, box, stack, all_hits, found_out):
    """(status of the part and the ground, number of triangles that it meets the ground below). Stops at the first unless
    `all_hits`; their numbers go to found_out as far as it reaches."""
    room = FIELD_ROOM * part_room(grid, parts, t, box)
    box = widened(box, room)
    deep = grid.numbers[DEPTH]
    if box[4] > grid.numbers[TOP] or box[5] < grid.numbers[BOTTOM] - deep:
        return SEPARATED, 0
    cells = cell_range(grid, box)
    if cells[0] > cells[1]:
        return SEPARATED, 0
    if all_hits == 0:
        # Most that meet the ground do so with their lowest point.
        if in_ground(grid, lowest_point(parts, r, t, (0.0, 0.0, 1.0))):
            return OVERLAPPING, 1
    level = start_level(grid, cells)
    i0, i1, j0, j1 = level_range(cells, level)
    depth = 0
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            stack[depth] = node_code(level, j, i)
            depth += 1
    status, found = SEPARATED, 0
    n, low_n, center = (0.0, 0.0, 0.0), 0.0, part_center(parts, r, t)
    while depth > 0:
        depth -= 1
        level, j, i = node_of(stack[depth])
        low, high = node_range(grid, node_index(grid, level, j, i))
        if high < box[4] or low - deep > box[5]:
            continue
        # What parted the part and another piece of ground, then the line from the node to its middle.
        if n[2] > 0.0 and low_n - node_reach(grid, level, j, i, n) > room:
            continue
        i0, i1, j0, j1 = block_cells(grid, cells, j, i) if level == 0 else (cells[0], cells[0], cells[2], cells[2])
        if (level > 0 or (i1 - i0 + 1) * (j1 - j0 + 1) > FEW_CELLS) and axis_gap(grid, level, j, i, parts, r, t, center) > room:
            continue
        if level > 0:
            first, top = depth, -math.inf
            i0, i1, j0, j1 = child_range(cells, level, j, i)
            for y in range(j0, j1 + 1):
                for x in range(i0, i1 + 1):
                    stack[depth] = node_code(level - 1, y, x)
                    depth += 1
                    # The highest comes first: it is met the soonest.
                    high = node_range(grid, node_index(grid, level - 1, y, x))[1]
                    if high > top:
                        top = high
                        stack[first], stack[depth - 1] = stack[depth - 1], stack[first]
            if depth > first:
                stack[first], stack[depth - 1] = stack[depth - 1], stack[first]
            continue
        for y in range(j0, j1 + 1):
            h10, h11 = sample(grid, y, i0), sample(grid, y + 1, i0)
            for x in range(i0, i1 + 1):
                h00, h01 = h10, h11
                h10, h11 = sample(grid, y, x + 1), sample(grid, y + 1, x + 1)
                corners = (h00, h10, h01, h11)
                for k in range(2):
                    if not is_there(corners, k):
                        continue
                    outcome, n, low_n = triangle_meets(grid, parts, r, t, box, room, corners, y, x, np.int64(k), n, low_n)
                    if outcome == SEPARATED:
                        continue
                    if found < found_out.shape[0]:
                        found_out[found] = 2 * (y * grid.columns + x) + k
                    found += 1
                    if outcome == OVERLAPPING or status == SEPARATED:
                        status = outcome
                    if all_hits == 0 and outcome == OVERLAPPING:
                        return OVERLAPPING, found
    return status, found


# How near is it? ----------------------------------------------------------------------------------------------------------


@device
def gap(low, high, other_low, other_high):
    """Distance of two intervals."""
    return max(0.0, max(other_low - high, low - other_high))


@device
def box_gap2(box, x0, x1, y0, y1, low, high):
    """Squared distance of a box and a block of ground."""
    x, y, z = gap(box[0], box[1], x0, x1), gap(box[2], box[3], y0, y1), gap(box[4], box[5], low, high)
    return x * x + y * y + z * z


@device
def ball_gap(center, radius, x0, x1, y0, y1, low, high):
    """Distance of a ball and a block of ground, 0 or less where they meet."""
    x, y, z = gap(center[0], center[0], x0, x1), gap(center[1], center[1], y0, y1), gap(center[2], center[2], low, high)
    return math.sqrt(x * x + y * y + z * z) - radius


@device
def node_gap(grid, level, j, i, box, center, radius):
    """Lower bound of the distance of a part (box, and ball about it) and the ground below a node; inf if that is all holes."""
    low, high = node_range(grid, node_index(grid, level, j, i))
    if low > high:
        return math.inf
    i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    low -= grid.numbers[DEPTH]
    bound = math.sqrt(box_gap2(box, x * i0, x * i1, y * j0, y * j1, low, high))
    return max(bound, ball_gap(center, radius, x * i0, x * i1, y * j0, y * j1, low, high))


@device
def push_by_bound(space, depth, first, code, bound):
    """Put a node on the stack, among those from `first` on that with the least bound on top. Returns the depth."""
    k = depth
    while k > first and space.bounds[k - 1] < bound:
        space.stack[k], space.bounds[k] = space.stack[k - 1], space.bounds[k - 1]
        k -= 1
    space.stack[k], space.bounds[k] = code, bound
    return depth + 1


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), f8, f8, UniTuple(f8, 4), i8, i8, i8")
def triangle_distance(grid, parts, r, t, box, room, best, corners, j, i, k):
    """(status, distance, point of the ground, normal) of the part and the ground below a triangle; inf where it is farther than
    `best`."""
    zero = (0.0, 0.0, 0.0)
    low, high = heights_of(corners, k)
    x, y, deep = grid.numbers[SPACING_X], grid.numbers[SPACING_Y], grid.numbers[DEPTH]
    far = best + room
    if box_gap2(box, x * i, x * (i + 1), y * j, y * (j + 1), low - deep, high) > far * far:
        return SEPARATED, math.inf, zero, zero
    gx, gy = slopes(grid, corners, k)
    length = math.sqrt(1.0 + gx * gx + gy * gy)
    p = lowest_point(parts, r, t, (-gx, -gy, 1.0))
    if over_plane(p, x * i, y * j, corners[0], gx, gy) > far * length:
        return SEPARATED, math.inf, zero, zero
    points = triangle_points(grid, corners, j, i, k)
    if parts.ints[SHAPE, KIND] == SPHERE:
        # The nearest point of the triangle to the middle says it all, unless it is on a wall.
        bound, n, _low = center_gap(parts, r, t, part_center(parts, r, t), points)
        if bound > far:
            return SEPARATED, bound, zero, n
    set_prism(parts, grid, points, floor_below(grid, min(low, box[4])))
    axis = center_axis(parts, _A, _B, r, t)
    return pair_distance(parts, _A, _B, r, t, axis, best)


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), f8, field_space")
def nearest_part(grid, parts, r, t, box, reach, space):
    """(status, distance, point of the ground, normal, triangle) of the part and the ground, looking no farther than `reach`;
    triangle -1 if nothing is that near."""
    zero = (0.0, 0.0, 0.0)
    room = NEAR_ROOM * part_room(grid, parts, t, box)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    center = part_center(parts, r, t)
    radius = parts.reals[SHAPE, BOUND]
    status, best, p, n, at = SEPARATED, reach, zero, zero, np.int64(-1)
    # How low the part is along the normal of the best so far; ground that does not reach up to within `best` of it is farther.
    level_n, other_n, other_low = -math.inf, zero, 0.0
    # The cell below the middle comes first: what it gives bounds the range.
    first_i, first_j = clamped(center[0] / x, grid.columns), clamped(center[1] / y, grid.rows)
    i0, i1, j0, j1 = first_i, first_i, first_j, first_j
    cells = (first_i, first_i, first_j, first_j)
    depth, begun = 0, False
    while True:
        for cell_j in range(j0, j1 + 1):
            for cell_i in range(i0, i1 + 1):
                if begun and cell_i == first_i and cell_j == first_j:
                    continue
                corners = (
                    sample(grid, cell_j, cell_i), sample(grid, cell_j, cell_i + 1),
                    sample(grid, cell_j + 1, cell_i), sample(grid, cell_j + 1, cell_i + 1),
                )  # fmt: skip
                for k in range(2):
                    if not is_there(corners, k):
                        continue
                    if n[2] > 0.0:
                        points = triangle_points(grid, corners, cell_j, cell_i, k)
                        if level_n - reaches_up(points, n) > best + room:
                            continue
                        if other_n[2] > 0.0 and other_low - reaches_up(points, other_n) > best + room:
                            continue
                    outcome, d, q, m = triangle_distance(
                        grid, parts, r, t, box, room, best, corners, cell_j, cell_i, np.int64(k)
                    )
                    if outcome == OVERLAPPING:
                        return outcome, 0.0, q, zero, 2 * (cell_j * grid.columns + cell_i) + k
                    if d < best or (d == best and at < 0 and d < math.inf):
                        status, best, p, n, at = outcome, d, q, m, 2 * (cell_j * grid.columns + cell_i) + k
                        level_n = dot(n, lowest_point(parts, r, t, n))
                    elif d < math.inf and m[2] > 0.0:
                        # What shows that this one is farther may show it of its neighbours.
                        other_n, other_low = m, dot(m, lowest_point(parts, r, t, m))
        if not begun:
            begun = True
            cells = cell_range(grid, widened(box, best + room))
            if cells[0] > cells[1]:
                break
            level = start_level(grid, cells)
            i0, i1, j0, j1 = level_range(cells, level)
            for node_j in range(j0, j1 + 1):
                for node_i in range(i0, i1 + 1):
                    bound = node_gap(grid, level, node_j, node_i, box, center, radius)
                    if bound <= best + room:
                        depth = push_by_bound(space, depth, 0, node_code(level, node_j, node_i), bound)
        # The next block that may be nearer.
        found = False
        while depth > 0 and not found:
            depth -= 1
            if space.bounds[depth] > best + room:
                continue
            level, j, i = node_of(space.stack[depth])
            if n[2] > 0.0 and level_n - node_reach(grid, level, j, i, n) > best + room:
                continue
            if level > 0:
                first = depth
                i0, i1, j0, j1 = child_range(cells, level, j, i)
                for node_j in range(j0, j1 + 1):
                    for node_i in range(i0, i1 + 1):
                        bound = node_gap(grid, level - 1, node_j, node_i, box, center, radius)
                        if bound <= best + room:
                            depth = push_by_bound(space, depth, first, node_code(level - 1, node_j, node_i), bound)
                continue
            if level == 0 and axis_gap(grid, level, j, i, parts, r, t, center) > best + room:
                continue
            # Cells beyond the best so far are left out.
            near = cell_range(grid, widened(box, best + room))
            i0, i1, j0, j1 = block_cells(grid, near, j, i)
            found = True
        if not found:
            break
    return status, best, p, n, at


# When does it first touch? ------------------------------------------------------------------------------------------------


@device
def slab_time(low, high, other_low, other_high, speed):
    """(from when, until when) an interval that moves by `speed` over the step meets one that rests; (inf, -inf) if never."""
    if speed == 0.0:
        return (0.0, math.inf) if low <= other_high and high >= other_low else (math.inf, -math.inf)
    a, b = (other_low - high) / speed, (other_high - low) / speed
    return (a, b) if a < b else (b, a)


@device
def entry_time(box, m, x0, x1, y0, y1, low, high):
    """Time from which a box that moves by m meets a block of ground; inf if never from 0 on."""
    a, b = slab_time(box[0], box[1], x0, x1, m[0])
    c, d = slab_time(box[2], box[3], y0, y1, m[1])
    e, f = slab_time(box[4], box[5], low, high, m[2])
    enter, leave = max(max(a, c), max(e, 0.0)), min(b, min(d, f))
    return enter if enter <= leave else math.inf


@device
def node_time(grid, level, j, i, box, m):
    """Time from which a moving box meets the ground below a node."""
    low, high = node_range(grid, node_index(grid, level, j, i))
    if low > high:
        return math.inf
    i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    return entry_time(box, m, x * i0, x * i1, y * j0, y * j1, low - grid.numbers[DEPTH], high)


@device
def swept_by(box, m):
    """The box of all that a box passes as it moves by m."""
    return (
        box[0] + min(m[0], 0.0), box[1] + max(m[0], 0.0), box[2] + min(m[1], 0.0), box[3] + max(m[1], 0.0),
        box[4] + min(m[2], 0.0), box[5] + max(m[2], 0.0),
    )  # fmt: skip


@kernel(inner="height_grid, UniTuple(f8, 6), vec3, f8, field_space")
def begin_sweep(grid, box, m, latest, space):
    """(number of nodes that wait, range of cells) for a walk of the blocks that a box meets while it moves by m over [0, 1], up
    to the time `latest`."""
    swept = swept_by(box, m)
    cells = cell_range(grid, swept)
    if cells[0] > cells[1] or swept[4] > grid.numbers[TOP] or swept[5] < grid.numbers[BOTTOM] - grid.numbers[DEPTH]:
        return 0, cells
    level = start_level(grid, cells)
    i0, i1, j0, j1 = level_range(cells, level)
    depth = 0
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            time = node_time(grid, level, j, i, box, m)
            if time <= latest:
                depth = push_by_bound(space, depth, 0, node_code(level, j, i), time)
    return depth, cells


@kernel(inner="height_grid, UniTuple(f8, 6), vec3, f8, UniTuple(i8, 4), i8, field_space")
def next_block(grid, box, m, latest, cells, depth, space):
    """(number of nodes that wait, the next block's range of cells); -1 nodes after the last one."""
    while depth > 0:
        depth -= 1
        if space.bounds[depth] > latest:
            continue
        level, j, i = node_of(space.stack[depth])
        if level == 0:
            return depth, block_cells(grid, cells, j, i)
        first = depth
        i0, i1, j0, j1 = child_range(cells, level, j, i)
        for y in range(j0, j1 + 1):
            for x in range(i0, i1 + 1):
                time = node_time(grid, level - 1, y, x, box, m)
                if time <= latest:
                    depth = push_by_bound(space, depth, first, node_code(level - 1, y, x), time)
    return -1, cells


@kernel(inner="height_grid, parts, mat3, vec3, vec3, UniTuple(f8, 6), f8, f8, UniTuple(f8, 4), i8, i8, i8")
def is_in_the_way(grid, parts, r, t, m, box, room, latest, corners, j, i, k):
    """Whether the ground below a triangle, written as the prism then, may meet the part as it moves by m over [0, 1], up to the
    time `latest`. `box` is the part's, wider by `room`, which is also how far its points may be from where (R, t) has them."""
    low, high = heights_of(corners, k)
    x, y, deep = grid.numbers[SPACING_X], grid.numbers[SPACING_Y], grid.numbers[DEPTH]
    if entry_time(box, m, x * i, x * (i + 1), y * j, y * (j + 1), low - deep, high) > latest:
        return False
    gx, gy = slopes(grid, corners, k)
    p = lowest_point(parts, r, t, (-gx, -gy, 1.0))
    above = over_plane(p, x * i, y * j, corners[0], gx, gy) - room * (1.0 + abs(gx) + abs(gy))
    sinks = gx * m[0] + gy * m[1] - m[2]
    if above > 0.0 and (sinks <= 0.0 or above > latest * sinks):
        return False
    set_prism(parts, grid, triangle_points(grid, corners, j, i, k), floor_below(grid, min(low, box[4] + min(m[2], 0.0))))
    return True


@kernel(inner="height_grid, parts, mat3, vec3, vec3, UniTuple(f8, 6), f8, field_space")
def cast_part(grid, parts, r, t, m, box, latest, space):
    """(status, time, point, normal) of the first contact of the ground and the part, which moves by m over [0, 1], up to the
    time `latest`."""
    room = FIELD_ROOM * (part_room(grid, parts, t, box) + abs(m[0]) + abs(m[1]) + abs(m[2]))
    box = widened(box, room)
    status, best, point, normal = MISS, math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    depth, cells = begin_sweep(grid, box, m, latest, space)
    while status != AT_START:
        depth, block = next_block(grid, box, m, min(best, latest), cells, depth, space)
        if depth < 0:
            break
        for y in range(block[2], block[3] + 1):
            for x in range(block[0], block[1] + 1):
                corners = sample(grid, y, x), sample(grid, y, x + 1), sample(grid, y + 1, x), sample(grid, y + 1, x + 1)
                for k in range(2):
                    limit = min(best, latest)
                    if not is_there(corners, k) or not is_in_the_way(
                        grid, parts, r, t, m, box, room, limit, corners, y, x, np.int64(k)
                    ):
                        continue
                    found, time, p, n = cast_pair(parts, _A, _B, r, t, m, limit)
                    if earlier(found, time, status, best):
                        status, best, point, normal = found, time, p, n
                        if status == AT_START:
                            return status, best, point, normal
    return status, best, point, normal
