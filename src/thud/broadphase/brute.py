"""Every box against every other ([Yang] 2.5): O(N^2), eight at a time."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud.broadphase.boxes import Boxes
from thud.broadphase.pair_set import PairCollector, keep_allowed, scan_run, sorted_pairs


def columns(bounds: Floats) -> Floats:
    """(6, P) the boxes one row a number, and at least 8 absent ones at the end."""
    count = len(bounds)
    out = np.empty((6, count + 8))
    out[:, :count] = bounds.T
    out[:3, count:], out[3:, count:] = np.inf, -np.inf
    return out


@device
def load_box(bounds, k):
    """The six numbers of column k."""
    return bounds[0, k], bounds[1, k], bounds[2, k], bounds[3, k], bounds[4, k], bounds[5, k]


@kernel("i8, i8, f8[:,::1], i4[::1], u8[:,::1], u8[::1]")
def brute_rows(start, stop, bounds, order, rules, out):
    """Each box against those behind it. Returns how many pairs there are."""
    found, count = 0, bounds.shape[1] - 8
    for k in range(start, stop):
        found = scan_run(bounds, order, k + 1, count, load_box(bounds, k), order[k], out, found)
    return keep_allowed(rules, out, found)


class Brute:
    """Tests all pairs; the reference for the others, and the fastest for a few dozen boxes."""

    def __init__(self) -> None:
        self._collector = PairCollector()

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        count = len(boxes.bounds)
        order = np.arange(count + 8, dtype=np.int32)
        found = self._collector.collect(
            brute_rows, count, threads, columns(boxes.bounds), order, boxes.rules, rows_per_chunk=256
        )
        return sorted_pairs(found, count)
