"""[EUVE] Collision in a terrain engine: frame rates with collision on and off, the sphere trees, what they cost, its figures.

`python -m reproductions euve [--size ci|standard|full]`. The world is generated: a canyon, a plain with buildings and caves, as
tiles of triangles; the paper's Basque Country is not to be had.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import thud
from reproductions.euve import figures
from reproductions.euve.flight import NEAR, RADIUS, RATE, Pilot, fly, nearest_approach, percentiles
from reproductions.euve.world import FlightWorld
from reproductions.report import Report
from thud.terrain.tiles.tile_arrays import CHILDREN, COUNT, NEXT
from thud.terrain.tiles.tolerances import LEAF_TRIANGLES, TREE_LEVELS

#: (tiles along, across, metres between samples, seconds of flight)
_SIZES = {"ci": (9, 2, 16.0, 2.0), "standard": (18, 2, 4.0, 20.0), "full": (36, 3, 2.0, 60.0)}

#: Bytes of the texture of a tile in the paper: 1024 x 1024 pixels.
_TEXTURE = 3 * 1024 * 1024


def run(size: str, files: list[Path] | None, out: Path) -> int:
    """Make all sections; returns how many of the paper's statements did not hold."""
    if files:
        raise SystemExit("reproductions euve: --model is not used; the world is generated")
    along, across, spacing, seconds = _SIZES[size]
    world, report = FlightWorld(along, across, spacing), Report("euve", f"[EUVE] Flight, `--size {size}`", size, out)
    folder = Path(tempfile.mkdtemp(prefix="thud-euve-"))
    try:
        world.build(folder / "world")
        with thud.Terrain.open(folder / "world", memory=64 * 2**20) as terrain:
            triangles = sum(terrain.tile(key).triangle_count for key in terrain.keys())  # noqa: SIM118
            report.say(
                f"World: {along} x {across} tiles of 512 m, {triangles:,} triangles, {terrain.nbytes / 2**20:.0f} MB; "
                f"camera radius {RADIUS:g} m, near plane {NEAR:g} m, {RATE} frames a second at 300 m/s."
            )
            _trees(report, terrain)
            _share(report, terrain)
        with thud.Terrain.open(folder / "world", memory=64 * 2**20) as terrain:
            _rates(report, terrain, world, int(seconds * RATE))
            _methods(report, terrain, world, int(seconds * RATE))
            _buildings(report, terrain, world)
            figures.draw(report, terrain, world)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report.close()


def _trees(report: Report, terrain: thud.Terrain) -> None:
    """3.1.1 and 4.1."""
    report.heading("Sphere trees (3.1.1, 4.1)")
    depth, most, forward, leaves, rows = 0, 0, True, 0, []
    for key in terrain.keys():  # noqa: SIM118
        tile = terrain.tile(key)
        links = tile.arrays.links
        ends = links[:, CHILDREN] == 0
        depth, most = max(depth, tile.depth), max(most, int(links[ends, COUNT].max()))
        forward &= bool((links[:, NEXT] > np.arange(len(links))).all())
        leaves += int(ends.sum())
        rows.append(len(links))
    report.compare(
        "the whole tree is serialized: the way of traversing is always in one direction",
        "every node leads to a later one in every tile",
        forward,
    )
    report.compare(
        f"N = {LEAF_TRIANGLES} and M = {TREE_LEVELS}: in general cases the first parameter is enough",
        f"deepest level {depth}, at most {most} triangles a leaf, {leaves} leaves in {len(rows)} trees",
        depth < TREE_LEVELS and most < LEAF_TRIANGLES,
    )


