"""The Numba types of the named tuples in `types.py`, by which kernel signatures name them (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.dynamics.sticks.types import Desk, Net, Points, Room, Tree, Triangles

_f1, _f2, _f3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_i1, _s1, _s2, _s3 = types.int64[::1], types.int32[::1], types.int32[:, ::1], types.int32[:, :, ::1]
_g1, _g2, _u1, _u2, _b1 = types.float32[::1], types.float32[:, ::1], types.uint8[::1], types.uint8[:, ::1], types.int8[::1]

STICK_POINTS = types.NamedTuple((_f2, _f2, _f2, _f2, _f2, _f1, _f2, _f1, _g1, _g1, _f1, _f2, _f2, _g2, _u1), Points)
STICK_NET = types.NamedTuple((_s2, _f1, _f1, _b1, _u1, _f1, _i1), Net)
STICK_ROOM = types.NamedTuple((_i1, _s3, _u2, _s2, _g2, _i1, _s3, _s2, _f3, _i1, _s2, _f3, _s1, _s1), Room)
STICK_TREE = types.NamedTuple(
    (_s2, _s2, _s1, _i1, _i1, _i1, _g2, _g2, _g2, _g2, _g2, _g2, _u1, _u1, _u1, _i1, _s1, _g2, _g2, _g1, _g1, _s2, _g2,
     types.int64[:, ::1], _i1), Tree,
)  # fmt: skip
STICK_TRIANGLES = types.NamedTuple((_s1, _u1, _f1, _f2, _g2), Triangles)
STICK_DESK = types.NamedTuple((types.int64[:, ::1], _s2, _g2), Desk)
