"""Spatial subdivision ([Yang] 2.5.2): a uniform grid, hashed. An object belongs to the cell of its centre, and is tested
against those in the same or in a neighbouring cell.

A cell is as large as the largest object, so that no overlap reaches farther. The few objects that are much larger than the
rest would spoil that; they are tested against all. Cells are numbered from minus to plus infinity; a row of cells along the
longest axis is found by the hash of its two other numbers, and the objects of a row lie side by side, sorted by where they
begin along it, in sixteenths of a cell. So the 27 neighbouring cells are nine runs, of which the half that lies ahead is looked
at: each pair is found once.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.simd_boxes import emit_overlaps8
from thud.broadphase.boxes import Boxes
from thud.broadphase.brute import columns, load_box
from thud.broadphase.pair_set import PairCollector, keep_allowed, scan_run, sorted_pairs
from thud.broadphase.tolerances import BROAD_CELL, BROAD_CELLS, BROAD_ROOM
from thud.bvh.morton_tree import box_extent
from thud.bvh.radix import sort_with
from thud.constants import TINY

#: Steps of the order along a row, a cell.
_STEPS = 16

#: Moves of the insertion sort, an object, beyond which the last frame's order is no help.
_PATIENCE = 6

#: Objects below which a second thread costs more than it brings (50 us for a hand-over, 0.1 us an object).
_SHARED = 4096

#: An object longer than this counts as infinite, metres.
_FAR = 1e300

#: Objects that may be tested against all: this many, or the square root of their number. Their scan takes N / 8 tests each.
_LARGE = 16


@device
def slot_of(table, keys, key):
    """Where in the hash table a row's key is or belongs; the table is less than half full."""
    mask = np.uint64(table.shape[0] - 1)
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = (h >> np.uint64(20)) & mask
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + np.uint64(1)) & mask
    return at


@device
def row_key(y, z):
    """A row of cells as one number; y and z within BROAD_CELLS."""
    return (np.int64(y) << 32) ^ (np.int64(z) & 0xFFFFFFFF)


@kernel("f8[:,::1], f8[::1]")
def box_extents(bounds, extents_out):
    """Longest edge of each box; -inf for one that is not there."""
    for i in range(bounds.shape[0]):
        extents_out[i] = box_extent(bounds, i)


@kernel("f8[:,::1], f8[::1], i4[::1], f8, f8, i8, i4[:,::1], i4[::1], i4[::1], i8[::1], i4[::1], i8[::1], i8[::1]")
def assign_rows(
    bounds, extents, visit, cell, steps, axis, cells_out, members_out, large_out, keys_out, table, starts_out, totals_out
):
    """Row and step along it of every object, in the order of `visit`: that of the last frame, so that neighbours come together.

    members_out gets the small objects, large_out the others; cells_out[i] = (step, row). keys_out gets the key of each row and
    starts_out[row + 1] its number of objects. totals_out: members, large, rows, least step.
    """
    members, large, rows = 0, 0, 0
    least = np.int64(2**40)
    second, third = (axis + 1) % 3, (axis + 2) % 3
    scale = 1.0 / cell
    for k in range(table.shape[0]):
        table[k] = -1
    last_key, row = np.int64(0), -1
    for k in range(visit.shape[0]):
        i = visit[k]
        if extents[i] < 0.0:
            continue
        x = 0.5 * (bounds[i, axis] + bounds[i, axis + 3]) * scale
        y = 0.5 * (bounds[i, second] + bounds[i, second + 3]) * scale
        z = 0.5 * (bounds[i, third] + bounds[i, third + 3]) * scale
        if not (extents[i] * BROAD_CELL <= cell and max(abs(x), max(abs(y), abs(z))) < BROAD_CELLS):
            large_out[large] = i
            large += 1
            continue
        key = row_key(math.floor(y), math.floor(z))
        if row < 0 or key != last_key:
            last_key = key
            at = slot_of(table, keys_out, key)
            if table[at] < 0:
                table[at] = rows
                keys_out[rows], starts_out[rows + 1] = key, 0
                rows += 1
            row = np.int64(table[at])
        starts_out[row + 1] += 1
        # Where the box begins along the row; whatever overlaps it begins at most a cell before.
        step = np.int64(math.floor(bounds[i, axis] * steps))
        cells_out[i, 0], cells_out[i, 1] = step, row
        members_out[members] = i
        members += 1
        least = min(least, step)
    starts_out[0] = 0
    for k in range(rows):
        starts_out[k + 1] += starts_out[k]
    totals_out[0], totals_out[1], totals_out[2], totals_out[3] = members, large, rows, least


