"""Which vertices of a mesh are in one place, and which triangles hang together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def same_places(vertices: npt.NDArray[np.float64]) -> Ints:
    """(V,) the same number for vertices in the same place: files of triangle soup repeat them."""
    _, place = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    return place.reshape(-1)


def connected_parts(welded: Ints) -> Ints:
    """(F,) number of the connected part of each triangle, given as its corners' places; from 0 in order of appearance."""
    used, corner = np.unique(welded, return_inverse=True)
    corner = corner.reshape(-1, 3)
    tail, head = corner[:, [0, 1]].ravel(), corner[:, [1, 2]].ravel()
    return in_order(connected_nodes(tail, head, len(used))[corner[:, 0]])


def connected_nodes(tail: Ints, head: Ints, count: int) -> Ints:
    """(count,) number of the connected part of each node of a graph with edges tail[k], head[k]."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), (count, count))
    return connected_components(graph, False)[1]


def in_order(label: Ints) -> Ints:
    """Labels as 0, 1, 2, ... in order of first appearance."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


@dataclass(frozen=True, slots=True, eq=False)
class MeshEdges:
    """Edges of a mesh, each once."""

    vertices: Ints
    """(E, 2) vertex numbers, the lower first."""
    closed: bool
    """Whether each edge is passed as often one way as the other: then the mesh is closed wherever its vertices are."""


def mesh_edges(faces: Ints) -> MeshEdges:
    """Edges of (F, 3) faces, by vertex numbers alone."""
    tail, head = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    count = int(faces.max()) + 1
    key, inverse = np.unique(np.minimum(tail, head) * count + np.maximum(tail, head), return_inverse=True)
    turns = np.bincount(inverse.reshape(-1), np.where(tail < head, 1.0, -1.0))
    return MeshEdges(np.column_stack([key // count, key % count]), bool((turns == 0.0).all()))
