"""Sweep and prune ([Yang] 2.5.1): starts and ends of the boxes, sorted along three axes, from frame to frame.

[Slides] (mesh against mesh) give the version of a single frame: project each box onto x, y and z, store "in" and "out" markers
in three lists, sort them, scan each list for the intervals that overlap, and keep the pairs that do so in all three. Two boxes
overlap iff their intervals overlap on all axes. Here the lists are kept. Objects move little between frames, so that each list
is nearly sorted, and an insertion sort makes as many swaps as there are pairs of markers that have changed places:

- an "in" that comes before an "out": the two overlap on that axis now; if their boxes do, the pair is put into the set;
- an "out" that comes before an "in": they no longer do; if they were a pair, it is taken out.

All other swaps mean nothing. The three lists are sorted independently, by several threads.

When there is no last frame, when the number of boxes or the rules have changed, or when the swaps become too many (`_SWAPS`),
the boxes are sorted by one axis and swept once, eight at a time, in strips across a second axis. After repeated failures a
growing number of frames goes that way at once.

Markers are compared as whole numbers in the order of the floats they come from; at equal values an "in" is before an "out", so
that touching counts. What is not there has its "out" before all others and its "in" after all, at infinity, where no box
reaches.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.simd_boxes import emit_overlaps8
from thud._core.threads import run_rows
from thud.broadphase.boxes import Boxes
from thud.broadphase.brute import load_box
from thud.broadphase.pair_hash import REMOVE, PairHash
from thud.broadphase.pair_set import Keys, PairCollector, boxes_overlap, keep_allowed, sorted_pairs
from thud.bvh.morton_tree import boxes_in_order, measure_centers
from thud.bvh.radix import sort_with

Int32s = npt.NDArray[np.int32]

#: Swaps a marker, on average over an axis, that still pay: more take longer than the sweep of a whole frame.
_SWAPS = 0.5

#: Most frames in a row that are swept at once, after repeated failures.
_PAUSE = 31

#: A strip of the sweep holds at least so many boxes, on average, and is as wide as so many of them.
_STRIP, _STRIP_WIDTH = 256, 4.0


@device
def in_order(bits):
    """A float's bits as a whole number that is ordered as the floats are; the two zeros are equal."""
    if bits >= 0:
        return bits
    return np.int64(0) if bits == np.int64(-(2**63)) else bits ^ np.int64(0x7FFFFFFFFFFFFFFF)


@kernel("i8, i8, i8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], i8[:,::1], i4[:,::1], i8, u8[:,::1], i8[:,::1]")
def sort_axes(start, stop, bits, bounds, before, by_marker, keys, markers, limit, changes_out, totals_out):
    """Insertion sort of the lists of axes [start, stop), with the new boxes; `bits` are the same numbers as whole ones, and
    `before` the boxes of the last frame. Marker 2 i is the "in" of box i, 2 i + 1 its "out". by_marker is work space, for the
    keys in the order of the boxes.

    changes_out gets the pairs to put in and to take out; totals_out their number and 1, or 0 when swaps or changes were too
    many: then the lists are worth nothing.
    """
    room = changes_out.shape[1]
    for axis in range(start, stop):
        for i in range(bounds.shape[0]):
            by_marker[axis, 2 * i], by_marker[axis, 2 * i + 1] = in_order(bits[i, axis]), in_order(bits[i, axis + 3])
        swaps, found = 0, 0
        for k in range(markers.shape[1]):
            marker = np.int64(markers[axis, k])
            key = by_marker[axis, marker]
            at, i, is_out = k, marker >> 1, marker & 1
            while at > 0:
                other_key, other = keys[axis, at - 1], np.int64(markers[axis, at - 1])
                if other_key < key or (other_key == key and (other & 1) <= is_out):
                    break
                keys[axis, at], markers[axis, at] = other_key, other
                at -= 1
                if (other & 1) != is_out and found < room:
                    # An "in" now before an "out": do they overlap now? An "out" before an "in": did they?
                    j = other >> 1
                    meet = boxes_overlap(before, i, j) if is_out == 1 else boxes_overlap(bounds, i, j)
                    if meet and i != j:
                        pair = (np.uint64(min(i, j)) << np.uint64(32)) | np.uint64(max(i, j))
                        changes_out[axis, found] = pair | REMOVE if is_out == 1 else pair
                        found += 1
            keys[axis, at], markers[axis, at] = key, marker
            swaps += k - at
            if swaps > limit:
                break
        totals_out[axis, 0], totals_out[axis, 1] = found, np.int64(swaps <= limit and found < room)


