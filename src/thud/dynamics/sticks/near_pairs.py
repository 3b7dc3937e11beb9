"""Pairs of points and faces, and of edges, that may come near each other before their points leave their corridors."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud._core.threads import run_rows
from thud.dynamics.sticks.elements import Elements
from thud.dynamics.sticks.tolerances import CHUNK, LEAF, PARTS
from thud.dynamics.sticks.tree import (
    element_boxes,
    gather_pairs,
    leaf_boxes,
    own_features,
    pairs_with_bodies,
    pairs_within,
    upper_boxes,
)
from thud.dynamics.sticks.types import CONTACT, Bytes, Found, Int32, Pairs, Points, Room, Tree


class PairFinder:
    """Keeps its memory from step to step."""

    def __init__(self) -> None:
        self._found = _new_found(256)
        self._out = _new_pairs(0)
        self._count = 0
        self._room: Room | None = None
        self._tree: Tree | None = None

    def refit(self, elements: Elements, points: Points, reach: float, threads: int | None) -> None:
        """Corridors of the elements, wider by a reach, and of the tree over them. What was found before is forgotten."""
        self._count = 0
        self.refit_again(elements, points, reach, threads)

    def refit_again(self, elements: Elements, points: Points, reach: float, threads: int | None) -> None:
        """The same; what was found before is kept."""
        own, owns = elements.ordered, elements.owns
        if self._tree is None or self._tree.elements is not own:
            leaves = max(PARTS, 1 << (len(own) // LEAF).bit_length() >> 1)
            self._tree = Tree(own, owns, np.empty((len(own), 12)), np.empty((2 * leaves, 12)))
        tree = self._tree
        run_rows(element_boxes, len(own), threads, points, own, reach, tree.boxes)
        run_rows(leaf_boxes, len(tree.nodes) // 2, threads, tree.boxes, tree.nodes)
        upper_boxes(tree.nodes)

    def with_bodies(self, points: Points, corners: Floats, bodies: Int32, reach: float, threads: int | None) -> None:
        """Add pairs of cloth with triangles of bodies, (T, 9) now."""
        if not len(bodies):
            return
        table = np.empty(1 << int(8 * len(bodies)).bit_length(), np.int32)
        owns: Bytes = np.empty(len(bodies), np.uint8)
        own_features(corners, bodies, table, owns)
        self._search(pairs_with_bodies, threads, points, reach, bodies, owns)

    def with_itself(self, points: Points, reach: float, threads: int | None) -> None:
        """Add pairs of cloth with itself."""
        self._search(pairs_within, threads, points, reach)

    def _search(self, kernel: object, threads: int | None, points: Points, reach: float, *more: object) -> None:
        while True:
            found = self._found
            run_rows(kernel, PARTS, threads, points, self._tree, reach, PARTS, *more, found, rows_per_chunk=2)
            most = int(found.total.max())
            if most <= found.points.shape[1]:
                break
            self._found = _new_found(most + most // 2)
        total = self._count + int(found.total.sum())
        if len(self._out.kind) < total:
            fresh = _new_pairs(total + total // 2)
            old, many = self._out, self._count
            fresh.points[:many], fresh.kind[:many] = old.points[:many], old.kind[:many]
            fresh.body[:many], fresh.slack[:many] = old.body[:many], old.slack[:many]
            self._out = fresh
        gather_pairs(found, self._out, self._count)
        self._count = total

    def pairs(self) -> Pairs:
        """All that were added."""
        out, many = self._out, self._count
        return Pairs(out.points[:many], out.kind[:many], out.body[:many], out.slack[:many])

    def clear(self) -> Pairs:
        """None."""
        self._count = 0
        return self.pairs()

    def room(self, points: int) -> Room:
        """For what is found among them."""
        chunks = -(-self._count // CHUNK)
        if self._room is None or len(self._room.contact_count) < chunks or len(self._room.stamp) != points:
            more = chunks + chunks // 2
            size = more * CHUNK
            self._room = Room(
                np.zeros(more, np.int64), np.empty(size, np.int32), np.empty((size, CONTACT)), np.zeros(more, np.int64),
                np.empty(size, np.int32), np.empty((size, 4)), np.empty(points, np.int32),
            )  # fmt: skip
        return self._room._replace(contact_count=self._room.contact_count[:chunks], fail_count=self._room.fail_count[:chunks])


def _new_found(room: int) -> Found:
    return Found(
        np.empty(PARTS, np.int64), np.empty((PARTS, room, 4), np.int32), np.empty((PARTS, room), np.uint8),
        np.empty((PARTS, room), np.int32), np.empty((PARTS, room), np.float32),
    )  # fmt: skip


def _new_pairs(count: int) -> Pairs:
    return Pairs(
        np.empty((count, 4), np.int32), np.empty(count, np.uint8), np.empty(count, np.int32), np.empty(count, np.float32)
    )
