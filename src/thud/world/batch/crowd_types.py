"""Arrays of a crowd, N copies of a world of B rows and J joints, as its kernels take them: row k * B + i is row i of copy k."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints


class CrowdBodies(NamedTuple):
    """Columns of the table of bodies, N * B rows; as in `Bodies`."""

    role: npt.NDArray[np.uint8]
    """STILL, DRIVEN or FREE."""
    poses: Floats
    velocity: Floats
    angular_velocity: Floats
    center: Floats
    mass: Floats
    gravity_scale: Floats
    force: Floats
    torque: Floats
    locked: Ints
    held: Floats
    damping: Floats
    inertia: Floats
    inverse_inertia: Floats
    axes: Floats
    moments: Floats
    """As in `SolverBodies`."""


class CrowdJoints(NamedTuple):
    """Joints of all copies, copy by copy; as in `JointTable`."""

    start: Ints
    """(N + 1,) first joint of each copy."""
    ends: Ints
    """(J, 2) rows of `to` and `body` within their copy; B for the world itself."""
    kind: Ints
    frames: Floats
    reals: Floats
    impulses: Floats
    value: Floats
    wrench: Floats
    """(J, 6) impulse and angular impulse over the step; 0 of joints of which nothing moves."""


class CrowdPlan(NamedTuple):
    """What differs from copy to copy in a step; (N,) each."""

    start: Ints
    """(N + 1,) first patch of contact of each copy."""
    h: Floats
    """Seconds of a sub-step."""
    substeps: Ints
    soft: Floats
    """(N, 2, 3) of `contact_softness`."""
    slop: Floats
    """Metres of penetration that are left alone."""
    share: Floats
    """How much the last impulse counts in the usual load."""


class CrowdAfter(NamedTuple):
    """What a step leaves, N * B rows."""

    poses: Floats
    lost: Bools
    touched: Floats
    """1 where something pushed the body."""
    acceleration: Floats
    """(N * B, 3) of gravity and forces, m / s^2."""
