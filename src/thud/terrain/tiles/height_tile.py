"""Tiles of kind `heights`: a grid of heights, its tree of least and greatest heights, and spheres over blocks of its cells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_kernel
from thud.bvh.height_tree import (
    BOTTOM,
    DEPTH,
    FLOAT32,
    FLOAT64,
    HOLE,
    INT16,
    NO_HOLE,
    NUMBERS,
    SCALE,
    SHIFT,
    SPACING_X,
    SPACING_Y,
    TOP,
    HeightGrid,
    build_nodes,
    tree_levels,
)
from thud.constants import LARGEST_SIZE, LEAST_SIZE, MESH_COORDINATE
from thud.errors import DamagedStoreError, InvalidInputError
from thud.shapes.height_field import HeightField
from thud.terrain.tiles.blocks import block_shape, check_blocks, tile_blocks
from thud.terrain.tiles.record import HEIGHTS, Record, as_key, pack
from thud.terrain.tiles.sphere_check import check_tree, sphere_fault
from thud.terrain.tiles.sphere_tree import build_sphere_tree
from thud.terrain.tiles.tile_arrays import (
    BLOCK_HIGH,
    BLOCK_WIDE,
    BLOCK_X,
    BLOCK_Y,
    NO_CORNERS,
    NO_PLANES,
    NO_SURFACE,
    TileArrays,
)
from thud.terrain.tiles.tolerances import LEAF_TRIANGLES, TREE_LEVELS

#: Sections of heights and of their tree, by type.
_SAMPLES = {FLOAT64: "heights64", FLOAT32: "heights32", INT16: "heights16"}
_NODES = {FLOAT64: "nodes64", FLOAT32: "nodes32", INT16: "nodes16"}

#: Most samples along a side of a tile.
_MOST_SIDE = 2**15


def height_record(key: Any, field: HeightField, *, leaf: int = LEAF_TRIANGLES, levels: int = TREE_LEVELS) -> bytes:
    """The record of a tile that is a height field in the terrain's frame.

    Neighbours share the row or column of samples between them. So that both have it in the same place to the last bit, heights
    are multiples of the terrain's quantum and spacings and origins are exact.

    Parameters
    ----------
    key : (i, j)
    field : up to 2^15 samples a side
    leaf, levels : N and M of the sphere tree
    """
    if not isinstance(field, HeightField):
        raise InvalidInputError(f"field: expected a HeightField, got {type(field).__name__}")
    grid = field.grid
    if max(grid.rows, grid.columns) >= _MOST_SIDE:
        raise InvalidInputError(f"field: {grid.rows + 1} x {grid.columns + 1} samples; expected at most {_MOST_SIDE} a side")
    blocks = tile_blocks(0, grid.columns, grid.rows, block_shape(leaf))
    points, first, triangles = _block_points(grid, blocks)
    # Blocks of holes alone hold nothing.
    there = np.flatnonzero(triangles)
    blocks = blocks[there]
    points, first, triangles = _block_points(grid, blocks)
    tree = build_sphere_tree(points, first, triangles, leaf=leaf, levels=levels)
    none: dict[str, Any] = {name: np.empty(0) for name in (*_SAMPLES.values(), *_NODES.values())}
    arrays = none | {
        "origin": grid.origin,
        "nodes": tree.nodes,
        "blocks": blocks[tree.order],
        "sizes": np.array([grid.kind, grid.rows, grid.columns]),
        "numbers": grid.numbers,
        _SAMPLES[grid.kind]: (grid.heights64, grid.heights32, grid.heights16)[grid.kind],
        _NODES[grid.kind]: (grid.nodes64, grid.nodes32, grid.nodes16)[grid.kind],
    }
    return pack(HEIGHTS, as_key(key), arrays)


def _block_points(grid: HeightGrid, blocks: npt.NDArray[np.int32]) -> tuple[Any, Any, Any]:
    """Points of each block in the tile's frame, where those of each begin, and triangles of each."""
    most = int(((blocks[:, BLOCK_WIDE].astype(np.int64) + 1) * (blocks[:, BLOCK_HIGH] + 1)).sum())
    points, first, triangles = np.empty((most, 3)), np.zeros(len(blocks) + 1, np.int64), np.zeros(len(blocks), np.int64)
    used = block_points(grid, blocks, points, first, triangles)
    return points[:used].copy(), first, triangles


