"""What is drawn: all meshes in the world as one set of vertices, triangles and edges, and the vertices' normals (4.3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.imagespace.placing import box_rows, place_rows, reaching_rows
from thud.pose import as_poses
from thud.shapes.triangle_mesh import TriangleMesh


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
        starts = np.zeros((3, len(objects) + 1), np.int64)
        rows: list[list[npt.NDArray[Any]]] = [[], [], [], []]
        for place, k in enumerate(objects):
            spans = [slice(begin[k], begin[k + 1]) for begin in (self.vertex_starts, self.triangle_starts, self.edge_starts)]
            shift = starts[0, place] - self.vertex_starts[k]
            rows[0].append(self.vertices[spans[0]])
            rows[1].append(self.normals[spans[0]])
            rows[2].append(self.triangles[spans[1]] + shift)
            rows[3].append(self.edges[spans[2]] + shift)
            starts[:, place + 1] = starts[:, place] + [span.stop - span.start for span in spans]
        vertices, normals, triangles, edges = (np.concatenate(some) for some in rows)
        return Scene(vertices, normals, triangles, edges, starts[1], starts[2], starts[0], self.boxes[objects])

    def reaching_edges(self, pairs: Ints, threads: int | None = None) -> Scene:
        """The same scene with only those edges that reach into the box of another object, of those in (M, 2) pairs: no other
        edge can be inside of one, and then it hides none that is."""
        both = np.concatenate([pairs, pairs[:, ::-1]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        starts = np.searchsorted(both[:, 0], np.arange(self.count + 1))
        reaches = np.empty(len(self.edges), np.bool_)
        arrays = (starts, both[:, 1].copy(), self.boxes, self.vertices, self.edges, self.edge_starts, reaches)
        run_rows(reaching_rows, self.count, threads, *arrays, rows_per_chunk=1)
        left = np.concatenate([[0], np.cumsum(reaches)])
        return replace(self, edges=self.edges[reaches], edge_starts=left[self.edge_starts])


def checked_meshes(meshes: Sequence[TriangleMesh], poses: Any) -> tuple[list[TriangleMesh], Floats]:
    """Meshes and (N, 12) poses, one each; a named error if one is not closed."""
    try:
        meshes = list(meshes)
    except TypeError:
        raise InvalidInputError(f"meshes: expected a sequence of closed meshes, got {type(meshes).__name__}") from None
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
    return meshes, np.ascontiguousarray(rows)


def world_boxes(meshes: list[TriangleMesh], rows: Floats, threads: int | None = None) -> Floats:
    """(N, 6) lower and upper corners of the boxes of meshes at (N, 12) poses."""
    vertices, starts = _side_by_side([np.asarray(mesh.vertices) for mesh in meshes], np.empty((0, 3)))
    boxes = np.empty((len(meshes), 6))
    run_rows(box_rows, len(meshes), threads, rows, starts, vertices, boxes, rows_per_chunk=1)
    return boxes


def make_scene(meshes: Sequence[TriangleMesh], poses: Any, threads: int | None = None) -> Scene:
    """Scene of closed meshes at poses, one each."""
    chosen, rows = checked_meshes(meshes, poses)
    return scene_of(chosen, rows, world_boxes(chosen, rows, threads), threads)


def scene_of(meshes: list[TriangleMesh], rows: Floats, boxes: Floats, threads: int | None = None) -> Scene:
    """Scene of meshes at (N, 12) poses with these world boxes."""
    vertices, vertex_starts = _side_by_side([np.asarray(mesh.vertices) for mesh in meshes], np.empty((0, 3)))
    triangles, triangle_starts = _side_by_side([np.asarray(mesh.faces) for mesh in meshes], np.empty((0, 3), np.int64))
    edges, edge_starts = _side_by_side([mesh.topology.edges for mesh in meshes], np.empty((0, 2), np.int64))
    normals = np.empty_like(vertices)
    arrays = (rows, vertex_starts, triangle_starts, edge_starts, vertices, triangles, edges, normals)
    run_rows(place_rows, len(meshes), threads, *arrays, rows_per_chunk=1)
    return Scene(vertices, normals, triangles, edges, triangle_starts, edge_starts, vertex_starts, boxes)


def _side_by_side(arrays: list[npt.NDArray[Any]], none: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Ints]:
    """One array of all, and where each begins; the last: where it ends."""
    starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays], dtype=np.int64)]).astype(np.int64)
    return np.concatenate([none, *arrays]), starts
