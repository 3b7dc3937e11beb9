"""Which vertices of a mesh are in one place, and which triangles hang together."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints


def same_places(vertices: npt.NDArray[np.float64]) -> Ints:
    """(V,) the same number for vertices in the same place: files of triangle soup repeat them."""
    return equal_rows(vertices + 0.0)


def equal_rows(rows: npt.NDArray[np.float64] | Ints) -> Ints:
    """(N,) the same number for equal rows, from 0 in their order: `np.unique(axis=0)`, several times as fast."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    number = np.empty(len(rows), dtype=np.int64)
    number[order] = np.cumsum(np.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)]))
    return number


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


class MeshTopology:
    """What faces alone say, by vertex numbers: the same for all meshes of these faces, wherever their vertices are."""

    def __init__(self, faces: Ints) -> None:
        self.faces = faces

    @cached_property
    def _edges_and_closed(self) -> tuple[Ints, bool]:
        tail, head = self.faces.ravel(), np.roll(self.faces, -1, axis=1).ravel()
        count = int(self.faces.max()) + 1
        key, inverse = np.unique(np.minimum(tail, head) * count + np.maximum(tail, head), return_inverse=True)
        turns = np.bincount(inverse.reshape(-1), np.where(tail < head, 1.0, -1.0))
        return np.column_stack([key // count, key % count]), bool((turns == 0.0).all())

    @property
    def edges(self) -> Ints:
        """(E, 2) vertex numbers of each edge, once, the lower first."""
        return self._edges_and_closed[0]

    @property
    def closed(self) -> bool:
        """Whether each edge is passed as often one way as the other: then the mesh is closed wherever its vertices are."""
        return self._edges_and_closed[1]

    @cached_property
    def used(self) -> Ints:
        """(U,) vertices of some triangle, sorted."""
        seen = np.zeros(int(self.faces.max()) + 1, dtype=bool)
        seen[self.faces] = True
        return np.flatnonzero(seen)

    @cached_property
    def part_vertices(self) -> Ints:
        """(C,) a vertex of each connected part."""
        _, chosen = np.unique(connected_parts(self.faces), return_index=True)
        return self.faces[np.sort(chosen), 0]