def _share(report: Report, terrain: thud.Terrain) -> None:
    """5: the memory that collisions add."""
    report.heading("Share of collision data (5)")
    total: dict[str, int] = {}
    for key in terrain.keys():  # noqa: SIM118
        for name, size in terrain.tile(key).nbytes.items():
            total[name] = total.get(name, 0) + size
    tiles, record = len(terrain), sum(total.values())
    report.table(
        ["part of a tile", "KB a tile", "share of the record"],
        [[name, size / tiles / 1024.0, f"{size / record:.1%}"] for name, size in total.items()],
    )
    added = total["nodes"] + total["planes"]
    share = added / (tiles * _TEXTURE + record)
    report.compare(
        "the overall memory increment is negligible compared with textures",
        f"spheres are {total['nodes'] / record:.1%} of a record, spheres and planes {added / record:.1%}; of a tile with a "
        f"texture of 1024 x 1024 they are {share:.1%}",
        None,
    )


def _rates(report: Report, terrain: thud.Terrain, world: FlightWorld, frames: int) -> None:
    """5: not a single frame per second less."""
    report.heading("Frame rates (5)")
    on, off = (fly(terrain, world, frames, paced=True, collide=collide) for collide in (True, False))
    rates = [frames / flight.wall for flight in (on, off)]
    found = percentiles(on)
    hits = float((on.hits > 0).mean())
    report.compare(
        "there was not a single frame per second rate reduction (230 fps)",
        f"{rates[0]:.1f} frames a second with collision, {rates[1]:.1f} without; {hits:.0%} of the frames with a hit; "
        + ", ".join(
            f"{name} {value:.3f} ms" for name, value in found.items() if name[0] in "pw" and not isinstance(value, bool)
        ),
        None,
    )
    stats = terrain.stats
    report.say(
        f"Tiles: {stats.misses} read when needed, {stats.prefetched} ahead, {stats.dropped} dropped; at most "
        f"{stats.most_bytes / 2**20:.0f} MB kept of a budget of 64 MB."
    )


def _methods(report: Report, terrain: thud.Terrain, world: FlightWorld, frames: int) -> None:
    """The paper's pass beside ours, on the same pilot."""
    report.heading("The paper's pass and ours (3.2 to 3.4)")
    rows: list[list[Any]] = []
    near = {}
    for method in ("slide", "euve"):
        flight = fly(terrain, world, frames, method=method)
        near[method] = nearest_approach(terrain, flight)
        rows.append([method, float((flight.hits > 0).mean()), near[method], float(np.median(flight.seconds) * 1e6)])
    report.table(["method", "frames with a hit", "nearest to a triangle, m", "us a frame (median)"], rows)
    report.compare(
        "collision points are considered only if they are inside the triangle; it works properly",
        f"faces only, one pass: the camera of radius {RADIUS:g} m comes as near as {near['euve']:.3f} m; with edges, vertices "
        f"and all trees {near['slide']:.6f} m",
        near["slide"] >= RADIUS * (1.0 - 1e-9),
    )
    report.say("Where the printed pass lets cameras through is in docs/terrain_flight.md, each with a test.")


def _buildings(report: Report, terrain: thud.Terrain, world: FlightWorld) -> None:
    """6: buildings as part of the terrain."""
    report.heading("Buildings (6)")
    stopped, asked = 0, 0
    for i in range(world.along):
        for j in range(world.across):
            for low, high in world.buildings(i, j):
                start = np.array([low[0] - 6.0, 0.5 * (low[1] + high[1]), high[2] - 2.5])
                if not bool(terrain.intersects(thud.Sphere(RADIUS), thud.Pose(start))[0]):
                    asked += 1
                    end = terrain.slide(start, (8.0, 0.0, 0.0), RADIUS).position[0]
                    stopped += bool(end[0] <= low[0] - RADIUS * (1.0 - 1e-9)) or bool(end[2] >= high[2] + RADIUS * (1.0 - 1e-9))
    report.compare(
        "these collision algorithms were designed to manage also buildings",
        f"{stopped} of {asked} buildings stop a camera that flies at them",
        stopped == asked and asked > 0,
    )


__all__ = ["Pilot", "run"]
