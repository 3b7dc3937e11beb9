"""What the solver works on: bodies and contacts as flat arrays, a row each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints

Bytes = npt.NDArray[np.uint8]

# Columns of SolverBodies.reals: centre of mass, velocity, angular velocity (world frame), inverse mass, inverse inertia in the
# world's frame (row-major, symmetric).
X, V, W, INVERSE_MASS, WORLD_INVERSE = 0, 3, 6, 9, 10
BODY = 19

# Columns of ContactPoints.reals: normal from A to B and two tangents (world frame, as at the begin of the step); arms from the
# centres of mass to the point (world frame, likewise; body frames); what separation and arms differ by; effective masses along
# the normal and across it; friction and restitution; approach speed where they met, or at the begin; impulses along normal and
# tangents, and the largest along the normal; stiffness and damping of the contact: rate of the bias, scale of the mass, scale
# of the impulse; the usual normal impulse.
(
    NORMAL, TANGENT_1, TANGENT_2, ARM_A, ARM_B, LOCAL_A, LOCAL_B, SEPARATION, NORMAL_MASS, TANGENT_MASS, FRICTION, RESTITUTION,
    APPROACH, IMPULSE, IMPULSE_1, IMPULSE_2, LARGEST, BIAS_RATE, MASS_SCALE, IMPULSE_SCALE, USUAL,
) = (0, 3, 6, 9, 12, 15, 18, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34)  # fmt: skip
POINT = 35


class SolverBodies(NamedTuple):
    """Bodies by their rows; those that do not respond have an inverse mass of 0."""

    reals: Floats
    """(N, BODY)"""
    rotation: Floats
    """(N, 9) from the body's frame to the world's."""
    inertia: Floats
    """(N, 9) about the centre of mass, body frame."""
    inverse_inertia: Floats
    """(N, 9) body frame."""
    axes: Floats
    """(N, 9) rotation from the frame of the principal axes to the body's."""
    moments: Floats
    """(N, 3) principal moments."""
    acceleration: Floats
    """(N, 6) of gravity and forces, linear and angular, world frame; the angular one is a torque."""
    damping: Floats
    """(N, 2) linear and angular, 1/s."""
    touched: Bytes
    """(N,) whether a contact pushes the body."""


class ContactPoints(NamedTuple):
    """Points of contact between bodies."""

    reals: Floats
    """(M, POINT)"""
    rows: Ints
    """(M, 2) bodies A and B."""
