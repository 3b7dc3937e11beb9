"""Any shape as triangles, for drawing: vertices (V, 3) and faces (F, 3), counter-clockwise seen from outside.

Curved shapes are approximated from inside: every vertex lies on the surface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError, UnboundedShapeError
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL, SPHERE, Part, Shape

if TYPE_CHECKING:
    from thud.shapes.triangle_mesh import TriangleMesh

Triangles = tuple[Floats, Ints]


def _lathe(radius: Floats, height: Floats, segments: int) -> Triangles:
    """A surface of revolution about z: rings of the given radii and heights, from the top down; the first and the last radius
    are 0."""
    angle = np.arange(segments) * (2.0 * np.pi / segments)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(segments)], axis=1)
    inner = [ring * r + [0.0, 0.0, z] for r, z in zip(radius[1:-1], height[1:-1], strict=True)]
    vertices = np.concatenate([[[0.0, 0.0, height[0]]], *inner, [[0.0, 0.0, height[-1]]]])
    k = np.arange(segments)
    after = (k + 1) % segments
    faces = [np.stack([np.zeros_like(k), 1 + k, 1 + after], axis=1)]
    for row in range(len(inner) - 1):
        upper, lower = 1 + row * segments, 1 + (row + 1) * segments
        faces.append(np.stack([upper + k, lower + k, upper + after], axis=1))
        faces.append(np.stack([upper + after, lower + k, lower + after], axis=1))
    last = 1 + (len(inner) - 1) * segments
    faces.append(np.stack([last + k, np.full_like(k, len(vertices) - 1), last + after], axis=1))
    return vertices, np.concatenate(faces)


def _ball(part: Part, segments: int) -> Triangles:
    down = np.linspace(0.0, np.pi, segments // 2 + 1)
    radius = np.where((down > 0.0) & (down < np.pi), np.sin(down), 0.0)
    vertices, faces = _lathe(radius, np.cos(down), segments)
    return vertices * (np.array(part.parameters[:3]) if part.kind == ELLIPSOID else part.radius), faces


def _capsule(part: Part, segments: int) -> Triangles:
    down = np.linspace(0.0, 0.5 * np.pi, segments // 4 + 1)
    half = part.parameters[1]
    radius = part.radius * np.concatenate([np.sin(down), np.sin(down)[::-1]])
    height = part.radius * np.concatenate([np.cos(down), -np.cos(down)[::-1]]) + np.repeat([half, -half], len(down))
    radius[[0, -1]] = 0.0
    return _lathe(radius, height, segments)


def _cylinder(part: Part, segments: int) -> Triangles:
    radius, half = part.parameters[:2]
    return _lathe(np.array([0.0, radius, radius, 0.0]), np.array([half, half, -half, -half]), segments)


def _cone(part: Part, segments: int) -> Triangles:
    radius, half = part.parameters[:2]
    return _lathe(np.array([0.0, radius, 0.0]), np.array([half, -half, -half]), segments)


def _polytope(part: Part, _segments: int) -> Triangles:
    assert part.hull is not None
    return part.hull.vertices, part.hull.triangles


_BY_KIND = {
    SPHERE: _ball, ELLIPSOID: _ball, CAPSULE: _capsule, CYLINDER: _cylinder, CONE: _cone, BOX: _polytope, HULL: _polytope,
}  # fmt: skip


def convex_triangles(shape: Shape, segments: int) -> Triangles:
    """Of a convex shape."""
    (part,) = shape.parts()
    if part.kind not in _BY_KIND:
        raise UnboundedShapeError("shape: a HalfSpace is unbounded; there are no triangles to draw it by")
    return _BY_KIND[part.kind](part, segments)


def mesh_triangles(mesh: Any, _segments: int) -> Triangles:
    """Its own."""
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def surface_triangles(surface: Any, segments: int) -> Triangles:
    """Two a patch."""
    return mesh_triangles(surface.to_mesh(), segments)


#: Most sides of a circle in a mesh of a shape: a sphere has their square of triangles, four million.
MOST_SIDES = 2048


def mesh_of(shape: Shape, resolution: int) -> TriangleMesh:
    """See `Shape.to_mesh`."""
    from thud.shapes.triangle_mesh import TriangleMesh

    if isinstance(resolution, bool) or not isinstance(resolution, (int, np.integer)) or not 4 <= resolution <= MOST_SIDES:
        raise InvalidInputError(f"resolution: expected a whole number from 4 to {MOST_SIDES:,}, got {resolution!r}")
    inner = getattr(shape, "shapes", None)
    if inner is None:
        return TriangleMesh(*convex_triangles(shape, int(resolution)))
    vertices, faces, count = [], [], 0
    for part, pose in zip(inner, shape.poses, strict=True):  # type: ignore[attr-defined]
        mesh = part.to_mesh(resolution)
        vertices.append(pose.apply(np.asarray(mesh.vertices)))
        faces.append(np.asarray(mesh.faces) + count)
        count += len(vertices[-1])
    return TriangleMesh(np.concatenate(vertices), np.concatenate(faces))
