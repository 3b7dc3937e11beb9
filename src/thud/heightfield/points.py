"""Points and a field: are they in the ground, and where is its surface nearest?

The surface is the triangles, their copies at the underside, and the walls at the border and at holes.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Bools, Floats
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.bvh.height_tree import (
    DEPTH,
    LEVELS,
    SPACING_X,
    SPACING_Y,
    is_there,
    node_code,
    node_index,
    node_of,
    node_range,
    node_rectangle,
    push_children,
    sample,
    triangle_there,
)
from thud.geometry.triangle import point_triangle_called
from thud.heightfield.cells import in_ground
from thud.heightfield.prism import floor_below, heights_of, triangle_points
from thud.heightfield.walk import box_gap2
from thud.math.pose import load_rotation, load_translation, transform, unrotate
from thud.math.vec3 import load3, sub
from thud.pairing.ask import check_reach
from thud.pairing.rows import row_of
from thud.results import ClosestPoints
from thud.shapes.height_field import HeightField


@device
def point_in_grid(grid, points, poses, row):
    """A point of the world in the grid's frame."""
    row_p = row_of(poses, row)
    r, t = load_rotation(poses, row_p), load_translation(poses, row_p)
    p = unrotate(r, sub(load3(points, row_of(points, row), 0), t))
    return p[0] - grid.origin[0], p[1] - grid.origin[1], p[2] - grid.origin[2]


@kernel("i8, i8, height_grid, f8[:,::1], f8[:,::1], b1[::1]")
def field_contains_rows(start, stop, grid, points, poses, inside_out):
    """Whether each point is in the ground."""
    for row in range(start, stop):
        inside_out[row] = in_ground(grid, point_in_grid(grid, points, poses, row))


@device
def near_wall(grid, p, a, b, best, q):
    """(squared distance, point) of the nearer of (best, q) and the wall below the edge from a to b."""
    deep = grid.numbers[DEPTH]
    floor = floor_below(grid, min(p[2], min(a[2], b[2])))
    c = (a[0], a[1], a[2] - deep if deep < math.inf else floor)
    d = (b[0], b[1], b[2] - deep if deep < math.inf else floor)
    d2, s = point_triangle_called(p, a, b, d)
    if d2 < best:
        best, q = d2, s
    d2, s = point_triangle_called(p, a, d, c)
    if d2 < best:
        best, q = d2, s
    return best, q


@kernel(inner="height_grid, vec3, UniTuple(f8, 4), i8, i8, i8")
def near_triangle(grid, p, corners, j, i, k):
    """(squared distance, point) of the surface about triangle k of cell [j, i] nearest to p: its top, underside and walls."""
    a, b, c = triangle_points(grid, corners, j, i, k)
    best, q = point_triangle_called(p, a, b, c)
    deep = grid.numbers[DEPTH]
    if deep < math.inf:
        lower = (p[0], p[1], p[2] + deep)
        d2, s = point_triangle_called(lower, a, b, c)
        if d2 < best:
            best, q = d2, (s[0], s[1], s[2] - deep)
    # A wall stands where the neighbour beyond an edge is not there. Corners go round counter-clockwise from sample [j, i].
    if not triangle_there(grid, j, i, 1 - k):
        best, q = near_wall(grid, p, c if k == 0 else b, a, best, q)
    if k == 0:
        if not triangle_there(grid, j - 1, i, 1):
            best, q = near_wall(grid, p, a, b, best, q)
        if not triangle_there(grid, j, i + 1, 1):
            best, q = near_wall(grid, p, b, c, best, q)
    else:
        if not triangle_there(grid, j + 1, i, 0):
            best, q = near_wall(grid, p, b, c, best, q)
        if not triangle_there(grid, j, i - 1, 0):
            best, q = near_wall(grid, p, c, a, best, q)
    return best, q


@device
def surface_gap2(grid, p, walls, x0, x1, y0, y1, low, high):
    """Lower bound of the squared distance of p and the surface over a rectangle: without walls the top and the underside
    alone."""
    box, deep = (p[0], p[0], p[1], p[1], p[2], p[2]), grid.numbers[DEPTH]
    if walls:
        return box_gap2(box, x0, x1, y0, y1, low - deep, high)
    best = box_gap2(box, x0, x1, y0, y1, low, high)
    if deep < math.inf:
        best = min(best, box_gap2(box, x0, x1, y0, y1, low - deep, high - deep))
    return best


