"""Ranges of a field's cells and of its tree's nodes, and whether a point is in the ground. All in the grid's frame."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.height_tree import BLOCK, DEPTH, SPACING_X, SPACING_Y, cell_corners, is_there


@device
def clamped(value, count):
    """A place along a side of `count` cells, which may be anything, as a cell."""
    # Not math.floor, which is a whole number here and has no room for inf.
    return np.int64(min(max(np.floor(value), 0.0), count - 1.0))


@device
def cell_range(grid, box):
    """(i0, i1, j0, j1): the cells that a box is over or beside, both ends included; i0 > i1 if it is over none."""
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    if box[1] < 0.0 or box[3] < 0.0 or box[0] > x * grid.columns or box[2] > y * grid.rows:
        return np.int64(0), np.int64(-1), np.int64(0), np.int64(-1)
    return (
        clamped(box[0] / x, grid.columns), clamped(box[1] / x, grid.columns),
        clamped(box[2] / y, grid.rows), clamped(box[3] / y, grid.rows),
    )  # fmt: skip


@device
def start_level(grid, cells):
    """The lowest level on which a range of cells is at most two nodes wide and two high."""
    level = np.int64(0)
    i0, i1, j0, j1 = cells[0] // BLOCK, cells[1] // BLOCK, cells[2] // BLOCK, cells[3] // BLOCK
    while (i1 - i0 > 1 or j1 - j0 > 1) and level < grid.levels.shape[0] - 1:
        i0, i1, j0, j1 = i0 >> 1, i1 >> 1, j0 >> 1, j1 >> 1
        level += 1
    return level


@device
def level_range(cells, level):
    """A range of cells as one of nodes of a level."""
    side = level + 2  # a block is 2^2 cells wide
    return cells[0] >> side, cells[1] >> side, cells[2] >> side, cells[3] >> side


@device
def child_range(cells, level, j, i):
    """Children, on the level below, of node [j, i] of `level` that lie in a range of cells."""
    i0, i1, j0, j1 = level_range(cells, level - 1)
    return max(i0, 2 * i), min(i1, 2 * i + 1), max(j0, 2 * j), min(j1, 2 * j + 1)


@device
def block_cells(grid, cells, j, i):
    """Cells of block [j, i] that lie in a range, ends included."""
    return (
        max(cells[0], BLOCK * i), min(cells[1], BLOCK * i + BLOCK - 1),
        max(cells[2], BLOCK * j), min(cells[3], BLOCK * j + BLOCK - 1),
    )  # fmt: skip


@kernel(inner="height_grid, vec3")
def in_ground(grid, p):
    """Whether a point lies in the ground, its surface included."""
    u, v = p[0] / grid.numbers[SPACING_X], p[1] / grid.numbers[SPACING_Y]
    if not (u >= 0.0 and v >= 0.0 and u <= grid.columns and v <= grid.rows):
        return False
    i1, j1 = clamped(u, grid.columns), clamped(v, grid.rows)
    # On a line of the grid the cells on both sides count.
    i0, j0 = (i1 - 1 if u == i1 and i1 > 0 else i1), (j1 - 1 if v == j1 and j1 > 0 else j1)
    deep = grid.numbers[DEPTH]
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            corners = cell_corners(grid, j, i)
            h00, h10, h01, h11 = corners
            x, y = u - i, v - j
            for k in range(2):
                if is_there(corners, k) and (x >= y if k == 0 else y >= x):
                    top = h00 + (h10 - h00) * x + (h11 - h10) * y if k == 0 else h00 + (h11 - h01) * x + (h01 - h00) * y
                    if top - deep <= p[2] <= top:
                        return True
    return False
