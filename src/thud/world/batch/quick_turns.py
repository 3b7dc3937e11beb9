"""Threads that hand the interpreter over to each other soon, while they step parts of a batch.

Between kernels each thread needs the interpreter for a while. One that waits for it asks after Python's switch interval, by
default 5 ms: as long as a step of a hundred copies.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds after which a thread that waits is let in: about ten times what a hand-over costs.
INTERVAL = 1e-4

_lock = threading.Lock()
_inside = 0
_before = 0.0


@contextmanager
def quick_turns() -> Iterator[None]:
    """The interval is short within, and as it was after the last of those that are within."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = sys.getswitchinterval()
            sys.setswitchinterval(min(_before, INTERVAL))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                sys.setswitchinterval(_before)
