"""Edges of triangles, and vertices in one place: what the connectivity of a mesh is made from. Both take time in proportion to
the mesh."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, exact_kernel, kernel


class EdgeTable(NamedTuple):
    """The edges of triangles, sorted. A triangle's side from a vertex to itself is an edge too."""

    ends: Ints
    """(E, 2) vertex numbers, the lower first."""
    uses: npt.NDArray[np.int32]
    """(E,) triangles at the edge."""
    balance: npt.NDArray[np.int32]
    """(E,) how many more of them pass from the lower vertex to the upper than the other way."""


def edge_table(faces: Ints, vertices: int) -> EdgeTable:
    """Edges of (T, 3) triangles of that many vertices."""
    room = 3 * len(faces)
    ends, uses, balance = np.empty((room, 2), dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    count = find_edges(faces, *_work(faces, vertices), ends, uses, balance)[0]
    return EdgeTable(ends[:count].copy(), uses[:count].copy(), balance[:count].copy())


def edges_closed(faces: Ints, vertices: int) -> tuple[bool, bool]:
    """(whether each edge is passed as often one way as the other, whether each has an even number of triangles)."""
    none = np.empty(0, dtype=np.int32)
    _, balanced, even = find_edges(faces, *_work(faces, vertices), np.empty((0, 2), dtype=np.int64), none, none)
    return bool(balanced), bool(even)


def _work(faces: Ints, vertices: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    return np.zeros(vertices + 1, dtype=np.uint32), np.empty(3 * len(faces), dtype=np.uint32)


def part_vertices(faces: Ints, vertices: int) -> Ints:
    """(C,) a vertex of each connected part: the first corner of its first triangle."""
    chosen = np.empty(len(faces), dtype=np.int64)
    count = find_parts(faces, np.arange(vertices, dtype=np.int32), np.zeros(vertices, dtype=bool), chosen)
    return chosen[:count].copy()


def repeated_faces(faces: Ints) -> Ints:
    """Rows of triangles with the same three corners as an earlier one, in any order."""
    first = _first_equal(np.sort(faces, axis=1))
    return np.flatnonzero(first != np.arange(len(faces)))


def weld(vertices: Floats) -> Ints:
    """(V,) the first vertex in the same place, for each."""
    # Plus 0: -0 is the same place.
    return _first_equal((vertices + 0.0).view(np.int64))


def _first_equal(rows: Ints) -> Ints:
    """(N,) the first row with the same three numbers."""
    size = 1 << max(4, (2 * len(rows)).bit_length())
    table, first = np.full(size, -1, dtype=np.int32), np.empty(len(rows), dtype=np.int64)
    weld_rows(rows, table, first)
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


@kernel(inner="u4[::1], i8, i8")
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


@kernel("i8[:,::1], u4[::1], u4[::1], i8[:,::1], i4[::1], i4[::1]")
def find_edges(faces, starts, other, ends_out, uses_out, balance_out):
    """(how many edges, whether all are balanced, whether all are even); see `EdgeTable`, whose arrays may be empty.

    starts: zeros; other: work space, 2 * upper vertex + (0 if the triangle passes from the lower one).
    """
    write = ends_out.shape[0] > 0
    for t in range(faces.shape[0]):
        for k in range(3):
            starts[min(faces[t, k], faces[t, (k + 1) % 3]) + 1] += np.uint32(1)
    for v in range(starts.shape[0] - 1):
        starts[v + 1] += starts[v]
    for t in range(faces.shape[0]):
        for k in range(3):
            tail, head = faces[t, k], faces[t, (k + 1) % 3]
            low = min(tail, head)
            other[starts[low]] = np.uint32(2 * max(tail, head) + (0 if tail < head else 1))
            starts[low] += np.uint32(1)
    count, balanced, even = 0, True, True
    begin = np.int64(0)
    for v in range(starts.shape[0] - 1):
        # Counting moved each start to the end of its vertex's edges.
        end = np.int64(starts[v])
        sort_range(other, begin, end)
        i = begin
        while i < end:
            upper, balance, uses = np.int64(other[i]) >> 1, 0, 0
            while i < end and np.int64(other[i]) >> 1 == upper:
                balance += 1 - 2 * (np.int64(other[i]) & 1)
                uses += 1
                i += 1
            if write:
                ends_out[count, 0], ends_out[count, 1] = v, upper
                uses_out[count], balance_out[count] = uses, balance
            count += 1
            balanced = balanced and balance == 0
            even = even and uses % 2 == 0
        begin = end
    return count, balanced, even


@device
def root_of(parent, v):
    """The vertex that stands for the part of v; the way there is halved."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = np.int64(parent[v])
    return v


@kernel("i8[:,::1], i4[::1], b1[::1], i8[::1]")
def find_parts(faces, parent, seen, chosen_out):
    """How many connected parts there are; chosen_out: the first corner of the first triangle of each.

    parent: 0, 1, 2, ... for each vertex; seen: False.
    """
    for t in range(faces.shape[0]):
        a = root_of(parent, faces[t, 0])
        for k in range(1, 3):
            b = root_of(parent, faces[t, k])
            # The lower one stands for both.
            parent[max(a, b)] = min(a, b)
            a = min(a, b)
    count = 0
    for t in range(faces.shape[0]):
        root = root_of(parent, faces[t, 0])
        if not seen[root]:
            seen[root] = True
            chosen_out[count] = faces[t, 0]
            count += 1
    return count


@exact_kernel("i8[:,::1], i4[::1], i8[::1]")
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
