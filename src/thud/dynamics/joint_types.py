"""Joints as the solver has them: flat arrays, a row each."""

from __future__ import annotations

from typing import NamedTuple

from thud._core.arrays import Floats, Ints

#: Kinds. A joint has a frame in each of its bodies, whose z axis is the hinge's axis, the slider's direction, the ball's twist.
DISTANCE, BALL, HINGE, SLIDER, FIXED = range(5)

#: Axes of the world along which a body does not move: no joint that is asked for. Its bits are in LENGTH.
LOCKED = 5

# Columns of JointRows.reals: length of a rod; limits of what a joint is free to do (metres or radians); greatest swing of a
# ball; motor: kind (0 none, 1 speed, 2 position), target, greatest force or torque, stiffness and damping; softness of the
# joint itself: stiffness and damping, 0 for rigid.
LENGTH, LOWER, UPPER, SWING, MOTOR, TARGET, STRENGTH, MOTOR_STIFFNESS, MOTOR_DAMPING, STIFFNESS, DAMPING = range(11)
REALS = 11

NO_MOTOR, SPEED, POSITION = 0.0, 1.0, 2.0

# Columns of JointRows.impulses: of up to six equations, of the lower limit, the upper one, the swing's, the motor.
LOW, HIGH, SWUNG, DRIVEN = 6, 7, 8, 9
IMPULSES = 10

# Columns of JointRows.work: eight rows of a Jacobian, each linear part, angular part of A, angular part of B: six equations,
# the free axis, the swing; Cholesky factor of the equations' response (lower triangle, row by row; inverse diagonal);
# responses of axis and swing with the equations in force; angle of the swing; right side; what the equations answer to axis
# and swing; impulses along all eight rows that lead bodies back for the while of a sub-step.
AXIS_ROW, SWING_ROW = 6, 7
FACTOR, AXIS_RESPONSE, SWING_RESPONSE, SWING_ANGLE, RIGHT, AXIS_ANSWER, SWING_ANSWER, LEAD = 72, 93, 94, 95, 96, 102, 108, 114
WORK = 122


class JointRows(NamedTuple):
    """Joints by their rows."""

    rows: Ints
    """(J, 2) bodies A and B."""
    kind: Ints
    """(J, 2) kind, number of equations."""
    frames: Floats
    """(J, 24) frame of the joint in A and in B: rotation and origin, body frames, from the centres of mass."""
    reals: Floats
    """(J, REALS)"""
    impulses: Floats
    """(J, IMPULSES) of the last sub-step."""
    value: Floats
    """(J,) what the joint is free to do: length, twist, angle (turns are counted), displacement."""
    wrench: Floats
    """(J, 6) impulse and angular impulse about the joint on B, world frame, over the step."""
    work: Floats
    """(J, WORK)"""