@kernel("i8[:,::1], i8, i8, u8[::1], i4[::1]")
def start_axis(bits, axis, ends, keys_out, markers_out):
    """Keys, to be sorted as unsigned numbers, of all "in" markers of an axis, and with `ends` of the "out" markers behind; in
    a stable sort these then come after "in" markers of the same value."""
    count = bits.shape[0]
    for k in range((1 + ends) * count):
        marker = 2 * k if k < count else 2 * (k - count) + 1
        keys_out[k] = np.uint64(in_order(bits[marker >> 1, axis + 3 * (marker & 1)])) ^ np.uint64(1 << 63)
        markers_out[k] = marker


@kernel("f8[:,::1], i8, f8, f8, i8, i4[:,::1], i8[::1]")
def assign_strips(bounds, across, origin, scale, strips, reach_out, starts_out):
    """First and last strip that each box reaches; starts_out the place of each strip's first box among all. What is not there
    reaches none. The strip of a coordinate grows with it, so that boxes that overlap share one."""
    starts_out[:] = 0
    for i in range(bounds.shape[0]):
        first = cell_of(bounds[i, across], origin, scale, strips)
        last = cell_of(bounds[i, across + 3], origin, scale, strips)
        if not bounds[i, 0] <= bounds[i, 3]:
            first, last = np.int64(0), np.int64(-1)
        reach_out[i, 0], reach_out[i, 1] = first, last
        for strip in range(first, last + 1):
            starts_out[strip + 1] += 1
    for strip in range(strips):
        starts_out[strip + 1] += starts_out[strip]


@device
def cell_of(x, origin, scale, cells):
    """The cell of a coordinate, from 0 to cells - 1, in any case."""
    cell = (x - origin) * scale
    if not cell > 0.0:
        return np.int64(0)
    return np.int64(min(cell, cells - 1.0))


@kernel("i4[::1], i4[:,::1], i8[::1], i8[::1], i4[::1]")
def fill_strips(markers, reach, starts, next_place, order_out):
    """Boxes strip by strip, in the order of their "in" markers. next_place is work space."""
    for strip in range(starts.shape[0]):
        next_place[strip] = starts[strip]
    for k in range(markers.shape[0]):
        i = markers[k] >> 1
        for strip in range(reach[i, 0], reach[i, 1] + 1):
            order_out[next_place[strip]] = i
            next_place[strip] += 1


@kernel("i8, i8, i8, f8[:,::1], i4[::1], i4[:,::1], i8[::1], u8[:,::1], u8[::1]")
def sweep_rows(start, stop, axis, bounds, order, reach, starts, rules, out):
    """Each box in [start, stop) against those of its strip that begin, along the axis, where it is. A pair that shares several
    strips counts in the first of them."""
    found, room = 0, out.shape[0] - 8
    strip = 0
    for p in range(start, stop):
        while starts[strip + 1] <= p:
            strip += 1
        end, last, before = starts[strip + 1], bounds[axis + 3, p], found
        query, i = load_box(bounds, p), np.int64(order[p])
        at = p + 1
        while at < end and bounds[axis, at] <= last:
            found += emit_overlaps8(bounds, at, end - at, query, order, i, out, min(found, room))
            at += 8
        if starts.shape[0] > 2 and found <= room:
            kept = before
            for m in range(before, found):
                a, b = np.int64(out[m] >> np.uint64(32)), np.int64(out[m] & np.uint64(0xFFFFFFFF))
                if max(reach[a, 0], reach[b, 0]) == strip:
                    out[kept] = out[m]
                    kept += 1
            found = kept
    return keep_allowed(rules, out, found)


