"""Joints between bodies, as they are asked for: `world.add_joint(thud.dynamics.Hinge((0, 0, 1), (0, 1, 0)), door, frame)`.

Points and axes are in the world's frame, where the bodies are when the joint is made. What a joint measures, angle or
displacement, is that of `body` relative to `to`, and 0 as it is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.dynamics import joint_types as at
from thud.errors import InvalidInputError
from thud.gates import as_flag, as_positive, as_vector

_ENDLESS = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Motor:
    """Drives what a joint is free to do: to a speed, or like a spring to a position.

    Parameters
    ----------
    speed : rad/s or m/s; instead of a position
    position : radians or metres; needs a stiffness, a damping or both
    force : the greatest, N or N m
    stiffness, damping : of the spring to `position`: N/m and N s/m, or N m/rad and N m s/rad
    """

    speed: float | None = None
    position: float | None = None
    force: float = np.inf
    stiffness: float = 0.0
    damping: float = 0.0

    def numbers(self) -> tuple[float, float, float, float, float]:
        """The gate: kind, target, force, stiffness, damping."""
        if (self.speed is None) == (self.position is None):
            raise InvalidInputError("motor: expected a speed or a position, one of the two")
        force = self.force if self.force == np.inf else as_positive(self.force, "motor: force", zero=True)
        stiffness = as_positive(self.stiffness, "motor: stiffness", zero=True)
        damping = as_positive(self.damping, "motor: damping", zero=True)
        if self.position is not None:
            if stiffness == 0.0 and damping == 0.0:
                raise InvalidInputError("motor: a position needs a stiffness or a damping, else nothing drives to it")
            return at.POSITION, _as_number(self.position, "motor: position"), force, stiffness, damping
        if stiffness != 0.0 or damping != 0.0:
            raise InvalidInputError("motor: stiffness and damping are of a position; a speed has its force alone")
        return at.SPEED, _as_number(self.speed, "motor: speed"), force, 0.0, 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What all joints take.

    Parameters
    ----------
    stiffness, damping : of the joint itself, N/m and N s/m (turns: N m/rad and N m s/rad). Both 0: it is rigid
    break_force, break_torque : N and N m; where a step's mean load is larger the joint is gone (`world.broken`)
    collide : whether the two bodies go on to collide
    """

    stiffness: float = 0.0
    damping: float = 0.0
    break_force: float = np.inf
    break_torque: float = np.inf
    collide: bool = False


@dataclass(frozen=True, slots=True)
class Distance(_Settings):
    """Keeps two points apart by a length, or within limits: a rod, a rope, and with a stiffness a spring.

    Parameters
    ----------
    point, point_to : (3,) where it is fixed to `body` and to `to`, metres, world frame
    length : metres; default: that of now
    limits : (least, greatest) length instead: (0, 2) is a rope of 2 m
    """

    point: npt.ArrayLike
    point_to: npt.ArrayLike
    length: float | None = None
    limits: tuple[float, float] | None = None
    motor: Motor | None = None

    kind: ClassVar[int] = at.DISTANCE


@dataclass(frozen=True, slots=True)
class Ball(_Settings):
    """Keeps two points together.

    Parameters
    ----------
    point : (3,) metres, world frame
    axis : (3,) of the body; `swing` bounds its tilt, `twist` the turn about it
    swing : greatest angle between the axis in `body` and in `to`, radians
    twist : (least, greatest) turn about the axis, radians
    """

    point: npt.ArrayLike
    axis: npt.ArrayLike = (0.0, 0.0, 1.0)
    swing: float = np.inf
    twist: tuple[float, float] = _ENDLESS
    motor: Motor | None = None

    kind: ClassVar[int] = at.BALL


@dataclass(frozen=True, slots=True)
class Hinge(_Settings):
    """Leaves a turn about an axis.

    Parameters
    ----------
    point, axis : (3,) and (3,) metres, world frame
    limits : (least, greatest) angle, radians; turns are counted
    motor : drives the angle
    """

    point: npt.ArrayLike
    axis: npt.ArrayLike
    limits: tuple[float, float] = _ENDLESS
    motor: Motor | None = None

    kind: ClassVar[int] = at.HINGE


@dataclass(frozen=True, slots=True)
class Slider(_Settings):
    """Leaves a displacement along an axis.

    Parameters
    ----------
    point, axis : (3,) and (3,) metres, world frame
    limits : (least, greatest) displacement, metres
    motor : drives the displacement
    """

    point: npt.ArrayLike
    axis: npt.ArrayLike
    limits: tuple[float, float] = _ENDLESS
    motor: Motor | None = None

    kind: ClassVar[int] = at.SLIDER


@dataclass(frozen=True, slots=True)
class Fixed(_Settings):
    """Leaves nothing: glue.

    Parameters
    ----------
    point : (3,) where its load is measured, metres, world frame; the joint is fixed as a whole
    """

    point: npt.ArrayLike

    kind: ClassVar[int] = at.FIXED


