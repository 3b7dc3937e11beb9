"""Elementary colliders, of which the others are made: a bounded piece of a plane or of a quadric, as numbers.

A planar element knows two vectors du, dv in its plane; (s, t) = (du . (p - origin), dv . (p - origin)) are its
coordinates, and say where an impact lies in its map. Its bounds c(p) >= 0 are given in them: a rectangle is 0 <= s, t <=
1; a disc s^2 + t^2 <= 1; a polygon its loops. A quadric is f(p) = X' A X + 2 g . X + J with X = p - origin, Eq. (3.8).
Either may be clipped by half-spaces.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.particles.colliders.tolerances import PLANAR_SINE, QUADRIC_ZERO

# Kinds that kernels dispatch on; up to POLYGON they are planar.
PLANE, RECTANGLE, DISC, POLYGON, QUADRIC = range(5)

# Singular quadrics. A cone's nappes meet in its apex: a path from one to the other has h of the sign of the inside, before and
# after. Two planes are crossed at once at their common line, a double plane anywhere, whatever the sign.
REGULAR, CONE_NEGATIVE, CONE_POSITIVE, TWO_PLANES, DOUBLE_PLANE = 0, -1, 1, 2, 3

#: All of space: the box of what has no end.
EVERYWHERE = np.array([-np.inf, -np.inf, -np.inf, np.inf, np.inf, np.inf])


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """One elementary collider, world frame."""

    kind: int
    origin: Floats
    """(3,) a point of the plane, or the quadric's own origin."""
    numbers: Floats
    """(9,) planar: unit normal N, du, dv. (10,) quadric: A00 A01 A02 A11 A12 A22, g (3), J."""
    box: Floats
    """(6,) lower and upper corner of what is left after clipping; infinite where it has no end."""
    size: float
    """A length of the order of the element's extent, metres, for the slack of its closed bounds."""
    loops: tuple[Floats, ...] = ()
    """Polygon: (K, 2) corners of each loop in (s, t), the outline and the holes; inside by the even-odd rule."""
    clip: Floats = field(default_factory=lambda: np.empty((0, 4)))
    """(C, 4) half-spaces that keep what has n . p <= offset."""
    singular: int = 0
    """What its singular points are, at which a path may pass through the surface without h changing its sign: REGULAR (none) to
    DOUBLE_PLANE."""
    line: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) unit vector: two planes: along their common line; a double plane: its normal; else 0."""


def planar(
    kind: int, origin: Floats, u: Floats, v: Floats, size: float, box: Floats, loops: tuple[Floats, ...] = ()
) -> Element:
    """A planar element from its origin and the edges of its (s, t) coordinates, which need not be at right angles."""
    normal = np.cross(u, v)
    length = float(np.linalg.norm(normal))
    if not length > PLANAR_SINE * float(np.linalg.norm(u) * np.linalg.norm(v)):
        raise InvalidInputError(f"edges: expected two that span a plane, got {u.tolist()} and {v.tolist()}")
    normal = normal / length
    # Dual vectors: du . u = 1, du . v = 0 and the other way round.
    du, dv = np.cross(v, normal), np.cross(normal, u)
    du, dv = du / (du @ u), dv / (dv @ v)
    return Element(kind, origin, np.concatenate([normal, du, dv]), box, size, loops)


def quadric(matrix: Floats, origin: Floats, box: Floats, size: float, clip: Floats) -> Element:
    """A quadric element from its symmetric 4x4 matrix about `origin`."""
    q = matrix
    numbers = np.array([q[0, 0], q[0, 1], q[0, 2], q[1, 1], q[1, 2], q[2, 2], q[0, 3], q[1, 3], q[2, 3], q[3, 3]])
    singular, line = singular_points(q)
    return Element(QUADRIC, origin, numbers, box, size, clip=clip, singular=singular, line=line)


def singular_points(matrix: Floats) -> tuple[int, Floats]:
    """Kind and line of the singular points of a quadric, by its rank: all that a cone, two planes and a double plane have.

    What is within QUADRIC_ZERO of 0, a part of what it is made of, is 0.
    """
    a, g, j = matrix[:3, :3], matrix[:3, 3], float(matrix[3, 3])
    values, axes = np.linalg.eigh(a)
    most = float(np.abs(values).max())
    large = np.abs(values) > QUADRIC_ZERO * most
    if most == 0.0:
        return REGULAR, np.zeros(3)
    local = axes.T @ g
    center = np.where(large, -local / np.where(large, values, 1.0), 0.0)
    constant = j + float(local @ center)
    if abs(constant) > QUADRIC_ZERO * (abs(j) + float(np.abs(local) @ np.abs(center))):
        return REGULAR, np.zeros(3)
    # Along the others f must not rise at all: else it is a paraboloid or a parabolic cylinder.
    reach = float(np.abs(center).max())
    if (np.abs(local[~large]) > QUADRIC_ZERO * max(most * reach, float(np.abs(local).max()))).any():
        return REGULAR, np.zeros(3)
    negative = int((values[large] < 0.0).sum())
    if large.sum() == 3 and negative in (1, 2):
        return (CONE_NEGATIVE if negative == 1 else CONE_POSITIVE), np.zeros(3)
    if large.sum() == 2 and negative == 1:
        return TWO_PLANES, axes[:, ~large][:, 0].copy()
    if large.sum() == 1:
        return DOUBLE_PLANE, axes[:, large][:, 0].copy()
    return REGULAR, np.zeros(3)


def box_of(points: Floats) -> Floats:
    """(6,) box of (K, 3) points."""
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def any_tangents(normal: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors that make a right-handed frame with a unit normal; the same ones for the same normal."""
    other = np.eye(3)[int(np.argmin(np.abs(normal)))]
    u = np.cross(other, normal)
    u /= np.linalg.norm(u)
    return u, np.cross(normal, u)