@device
def node_gap2(grid, p, holes, level, j, i):
    """The same of a node."""
    low, high = node_range(grid, node_index(grid, level, j, i))
    if low > high:
        return math.inf
    i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    walls = holes or i0 == 0 or j0 == 0 or i1 == grid.columns or j1 == grid.rows
    return surface_gap2(grid, p, walls, x * i0, x * i1, y * j0, y * j1, low, high)


@kernel(inner="height_grid, vec3, b1, i8[::1], f8[::1]")
def nearest_on_surface(grid, p, holes, stack, bounds):
    """(squared distance, point, triangle) of the surface nearest to p; `holes`: whether any triangle is not there."""
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    best, q, at = math.inf, p, np.int64(-1)
    stack[0], bounds[0], depth = node_code(grid.levels.shape[0] - 1, 0, 0), 0.0, 1
    while depth > 0:
        depth -= 1
        if bounds[depth] > best:
            continue
        level, j, i = node_of(stack[depth])
        if level > 0:
            first = depth
            depth = push_children(grid, stack[depth], stack, depth)
            for k in range(first, depth):
                code = stack[k]
                level_k, j_k, i_k = node_of(code)
                bound = node_gap2(grid, p, holes, level_k, j_k, i_k)
                # The nearest on top.
                place = k
                while place > first and bounds[place - 1] < bound:
                    stack[place], bounds[place] = stack[place - 1], bounds[place - 1]
                    place -= 1
                stack[place], bounds[place] = code, bound
            continue
        i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
        for cell_j in range(j0, j1):
            for cell_i in range(i0, i1):
                corners = (
                    sample(grid, cell_j, cell_i), sample(grid, cell_j, cell_i + 1),
                    sample(grid, cell_j + 1, cell_i), sample(grid, cell_j + 1, cell_i + 1),
                )  # fmt: skip
                walls = holes or cell_i == 0 or cell_j == 0 or cell_i == grid.columns - 1 or cell_j == grid.rows - 1
                for k in range(2):
                    if not is_there(corners, k):
                        continue
                    low, high = heights_of(corners, k)
                    bound = surface_gap2(grid, p, walls, x * cell_i, x * (cell_i + 1), y * cell_j, y * (cell_j + 1), low, high)
                    if bound > best:
                        continue
                    d2, s = near_triangle(grid, p, corners, cell_j, cell_i, np.int64(k))
                    number = 2 * (cell_j * grid.columns + cell_i) + k
                    if d2 < best or (d2 == best and number < at):
                        best, q, at = d2, s, number
    return best, q, at


@kernel("i8, i8, height_grid, f8[:,::1], f8[:,::1], b1, f8[::1], f8[:,::1], i8[::1]")
def field_closest_rows(start, stop, grid, points, poses, holes, distance_out, point_out, triangle_out):
    """Closest points of the surface."""
    stack, bounds = np.empty(4 * LEVELS, np.int64), np.empty(4 * LEVELS)
    for row in range(start, stop):
        p = point_in_grid(grid, points, poses, row)
        d2, q, triangle_out[row] = nearest_on_surface(grid, p, holes, stack, bounds)
        distance_out[row] = math.sqrt(d2)
        row_p = row_of(poses, row)
        r, t = load_rotation(poses, row_p), load_translation(poses, row_p)
        q = transform(r, t, (q[0] + grid.origin[0], q[1] + grid.origin[1], q[2] + grid.origin[2]))
        # A point of the surface is its own closest point, to the last bit.
        q = q if d2 > 0.0 else load3(points, row_of(points, row), 0)
        point_out[row, 0], point_out[row, 1], point_out[row, 2] = q


def contains(field: HeightField, points: Floats, rows: Floats, count: int, *, threads: int | None) -> Bools:
    """Whether points are in the ground, its surface included."""
    check_reach(points, "points")
    check_reach(rows, "pose")
    inside = np.empty(count, dtype=np.bool_)
    run_rows(field_contains_rows, count, threads, field.grid, points, rows, inside)
    return inside


def closest_point(
    field: HeightField, points: Floats, rows: Floats, count: int, *, signed: bool, threads: int | None
) -> ClosestPoints:
    """The nearest point of the ground's surface; signed: negative in the ground. `triangle` is that whose top, underside or
    wall it is on."""
    check_reach(points, "points")
    check_reach(rows, "pose")
    out = ClosestPoints(np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64))
    arguments = (field.grid, points, rows, field.has_holes, out.distance, out.point, out.triangle)
    run_rows(field_closest_rows, count, threads, *arguments, rows_per_chunk=64)
    if signed:
        inside = contains(field, points, rows, count, threads=threads)
        np.negative(out.distance, out=out.distance, where=inside)
        out.distance[out.distance == 0.0] = 0.0
    return out
