"""The Numba types of the named tuples in `types.py`, by which kernel signatures name them (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.dynamics.sticks.types import Found, Net, Pairs, Points, Room, Tree

_f1, _f2 = types.float64[::1], types.float64[:, ::1]
_i1, _s1, _s2 = types.int64[::1], types.int32[::1], types.int32[:, ::1]
_g1, _u1, _b1 = types.float32[::1], types.uint8[::1], types.int8[::1]

STICK_POINTS = types.NamedTuple((_f2, _f2, _f2, _f2, _f2, _f1, _f2, _f2, _f1, _g1), Points)
STICK_NET = types.NamedTuple((_s2, _f1, _f1, _b1, _u1, _f1, _i1), Net)
STICK_PAIRS = types.NamedTuple((_s2, _u1, _s1, _g1), Pairs)
STICK_ROOM = types.NamedTuple((_i1, _s1, _f2, _i1, _s1, _f2, _s1), Room)
STICK_TREE = types.NamedTuple((_s2, _u1, _f2, _f2), Tree)
STICK_FOUND = types.NamedTuple((_i1, types.int32[:, :, ::1], types.uint8[:, ::1], _s2, types.float32[:, ::1]), Found)
