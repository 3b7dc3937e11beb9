"""[Yang] 1.1 and 3.5.1: the landscape of the thesis, about 400 square miles at 2 m in 64 x 64 patches, generated and built
here.

`python -m reproductions yang-world [--size ci|standard|full]`. It goes on where it was when it is run again; the
store is in the folder that THUD_WORLD_DIR names, `yang_world` below the results otherwise. THUD_WORLD_WORKERS processes
make it (1), for THUD_WORLD_SECONDS at most.
"""

from __future__ import annotations

import json
import math
import os
import resource
import time
from pathlib import Path

import numpy as np

import thud
from benchmarks.memory import peak_megabytes
from reproductions.report import Report
from thud.report.relief import relief
from thud.terrain import build, generated_world

#: Metres along a side of the world; a patch is 512 m wide: 256 x 256 samples at 2 m.
SIDES = {"ci": 1024.0, "standard": 4096.0, "full": 32768.0}
SEED = 2015
PATCH = 512.0
SPACING = 2.0

#: Most memory that a build may take, bytes.
MEMORY = 2e9


def run(size: str, files: list[Path] | None, out: Path) -> int:
    """Build the world, look at it, and fly into it; returns how many statements did not hold."""
    if files:
        raise SystemExit("reproductions yang-world: --model is not used; the world is generated")
    report = Report("yang_world", f"[Yang] The landscape, `--size {size}`", size, out)
    folder = Path(os.environ.get("THUD_WORLD_DIR") or out / "yang_world" / size)
    side = SIDES[size]
    measured = _build(folder, side)
    with thud.Terrain.open(folder) as terrain:
        _say(report, terrain, side, measured)
        _draw(report, terrain, size)
    return report.close()


class _Pause(Exception):
    """The time of this run is over."""


def _build(folder: Path, side: float) -> dict[str, float]:
    """Fill the store. What runs that were cut short took is added up in a file beside it."""
    notes = folder.with_name(folder.name + ".json")
    before = {"seconds": 0.0, "cpu": 0.0, "peak": 0.0}
    if folder.exists() and notes.exists():
        before = json.loads(notes.read_text())
    workers = int(os.environ.get("THUD_WORLD_WORKERS") or 1)
    limit = float(os.environ.get("THUD_WORLD_SECONDS") or math.inf)
    begin = saved = time.perf_counter()
    used_before, paused = time.process_time(), False

    def so_far() -> dict[str, float]:
        # Of workers what has ended is known.
        theirs = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = time.process_time() - used_before + theirs.ru_utime + theirs.ru_stime
        peak = 1e6 * peak_megabytes() + (1024.0 * workers * theirs.ru_maxrss if workers > 1 else 0)
        return {
            "seconds": before["seconds"] + time.perf_counter() - begin,
            "cpu": before["cpu"] + used,
            "peak": max(before["peak"], peak),
        }

    def progress(done: int, total: int, key: object) -> None:
        nonlocal saved
        now = time.perf_counter()
        if now - saved > 5.0:
            saved = now
            notes.write_text(json.dumps(so_far()))
            print(f"  patches: {done}/{total}, about {so_far()['seconds'] / done * (total - done):.0f} s left", flush=True)
        if now - begin > limit:
            raise _Pause

    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        build(generated_world(SEED, side, spacing=SPACING), folder, progress=progress, workers=workers)
    except _Pause:
        paused = True
    found = so_far()
    notes.write_text(json.dumps(found))
    if paused:
        raise SystemExit(f"reproductions yang-world: {limit:g} s are over; the same command goes on")
    return found


def _say(report: Report, terrain: thud.Terrain, side: float, measured: dict[str, float]) -> None:
    samples = quads = walls = below = 0
    keys = terrain.keys()
    # What lies below what is told by some patches, evenly spread.
    chosen = keys[:: max(1, len(keys) // 64)]
    for key in keys:
        sides = terrain.tile(key).sections["quads"][:, 2].astype(np.int64)
        samples, quads = samples + int((sides * sides).sum()), quads + len(sides)
    for key in chosen:
        normals = terrain.tile(key).triangles().planes[:, 2]
        walls, below = walls + int((np.abs(normals) < 0.5).sum()), below + int((normals < 0.0).sum())
    plane = round(side / SPACING) ** 2
    cores = measured["cpu"] / max(measured["seconds"], 1e-9)
    report.heading("The landscape")
    report.table(
        ("", ""),
        [
            ("side", f"{side:,.0f} m, {side * side / 1609.344**2:,.1f} square miles"),
            ("patches", f"{len(keys):,}"),
            ("samples of a plane of that size at 2 m", f"{plane:,}"),
            ("samples, with walls and ceilings", f"{samples:,} in {quads:,} quads"),
            ("size on disk", f"{terrain.nbytes / 2**20:,.0f} MB, {terrain.nbytes / max(samples, 1):.1f} bytes a sample"),
            ("wall time", f"{measured['seconds']:,.0f} s, {cores:.2f} cores busy"),
            ("samples a second and core", f"{samples / max(measured['cpu'], 1e-9):,.0f}"),
            ("most memory", f"{measured['peak'] / 2**20:,.0f} MB"),
            ("content hash", str(terrain.manifest.content_hash)),
        ],
    )
    report.compare(
        "the map consists of 64 x 64 terrain patches of non-uniform quads (3.5.1)",
        f"{len(keys):,} patches",
        len(keys) == round(side / PATCH) ** 2,
    )
    report.compare(
        "basins, tunnels, cliffs (1.1)",
        f"of {len(chosen)} patches' triangles {walls:,} are steeper than 60 degrees and {below:,} face down",
        below > 0 and walls > 0,
    )
    report.compare("a resolution of 2 meters (1.1)", f"{samples / plane:.2f} samples a square of 2 m x 2 m", samples >= plane)
    report.compare("a very low memory footprint (1.1)", f"built in {measured['peak'] / 1e9:.2f} GB", measured["peak"] < MEMORY)


def _draw(report: Report, terrain: thud.Terrain, size: str) -> None:
    pixels = {"ci": 256, "standard": 1000, "full": 1600}[size]

    def picture(plt):  # type: ignore[no-untyped-def]
        shown, _, (x0, y0, x1, y1) = relief(terrain, size=pixels)
        figure, axes = plt.subplots(figsize=(9, 9))
        axes.imshow(shown, extent=(x0, x1, y0, y1))
        axes.set_xlabel("x, m")
        axes.set_ylabel("y, m")
        return figure

    report.figure("relief", picture)
