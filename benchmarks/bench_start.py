"""Cold start: what a new process pays for the import, the first query and the compilation of all kernels."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.harness import Report, Row

_IMPORT = "import time; t = time.perf_counter(); import thud; print(time.perf_counter() - t)"
_QUERY = """
import time; t = time.perf_counter()
import thud
thud.distance(thud.Box([1, 1, 1]), thud.Sphere(1.0), None, [3, 0, 0, 1, 0, 0, 0])
print(time.perf_counter() - t)
"""
_WARMUP = """
import json, time; t = time.perf_counter()
import thud
kernels = thud.warmup(progress=False)
print(json.dumps([time.perf_counter() - t, [[k.name, k.seconds] for k in kernels]]))
"""


def _run(code: str, cache: str) -> str:
    environment = os.environ | {"THUD_CACHE_DIR": cache}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def run(size: str) -> None:
    report = Report("start")
    repeats = {"ci": 1, "standard": 7, "full": 15}[size]

    def row(what: str, seconds: float, note: str = "") -> None:
        report.rows.append(Row("start", what, "thud", 1, seconds * 1e6, float("nan"), float("nan"), float("nan"), note))
        print(f"  {what:<60} {seconds:8.3f} s  {note}")

    with tempfile.TemporaryDirectory() as cache:
        print("import, median of", repeats)
        row("import thud", statistics.median(float(_run(_IMPORT, cache)) for _ in range(repeats)), "goal: below 0.3 s")
        row("first query ever, compiled", float(_run(_QUERY, cache)))
        row("first query of a second process, numba's import included",
            statistics.median(float(_run(_QUERY, cache)) for _ in range(repeats)), "goal: below 1 s")  # fmt: skip
    with tempfile.TemporaryDirectory() as cache:
        total, kernels = json.loads(_run(_WARMUP, cache))
        row(f"warmup of all {len(kernels)} kernels, nothing cached", total)
        for name, seconds in sorted(kernels, key=lambda kernel: -kernel[1])[:15]:
            row(f"  {name.removeprefix('thud.')}", seconds, "goal: below 5 s" if seconds > 5 else "")
        total, kernels = json.loads(_run(_WARMUP, cache))
        row(f"warmup of all {len(kernels)} kernels, all cached", total)
    report.save()
