"""Mesh pairs frame after frame: asked from the root, with the last triangles alone, and from the front in the trees."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

import numpy as np

import thud
from benchmarks.asking import decades
from benchmarks.families import as_pose, blob
from benchmarks.harness import Contestant, Report, Row

#: (rings of the models: 17k triangles with 66, pairs side by side, frames, frames before the clock runs)
_SIZES = {"ci": (12, 4, 6, 3), "standard": (66, 48, 30, 4), "full": (66, 200, 60, 4)}

#: Way and turn of a frame, in diameters and radians. Gap at the start, in diameters.
_STEPS = (0.0001, 0.001, 0.01, 0.1)
_GAPS = (0.005, 0.05)
_DIAMETER = 4.0

_QUERIES = {"boolean": thud.intersects, "triangle pairs": thud.triangle_pairs, "distance": thud.distance}


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _starts(a: thud.TriangleMesh, b: thud.TriangleMesh, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(directions, quaternions, how far B is from A in that direction when it lets go)."""
    rng = np.random.default_rng(0)
    way, q = _unit(rng.normal(size=(rows, 3))), _unit(rng.normal(size=(rows, 4)))
    low, high = np.full(rows, 1.0), np.full(rows, 2.0 * _DIAMETER)
    for _ in range(30):
        middle = 0.5 * (low + high)
        hit = thud.intersects(a, b, None, thud.Pose(way * middle[:, None], q))
        low, high = np.where(hit, middle, low), np.where(hit, high, middle)
    return way, q, high


def _frames(starts: tuple[np.ndarray, np.ndarray, np.ndarray], gap: float, step: float, count: int) -> list[np.ndarray]:
    """(N, 7) poses: random walks about the start."""
    rng = np.random.default_rng(1)
    way, q, distance = starts
    position, frames = way * (distance + gap * _DIAMETER)[:, None], []
    for _ in range(count):
        move, v = _unit(rng.normal(size=position.shape)), 0.5 * step * _unit(rng.normal(size=position.shape))
        position = position + step * _DIAMETER * move
        real = q[:, 0] - (v * q[:, 1:]).sum(axis=1)
        q = _unit(np.column_stack([real, q[:, 1:] + q[:, :1] * v + np.cross(v, q[:, 1:])]))
        frames.append(np.concatenate([position, q], axis=1))
    return frames


def run(size: str) -> None:
    """Three ways to ask, in turn within each frame; one thread."""
    rings, rows, count, skipped = _SIZES[size]
    report = Report("coherence")
    a, b = blob(rings, 0), blob(rings, 1)
    faces = len(np.asarray(a.faces))
    starts = _starts(a, b, rows)
    for query, ask in _QUERIES.items():
        for gap in _GAPS:
            for step in _STEPS:
                scene = f"{faces} x {faces} triangles, gap {gap:g}, step {step:g} diameters"
                _race(report, scene, query, ask, (a, b), _frames(starts, gap, step, count), skipped)
    _growth(report, size)
    report.save()


def _growth(report: Report, size: str) -> None:
    """With the number of triangles, of a small step of meshes that are near."""
    for query, ask in _QUERIES.items():

        def make(triangles: int, ask: Any = ask) -> list[Contestant]:
            rings = round(0.5 + np.sqrt(triangles / 4))
            a, b = blob(rings, 0), blob(rings, 1)
            # To and fro: no jump between rounds.
            frames = _frames(_starts(a, b, 8), _GAPS[0], _STEPS[1], 6)
            found = []
            for name, cache in (("from the root", None), ("front", thud.PairCache())):
                options = {} if cache is None else {"cache": cache}
                ways = itertools.cycle([frames, frames[::-1]])

                def run(ways: Any = ways, options: Any = options) -> None:
                    for pose in next(ways):
                        ask(a, b, None, pose, threads=1, **options)

                found.append(Contestant(name, run, len(frames)))
            return found

        sizes = [200, 600] if size == "ci" else decades(500, 50_000)
        report.growth("8 pairs of meshes, gap 0.005, step 0.001 diameters", query, "triangles", "from the root", sizes, make, 3)


def _race(
    report: Report,
    scene: str,
    query: str,
    ask: Any,
    pair: tuple[thud.TriangleMesh, thud.TriangleMesh],
    frames: list[np.ndarray],
    skipped: int,
) -> None:
    ways: dict[str, thud.PairCache | None] = {
        "from the root": None,
        "last triangles": thud.PairCache(front=0),
        "front": thud.PairCache(),
        "front, Pose": thud.PairCache(),
    }
    if query == "triangle pairs":
        del ways["last triangles"]  # which it has no use for
    ask(*pair, None, frames[0], threads=1)
    ask(*pair, None, frames[0], threads=1, cache=thud.PairCache())
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    tests, root_tests, hits = [], [], []
    for turn, pose in enumerate(frames):
        names = list(ways)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            options = {} if ways[name] is None else {"cache": ways[name]}
            at = as_pose(pose) if name.endswith("Pose") else pose
            begin = time.perf_counter()
            ask(*pair, None, at, threads=1, **options)
            seconds[name].append((time.perf_counter() - begin) / len(pose))
        front = ways["front"]
        assert front is not None
        tests.append(front.box_tests / len(pose))
        anew = thud.PairCache()
        ask(*pair, None, pose, threads=1, cache=anew)
        root_tests.append(anew.box_tests / len(pose))
        hits.append(thud.intersects(*pair, None, pose).mean())
    print(f"\n{scene}: {query}, {np.mean(hits):.0%} collide")
    for name, own in seconds.items():
        own, root = own[skipped:], seconds["from the root"][skipped:]
        ratios = sorted(r / t for r, t in zip(root, own, strict=True))
        low, _, high = statistics.quantiles(ratios, n=4)
        row = Row(
            scene, query, name, len(frames[0]), statistics.median(own) * 1e6, statistics.median(ratios), low, high,
            reference="from the root",
        )  # fmt: skip
        report.rows.append(row)
        print(f"  {name:<16} {row.microseconds:10.2f} us a pair   {row.speedup:8.2f}x from the root   ({low:.2f} - {high:.2f})")
    text = (
        f"eight boxes tested a pair: {np.mean(root_tests[skipped:]):.0f} from the root, {np.mean(tests[skipped:]):.1f} from "
        f"the front; {np.mean(hits):.0%} collide"
    )
    report.note(scene, query, text)
