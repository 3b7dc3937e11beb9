"""What the solver works on: bodies as rows, contacts as groups of four that share no body which moves."""

from __future__ import annotations

from typing import NamedTuple

from thud._core.arrays import Floats, Ints

# Columns of SolverBodies.reals, in fours that are read and written together: velocity, angular velocity (world frame), inverse
# mass, whether something pushes the body (1 or 0); inverse inertia in the world's frame (xx, xy, xz, yy, yz, zz), bits of
# locked axes; centre of mass.
V, W, INVERSE_MASS, TOUCHED, WORLD_INVERSE, LOCKS, X = 0, 3, 6, 7, 8, 14, 16
BODY = 20

# Rows of ContactGroups.reals of a group: of a patch (up to POINTS points with one normal) the normal from A to B, a tangent
# (world frame, as at the begin of the step), the way from A's centre of mass to B's at the begin, friction, restitution;
# stiffness and damping as rate of the bias, scale of the mass, scale of the impulse; how fast gravity and forces part the two
# along the normal (m / s^2); velocity of the surfaces along the two tangents; coefficients of torsional and rolling friction
# (metres), their impulses (about the normal, about the tangents), effective masses; radii of curvature of A and B, 0 for
# corners, edges and flat faces; where between A's point (0) and B's (1) both are pushed.
(
    NORMAL, TANGENT, BETWEEN, FRICTION, RESTITUTION, BIAS_RATE, MASS_SCALE, IMPULSE_SCALE, PULL, SURFACE_1, SURFACE_2, TWISTING,
    ROLLING, TWIST, ROLL_1, ROLL_2, TWIST_MASS, ROLL_MASS, ROUND_A, ROUND_B, SHARE,
) = (0, 3, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)  # fmt: skip
PATCH = 27

# Then of each point: arms from both centres of mass to where they are pushed by now; the separation by now; effective masses
# along the normal and across it; impulses along normal and tangents, the usual one along the normal; arm from A's centre of
# mass and separation at the begin; sums of the impulses over the step; approach speed where they met, or at the begin, and the
# largest impulse along the normal.
(
    ARM_A, ARM_B, GAP, NORMAL_MASS, TANGENT_MASS, IMPULSE, IMPULSE_1, IMPULSE_2, USUAL, ARM, SEPARATION, SUM, SUM_1, SUM_2,
    APPROACH, LARGEST,
) = (0, 3, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 21)  # fmt: skip
POINT = 22

#: Most points of a patch. Four carry any load, but which four of six or eight would change from step to step: those left out
#: sink, are taken in for others, and nothing comes to rest. Two boxes have eight at most.
POINTS = 8


class SolverBodies(NamedTuple):
    """Bodies by their rows; those that do not respond have an inverse mass of 0. The last row is the world itself."""

    reals: Floats
    """(N, BODY)"""
    rotation: Floats
    """(N, 9) from the body's frame to the world's."""
    turn: Floats
    """(N, 9) what the body has turned by since the begin of the step, world frame."""
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
    lead: Floats
    """(N, 6) velocities that take errors of joints out, world frame; 0 but while they are found."""


class ContactGroups(NamedTuple):
    """Patches of contact, four by four; those of a colour share no body that moves."""

    reals: Floats
    """(R, 4) rows of numbers of four patches: those of a patch, then those of each point, group by group."""
    first: Ints
    """(G,) first row of each group."""
    rows: Ints
    """(G, 2, 4) bodies A and B of each lane; the world where a lane is empty."""
    points: Ints
    """(G,) most points of a lane."""
    colours: Ints
    """(C + 1,) first group of each colour."""


class ContactList(NamedTuple):
    """Patches of contact as they were found: A and B, and up to POINTS points in a row of `PointColumns`."""

    rows: Ints
    """(P, 4) body A, body B, first point, number of points."""
    reals: Floats
    """(P, 9) friction, restitution, torsional and rolling friction, velocity of B's surface past A's (world frame), radii of
    curvature of A and B."""


class PointColumns(NamedTuple):
    """Points of contact as they were found."""

    point: Floats
    normal: Floats
    """(M, 3) world frame."""
    depth: Floats
    """(M,) metres."""
    impulse: Floats
    """(M, 3) on B over the step, world frame; added to."""
    kept: Floats
    """(M, KEPT) what is known of the point from the step before (`KEPT`)."""


# Numbers of a point that are kept from step to step: its normal impulse, the friction impulse in the world's frame, the mean
# of its normal impulse over the last seconds, and of the first point of a patch the angular impulse of torsional and rolling
# friction.
PRESSED, RUBBED, USUALLY, TURNED = 0, 1, 4, 5
KEPT = 8
