"""Progress of long loops: a line on stderr every two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def progress(items: Sequence[T] | Iterable[T], total: int, label: str) -> Iterator[T]:
    """The items, with a line at most every two seconds that says how far they are and how long the rest will take."""
    begin = last = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last > 2.0:
            last = now
            rest = (now - begin) / max(done, 1) * (total - done)
            print(f"  {label}: {done}/{total}, about {rest:.0f} s left", file=sys.stderr, flush=True)
        yield item
