"""Height tiles as one field: they share the samples at their borders."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.bvh.height_tree import DEPTH, HOLE, NO_HOLE, SCALE, SHIFT, SPACING_X, SPACING_Y, HeightGrid
from thud.convex.manifold import CORNER, FACE, SIDE
from thud.errors import InvalidShapeError
from thud.mesh.manifolds.rows import AGAIN
from thud.shapes.height_field import HeightField
from thud.terrain.tiles.ground_tile import GroundTile
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.queries.names import TILE_STRIDE, Names, mixed, tile_number
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.tolerances import LATTICE_SLACK

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain


def _lattice(manifest: Manifest, grid: HeightGrid) -> Ints:
    """(2,) place of a tile's first sample on the lattice of its spacing through the terrain's corner; to the nearest."""
    spacing = grid.numbers[[SPACING_X, SPACING_Y]]
    return np.round((grid.origin[:2] - np.array(manifest.corner[:2])) / spacing).astype(np.int64)


def _raw(grid: HeightGrid) -> Any:
    return (grid.heights64, grid.heights32, grid.heights16)[grid.kind]


def _level(grid: HeightGrid) -> float:
    """Height of the sample 0."""
    return float(grid.origin[2] + grid.numbers[SHIFT])


def stitch_heights(
    terrain: Terrain, keys: list[TileKey], low: Floats, high: Floats
) -> tuple[HeightField | None, Names, int] | None:
    """The samples of tiles in a block, and one cell more about it; None where tiles do not lie on one lattice."""
    tiles = [terrain.ground(key) for key in keys]
    grids: list[HeightGrid] = [ground.tile.arrays.grid for ground in tiles]
    first = grids[0]
    spacing, origin = first.numbers[[SPACING_X, SPACING_Y]], first.origin[:2]
    offsets = []
    for grid in grids:
        place = (grid.origin[:2] - origin) / spacing
        whole = np.round(place)
        same = np.array_equal(grid.numbers[[SPACING_X, SPACING_Y, DEPTH]], first.numbers[[SPACING_X, SPACING_Y, DEPTH]])
        if not same or (np.abs(place - whole) > LATTICE_SLACK).any():
            return None
        offsets.append(whole.astype(np.int64))
    sizes = [np.array([grid.columns, grid.rows]) for grid in grids]
    begin = np.minimum.reduce(offsets)
    end = np.maximum.reduce([offset + size for offset, size in zip(offsets, sizes)])
    begin = np.maximum(begin, np.floor((low[:2] - origin) / spacing).astype(np.int64) - 1)
    end = np.minimum(end, np.ceil((high[:2] - origin) / spacing).astype(np.int64) + 1)
    if (end - begin < 1).any():
        return None if _touches(offsets, sizes, begin, end) else (None, _names(terrain, begin, offsets, sizes, tiles, 1), 0)
    samples = _samples(grids, offsets, sizes, begin, end)
    if samples is None:
        return None
    heights, scale, level, hole = samples
    depth = float(first.numbers[DEPTH])
    corner = np.array([*(origin + begin * spacing), level])
    names = _names(terrain, begin, offsets, sizes, tiles, int(end[0] - begin[0]))
    try:
        field = HeightField(heights, spacing, corner, None if math.isinf(depth) else depth, scale, hole)
    except InvalidShapeError:
        # Holes alone.
        return None, names, 0
    return field, names, field.nbytes


def _touches(offsets: list[Ints], sizes: list[Ints], begin: Ints, end: Ints) -> bool:
    """Whether a tile has a cell in a window of no width; its border then lies along the window."""
    return any(((offset <= end) & (offset + size >= begin)).all() for offset, size in zip(offsets, sizes))


def _samples(
    grids: list[HeightGrid], offsets: list[Ints], sizes: list[Ints], begin: Ints, end: Ints
) -> tuple[Any, float, float, int | None] | None:
    """(heights, scale, height of the sample 0, hole) of a window; None where two tiles say different things of one sample."""
    first = grids[0]
    alike = all(
        grid.kind == first.kind and grid.numbers[SCALE] == first.numbers[SCALE] and _level(grid) == _level(first)
        and grid.numbers[HOLE] == first.numbers[HOLE]
        for grid in grids
    )  # fmt: skip
    shape = (int(end[1] - begin[1]) + 1, int(end[0] - begin[0]) + 1)
    covered = np.zeros(shape, dtype=np.bool_)
    has_hole = first.numbers[HOLE] != NO_HOLE
    raw = alike and (first.kind != 2 or has_hole)
    hole = int(first.numbers[HOLE]) if alike and first.kind == 2 and has_hole else None
    kind: Any = _raw(first).dtype if raw else np.float64
    out = np.full(shape, hole if hole is not None else np.nan, dtype=kind)
    for grid, offset, size in zip(grids, offsets, sizes):
        lower, upper = np.maximum(offset, begin), np.minimum(offset + size, end)
        if (lower > upper).any():
            continue
        own = (slice(lower[1] - offset[1], upper[1] - offset[1] + 1), slice(lower[0] - offset[0], upper[0] - offset[0] + 1))
        there = (slice(lower[1] - begin[1], upper[1] - begin[1] + 1), slice(lower[0] - begin[0], upper[0] - begin[0] + 1))
        values = _raw(grid)[own]
        if not raw:
            values = _as_numbers(grid, values, alike)
        before = covered[there]
        if before.any():
            same = (out[there] == values) | ((out[there] != out[there]) & (values != values))
            if not same[before].all():
                return None
        out[there] = values
        covered[there] = True
    if raw or alike:
        return out, float(first.numbers[SCALE]), _level(first), hole
    return out, 1.0, 0.0, None


def _as_numbers(grid: HeightGrid, values: Any, alike: bool) -> Floats:
    """Samples as float64, holes as NaN; in the units of the tile, or in metres."""
    numbers = values.astype(np.float64)
    if grid.numbers[HOLE] != NO_HOLE:
        numbers[values == int(grid.numbers[HOLE])] = np.nan
    return numbers if alike else float(grid.numbers[SCALE]) * numbers + _level(grid)


# Names -------------------------------------------------------------------------------------------------------------------


def _features(first: Ints, columns: int) -> Callable[[Ints, Floats], Ints]:
    """Of a field whose sample [0, 0] is at a place of the terrain's lattice. Numbers are those of `heightfield/facets.py`."""
    again, side, face, corner = int(AGAIN), int(SIDE), int(FACE), int(CORNER)

    def features(feature: Ints, _where: Floats) -> Ints:
        twice, plain = feature // again, feature % again
        kind = np.where(plain >= face, 2, np.where(plain >= side, 1, 0))
        number = plain - np.array([corner, side, face])[kind]
        # Samples: 2 number + below. Edges: 4 (3 triangle + edge) + kind, or 4 sample + 3. Faces: 8 triangle + facet.
        upright = (kind == 1) & (number % 4 == 3)
        triangle = np.where(kind == 2, number // 8, number // 12)
        sample = np.where(kind == 0, number // 2, number // 4)
        rest = np.where(kind == 0, number % 2, np.where(kind == 2, number % 8, np.where(upright, 3, number % 12)))
        of_sample = (kind == 0) | upright
        width = np.where(of_sample, columns + 1, columns)
        place = np.where(of_sample, sample, triangle // 2)
        half = np.where(of_sample, 0, triangle % 2)
        j, i = np.divmod(place, width)
        return mixed(i + first[0], j + first[1], 16 * (2 * kind + half) + rest, twice)

    return features


def height_tile_features(manifest: Manifest, ground: GroundTile) -> Callable[[Ints, Floats], Ints]:
    """Of one tile."""
    grid = ground.tile.arrays.grid
    return _features(_lattice(manifest, grid), grid.columns)


def _names(
    terrain: Terrain, begin: Ints, offsets: list[Ints], sizes: list[Ints], tiles: list[GroundTile], columns: int
) -> Names:
    numbers = [tile_number(terrain.manifest, ground) for ground in tiles]
    # Places on the window's own lattice, which begins at the first tile's.
    first = _lattice(terrain.manifest, tiles[0].tile.arrays.grid) - offsets[0] + begin

    def triangles(number: Ints) -> Ints:
        out = np.full(number.shape, -1, dtype=np.int64)
        j, i = np.divmod(np.maximum(number, 0) // 2, columns)
        place = np.stack([i, j], axis=-1) + begin
        for tile, offset, size in zip(numbers, offsets, sizes):
            here = (number >= 0) & ((place >= offset) & (place < offset + size)).all(axis=-1) & (out < 0)
            own = place[here] - offset
            out[here] = tile * TILE_STRIDE + 2 * (own[:, 1] * size[0] + own[:, 0]) + number[here] % 2
        return out

    return Names(triangles, _features(first, columns))
