"""Binary space partition for static scenes ([Slides], strategies: pre-calculation e.g. BSP tree).

Planes are chosen once, over the static boxes, and kept until those change; the moving boxes are pushed down to the leaves each
frame. Planes are axis-aligned: boxes are. Of a few candidates on each axis the one is taken that balances the two sides and
cuts the fewest boxes. A box that a plane cuts goes to both sides, so that it may be in several leaves; pairs are sought within
leaves.

A pair that shares several leaves is reported by the one that holds the lower corner of the two boxes' overlap. There is exactly
one: left of a plane is what is less than it, so that the corner has one way down, and both boxes contain it, so that they went
that way too.

Without static boxes the planes are chosen over all boxes of the first frame. Either way, when the moving ones crowd the leaves
so much that a frame takes several times the tests of a good partition, the planes are chosen over all of that frame's boxes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud.broadphase.boxes import STATIC, Boxes
from thud.broadphase.brute import load_box
from thud.broadphase.pair_set import Keys, PairCollector, keep_allowed, scan_run, sorted_pairs
from thud.bvh.morton_tree import boxes_in_order, middle

Int32s = npt.NDArray[np.int32]

#: Boxes, by their centres, that a leaf holds at most, if there is a plane that parts them.
_LEAF = 8

#: Planes on the way to a leaf at most.
_DEPTH = 48

#: Centres looked at for candidate planes, and every which one of them, sorted, is a candidate.
_SAMPLE, _EVERY = 31, 4

#: A plane costs the boxes on its fuller side and this much for each that it cuts.
_CUT = 2.0

#: The planes are chosen anew when a frame takes _CROWDED times the tests that the last choice made for moving boxes took at
#: first, or that many times _TESTS a moving box.
_CROWDED, _TESTS = 2.5, 40.0


@kernel("f8[:,::1], i4[::1], i4[::1], f8[::1], i4[::1], f8[:,::1]")
def choose_planes(bounds, members, axis_out, plane_out, right_out, regions_out):
    """Planes over the boxes of `members`, whose order is used up. Nodes depth first, the left child next: axis (-1: a leaf),
    plane and right child (of a leaf: its number). regions_out: lower and upper corner of each leaf. Returns how many nodes and
    how many leaves there are."""
    ranges, regions = np.empty((_DEPTH + 4, 4), np.int64), np.empty((_DEPTH + 4, 6))
    sample, count = np.empty(_SAMPLE), members.shape[0]
    ranges[0, 0], ranges[0, 1], ranges[0, 2], ranges[0, 3] = 0, count, 0, -1
    for c in range(3):
        regions[0, c], regions[0, c + 3] = -np.inf, np.inf
    depth, nodes, leaves = 1, 0, 0
    while depth > 0:
        depth -= 1
        start, stop, level, parent = ranges[depth, 0], ranges[depth, 1], ranges[depth, 2], ranges[depth, 3]
        node = nodes
        nodes += 1
        if parent >= 0:
            right_out[parent] = node
        best, best_axis, best_plane = np.inf, -1, 0.0
        if stop - start > _LEAF and level < _DEPTH:
            for axis in range(3):
                cost, plane = best_plane_of(bounds, members, start, stop, axis, sample)
                if cost < best:
                    best, best_axis, best_plane = cost, axis, plane
        # A plane that leaves nearly all on one side, or cuts nearly all, is none.
        if not best < 0.9 * (stop - start):
            axis_out[node], plane_out[node], right_out[node] = -1, 0.0, leaves
            for c in range(6):
                regions_out[leaves, c] = regions[depth, c]
            leaves += 1
            continue
        axis_out[node], plane_out[node] = best_axis, best_plane
        at = start
        for k in range(start, stop):
            i = members[k]
            if center_of(bounds, i, best_axis) < best_plane:
                members[k], members[at] = members[at], i
                at += 1
        # The right side waits; the left one comes next, in the place above it.
        for c in range(6):
            regions[depth + 1, c] = regions[depth, c]
        regions[depth, best_axis], regions[depth + 1, best_axis + 3] = best_plane, best_plane
        ranges[depth, 0], ranges[depth, 1], ranges[depth, 2], ranges[depth, 3] = at, stop, level + 1, node
        ranges[depth + 1, 0], ranges[depth + 1, 1] = start, at
        ranges[depth + 1, 2], ranges[depth + 1, 3] = level + 1, -1
        depth += 2
    return nodes, leaves


@device
def center_of(bounds, i, axis):
    """The centre of box i along an axis; of one that is infinite both ways, the origin."""
    return middle(bounds[i, axis], bounds[i, axis + 3], 0.0)


@kernel(inner="f8[:,::1], i4[::1], i8, i8, i8, f8[::1]")
def best_plane_of(bounds, members, start, stop, axis, sample):
    """The cheapest of a few planes across an axis, and its cost; see _CUT."""
    # Centres of some, evenly taken, sorted.
    taken = min(np.int64(_SAMPLE), stop - start)
    for k in range(taken):
        value, at = center_of(bounds, members[start + k * (stop - start) // taken], axis), k
        while at > 0 and sample[at - 1] > value:
            sample[at] = sample[at - 1]
            at -= 1
        sample[at] = value
    best, best_plane = np.inf, 0.0
    every = min(np.int64(_EVERY), max(taken // 4, 1))
    for k in range(every - 1, taken, every):
        plane = sample[k]
        left, cut = 0, 0
        for m in range(start, stop):
            i = members[m]
            left += np.int64(center_of(bounds, i, axis) < plane)
            cut += np.int64((bounds[i, axis] < plane) & (bounds[i, axis + 3] >= plane))
        cost = max(left, stop - start - left) + _CUT * cut
        if left > 0 and cost < best:
            best, best_plane = cost, plane
    return best, best_plane


@kernel("i8, i8, f8[:,::1], i4[::1], i4[::1], f8[::1], i4[::1], u8[::1]")
def push_rows(start, stop, bounds, members, axis, plane, right, out):
    """Keys leaf, member for all leaves that each box reaches. Returns how many."""
    stack, found = np.empty(_DEPTH + 4, np.int32), 0
    for k in range(start, stop):
        i = np.int64(members[k])
        if not bounds[i, 0] <= bounds[i, 3]:
            continue
        stack[0] = 0
        depth = 1
        while depth > 0:
            depth -= 1
            node = np.int64(stack[depth])
            while axis[node] >= 0:
                side, value = axis[node], plane[node]
                goes_left, goes_right = bounds[i, side] < value, bounds[i, side + 3] >= value
                if goes_left and goes_right:
                    stack[depth] = right[node]
                    depth += 1
                node = node + 1 if goes_left else np.int64(right[node])
            if found < out.shape[0]:
                out[found] = (np.uint64(right[node]) << np.uint64(32)) | np.uint64(i)
            found += 1
    return found


@kernel("u8[::1], i8[::1]")
def count_leaves(keys, starts_out):
    """How many of the keys are in each leaf, one place further up."""
    for k in range(keys.shape[0]):
        starts_out[np.int64(keys[k] >> np.uint64(32)) + 1] += 1


@kernel("u8[::1], i8[::1], i4[::1]")
def fill_leaves(keys, next_place, order_out):
    """The boxes leaf by leaf."""
    for k in range(keys.shape[0]):
        leaf = np.int64(keys[k] >> np.uint64(32))
        order_out[next_place[leaf]] = np.int32(keys[k] & np.uint64(0xFFFFFFFF))
        next_place[leaf] += 1


@device
def holds_corner(bounds, regions, leaf, i, j):
    """Whether the lower corner of the overlap of boxes i and j is in the leaf: lower <= corner < upper."""
    inside = True
    for c in range(3):
        corner = max(bounds[i, c], bounds[j, c])
        upper = regions[leaf, c + 3]
        inside = inside and corner >= regions[leaf, c] and (corner < upper or upper == np.inf)
    return inside


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], i4[::1], i8[::1], f8[:,::1], i4[::1], i8[::1], u8[:,::1], u8[::1]")
def bsp_rows(start, stop, bounds, regions, moving, order, starts, static, static_order, static_starts, rules, out):
    """Pairs of the moving boxes in leaves [start, stop) with each other and with the static ones; columns by leaf."""
    found, room = 0, out.shape[0] - 8
    for leaf in range(start, stop):
        before, end = found, starts[leaf + 1]
        for p in range(starts[leaf], end):
            query, i = load_box(moving, p), order[p]
            found = scan_run(moving, order, p + 1, end, query, i, out, found)
            found = scan_run(static, static_order, static_starts[leaf], static_starts[leaf + 1], query, i, out, found)
        if found > room:
            continue
        kept = before
        for m in range(before, found):
            i, j = np.int64(out[m] >> np.uint64(32)), np.int64(out[m] & np.uint64(0xFFFFFFFF))
            if holds_corner(bounds, regions, leaf, i, j):
                out[kept] = out[m]
                kept += 1
        found = kept
    return keep_allowed(rules, out, found)


@kernel("f8[:,::1], i8[::1], f8[:,::1]")
def same_boxes(bounds, rows, kept):
    """Whether the boxes of `rows` are those that were kept."""
    for k in range(rows.shape[0]):
        for c in range(6):
            if bounds[rows[k], c] != kept[k, c]:
                return False
    return True


class Leaves:
    """Boxes leaf by leaf, in columns."""

    def __init__(self, bounds: Floats, keys: list[Keys], leaves: int) -> None:
        self.starts = np.zeros(leaves + 1, np.int64)
        for part in keys:
            count_leaves(part, self.starts)
        np.cumsum(self.starts, out=self.starts)
        self.order = np.zeros(int(self.starts[-1]) + 8, np.int32)
        places = self.starts.copy()
        for part in keys:
            fill_leaves(part, places, self.order)
        self.columns = np.empty((6, len(self.order)))
        boxes_in_order(bounds, self.order[: len(self.order) - 8], self.columns)

    @property
    def counts(self) -> Floats:
        """(leaves,) boxes in each."""
        return np.diff(self.starts).astype(np.float64)


class Bsp:
    """A BSP tree over the static boxes. Best where few move among many that do not."""

    def __init__(self) -> None:
        self._collector, self._pusher = PairCollector(), PairCollector()
        self._static_rows: Ints = np.empty(0, np.int64)
        self._static_bounds: Floats = np.empty((0, 6))
        self._nodes: tuple[Int32s, Floats, Int32s] | None = None
        self._regions: Floats = np.empty((0, 6))
        self._static = Leaves(np.empty((0, 6)), [], 0)
        self._good = 0.0

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        bounds = boxes.bounds
        is_static = boxes.rules[:, STATIC] != 0 if len(boxes.rules) else np.zeros(len(bounds), bool)
        static, moving = np.flatnonzero(is_static), np.flatnonzero(~is_static).astype(np.int32)
        changed = not np.array_equal(static, self._static_rows) or not same_boxes(bounds, static, self._static_bounds)
        if changed or self._nodes is None:
            self._static_rows, self._static_bounds = static, bounds[static]
            self._partition(bounds, static if len(static) else moving, threads)
        leaves = self._push(bounds, moving, threads)
        if self._tests(leaves) > _CROWDED * max(self._good, _TESTS * len(moving)):
            self._partition(bounds, np.arange(len(bounds)), threads)
            leaves = self._push(bounds, moving, threads)
            self._good = self._tests(leaves)
        still = self._static
        found = self._collector.collect(
            bsp_rows, len(self._regions), threads, bounds, self._regions, leaves.columns, leaves.order, leaves.starts,
            still.columns, still.order, still.starts, boxes.rules, rows_per_chunk=16,
        )  # fmt: skip
        return sorted_pairs(found, len(bounds))

    def _partition(self, bounds: Floats, rows: npt.NDArray[np.integer], threads: int | None) -> None:
        """Planes over the boxes of `rows`, and the static boxes in their leaves."""
        members = rows[bounds[rows, 0] <= bounds[rows, 3]].astype(np.int32)
        room = 2 * len(members) + 1
        axis, plane, right = np.empty(room, np.int32), np.empty(room), np.empty(room, np.int32)
        regions = np.empty((len(members) + 1, 6))
        nodes, leaves = choose_planes(bounds, members, axis, plane, right, regions)
        self._nodes, self._regions = (axis[:nodes].copy(), plane[:nodes].copy(), right[:nodes].copy()), regions[:leaves].copy()
        self._static = self._push(bounds, self._static_rows.astype(np.int32), threads)
        self._good = 0.0

    def _push(self, bounds: Floats, members: Int32s, threads: int | None) -> Leaves:
        """Boxes in the leaves that they reach."""
        assert self._nodes is not None
        keys = self._pusher.collect(push_rows, len(members), threads, bounds, members, *self._nodes, rows_per_chunk=1024)
        return Leaves(bounds, keys, len(self._regions))

    def _tests(self, leaves: Leaves) -> float:
        """Tests of a frame, pair by pair."""
        moving = leaves.counts
        return float((moving * (0.5 * moving + self._static.counts)).sum())
