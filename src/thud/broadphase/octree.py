"""Loose octree, updated each step ([Slides]: octree in collision detection).

Space is a cube that is halved along each axis, level by level. Cells are loose, that is enlarged by 2: an object goes to the
level at which a cell is just as large as it is, to the cell that its centre is in, and sticks out of that by no more than half
a cell. So its place follows from its size and centre at once, and moving it costs nothing more than computing that place anew.
The tree is descended only where a region holds more objects than can be tested at a time (eight; with one object there is
nothing to test at all), so that what is sparse stays near the root.

Places are numbers, one digit a level: 0 for "stays here", else 1 plus the child. Sorting them puts the cells in depth-first
order, each before its children. For the descent a cell counts as large as what is in it, which is never more than the loose
cell; pairs are found by `leaf_walk.py`.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Ints
from thud._core.decorators import kernel
from thud.broadphase.boxes import Boxes
from thud.broadphase.leaf_walk import LEAF, collect_leaf_pairs
from thud.broadphase.pair_set import PairCollector, sorted_pairs
from thud.bvh.morton_tree import box_extent, cell_number, measure_centers, middle
from thud.bvh.radix import sort_with

#: Levels below the root: four bits of a place each.
_LEVELS = 16


@kernel("f8[:,::1], f8[::1], f8, i8, u8[::1], i4[::1]")
def octree_places(bounds, frame, edge, levels, places_out, items_out):
    """Place of each object that is there, and its row. The root cell has its lower corner at frame[:3]. Returns how many."""
    count = 0
    mx, my, mz = 0.5 * (frame[0] + frame[3]), 0.5 * (frame[1] + frame[4]), 0.5 * (frame[2] + frame[5])
    last = 2.0**levels - 1.0
    scale = 2.0**levels / edge if edge > 0.0 else 0.0
    for i in range(bounds.shape[0]):
        if not bounds[i, 0] <= bounds[i, 3]:
            continue
        x = cell_number(middle(bounds[i, 0], bounds[i, 3], mx), frame[0], scale, last)
        y = cell_number(middle(bounds[i, 1], bounds[i, 4], my), frame[1], scale, last)
        z = cell_number(middle(bounds[i, 2], bounds[i, 5], mz), frame[2], scale, last)
        extent, cell = box_extent(bounds, i), 0.5 * edge
        place = np.uint64(0)
        stays = False
        for level in range(levels):
            place <<= np.uint64(4)
            # A child's cell must be as large as the object; an infinite one stays at the root.
            stays = stays or not extent <= cell
            if not stays:
                shift = np.uint64(levels - 1 - level)
                child = ((x >> shift) & np.uint64(1)) | (((y >> shift) & np.uint64(1)) << np.uint64(1))
                place |= np.uint64(1) + (child | (((z >> shift) & np.uint64(1)) << np.uint64(2)))
            cell *= 0.5
        places_out[count], items_out[count] = place, i
        count += 1
    return count


@kernel("u8[::1], i8, i8, i4[::1], i4[::1], i4[::1]")
def octree_nodes(places, levels, most, level_out, first_out, count_out):
    """The cells over sorted places, depth first, as `split_codes` has them. Objects that stay in a cell with others below are
    leaves of at most `most` under it. Returns the number of nodes."""
    stack = np.empty((10 * _LEVELS + 10, 3), np.int64)
    if places.shape[0] == 0:
        return 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, places.shape[0], 0
    depth, nodes = 1, 0
    while depth > 0:
        depth -= 1
        start, stop, level = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        level_out[nodes], first_out[nodes], count_out[nodes] = level, start, 0
        nodes += 1
        if stop - start <= most:
            count_out[nodes - 1] = stop - start
            continue
        # The digit of this level: bits of the child's number above its own children's.
        shift = np.uint64(4 * max(levels - 1 - level, 0))
        at = start
        while at < stop and (level >= levels or (places[at] >> shift) & np.uint64(15) == 0):
            at += 1
        for begin in range(start, at, most):
            level_out[nodes], first_out[nodes], count_out[nodes] = level + 1, begin, min(most, at - begin)
            nodes += 1
        # Children: runs of one digit; pushed last to first, to come out first to last.
        end = stop
        while end > at:
            digit = places[end - 1] >> shift
            low, high = at, end - 1
            while low < high:
                half = (low + high) // 2
                if places[half] >> shift == digit:
                    high = half
                else:
                    low = half + 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = low, end, level + 1
            depth += 1
            end = low
    return nodes


class Octree:
    """A loose octree. Objects of any sizes; best where they are spread evenly."""

    def __init__(self) -> None:
        self._collector = PairCollector()

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        bounds = boxes.bounds
        frame = np.empty(7)
        finite = measure_centers(bounds, frame)
        edge = float((frame[3:6] - frame[:3]).max()) if finite else 0.0
        levels = 1
        if 0.0 < edge < math.inf:
            # Down to cells as large as a small object; more levels would hold none.
            typical = max(0.5 * float(frame[6]), edge * 2.0**-_LEVELS)
            levels = min(max(math.ceil(math.log2(edge / typical)), 1), _LEVELS)
        else:
            edge = 0.0
        places, items = np.empty(len(bounds), np.uint64), np.empty(len(bounds), np.int32)
        count = octree_places(bounds, frame, edge, levels, places, items)
        places, items = places[:count], items[:count]
        sort_with(places, items)
        # An object is in at most one cell a level, and in one leaf.
        room = (2 + _LEVELS) * count + 8
        level, first, number = (np.empty(room, np.int32) for _ in range(3))
        nodes = octree_nodes(places, levels, LEAF, level, first, number)
        found = collect_leaf_pairs(self._collector, boxes, items, (level[:nodes], first[:nodes], number[:nodes]), threads)
        return sorted_pairs(found, len(bounds))
