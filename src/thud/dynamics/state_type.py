"""The Numba type that signatures mean by `rigid_state`."""

from __future__ import annotations

from numba import types

from thud.dynamics.rigid_state import RigidState

_ROWS = types.float64[:, ::1]

RIGID_STATE = types.NamedTuple((_ROWS, _ROWS, _ROWS, _ROWS, types.float64[::1], _ROWS, _ROWS, _ROWS, _ROWS), RigidState)
