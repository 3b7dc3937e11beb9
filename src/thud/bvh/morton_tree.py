"""Trees over boxes in Morton order: built in bulk, in time proportional to their number.

The boxes' centres are numbered along a Z curve (Morton 1966), which keeps what is near in space near in order, and sorted by
radix. A node is a range of that order; it is split where the highest bit changes in which its codes differ, so that a node's
region is a power of two (Lauterbach et al. 2009, "Fast BVH construction on GPUs"). Boxes are then merged from the leaves up.

Boxes that span an eighth of the scene or more, infinite ones among them, would blow up whatever they share a node with: they
have a subtree of their own. What is not there (lower > upper) is not in the tree.

Layout as in `topology.py`: nodes depth first; node k's subtree ends before skip[k]; a leaf has skip[k] == k + 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.bvh.radix import radix_sort
from thud.constants import RAY_BOX_SLACK
from thud.geometry.ray_local import slab_interval

Int32s = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint64]

#: A box that spans this fraction of the centres' range has its place among the large ones.
_LARGE = 0.125

#: Most and fewest bits of a code, an axis. So many are taken that a cell is half as large as a typical box.
_MOST_BITS, _LEAST_BITS = 21, 4

#: What is farther away than this counts as infinitely far, metres: differences of such numbers may overflow.
_FAR = 1e300

#: Ranges that wait while nodes are made: one a level, 63 of bits and 32 of halving equal codes.
_STACK = 128


@device
def spread_bits(x):
    """The 21 lower bits of x, two zeros behind each."""
    x = x & np.uint64(0x1FFFFF)
    x = (x | (x << np.uint64(32))) & np.uint64(0x1F00000000FFFF)
    x = (x | (x << np.uint64(16))) & np.uint64(0x1F0000FF0000FF)
    x = (x | (x << np.uint64(8))) & np.uint64(0x100F00F00F00F00F)
    x = (x | (x << np.uint64(4))) & np.uint64(0x10C30C30C30C30C3)
    return (x | (x << np.uint64(2))) & np.uint64(0x1249249249249249)


@device
def middle(lower, upper, otherwise):
    """Middle of an interval; that of an unbounded one is its end that is near, or `otherwise`."""
    if lower > -_FAR:
        return 0.5 * lower + 0.5 * upper if upper < _FAR else (lower if lower < _FAR else otherwise)
    return upper if -_FAR < upper < _FAR else otherwise


@device
def box_extent(bounds, i):
    """Longest edge of box i; negative for one that is not there."""
    x, y, z = bounds[i, 3] - bounds[i, 0], bounds[i, 4] - bounds[i, 1], bounds[i, 5] - bounds[i, 2]
    return max(x, max(y, z))


@kernel("f8[:,::1], f8[::1]")
def measure_centers(bounds, frame_out):
    """frame_out: least centre (3), greatest centre (3), harmonic mean of the extents; of finite boxes. Returns their number."""
    count = 0
    lx, ly, lz, ux, uy, uz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
    inverse = 0.0
    for i in range(bounds.shape[0]):
        extent = box_extent(bounds, i)
        x, y, z = 0.5 * (bounds[i, 0] + bounds[i, 3]), 0.5 * (bounds[i, 1] + bounds[i, 4]), 0.5 * (bounds[i, 2] + bounds[i, 5])
        if not (0.0 <= extent < _FAR and max(abs(x), max(abs(y), abs(z))) < _FAR):
            continue
        lx, ly, lz = min(lx, x), min(ly, y), min(lz, z)
        ux, uy, uz = max(ux, x), max(uy, y), max(uz, z)
        inverse += 1.0 / extent
        count += 1
    frame_out[0], frame_out[1], frame_out[2], frame_out[3], frame_out[4], frame_out[5] = lx, ly, lz, ux, uy, uz
    frame_out[6] = count / inverse if inverse > 0.0 else 0.0
    return count


@device
def cell_number(x, origin, scale, last):
    """The cell of x, from 0 to last, in any case."""
    cell = (x - origin) * scale
    if not cell > 0.0:
        return np.uint64(0)
    return np.uint64(np.int64(min(cell, last)))


@kernel("f8[:,::1], f8[::1], f8, f8, f8, u8[::1], i4[::1]")
def morton_codes(bounds, frame, scale, last, large, codes_out, items_out):
    """Codes of the boxes that are there, and their rows; those longer than `large` at the back. Returns how many are small, and
    writes the number of all behind the codes: the arrays have one place more."""
    small, at_back = 0, bounds.shape[0]
    mx, my, mz = 0.5 * (frame[0] + frame[3]), 0.5 * (frame[1] + frame[4]), 0.5 * (frame[2] + frame[5])
    for i in range(bounds.shape[0]):
        extent = box_extent(bounds, i)
        if not bounds[i, 0] <= bounds[i, 3]:
            continue
        x = cell_number(middle(bounds[i, 0], bounds[i, 3], mx), frame[0], scale, last)
        y = cell_number(middle(bounds[i, 1], bounds[i, 4], my), frame[1], scale, last)
        z = cell_number(middle(bounds[i, 2], bounds[i, 5], mz), frame[2], scale, last)
        code = spread_bits(x) | (spread_bits(y) << np.uint64(1)) | (spread_bits(z) << np.uint64(2))
        if extent < large:
            codes_out[small], items_out[small] = code, i
            small += 1
        else:
            at_back -= 1
            codes_out[at_back], items_out[at_back] = code, i
    # Close the gap that those which are not there left.
    count = small
    for k in range(at_back, bounds.shape[0]):
        codes_out[count], items_out[count] = codes_out[k], items_out[k]
        count += 1
    codes_out[bounds.shape[0]] = np.uint64(count)
    return small


def morton_order(bounds: Floats) -> tuple[Codes, Int32s, int]:
    """Codes and rows of the boxes that are there, sorted; and how many come before the large ones, which are sorted apart."""
    frame = np.empty(7)
    codes, items = np.empty(len(bounds) + 1, np.uint64), np.empty(len(bounds) + 1, np.int32)
    finite = measure_centers(bounds, frame)
    span = float((frame[3:6] - frame[:3]).max()) if finite else 0.0
    bits, scale, large = _LEAST_BITS, 0.0, math.inf
    if 0.0 < span < math.inf:
        typical = max(float(frame[6]), span * 2.0**-_MOST_BITS)
        bits = min(max(1 + math.ceil(math.log2(span / typical)), _LEAST_BITS), _MOST_BITS)
        scale, large = min(2.0**bits / span, 1e300), _LARGE * span
    small = morton_codes(bounds, frame, scale, 2.0**bits - 1.0, large, codes, items)
    count = int(codes[-1])
    codes, items = codes[:count], items[:count]
    codes_work, items_work = np.empty_like(codes), np.empty_like(items)
    for part in (slice(0, small), slice(small, count)):
        radix_sort(codes[part], items[part], codes_work[part], items_work[part])
    return codes, items, small


@device
def first_with_bit(codes, start, stop, bit):
    """Where in the sorted codes[start:stop] a bit is first set; those above it are equal."""
    while start < stop:
        half = (start + stop) // 2
        if codes[half] & bit != 0:
            stop = half
        else:
            start = half + 1
    return start


@device
def highest_bit(x):
    """The highest bit of x that is set, alone."""
    x |= x >> np.uint64(1)
    x |= x >> np.uint64(2)
    x |= x >> np.uint64(4)
    x |= x >> np.uint64(8)
    x |= x >> np.uint64(16)
    x |= x >> np.uint64(32)
    return x ^ (x >> np.uint64(1))


@kernel("u8[::1], i8, i8, i4[::1], i4[::1], i4[::1]")
def split_codes(codes, small, most, level_out, first_out, count_out):
    """The nodes over sorted codes, depth first: level, and for a leaf, of at most `most` boxes, where they begin and how many
    they are (0 for an inner node). The arrays hold twice as many as there are codes. Returns the number of nodes."""
    stack = np.empty((_STACK, 3), np.int64)
    count = codes.shape[0]
    if count == 0:
        return 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, count, 0
    depth, nodes = 1, 0
    while depth > 0:
        depth -= 1
        start, stop, level = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        level_out[nodes], first_out[nodes], count_out[nodes] = level, start, 0
        nodes += 1
        if start < small < stop:
            middle_of = small
        elif stop - start <= most:
            count_out[nodes - 1] = stop - start
            continue
        else:
            differ = codes[start] ^ codes[stop - 1]
            middle_of = (start + stop) // 2
            if differ != 0:
                middle_of = first_with_bit(codes, start, stop, highest_bit(differ))
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = middle_of, stop, level + 1
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = start, middle_of, level + 1
        depth += 2
    return nodes


@kernel("f8[:,::1], i4[::1], f8[:,::1]")
def boxes_in_order(bounds, items, columns_out):
    """The boxes of `items` one row a number, (6, P), and absent ones in the eight columns behind them."""
    count = items.shape[0]
    for k in range(count):
        i = items[k]
        for c in range(6):
            columns_out[c, k] = bounds[i, c]
    for k in range(count, columns_out.shape[1]):
        for c in range(3):
            columns_out[c, k], columns_out[c + 3, k] = np.inf, -np.inf


@kernel("i4[::1], i4[::1], i4[::1], f8[:,::1], i8[::1], f8[:,::1]")
def close_tree(level, first, count, columns, skip_out, boxes_out):
    """Skips and boxes of nodes in depth-first order, from the last to the first; any number of children."""
    nodes = level.shape[0]
    for k in range(nodes - 1, -1, -1):
        lx, ly, lz, ux, uy, uz = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf
        for p in range(first[k], first[k] + count[k]):
            lx, ly, lz = min(lx, columns[0, p]), min(ly, columns[1, p]), min(lz, columns[2, p])
            ux, uy, uz = max(ux, columns[3, p]), max(uy, columns[4, p]), max(uz, columns[5, p])
        child = k + 1
        while child < nodes and level[child] > level[k]:
            lx, ly, lz = min(lx, boxes_out[child, 0]), min(ly, boxes_out[child, 1]), min(lz, boxes_out[child, 2])
            ux, uy, uz = max(ux, boxes_out[child, 3]), max(uy, boxes_out[child, 4]), max(uz, boxes_out[child, 5])
            child = skip_out[child]
        skip_out[k] = child
        boxes_out[k, 0], boxes_out[k, 1], boxes_out[k, 2] = lx, ly, lz
        boxes_out[k, 3], boxes_out[k, 4], boxes_out[k, 5] = ux, uy, uz


def build_morton_tree(bounds: Floats) -> tuple[Floats, Ints, Ints]:
    """(K, 6) boxes, (K,) skip and (K,) item, -1 for an inner node, of a binary tree over (N, 6) boxes; one box a leaf.

    For `boxes_in_tree` and `rays_in_tree`. Boxes may be infinite; those that are not there are left out.
    """
    codes, items, small = morton_order(np.ascontiguousarray(bounds, dtype=np.float64))
    level, first, count = (np.empty(2 * len(items), np.int32) for _ in range(3))
    nodes = split_codes(codes, small, 1, level, first, count)
    level, first, count = level[:nodes], first[:nodes], count[:nodes]
    columns = np.empty((6, len(items) + 8))
    boxes_in_order(bounds, items, columns)
    boxes, skip = np.empty((nodes, 6)), np.empty(nodes, np.int64)
    close_tree(level, first, count, columns, skip, boxes)
    item = np.full(nodes, -1, np.int64)
    leaves = count > 0
    item[leaves] = items[first[leaves]]
    return boxes, skip, item


@kernel("i8, i8, f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1], i8[::1]")
def boxes_in_tree_rows(start, stop, queries, boxes, skip, item, places, item_out):
    """Items whose boxes overlap each query box, touching included, in the tree's order.

    They are written to item_out[places[q]:]. Where item_out is empty they are counted, into places[q + 1].
    """
    counting = item_out.shape[0] == 0
    for q in range(start, stop):
        at = 0 if counting else places[q]
        k = 0 if queries[q, 0] <= queries[q, 3] else skip.shape[0]
        while k < skip.shape[0]:
            if not (
                boxes[k, 0] <= queries[q, 3] and queries[q, 0] <= boxes[k, 3]
                and boxes[k, 1] <= queries[q, 4] and queries[q, 1] <= boxes[k, 4]
                and boxes[k, 2] <= queries[q, 5] and queries[q, 2] <= boxes[k, 5]
            ):  # fmt: skip
                k = skip[k]
                continue
            if item[k] >= 0:
                if not counting:
                    item_out[at] = item[k]
                at += 1
            k += 1
        if counting:
            places[q + 1] = at


@device
def entry_of_ray(o, d, reach, boxes, k):
    """Where the ray enters box k, 0 from inside; inf if it does not within `reach`. Rounding may make it enter a box that it
    barely passes, but never miss one."""
    near0, far0 = slab_interval(o[0], d[0], boxes[k, 0], boxes[k, 3])
    near1, far1 = slab_interval(o[1], d[1], boxes[k, 1], boxes[k, 4])
    near2, far2 = slab_interval(o[2], d[2], boxes[k, 2], boxes[k, 5])
    enter = max(max(0.0, near0), max(near1, near2))
    leave = min(reach, min(far0, min(far1, far2)) * RAY_BOX_SLACK)
    return enter if enter <= leave else np.inf


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], i8[::1], i8[::1], i8[::1], i8[::1], f8[::1]")
def rays_in_tree_rows(start, stop, origins, directions, reach, boxes, skip, item, places, item_out, distance_out):
    """Items whose boxes each ray enters within its reach, in the tree's order, and where; in lengths of its direction.

    Count or fill as `boxes_in_tree_rows` does.
    """
    counting = item_out.shape[0] == 0
    for q in range(start, stop):
        at = 0 if counting else places[q]
        o, d = (origins[q, 0], origins[q, 1], origins[q, 2]), (directions[q, 0], directions[q, 1], directions[q, 2])
        k = 0
        while k < skip.shape[0]:
            entry = entry_of_ray(o, d, reach[q], boxes, k)
            if entry == np.inf:
                k = skip[k]
                continue
            if item[k] >= 0:
                if not counting:
                    item_out[at], distance_out[at] = item[k], entry
                at += 1
            k += 1
        if counting:
            places[q + 1] = at


def boxes_in_tree(tree: tuple[Floats, Ints, Ints], queries: Floats, threads: int | None = None) -> tuple[Ints, Ints]:
    """All items whose boxes overlap each of (Q, 6) query boxes: (Q + 1,) where each query's items begin, and (M,) items."""
    places = np.zeros(len(queries) + 1, np.int64)
    run_rows(boxes_in_tree_rows, len(queries), threads, queries, *tree, places, np.empty(0, np.int64))
    np.cumsum(places, out=places)
    items = np.empty(int(places[-1]), np.int64)
    if len(items):
        run_rows(boxes_in_tree_rows, len(queries), threads, queries, *tree, places, items)
    return places, items


def rays_in_tree(
    tree: tuple[Floats, Ints, Ints], origins: Floats, directions: Floats, reach: Floats, threads: int | None = None
) -> tuple[Ints, Ints, Floats]:
    """All items whose boxes each of Q rays enters: (Q + 1,) where each ray's items begin, (M,) items, (M,) entry distances.

    origins, directions (Q, 3), metres and of any length but 0; reach (Q,) and the distances in lengths of the direction.
    """
    places = np.zeros(len(origins) + 1, np.int64)
    nothing = np.empty(0)
    run_rows(
        rays_in_tree_rows, len(origins), threads, origins, directions, reach, *tree, places, np.empty(0, np.int64), nothing
    )
    np.cumsum(places, out=places)
    items, distance = np.empty(int(places[-1]), np.int64), np.empty(int(places[-1]))
    if len(items):
        run_rows(rays_in_tree_rows, len(origins), threads, origins, directions, reach, *tree, places, items, distance)
    return places, items, distance
