"""The Numba types that signatures mean by `rigid_state`, `solver_bodies` and `contact_points`."""

from __future__ import annotations

from numba import types

from thud.dynamics.rigid_state import RigidState
from thud.dynamics.solver_types import ContactPoints, SolverBodies

_ROWS, _INTS = types.float64[:, ::1], types.int64[:, ::1]

RIGID_STATE = types.NamedTuple((_ROWS, _ROWS, _ROWS, _ROWS, types.float64[::1], _ROWS, _ROWS, _ROWS, _ROWS), RigidState)
SOLVER_BODIES = types.NamedTuple((*(_ROWS,) * 8, types.uint8[::1]), SolverBodies)
CONTACT_POINTS = types.NamedTuple((_ROWS, _INTS), ContactPoints)
