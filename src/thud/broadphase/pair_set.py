"""Pairs as broad phases find them, in any order and by any thread, and their sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud._core.decorators import device, kernel
from thud._core.simd_boxes import emit_overlaps8
from thud._core.threads import core_count, run_rows
from thud.broadphase.boxes import LAYER, MASK, STATIC

Keys = npt.NDArray[np.uint64]

#: Chunks a thread: evens out chunks of unequal cost.
_CHUNKS = 8


@device
def allowed(rules, i, j):
    """Whether the rules let i and j meet."""
    if rules.shape[0] == 0:
        return True
    if (rules[i, LAYER] & rules[j, MASK]) == 0 or (rules[j, LAYER] & rules[i, MASK]) == 0:
        return False
    return rules[i, STATIC] == 0 or rules[j, STATIC] == 0


@device
def boxes_overlap(bounds, i, j):
    """Whether boxes i and j overlap; touching counts, and what is not there overlaps nothing."""
    # All at once, so that there is one branch to guess.
    return (
        (bounds[i, 0] <= bounds[j, 3]) & (bounds[j, 0] <= bounds[i, 3])
        & (bounds[i, 1] <= bounds[j, 4]) & (bounds[j, 1] <= bounds[i, 4])
        & (bounds[i, 2] <= bounds[j, 5]) & (bounds[j, 2] <= bounds[i, 5])
    )  # fmt: skip


@device
def scan_run(bounds, order, first, stop, query, i, out, found):
    """Write the pairs of object i, whose box is `query`, with the objects at columns [first, stop) of `bounds`. Returns the new
    count; when `out` is full the last eight places are written over, and the count goes on."""
    room = out.shape[0] - 8
    at = first
    while at < stop:
        found += emit_overlaps8(bounds, at, stop - at, query, order, np.int64(i), out, min(found, room))
        at += 8
    return found


@device
def keep_allowed(rules, out, found):
    """Drop the pairs that the rules forbid. Returns the new count."""
    if rules.shape[0] == 0 or found + 8 > out.shape[0]:
        return found
    kept = 0
    for k in range(found):
        if allowed(rules, np.int64(out[k] >> np.uint64(32)), np.int64(out[k] & np.uint64(0xFFFFFFFF))):
            out[kept] = out[k]
            kept += 1
    return kept


class PairCollector:
    """Runs a kernel `(start, stop, *arguments, out) -> found` over rows in chunks and keeps its buffers for the next frame.

    A kernel that finds more than `out` holds, less 8, says so by its answer and is run again with more room.
    """

    def __init__(self) -> None:
        self._buffers: list[Keys] = []

    def collect(self, kernel: Any, count: int, threads: int | None, *arguments: Any, rows_per_chunk: int = 256) -> list[Keys]:
        """The keys of each chunk. They are views of the buffers: used up before the next call."""
        workers = core_count() if threads is None else threads
        chunks = 1 if workers == 1 else max(1, min(_CHUNKS * workers, count // rows_per_chunk))
        while len(self._buffers) < chunks:
            self._buffers.append(np.empty(1024, np.uint64))
        found: list[Keys] = [self._buffers[0][:0]] * chunks

        def run(start: int, stop: int) -> None:
            for chunk in range(start, stop):
                first, last = count * chunk // chunks, count * (chunk + 1) // chunks
                needed = kernel(first, last, *arguments, self._buffers[chunk])
                while needed + 8 > len(self._buffers[chunk]):
                    self._buffers[chunk] = np.empty(2 * needed + 8, np.uint64)
                    needed = kernel(first, last, *arguments, self._buffers[chunk])
                found[chunk] = self._buffers[chunk][:needed]

        run_rows(run, chunks, threads, rows_per_chunk=1)
        return found


@kernel("u8[::1], i4[::1], i4[::1]")
def count_ends(keys, firsts_out, seconds_out):
    """How often each object is the first and the second of a pair, one place further up."""
    for k in range(keys.shape[0]):
        firsts_out[np.int64(keys[k] >> np.uint64(32)) + 1] += 1
        seconds_out[np.int64(keys[k] & np.uint64(0xFFFFFFFF)) + 1] += 1


@kernel("i4[::1], i4[::1]")
def add_up(firsts, seconds):
    """Counts to starts."""
    for k in range(1, firsts.shape[0]):
        firsts[k] += firsts[k - 1]
        seconds[k] += seconds[k - 1]


@kernel("u8[::1], i4[::1], u8[::1]")
def by_second(keys, next_second, out):
    """One stable pass of the sort: to the places of their second objects."""
    for k in range(keys.shape[0]):
        j = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        out[next_second[j]] = keys[k]
        next_second[j] += 1


@kernel("u8[::1], i4[::1], i8[:,::1]")
def by_first(keys, next_first, pairs_out):
    """The last pass: to the places of their first objects, as pairs."""
    for k in range(keys.shape[0]):
        i = np.int64(keys[k] >> np.uint64(32))
        at = next_first[i]
        pairs_out[at, 0], pairs_out[at, 1] = i, np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        next_first[i] = at + 1


def sorted_pairs(found: list[Keys], count: int) -> Ints:
    """(M, 2) the pairs of `count` objects, sorted by first, then second: two counting passes, no comparisons."""
    firsts, seconds = np.zeros(count + 1, np.int32), np.zeros(count + 1, np.int32)
    for keys in found:
        count_ends(keys, firsts, seconds)
    add_up(firsts, seconds)
    halfway = np.empty(int(firsts[-1]), np.uint64)
    for keys in found:
        by_second(keys, seconds, halfway)
    pairs = np.empty((len(halfway), 2), np.int64)
    by_first(halfway, firsts, pairs)
    return pairs
