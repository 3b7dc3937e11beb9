"""A grid of heights as kernels read it, and a tree of least and greatest heights over its blocks of cells.

Heights stay what they are (float64, float32 or int16); one array of three is filled, and a number says which, so that kernels
have one specialisation. The tree has the same type, so its bounds are exact: level 0 has a node for each block of 4 x 4 cells,
each further level one for 2 x 2 nodes. A hole is NaN; of whole numbers, a value that stands for it.

The grid's frame is the shape's moved to `origin`: sample [j, i] is the point (i spacing_x, j spacing_y, scale height + shift).
A cell [j, i] has two triangles, cut by the diagonal from sample [j, i] to [j + 1, i + 1]: number 2 (j columns + i) is the one
towards +x, the next the one towards +y. A triangle is there if none of its samples is a hole.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows

#: Cells a side of the blocks that level 0 has nodes for.
BLOCK = 4

# Types of heights.
FLOAT64, FLOAT32, INT16 = 0, 1, 2

# Columns of HeightGrid.numbers. TOP and BOTTOM: greatest and least height, in the grid's frame; DEPTH: of the ground, inf if it
# has no end; HOLE: the whole number that stands for a hole, or one that no int16 is.
SPACING_X, SPACING_Y, SCALE, SHIFT, DEPTH, HOLE, TOP, BOTTOM = range(8)
NUMBERS = 8

#: Levels that the walks have room for (a count): of a side of 2^28 samples.
LEVELS = 32

#: No int16.
NO_HOLE = 65536.0


class HeightGrid(NamedTuple):
    """Heights and their tree."""

    kind: int
    """FLOAT64, FLOAT32 or INT16: which of the arrays is filled."""
    heights64: npt.NDArray[np.float64]
    heights32: npt.NDArray[np.float32]
    heights16: npt.NDArray[np.int16]
    """(H, W) samples, row j along y."""
    nodes64: npt.NDArray[np.float64]
    nodes32: npt.NDArray[np.float32]
    nodes16: npt.NDArray[np.int16]
    """(K, 2) least and greatest sample of each node, the lower levels first; least > greatest where all are holes."""
    levels: Ints
    """(L, 3) first node of each level, nodes along x, nodes along y."""
    rows: int
    columns: int
    """Cells along y and x."""
    numbers: Floats
    """(NUMBERS,) columns as above."""
    origin: Floats
    """(3,) of the grid's frame in the shape's, metres."""


@device
def sample(grid, j, i):
    """Height of sample [j, i] in the grid's frame, metres; NaN for a hole."""
    numbers = grid.numbers
    if grid.kind == FLOAT32:
        value = np.float64(grid.heights32[j, i])
    elif grid.kind == INT16:
        value = np.float64(grid.heights16[j, i])
        if value == numbers[HOLE]:
            value = math.nan
    else:
        value = grid.heights64[j, i]
    return numbers[SCALE] * value + numbers[SHIFT]


@device
def node_range(grid, k):
    """(least, greatest) height below node k in the grid's frame; (inf, -inf) where all are holes."""
    if grid.kind == FLOAT32:
        low, high = np.float64(grid.nodes32[k, 0]), np.float64(grid.nodes32[k, 1])
    elif grid.kind == INT16:
        low, high = np.float64(grid.nodes16[k, 0]), np.float64(grid.nodes16[k, 1])
    else:
        low, high = grid.nodes64[k, 0], grid.nodes64[k, 1]
    if low > high:
        return math.inf, -math.inf
    scale, shift = grid.numbers[SCALE], grid.numbers[SHIFT]
    return scale * low + shift, scale * high + shift


@device
def cell_corners(grid, j, i):
    """Heights of samples [j, i], [j, i + 1], [j + 1, i], [j + 1, i + 1]."""
    return sample(grid, j, i), sample(grid, j, i + 1), sample(grid, j + 1, i), sample(grid, j + 1, i + 1)


@device
def is_there(corners, k):
    """Whether triangle k (0: towards +x, 1: towards +y) of a cell with these corners is there."""
    h00, h10, h01, h11 = corners
    third = h10 if k == 0 else h01
    return h00 == h00 and h11 == h11 and third == third


@device
def slopes(grid, corners, k):
    """(dz/dx, dz/dy) of triangle k."""
    h00, h10, h01, h11 = corners
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    if k == 0:
        return (h10 - h00) / x, (h11 - h10) / y
    return (h11 - h01) / x, (h01 - h00) / y


