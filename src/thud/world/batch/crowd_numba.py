"""The Numba types of a crowd's tuples, by which kernel signatures name them (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.world.batch.crowd_types import CrowdAfter, CrowdBodies, CrowdJoints, CrowdPlan

_b1, _u1 = types.boolean[::1], types.uint8[::1]
_f1, _f2, _f3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_i1, _i2 = types.int64[::1], types.int64[:, ::1]

#: role, poses, velocity, angular_velocity, center, mass, gravity_scale, force, torque, locked, held, damping, inertia,
#: inverse_inertia, axes, moments
CROWD_BODIES = types.NamedTuple((_u1, _f2, _f2, _f2, _f2, _f1, _f1, _f2, _f2, _i1, _f2, _f2, _f2, _f2, _f2, _f2), CrowdBodies)

#: start, ends, kind, frames, reals, impulses, value, wrench
CROWD_JOINTS = types.NamedTuple((_i1, _i2, _i2, _f2, _f2, _f2, _f1, _f2), CrowdJoints)

#: start, h, substeps, soft, slop, share
CROWD_PLAN = types.NamedTuple((_i1, _f1, _i1, _f3, _f1, _f1), CrowdPlan)

#: poses, lost, touched, acceleration
CROWD_AFTER = types.NamedTuple((_f2, _b1, _f1, _f2), CrowdAfter)
