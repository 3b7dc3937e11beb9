"""Windows: a few tiles about a place as one shape, so that there is no border where a query looks.

The plane is covered by blocks of 2^L units a side, at all multiples of half their side: what is no longer than half a block
lies in one. Which block a row of a query gets depends on its box alone, and so does its answer: not on other rows, nor on what
was asked before. Heights are stitched sample by sample, triangles are those of all tiles that reach into the block, displaced
surfaces are joined as a whole (a window is then a range of tiles).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.pairing.groups import equal_rows
from thud.shapes.compound import Compound
from thud.shapes.shape import Shape
from thud.terrain.tiles.ground_tile import GroundTile
from thud.terrain.tiles.queries.names import Names, apart_names, tile_names
from thud.terrain.tiles.queries.reach import tile_ranges
from thud.terrain.tiles.queries.stitch_displaced import stitch_displaced
from thud.terrain.tiles.queries.stitch_heights import stitch_heights
from thud.terrain.tiles.queries.stitch_triangles import stitch_triangles
from thud.terrain.tiles.record import DISPLACED, HEIGHTS, KINDS, TRIANGLES, TileKey
from thud.terrain.tiles.tolerances import WINDOW_LEAST, WINDOW_TILES, WINDOW_UNITS

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain


class Window(NamedTuple):
    """Some ground as one shape."""

    shape: Any
    """In the terrain's frame; None where there is no ground."""
    names: Names
    """What its triangles and features are called in the terrain."""
    whole: bool
    """Whether it is all there is: nothing lies beyond its border."""
    stitched: bool
    """False where tiles could not be stitched, and it is a compound of them."""
    nbytes: int


def rows_by_window(terrain: Terrain, lower: Floats, upper: Floats) -> Iterator[tuple[Window, Ints]]:
    """Windows that hold the boxes of rows, and the rows of each, which are in order. Boxes must be finite along x and y, or
    they are taken to the terrain's border."""
    manifest = terrain.manifest
    first, last = tile_ranges(manifest, lower, upper)
    there = (first <= last).all(axis=1)
    for rows in equal_rows(np.column_stack([first[there], last[there]])):
        chosen = np.flatnonzero(there)[rows]
        begin, end = first[chosen[0]], last[chosen[0]]
        for window, part in _windows_in(terrain, begin, end, lower[chosen], upper[chosen]):
            yield window, np.sort(chosen[part])


def _windows_in(
    terrain: Terrain, begin: Ints, end: Ints, lower: Floats, upper: Floats
) -> Iterator[tuple[Window, Ints]]:  # fmt: skip
    """Windows of rows whose boxes reach into one range of tiles."""
    keys = [
        TileKey(i, j, k)
        for k in range(begin[2], end[2] + 1)
        for j in range(begin[1], end[1] + 1)
        for i in range(begin[0], end[0] + 1)
        if (i, j, k) in terrain.places
    ]
    every = np.arange(len(lower))
    whole = len(keys) == len(terrain.places)
    if not keys:
        return
    if len(keys) == 1:
        yield _of_tile(terrain, keys[0], whole), every
        return
    kind = KINDS[terrain.manifest.kind]
    if kind == DISPLACED or len(keys) > WINDOW_TILES:
        yield window_of(terrain, ("tiles", *keys), keys, None, None, whole), every
        return
    block = _blocks(terrain, lower, upper)
    for rows in equal_rows(block):
        level, *at = block[rows[0]].tolist()
        low, high = _block_box(terrain, level, at)
        yield window_of(terrain, ("block", level, *at), None, low, high, False), rows


def _of_tile(terrain: Terrain, key: TileKey, whole: bool) -> Window:
    ground = terrain.ground(key)
    shape = terrain.tile_shape(ground)
    return Window(shape, tile_names(terrain.manifest, ground), whole, True, 0)


def _blocks(terrain: Terrain, lower: Floats, upper: Floats) -> Ints:
    """(N, 4) level and place of the smallest block that is sure to hold each box. Of a terrain of one layer blocks go all the
    way up and down."""
    manifest = terrain.manifest
    size, corner = np.array(manifest.tile_size), np.array(manifest.corner)
    unit = np.where(size > 0.0, size, np.inf) / WINDOW_UNITS
    low = np.where(size > 0.0, lower, 0.0)
    length = np.where(size > 0.0, upper - lower, 0.0) / unit
    level = np.maximum(np.ceil(np.log2(np.maximum(length.max(axis=1), 1e-300))).astype(np.int64) + 1, WINDOW_LEAST)
    half = np.ldexp(0.5, level)[:, None] * np.where(size > 0.0, unit, 1.0)
    at = np.where(size > 0.0, np.floor((low - corner) / half), 0.0).astype(np.int64)
    return np.column_stack([level, at])


def _block_box(terrain: Terrain, level: int, at: list[int]) -> tuple[Floats, Floats]:
    manifest = terrain.manifest
    size, corner = np.array(manifest.tile_size), np.array(manifest.corner)
    half = math.ldexp(0.5, level) * size / WINDOW_UNITS
    low = corner + np.array(at) * half
    return np.where(size > 0.0, low, -math.inf), np.where(size > 0.0, low + 2.0 * half, math.inf)


def window_of(
    terrain: Terrain, name: tuple[Any, ...], keys: list[TileKey] | None, low: Floats | None, high: Floats | None, whole: bool
) -> Window:
    """A window of tiles, or of all tiles that reach into a block."""

    def make() -> Window:
        nonlocal keys
        if keys is None:
            assert low is not None
            assert high is not None
            keys = terrain.keys_near(low, high)
        if not keys:
            return Window(None, apart_names(terrain.manifest, []), False, True, 0)
        if len(keys) == 1 and low is None:
            return _of_tile(terrain, keys[0], whole)
        return _stitched(terrain, keys, low, high, whole)

    return terrain.loader.window(name, make)


_STITCH: dict[int, Callable[..., tuple[Shape | None, Names, int] | None]] = {
    HEIGHTS: stitch_heights,
    TRIANGLES: stitch_triangles,
    DISPLACED: stitch_displaced,
}


def _stitched(terrain: Terrain, keys: list[TileKey], low: Floats | None, high: Floats | None, whole: bool) -> Window:
    found = None
    if len(keys) <= WINDOW_TILES:
        found = _STITCH[KINDS[terrain.manifest.kind]](terrain, keys, low, high)
    if found is not None:
        return Window(found[0], found[1], whole, True, found[2])
    # Tiles that do not fit together, or too many: side by side.
    tiles: list[GroundTile] = [terrain.ground(key) for key in keys]
    return Window(
        Compound([terrain.tile_shape(ground) for ground in tiles]), apart_names(terrain.manifest, tiles), whole, False, 0
    )
