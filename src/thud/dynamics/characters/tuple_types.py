"""The Numba types of the named tuples in `types.py`, by which kernel signatures name them (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.dynamics.characters.types import Moved, Movers, Obstacles

_f1, _f2, _f3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_i1, _i2, _i3, _u1 = types.int64[::1], types.int64[:, ::1], types.int64[:, :, ::1], types.uint8[::1]

OBSTACLES = types.NamedTuple((_i1, _i2, _f2, _f2, _f2), Obstacles)
MOVERS = types.NamedTuple((_f2, _f2, _f2, _f2, _i1, _f1, _u1, _f2), Movers)
MOVED = types.NamedTuple((_f2, _f1, _u1, _f2, _f2, _i1, _u1, _i1, _i3, _f3), Moved)
