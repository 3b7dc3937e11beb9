"""Which vertices of a mesh are in one place, and which triangles hang together."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from thud._core.arrays import Ints, writable


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


def closed_by_places(faces: Ints, place: Ints) -> bool:
    """Whether every edge, vertices in the same `place` being one, has an even number of triangles, those with two corners in
    one place not counted."""
    from thud.bvh.edge_table import edges_closed

    return edges_closed(proper_faces(place[faces]), len(place))[1]


def proper_faces(welded: Ints) -> Ints:
    """The triangles, given as their corners' places, that have three different corners."""
    proper = (welded[:, 0] != welded[:, 1]) & (welded[:, 1] != welded[:, 2]) & (welded[:, 2] != welded[:, 0])
    return welded if proper.all() else np.ascontiguousarray(welded[proper])


class MeshTopology:
    """What faces alone say, by vertex numbers: the same for all meshes of these faces, wherever their vertices are."""

    def __init__(self, faces: Ints) -> None:
        self.faces = faces

    @cached_property
    def vertices(self) -> int:
        """One more than the last vertex of a triangle."""
        return int(self.faces.max()) + 1

    @cached_property
    def closed(self) -> bool:
        """Whether each edge is passed as often one way as the other: then the mesh is closed wherever its vertices are."""
        from thud.bvh.edge_table import edges_closed

        return edges_closed(writable(self.faces), self.vertices)[0]

    @cached_property
    def edges(self) -> Ints:
        """(E, 2) vertex numbers of each edge, once, the lower first."""
        from thud.bvh.edge_table import edge_table

        return edge_table(writable(self.faces), self.vertices).ends

    @cached_property
    def used(self) -> Ints:
        """(U,) vertices of some triangle, sorted."""
        seen = np.zeros(self.vertices, dtype=bool)
        seen[self.faces] = True
        return np.flatnonzero(seen)

    @cached_property
    def part_vertices(self) -> Ints:
        """(C,) a vertex of each connected part."""
        from thud.bvh.edge_table import part_vertices

        return part_vertices(writable(self.faces), self.vertices)
