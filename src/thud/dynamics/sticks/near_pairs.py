"""Pairs of points and faces, and of edges, that may come near each other before their points leave their boxes."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.dynamics.sticks.grid import fill_table, gather_pairs, grid_pairs, item_boxes, item_cells
from thud.dynamics.sticks.tolerances import CELL, CHUNK, ENTRIES, PARTS
from thud.dynamics.sticks.types import CONTACT, Grid, Int32, Pairs, Room


class PairFinder:
    """Keeps its memory from step to step."""

    def __init__(self) -> None:
        self._room_a_part = 256
        self._slabs: tuple[Int32, np.ndarray, Int32] | None = None
        self._out: Pairs | None = None
        self._room: Room | None = None
        self._items: tuple[Floats, Int32, Ints] | None = None

    def find(
        self, boxes: Floats, items: Int32, kinds: Ints, bodies: Int32, reach: float, itself: bool, threads: int | None
    ) -> Pairs:
        """Pairs whose boxes come within `reach` of each other.

        boxes : (N + 3T, 6) of points; items: (I, 3) points, edges and faces, of each kind those of cloth first; kinds: (4,) first
        edge, first face, number of items, N; bodies: (T,) of the triangles
        """
        count, own = len(items), int(kinds[3])
        if not count:
            return _no_pairs()
        if self._items is None or len(self._items[0]) < count:
            more = count + count // 2
            self._items = np.empty((more, 6)), np.empty((more, 6), np.int32), np.empty(more, np.int64)
        ways, cells, many = (array[:count] for array in self._items)
        run_rows(item_boxes, count, threads, boxes, items, 0.5 * reach, ways)
        cloth = boxes[:own]
        within = np.concatenate([cloth[:, :3].min(axis=0) - 0.5 * reach, cloth[:, 3:].max(axis=0) + 0.5 * reach])
        # Cells by the mean size of what is in cloth.
        cloth_items = items[:, 0] < own
        size = CELL * float((ways[cloth_items, 3:] - ways[cloth_items, :3]).max(axis=1).mean())
        none = np.empty(0, np.int64)
        while True:
            sides = np.floor((within[3:] - within[:3]) / size).astype(np.int64) + 1
            if sides.astype(np.float64).prod() < 2.0**62 and sides.max() < 2**31:
                grid = Grid(items, ways, cells, none, none.astype(np.int32), none, kinds, sides)
                run_rows(item_cells, count, threads, grid, within, size, many)
                total = int(many.sum())
                if total <= ENTRIES * count + 4096:
                    break
            size *= 1.6
        bits = max(6, int(total).bit_length())
        grid = grid._replace(
            starts=np.empty((1 << bits) + 1, np.int64), entry=np.empty(total, np.int32), key=np.empty(total, np.int64)
        )
        fill_table(grid, bits)
        found = np.empty(PARTS, np.int64)
        while True:
            room = self._room_a_part
            if self._slabs is None or self._slabs[0].shape[1] != room:
                self._slabs = (
                    np.empty((PARTS, room, 4), np.int32), np.empty((PARTS, room), np.uint8), np.empty((PARTS, room), np.int32)
                )  # fmt: skip
            run_rows(
                grid_pairs, PARTS, threads, grid, int(itself), bodies, PARTS, found, *self._slabs, rows_per_chunk=4
            )  # fmt: skip
            most = int(found.max())
            if most <= room:
                break
            self._room_a_part = most + most // 2
        return self._gathered(found)

    def _gathered(self, found: Ints) -> Pairs:
        total = int(found.sum())
        if self._out is None or len(self._out.kind) < total:
            more = total + total // 2
            self._out = Pairs(np.empty((more, 4), np.int32), np.empty(more, np.uint8), np.empty(more, np.int32))
        out = Pairs(self._out.points[:total], self._out.kind[:total], self._out.body[:total])
        assert self._slabs is not None
        gather_pairs(found, *self._slabs, out)
        return out

    def room(self, pairs: Pairs, points: int) -> Room:
        """For what is found among them."""
        chunks = -(-len(pairs.kind) // CHUNK)
        if self._room is None or len(self._room.contact_count) < chunks or len(self._room.stamp) != points:
            more = chunks + chunks // 2
            size = more * CHUNK
            self._room = Room(
                np.zeros(more, np.int64), np.empty(size, np.int32), np.empty((size, CONTACT)), np.zeros(more, np.int64),
                np.empty(size, np.int32), np.empty((size, 4)), np.empty(points, np.int32),
            )  # fmt: skip
        return self._room._replace(
            contact_count=self._room.contact_count[:chunks], fail_count=self._room.fail_count[:chunks]
        )


def _no_pairs() -> Pairs:
    return Pairs(np.empty((0, 4), np.int32), np.empty(0, np.uint8), np.empty(0, np.int32))
