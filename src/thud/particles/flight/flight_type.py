"""The Numba type of `FlightRows`: what kernel signatures mean by `flights` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.particles.flight.flight_rows import FlightRows

_f2, _i2, _f1, _u1 = types.float64[:, ::1], types.int64[:, ::1], types.float64[::1], types.uint8[::1]

FLIGHTS = types.NamedTuple((_i2, _f2, _f2, _f2, _i2, _f1, _i2, _f2, _u1, _f2), FlightRows)