Joint = Distance | Ball | Hinge | Slider | Fixed


@dataclass(frozen=True, slots=True, eq=False)
class JointNumbers:
    """A joint that has passed its gate."""

    kind: int
    equations: int
    reals: Floats
    """(REALS,)"""
    origin: Floats
    origin_to: Floats
    """(3,) anchors of `body` and `to`, world frame."""
    frame: Floats
    """(3, 3) the joint's axes as columns, world frame."""
    breaks: tuple[float, float]
    collide: bool


def _as_number(value: Any, name: str) -> float:
    """One finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, bool) or not np.isfinite(number):
        raise InvalidInputError(f"{name}: expected a finite number, got {value!r}")
    return number


def _as_limits(given: Any, name: str) -> tuple[float, float]:
    """(least, greatest), either of which may be infinite."""
    try:
        least, greatest = (float(value) for value in given)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name}: expected (least, greatest), got {given!r}") from None
    if np.isnan(least) or np.isnan(greatest) or least > greatest or least == np.inf or greatest == -np.inf:
        raise InvalidInputError(f"{name}: expected least <= greatest, got {given!r}")
    return least, greatest


def _as_swing(given: float) -> float:
    swing = as_positive(given, "swing", zero=True)
    if swing > math.pi:
        raise InvalidInputError(
            f"swing: expected radians, at most pi, the greatest angle of two axes, got {given!r}; see math.radians"
        )
    return swing


def _as_axis(given: npt.ArrayLike) -> Floats:
    axis = as_vector(given, "axis")
    length = float(np.linalg.norm(axis))
    if not length > 0.0:
        raise InvalidInputError("axis: expected a direction, got (0, 0, 0)")
    return axis / length


def frame_about(axis: Floats) -> Floats:
    """(3, 3) right-handed axes as columns, the third along `axis`."""
    side = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(side, axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def joint_numbers(joint: Joint) -> JointNumbers:
    """The gate of joints."""
    if not isinstance(joint, (Distance, Ball, Hinge, Slider, Fixed)):
        raise InvalidInputError(f"joint: expected a Distance, Ball, Hinge, Slider or Fixed, got a {type(joint).__name__}")
    reals = np.zeros(at.REALS)
    reals[at.LOWER], reals[at.UPPER], reals[at.SWING] = -np.inf, np.inf, np.inf
    reals[at.STIFFNESS] = as_positive(joint.stiffness, "stiffness", zero=True)
    reals[at.DAMPING] = as_positive(joint.damping, "damping", zero=True)
    origin = as_vector(joint.point, "point")
    origin_to, frame = origin, np.eye(3)
    equations = {at.BALL: 3, at.HINGE: 5, at.SLIDER: 5, at.FIXED: 6, at.DISTANCE: 1}[joint.kind]
    if isinstance(joint, Distance):
        origin_to = as_vector(joint.point_to, "point_to")
        equations = _distance(joint, reals, float(np.linalg.norm(origin - origin_to)))
    elif isinstance(joint, Ball):
        frame = frame_about(_as_axis(joint.axis))
        reals[at.LOWER], reals[at.UPPER] = _as_limits(joint.twist, "twist")
        reals[at.SWING] = joint.swing if joint.swing == np.inf else _as_swing(joint.swing)
    elif not isinstance(joint, Fixed):
        frame = frame_about(_as_axis(joint.axis))
        reals[at.LOWER], reals[at.UPPER] = _as_limits(joint.limits, "limits")
    if not isinstance(joint, Fixed) and joint.motor is not None:
        put_motor(reals, joint.motor)
    breaks = (
        joint.break_force if joint.break_force == np.inf else as_positive(joint.break_force, "break_force"),
        joint.break_torque if joint.break_torque == np.inf else as_positive(joint.break_torque, "break_torque"),
    )
    return JointNumbers(joint.kind, equations, reals, origin, origin_to, frame, breaks, as_flag(joint.collide, "collide"))


def _distance(joint: Distance, reals: Floats, now: float) -> int:
    """Length or limits; returns the number of equations."""
    if joint.limits is not None:
        if joint.length is not None or joint.stiffness != 0.0 or joint.damping != 0.0:
            raise InvalidInputError("limits: expected without length, stiffness and damping, which are of a rod or spring")
        reals[at.LOWER], reals[at.UPPER] = _as_limits(joint.limits, "limits")
        return 0
    reals[at.LENGTH] = now if joint.length is None else as_positive(joint.length, "length", zero=True)
    return 1


def put_motor(reals: Floats, motor: Motor | None) -> None:
    """A motor's numbers, or none."""
    if motor is None:
        reals[at.MOTOR : at.MOTOR_DAMPING + 1] = 0.0
        return
    if not isinstance(motor, Motor):
        raise InvalidInputError(f"motor: expected a thud.dynamics.Motor or None, got a {type(motor).__name__}")
    reals[at.MOTOR : at.MOTOR_DAMPING + 1] = motor.numbers()