class SweepAndPrune:
    """Sweep and prune. Best where objects move little from frame to frame: then a frame is a look at each marker."""

    def __init__(self) -> None:
        self._collector = PairCollector()
        self._set = PairHash()
        self._before: Floats = np.empty((0, 6))
        self._rules: Keys = np.empty((0, 3), np.uint64)
        self._keys, self._markers = np.empty((3, 0), np.int64), np.empty((3, 0), np.int32)
        self._by_marker = self._keys
        self._limit = self._pause = self._failures = 0
        self._listed = False

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        same_rules = self._rules is boxes.rules or np.array_equal(self._rules, boxes.rules)
        if not self._listed or len(self._before) != len(boxes.bounds) or not same_rules:
            return self._start(boxes, threads)
        totals, room = np.empty((3, 2), np.int64), 4 * len(boxes.bounds) + 1024
        changes = np.empty((3, room), np.uint64)
        run_rows(
            sort_axes, 3, threads, boxes.bounds.view(np.int64), boxes.bounds, self._before, self._by_marker, self._keys,
            self._markers, self._limit, changes, totals, rows_per_chunk=1,
        )  # fmt: skip
        if not totals[:, 1].all():
            self._failures = min(2 * self._failures + 1, _PAUSE)
            self._pause = self._failures - 1
            return self._start(boxes, threads)
        self._failures = 0
        # In any order: what is put in overlaps now, what is taken out does not, so no pair is both.
        for axis in range(3):
            self._set.change(changes[axis, : totals[axis, 0]], boxes.rules)
        self._keep(boxes)
        return sorted_pairs([self._set.keys()], len(boxes.bounds))

    def _keep(self, boxes: Boxes) -> None:
        """Remember this frame's boxes; a copy, as the caller may move them in place."""
        if len(self._before) == len(boxes.bounds):
            np.copyto(self._before, boxes.bounds)
        else:
            self._before = boxes.bounds.copy()
        self._rules = boxes.rules

    def _start(self, boxes: Boxes, threads: int | None) -> Ints:
        """All pairs by one sweep, and the lists and the set anew, unless they failed time and again."""
        found = self._sweep(boxes, threads)
        self._listed = self._pause == 0
        if self._pause > 0:
            self._pause -= 1
        else:
            self._list(boxes)
            self._set.clear()
            for keys in found:
                self._set.change(keys, np.empty((0, 3), np.uint64))
        return sorted_pairs(found, len(boxes.bounds))

    def _list(self, boxes: Boxes) -> None:
        """Markers of the three axes, sorted."""
        count = len(boxes.bounds)
        self._keys, self._markers = np.empty((3, 2 * count), np.int64), np.empty((3, 2 * count), np.int32)
        self._by_marker = np.empty_like(self._keys)
        keys = np.empty(2 * count, np.uint64)
        for axis in range(3):
            start_axis(boxes.bounds.view(np.int64), axis, 1, keys, self._markers[axis])
            sort_with(keys, self._markers[axis])
        self._limit = int(_SWAPS * 2 * count) + 64
        self._keep(boxes)

    def _sweep(self, boxes: Boxes, threads: int | None) -> list[Keys]:
        """Keys of all pairs, by sorting along the longest axis and sweeping in strips across the second longest."""
        bounds = boxes.bounds
        count = len(bounds)
        frame = np.empty(7)
        finite = measure_centers(bounds, frame)
        spans = frame[3:6] - frame[:3] if finite else np.zeros(3)
        across, axis = (int(c) for c in np.argsort(spans, kind="stable")[1:])
        keys, markers = np.empty(count, np.uint64), np.empty(count, np.int32)
        start_axis(bounds.view(np.int64), axis, 0, keys, markers)
        sort_with(keys, markers)
        strips = 1
        if 0.0 < spans[across] < np.inf and frame[6] > 0.0:
            strips = max(1, int(min(count / _STRIP, spans[across] / (_STRIP_WIDTH * frame[6]))))
        reach, starts = np.empty((count, 2), np.int32), np.empty(strips + 1, np.int64)
        scale = strips / spans[across] if strips > 1 else 0.0
        assign_strips(bounds, across, frame[across] if finite else 0.0, scale, strips, reach, starts)
        order = np.zeros(int(starts[-1]) + 8, np.int32)
        fill_strips(markers, reach, starts, np.empty_like(starts), order)
        columns = np.empty((6, len(order)))
        boxes_in_order(bounds, order[: len(order) - 8], columns)
        return self._collector.collect(
            sweep_rows, len(order) - 8, threads, axis, columns, order, reach, starts, boxes.rules, rows_per_chunk=256
        )
