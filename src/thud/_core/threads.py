"""Rows of a batch over threads. Each row is computed alone and written to its own place, so the bytes of the result
do not depend on the number of threads."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from thud.errors import InvalidInputError

_pool: tuple[int, int, ThreadPoolExecutor] | None = None

#: Rows below which a second thread costs more than it brings (a pair takes about 0.3 us, a hand-over 50 us).
_ROWS_PER_CHUNK = 512


#: Most cores that this process takes, None for all: that of a worker beside others.
_limit: int | None = None


def limit_cores(count: int | None) -> None:
    """Take at most so many cores from here on, unless a call says `threads=`; None for all."""
    global _limit
    check_threads(count)
    _limit = count


#: What the system said last, and when: asking takes as long as a small kernel.
_asked = (0, -math.inf)
_ASK_AGAIN = 0.02


def core_count() -> int:
    """Cores this process may use; a change is seen within 20 ms."""
    global _asked
    cores, when = _asked
    now = time.monotonic()
    if now - when > _ASK_AGAIN:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        _asked = (cores, now)
    return cores if _limit is None else min(cores, _limit)


def executor(threads: int) -> ThreadPoolExecutor:
    """A pool of at least `threads` workers that belongs to this process (a fork starts its own)."""
    global _pool
    if _pool is None or _pool[0] != os.getpid() or _pool[1] < threads:
        _pool = (os.getpid(), threads, ThreadPoolExecutor(threads, thread_name_prefix="thud"))
    return _pool[2]


def check_threads(threads: int | None) -> None:
    """Named error unless it is a number of threads, or None for all cores."""
    if threads is None or (type(threads) is int and threads > 0):
        return
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InvalidInputError(f"threads: expected a whole number of at least 1, got {threads!r}")


def run_rows(kernel: Any, count: int, threads: int | None, *arguments: Any, rows_per_chunk: int = _ROWS_PER_CHUNK) -> None:
    """Call `kernel(start, stop, *arguments)` over [0, count) in chunks on up to `threads` threads (None: all cores).

    `rows_per_chunk`: fewest rows worth a hand-over to another thread.
    """
    check_threads(threads)
    # Asking for the cores takes longer than a small batch.
    if count < 2 * rows_per_chunk:
        threads = 1
    elif threads is None:
        threads = core_count()
    if threads == 1:
        if count:
            kernel(0, count, *arguments)
        return
    # Eight chunks a thread even out rows of unequal cost.
    step = max(rows_per_chunk, -(-count // (8 * threads)))
    # The pool may be larger than `threads`: as many walkers as threads take the next chunk until none is left. (Which
    # walker takes which is left to chance; the rows do not know.) The caller is one of them.
    chunks = iter([(start, min(start + step, count)) for start in range(0, count, step)])
    pool = executor(threads - 1)
    walkers = [pool.submit(_walk, kernel, chunks, arguments) for _ in range(threads - 1)]
    try:
        _walk(kernel, chunks, arguments)
    finally:
        for walker in walkers:
            walker.result()


def _walk(kernel: Any, chunks: Iterator[tuple[int, int]], arguments: tuple[Any, ...]) -> None:
    """`next` of a list's iterator is one step under the GIL, so that no chunk is taken twice."""
    for start, stop in chunks:
        kernel(start, stop, *arguments)
