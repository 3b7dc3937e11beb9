"""The tree over what of a net meets things, and the room for the pairs that are found in it."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.simd_corridors import LANES, ROW
from thud.dynamics.sticks.elements import Elements, edge_keys, leaf_count
from thud.dynamics.sticks.tolerances import NEAR, PARTS
from thud.dynamics.sticks.types import CONTACT, Float32, Int32, Room, Tree

#: Pairs a chunk at the begin (a count); there will be more room if more are found.
_ROOM = 256


def make_tree(elements: Elements) -> Tree:
    """Leaves of neighbours. The first element that has a point or an edge looks after it."""
    corners, count = elements.ordered.astype(np.int64), len(elements.ordered)
    leaves = leaf_count(count)
    ends = count * np.arange(leaves + 1) // leaves
    points, first = np.unique(corners.ravel(), return_index=True)
    by_point = np.argsort(first, kind="stable")
    sides = corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    real = np.flatnonzero(sides[:, 0] != sides[:, 1])
    _, place = np.unique(edge_keys(sides[real], elements.count), return_index=True)
    place = np.sort(real[place])
    faces = np.flatnonzero(elements.is_face)
    leaf_of = np.repeat(np.arange(leaves), np.diff(ends))
    # All points of a leaf: of its elements.
    in_leaf = np.unique(leaf_of[:, None] * elements.count + corners)
    first_corner = np.searchsorted(in_leaf, np.arange(leaves + 1) * elements.count)
    rows = elements.ordered[faces], _single(sides[place]), _single(points[by_point])[:, None]
    owners = faces, place // 3, first[by_point] // 3
    blocked = [_in_blocks(own, leaf_of[owner], leaves) for own, owner in zip(rows, owners, strict=True)]
    (face, first_face), (edge, first_edge), (point, first_point) = blocked
    return Tree(
        face, edge, np.ascontiguousarray(point[:, 0]), first_face, first_edge, first_point,
        np.empty((len(face), ROW), np.float32), np.empty((len(edge), ROW), np.float32),
        np.empty((2 * leaves, ROW), np.float32), _no_blocks(face), _no_blocks(edge), _no_blocks(point),
        np.zeros(len(face), np.uint8), np.zeros(len(edge), np.uint8), np.zeros(2 * leaves, np.uint8),
        first_corner, _single(in_leaf % elements.count), np.empty((leaves, 6), np.float32),
        np.empty((leaves, 6), np.float32), np.empty(leaves, np.float32), np.empty(leaves, np.float32),
        np.full((leaves, NEAR), -1, np.int32), np.empty((leaves, NEAR), np.float32), np.full((leaves, NEAR), -2, np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip


def _in_blocks(rows: Int32, leaf: Ints, leaves: int) -> tuple[Int32, Ints]:
    """Rows in the order of their leaves, those of each from the begin of a block on, -1 between; and where leaves begin."""
    many = np.bincount(leaf, minlength=leaves)
    first = np.append(0, np.cumsum(-(-many // LANES) * LANES))
    out = np.full((int(first[-1]), rows.shape[1]), -1, np.int32)
    out[first[leaf] + np.arange(len(leaf)) - np.append(0, np.cumsum(many))[leaf]] = rows
    return out, first


def _no_blocks(rows: Int32) -> Float32:
    """Corridors that meet nothing."""
    return np.full((len(rows) // LANES, ROW * LANES), np.inf, np.float32)


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
