"""Build of the tree by the surface-area heuristic over bins (Wald 2007, "On fast construction of SAH-based BVHs")."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.bvh.mesh_tree import MeshTree
from thud.bvh.tolerances import SAH_BINS, SAH_END
from thud.constants import TREE_SPLITS
from thud.gates import Array

#: Triangles below which a subtree is built by one thread.
_TASK = 4096


def build_sah(lower: Array, upper: Array, threads: int | None = None) -> MeshTree:
    """Tree over T boxes, (T, 3) lower and upper corners. The same tree for any number of threads.

    O(T log T): each level of the tree reads each box twice.
    """
    count = len(lower)
    skip, first = np.empty(2 * count - 1, dtype=np.int64), np.empty(2 * count - 1, dtype=np.int64)
    order, scratch = np.arange(count), np.empty(count, dtype=np.int64)
    boxes = np.concatenate([lower, upper], axis=1)
    # The top of the tree by one thread; what is below, subtrees of up to _TASK triangles, by all.
    tasks = np.empty((count, 4), dtype=np.int64)
    tasks[0] = 0, 0, count, 0
    found = sah_split(tasks[:1].copy(), _TASK, boxes, order, scratch, skip, first, tasks)
    run_rows(sah_rows, found, threads, tasks[:found].copy(), boxes, order, scratch, skip, first, rows_per_chunk=1)
    return MeshTree(skip, first, order)


@device
def grow(box, boxes, t):
    """The box (lower x, y, z, upper x, y, z) with box t."""
    return (
        min(box[0], boxes[t, 0]),
        min(box[1], boxes[t, 1]),
        min(box[2], boxes[t, 2]),
        max(box[3], boxes[t, 3]),
        max(box[4], boxes[t, 4]),
        max(box[5], boxes[t, 5]),
    )


@device
def half_area(lx, ly, lz, ux, uy, uz):
    """Half the surface of a box."""
    x, y, z = ux - lx, uy - ly, uz - lz
    return x * y + y * z + z * x


@kernel(inner="i8, i8, f8[:,::1], i8[::1], i8[::1], f8[:,::1], i8[::1]")
def split_range(start, stop, boxes, order, scratch, bins, count):
    """Partition order[start:stop] in two and return where the second begins; keeps the order within each
    part. `bins` is work space: boxes and, in column 6, the cost of all from this one on."""
    inf = 1e308
    low = (inf, inf, inf)
    high = (-inf, -inf, -inf)
    for i in range(start, stop):
        t = order[i]
        cx, cy, cz = boxes[t, 0] + boxes[t, 3], boxes[t, 1] + boxes[t, 4], boxes[t, 2] + boxes[t, 5]
        low = (min(low[0], cx), min(low[1], cy), min(low[2], cz))
        high = (max(high[0], cx), max(high[1], cy), max(high[2], cz))
    best, best_axis, best_bin = inf, -1, 0
    for axis in range(3):
        origin = low[0] if axis == 0 else (low[1] if axis == 1 else low[2])
        extent = (high[0] if axis == 0 else (high[1] if axis == 1 else high[2])) - origin
        if not extent > 0.0:
            continue
        scale = SAH_BINS * SAH_END / extent
        for b in range(SAH_BINS):
            count[b] = 0
            bins[b, 0], bins[b, 1], bins[b, 2] = inf, inf, inf
            bins[b, 3], bins[b, 4], bins[b, 5] = -inf, -inf, -inf
        for i in range(start, stop):
            t = order[i]
            b = min(max(int((boxes[t, axis] + boxes[t, axis + 3] - origin) * scale), 0), SAH_BINS - 1)
            count[b] += 1
            bins[b, 0], bins[b, 1] = min(bins[b, 0], boxes[t, 0]), min(bins[b, 1], boxes[t, 1])
            bins[b, 2], bins[b, 3] = min(bins[b, 2], boxes[t, 2]), max(bins[b, 3], boxes[t, 3])
            bins[b, 4], bins[b, 5] = max(bins[b, 4], boxes[t, 4]), max(bins[b, 5], boxes[t, 5])
        box, n = (inf, inf, inf, -inf, -inf, -inf), 0
        for b in range(SAH_BINS - 1, 0, -1):
            if count[b] > 0:
                box = grow(box, bins, b)
                n += count[b]
            bins[b, 6] = n * half_area(*box) if n > 0 else inf
        box, n = (inf, inf, inf, -inf, -inf, -inf), 0
        for b in range(SAH_BINS - 1):
            if count[b] > 0:
                box = grow(box, bins, b)
                n += count[b]
            if n > 0 and bins[b + 1, 6] < inf:
                cost = n * half_area(*box) + bins[b + 1, 6]
                if cost < best:
                    best, best_axis, best_bin = cost, axis, b + 1
    if best_axis < 0:
        # All centres in one place, or areas that are not finite: halve.
        return (start + stop) // 2
    origin = low[0] if best_axis == 0 else (low[1] if best_axis == 1 else low[2])
    extent = (high[0] if best_axis == 0 else (high[1] if best_axis == 1 else high[2])) - origin
    scale = SAH_BINS * SAH_END / extent
    middle, others = start, start
    for i in range(start, stop):
        t = order[i]
        b = min(max(int((boxes[t, best_axis] + boxes[t, best_axis + 3] - origin) * scale), 0), SAH_BINS - 1)
        if b < best_bin:
            order[middle] = t
            middle += 1
        else:
            scratch[others] = t
            others += 1
    for i in range(others - start):
        order[middle + i] = scratch[start + i]
    return middle


@kernel("i8[:,::1], i8, f8[:,::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[:,::1]")
def sah_split(roots, task, boxes, order, scratch, skip_out, first_out, tasks_out):
    """Build below `roots` (rows node, start, stop, level) down to ranges of at most `task` triangles. Those go to
    tasks_out, whose number is returned. With task 1 that is all of the tree."""
    stack, bins, count = np.empty((64, 4), np.int64), np.empty((SAH_BINS, 7)), np.empty(SAH_BINS, np.int64)
    found = 0
    for k in range(roots.shape[0]):
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = roots[k, 0], roots[k, 1], roots[k, 2], roots[k, 3]
        depth = 1
        while depth > 0:
            depth -= 1
            node, start, stop, level = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
            skip_out[node], first_out[node] = node + 2 * (stop - start) - 1, start
            if stop - start == 1:
                continue
            if stop - start <= task:
                tasks_out[found, 0], tasks_out[found, 1] = node, start
                tasks_out[found, 2], tasks_out[found, 3] = stop, level
                found += 1
                continue
            if level < TREE_SPLITS:
                middle = split_range(start, stop, boxes, order, scratch, bins, count)
            else:
                middle = (start + stop) // 2
            left, right = node + 1, node + 2 * (middle - start)
            # The larger part waits on the stack, so that it holds at most log2(T) ranges.
            small_first = middle - start < stop - middle
            for side in range(2):
                if (side == 0) == small_first:
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = right, middle, stop
                else:
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = left, start, middle
                stack[depth, 3] = level + 1
                depth += 1
    return found


@kernel("i8, i8, i8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1], i8[::1]")
def sah_rows(start, stop, tasks, boxes, order, scratch, skip_out, first_out):
    """All of the tree below tasks start .. stop."""
    sah_split(tasks[start:stop], np.int64(1), boxes, order, scratch, skip_out, first_out, tasks)