@kernel
def triangle_there(grid, j, i, k):
    """Whether triangle k of cell [j, i] is there; those outside the grid are not."""
    if i < 0 or j < 0 or i >= grid.columns or j >= grid.rows:
        return False
    if math.isnan(sample(grid, j, i)) or math.isnan(sample(grid, j + 1, i + 1)):
        return False
    return not math.isnan(sample(grid, j, i + 1) if k == 0 else sample(grid, j + 1, i))


@kernel
def is_used(grid, j, i):
    """Whether a triangle has sample [j, i] for a corner."""
    return (
        triangle_there(grid, j, i, 0)
        or triangle_there(grid, j, i, 1)
        or triangle_there(grid, j, i - 1, 0)
        or triangle_there(grid, j - 1, i, 1)
        or triangle_there(grid, j - 1, i - 1, 0)
        or triangle_there(grid, j - 1, i - 1, 1)
    )


@device
def block_range(heights, hole, low, high, block_j, block_i):
    """(least, greatest) sample of a block of cells, (low, high) if all are holes."""
    j0, i0 = BLOCK * block_j, BLOCK * block_i
    for j in range(j0, min(j0 + BLOCK + 1, heights.shape[0])):
        for i in range(i0, min(i0 + BLOCK + 1, heights.shape[1])):
            value = heights[j, i]
            if value == value and value != hole:
                low, high = min(low, value), max(high, value)
    return low, high


@kernel("i8, i8, f8[:,::1], i8, f8[:,::1]")
def blocks_of_float64(start, stop, heights, across, nodes_out):
    """Nodes of level 0 of block rows start .. stop; `across` blocks a row."""
    for j in range(start, stop):
        for i in range(across):
            low, high = block_range(heights, math.nan, math.inf, -math.inf, j, i)
            nodes_out[j * across + i, 0], nodes_out[j * across + i, 1] = low, high


@kernel("i8, i8, f4[:,::1], i8, f4[:,::1]")
def blocks_of_float32(start, stop, heights, across, nodes_out):
    """Nodes of level 0 of block rows start .. stop; `across` blocks a row."""
    none = np.float32(math.inf)
    for j in range(start, stop):
        for i in range(across):
            low, high = block_range(heights, np.float32(math.nan), none, -none, j, i)
            nodes_out[j * across + i, 0], nodes_out[j * across + i, 1] = low, high


@kernel("i8, i8, i2[:,::1], i8, i8, i2[:,::1]")
def blocks_of_int16(start, stop, heights, hole, across, nodes_out):
    """Nodes of level 0 of block rows start .. stop; `across` blocks a row."""
    for j in range(start, stop):
        for i in range(across):
            low, high = block_range(heights, hole, np.int16(32767), np.int16(-32768), j, i)
            nodes_out[j * across + i, 0], nodes_out[j * across + i, 1] = low, high


@kernel("height_grid, i8")
def count_triangles(grid, enough):
    """How many triangles are there, counted up to `enough`."""
    found = 0
    for j in range(grid.rows):
        for i in range(grid.columns):
            corners = cell_corners(grid, j, i)
            found += int(is_there(corners, 0)) + int(is_there(corners, 1))
        if found >= enough:
            break
    return found


