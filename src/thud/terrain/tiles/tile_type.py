"""The Numba type of `TileArrays`: what kernel signatures mean by `tile_arrays` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.bvh.height_type import HEIGHT_GRID
from thud.terrain.surface_type import SURFACE
from thud.terrain.tiles.tile_arrays import TileArrays

TILE_ARRAYS = types.NamedTuple(
    (
        types.int64,  # kind
        types.float64[::1],  # origin
        types.float32[:, ::1],  # nodes
        types.int32[:, ::1],  # links
        types.float32[:, ::1],  # corners
        types.float64[:, ::1],  # planes
        types.int32[:, ::1],  # blocks
        HEIGHT_GRID,
        SURFACE,
    ),
    TileArrays,
)
