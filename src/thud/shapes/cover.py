"""Covers: a convex shape that holds another one. The mid phase asks them first, and penetration depths start from them."""

from __future__ import annotations

import numpy as np

from thud.errors import InvalidShapeError
from thud.pose import Pose
from thud.shapes.box import Box
from thud.shapes.compound import Compound
from thud.shapes.convex_hull import ConvexHull
from thud.shapes.half_space import HalfSpace
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Shape
from thud.shapes.sphere import Sphere
from thud.shapes.tolerances import COVER_ROOM
from thud.shapes.triangle_mesh import TriangleMesh

#: How meshes are covered: "hull"; "box", which costs next to nothing; "auto": the box of one that was deformed (it may be
#: another in the next frame), else the hull.
MESH_COVERS = ("hull", "box", "auto")


def itself(shape: Shape, _meshes: str = "hull") -> Shape:
    """A convex shape is its own cover."""
    return shape


def parts_cover(shape: Shape, meshes: str = "hull") -> Shape:
    """Of a compound of convex shapes: itself if it has one part."""
    return shape if len(shape.parts()) == 1 else ball_cover(shape, meshes)


def mesh_cover(mesh: TriangleMesh, meshes: str = "hull") -> Shape:
    """The hull of a mesh, or its box; of a flat one, which has no hull, what holds a ball about it."""
    if meshes == "box" or (meshes == "auto" and mesh.is_refitted):
        return box_cover(mesh)
    try:
        return mesh.hull
    except InvalidShapeError:
        return ball_cover(mesh)


def box_cover(shape: Shape, _meshes: str = "hull") -> Shape:
    """The shape's box, wider by a little, so that what touches the shape touches the cover and a flat shape's has a volume."""
    box = shape.bounds()
    lower, upper = box.lower[0], box.upper[0]
    room = COVER_ROOM * (np.abs(lower).max() + np.abs(upper).max())
    # Quicker than the hull of its corners.
    return Compound([Box(0.5 * (upper - lower) + room)], Pose(0.5 * (lower + upper)))


def field_cover(field: HeightField, _meshes: str = "hull") -> Shape:
    """The box of a field; without end, the half-space below its highest point."""
    if field.thickness is not None:
        return box_cover(field)
    top = -float(field.extremes(np.array([[0.0, 0.0, -1.0]]))[0][0])
    return HalfSpace([0.0, 0.0, 1.0], top + COVER_ROOM * abs(top))


def ball_cover(shape: Shape, _meshes: str = "hull") -> Shape:
    """A ball about the shape; where its centre is not the origin, a cube about the ball."""
    center, radius = shape.bounding_sphere()
    if np.abs(center).max() == 0.0:
        return Sphere(radius)
    # As a hull, since a sphere has its centre at the origin.
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return ConvexHull(center + radius * corners)