@kernel("i4[:,::1], i8[::1], i4[::1], i4[::1], i4[::1], i8")
def sort_rows(cells, starts, source, order_out, step_out, patience):
    """Objects row by row, each row sorted by steps: a counting pass, then insertion. Returns the moves it took, or -1 when they
    were more than `patience`: then `source` was in no good order. starts is used up and restored."""
    rows = starts.shape[0] - 1
    for k in range(source.shape[0]):
        i = source[k]
        at = starts[cells[i, 1]]
        starts[cells[i, 1]] = at + 1
        order_out[at], step_out[at] = i, cells[i, 0]
    for row in range(rows - 1, 0, -1):
        starts[row] = starts[row - 1]
    if rows > 0:
        starts[0] = 0
    moves = 0
    for row in range(rows):
        for k in range(starts[row] + 1, starts[row + 1]):
            step, i, at = step_out[k], order_out[k], k
            while at > starts[row] and step_out[at - 1] > step:
                step_out[at], order_out[at] = step_out[at - 1], order_out[at - 1]
                at -= 1
            step_out[at], order_out[at] = step, i
            moves += k - at
        if moves > patience:
            return -1
    return moves


@kernel("f8[:,::1], i8[::1], i8, i4[::1], i4[::1], f8[:,::1], i4[:,::1]")
def fill_rows(bounds, keys, rows, table, order, columns_out, ahead_out):
    """Boxes in columns, in their order; and for each row the four rows ahead of it, -1 where there is none."""
    count = columns_out.shape[1] - 8
    for k in range(count):
        for c in range(6):
            columns_out[c, k] = bounds[order[k], c]
    for k in range(count, count + 8):
        for c in range(3):
            columns_out[c, k], columns_out[c + 3, k] = np.inf, -np.inf
    for row in range(rows):
        y, z = keys[row] >> 32, np.int64(np.int32(keys[row] & 0xFFFFFFFF))
        # (y, z) -> (y + 1, z), (y - 1, z + 1), (y, z + 1), (y + 1, z + 1): half of the eight around it.
        for k in range(4):
            dy, dz = (1, 0) if k == 0 else (k - 2, 1)
            ahead_out[row, k] = table[slot_of(table, keys, row_key(y + dy, z + dz))]


@kernel("i8, i8, f8[:,::1], i4[::1], i4[::1], i8[::1], i4[:,::1], f8, i8, u8[:,::1], u8[::1]")
def grid_rows(start, stop, bounds, order, step, starts, ahead, steps, axis, rules, out):
    """Pairs of the objects in rows [start, stop) with those in the same and in neighbouring cells."""
    found, room = 0, out.shape[0] - 8
    for row in range(start, stop):
        end = starts[row + 1]
        # The row itself, behind the object.
        for p in range(starts[row], end):
            query, i = load_box(bounds, p), np.int64(order[p])
            last = math.floor(bounds[axis + 3, p] * steps)
            at = p + 1
            while at < end and step[at] <= last:
                found += emit_overlaps8(bounds, at, end - at, query, order, i, out, min(found, room))
                at += 8
        # A row ahead: what begins at most a cell before the object begins, to what begins where it ends.
        for k in range(4):
            other = ahead[row, k]
            if other < 0:
                continue
            first, other_end = starts[other], starts[other + 1]
            for p in range(starts[row], end):
                query, i = load_box(bounds, p), np.int64(order[p])
                earliest, last = step[p] - _STEPS - 1, math.floor(bounds[axis + 3, p] * steps)
                # Without a loop, which would be mispredicted: what is left behind now is caught up with later.
                first += np.int64(step[first] < earliest)
                first += np.int64(step[first] < earliest)
                first = min(first, other_end)
                at = first
                while at < other_end and step[at] <= last:
                    found += emit_overlaps8(bounds, at, other_end - at, query, order, i, out, min(found, room))
                    at += 8
    return keep_allowed(rules, out, found)


@kernel("i8, i8, f8[:,::1], i4[::1], f8[:,::1], i4[::1], u8[:,::1], u8[::1]")
def large_rows(start, stop, large_bounds, large, bounds, order, rules, out):
    """Pairs of the large objects with each other and with all small ones."""
    found = 0
    for k in range(start, stop):
        box, i = load_box(large_bounds, k), large[k]
        found = scan_run(large_bounds, large, k + 1, large_bounds.shape[1] - 8, box, i, out, found)
        found = scan_run(bounds, order, 0, bounds.shape[1] - 8, box, i, out, found)
    return keep_allowed(rules, out, found)


