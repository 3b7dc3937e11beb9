"""What is drawn: all meshes in the world as one set of vertices, triangles and edges, and the vertices' normals (4.3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.errors import InvalidInputError
from thud.pose import as_poses
from thud.shapes.triangle_mesh import TriangleMesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scene:
    """N objects, world frame."""

    vertices: Floats
    """(V, 3) of all objects, one after the other."""
    normals: Floats
    """(V, 3) unit normals of the surface there: the mean of the triangles around, by area; 0 where they cancel."""
    triangles: Ints
    """(T, 3) vertex rows, counter-clockwise from outside."""
    edges: Ints
    """(E, 2) vertex rows, each edge once."""
    triangle_starts: Ints
    """(N + 1,) object k has the triangles [starts[k], starts[k + 1])."""
    edge_starts: Ints
    """(N + 1,)"""
    vertex_starts: Ints
    """(N + 1,)"""
    boxes: Floats
    """(N, 6) lower and upper corner of each object."""

    @property
    def count(self) -> int:
        """How many objects there are."""
        return len(self.boxes)

    def only(self, objects: Ints) -> Scene:
        """The scene of some of the objects, in that order; their rows count anew."""
        rows, starts = [], []
        for begin in (self.vertex_starts, self.triangle_starts, self.edge_starts):
            rows.append(np.concatenate([np.arange(begin[k], begin[k + 1]) for k in objects] or [np.arange(0)]))
            starts.append(np.concatenate([[0], np.cumsum(begin[objects + 1] - begin[objects])]).astype(np.int64))
        shift = np.repeat(starts[0][:-1] - self.vertex_starts[objects], starts[1][1:] - starts[1][:-1])
        edge_shift = np.repeat(starts[0][:-1] - self.vertex_starts[objects], starts[2][1:] - starts[2][:-1])
        return Scene(
            self.vertices[rows[0]], self.normals[rows[0]], self.triangles[rows[1]] + shift[:, None],
            self.edges[rows[2]] + edge_shift[:, None], starts[1], starts[2], starts[0], self.boxes[objects],
        )  # fmt: skip


def make_scene(meshes: Sequence[TriangleMesh], poses: Any) -> Scene:
    """Scene of meshes at poses, one each; a named error if one is not closed."""
    meshes = list(meshes)
    for k, mesh in enumerate(meshes):
        if not isinstance(mesh, TriangleMesh):
            raise InvalidInputError(f"meshes: row {k} is a {type(mesh).__name__}; expected a TriangleMesh")
        if not mesh.is_closed:
            raise InvalidInputError(f"meshes: row {k} is not closed, so it has no inside; see mesh.problems()")
    rows = as_poses(poses, "poses")
    if len(rows) == 1 and len(meshes) != 1:
        rows = np.repeat(rows, len(meshes), axis=0)
    if len(rows) != len(meshes):
        raise InvalidInputError(f"poses: expected one a mesh ({len(meshes)}), got {len(rows)}")
    vertices, triangles, edges = [], [], []
    starts = np.zeros((3, len(meshes) + 1), np.int64)
    boxes = np.empty((len(meshes), 6))
    for k, (mesh, row) in enumerate(zip(meshes, rows)):
        points = np.asarray(mesh.vertices) @ row[:9].reshape(3, 3).T + row[9:]
        faces = np.asarray(mesh.faces)
        if signed_volume(points, faces) < 0.0:
            # Inside out: drawn the right way round.
            faces = faces[:, ::-1]
        vertices.append(points)
        triangles.append(faces + starts[0, k])
        edges.append(mesh.topology.edges + starts[0, k])
        starts[:, k + 1] = starts[:, k] + [len(points), len(faces), len(edges[-1])]
        boxes[k, :3], boxes[k, 3:] = points.min(axis=0), points.max(axis=0)
    points = np.concatenate(vertices) if vertices else np.empty((0, 3))
    faces = np.concatenate(triangles) if triangles else np.empty((0, 3), np.int64)
    lines = np.concatenate(edges) if edges else np.empty((0, 2), np.int64)
    return Scene(points, vertex_normals(points, faces), faces, lines, starts[1], starts[2], starts[0], boxes)


def signed_volume(vertices: Floats, triangles: Ints) -> float:
    """Volume of a closed mesh; negative if it is inside out."""
    a, b, c = (vertices[triangles[:, k]] - vertices[0] for k in range(3))
    return float((np.cross(a, b) * c).sum() / 6.0)


def vertex_normals(vertices: Floats, triangles: Ints) -> Floats:
    """(V, 3) mean normals of the triangles around, by area."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    normals = np.empty_like(vertices)
    for axis in range(3):
        normals[:, axis] = np.bincount(triangles.ravel(), np.repeat(area[:, axis], 3), len(vertices))
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.divide(normals, length, out=np.zeros_like(normals), where=length > 0.0)
