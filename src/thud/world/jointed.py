"""Joints of a world: made, driven, read, removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, finite_array
from thud.broadphase.boxes import STATIC
from thud.dynamics import joint_types as at
from thud.errors import InvalidInputError
from thud.world.body_gates import each, refuse_rows
from thud.world.body_rows import ROW_MASK
from thud.world.columns import BodyColumns
from thud.world.joint_table import WORLD, JointTable

if TYPE_CHECKING:
    from thud.dynamics.joints import Joint, Motor

_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


class WorldJoints(BodyColumns):
    """The part of `World` that is about joints."""

    _joints: JointTable
    broken: Ints
    """Handles of joints that broke in the last step."""

    def _begin_joints(self) -> None:
        self._joints, self.broken = JointTable(), np.empty(0, np.int64)
        self._parted: Ints | None = None

    def add_joint(self, joint: Joint, body: int, to: int | None = None) -> int:
        """Join two bodies, as they are placed now; returns the joint's handle.

        Parameters
        ----------
        joint : `thud.dynamics.Distance`, `Ball`, `Hinge`, `Slider` or `Fixed`
        body, to : handles; without `to` the body is joined to the world. Angle and displacement are those of `body` relative to
            `to`. The two no longer collide, in `step` nor in other queries of pairs, unless the joint says `collide`
        """
        from thud.dynamics.joints import joint_numbers

        numbers = joint_numbers(joint)
        rows = [self._bodies.one_row(body, "body")]
        if to is not None:
            rows.append(self._bodies.one_row(to, "to"))
        if len(set(rows)) != len(rows):
            raise InvalidInputError("to: is the same body; expected another one, or None for the world")
        still = (self._bodies.rules[rows, STATIC] != 0) | self._bodies.kinematic[rows]
        if still.all():
            raise InvalidInputError("body, to: neither moves freely; expected one that is not static or kinematic")
        poses = [self._bodies.poses[row] for row in rows]
        found = self._joints.add(
            numbers, (WORLD if to is None else int(to), int(body)), [_IDENTITY if to is None else poses[1], poses[0]]
        )
        self._joints_changed()
        self._wake_ends(np.array(rows))
        return found

    def remove_joint(self, joints: npt.ArrayLike) -> None:
        """Take one or N joints out. The joints of a body go with it."""
        keep = np.ones(len(self._joints), np.bool_)
        keep[self._joints.rows(joints)] = False
        self._wake_jointed(~keep)
        self._joints.keep(keep)
        self._joints_changed()

    def _joints_changed(self) -> None:
        """Pairs that do not collide are others now, and bodies hang on other ones."""
        self._parted = None
        self._joints.changes += 1
        self._rules: npt.NDArray[np.uint64] | None = None

    def joints(self) -> Ints:
        """(J,) handles of all joints, in the order in which they were made."""
        return self._joints.handle.copy()

    def _joint_rows(self, joints: npt.ArrayLike | None) -> Ints:
        return np.arange(len(self._joints)) if joints is None else self._joints.rows(joints)

    def joint_bodies(self, joints: npt.ArrayLike | None = None) -> Ints:
        """(J, 2) handles of `body` and `to`, -1 for the world; of all joints by default."""
        return np.ascontiguousarray(self._joints.bodies[self._joint_rows(joints)][:, ::-1])

    def joint_values(self, joints: npt.ArrayLike | None = None) -> Floats:
        """(J,) as of the last step: a hinge's angle, turns counted, and a ball's twist (radians), a slider's displacement, a
        distance (metres); 0 of a fixed joint."""
        return self._joints.value[self._joint_rows(joints)]

    def joint_loads(self, joints: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
        """(J, 3) force, N, and (J, 3) torque about the joint's point, N m, of joints on their `body`: means over the last step,
        world frame."""
        found = self._joints.load[self._joint_rows(joints)]
        return found[:, :3], found[:, 3:]

    def set_motor(self, joints: npt.ArrayLike, motor: Motor | None) -> None:
        """Drive one or N joints by another motor, or by none."""
        from thud.dynamics.joints import put_motor

        reals = np.zeros(at.REALS)
        put_motor(reals, motor)
        rows = self._joints.rows(joints)
        if motor is not None and (self._joints.kind[rows, 0] == at.FIXED).any():
            raise InvalidInputError("joints: a fixed joint takes no motor")
        chosen = slice(at.MOTOR, at.MOTOR_DAMPING + 1)
        self._joints.reals[rows, chosen] = reals[chosen]
        self._joints.impulses[rows, at.DRIVEN] = 0.0
        self._joints.changes += 1
        self._wake_jointed(rows)

    def set_targets(self, joints: npt.ArrayLike, targets: npt.ArrayLike) -> None:
        """Give the motors of N joints other targets, one or N: speeds, or positions, as the motors are; all else of them stays,
        and the impulses too. What is asked to do as before is not woken."""
        rows = self._joints.rows(joints)
        fresh = each(finite_array(targets, "targets"), len(rows), "targets")
        refuse_rows(
            self._joints.reals[rows, at.MOTOR] == at.NO_MOTOR, "targets", "is of a joint without a motor; set_motor first"
        )
        self._put_targets(rows, fresh)

    def _put_targets(self, rows: Ints, fresh: Floats) -> Ints:
        """Returns the rows of joints whose targets are others now."""
        changed = self._joints.reals[rows, at.TARGET] != fresh
        rows = rows[changed]
        if len(rows):
            self._joints.reals[rows, at.TARGET] = fresh[changed]
            self._joints.changes += 1
            self._wake_jointed(rows)
        return rows

    def _wake_jointed(self, rows: npt.NDArray[Any]) -> None:
        """Wake the bodies of joints."""
        bodies = self._joints.bodies[rows]
        self._wake_ends(bodies[bodies != WORLD] & ROW_MASK)

    def _wake_ends(self, rows: Ints) -> None:
        """Wake bodies that are held in another way now. What they were calm for counts no more: in a short step a body that was
        let go is still slow."""
        self._bodies.asleep[rows], self._bodies.calm[rows] = False, 0.0

    def _collide(self, pairs: Ints) -> Bools | None:
        """(M,) which pairs no joint keeps from colliding; None for all."""
        if not len(self._joints) or not len(pairs):
            return None
        if self._parted is None:
            self._parted = self._joints.parted_pairs()
        if not len(self._parted):
            return None
        keys = (pairs[:, 0] << 32) | pairs[:, 1]
        place = np.minimum(np.searchsorted(self._parted, keys), len(self._parted) - 1)
        return self._parted[place] != keys
