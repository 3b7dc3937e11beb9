"""What triangles and features of a window are called in the terrain: the same from every window, and in the next frame.

A triangle's number is that of its tile in the grid of tiles, times 2^32, and its own there. A feature's is a number of 31 bits
mixed from where it is: of a sample its place on the lattice, of a vertex its coordinates, of an edge its two ends, of a face
its tile and number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_kernel
from thud.pairing.contact_points import feature_ids, features_of
from thud.results import Contacts
from thud.terrain.tiles.ground_tile import GroundTile
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.queries.reach import tile_numbers

#: A triangle's number is its tile's times this, and its own.
TILE_STRIDE = 2**32

#: Feature of the deepest point, which stays.
_NONE = 0


class Names(NamedTuple):
    """Of one window."""

    triangles: Callable[[Ints], Ints]
    """Numbers of triangles of the window -> of the terrain; -1 stays."""
    features: Callable[[Ints, Floats], Ints]
    """Numbers of features of the window, and places on the ground -> of the terrain."""


def tile_number(manifest: Manifest, ground: GroundTile) -> int:
    """Number of a tile in the grid."""
    return int(tile_numbers(manifest, np.array([ground.tile.key]))[0])


@exact_kernel("i8[:,::1], i8[::1]")
def mix_rows(columns, out):
    """Numbers of 31 bits, not 0, from rows of whole numbers: the finaliser of splitmix64 after each."""
    step = np.uint64(0x9E3779B97F4A7C15)
    for row in range(columns.shape[0]):
        state = step
        for k in range(columns.shape[1]):
            state = (state ^ np.uint64(columns[row, k])) + step
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
        out[row] = np.int64(state % np.uint64(2147483647)) + 1


def mixed(*columns: Any) -> Ints:
    """(N,) numbers of 31 bits, not 0, from whole numbers, (N,) or one for all."""
    count = max(np.size(column) if np.ndim(column) else 0 for column in columns)
    table, out = np.empty((count, len(columns)), dtype=np.int64), np.empty(count, dtype=np.int64)
    for k, column in enumerate(columns):
        table[:, k] = column
    mix_rows(table, out)
    return out


def numbered(first: int) -> Callable[[Ints], Ints]:
    """Numbers of a tile's triangles in the terrain."""
    return lambda number: np.where(number >= 0, number + first, number)


def tile_names(manifest: Manifest, ground: GroundTile) -> Names:
    """Of a window that is one tile, made once."""
    if ground.names is None:
        ground.names = _tile_names(manifest, ground)
    return ground.names


def _tile_names(manifest: Manifest, ground: GroundTile) -> Names:
    from thud.terrain.tiles.queries.stitch_displaced import displaced_tile_features
    from thud.terrain.tiles.queries.stitch_heights import height_tile_features
    from thud.terrain.tiles.queries.stitch_triangles import triangle_tile_features
    from thud.terrain.tiles.record import DISPLACED, HEIGHTS, TRIANGLES

    number = tile_number(manifest, ground)
    features = {
        HEIGHTS: height_tile_features, TRIANGLES: triangle_tile_features, DISPLACED: displaced_tile_features,
    }[ground.kind](manifest, ground)  # fmt: skip
    return Names(numbered(number * TILE_STRIDE), features)


def apart_names(manifest: Manifest, tiles: list[GroundTile]) -> Names:
    """Of tiles side by side: their leaves have the numbers of the compound, which say no more than that."""
    numbers = np.array([tile_number(manifest, ground) for ground in tiles], dtype=np.int64)

    def triangles(number: Ints) -> Ints:
        return np.where(number >= 0, numbers[np.clip(number, 0, max(len(numbers) - 1, 0))] * TILE_STRIDE, number)

    return Names(triangles, lambda feature, _where: feature)


def named_contacts(found: Contacts, names: Names) -> Contacts:
    """Contacts of a window by the terrain's names."""
    ground, other = features_of(found.feature)
    where = found.point + 0.5 * found.depth[:, None] * found.normal
    known = ground != _NONE
    fresh = np.where(known, names.features(ground, where), _NONE)
    return replace(found, feature=feature_ids(fresh, other), triangle_a=names.triangles(found.triangle_a))
