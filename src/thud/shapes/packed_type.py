"""The Numba types of `Parts` and `Packed`: what kernel signatures mean by `parts` and `packed` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.shapes.packed import Packed, Parts

_f2 = types.float64[:, ::1]
_i1, _i2 = types.int64[::1], types.int64[:, ::1]

PARTS = types.NamedTuple(
    (
        _i2,  # ints
        _f2,  # reals
        _f2,  # vertices
        _i1,  # link_starts
        _i2,  # links
    ),
    Parts,
)

PACKED = types.NamedTuple(
    (
        _i2,  # shape_ints
        PARTS,
        _f2,  # part_poses
        _f2,  # planes
        _i1,  # loop_starts
        _i2,  # loops
        _i2,  # edges
        _f2,  # node_boxes
        _i2,  # node_ints
    ),
    Packed,
)
