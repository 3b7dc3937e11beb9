"""Triangles in reach of characters, in their own spaces: kernels over pairs of a character and a mesh, a grid or a plane.

A run has room for as many as its columns FIRST and STOP say. What does not fit is counted, and the run done again.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.height_tree import SPACING_X, SPACING_Y, cell_corners, is_there
from thud.constants import TREE_LEVELS
from thud.dynamics.characters.types import FIRST, STOP
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import add, cross, dot, load3, norm, scale, sub
from thud.mesh.box_tree import F, U, absolute, load_triangle, single3
from thud.mesh.mesh_convex import box_extent
from thud.mesh.tolerances import BOX_SLACK


@device
def beside(a, b, c, lower, upper):
    """Whether the box of a triangle misses another box."""
    return (
        max(a[0], max(b[0], c[0])) < lower[0] or min(a[0], min(b[0], c[0])) > upper[0]
        or max(a[1], max(b[1], c[1])) < lower[1] or min(a[1], min(b[1], c[1])) > upper[1]
        or max(a[2], max(b[2], c[2])) < lower[2] or min(a[2], min(b[2], c[2])) > upper[2]
    )  # fmt: skip


@device
def box_in_frame(r, t, lower, upper):
    """(middle, half extents) of a box that holds another one, along the axes of the frame at (R, t)."""
    middle = (0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]))
    half = (upper[0] - middle[0], upper[1] - middle[1], upper[2] - middle[2])
    return unrotate(r, sub(middle, t)), unrotate(absolute(r), half)


@device
def write_triangle(runs, run, found, a, b, c, radii, corners_out, planes_out):
    """One more triangle of a run, relative to a character, in its own space, if there is room; returns how many there are."""
    at = runs[run, FIRST] + found
    if at < runs[run, STOP]:
        a = (a[0] / radii[0], a[1] / radii[1], a[2] / radii[2])
        b = (b[0] / radii[0], b[1] / radii[1], b[2] / radii[2])
        c = (c[0] / radii[0], c[1] / radii[1], c[2] / radii[2])
        for k in range(3):
            corners_out[at, k], corners_out[at, 3 + k], corners_out[at, 6 + k] = a[k], b[k], c[k]
        n = cross(sub(b, a), sub(c, a))
        length = norm(n)
        n = (n[0] / length, n[1] / length, n[2] / length) if length > 0.0 else (0.0, 0.0, 0.0)
        planes_out[at, 0], planes_out[at, 1], planes_out[at, 2], planes_out[at, 3] = n[0], n[1], n[2], dot(n, a)
    return found + 1


@device
def boxes_near(boxes, base, middle, half, lanes_out):
    """Which of the eight children of a wide node at boxes[base:] meet a box along the same axes."""
    for lane in range(8):
        k = base + U(lane)
        lanes_out[lane] = (
            (abs(boxes[k] - middle[0]) <= boxes[k + U(24)] + half[0])
            & (abs(boxes[k + U(8)] - middle[1]) <= boxes[k + U(32)] + half[1])
            & (abs(boxes[k + U(16)] - middle[2]) <= boxes[k + U(40)] + half[2])
        )


@kernel("i8, i8, box_tree, i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[:,::1], f8[:,::1]")
def mesh_in_reach(start, stop, tree, chosen, row, poses, rooms, radii, runs, count_out, corners_out, planes_out):
    """Triangles of a mesh, for each of the chosen runs.

    row : (M,) character of each run; poses: (M, 12) of the mesh relative to it; rooms: (N, 6) the box about a character that
    it reaches, relative to it, metres
    """
    stack, lanes = np.empty(8 * TREE_LEVELS, np.uint64), np.empty(8, np.bool_)
    for place in range(start, stop):
        run = chosen[place]
        i = row[run]
        lower, upper, own = load3(rooms, i, 0), load3(rooms, i, 3), load3(radii, i, 0)
        r = load_rotation(poses, run)
        t = transform(r, load_translation(poses, run), (tree.origin[0], tree.origin[1], tree.origin[2]))
        middle, half = box_in_frame(r, t, lower, upper)
        size = 2.0 * box_extent(tree.boxes) + abs(middle[0]) + abs(middle[1]) + abs(middle[2]) + half[0] + half[1] + half[2]
        slack = BOX_SLACK * size
        near, far = single3(middle), (F(half[0] + slack), F(half[1] + slack), F(half[2] + slack))
        found = np.int64(0)
        stack[0] = U(0)
        depth = U(1)
        while depth > U(0):
            depth -= U(1)
            down = tree.child[stack[depth]]
            if down >= 0:
                boxes_near(tree.boxes, U(48) * U(down), near, far, lanes)
                for lane in range(8):
                    if lanes[lane]:
                        stack[depth] = U(8) * U(down) + U(lane)
                        depth += U(1)
                continue
            corners = load_triangle(tree.corners, U(-1 - down))
            a, b, c = transform(r, t, corners[0]), transform(r, t, corners[1]), transform(r, t, corners[2])
            if not beside(a, b, c, lower, upper):
                found = write_triangle(runs, run, found, a, b, c, own, corners_out, planes_out)
        count_out[run] = found


@device
def cell_range(middle, half, spacing, cells):
    """(first, end) of the cells along an axis that an interval touches."""
    first = min(max(math.floor((middle - half) / spacing), 0.0), np.float64(cells))
    last = min(max(math.floor((middle + half) / spacing) + 1.0, 0.0), np.float64(cells))
    return np.int64(first), np.int64(last)


@kernel("i8, i8, height_grid, i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[:,::1], f8[:,::1]")
def grid_in_reach(start, stop, grid, chosen, row, poses, rooms, radii, runs, count_out, corners_out, planes_out):
    """The same of the upper side of a height field."""
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    for place in range(start, stop):
        run = chosen[place]
        i = row[run]
        lower, upper, own = load3(rooms, i, 0), load3(rooms, i, 3), load3(radii, i, 0)
        r = load_rotation(poses, run)
        t = transform(r, load_translation(poses, run), (grid.origin[0], grid.origin[1], grid.origin[2]))
        middle, half = box_in_frame(r, t, lower, upper)
        i0, i1 = cell_range(middle[0], half[0], x, grid.columns)
        j0, j1 = cell_range(middle[1], half[1], y, grid.rows)
        found = np.int64(0)
        for v in range(j0, j1):
            for u in range(i0, i1):
                heights = cell_corners(grid, v, u)
                h00, h10, h01, h11 = heights
                for k in range(2):
                    if not is_there(heights, k):
                        continue
                    a, d = transform(r, t, (u * x, v * y, h00)), transform(r, t, ((u + 1) * x, (v + 1) * y, h11))
                    if k == 0:
                        b, c = transform(r, t, ((u + 1) * x, v * y, h10)), d
                    else:
                        b, c = d, transform(r, t, (u * x, (v + 1) * y, h01))
                    if not beside(a, b, c, lower, upper):
                        found = write_triangle(runs, run, found, a, b, c, own, corners_out, planes_out)
        count_out[run] = found


@device
def square_corners(n, middle, half):
    """Corners of a square across n about its middle, in order."""
    u = (0.0, n[2], -n[1]) if abs(n[0]) < 0.7 else (-n[2], 0.0, n[0])
    u = scale(u, half / norm(u))
    v = cross(n, u)
    a, b = sub(sub(middle, u), v), sub(add(middle, u), v)
    return a, b, add(add(middle, u), v), add(sub(middle, u), v)


@kernel("i8, i8, f8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[:,::1], f8[:,::1]")
def half_space_in_reach(start, stop, plane, chosen, row, poses, rooms, radii, runs, count_out, corners_out, planes_out):
    """The same of a half-space: two triangles of its plane about the character. plane: (4,) normal and offset."""
    for place in range(start, stop):
        run = chosen[place]
        i = row[run]
        lower, upper, own = load3(rooms, i, 0), load3(rooms, i, 3), load3(radii, i, 0)
        r, t = load_rotation(poses, run), load_translation(poses, run)
        n = rotate(r, (plane[0], plane[1], plane[2]))
        height = plane[3] + dot(n, t)
        foot = (height * n[0], height * n[1], height * n[2])
        # Longer than the room is wide.
        far = abs(height)
        for k in range(3):
            far += 2.0 * max(abs(lower[k]), abs(upper[k]))
        a, b, c, d = square_corners(n, foot, far)
        found = write_triangle(runs, run, np.int64(0), a, b, c, own, corners_out, planes_out)
        count_out[run] = write_triangle(runs, run, found, a, c, d, own, corners_out, planes_out)
