"""Convex pairs: boolean and distance with witness points, batch and one pair at a time, against coal, fcl and bullet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.harness import Contestant, Report
from benchmarks.peers import Bullet, Coal, Fcl, available
from thud._core.threads import core_count
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]

#: (pairs of the main scene, pairs of the others, rounds)
_SIZES = {"ci": (2_000, 500, 2), "standard": (100_000, 20_000, 7), "full": (1_000_000, 100_000, 9)}


def _rotations(rng: np.random.Generator, count: int) -> Floats:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def _hull(rng: np.random.Generator, vertices: int) -> thud.ConvexHull:
    """Points on a random ellipsoid: all of them are corners of the hull."""
    points = rng.normal(size=(vertices, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return thud.ConvexHull(points * rng.uniform(0.5, 1.5, 3))


def _scene(make: Callable[[], Shape], kinds: int, bodies: int, spread: float, pairs: int, rng: np.random.Generator) -> tuple:
    """Bodies of a few kinds of shape in a cube, and random pairs among them; spread so that about half collide."""
    models = [make() for _ in range(kinds)]
    shapes = [models[k] for k in rng.integers(0, kinds, bodies)]
    poses = thud.Pose(rng.uniform(-spread, spread, (bodies, 3)), _rotations(rng, bodies))
    a = rng.integers(0, bodies, pairs)
    b = (a + rng.integers(1, bodies, pairs)) % bodies
    return shapes, np.stack([a, b], axis=1), poses


def run(size: str) -> None:
    main, other, rounds = _SIZES[size]
    rng = np.random.default_rng(2)
    report = Report("convex")
    scenes = {
        "hulls of 30-60 vertices": _scene(lambda: _hull(rng, int(rng.integers(30, 61))), 100, 1000, 1.4, main, rng),
        "box-box": _scene(lambda: thud.Box(rng.uniform(0.4, 1.2, 3)), 50, 1000, 1.2, other, rng),
        "sphere-sphere": _scene(lambda: thud.Sphere(rng.uniform(0.5, 1.2)), 50, 1000, 1.2, other, rng),
        "capsule-capsule": _scene(
            lambda: thud.Capsule(rng.uniform(0.2, 0.6), rng.uniform(0.3, 1.2)), 50, 1000, 1.1, other, rng
        ),
        "hulls of 1,000 vertices": _scene(lambda: _hull(rng, 1000), 10, 300, 1.6, other, rng),
    }
    for name, (shapes, pairs, poses) in scenes.items():
        _race(report, name, shapes, pairs, poses, rounds)
        if name.startswith("hulls of 30"):
            _one_at_a_time(report, name, shapes, pairs, poses, rounds)
    report.save()


def _race(report: Report, name: str, shapes: list[Shape], pairs: npt.NDArray[np.int64], poses: thud.Pose, rounds: int) -> None:
    count = len(pairs)
    intersects, distance = thud.intersects_pairs, thud.distance_pairs
    peers = [peer(shapes, pairs, poses.rows) for peer in available(Coal, Fcl, Bullet)]
    reference = peers[0].name if peers else "thud, 1 thread"
    ours_hits = intersects(shapes, pairs, poses)
    ours = distance(shapes, pairs, poses)
    cores = core_count()
    lanes = [1] if cores == 1 else [1, 2]
    for query, function in (("boolean", intersects), ("distance", distance)):
        contestants = [
            Contestant(f"thud, {n} thread{'s' * (n > 1)}", lambda f=function, n=n: f(shapes, pairs, poses, threads=n), count)
            for n in lanes
        ]
        contestants += [Contestant(peer.name, getattr(peer, query), count) for peer in peers]
        report.race(name, query, reference, contestants, rounds)
        if len(lanes) > 1:
            # By turns, with no peer in between: what a second thread brings.
            report.race(name, f"{query}, a second thread", contestants[0].name, contestants[: len(lanes)], 3 * rounds)
        if query == "boolean":
            report.note(name, query, f"{ours_hits.mean():.1%} of {count} pairs collide")
            for peer in peers:
                differ = np.flatnonzero(peer.boolean() != ours_hits)
                gap = np.abs(distance(shapes, pairs[differ], poses, signed=True).distance).max() if len(differ) else 0.0
                report.note(
                    name, query, f"{peer.name}: {len(differ)} pairs differ, the largest |signed distance| of those {gap:.1e}"
                )
        else:
            apart = ours.distance > 0
            if isinstance(shapes[0], thud.ConvexHull):
                gap = _certificate(shapes, pairs[apart], poses, ours, apart)
                report.note(name, query, f"thud: upper and lower bound of the distance meet to {gap.max():.1e} relative")
            for peer in peers:
                theirs = peer.distance()
                both = apart & (theirs > 0) & np.isfinite(theirs)
                error = np.abs(theirs[both] - ours.distance[both]) / ours.distance[both]
                far = (error > 1e-9).mean() if len(error) else 0.0
                report.note(
                    name,
                    query,
                    f"{peer.name}: off by up to {error.max(initial=0.0):.1e} relative, {far:.3%} of pairs by more than 1e-9",
                )
    for peer in peers:
        if hasattr(peer, "close"):
            peer.close()


def _meet_by_linear_program(shapes: list[Shape], pair: npt.NDArray[np.int64], poses: thud.Pose) -> bool:
    """Whether two hulls have a common point: convex weights of both vertex sets with equal sums."""
    from scipy.optimize import linprog

    rows = [poses.rows[k] for k in pair]
    a, b = (shapes[k].vertices @ r[:9].reshape(3, 3).T + r[9:] for k, r in zip(pair, rows, strict=True))
    equal = np.zeros((5, len(a) + len(b)))
    equal[:3] = np.concatenate([a.T, -b.T], axis=1)
    equal[3, : len(a)], equal[4, len(a) :] = 1.0, 1.0
    return bool(linprog(np.zeros(len(a) + len(b)), A_eq=equal, b_eq=[0, 0, 0, 1, 1], method="highs").status == 0)


def _certificate(
    shapes: list[Shape], pairs: npt.NDArray[np.int64], poses: thud.Pose, result: thud.Distances, rows: Floats
) -> Floats:
    """Relative gap between two bounds that do not trust the engine: the witness points' distance from above, and the
    width of the slab between the two hulls along the normal, by all vertices, from below."""
    normal, point_a, point_b = result.normal[rows], result.point_a[rows], result.point_b[rows]
    upper = np.linalg.norm(point_b - point_a, axis=1)
    unit = (point_b - point_a) / upper[:, None]
    assert np.abs(unit - normal).max() < 1e-6
    lower = np.empty(len(pairs))
    for i, (a, b) in enumerate(pairs.tolist()):
        ra, rb = poses.rows[a], poses.rows[b]
        va = shapes[a].vertices @ (ra[:9].reshape(3, 3).T @ normal[i]) + ra[9:] @ normal[i]
        vb = shapes[b].vertices @ (rb[:9].reshape(3, 3).T @ normal[i]) + rb[9:] @ normal[i]
        lower[i] = vb.min() - va.max()
    return np.abs(upper - lower) / upper


def _one_at_a_time(
    report: Report, name: str, shapes: list[Shape], pairs: npt.NDArray[np.int64], poses: thud.Pose, rounds: int
) -> None:
    """Prepared pairs, one call each, against coal's calls on the same pairs."""
    # 20 pairs of hulls, each at 1,000 poses: what a planner or a simulation loop does.
    partners = pairs[:20]
    count = min(len(pairs), 20_000)
    moves = pairs[np.arange(count) % len(pairs)]
    prepared = [thud.prepare(shapes[a], shapes[b]) for a, b in partners.tolist()]
    singles = [poses[k] for k in range(len(poses))]
    calls = [(prepared[i % 20], singles[a], singles[b]) for i, (a, b) in enumerate(moves.tolist())]
    hulls = [shapes[k] for a, b in partners.tolist() for k in (a, b)]

    def boolean() -> None:
        for pair, a, b in calls:
            pair.intersects(a, b)

    def distance() -> None:
        for pair, a, b in calls:
            _number = pair.distance(a, b).distance  # what coal returns; points are read by those who want them

    peers = []
    for peer in available(Coal):
        # The same hulls at the same poses: coal takes any geometry with any transform.
        same = peer(hulls, np.empty((0, 2), dtype=np.int64), poses.rows[: len(hulls)])
        same.place(hulls, moves, poses.rows)
        peers.append(same)
    reference = peers[0].name if peers else "thud, prepared"
    for query, function in (("boolean", boolean), ("distance", distance)):
        contestants = [Contestant("thud, prepared", function, count)]
        contestants += [Contestant(peer.name, getattr(peer, query), count) for peer in peers]
        report.race(name, f"{query}, one pair at a time", reference, contestants, rounds)
