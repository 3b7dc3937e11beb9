"""Results on disk: rows as CSV with date, commit, processor and versions, and what got slower than the committed ones."""

from __future__ import annotations

import csv
import importlib.metadata
import io
import math
import os
import platform
import subprocess
import sys
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Peers by the start of their engines' names, with their packages and modules.
PEERS = {
    "coal": ("coal", "coal"),
    "python-fcl": ("python-fcl", "fcl"),
    "pybullet": ("pybullet", "pybullet"),
    "embreex": ("embreex", "embreex"),
    "trimesh": ("trimesh", "trimesh"),
    "libigl": ("libigl", "igl"),
    "point-cloud-utils": ("point-cloud-utils", "point_cloud_utils"),
    "ipctk": ("ipctk", "ipctk"),
    "rtree": ("rtree", "rtree"),
    "mujoco": ("mujoco", "mujoco"),
    "rapier3d": ("rapier3d", "rapier3d"),
    "NumPy": ("numpy", "numpy"),
    "scipy": ("scipy", "scipy"),
    "MMA": ("nlopt", "nlopt"),
}

#: What is reported as slower: by more than this.
SLOWER = 0.10


@dataclass
class Row:
    """One line of a table."""

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
    member: str = ""
    """Of a family: the member's name, or "median" or "worst"; of a growth: the size."""
    reference: str = ""
    """The engine whose time is 1."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the row in every run."""
        return self.scene, self.query, self.member, self.engine


_COLUMNS = ("scene", "query", "member", "engine", "items", "microseconds", "speedup", "low", "high", "reference", "note")
_NUMBERS = ("microseconds", "speedup", "low", "high")


def is_peer(engine: str) -> bool:
    """Whether an engine is somebody else's."""
    return engine.startswith(tuple(PEERS))


def commit() -> str:
    """The checkout's commit, and whether the code differs from it."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD").strip()
        changed = _git("status", "--porcelain", "--", "src", "benchmarks", ":!benchmarks/results").strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name} with changes" if changed else name


def processor() -> str:
    """The processor's name and how many of its cores we see."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        name = models[0] if models else name
    return f"{name}, {platform.machine()}, {os.cpu_count()} cores"


def versions() -> str:
    """Of Python, Numba and NumPy, and of the peers that this process has imported."""
    packages = dict.fromkeys(["numba", "numpy", *(package for package, module in PEERS.values() if module in sys.modules)])
    found = [f"Python {platform.python_version()}"]
    for package in packages:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(package)
    return ", ".join(found)


def circumstances() -> dict[str, str]:
    """Under which the results were taken."""
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {"date": date, "commit": commit(), "processor": processor(), "versions": versions()}


def write(path: Path, rows: list[Row]) -> None:
    """The rows, then the circumstances, as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in rows:
            writer.writerow([_text(name, getattr(row, name)) for name in _COLUMNS])
        for what, text in circumstances().items():
            writer.writerow(["machine", what, *[""] * (len(_COLUMNS) - 3), text])


def _text(name: str, value: object) -> object:
    if name in _NUMBERS:
        return f"{value:.4g}" if value == value else ""
    return (value or "") if name == "items" else value


def read(text: str) -> tuple[list[Row], dict[str, str]]:
    """Rows and circumstances of a CSV. What a file does not have, as those of older versions, is empty."""
    rows, about = [], {}
    for line in csv.DictReader(io.StringIO(text)):
        if line["scene"] == "machine":
            about[line["query"]] = line["note"]
            continue
        values: dict[str, object] = {field.name: line.get(field.name) or "" for field in fields(Row)}
        values |= {name: float(values[name] or "nan") for name in _NUMBERS}  # type: ignore[arg-type]
        values["items"] = int(values["items"] or 0)  # type: ignore[call-overload]
        rows.append(Row(**values))  # type: ignore[arg-type]
    return rows, about


def committed(path: Path) -> tuple[list[Row], dict[str, str]]:
    """The same file in the checkout's last commit; nothing if there is none."""
    try:
        return read(_git("show", f"HEAD:{path.resolve().relative_to(ROOT).as_posix()}"))
    except (OSError, ValueError, subprocess.CalledProcessError):
        return [], {}


def slower(before: list[Row], now: list[Row], *, same_processor: bool = False) -> list[str]:
    """Our rows that are slower than before by more than 10 %, the worst first: by the ratio to the reference where there is
    one, since times of another machine or day mean little; by time where there is none and the processor is the same."""
    old = {row.key: row for row in before}
    found = []
    for row in now:
        was = old.get(row.key)
        if was is None or is_peer(row.engine) or not row.engine or row.engine == row.reference:
            continue
        by_ratio = (
            math.isfinite(row.speedup) and math.isfinite(was.speedup) and row.reference == (was.reference or row.reference)
        )
        if by_ratio:
            change = was.speedup / row.speedup
            shown = f"{was.speedup:.3g}x to {row.speedup:.3g}x {row.reference}"
            apart = row.high < was.low
        elif same_processor and math.isfinite(row.microseconds) and math.isfinite(was.microseconds):
            change = row.microseconds / was.microseconds
            shown = f"{was.microseconds:.4g} to {row.microseconds:.4g} us"
            apart = True
        else:
            continue
        if change > 1.0 + SLOWER:
            where = ": ".join(part for part in (row.scene, row.query, row.member) if part)
            found.append(
                (change, f"{change:.2f}x the time, {where}, {row.engine}: {shown}{'' if apart else ' (quartiles overlap)'}")
            )
    return [text for _, text in sorted(found, key=lambda one: -one[0])]


def compare(path: Path) -> list[str]:
    """What in a results file is slower than in the last commit."""
    before, about_before = committed(path)
    now, about = read(path.read_text())
    return slower(before, now, same_processor=about.get("processor") == about_before.get("processor"))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
