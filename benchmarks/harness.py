"""Round robin of contestants in one process; medians of per-round ratios; a table, a CSV and plots.

Machines are noisy: a ratio taken within one round sees the same machine on both sides, so the median of these ratios
is worth more than the ratio of two medians.

Three kinds of race: `race` has one workload; `family` has many of one kind and adds their median and their worst; `growth` has
one workload in many sizes and adds the log-log slope of its time.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.results_file import Row, compare, is_peer, write

__all__ = ["Contestant", "Report", "Row", "Timed", "loglog_slope", "one_core", "set_size"]

#: Where results go: those of the standard size here, of the others in folders of their own, so that a smoke test does not
#: overwrite what is committed.
RESULTS = Path(__file__).parent / "results"

NAN = float("nan")


def set_size(size: str) -> None:
    """Results from now on are of this size."""
    global RESULTS
    base = Path(__file__).parent / "results"
    RESULTS = base if size == "standard" else base / size


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


class Timed(float):
    """Seconds that count: what a run returns that also does what is not to be timed."""


def measure(contestants: Sequence[Contestant], rounds: int, warm: bool = True) -> dict[str, list[float]]:
    """Seconds an item of each, one number a round; once before, to warm caches and compile kernels, unless that was done."""
    for contestant in contestants if warm else ():
        contestant.run()
    seconds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for turn in range(rounds):
        # Each round starts with another contestant, so that nobody always follows the same neighbour.
        first = turn % max(1, len(contestants))
        for contestant in [*contestants[first:], *contestants[:first]]:
            begin = time.perf_counter()
            found = contestant.run()
            used = found if isinstance(found, Timed) else time.perf_counter() - begin
            seconds[contestant.name].append(used / contestant.items)
    return seconds


def rows_of(
    scene: str, query: str, reference: str, contestants: Sequence[Contestant], seconds: dict[str, list[float]], member: str = ""
) -> list[Row]:
    """A row each: median time, median and quartiles of the ratios within a round."""
    found = []
    for contestant in contestants:
        own = seconds[contestant.name]
        ratios = [r / t for r, t in zip(seconds[reference], own, strict=True)] if reference in seconds else [NAN]
        low, middle, high = _quartiles(ratios)
        found.append(
            Row(
                scene, query, contestant.name, contestant.items, statistics.median(own) * 1e6, middle, low, high,
                member=member, reference=reference if reference in seconds else "",
            )
        )  # fmt: skip
    return found


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, statistics.median(values), high


def loglog_slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent of time ~ size ** exponent, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


@dataclass
class Report:
    """All rows of one benchmark."""

    name: str
    rows: list[Row] = field(default_factory=list)

    def race(
        self, scene: str, query: str, reference: str, contestants: list[Contestant], rounds: int, *, warm: bool = True
    ) -> None:
        """Run everyone `rounds` times in turn and add a row each. `warm`: once before, which is not timed."""
        seconds = measure(contestants, rounds, warm)
        print(f"\n{scene}: {query}")
        for row in rows_of(scene, query, reference, contestants, seconds):
            self._add(row)

    def family(
        self,
        scene: str,
        query: str,
        reference: str,
        members: Iterable[tuple[str, list[Contestant]]],
        rounds: int,
        *,
        warm: bool = True,
    ) -> None:
        """The same race on each member of a family, (name, contestants). Adds a row a member and engine, then a row an engine
        with the median of the members' ratios and their quartiles, and one with the member where it fares worst. An engine may
        sit out a member."""
        found: dict[str, list[Row]] = {}
        print(f"\n{scene}: {query}")
        for member, contestants in members:
            for row in rows_of(scene, query, reference, contestants, measure(contestants, rounds, warm), member):
                found.setdefault(row.engine, []).append(row)
                self.rows.append(row)
        for engine, all_rows in found.items():
            # Where the reference sat out there is no ratio.
            rows = [row for row in all_rows if row.reference] or all_rows
            low, middle, high = _quartiles([row.speedup for row in rows])
            time_used = statistics.median(row.microseconds for row in rows)
            note = f"of {len(rows)} members"
            self._add(Row(scene, query, engine, 0, time_used, middle, low, high, note, "median", rows[0].reference))
            if engine != reference:
                worst = min(rows, key=lambda row: row.speedup if row.reference else -row.microseconds)
                note = f"{worst.member}, of {len(rows)} members"
                self._add(
                    Row(
                        scene, query, engine, worst.items, worst.microseconds, worst.speedup, worst.low, worst.high,
                        note, "worst", worst.reference,
                    )
                )  # fmt: skip

    def growth(
        self,
        scene: str,
        query: str,
        unit: str,
        reference: str,
        sizes: Sequence[int],
        make: Callable[[int], list[Contestant]],
        rounds: int,
        *,
        warm: bool = True,
    ) -> dict[str, float]:
        """The same race in growing sizes, at least two decades of them but in a smoke test; `items` of a contestant is here how
        often its run does the job. Adds a row a size and engine, the slope of each engine, and a plot. Returns the slopes."""
        times: dict[str, list[tuple[int, float]]] = {}
        for size in sizes:
            contestants = make(size)
            print(f"\n{scene}: {query}, {size:,} {unit}")
            for row in rows_of(scene, query, reference, contestants, measure(contestants, rounds, warm), str(size)):
                times.setdefault(row.engine, []).append((size, row.microseconds * 1e-6))
                self._add(row)
        return self.slopes(scene, query, unit, times)

    def slopes(self, scene: str, query: str, unit: str, times: dict[str, list[tuple[int, float]]]) -> dict[str, float]:
        """Log-log slopes of seconds over size, by engine: a note each, and a plot of all."""
        slopes = {}
        for engine, line in times.items():
            if len(line) > 1:
                slopes[engine] = loglog_slope(*zip(*line, strict=True))
                last = [(size, used) for size, used in line if size >= 0.09 * line[-1][0]]
                text = f"{engine}: log-log slope {slopes[engine]:.2f} over {line[0][0]:,} to {line[-1][0]:,} {unit}"
                if 1 < len(last) < len(line):
                    text += f", {loglog_slope(*zip(*last, strict=True)):.2f} in the last decade"
                self.note(scene, query, text)
        if slopes:
            self._plot(f"{scene}: {query}", unit, times, slopes)
        return slopes

    def note(self, scene: str, query: str, text: str) -> None:
        """A line of text that belongs to the table (agreement, accuracy)."""
        print(f"  {text}")
        self.rows.append(Row(scene, query, "", 0, NAN, NAN, NAN, NAN, text))

    def save(self) -> Path:
        """Write the CSV beside the code; say what got slower than the committed one."""
        path = RESULTS / f"{self.name}.csv"
        write(path, self.rows)
        print(f"\n{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
        for line in compare(path):
            print(f"  slower: {line}")
        return path

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        ratio = f"{row.speedup:8.3g}x {row.reference}   ({row.low:.3g} - {row.high:.3g})" if row.reference else ""
        where = f"   {row.member} {row.note}" if row.member in ("median", "worst") else ""
        print(f"  {row.engine:<28} {row.microseconds:10.3f} us   {ratio}{where}", flush=True)

    def _plot(self, title: str, unit: str, times: dict[str, list[tuple[int, float]]], slopes: dict[str, float]) -> None:
        try:
            import matplotlib

            matplotlib.use("Agg")
            import matplotlib.pyplot as plt
            from PIL import Image
        except ImportError:
            print("  matplotlib is not installed: no plot")
            return
        figure, axes = plt.subplots(figsize=(6.4, 4.2), dpi=90, layout="constrained")
        for engine, line in times.items():
            label = f"{engine}, slope {slopes[engine]:.2f}" if engine in slopes else engine
            axes.loglog(*zip(*line, strict=True), "o--" if is_peer(engine) else "o-", markersize=4, label=label)
        axes.set(xlabel=unit, ylabel="seconds", title=title)
        axes.title.set_size(10)
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
        name = re.sub("[^a-z0-9]+", "_", f"{self.name} {title}".lower()).strip("_")
        RESULTS.mkdir(parents=True, exist_ok=True)
        drawn = io.BytesIO()
        figure.savefig(drawn)
        plt.close(figure)
        # Few colours: a third of the bytes.
        Image.open(drawn).convert("RGB").quantize(32).save(RESULTS / f"{name}.png", optimize=True)
