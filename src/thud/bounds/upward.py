"""Volumes from the leaves up, on all cores: subtrees of a mesh's tree by themselves, then the few nodes above them.

A subtree is a range of nodes, and children come after their parent: going through a range backward meets them first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Ints
from thud._core.decorators import exact_kernel
from thud._core.threads import run_rows

#: Fewest nodes of a subtree that are worth a hand-over to another thread, and about how many subtrees a large tree is cut into.
_NODES, _SUBTREES = 8192, 64


def fit_upward(kernel: Any, skip: Ints, *arguments: Any, threads: int | None = None) -> None:
    """Call `kernel(start, stop, ranges, skip, *arguments)` for rows of ranges [first node, end) in an order in which children
    come before their parents. Each kernel goes through a range backward."""
    size = max(_NODES, len(skip) // _SUBTREES)
    none = np.empty((0, 2), dtype=np.int64)
    subtrees, above = cut_tree(skip, size, none, none)
    ranges, upper = np.empty((subtrees, 2), dtype=np.int64), np.empty((above, 2), dtype=np.int64)
    cut_tree(skip, size, ranges, upper)
    run_rows(kernel, subtrees, threads, ranges, skip, *arguments, rows_per_chunk=1)
    if above:
        kernel(0, above, upper, skip, *arguments)


@exact_kernel("i8[::1], i8, i8[:,::1], i8[:,::1]")
def cut_tree(skip, size, ranges_out, upper_out):
    """(number of largest subtrees of at most `size` nodes, number of nodes above them); filled in if there is room: the nodes
    above in descending order, each as a range of its own."""
    subtrees, above, k = 0, 0, 0
    while k < skip.shape[0]:
        if skip[k] - k <= size:
            if ranges_out.shape[0] > 0:
                ranges_out[subtrees, 0], ranges_out[subtrees, 1] = k, skip[k]
            subtrees += 1
            k = skip[k]
        else:
            if upper_out.shape[0] > 0:
                row = upper_out.shape[0] - 1 - above
                upper_out[row, 0], upper_out[row, 1] = k, k + 1
            above += 1
            k += 1
    return subtrees, above
