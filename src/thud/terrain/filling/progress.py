"""How far a build is: a bar with rate and time left by rich, or a plain line on stderr every two seconds."""

from __future__ import annotations

import sys
import time
from typing import Any

from thud.terrain.filling.tolerances import PAUSE


class BuildProgress:
    """A context manager that counts tiles.

    Parameters
    ----------
    label : what is being made
    total : tiles in all
    there : tiles that were there before
    samples : in a tile; 0 for none
    """

    def __init__(self, label: str, total: int, there: int, samples: int) -> None:
        self.label, self.total, self.there, self.samples = label, total, there, samples
        self.made = 0
        self._begin = self._last = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> BuildProgress:
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
            except ImportError:
                return self
            columns = (TextColumn(self.label), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self.total, completed=self.there, rate="")
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self) -> None:
        """One more tile is made."""
        self.made += 1
        now = time.monotonic()
        rate = self.made / max(now - self._begin, 1e-9)
        rest = (self.total - self.there - self.made) / rate
        text = f"{self._rate(rate)}, about {_duration(rest)} left"
        if self._bar is not None:
            self._bar.update(self._task, advance=1, rate=text)
        elif now - self._last > PAUSE and self.there + self.made < self.total:
            self._last = now
            print(f"thud: {self.label}: {self.there + self.made}/{self.total} tiles, {text}", file=sys.stderr, flush=True)

    def _rate(self, tiles: float) -> str:
        return f"{tiles * self.samples:,.0f} samples a second" if self.samples else f"{tiles:.1f} tiles a second"


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
