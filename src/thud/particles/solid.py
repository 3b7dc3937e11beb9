"""Convex shapes and compounds as colliders: each is the planes and quadrics of its surface."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.particles.collider import Collider
from thud.particles.element import Element
from thud.particles.planar import Disc, Plane, Polygon, Rectangle
from thud.particles.quadric import Quadric
from thud.pose import PoseLike, as_poses
from thud.shapes import Box, Capsule, Compound, Cone, ConvexHull, Cylinder, Ellipsoid, HalfSpace, Sphere
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
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


def surface_pieces(shape: Shape, row: Floats) -> list[Plane | Rectangle | Disc | Polygon | Quadric]:
    """Planes and quadrics that make up the surface of a shape at a pose row of 12."""
    turn, at = row[:9].reshape(3, 3), row[9:]
    up = turn[:, 2]

    def place(points: npt.ArrayLike) -> Floats:
        return np.asarray(points) @ turn.T + at

    if isinstance(shape, Compound):
        return [piece for child, pose in compound_children(shape, row) for piece in surface_pieces(child, pose)]
    if isinstance(shape, Sphere):
        return [Quadric.ellipsoid(at, shape.radius)]
    if isinstance(shape, Ellipsoid):
        return [Quadric.ellipsoid(at, shape.radii, rotation=turn)]
    if isinstance(shape, Box):
        half = np.asarray(shape.half_extents)
        pieces: list[Plane | Rectangle | Disc | Polygon | Quadric] = []
        for axis in range(3):
            u, v = turn[:, (axis + 1) % 3] * half[(axis + 1) % 3], turn[:, (axis + 2) % 3] * half[(axis + 2) % 3]
            for side in (1.0, -1.0):
                middle = at + side * half[axis] * turn[:, axis]
                pieces.append(Rectangle(middle - side * u - v, 2.0 * side * u, 2.0 * v))
        return pieces
    if isinstance(shape, Capsule):
        ends = [at + side * shape.half_length * up for side in (1.0, -1.0)]
        pieces = [] if shape.half_length == 0.0 else [Quadric.cylinder(at, shape.radius, shape.half_length, rotation=turn)]
        for end, side in zip(ends, (1.0, -1.0)):
            clip = [[*(-side * up), -side * float(up @ end)]]
            pieces.append(Quadric.ellipsoid(end, shape.radius, rotation=turn, clip=clip))
        return pieces
    if isinstance(shape, Cylinder):
        top, bottom = at + shape.half_length * up, at - shape.half_length * up
        side_wall = Quadric.cylinder(at, shape.radius, shape.half_length, rotation=turn)
        return [side_wall, Disc(top, up, shape.radius), Disc(bottom, -up, shape.radius)]
    if isinstance(shape, Cone):
        apex, base = at + shape.half_length * up, at - shape.half_length * up
        length = 2.0 * shape.half_length
        return [Quadric.cone(apex, shape.radius / length, length, rotation=turn), Disc(base, -up, shape.radius)]
    if isinstance(shape, HalfSpace):
        normal = turn @ np.asarray(shape.normal)
        return [Plane(at + shape.offset * normal, normal)]
    if isinstance(shape, ConvexHull):
        hull = shape.topology
        return [
            Polygon(place(hull.vertices[hull.loops[start:stop]]))
            for start, stop in zip(hull.loop_starts[:-1], hull.loop_starts[1:])
        ]
    raise UnsupportedQueryError(
        f"shape: {type(shape).__name__} is not made of planes and quadrics; use particles.Mesh or particles.Surface"
    )


def compound_children(shape: Compound, row: Floats) -> list[tuple[Shape, Floats]]:
    """Children of a compound with their pose rows in the world."""
    turn, at = row[:9].reshape(3, 3), row[9:]
    children = []
    for child, local in zip(shape.shapes, shape.poses.rows):
        inner = turn @ local[:9].reshape(3, 3)
        children.append((child, np.concatenate([inner.ravel(), turn @ local[9:] + at])))
    return children
