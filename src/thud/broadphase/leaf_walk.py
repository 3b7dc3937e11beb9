"""Pairs of a tree's leaves: each leaf against the leaves after it, so that each pair of boxes is looked at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.decorators import kernel
from thud.broadphase.boxes import Boxes
from thud.broadphase.brute import load_box
from thud.broadphase.pair_set import Keys, PairCollector, keep_allowed, scan_run
from thud.bvh.morton_tree import boxes_in_order, close_tree

Int32s = npt.NDArray[np.int32]

#: Boxes a leaf holds at most: as many as are tested at a time.
LEAF = 8


@kernel("i8, i8, f8[:,::1], i4[::1], f8[:,::1], i8[::1], i4[::1], i4[::1], u8[:,::1], u8[::1]")
def leaf_pairs_rows(start, stop, bounds, order, boxes, skip, first, count, rules, out):
    """Pairs within the leaves among nodes [start, stop), and with the leaves that come after them in depth-first order: a walk
    from a leaf to the end passes all of those, and only those."""
    found, nodes = 0, skip.shape[0]
    for a in range(start, stop):
        if count[a] == 0:
            continue
        begin, end = np.int64(first[a]), np.int64(first[a]) + np.int64(count[a])
        for p in range(begin, end):
            found = scan_run(bounds, order, p + 1, end, load_box(bounds, p), order[p], out, found)
        lx, ly, lz, ux, uy, uz = boxes[a, 0], boxes[a, 1], boxes[a, 2], boxes[a, 3], boxes[a, 4], boxes[a, 5]
        k = a + 1
        while k < nodes:
            # All six at once, so that there is one branch to guess.
            meet = (
                (boxes[k, 0] <= ux) & (lx <= boxes[k, 3]) & (boxes[k, 1] <= uy) & (ly <= boxes[k, 4])
                & (boxes[k, 2] <= uz) & (lz <= boxes[k, 5])
            )  # fmt: skip
            if not meet:
                k = skip[k]
                continue
            if count[k] > 0:
                at = np.int64(first[k])
                stop_at = at + np.int64(count[k])
                for p in range(begin, end):
                    found = scan_run(bounds, order, at, stop_at, load_box(bounds, p), order[p], out, found)
            k += 1
    return keep_allowed(rules, out, found)


def collect_leaf_pairs(
    collector: PairCollector,
    boxes: Boxes,
    order: Int32s,
    nodes: tuple[Int32s, Int32s, Int32s],
    threads: int | None,
) -> list[Keys]:
    """Keys of the pairs of a tree: `nodes` are level, first and count in depth-first order; `order` the rows of its boxes."""
    level, first, count = nodes
    columns = np.empty((6, len(order) + 8))
    boxes_in_order(boxes.bounds, order, columns)
    node_boxes, skip = np.empty((len(level), 6)), np.empty(len(level), np.int64)
    close_tree(level, first, count, columns, skip, node_boxes)
    padded = np.zeros(len(order) + 8, np.int32)
    padded[: len(order)] = order
    return collector.collect(
        leaf_pairs_rows, len(level), threads, columns, padded, node_boxes, skip, first, count, boxes.rules, rows_per_chunk=64
    )
