"""A line on stderr, every two seconds, that says how far long work is."""

from __future__ import annotations

import sys
import time

#: Seconds between lines, and before the first.
PAUSE = 2.0


class Progress:
    """Counts work done; short work says nothing."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total, self.done = label, total, 0
        self._begin = self._last = time.monotonic()

    def add(self, count: int) -> None:
        """`count` more are done."""
        self.done += count
        now = time.monotonic()
        if now - self._last > PAUSE and self.done < self.total:
            self._last = now
            rest = (now - self._begin) / max(self.done, 1) * (self.total - self.done)
            print(f"thud: {self.label}: {self.done}/{self.total}, about {rest:.0f} s left", file=sys.stderr, flush=True)
