"""Convex shapes and compounds as colliders: each is the planes and quadrics of its surface."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.pairing.families import PACKED, as_shape
from thud.pairing.leaves import leaves
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.element import Element
from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
from thud.particles.colliders.quadric import Quadric
from thud.pose import PoseLike, as_poses
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HALF_SPACE, HULL, SPHERE, Part, Shape


@dataclass(frozen=True, eq=False, repr=False)
class Solid(Collider):
    """The surface of a convex shape, or of the parts of a compound.

    Parameters
    ----------
    shape : Sphere, Box, Capsule, Cylinder, Cone, Ellipsoid, HalfSpace, ConvexHull, or a Compound of them
    pose : where it stands; None is the origin
    """

    shape: Shape
    pose: PoseLike = None
    pieces: tuple[Plane | Rectangle | Disc | Polygon | Quadric, ...] = field(default=(), init=False, repr=False)
    """What its surface is made of, world frame; the part of an impact is a place in it."""

    def __post_init__(self) -> None:
        self.check_response()
        row = as_poses(self.pose, "pose")
        if len(row) != 1:
            raise InvalidInputError(f"pose: expected one pose, got {len(row)}")
        object.__setattr__(self, "pieces", tuple(surface_pieces(self.shape, row[0])))

    def elements(self) -> list[Element]:
        """Those of all pieces."""
        return [element for piece in self.pieces for element in piece.elements()]


Piece = Plane | Rectangle | Disc | Polygon | Quadric


def surface_pieces(shape: Shape, row: Floats) -> list[Piece]:
    """Planes and quadrics that make up the surface of a shape at a pose row of 12."""
    if as_shape(shape, "shape").family not in PACKED:
        raise UnsupportedQueryError(
            f"shape: {type(shape).__name__} is not made of planes and quadrics; use particles.Mesh or particles.Surface"
        )
    pieces: list[Piece] = []
    for leaf, inner in leaves(shape):
        (part,) = leaf.parts()
        turn, at = row[:9].reshape(3, 3), row[9:]
        pieces += _PIECES[part.kind](part, turn @ inner[:9].reshape(3, 3), turn @ inner[9:] + at)
    return pieces


# Of a part of each kind, at a rotation and a place.


def _sphere(part: Part, _turn: Floats, at: Floats) -> list[Piece]:
    return [Quadric.ellipsoid(at, part.radius)]


def _ellipsoid(part: Part, turn: Floats, at: Floats) -> list[Piece]:
    return [Quadric.ellipsoid(at, part.parameters, rotation=turn)]


def _box(part: Part, turn: Floats, at: Floats) -> list[Piece]:
    half = np.array(part.parameters)
    pieces: list[Piece] = []
    for axis in range(3):
        u, v = turn[:, (axis + 1) % 3] * half[(axis + 1) % 3], turn[:, (axis + 2) % 3] * half[(axis + 2) % 3]
        for side in (1.0, -1.0):
            middle = at + side * half[axis] * turn[:, axis]
            pieces.append(Rectangle(middle - side * u - v, 2.0 * side * u, 2.0 * v))
    return pieces


def _capsule(part: Part, turn: Floats, at: Floats) -> list[Piece]:
    half_length, up = part.parameters[1], turn[:, 2]
    pieces: list[Piece] = [] if half_length == 0.0 else [Quadric.cylinder(at, part.radius, half_length, rotation=turn)]
    for side in (1.0, -1.0):
        end = at + side * half_length * up
        clip = [[*(-side * up), -side * float(up @ end)]]
        pieces.append(Quadric.ellipsoid(end, part.radius, rotation=turn, clip=clip))
    return pieces


def _cylinder(part: Part, turn: Floats, at: Floats) -> list[Piece]:
    radius, half_length, up = part.parameters[0], part.parameters[1], turn[:, 2]
    wall = Quadric.cylinder(at, radius, half_length, rotation=turn)
    return [wall, Disc(at + half_length * up, up, radius), Disc(at - half_length * up, -up, radius)]


def _cone(part: Part, turn: Floats, at: Floats) -> list[Piece]:
    radius, half_length, up = part.parameters[0], part.parameters[1], turn[:, 2]
    length = 2.0 * half_length
    side = Quadric.cone(at + half_length * up, radius / length, length, rotation=turn)
    return [side, Disc(at - half_length * up, -up, radius)]


def _half_space(part: Part, turn: Floats, at: Floats) -> list[Piece]:
    normal = turn @ np.array(part.parameters[:3])
    return [Plane(at + part.parameters[3] * normal, normal)]


def _hull(part: Part, turn: Floats, at: Floats) -> list[Piece]:
    hull = part.hull
    assert hull is not None
    return [
        Polygon(hull.vertices[hull.loops[start:stop]] @ turn.T + at)
        for start, stop in zip(hull.loop_starts[:-1], hull.loop_starts[1:])
    ]


_PIECES = {
    SPHERE: _sphere,
    ELLIPSOID: _ellipsoid,
    BOX: _box,
    CAPSULE: _capsule,
    CYLINDER: _cylinder,
    CONE: _cone,
    HALF_SPACE: _half_space,
    HULL: _hull,
}
