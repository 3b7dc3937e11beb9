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
from thud.particles.colliders.tolerances import PLANAR_SINE

# Kinds that kernels dispatch on; up to POLYGON they are planar.
PLANE, RECTANGLE, DISC, POLYGON, QUADRIC = range(5)

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
    return Element(QUADRIC, origin, numbers, box, size, clip=clip)


def box_of(points: Floats) -> Floats:
    """(6,) box of (K, 3) points."""
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def any_tangents(normal: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors that make a right-handed frame with a unit normal; the same ones for the same normal."""
    other = np.eye(3)[int(np.argmin(np.abs(normal)))]
    u = np.cross(other, normal)
    u /= np.linalg.norm(u)
    return u, np.cross(normal, u)
