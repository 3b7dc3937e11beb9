"""The state of N rigid bodies as arrays that kernels read and write, with the slides' symbols."""

from __future__ import annotations

from typing import NamedTuple

from thud._core.arrays import Floats


class RigidState(NamedTuple):
    """r, v, A, L of the centre of mass, and the bodies' constants. World frame but where it says so."""

    r: Floats
    """(N, 3) position of the centre of mass, metres."""
    v: Floats
    """(N, 3) its velocity, m/s."""
    A: Floats
    """(N, 9) rotation from the body's frame to the world's, row-major."""
    L: Floats
    """(N, 3) angular momentum about the centre of mass, kg m^2 / s."""
    mass: Floats
    """(N,) kg."""
    inertia: Floats
    """(N, 9) about the centre of mass, body frame, kg m^2."""
    inverse_inertia: Floats
    """(N, 9) its inverse, body frame."""
    axes: Floats
    """(N, 9) rotation from the frame of the principal axes to the body's."""
    moments: Floats
    """(N, 3) principal moments of inertia, ascending."""
