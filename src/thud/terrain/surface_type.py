"""The Numba type of `SurfaceArrays`: what kernel signatures mean by `surface` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.terrain.surface_arrays import SurfaceArrays

_f1, _f2, _f3 = types.float32[::1], types.float32[:, ::1], types.float32[:, :, ::1]
_d2, _i2, _u1 = types.float64[:, ::1], types.int32[:, ::1], types.uint8[::1]

SURFACE = types.NamedTuple(
    (
        _d2,  # vertices
        _i2,  # coordinates
        _i2,  # primitives
        _i2,  # quads
        _f2,  # displacements
        _f3,  # details
        _u1,  # fade
        _d2,  # planes
        _f2,  # node_boxes
        _i2,  # node_ints
        types.int64[:, ::1],  # map_ints
        _f1,  # lengths
        _u1,  # codes
        _u1,  # flat
        types.int64,  # ratio
        types.float64,  # thickness
        _u1,  # rim
        _f2,  # face_boxes
        _d2,  # fall
    ),
    SurfaceArrays,
)