@exact_kernel("height_grid, i4[:,::1], f8[:,::1], i8[::1], i8[::1]")
def block_points(grid, blocks, points_out, first_out, triangles_out):
    """Samples of the blocks that are no holes; returns how many."""
    used = 0
    x, y, scale, shift = grid.numbers[SPACING_X], grid.numbers[SPACING_Y], grid.numbers[SCALE], grid.numbers[SHIFT]
    for block in range(blocks.shape[0]):
        i0, j0 = np.int64(blocks[block, BLOCK_X]), np.int64(blocks[block, BLOCK_Y])
        wide, high = np.int64(blocks[block, BLOCK_WIDE]), np.int64(blocks[block, BLOCK_HIGH])
        first_out[block], triangles_out[block] = used, 0
        for j in range(j0, j0 + high + 1):
            for i in range(i0, i0 + wide + 1):
                if grid.kind == FLOAT32:
                    value = np.float64(grid.heights32[j, i])
                    hole = math.isnan(value)
                elif grid.kind == INT16:
                    value = np.float64(grid.heights16[j, i])
                    hole = value == grid.numbers[HOLE]
                else:
                    value = grid.heights64[j, i]
                    hole = math.isnan(value)
                if not hole:
                    points_out[used, 0], points_out[used, 1], points_out[used, 2] = i * x, j * y, scale * value + shift
                    used += 1
        # Triangles that are there: of whole samples only.
        if used - first_out[block] == (wide + 1) * (high + 1):
            triangles_out[block] = 2 * wide * high
        elif used - first_out[block] >= 3:
            triangles_out[block] = _count(grid, i0, j0, wide, high)
    first_out[blocks.shape[0]] = used
    return used


@exact_kernel
def _hole(grid, j, i):
    if grid.kind == FLOAT32:
        return math.isnan(grid.heights32[j, i])
    if grid.kind == INT16:
        return grid.heights16[j, i] == grid.numbers[HOLE]
    return math.isnan(grid.heights64[j, i])


@exact_kernel
def _count(grid, i0, j0, wide, high):
    """Triangles of a block with holes."""
    found = 0
    for j in range(j0, j0 + high):
        for i in range(i0, i0 + wide):
            if not _hole(grid, j, i) and not _hole(grid, j + 1, i + 1):
                found += (0 if _hole(grid, j, i + 1) else 1) + (0 if _hole(grid, j + 1, i) else 1)
    return found


