"""The Numba types that signatures mean by `rigid_state`, `solver_bodies`, `contact_groups`, `joint_rows` and the like."""

from __future__ import annotations

from numba import types

from thud.dynamics.joint_types import JointRows
from thud.dynamics.rigid_state import RigidState
from thud.dynamics.solver_types import ContactGroups, ContactList, PointColumns, SolverBodies

_ROWS, _INTS = types.float64[:, ::1], types.int64[:, ::1]

RIGID_STATE = types.NamedTuple((_ROWS, _ROWS, _ROWS, _ROWS, types.float64[::1], _ROWS, _ROWS, _ROWS, _ROWS), RigidState)
SOLVER_BODIES = types.NamedUniTuple(_ROWS, 10, SolverBodies)
CONTACT_GROUPS = types.NamedTuple(
    (_ROWS, types.int64[::1], types.int64[:, :, ::1], types.int64[::1], types.int64[::1]), ContactGroups
)
CONTACT_LIST = types.NamedTuple((_INTS, _ROWS), ContactList)
POINT_COLUMNS = types.NamedTuple((_ROWS, _ROWS, types.float64[::1], _ROWS, _ROWS), PointColumns)
JOINT_ROWS = types.NamedTuple((_INTS, _INTS, _ROWS, _ROWS, _ROWS, types.float64[::1], _ROWS, _ROWS), JointRows)
