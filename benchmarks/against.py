"""`python -m benchmarks.against CHECKOUT`: is this checkout as fast as another one?

Both run the same jobs in processes of their own, in turn, 20 rounds; printed is the median over rounds of the ratio of their
times, below 1 where this checkout is faster, its quartiles, and the ratio of the two best rounds. Single thread, kernels warm.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def jobs() -> dict[str, object]:
    """Name and job: what a user calls, with arrays made beforehand."""
    import numpy as np

    import thud

    rng = np.random.default_rng(5)

    def poses(count: int, spread: float) -> thud.Pose:
        quaternions = rng.normal(size=(count, 4))
        quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
        return thud.Pose(rng.uniform(-spread, spread, (count, 3)), quaternions)

    def ring(rows: int) -> thud.TriangleMesh:
        """A torus with bumps."""
        angles = np.linspace(0, 2 * np.pi, rows, endpoint=False), np.linspace(0, 2 * np.pi, 2 * rows, endpoint=False)
        u, v = np.meshgrid(*angles, indexing="ij")
        tube = 0.5 + 0.1 * np.sin(3 * u) * np.cos(4 * v)
        across = 1.0 + tube * np.cos(u)
        points = np.stack([across * np.cos(v), across * np.sin(v), tube * np.sin(u)], axis=-1).reshape(-1, 3)
        i, j = np.meshgrid(np.arange(rows), np.arange(2 * rows), indexing="ij")
        a, b = i * 2 * rows + j, i * 2 * rows + (j + 1) % (2 * rows)
        c, d = (i + 1) % rows * 2 * rows + j, (i + 1) % rows * 2 * rows + (j + 1) % (2 * rows)
        faces = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([b, d, c], axis=-1)]).reshape(-1, 3)
        return thud.TriangleMesh(points, faces)

    def pairs_query(name: str) -> Any:
        """By its name at the top; older checkouts have it elsewhere."""
        return getattr(thud, name) if hasattr(thud, name) else getattr(importlib.import_module("thud.narrowphase"), name)

    hull_a, hull_b = (thud.ConvexHull(rng.normal(size=(40, 3))) for _ in range(2))
    box, cone = thud.Box([0.7, 1.0, 1.3]), thud.Cone(0.8, 1.1)
    many, some, few = poses(100_000, 3.0), poses(10_000, 3.0), poses(2_000, 2.4)
    shapes = [hull_a, box, cone, thud.Capsule(0.5, 0.7), hull_b, thud.Compound([box, cone], poses(2, 1.0))]
    pairs = rng.integers(0, 600, (20_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    crowd, places = [shapes[k % len(shapes)] for k in range(600)], poses(600, 12.0)
    mesh_a, mesh_b = ring(60), ring(66)
    one = thud.Pose([2.5, 0.0, 0.0])
    origins, directions = rng.uniform(-3, 3, (100_000, 3)), rng.normal(size=(100_000, 3))

    world = thud.World()
    world.add_many(hull_a, poses(2000, 12.0))
    x, y = np.meshgrid(np.linspace(0, 6, 65), np.linspace(0, 6, 65), indexing="ij")
    ground = thud.terrain.from_heights(np.sin(x) * np.cos(y), 0.5).surface
    above = thud.Pose(np.stack([*rng.uniform(2, 30, (2, 300)), rng.uniform(-1, 2, 300)], axis=-1))
    rain = thud.particles.ParticleSystem(
        position=[0, 0, 9], velocity=[0.5, 0, -12], acceleration=[0, 0, -9.81], lifetime=1.5,
        birth=-1.5 * np.linspace(0, 1, 50_000), position_spread=[5, 4, 0],
    )  # fmt: skip
    roofs = [thud.particles.Rectangle([i, j, 0.1 * i], [0.9, 0, 0.1], [0, 0.9, 0]) for i in range(-5, 5) for j in range(-5, 5)]
    balls, around = [mesh_a, mesh_b] * 4, poses(8, 2.5)

    def repeat(count: int, f: object) -> object:
        def run() -> None:
            for _ in range(count):
                f()  # type: ignore[operator]

        return run

    return {
        "hulls, boolean": lambda: thud.intersects(hull_a, hull_b, None, many, threads=1),
        "hulls, distance": lambda: thud.distance(hull_a, hull_b, None, many, threads=1),
        "hulls, signed": lambda: thud.distance(hull_a, hull_b, None, some, signed=True, threads=1),
        "box and hull, boolean": lambda: thud.intersects(box, hull_b, None, many, threads=1),
        "boxes, boolean": lambda: thud.intersects(box, box, None, many, threads=1),
        "box and cone, distance": lambda: thud.distance(box, cone, None, some, threads=1),
        "box and hull, contacts": lambda: thud.contacts(box, hull_a, None, some, threads=1),
        "many kinds, boolean": lambda: pairs_query("intersects_pairs")(crowd, pairs, places, threads=1),
        "many kinds, distance": lambda: pairs_query("distance_pairs")(crowd, pairs, places, threads=1),
        "one call, boolean": repeat(500, lambda: thud.intersects(hull_a, hull_b, None, one)),
        "one call, distance": repeat(500, lambda: thud.distance(hull_a, hull_b, None, one)),
        "meshes, boolean": lambda: thud.intersects(mesh_a, mesh_b, None, few, threads=1),
        "meshes, distance": lambda: thud.distance(mesh_a, mesh_b, None, few[:200], threads=1),
        "meshes, contacts": lambda: thud.contacts(mesh_a, mesh_b, None, few[:2], threads=1),
        "mesh and hull, boolean": lambda: thud.intersects(mesh_a, hull_a, None, few, threads=1),
        "rays on a mesh": lambda: thud.raycast(mesh_a, origins, directions, threads=1),
        "points in a mesh": lambda: thud.contains(mesh_a, origins, threads=1),
        "box and hull, cast": lambda: thud.cast(box, hull_a, None, some, motion_b=[1.0, 0, 0], threads=1),
        "box and hull, turning": lambda: thud.cast(box, hull_a, None, few, motion_b=[1.0, 0, 0, 0.3, 0, 0], threads=1),
        "world, contacts": world.contacts,
        "surface and hull, boolean": lambda: thud.intersects(ground, hull_a, None, above, threads=1),
        "particles, impacts": lambda: rain.impacts(roofs, 0.0, 1.0, threads=1),
        "images of meshes": lambda: thud.imagespace.interference(balls, around, threads=1),
    }  # fmt: skip


def work() -> None:
    """A worker: a job's name in, its seconds out."""
    found = jobs()
    for run in found.values():
        run()  # type: ignore[operator]
    print(json.dumps(list(found)), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        found[line.strip()]()  # type: ignore[operator]
        print(json.dumps(time.perf_counter() - begin), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("checkout", type=Path, nargs="?", help="the other checkout's folder")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="jobs whose names hold this text")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    workers = []
    for folder in (options.checkout, ROOT):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(Path(folder).resolve() / "src"), str(ROOT)))}
        command = [sys.executable, "-m", "benchmarks.against", "--work"]
        workers.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
        )

    def answer(worker: subprocess.Popen[str]) -> object:
        return json.loads(worker.stdout.readline())  # type: ignore[union-attr]

    names, _ = (answer(worker) for worker in workers)
    for name in names:  # type: ignore[attr-defined]
        if options.only not in name:
            continue
        ratios, times = [], ([], [])
        for turn in range(options.rounds):
            seconds = {}
            for which in (0, 1) if turn % 2 else (1, 0):
                workers[which].stdin.write(name + "\n")  # type: ignore[union-attr]
                workers[which].stdin.flush()  # type: ignore[union-attr]
                seconds[which] = answer(workers[which])
            ratios.append(seconds[1] / seconds[0])  # type: ignore[operator]
            for which in (0, 1):
                times[which].append(seconds[which])
        low, middle, high = statistics.quantiles(ratios, n=4)
        best = min(times[1]) / min(times[0])
        print(
            f"{name:<28} {statistics.median(times[1]) * 1e3:9.2f} ms   {middle:5.2f} of the other's time   "
            f"({low:.2f} - {high:.2f}; best rounds {best:.2f})"
        )
    for worker in workers:
        worker.stdin.close()  # type: ignore[union-attr]
        worker.wait()


if __name__ == "__main__":
    main()
