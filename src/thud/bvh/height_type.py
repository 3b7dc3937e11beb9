"""The Numba type of `HeightGrid`: what kernel signatures mean by `height_grid` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.bvh.height_tree import HeightGrid

#: kind, heights by type, nodes by type, levels, rows, columns, numbers, origin
HEIGHT_GRID = types.NamedTuple(
    (
        types.int64,
        types.float64[:, ::1],
        types.float32[:, ::1],
        types.int16[:, ::1],
        types.float64[:, ::1],
        types.float32[:, ::1],
        types.int16[:, ::1],
        types.int64[:, ::1],
        types.int64,
        types.int64,
        types.float64[::1],
        types.float64[::1],
    ),
    HeightGrid,
)
