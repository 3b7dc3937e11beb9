"""Edges of triangles, and vertices in one place: what the connectivity of a mesh is made from. Both take time in proportion to
the mesh."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, exact_kernel, kernel


def edge_table(faces: Ints, vertices: int) -> tuple[Ints, bool, bool]:
    """((E, 2) vertex numbers of each edge once, the lower first, sorted; whether each is passed as often one way as the other;
    whether each has an even number of triangles). A triangle's side from a vertex to itself is an edge too.
    """
    starts, other = np.zeros(vertices + 1, dtype=np.int64), np.empty(3 * len(faces), dtype=np.int64)
    edges = np.empty((3 * len(faces), 2), dtype=np.int64)
    count, balanced, even = find_edges(faces, starts, other, edges)
    return edges[:count].copy(), bool(balanced), bool(even)


def weld(vertices: Floats) -> Ints:
    """(V,) the first vertex in the same place, for each."""
    size = 1 << max(4, (2 * len(vertices)).bit_length())
    table, first = np.full(size, -1, dtype=np.int64), np.empty(len(vertices), dtype=np.int64)
    # Plus 0: -0 is the same place.
    weld_rows((vertices + 0.0).view(np.int64), table, first)
    return first


@device
def sift(values, start, root, count):
    """Let a number sink to its place in the heap at `start`."""
    while True:
        child = 2 * root + 1
        if child >= count:
            return
        if child + 1 < count and values[start + child] < values[start + child + 1]:
            child += 1
        if values[start + root] >= values[start + child]:
            return
        values[start + root], values[start + child] = values[start + child], values[start + root]
        root = child


@kernel(inner="i8[::1], i8, i8")
def sort_range(values, start, stop):
    """Sort values[start:stop]: few by insertion, many by a heap."""
    count = stop - start
    if count <= 24:
        for i in range(start + 1, stop):
            value, j = values[i], i
            while j > start and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
        return
    for root in range(count // 2 - 1, -1, -1):
        sift(values, start, root, count)
    for last in range(count - 1, 0, -1):
        values[start], values[start + last] = values[start + last], values[start]
        sift(values, start, 0, last)


@kernel("i8[:,::1], i8[::1], i8[::1], i8[:,::1]")
def find_edges(faces, starts, other, edges_out):
    """See `edge_table`. starts: zeros; other: work space, 2 * upper vertex + (0 if the triangle passes from the lower one)."""
    for t in range(faces.shape[0]):
        for k in range(3):
            starts[min(faces[t, k], faces[t, (k + 1) % 3]) + 1] += 1
    for v in range(starts.shape[0] - 1):
        starts[v + 1] += starts[v]
    for t in range(faces.shape[0]):
        for k in range(3):
            tail, head = faces[t, k], faces[t, (k + 1) % 3]
            low = min(tail, head)
            other[starts[low]] = 2 * max(tail, head) + (0 if tail < head else 1)
            starts[low] += 1
    count, balanced, even = 0, True, True
    begin = 0
    for v in range(starts.shape[0] - 1):
        # Counting moved each start to the end of its vertex's edges.
        end = starts[v]
        sort_range(other, begin, end)
        i = begin
        while i < end:
            upper, balance, uses = other[i] >> 1, 0, 0
            while i < end and other[i] >> 1 == upper:
                balance += 1 - 2 * (other[i] & 1)
                uses += 1
                i += 1
            edges_out[count, 0], edges_out[count, 1] = v, upper
            count += 1
            balanced = balanced and balance == 0
            even = even and uses % 2 == 0
        begin = end
    return count, balanced, even


@exact_kernel("i8[:,::1], i8[::1], i8[::1]")
def weld_rows(bits, table, first_out):
    """first_out: the first row with the same three numbers, by their bits. table: -1 in a power of two of places."""
    mask = np.uint64(table.shape[0] - 1)
    for i in range(bits.shape[0]):
        h = np.uint64(bits[i, 0]) * np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(29)) ^ np.uint64(bits[i, 1])) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(31)) ^ np.uint64(bits[i, 2])) * np.uint64(0x94D049BB133111EB)
        place = (h ^ (h >> np.uint64(30))) & mask
        while True:
            other = table[place]
            if other < 0:
                table[place] = i
                first_out[i] = i
                break
            if bits[other, 0] == bits[i, 0] and bits[other, 1] == bits[i, 1] and bits[other, 2] == bits[i, 2]:
                first_out[i] = other
                break
            place = (place + np.uint64(1)) & mask
