"""The Numba type of `ElementArrays`: what kernel signatures mean by `elements` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.particles.colliders.element_arrays import ElementArrays

_f2, _i2, _i1 = types.float64[:, ::1], types.int64[:, ::1], types.int64[::1]

ELEMENTS = types.NamedTuple((_i2, _f2, _f2, _f2, _f2, _f2, _i1, _i1, types.float64[::1]), ElementArrays)
