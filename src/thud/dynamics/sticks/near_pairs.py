"""The tree over what of a net meets things, and the room for the pairs that are found in it."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.simd_corridors import ROW
from thud.dynamics.sticks.elements import Elements, edge_keys
from thud.dynamics.sticks.tolerances import LEAF, NEAR, PARTS
from thud.dynamics.sticks.types import CONTACT, Int32, Room, Tree

#: Pairs a chunk at the begin (a count); there will be more room if more are found.
_ROOM = 256


def make_tree(elements: Elements) -> Tree:
    """Leaves of neighbours. The first element that has a point or an edge looks after it."""
    corners, count = elements.ordered.astype(np.int64), len(elements.ordered)
    leaves = max(PARTS, 1 << (count // LEAF).bit_length() >> 1)
    ends = count * np.arange(leaves + 1) // leaves
    points, first = np.unique(corners.ravel(), return_index=True)
    by_point = np.argsort(first, kind="stable")
    sides = corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    real = np.flatnonzero(sides[:, 0] != sides[:, 1])
    _, place = np.unique(edge_keys(sides[real], elements.count), return_index=True)
    place = np.sort(real[place])
    faces = np.flatnonzero(elements.is_face)
    # All points of a leaf: of its elements.
    leaf = np.repeat(np.arange(leaves), np.diff(ends))
    in_leaf = np.unique(leaf[:, None] * elements.count + corners)
    first_corner = np.searchsorted(in_leaf, np.arange(leaves + 1) * elements.count)
    return Tree(
        np.ascontiguousarray(elements.ordered[faces]), _single(sides[place]), _single(points[by_point]),
        np.searchsorted(faces, ends), np.searchsorted(place // 3, ends), np.searchsorted(first[by_point] // 3, ends),
        np.empty((len(faces), ROW), np.float32), np.empty((len(place), ROW), np.float32),
        np.empty((2 * leaves, ROW), np.float32), np.zeros(len(faces), np.uint8), np.zeros(len(place), np.uint8),
        np.zeros(2 * leaves, np.uint8), first_corner, _single(in_leaf % elements.count), np.empty((leaves, 6), np.float32),
        np.empty((leaves, 6), np.float32), np.empty(leaves, np.float32), np.full((leaves, NEAR), -1, np.int32), np.empty((leaves, NEAR), np.float32),
        np.full((leaves, NEAR), -2, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


def _single(values: Ints) -> Int32:
    return np.ascontiguousarray(values, dtype=np.int32)


class NearPairs:
    """Keeps its memory from step to step."""

    def __init__(self, points: int) -> None:
        self._points, self.room = points, _new_room(points, _ROOM)
        self._tree: Tree | None = None
        self._elements: Int32 | None = None
        self._left: Floats = np.empty((0, 3))

    def tree(self, elements: Elements, position: Floats) -> Tree:
        """Over the elements as they are. What it knows of distances is forgotten if points are not where they were left."""
        if self._tree is None or self._elements is not elements.ordered:
            self._tree, self._elements = make_tree(elements), elements.ordered
        elif not np.array_equal(self._left, position):
            self._tree.now[0] += 2
        return self._tree

    def keep(self, position: Floats) -> None:
        """Where points are left at the end of a step."""
        self._left = position.copy()

    def grow(self, need: int) -> None:
        """Room for so many a chunk, and some."""
        self.room = _new_room(self._points, need + need // 2)


def _new_room(points: int, room: int) -> Room:
    chunks = 2 * PARTS
    return Room(
        np.zeros(chunks, np.int64), np.empty((chunks, room, 4), np.int32), np.empty((chunks, room), np.uint8),
        np.empty((chunks, room), np.int32), np.empty((chunks, room), np.float32), np.zeros(chunks, np.int64),
        np.empty((chunks, room, 4), np.int32), np.empty((chunks, room), np.int32), np.empty((chunks, room, CONTACT)),
        np.zeros(chunks, np.int64), np.empty((chunks, room), np.int32), np.empty((chunks, room, 4)), np.empty(points, np.int32),
        np.zeros(1, np.int32),
    )  # fmt: skip
