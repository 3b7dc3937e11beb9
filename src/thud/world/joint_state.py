"""The joints of a world as plain arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thud._core.arrays import Bools, Ints
from thud.dynamics import joint_types as at
from thud.errors import InvalidInputError
from thud.world.body_rows import ROW_BITS, ROW_MASK
from thud.world.joint_table import WORLD, JointTable
from thud.world.shape_state import check_rigid

#: Arrays of a state that are about joints: type and shape, -1 for any number of rows. As in `JointTable`.
JOINT_ARRAYS: dict[str, tuple[str, tuple[int, ...]]] = {
    "joint_handle": ("<i8", (-1,)),
    "joint_bodies": ("<i8", (-1, 2)),
    "joint_kind": ("<i8", (-1, 2)),
    "joint_frames": ("<f8", (-1, 24)),
    "joint_reals": ("<f8", (-1, at.REALS)),
    "joint_impulses": ("<f8", (-1, at.IMPULSES)),
    "joint_value": ("<f8", (-1,)),
    "joint_load": ("<f8", (-1, 6)),
    "joint_breaks": ("<f8", (-1, 2)),
    "joint_collide": ("|b1", (-1,)),
}

#: Equations of each kind that there may be.
_EQUATIONS = {at.DISTANCE: (0, 1), at.BALL: (3,), at.HINGE: (5,), at.SLIDER: (5,), at.FIXED: (6,)}


def joints_of(table: JointTable) -> dict[str, Any]:
    """The table's columns."""
    return {name: getattr(table, name.removeprefix("joint_")).copy() for name in JOINT_ARRAYS}


def put_joints(table: JointTable, state: Mapping[str, Any], following: int) -> None:
    """The other way; `following` is the next handle."""
    for name in JOINT_ARRAYS:
        setattr(table, name.removeprefix("joint_"), state[name].copy())
    table.next = following


def check_joints(state: Mapping[str, Any], alive: Bools, generation: Ints, following: int) -> None:
    """Refuse what no world holds."""
    handle, bodies, kind, reals = (state[f"joint_{name}"] for name in ("handle", "bodies", "kind", "reals"))
    if any(len(state[name]) != len(handle) for name in JOINT_ARRAYS):
        raise InvalidInputError("joint_handle: expected as many rows in every array of joints")
    if (np.diff(handle) <= 0).any() or (len(handle) and not 0 <= handle[0] <= handle[-1] < following):
        raise InvalidInputError("joint_handle: expected ascending numbers below the next one")
    row, world = bodies & ROW_MASK, bodies == WORLD
    known = (row < len(alive)) & (bodies >= 0)
    inside = np.where(known, row, 0)
    if len(handle) and not len(alive):
        raise InvalidInputError("joint_bodies: expected handles of bodies")
    if len(handle):
        known &= alive[inside] & (generation[inside] == bodies >> ROW_BITS)
        if not (known | world).all() or not known[:, 1].all() or (bodies[:, 0] == bodies[:, 1]).any():
            raise InvalidInputError(
                "joint_bodies: expected handles of two bodies that are there, or -1 for the world as the first"
            )
    for number, equations in kind.tolist():
        if equations not in _EQUATIONS.get(number, ()):
            raise InvalidInputError(f"joint_kind: no joint is of kind {number} with {equations} equations")
    frames = state["joint_frames"]
    check_rigid(np.ascontiguousarray(frames.reshape(-1, 12)), "joint_frames")
    _check_numbers(state, reals)
    if (state["joint_collide"].view(np.uint8) > 1).any():
        raise InvalidInputError("joint_collide: expected bytes 0 and 1")


def _check_numbers(state: Mapping[str, Any], reals: np.ndarray) -> None:
    """Limits, motors and what the last step left."""
    for name in ("joint_impulses", "joint_value", "joint_load"):
        if not np.isfinite(state[name]).all():
            raise InvalidInputError(f"{name}: expected finite numbers")
    if not (state["joint_breaks"] > 0.0).all():
        raise InvalidInputError("joint_breaks: expected positive numbers")
    finite = [at.LENGTH, at.TARGET, at.MOTOR_STIFFNESS, at.MOTOR_DAMPING, at.STIFFNESS, at.DAMPING]
    least = [at.LENGTH, at.SWING, at.STRENGTH, at.MOTOR_STIFFNESS, at.MOTOR_DAMPING, at.STIFFNESS, at.DAMPING]
    lower, upper = reals[:, at.LOWER], reals[:, at.UPPER]
    fits = np.isfinite(reals[:, finite]).all() and (reals[:, least] >= 0.0).all() and (lower <= upper).all()
    fits = fits and (lower < np.inf).all() and (upper > -np.inf).all()
    if not fits or not np.isin(reals[:, at.MOTOR], (at.NO_MOTOR, at.SPEED, at.POSITION)).all():
        raise InvalidInputError("joint_reals: expected lengths, limits and motors as joints have them")
