"""Flight through a terrain larger than its budget ([EUVE]): 60 s at 230 frames a second and 300 m/s, camera radius 2 m, through
a canyon, low over a plain with buildings, and into caves. What a frame spends in collision, with little and with much memory
and with cold tiles; spheres against boxes on the same flight, N and M swept; what it costs to load everything instead.

The time of a frame outside of collision is not ours: paced flights wait for the rest of each 1 / 230 s, as an engine draws.
"""

from __future__ import annotations

import gc
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import thud
from benchmarks.box_walk import Walks
from benchmarks.harness import Contestant, Report
from benchmarks.peers import coal_mesh, embree_scene
from reproductions.euve.flight import (
    RADIUS,
    RATE,
    Flight,
    drop_cache,
    fly,
    nearest_approach,
    percentiles,
    resident_bytes,
)
from reproductions.euve.world import FlightWorld
from thud.terrain import triangle_record
from thud.terrain.tiles.slide import SLIDE_SKIN
from thud.terrain.tiles.tile import Tile

#: (tiles along, across, metres between samples, seconds of flight, tiles and N and M of the sweep, rounds)
_SIZES: dict[str, tuple[int, int, float, float, int, tuple[int, ...], tuple[int, ...], int]] = {
    "ci": (9, 2, 16.0, 2.0, 2, (5, 20), (4, 20), 2),
    "standard": (36, 3, 4.0, 60.0, 8, (5, 10, 20, 40, 80), (4, 6, 8, 20), 5),
    "full": (36, 6, 2.0, 60.0, 16, (5, 10, 20, 40, 80), (4, 6, 8, 10, 20), 9),
}

#: Budgets, bytes.
_BUDGETS = {"64 MB": 64 * 2**20, "4 GB": 4 * 2**30}


def run(size: str = "standard") -> None:
    """Print the tables and write the CSV."""
    along, across, spacing, seconds, tiles, leaves, levels, rounds = _SIZES[size]
    report, world = Report("flight"), FlightWorld(along, across, spacing)
    folder = Path(tempfile.mkdtemp(prefix="thud-flight-"))
    try:
        begin = time.perf_counter()
        world.build(folder / "world", lambda done, _key: print(f"\r  {done} of {along * across} tiles", end="", flush=True))
        built = time.perf_counter() - begin
        stored = (folder / "world" / "data.mdb").stat().st_size
        report.note("world", "build", f"{along * across} tiles in {built:.1f} s, {stored / 2**20:.0f} MB on disk")
        flight = _flights(report, folder / "world", world, int(seconds * RATE))
        _trees(report, folder / "world", world, flight, tiles, leaves, levels, rounds)
        _everything(report, folder / "world")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.save()


def _flights(report: Report, path: Path, world: FlightWorld, frames: int) -> Flight:
    """The same path with each budget, warm and cold, at once and paced."""
    reference: Flight | None = None
    with thud.Terrain.open(path) as terrain:
        # Kernels are loaded before anything is timed.
        fly(terrain, world, 50)
        _read(path)
    del terrain
    for name, budget in _BUDGETS.items():
        for cold in (False, True):
            flight = _one_flight(report, path, world, frames, name, budget, cold, reference is None)
            # The same path, to the last bit.
            assert reference is None or flight.position.tobytes() == reference.position.tobytes()
            reference = reference or flight
    assert reference is not None
    return reference


def _read(path: Path) -> None:
    """Have the file in the system's cache."""
    with (path / "data.mdb").open("rb") as file:
        while file.read(2**24):
            pass


