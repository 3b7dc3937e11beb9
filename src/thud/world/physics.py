"""What happens after contact: forces on the bodies of a world, and its time steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, finite_array
from thud._core.gated import Gated
from thud.broadphase.boxes import STATIC
from thud.dynamics.tolerances import BOUNCE_THRESHOLD
from thud.errors import InvalidInputError
from thud.gates import as_flags, as_poses, as_positive, as_vector
from thud.pose import PoseLike
from thud.rotations import quaternion_from_rotation, vector_from_quaternion
from thud.world.body_gates import as_velocities, each, refuse_rows
from thud.world.jointed import WorldJoints
from thud.world.step_contacts import StepContacts
from thud.world.step_rows import RULES

if TYPE_CHECKING:
    from thud.world.step import GroupRoom, Moments


def _as_rule(value: str, name: str) -> str:
    if not isinstance(value, str) or value not in RULES:
        raise InvalidInputError(f"{name}: expected one of {', '.join(RULES)}, got {value!r}")
    return value


def _as_threshold(value: float | None, name: str) -> float:
    return as_positive(BOUNCE_THRESHOLD if value is None else value, name, zero=True)


def _as_seconds(value: float | None, name: str) -> float | None:
    return None if value is None else as_positive(value, name)


def _as_hook(value: Callable[[StepContacts], None] | None, name: str) -> Callable[[StepContacts], None] | None:
    if value is not None and not callable(value):
        raise InvalidInputError(f"{name}: expected a function of contacts, or None, got a {type(value).__name__}")
    return value


class WorldPhysics(WorldJoints):
    """The part of `World` that is about forces and time."""

    gravity = Gated(as_vector)
    friction_rule = Gated(_as_rule)
    restitution_rule = Gated(_as_rule)
    bounce_threshold = Gated(_as_threshold)
    sleep_after = Gated(_as_seconds)
    contact_hook = Gated(_as_hook)
    """Called in each step with the contacts that were found, before they are solved. It may write over `keep`, `normal`,
    `depth`, `friction`, `restitution` and `surface_velocity`."""
    time: float
    """Seconds that `step` has gone on by."""
    lost: Ints
    """Handles of bodies that the last step would have moved beyond the limits of poses: they stay where they were, at rest."""
    _moments: Moments | None
    _group_room: GroupRoom | None
    _substep: float
    """Seconds of the last sub-step; 0 before the first."""

    def _begin_physics(
        self,
        gravity: npt.ArrayLike,
        friction_rule: str,
        restitution_rule: str,
        bounce_threshold: float | None,
        sleep_after: float | None,
    ) -> None:
        """What `World` is told; each goes through its gate, now and whenever it is set."""
        self.gravity, self.friction_rule, self.restitution_rule = gravity, friction_rule, restitution_rule
        self.bounce_threshold, self.sleep_after, self.contact_hook = bounce_threshold, sleep_after, None
        self._resting: tuple[object, ...] | None = None
        self.time, self.lost = 0.0, np.empty(0, np.int64)
        self._moments, self._substep, self._group_room = None, 0.0, None
        self._islands: Ints = np.empty(0, np.int64)
        self._step_contacts = StepContacts.empty()
        self._gravity_before: Floats | None = None

    def _pushed(self, handles: npt.ArrayLike, value: npt.ArrayLike, name: str) -> tuple[Ints, Floats]:
        """The gate of forces: rows and (N, 3)."""
        rows = self._bodies.rows(handles)
        found = each(as_velocities(value, name), len(rows), name, 2)
        still = (self._bodies.rules[rows, STATIC] != 0) | self._bodies.kinematic[rows]
        refuse_rows(still & found.any(axis=1), name, "acts on a static or kinematic body, which nothing pushes")
        return rows, found

    def _arms(self, rows: Ints, points: npt.ArrayLike | None) -> Floats:
        """(N, 3) from the centres of mass to points of the world; 0 for None."""
        if points is None:
            return np.zeros((len(rows), 3))
        from thud.world.step import centers_of

        self._fill_masses()
        return each(as_velocities(points, "points"), len(rows), "points", 2) - centers_of(self._bodies, rows)

    def apply_force(self, handles: npt.ArrayLike, force: npt.ArrayLike, points: npt.ArrayLike | None = None) -> None:
        """Push bodies through the next step: (3,) or (N, 3) newtons, world frame, at the centres of mass or at points (3,) or
        (N, 3) of the world. Forces add up, and end with the step."""
        rows, found = self._pushed(handles, force, "force")
        arms = self._arms(rows, points)
        np.add.at(self._bodies.force, rows, found)
        np.add.at(self._bodies.torque, rows, np.cross(arms, found))

    def apply_torque(self, handles: npt.ArrayLike, torque: npt.ArrayLike) -> None:
        """Turn bodies through the next step: (3,) or (N, 3) newton metres about their centres of mass, world frame."""
        rows, found = self._pushed(handles, torque, "torque")
        np.add.at(self._bodies.torque, rows, found)

    def apply_impulse(self, handles: npt.ArrayLike, impulse: npt.ArrayLike, points: npt.ArrayLike | None = None) -> None:
        """Change the velocities of bodies now: (3,) or (N, 3) newton seconds, world frame, at the centres of mass or at points
        (3,) or (N, 3) of the world. A body that is named twice is pushed twice."""
        from thud.world.step import push_now

        rows, found = self._pushed(handles, impulse, "impulse")
        self._fill_masses()
        push_now(self._bodies, rows, found, self._arms(rows, points))

    def damping(self, handles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
        """(N,) and (N,) linear and angular damping, 1/s."""
        found = self._bodies.damping[self._rows(handles)]
        return found[:, 0], found[:, 1]

    def set_damping(self, handles: npt.ArrayLike, linear: npt.ArrayLike = 0.0, angular: npt.ArrayLike = 0.0) -> None:
        """Let velocities fade: one or N rates, 1/s, of at least 0. Without forces a velocity falls to 1/e in 1 / rate s."""
        rows = self._bodies.rows(handles)
        for column, (value, name) in enumerate(((linear, "linear"), (angular, "angular"))):
            rate = each(finite_array(value, name), len(rows), name)
            refuse_rows(rate < 0.0, name, "is negative; expected a rate of at least 0")
            self._bodies.damping[rows, column] = rate
        self._disturb(rows)

    def gravity_scale(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N,) by how much gravity acts on bodies."""
        return self._bodies.gravity_scale[self._rows(handles)]

    def set_gravity_scale(self, handles: npt.ArrayLike, scale: npt.ArrayLike) -> None:
        """Let gravity act on bodies more or less: one or N numbers, 0 for not at all."""
        rows = self._bodies.rows(handles)
        self._bodies.gravity_scale[rows] = each(finite_array(scale, "scale"), len(rows), "scale")
        self._disturb(rows)

    def turning_friction(self, handles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
        """(N,) and (N,) torsional and rolling friction, metres."""
        found = self._bodies.turning_friction[self._rows(handles)]
        return found[:, 0], found[:, 1]

    def set_turning_friction(
        self, handles: npt.ArrayLike, torsional: npt.ArrayLike = 0.0, rolling: npt.ArrayLike = 0.0
    ) -> None:
        """Let contacts resist turns: one or N lengths, metres, of at least 0. The greatest torque about a contact's normal is
        its normal force times `torsional`, about its tangents times `rolling`. Those of two bodies combine by
        `friction_rule`."""
        rows = self._bodies.rows(handles)
        for column, (value, name) in enumerate(((torsional, "torsional"), (rolling, "rolling"))):
            length = each(finite_array(value, name), len(rows), name)
            refuse_rows(length < 0.0, name, "is negative; expected a length of at least 0")
            self._bodies.turning_friction[rows, column] = length
        self._disturb(rows)

    def surface_velocity(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N, 3) m/s, world frame."""
        return self._bodies.surface_velocity[self._rows(handles)]

    def set_surface_velocity(self, handles: npt.ArrayLike, velocity: npt.ArrayLike) -> None:
        """Let the surfaces of bodies run, as conveyor belts do: (3,) or (N, 3) m/s past the body, world frame. What lies on
        them is dragged along by friction."""
        rows = self._bodies.rows(handles)
        self._bodies.surface_velocity[rows] = each(as_velocities(velocity, "velocity"), len(rows), "velocity", 2)
        self._disturb(rows)

    def locked(self, handles: npt.ArrayLike | None = None) -> tuple[Bools, Bools]:
        """(N, 3) and (N, 3) axes of the world along which, and about which, bodies do not move."""
        bits = self._bodies.locked[self._rows(handles), None] >> np.arange(6) & 1 != 0
        return bits[:, :3], bits[:, 3:]

    def set_locked(self, handles: npt.ArrayLike, along: npt.ArrayLike = False, about: npt.ArrayLike = False) -> None:
        """Keep bodies from moving along and turning about axes of the world: one bool for all three, (3,) or (N, 3). A body
        of a plane game in x and y: `along=(False, False, True), about=(True, True, False)`. Centres of mass are held where
        they are now, or where they are placed later."""
        from thud.world.step import centers_of

        rows = self._bodies.rows(handles)
        flags = []
        for value, name in ((along, "along"), (about, "about")):
            given = as_flags(value, name)
            if given.ndim > 2 or (given.ndim and given.shape[-1] != 3):
                raise InvalidInputError(f"{name}: expected a bool, (3,) or (N, 3) bools, got shape {given.shape}")
            if given.ndim == 2 and len(given) not in (1, len(rows)):
                raise InvalidInputError(f"{name}: expected {len(rows)} rows or one, got {len(given)}")
            flags.append(np.broadcast_to(given, (len(rows), 3)))
        self._bodies.locked[rows] = (np.concatenate(flags, axis=1) << np.arange(6)).sum(axis=1)
        self._fill_masses()
        self._bodies.held[rows] = centers_of(self._bodies, rows)
        self._disturb(rows)

    def drive_to(self, handles: npt.ArrayLike, poses: PoseLike, dt: float) -> None:
        """Give kinematic bodies the velocities that bring them to one or N poses in a step of dt seconds."""
        rows, seconds = self._bodies.rows(handles), as_positive(dt, "dt")
        refuse_rows(~self._bodies.kinematic[rows], "handles", "is not kinematic; set_kinematic(handles, True) first")
        target = as_poses(poses, "poses")
        if len(target) not in (1, len(rows)):
            raise InvalidInputError(f"poses: expected {len(rows)} poses or one, got {len(target)}")
        before = self._bodies.poses[rows]
        turn = target[:, :9].reshape(-1, 3, 3) @ np.swapaxes(before[:, :9].reshape(-1, 3, 3), 1, 2)
        spin = vector_from_quaternion(quaternion_from_rotation(turn.reshape(-1, 9))) / seconds
        center = np.nan_to_num(self._bodies.center_of_mass[rows])
        # The solver moves the centre of mass in a straight line: its velocity, then that of the frame's origin.
        arm = np.einsum("nij,nj->ni", before[:, :9].reshape(-1, 3, 3), center)
        end = np.einsum("nij,nj->ni", np.broadcast_to(target[:, :9].reshape(-1, 3, 3), (len(rows), 3, 3)), center)
        middle = (target[:, 9:] + end - before[:, 9:] - arm) / seconds
        self._bodies.angular_velocity[rows] = spin
        self._bodies.velocity[rows] = middle - np.cross(spin, arm)

    def step_contacts(self) -> StepContacts:
        """The contacts of the last step, as they were solved, with the impulses that they gave."""
        return self._step_contacts

    def asleep(self, handles: npt.ArrayLike | None = None) -> Bools:
        """(N,) bodies that the last step left at rest and out of the next one, until something disturbs them."""
        return self._bodies.asleep[self._rows(handles)]

    def wake(self, handles: npt.ArrayLike | None = None) -> None:
        """Let bodies take part in the next step, with all that they touch; by default all."""
        rows = self._rows(handles)
        self._bodies.asleep[rows], self._bodies.calm[rows] = False, 0.0
        self._resting = None

    def islands(self) -> Ints:
        """(N,) of all bodies by their rows: which of them hang together by contacts and joints, as of the last step. An
        island has the handle of its first body; bodies that nothing moves have -1."""
        found = np.full(self._bodies.used, -1)
        count = min(len(self._islands), len(found))
        found[:count] = self._islands[:count]
        found = np.where(found >= 0, self._bodies.handles(np.maximum(found, 0)), -1)
        return found[self._bodies.living()]

    def energy(self) -> tuple[float, float]:
        """(kinetic, potential) energy of the bodies that move freely, joules; the potential is 0 at the world's origin."""
        from thud.world.step import energy_of

        self._fill_masses()
        return energy_of(self._bodies, self.gravity)

    def _fill_masses(self) -> None:
        """Bodies that move freely and were given no mass get that of their shape at 1,000 kg / m^3."""
        from thud.world.step import fill_masses

        fill_masses(self._bodies, self._shapes)

    def step(self, dt: float, substeps: int = 4) -> None:
        """Go on by dt seconds: gravity, forces, joints, contacts with friction and restitution.

        Bodies that are neither static nor kinematic move freely. One that was given no mass gets that of its shape at
        1,000 kg / m^3. Kinematic bodies move by their velocities. Sensors report and push nothing.

        Parameters
        ----------
        dt : seconds; 1/60 is usual
        substeps : how often the solver divides it: more are stiffer, and cost as much more
        """
        from thud.world.step import step

        if isinstance(substeps, bool) or not isinstance(substeps, (int, np.integer)) or substeps < 1:
            raise InvalidInputError(f"substeps: expected a whole number of at least 1, got {substeps!r}")
        world: Any = self
        step(world, as_positive(dt, "dt"), int(substeps))
