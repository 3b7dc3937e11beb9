"""Round robin of contestants in one process; medians of per-round ratios; a table and a CSV.

Machines are noisy: a ratio taken within one round sees the same machine on both sides, so the median of these ratios
is worth more than the ratio of two medians.
"""

from __future__ import annotations

import contextlib
import csv
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Peers take all the cores they see; so they see one."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass
class Contestant:
    """One engine on one job: `run` does the whole job and may return a result to compare."""

    name: str
    run: Callable[[], object]
    items: int
    """How many pairs, rays or the like one run does, to print the time of one."""


@dataclass
class Row:
    scene: str
    query: str
    engine: str
    items: int
    microseconds: float
    """Median over rounds, per item."""
    speedup: float
    """Median over rounds of reference time / this time, per item; above 1 is faster than the reference."""
    low: float
    high: float
    """Quartiles of the same."""
    note: str = ""


@dataclass
class Report:
    """All rows of one benchmark."""

    name: str
    rows: list[Row] = field(default_factory=list)

    def race(self, scene: str, query: str, reference: str, contestants: list[Contestant], rounds: int) -> None:
        """Run everyone `rounds` times in turn and add a row each."""
        for contestant in contestants:
            contestant.run()  # warm caches, compile kernels
        seconds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
        for turn in range(rounds):
            # Each round starts with another contestant, so that nobody always follows the same neighbour.
            order = contestants[turn % len(contestants) :] + contestants[: turn % len(contestants)]
            for contestant in order:
                begin = time.perf_counter()
                contestant.run()
                seconds[contestant.name].append((time.perf_counter() - begin) / contestant.items)
        print(f"\n{scene}: {query}")
        for contestant in contestants:
            own = seconds[contestant.name]
            ratios = sorted(r / t for r, t in zip(seconds[reference], own, strict=True))
            quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
            row = Row(
                scene, query, contestant.name, contestant.items,
                statistics.median(own) * 1e6, statistics.median(ratios), quartiles[0], quartiles[2],
            )  # fmt: skip
            self.rows.append(row)
            print(
                f"  {row.engine:<28} {row.microseconds:10.3f} us   {row.speedup:8.2f}x {reference}"
                f"   ({row.low:.2f} - {row.high:.2f})"
            )

    def note(self, scene: str, query: str, text: str) -> None:
        """A line of text that belongs to the table (agreement, accuracy)."""
        print(f"  {text}")
        self.rows.append(Row(scene, query, "", 0, float("nan"), float("nan"), float("nan"), float("nan"), text))

    def save(self) -> Path:
        """Write the CSV beside the code."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["scene", "query", "engine", "items", "microseconds", "speedup", "low", "high", "note"])
            for row in self.rows:
                numbers = [f"{x:.4g}" if x == x else "" for x in (row.microseconds, row.speedup, row.low, row.high)]
                writer.writerow([row.scene, row.query, row.engine, row.items or "", *numbers, row.note])
            writer.writerow(
                ["machine", "", "", "", "", "", "", "", f"{platform.machine()}, Python {platform.python_version()}"]
            )
        print(f"\n{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
        return path