def height_arrays(record: Record) -> TileArrays:
    """What kernels read; a named error for numbers that no tile has."""
    a = record.arrays
    if len(a["origin"]) != 3 or len(a["sizes"]) != 3 or len(a["numbers"]) != NUMBERS:
        raise DamagedStoreError(f"{len(a['origin'])}, {len(a['sizes'])} and {len(a['numbers'])} numbers of a grid")
    kind, rows, columns = a["sizes"].tolist()
    if kind not in _SAMPLES or not 1 <= rows < _MOST_SIDE or not 1 <= columns < _MOST_SIDE:
        raise DamagedStoreError(f"a grid of {rows} x {columns} cells of type {kind}")
    levels = tree_levels(rows, columns)
    nodes = int(levels[-1, 0] + levels[-1, 1] * levels[-1, 2])
    for type_, name in _SAMPLES.items():
        wanted = ((rows + 1) * (columns + 1), nodes) if type_ == kind else (0, 0)
        if (a[name].size, len(a[_NODES[type_]])) != wanted:
            raise DamagedStoreError(f"{name}: {a[name].size} samples and {len(a[_NODES[type_]])} nodes; expected {wanted}")
    numbers = a["numbers"]
    lengths = numbers[[SPACING_X, SPACING_Y, SCALE]]
    if not ((lengths >= LEAST_SIZE) & (lengths <= LARGEST_SIZE)).all() or not numbers[DEPTH] > 0.0:
        raise DamagedStoreError("a spacing, scale or thickness that is no length")
    rest = numbers[[SHIFT, HOLE, TOP, BOTTOM]]
    if not (np.abs(np.concatenate([rest, a["origin"]])) <= MESH_COORDINATE).all():
        raise DamagedStoreError("a number of the grid that is not finite")
    samples = a[_SAMPLES[kind]].reshape(rows + 1, columns + 1)
    # NaN is a hole; if all are, it is what is left.
    far = lengths[2] * max(abs(float(np.fmin.reduce(samples, axis=None))), abs(float(np.fmax.reduce(samples, axis=None))))
    if not max(float(rows * lengths[1]), float(columns * lengths[0])) <= MESH_COORDINATE or not far <= MESH_COORDINATE:
        raise DamagedStoreError(f"heights: one is not finite, or the tile reaches beyond {MESH_COORDINATE:g} m")
    check_blocks(a["blocks"], np.array([[columns, rows]]), all_patches=False)
    check_tree(a["nodes"], len(a["blocks"]))
    by_type = [a[_SAMPLES[one]] for one in (FLOAT64, FLOAT32, INT16)]
    by_type = [array.reshape(rows + 1, columns + 1) if array.size else array.reshape(0, 0) for array in by_type]
    ranges = [a[_NODES[one]] for one in (FLOAT64, FLOAT32, INT16)]
    grid = HeightGrid(*[kind, *by_type, *ranges, levels, rows, columns, numbers, a["origin"]])
    links = a["nodes"]
    return TileArrays(
        HEIGHTS, a["origin"], links.view(np.float32), links, NO_CORNERS, NO_PLANES, a["blocks"], grid, NO_SURFACE
    )  # fmt: skip


def check_heights(record: Record, arrays: TileArrays) -> None:
    """Named error unless spheres hold their blocks, blocks hold all triangles, and the tree of heights is theirs."""
    a, grid = record.arrays, arrays.grid
    points, first, triangles = _block_points(grid, a["blocks"])
    fault = int(sphere_fault(a["nodes"], arrays.nodes, points, first))
    if fault >= 0:
        raise DamagedStoreError(f"sphere tree, node {fault}: its sphere does not hold its samples")
    whole = _block_points(grid, np.array([[0, 0, 0, grid.columns, grid.rows]], np.int32))[2]
    if int(triangles.sum()) != int(whole[0]):
        raise DamagedStoreError(f"blocks: they hold {int(triangles.sum())} triangles of {int(whole[0])}")
    samples, hole = (grid.heights64, grid.heights32, grid.heights16)[grid.kind], int(grid.numbers[HOLE])
    nodes = build_nodes(samples, hole, grid.levels)
    low, high = (float(grid.numbers[SCALE]) * float(value) + float(grid.numbers[SHIFT]) for value in nodes[-1])
    if not np.array_equal(nodes, a[_NODES[grid.kind]]):
        raise DamagedStoreError("heights: the tree of least and greatest heights is not theirs")
    near = 1e-9 * (abs(low) + abs(high) + 1e-300)
    if not (abs(grid.numbers[TOP] - high) <= near and abs(grid.numbers[BOTTOM] - low) <= near):
        raise DamagedStoreError("heights: least and greatest are not theirs")


def height_shape(arrays: TileArrays) -> HeightField:
    """The tile as a height field in the terrain's frame, in the tile's own memory."""
    grid = arrays.grid
    numbers = grid.numbers
    field = object.__new__(HeightField)
    field.__dict__.update(
        heights=(grid.heights64, grid.heights32, grid.heights16)[grid.kind],
        spacing=numbers[[SPACING_X, SPACING_Y]],
        origin=grid.origin + [0.0, 0.0, numbers[SHIFT]],
        thickness=None if math.isinf(numbers[DEPTH]) else float(numbers[DEPTH]),
        scale=float(numbers[SCALE]),
        hole=None if numbers[HOLE] == NO_HOLE else int(numbers[HOLE]),
        grid=grid,
    )
    return field
