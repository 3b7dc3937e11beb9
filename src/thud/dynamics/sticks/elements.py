"""What of a net meets other things: points, edges and faces, and what is left of them when sticks break."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.dynamics.sticks.tolerances import LEAF, PARTS
from thud.dynamics.sticks.types import Int32


def edge_keys(ends: Ints, count: int) -> Ints:
    """A number a pair of points, whichever comes first."""
    return np.minimum(ends[:, 0], ends[:, 1]) * count + np.maximum(ends[:, 0], ends[:, 1])


class Elements:
    """Points, edges and faces of N points, by sticks and faces that are there."""

    def __init__(self, points: Floats, sticks: Ints, faces: Ints, collide: Bools) -> None:
        count = len(points)
        self.count, self.sticks, self.faces, self.start = count, sticks, faces, points.copy()
        sides = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        keys, own = edge_keys(sides, count), edge_keys(sticks, count)
        order = np.argsort(own, kind="stable")
        at = np.minimum(np.searchsorted(own, keys, sorter=order), max(len(own) - 1, 0))
        found = order[at] if len(own) else np.zeros(len(keys), np.int64)
        known = own[found] == keys if len(own) else np.zeros(len(keys), np.bool_)
        #: (F, 3) the stick along each side of a face; -1 for none.
        self.side_sticks: Ints = np.where(known, found, -1).reshape(-1, 3)
        #: (K,) sticks that meet things as edges, with a face beside them or not.
        self.threads: Bools = collide | np.isin(own, keys)
        self.alive_faces: Bools = np.ones(len(faces), np.bool_)
        self.edges: Int32 = np.empty((0, 2), np.int32)
        self.update(np.ones(len(sticks), np.bool_))

    def update(self, alive: Bools) -> None:
        """Faces that have lost a stick go; edges are those of faces that are left, and of sticks."""
        if len(self.faces):
            whole = np.append(alive, True)
            self.alive_faces &= whole[self.side_sticks].all(axis=1)
        faces = self.faces[self.alive_faces]
        sides = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        ends = np.concatenate([sides, self.sticks[self.threads & alive]])
        keys = np.unique(edge_keys(ends, self.count))
        self.edges = np.stack(np.divmod(keys, self.count), axis=1).astype(np.int32)
        self.triangles = faces.astype(np.int32)
        points = np.arange(self.count, dtype=np.int32)
        covered = np.zeros(self.count, np.bool_)
        covered[self.edges] = True
        bare = ~np.isin(keys, edge_keys(sides, self.count))
        alone = points[~covered]
        lone_edges = self.edges[bare][:, [0, 1, 1]]
        every = np.concatenate([self.triangles, lone_edges, np.stack([alone, alone, alone], axis=1)]).astype(np.int32)
        is_face = np.arange(len(every)) < len(self.triangles)
        # Neighbours in the sheet are neighbours in the tree.
        middle = self.start[every].mean(axis=1)
        order = halved_order(middle, leaf_count(len(every)))
        self.ordered: Int32 = np.ascontiguousarray(every[order])
        self.is_face: Bools = is_face[order]


def leaf_count(count: int) -> int:
    """Leaves of a tree over so many elements: a power of 2."""
    return max(PARTS, 1 << (count // LEAF).bit_length() >> 1)


def halved_order(points: Floats, leaves: int) -> Ints:
    """(N,) order in which each half, and each half of it and so on down to the leaves, is a group of neighbours: on one side of
    the others along the axis in which they are spread the most."""
    count, order = len(points), np.arange(len(points))
    groups = 1
    while groups < leaves:
        ends = count * np.arange(groups + 1) // groups
        many = np.diff(ends)
        group = np.repeat(np.arange(groups), many)
        some = np.flatnonzero(many)
        placed = points[order]
        wide = np.zeros((groups, 3))
        if len(some):
            wide[some] = np.maximum.reduceat(placed, ends[some]) - np.minimum.reduceat(placed, ends[some])
        along = placed[np.arange(count), np.argmax(wide, axis=1)[group]]
        order = order[np.lexsort((along, group))]
        groups *= 2
    return order


def least_size(points: Floats, faces: Ints, edges: Int32) -> float:
    """The least height of a face, or length of an edge that is in no face, metres; inf for neither."""
    least = np.inf
    if len(faces):
        a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
        longest = np.sqrt(np.max([((p - q) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0))
        twice = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        least = float(np.divide(twice, longest, out=np.zeros_like(twice), where=longest > 0.0).min())
    if len(edges):
        least = min(least, float(np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1).min()))
    return least
