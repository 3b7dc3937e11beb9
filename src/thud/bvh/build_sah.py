"""Build of the tree by the surface-area heuristic over bins (Wald 2007, "On fast construction of SAH-based BVHs").

Which triangles go where is decided on their boxes in float32, rounded as it comes: a tree is a tree, whatever it was made from,
and the volumes that queries rely on are fitted to the triangles afterwards.

A box is eight float32: lower x, y, z, a zero, minus upper x, y, z, a zero. So the box of many is the least of each number. The
boxes are moved with their triangles, so that every pass over a range reads memory in order.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Ints
from thud._core.decorators import device, kernel
from thud._core.simd import lower8
from thud._core.threads import run_rows
from thud.bvh.mesh_tree import MeshTree
from thud.bvh.tolerances import SAH_BINS, SAH_END, SAH_FEW
from thud.constants import TREE_SPLITS
from thud.gates import Array

F = np.float32

#: Triangles below which a subtree is built by one thread, and of which boxes are made at a time.
_TASK, _ROWS = 4096, 65536

#: Columns of a range of triangles to be built: node, first position, end, level.
NODE, START, STOP, LEVEL = range(4)


def build_sah(vertices: Array, faces: Ints, origin: Array, threads: int | None = None) -> MeshTree:
    """Tree over (T, 3) triangles of (V, 3) vertices, taken relative to `origin`. The same tree for any number of threads.

    O(T log T): each level of the tree reads each box three times.
    """
    count = len(faces)
    skip, first = np.empty(2 * count - 1, dtype=np.int64), np.empty(2 * count - 1, dtype=np.int64)
    boxes, order = np.empty(8 * count, dtype=np.float32), np.arange(count, dtype=np.int64)
    run_rows(box_rows, count, threads, vertices, faces, origin, boxes, rows_per_chunk=_ROWS)
    # Level by level while there are few large ranges, each split by one thread; then subtrees, each built by one thread.
    ranges, tasks = np.array([[0, 0, count, 0]]), [np.empty((0, 4), dtype=np.int64)]
    while len(ranges):
        large = ranges[:, STOP] - ranges[:, START] > _TASK
        tasks.append(ranges[~large])
        parts = np.empty((2 * int(large.sum()), 4), dtype=np.int64)
        run_rows(split_rows, len(parts) // 2, threads, ranges[large], boxes, order, skip, first, parts, rows_per_chunk=1)
        ranges = parts
    all_tasks = np.concatenate(tasks)
    run_rows(subtree_rows, len(all_tasks), threads, all_tasks, boxes, order, skip, first, rows_per_chunk=1)
    return MeshTree(skip, first, order)


@kernel("i8, i8, f8[:,::1], i8[:,::1], f8[::1], f4[::1]")
def box_rows(start, stop, vertices, faces, origin, boxes_out):
    """Boxes of triangles."""
    for t in range(start, stop):
        i, j, k = faces[t, 0], faces[t, 1], faces[t, 2]
        for axis in range(3):
            a, b, c = vertices[i, axis], vertices[j, axis], vertices[k, axis]
            boxes_out[8 * t + axis] = F(min(a, min(b, c)) - origin[axis])
            boxes_out[8 * t + 4 + axis] = F(origin[axis] - max(a, max(b, c)))
        boxes_out[8 * t + 3], boxes_out[8 * t + 7] = F(0.0), F(0.0)


@device
def half_area(boxes, i):
    """Half the surface of box i."""
    x, y, z = -boxes[8 * i + 4] - boxes[8 * i], -boxes[8 * i + 5] - boxes[8 * i + 1], -boxes[8 * i + 6] - boxes[8 * i + 2]
    return x * y + y * z + z * x


@device
def center2(boxes, i, axis):
    """Twice the middle of box i along an axis."""
    return boxes[8 * i + axis] - boxes[8 * i + 4 + axis]


@device
def empty_box(boxes, i):
    """Box i of nothing."""
    for k in range(8):
        boxes[8 * i + k] = F(np.inf)


@device
def exchange(boxes, order, i, j):
    """Swap two triangles."""
    order[i], order[j] = order[j], order[i]
    for k in range(8):
        boxes[8 * i + k], boxes[8 * j + k] = boxes[8 * j + k], boxes[8 * i + k]


@device
def bin_of(boxes, i, axis, origin, scale):
    """Bin of box i."""
    return min(max(np.int64((center2(boxes, i, axis) - origin) * scale), 0), SAH_BINS - 1)


@kernel(inner="i8, i8, f4[::1], i8[::1], f4[::1], f4[::1]")
def split_few(start, stop, boxes, order, work, cost):
    """`split_range` of up to SAH_FEW triangles: sorted along the axis of their widest spread, the best of all cuts."""
    axis, widest = 0, F(-1.0)
    for k in range(3):
        low, high = F(np.inf), F(-np.inf)
        for i in range(start, stop):
            c = center2(boxes, i, k)
            low, high = min(low, c), max(high, c)
        if high - low > widest:
            axis, widest = k, high - low
    for i in range(start + 1, stop):
        j = i
        while j > start and center2(boxes, j - 1, axis) > center2(boxes, j, axis):
            exchange(boxes, order, j - 1, j)
            j -= 1
    # From the right: cost of all from i on. From the left: the sum.
    empty_box(work, 0)
    for i in range(stop - 1, start, -1):
        lower8(work, 0, boxes, 8 * i)
        cost[i - start] = F(stop - i) * half_area(work, 0)
    empty_box(work, 0)
    best, middle = F(np.inf), (start + stop) // 2
    for i in range(start, stop - 1):
        lower8(work, 0, boxes, 8 * i)
        total = F(i + 1 - start) * half_area(work, 0) + cost[i + 1 - start]
        if total < best:
            best, middle = total, i + 1
    return middle


@kernel(inner="i8, i8, f4[::1], i8[::1], f4[::1], i8[::1], f4[::1]")
def split_range(start, stop, boxes, order, bins, count, cost):
    """Partition the triangles start .. stop in two and return where the second part begins. `bins`: boxes of SAH_BINS bins an
    axis and one more, `count` and `cost` of each: work space."""
    if stop - start <= SAH_FEW:
        return split_few(start, stop, boxes, order, bins, cost)
    low = (F(np.inf), F(np.inf), F(np.inf))
    high = (F(-np.inf), F(-np.inf), F(-np.inf))
    for i in range(start, stop):
        x, y, z = center2(boxes, i, 0), center2(boxes, i, 1), center2(boxes, i, 2)
        low = (min(low[0], x), min(low[1], y), min(low[2], z))
        high = (max(high[0], x), max(high[1], y), max(high[2], z))
    scale_x, scale_y, scale_z = bin_scale(low[0], high[0]), bin_scale(low[1], high[1]), bin_scale(low[2], high[2])
    for b in range(3 * SAH_BINS):
        empty_box(bins, b)
        count[b] = 0
    for i in range(start, stop):
        x = bin_of(boxes, i, 0, low[0], scale_x)
        y = SAH_BINS + bin_of(boxes, i, 1, low[1], scale_y)
        z = 2 * SAH_BINS + bin_of(boxes, i, 2, low[2], scale_z)
        lower8(bins, 8 * x, boxes, 8 * i)
        lower8(bins, 8 * y, boxes, 8 * i)
        lower8(bins, 8 * z, boxes, 8 * i)
        count[x] += 1
        count[y] += 1
        count[z] += 1
    best, best_axis, best_bin = F(np.inf), -1, 0
    whole = 3 * SAH_BINS
    for axis in range(3):
        base = SAH_BINS * axis
        empty_box(bins, whole)
        n = 0
        for b in range(SAH_BINS - 1, 0, -1):
            if count[base + b] > 0:
                lower8(bins, 8 * whole, bins, 8 * (base + b))
                n += count[base + b]
            cost[b] = F(n) * half_area(bins, whole) if n > 0 else F(np.inf)
        empty_box(bins, whole)
        n = 0
        for b in range(SAH_BINS - 1):
            if count[base + b] > 0:
                lower8(bins, 8 * whole, bins, 8 * (base + b))
                n += count[base + b]
            if n > 0 and cost[b + 1] < F(np.inf):
                total = F(n) * half_area(bins, whole) + cost[b + 1]
                if total < best:
                    best, best_axis, best_bin = total, axis, b + 1
    if best_axis < 0:
        # All centres in one place, or areas that are not finite: halve.
        return (start + stop) // 2
    origin = low[0] if best_axis == 0 else (low[1] if best_axis == 1 else low[2])
    scale = scale_x if best_axis == 0 else (scale_y if best_axis == 1 else scale_z)
    i, j = start, stop - 1
    while True:
        while i <= j and bin_of(boxes, i, best_axis, origin, scale) < best_bin:
            i += 1
        while i <= j and bin_of(boxes, j, best_axis, origin, scale) >= best_bin:
            j -= 1
        if i >= j:
            return i
        exchange(boxes, order, i, j)
        i += 1
        j -= 1


@device
def bin_scale(low, high):
    """Bins a unit of length; 0 where all are in one place."""
    return F(SAH_BINS * SAH_END) / (high - low) if high > low else F(0.0)


@device
def put_parts(node, start, middle, stop, level, parts_out, k):
    """Both parts of a range, at rows k and k + 1."""
    parts_out[k, NODE], parts_out[k, START], parts_out[k, STOP] = node + 1, start, middle
    parts_out[k + 1, NODE], parts_out[k + 1, START], parts_out[k + 1, STOP] = node + 2 * (middle - start), middle, stop
    parts_out[k, LEVEL] = parts_out[k + 1, LEVEL] = level + 1


@kernel("i8, i8, i8[:,::1], f4[::1], i8[::1], i8[::1], i8[::1], i8[:,::1]")
def split_rows(begin, end, ranges, boxes, order, skip_out, first_out, parts_out):
    """Split ranges begin .. end of more than one triangle; parts_out: two for each."""
    bins, count = np.empty(8 * (3 * SAH_BINS + 1), np.float32), np.empty(3 * SAH_BINS, np.int64)
    cost = np.empty(max(SAH_BINS, SAH_FEW) + 1, np.float32)
    for k in range(begin, end):
        node, start, stop, level = ranges[k, NODE], ranges[k, START], ranges[k, STOP], ranges[k, LEVEL]
        skip_out[node], first_out[node] = node + 2 * (stop - start) - 1, start
        middle = (start + stop) // 2
        if level < TREE_SPLITS:
            middle = split_range(start, stop, boxes, order, bins, count, cost)
        put_parts(node, start, middle, stop, level, parts_out, 2 * k)


@kernel("i8, i8, i8[:,::1], f4[::1], i8[::1], i8[::1], i8[::1]")
def subtree_rows(begin, end, tasks, boxes, order, skip_out, first_out):
    """All of the tree below tasks begin .. end."""
    stack = np.empty((2 * TREE_SPLITS + 64, 4), np.int64)
    bins, count = np.empty(8 * (3 * SAH_BINS + 1), np.float32), np.empty(3 * SAH_BINS, np.int64)
    cost = np.empty(max(SAH_BINS, SAH_FEW) + 1, np.float32)
    for k in range(begin, end):
        for column in range(4):
            stack[0, column] = tasks[k, column]
        depth = 1
        while depth > 0:
            depth -= 1
            node, start, stop, level = stack[depth, NODE], stack[depth, START], stack[depth, STOP], stack[depth, LEVEL]
            skip_out[node], first_out[node] = node + 2 * (stop - start) - 1, start
            if stop - start == 1:
                continue
            middle = (start + stop) // 2
            if level < TREE_SPLITS:
                middle = split_range(start, stop, boxes, order, bins, count, cost)
            put_parts(node, start, middle, stop, level, stack, depth)
            depth += 2
