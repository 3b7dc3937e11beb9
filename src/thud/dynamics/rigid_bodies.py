"""`RigidBodies`: the slides' simulator for N free bodies at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud._core.threads import check_threads, run_rows
from thud.dynamics.inertia import check_inertia, inertia_of_points, inertia_of_shape, principal_axes
from thud.dynamics.integrator_names import INTEGRATORS
from thud.dynamics.rigid_state import RigidState
from thud.errors import InvalidInputError
from thud.gates import as_points, as_poses, as_positive, finite_array, one_or
from thud.pairing.families import as_shapes
from thud.pose import Pose, PoseLike
from thud.shapes.shape import Shape

#: `forces(time, bodies)` gives force and torque, (3,) or (N, 3) each.
Forces = Callable[[float, "RigidBodies"], tuple[npt.ArrayLike, npt.ArrayLike]]


class RigidBodies:
    """N rigid bodies under forces, without contact.

    State, world frame: `r` (N, 3) centres of mass, `v` (N, 3) their velocities, `A` (N, 3, 3) rotations, `L` (N, 3) angular
    momenta; constants `mass` (N,) and `inertia` (N, 3, 3) about the centre of mass in the body's frame. They may be written to.

    Parameters
    ----------
    mass : kg, one or (N,)
    inertia : (3, 3) or (N, 3, 3) about the centre of mass, body frame, kg m^2
    poses : one or N poses of the centres of mass
    velocity : (3,) or (N, 3) m/s
    angular_velocity : (3,) or (N, 3) rad/s, world frame
    """

    def __init__(
        self,
        mass: npt.ArrayLike,
        inertia: npt.ArrayLike,
        poses: PoseLike = None,
        *,
        velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        kg, moments = np.atleast_1d(finite_array(mass, "mass")), finite_array(inertia, "inertia")
        if kg.ndim != 1:
            raise InvalidInputError(f"mass: expected one number or (N,), got shape {kg.shape}")
        if not (kg > 0.0).all():
            raise InvalidInputError(
                f"mass: row {int(np.argmin(kg > 0.0))} is {kg[np.argmin(kg > 0.0)]:g}; expected positive numbers"
            )
        if moments.shape[-2:] != (3, 3) or moments.ndim > 3:
            raise InvalidInputError(f"inertia: expected shape (3, 3) or (N, 3, 3), got {moments.shape}")
        moments = moments.reshape(-1, 3, 3)
        check_inertia(moments, "inertia")
        rows = as_poses(poses, "poses")
        speed, spin = as_points(velocity, "velocity"), as_points(angular_velocity, "angular_velocity")
        given = {"mass": kg, "inertia": moments, "poses": rows, "velocity": speed, "angular_velocity": spin}
        count = max(len(array) for array in given.values())
        for name, array in given.items():
            if len(array) not in (1, count):
                raise InvalidInputError(f"{name}: expected {one_or(count)}, got {len(array)}")

        def whole(array: Floats, width: int) -> Floats:
            return np.array(np.broadcast_to(array.reshape(len(array), -1), (count, width)), order="C")

        a, body = whole(rows[:, :9], 9), whole(moments, 9)
        turn, matrix = a.reshape(-1, 3, 3), body.reshape(-1, 3, 3)
        momentum = np.einsum("nij,njk,nlk,nl->ni", turn, matrix, turn, whole(spin, 3))
        self._state = RigidState(
            whole(rows[:, 9:], 3), whole(speed, 3), a, momentum, whole(kg, 1).ravel(), body,
            np.ascontiguousarray(np.linalg.inv(matrix).reshape(-1, 9)), *principal_axes(matrix),
        )  # fmt: skip
        self.time = 0.0
        """Seconds that have been simulated."""

    @classmethod
    def of_shapes(
        cls, shapes: Shape | Sequence[Shape], poses: PoseLike = None, *, density: float = 1000.0, **state: Any
    ) -> RigidBodies:
        """Bodies of solid shapes of uniform density at N poses of the shapes' frames; `state` as for `RigidBodies`."""
        given = (shapes,) if isinstance(shapes, Shape) else as_shapes(shapes, "shapes")
        known = [inertia_of_shape(shape, density) for shape in given]
        centers = np.stack([one.center_of_mass for one in known])
        rows = as_poses(poses, "poses")
        at = Pose.from_rows(rows) @ Pose(centers)
        return cls(np.array([one.mass for one in known]), np.stack([one.inertia for one in known]), at, **state)

    @classmethod
    def of_points(cls, masses: npt.ArrayLike, points: npt.ArrayLike, poses: PoseLike = None, **state: Any) -> RigidBodies:
        """A body of connected point masses, at N poses of the frame that the points are given in."""
        known = inertia_of_points(masses, points)
        at = Pose.from_rows(as_poses(poses, "poses")) @ Pose(known.center_of_mass)
        return cls(known.mass, known.inertia, at, **state)

    def __len__(self) -> int:
        return len(self._state.mass)

    def __repr__(self) -> str:
        return f"RigidBodies({len(self)} bod{'y' if len(self) == 1 else 'ies'} after {self.time:g} s)"

    @property
    def r(self) -> Floats:
        """(N, 3) centres of mass, metres."""
        return self._state.r

    @property
    def v(self) -> Floats:
        """(N, 3) their velocities, m/s."""
        return self._state.v

    @property
    def A(self) -> Floats:
        """(N, 3, 3) rotations from the bodies' frames to the world's."""
        return self._state.A.reshape(-1, 3, 3)

    @property
    def L(self) -> Floats:
        """(N, 3) angular momenta about the centres of mass, world frame."""
        return self._state.L

    @property
    def mass(self) -> Floats:
        """(N,) kg."""
        return self._state.mass

    @property
    def inertia(self) -> Floats:
        """(N, 3, 3) about the centres of mass, bodies' frames. Do not write into it: its inverse and axes are kept."""
        return self._state.inertia.reshape(-1, 3, 3)

    def poses(self) -> Pose:
        """Of the centres of mass."""
        return Pose.from_rows(np.concatenate([self._state.A, self._state.r], axis=1))

    def angular_velocity(self) -> Floats:
        """(N, 3) omega = I^-1 L, rad/s, world frame."""
        from thud.dynamics.integrators import omega_rows

        found = np.empty((len(self), 3))
        run_rows(omega_rows, len(self), 1, self._state, found)
        return found

    def energy(self) -> Floats:
        """(N,) kinetic energy, m v^2 / 2 + omega . L / 2, joules."""
        from thud.dynamics.integrators import energy_rows

        found = np.empty(len(self))
        energy_rows(self._state, found)
        return found

    def point_motion(
        self,
        body: npt.ArrayLike,
        points: npt.ArrayLike,
        force: npt.ArrayLike = (0.0, 0.0, 0.0),
        torque: npt.ArrayLike = (0.0, 0.0, 0.0),
    ) -> tuple[Floats, Floats]:
        """(M, 3) velocities and (M, 3) accelerations of points of bodies, world frame: v + omega x r, and
        F / M + alpha x r + omega x (omega x r).

        Parameters
        ----------
        body : one or (M,) which body
        points : (3,) or (M, 3) from its centre of mass, body frame, metres
        force, torque : (3,) or (N, 3) that act on the bodies now, world frame
        """
        from thud.dynamics.integrators import point_rows

        at = as_points(points, "points")
        which = np.asarray(body)
        if which.dtype.kind not in "iu" or which.ndim > 1:
            raise InvalidInputError(f"body: expected whole numbers, one or (M,), got {body!r}")
        which = np.atleast_1d(which).astype(np.int64)
        if len(which) and (which.min() < 0 or which.max() >= len(self)):
            raise InvalidInputError(f"body: expected numbers from 0 to {len(self) - 1}, got {which.min()} to {which.max()}")
        count = max(len(at), len(which)) if len(at) and len(which) else 0
        for name, array in (("body", which), ("points", at)):
            if len(array) not in (1, count):
                raise InvalidInputError(f"{name}: expected {one_or(count)}, got {len(array)}")
        which, at = np.array(np.broadcast_to(which, (count,))), np.array(np.broadcast_to(at, (count, 3)), order="C")
        pushes = self._pushes(force, torque)
        velocity, acceleration = np.empty((count, 3)), np.empty((count, 3))
        run_rows(point_rows, count, 1, self._state, which, at, *pushes, velocity, acceleration)
        return velocity, acceleration

    def _pushes(self, force: npt.ArrayLike, torque: npt.ArrayLike) -> tuple[Floats, Floats]:
        rows = as_points(force, "force"), as_points(torque, "torque")
        for name, array in zip(("force", "torque"), rows, strict=True):
            if len(array) not in (1, len(self)):
                raise InvalidInputError(f"{name}: expected {one_or(len(self))}, got {len(array)}")
        return rows

    def step(
        self,
        h: float,
        force: npt.ArrayLike | Forces = (0.0, 0.0, 0.0),
        torque: npt.ArrayLike = (0.0, 0.0, 0.0),
        *,
        gravity: npt.ArrayLike = (0.0, 0.0, 0.0),
        integrator: str = "semi_implicit",
        steps: int = 1,
        threads: int | None = None,
    ) -> None:
        """Go on by `steps` time steps of h seconds.

        Parameters
        ----------
        h : seconds
        force : (3,) or (N, 3) newtons, world frame, constant over the call; or a function of time and bodies that gives force
            and torque anew: at the beginning of each step, by "rk4" four times a step
        torque : (3,) or (N, 3) newton metres about the centres of mass, world frame
        gravity : (3,) m / s^2
        integrator : "semi_implicit", "slides" (explicit Euler as in the slides), "rk4" or "implicit_gyroscopic"
        steps : how many
        threads : how many to use; default all cores
        """
        from thud.dynamics.integrators import integrate_rows

        check_threads(threads)
        h = as_positive(h, "h")
        if integrator not in INTEGRATORS:
            raise InvalidInputError(f"integrator: expected one of {', '.join(INTEGRATORS)}, got {integrator!r}")
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
            raise InvalidInputError(f"steps: expected a whole number of at least 0, got {steps!r}")
        weight = self.mass[:, None] * as_points(gravity, "gravity")
        if callable(force):
            for _ in range(steps):
                if integrator == "rk4":
                    self._rk4_step(h, force, weight)
                else:
                    pushes = _with(self._pushes(*force(self.time, self)), weight)
                    run_rows(integrate_rows, len(self), threads, self._state, *pushes, h, 1, INTEGRATORS[integrator])
                self.time += h
            return
        pushes = self._pushes(force, torque)
        run_rows(
            integrate_rows, len(self), threads, self._state, *_with(pushes, weight), h, int(steps), INTEGRATORS[integrator]
        )
        self.time += steps * h

    def _rk4_step(self, h: float, force: Forces, weight: Floats) -> None:
        """Classical Runge-Kutta with forces that depend on state and time: four slopes of r, v, A, L."""
        begin = [np.array(column) for column in self._state[:4]]
        total = [np.zeros_like(column) for column in begin]
        slopes = [np.zeros_like(column) for column in begin]
        time = self.time
        for share, weighed in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            for column, start, slope in zip(self._state[:4], begin, slopes, strict=True):
                column[...] = start + share * h * slope
            self.time = time + share * h
            pushes = _with(self._pushes(*force(self.time, self)), weight)
            omega = self.angular_velocity()
            spin = np.cross(omega[:, :, None], self.A, axisa=1, axisb=1, axisc=1).reshape(-1, 9)
            slopes = [self.v.copy(), np.broadcast_to(pushes[0], self.v.shape) / self.mass[:, None], spin]
            slopes.append(np.broadcast_to(pushes[1], self.L.shape))
            for sums, slope in zip(total, slopes, strict=True):
                sums += weighed * slope
        for column, start, sums in zip(self._state[:4], begin, total, strict=True):
            column[...] = start + h / 6.0 * sums
        u, _s, vt = np.linalg.svd(self.A)
        self.A[...] = u @ vt
        self.time = time


def _with(pushes: tuple[Floats, Floats], weight: Floats) -> tuple[Floats, Floats]:
    """Forces and torques, weight added."""
    return np.ascontiguousarray(pushes[0] + weight), pushes[1]