def tree_levels(rows: int, columns: int) -> Ints:
    """(L, 3) the levels of the tree over so many cells: first node, nodes along x, along y."""
    across, down = -(-columns // BLOCK), -(-rows // BLOCK)
    found, first = [], 0
    while True:
        found.append((first, across, down))
        first += across * down
        if across == down == 1:
            return np.array(found, dtype=np.int64)
        across, down = -(-across // 2), -(-down // 2)


def build_nodes(heights: npt.NDArray[Any], hole: int, levels: Ints) -> npt.NDArray[Any]:
    """(K, 2) least and greatest sample of each node, in the type of the heights."""
    first, across, down = levels[-1]
    nodes = np.empty((int(first + across * down), 2), dtype=heights.dtype)
    _first, across, down = levels[0].tolist()
    # Some thousand samples are worth a thread.
    chunk = max(1, 16384 // (BLOCK * BLOCK * across))
    if heights.dtype == np.int16:
        run_rows(blocks_of_int16, down, None, heights, hole, across, nodes, rows_per_chunk=chunk)
    elif heights.dtype == np.float32:
        run_rows(blocks_of_float32, down, None, heights, across, nodes, rows_per_chunk=chunk)
    else:
        run_rows(blocks_of_float64, down, None, heights, across, nodes, rows_per_chunk=chunk)
    for (child, wide, high), (parent, columns, rows) in zip(levels[:-1].tolist(), levels[1:].tolist(), strict=True):
        below = nodes[child : child + wide * high].reshape(high, wide, 2)
        above = nodes[parent : parent + columns * rows].reshape(rows, columns, 2)
        for k, better in ((0, np.minimum), (1, np.maximum)):
            # The first of four is always there.
            above[..., k] = below[::2, ::2, k]
            better(above[:, : wide // 2, k], below[::2, 1::2, k], out=above[:, : wide // 2, k])
            better(above[: high // 2, :, k], below[1::2, ::2, k], out=above[: high // 2, :, k])
            part = above[: high // 2, : wide // 2, k]
            better(part, below[1::2, 1::2, k], out=part)
    return nodes


# The vertex that is lowest along a direction ------------------------------------------------------------------------------


@device
def node_code(level, j, i):
    """A node as one number."""
    return (np.int64(level) << 58) | (np.int64(j) << 29) | np.int64(i)


@device
def node_of(code):
    """(level, j, i) of such a number."""
    mask = np.int64(536870911)
    return code >> 58, (code >> 29) & mask, code & mask


@device
def node_rectangle(grid, level, j, i):
    """(first column, end, first row, end) of a node's cells."""
    side = np.int64(BLOCK) << level
    return i * side, min((i + 1) * side, grid.columns), j * side, min((j + 1) * side, grid.rows)


@device
def push_children(grid, code, stack, depth):
    """Put the children of a node above level 0 on the stack; returns its depth."""
    level, j, i = node_of(code)
    wide, high = grid.levels[level - 1, 1], grid.levels[level - 1, 2]
    for y in range(2 * j, min(2 * j + 2, high)):
        for x in range(2 * i, min(2 * i + 2, wide)):
            stack[depth] = node_code(level - 1, y, x)
            depth += 1
    return depth


@device
def node_index(grid, level, j, i):
    """Row of a node in the nodes."""
    return grid.levels[level, 0] + j * grid.levels[level, 1] + i


@kernel(inner="height_grid, vec3, i8[::1]")
def lowest_vertex(grid, n, stack):
    """(n . x, j, i) of the corner of a triangle that is lowest along n, in the grid's frame; of equal ones the first found."""
    x_step, y_step = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    best, best_j, best_i = math.inf, np.int64(-1), np.int64(-1)
    stack[0] = node_code(grid.levels.shape[0] - 1, 0, 0)
    depth = 1
    while depth > 0:
        depth -= 1
        level, j, i = node_of(stack[depth])
        low, high = node_range(grid, node_index(grid, level, j, i))
        i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
        bound = n[0] * x_step * (i0 if n[0] > 0.0 else i1) + n[1] * y_step * (j0 if n[1] > 0.0 else j1)
        bound += n[2] * (low if n[2] > 0.0 else high) if low <= high else math.inf
        if bound >= best:
            continue
        if level > 0:
            first = depth
            depth = push_children(grid, stack[depth], stack, depth)
            # That with the lowest middle on top.
            top, least = depth - 1, math.inf
            for k in range(first, depth):
                level_k, j_k, i_k = node_of(stack[k])
                low, high = node_range(grid, node_index(grid, level_k, j_k, i_k))
                value = n[0] * x_step * i_k * (BLOCK << level_k) + n[1] * y_step * j_k * (BLOCK << level_k)
                value += n[2] * (low if n[2] > 0.0 else high) if low <= high else math.inf
                if value < least:
                    top, least = k, value
            stack[top], stack[depth - 1] = stack[depth - 1], stack[top]
            continue
        for y in range(j0, j1 + 1):
            for x in range(i0, i1 + 1):
                z = sample(grid, y, x)
                value = n[0] * x_step * x + n[1] * y_step * y + n[2] * z
                if value < best and is_used(grid, y, x):
                    best, best_j, best_i = value, y, x
    return best, best_j, best_i


@kernel("i8, i8, height_grid, f8[:,::1], f8[::1], f8[:,::1]")
def lowest_rows(start, stop, grid, directions, value_out, vertex_out):
    """The vertex lowest along each direction, and how low it is; all in the grid's frame."""
    stack = np.empty(4 * LEVELS, np.int64)
    for row in range(start, stop):
        n = (directions[row, 0], directions[row, 1], directions[row, 2])
        value_out[row], j, i = lowest_vertex(grid, n, stack)
        vertex_out[row, 0], vertex_out[row, 1] = i * grid.numbers[SPACING_X], j * grid.numbers[SPACING_Y]
        vertex_out[row, 2] = sample(grid, j, i)