def few_large(count: int) -> int:
    """How many of `count` objects may be tested against all."""
    return max(_LARGE, math.isqrt(count) // 4)


def common_extent(finite: Floats, count: int) -> float:
    """The largest of the finite extents of `count` objects but for a few outliers, if it is at least a quarter smaller."""
    few = min(few_large(count), len(finite) - 1)
    largest, common = float(finite.max()), float(np.partition(finite, len(finite) - 1 - few)[len(finite) - 1 - few])
    return common if common < 0.75 * largest else largest


def cell_crowd(bounds: Floats) -> float:
    """Objects a cell of the grid, on average, if they are spread evenly: large where their sizes differ much."""
    extents = np.empty(len(bounds))
    box_extents(bounds, extents)
    inside = (extents >= 0.0) & (extents < _FAR)
    if not inside.any():
        return 0.0
    edge = common_extent(extents[inside], len(bounds))
    span = np.ptp(bounds[inside, :3], axis=0)
    # Along an axis without extent there is one cell.
    cells = np.maximum(span / edge, 1.0) if edge > 0.0 else np.full(3, np.inf)
    return float(np.count_nonzero(inside) / cells.prod())


class Grid:
    """A uniform grid. Best where most objects are of similar size."""

    def __init__(self) -> None:
        self._collector, self._large_collector = PairCollector(), PairCollector()
        self._cell = 0.0
        self._axis = 0
        self._visit: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def _choose_cell(self, extents: Floats, bounds: Floats) -> None:
        """Keep the cell of the last frame if it still fits; else the largest extent but for a few."""
        few = few_large(len(extents))
        if self._cell > 0.0:
            above = int(np.count_nonzero(extents > self._cell / BROAD_CELL))
            half = int(np.count_nonzero(extents > 0.5 * self._cell / BROAD_CELL))
            if above <= few < half or (above == 0 and half > 0):
                return
        bounded = (extents >= 0.0) & (extents < _FAR)
        finite = extents[bounded]
        if len(finite) == 0:
            self._cell = 1.0
            return
        edge = common_extent(finite, len(extents))
        self._cell = max(edge, TINY) * BROAD_CELL * BROAD_ROOM if edge > 0.0 else 1.0
        self._axis = int(np.argmax(np.ptp(bounds[bounded, :3], axis=0)))

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        bounds, rules = boxes.bounds, boxes.rules
        count = len(bounds)
        extents = np.empty(count)
        box_extents(bounds, extents)
        self._choose_cell(extents, bounds)
        cells, members, large = np.empty((count, 2), np.int32), np.empty(count, np.int32), np.empty(count, np.int32)
        keys, starts, totals = np.empty(count, np.int64), np.empty(count + 1, np.int64), np.empty(4, np.int64)
        table = np.empty(1 << max(4, (2 * count).bit_length()), np.int32)
        visit = self._visit if len(self._visit) == count else np.arange(count, dtype=np.int32)
        steps = _STEPS / self._cell
        assign_rows(bounds, extents, visit, self._cell, steps, self._axis, cells, members, large, keys, table, starts, totals)
        small, n_large, rows, least = totals.tolist()
        starts, source = starts[: rows + 1], members[:small]
        # Eight places more, for loads of eight; those of `step` are beyond all others.
        order, step = np.zeros(small + 8, np.int32), np.full(small + 8, 2**31 - 1, np.int32)
        if sort_rows(cells, starts, source, order, step, _PATIENCE * small) < 0:
            sort_with((cells[source, 0].astype(np.int64) - least).astype(np.uint64), source)
            sort_rows(cells, starts, source, order, step, _PATIENCE * small)
        # All come again in this order, those that are not there last.
        absent = np.flatnonzero(extents < 0.0).astype(np.int32) if small + n_large < count else large[:0]
        self._visit = np.concatenate([order[:small], large[:n_large], absent])
        sorted_bounds, ahead = np.empty((6, small + 8)), np.empty((rows, 4), np.int32)
        fill_rows(bounds, keys, rows, table, order, sorted_bounds, ahead)
        workers = threads if small >= _SHARED else 1
        found = self._collector.collect(
            grid_rows, rows, workers, sorted_bounds, order, step, starts, ahead, steps, self._axis, rules, rows_per_chunk=16
        )
        if n_large:
            chosen = np.zeros(n_large + 8, np.int32)
            chosen[:n_large] = large[:n_large]
            wide = columns(bounds[chosen[:n_large]])
            found = found + self._large_collector.collect(
                large_rows, n_large, threads, wide, chosen, sorted_bounds, order, rules, rows_per_chunk=4
            )
        return sorted_pairs(found, count)