def _one_flight(
    report: Report, path: Path, world: FlightWorld, frames: int, name: str, budget: int, cold: bool, first: bool
) -> Flight:
    gc.collect()
    if cold:
        drop_cache(path)
    before = resident_bytes(path)
    with thud.Terrain.open(path, memory=budget) as terrain:
        flight = fly(terrain, world, frames, paced=cold, watch=RATE // 2)
        stats = terrain.stats
        most = max(flight.resident) - before
        scene = f"budget {name}, {'cold, paced at 230 frames a second' if cold else 'warm, one frame after the other'}"
        found = percentiles(flight)
        cause = "waited for a tile" if found.pop("worst frame waited for a tile") else "no tile: the interpreter or the system"
        report.note(scene, "ms in collision", ", ".join(f"{key} {value:.3f}" for key, value in found.items()))
        report.note(scene, "worst", cause)
        report.note(
            scene, "tiles", f"{stats.misses} read when needed, {stats.prefetched} ahead, {stats.dropped} dropped, "
            f"{flight.stalled.sum()} frames waited, {flight.late} frames late",
        )  # fmt: skip
        memory = f"pages resident {most / 2**20:.1f} MB, counted {stats.most_bytes / 2**20:.1f} MB, budget {name}"
        report.note(scene, "memory", memory)
        assert stats.most_bytes <= budget
        if first:
            _facts(report, terrain, world, flight, frames)
        return flight


def _facts(report: Report, terrain: thud.Terrain, world: FlightWorld, flight: Flight, frames: int) -> None:
    """What the flight was, and frame rates with collision on and off."""
    hits = float((flight.hits > 0).mean())
    report.note(
        "flight", "hits", f"{frames} frames, {hits:.1%} of them with a hit, {flight.position[-1, 0] / 1000.0:.1f} km along"
    )
    assert hits >= 0.3
    near = nearest_approach(terrain, Flight(flight.position[::5], flight.motion, flight.hits, flight.seconds, flight.stalled))
    report.note("flight", "nearest", f"the centre comes no nearer to any triangle than {near:.7f} m; radius {RADIUS:g} m")
    assert near >= RADIUS * (1.0 - 1e-9)
    for paced in (False, True):
        rates = {}
        for collide in (True, False):
            part = fly(terrain, world, min(frames, 10 * RATE), paced=paced, collide=collide)
            rates[collide] = len(part.hits) / part.wall
        how = "paced" if paced else "one frame after the other"
        report.note("flight", "frame rate", f"{how}: {rates[True]:.1f} with collision, {rates[False]:.1f} without")


def _trees(
    report: Report, path: Path, world: FlightWorld, flight: Flight, tiles: int, leaves: tuple[int, ...],
    levels: tuple[int, ...],
    rounds: int,
) -> None:  # fmt: skip
    """Spheres against boxes about the places of the flight, in the tiles that it passes most."""
    starts = np.concatenate([flight.position[:1], flight.position[:-1]])
    reach = np.linalg.norm(flight.motion, axis=1) * (1.0 + SLIDE_SKIN) + RADIUS
    with thud.Terrain.open(path) as terrain:
        manifest = terrain.manifest
        keys, tile, count = np.unique(
            np.floor(starts[:, :2] / manifest.tile_size[:2]).astype(int), axis=0, return_inverse=True, return_counts=True
        )
        chosen = np.argsort(-count, kind="stable")[:tiles].tolist()
        meshes = {k: terrain.tile(keys[k].tolist()).shape for k in chosen}
        rows = {k: np.flatnonzero(tile.reshape(-1) == k) for k in chosen}
    queries = sum(len(one) for one in rows.values())
    sizes = [(n, 20) for n in leaves] + [(20, m) for m in levels if m != 20]
    for n, m in sizes:
        walks = []
        for k in chosen:
            i, j = keys[k].tolist()
            record = triangle_record((i, j), *world.mesh(i, j), quantum=2.0**-10, leaf=n, levels=m)
            walks.append(Walks(Tile(record), starts[rows[k]], reach[rows[k]], meshes[k]))
        runs: dict[str, Callable[[Walks], Any]] = {
            "spheres": Walks.spheres, "boxes, same tree": Walks.same_tree_boxes, "boxes, mesh's tree": Walks.mesh_tree,
        }  # fmt: skip
        scene = f"N = {n}, M = {m}"
        answers = {}
        for name, run_one in runs.items():
            visited = sum(run_one(walk) for walk in walks)
            answers[name] = np.concatenate([walk.found.copy() for walk in walks])
            nodes = sum(len(walk.boxes) for walk in walks)
            size = {"spheres": 32 * nodes, "boxes, same tree": 40 * nodes}.get(
                name, sum((24 + 16) * len(walk.mesh.tree.skip) for walk in walks)
            )
            report.note(
                scene,
                name,
                f"{visited[0] / queries:.1f} nodes and {visited[1] / queries:.2f} leaves a frame, {size / 2**10:.0f} KB",
            )
        assert all(np.array_equal(one, answers["spheres"]) for one in answers.values())
        contestants = [
            Contestant(name, lambda run_one=run_one, walks=walks: [run_one(walk) for walk in walks], queries)
            for name, run_one in runs.items()
        ]  # fmt: skip
        report.race(scene, "walk to the triangles in reach of a frame", "boxes, same tree", contestants, rounds)


def _apart(work: Callable[[], Any]) -> tuple[float, int]:
    """(seconds, bytes more in memory) of some work, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            page = os.sysconf("SC_PAGE_SIZE")
            before = int(Path("/proc/self/statm").read_text().split()[1]) * page
            begin = time.perf_counter()
            kept = work()
            used = time.perf_counter() - begin
            after = int(Path("/proc/self/statm").read_text().split()[1]) * page
            os.write(write, struct.pack("dq", used, after - before))
            del kept
        finally:
            os._exit(0)
    os.close(write)
    data = os.read(read, 16)
    os.close(read)
    os.waitpid(child, 0)
    if len(data) != 16:
        return float("nan"), 0
    seconds, size = struct.unpack("dq", data)
    return seconds, size


def _everything(report: Report, path: Path) -> None:
    """What it costs to have all of it in memory."""
    with thud.Terrain.open(path) as terrain:
        keys = terrain.keys()
        corners = np.concatenate([terrain.tile(key).triangles().corners for key in keys])
    vertices, rows = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    faces = rows.reshape(-1, 3).astype(np.int64)
    del corners
    report.note("everything", "size", f"{len(faces):,} triangles, {len(vertices):,} vertices")
    down = np.array([[100.0, 100.0, 500.0]]), np.array([[0.0, 0.0, -1.0]])

    def ours() -> Any:
        mesh = thud.TriangleMesh(vertices, faces)
        thud.distance(mesh, thud.Sphere(2.0), None, thud.Pose((100.0, 100.0, 300.0)))
        return mesh

    def embree() -> Any:
        scene = embree_scene(vertices, faces)
        scene.run(down[0].astype(np.float32), down[1].astype(np.float32))
        return scene

    for name, work in (("thud.TriangleMesh", ours), ("embreex", embree), ("coal", lambda: coal_mesh(vertices, faces))):
        seconds, size = _apart(work)
        report.note("everything", name, f"{seconds:.2f} s, {size / 2**20:.0f} MB before the first frame")

    def opened() -> Any:
        terrain = thud.Terrain.open(path, memory=64 * 2**20)
        terrain.slide((100.0, 100.0, 300.0), (1.0, 0.0, 0.0), 2.0)
        return terrain

    seconds, size = _apart(opened)
    report.note("everything", "thud.Terrain, opened, first frame", f"{seconds:.2f} s, {size / 2**20:.0f} MB")
