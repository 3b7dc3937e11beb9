"""Casts of shapes that move and turn: against the linear cast, and against python-fcl's continuous collision. One core."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.harness import Contestant, Report, one_core
from tests.oracles.meshes import blob_mesh
from tests.oracles.motion import first_overlap, pose_at
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]

#: (rows of convex pairs, rows that fcl is asked, rows of mesh pairs, rings of the meshes, rounds)
_SIZES = {"ci": (500, 100, 20, 10, 1), "standard": (10_000, 2_000, 200, 50, 5), "full": (100_000, 10_000, 1_000, 50, 5)}


def _motions(count: int, reach: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Poses (N, 12) and motions (N, 6) of which about half meet; no rotation reaches pi, so that ends tell the way."""
    rng = np.random.default_rng(0)
    q = rng.normal(size=(2, count, 4))
    q /= np.linalg.norm(q, axis=2, keepdims=True)
    way = rng.normal(size=(count, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    poses = thud.Pose(rng.uniform(-0.2, 0.2, (count, 3)), q[0]), thud.Pose(way * rng.uniform(1, 2, (count, 1)) * reach, q[1])
    moves = 0.3 * rng.normal(size=(count, 3)), -way * rng.uniform(0, 2, (count, 1)) * reach + 0.3 * rng.normal(size=(count, 3))
    turns = [0.7 * rng.normal(size=(count, 3)) for _ in range(2)]
    for turn in turns:
        turn *= np.minimum(1.0, 3.0 / np.linalg.norm(turn, axis=1, keepdims=True))
    a, b = (np.concatenate(pair, axis=1) for pair in zip(moves, turns, strict=True))
    return (poses[0].rows, poses[1].rows), (a, b)


class Fcl:
    """python-fcl, one row at a time: conservative advancement of the linear motion with constant rotation."""

    def __init__(self, shapes: tuple[Any, Any], rows: tuple[Floats, Floats], motions: tuple[Floats, Floats], few: int) -> None:
        import fcl

        self.fcl, self.shapes = fcl, shapes
        ends = [pose_at(row[:few], motion[:few], np.ones(few)).rows for row, motion in zip(rows, motions, strict=True)]

        def transforms(poses: Floats) -> list[Any]:
            return [fcl.Transform(pose[:9].reshape(3, 3), pose[9:]) for pose in poses]

        self.start = [transforms(row[:few]) for row in rows]
        self.end = [transforms(end) for end in ends]
        self.request = fcl.ContinuousCollisionRequest(
            num_max_iterations=1000,
            toc_err=1e-9,
            ccd_motion_type=fcl.CCDMotionType.CCDM_LINEAR,
            ccd_solver_type=fcl.CCDSolverType.CCDC_CONSERVATIVE_ADVANCEMENT,
        )

    def run(self) -> Floats:
        fcl, request, times = self.fcl, self.request, []
        for a0, b0, a1, b1 in zip(*self.start, *self.end, strict=True):
            a, b = fcl.CollisionObject(self.shapes[0], a0), fcl.CollisionObject(self.shapes[1], b0)
            result = fcl.ContinuousCollisionResult()
            fcl.continuousCollide(a, a1, b, b1, request, result)
            times.append(result.time_of_contact if result.is_collide else np.inf)
        return np.array(times)


def _race(report: Report, name: str, a: Shape, b: Shape, peer: Any, count: int, few: int, reach: float, rounds: int) -> None:
    rows, motions = _motions(count, reach)
    poses = [thud.Pose.from_rows(row) for row in rows]
    straight = [motion[:, :3].copy() for motion in motions]
    racers = [
        Contestant("thud, linear", lambda: thud.cast(a, b, *poses, *straight, threads=1), count),
        Contestant("thud, turning", lambda: thud.cast(a, b, *poses, *motions, threads=1), count),
    ]
    found = thud.cast(a, b, *poses, *motions, threads=1)
    other = None
    if peer is not None:
        try:
            other = Fcl(peer(), rows, motions, few)
            racers.append(Contestant("python-fcl, turning", other.run, few))
        except ImportError:
            print("  python-fcl is not installed")
    report.race("random motions", name, racers[-1].name if other else racers[0].name, racers, rounds)
    report.note("random motions", name, f"status: {np.bincount(found.status, minlength=4).tolist()} miss, hit, start, limit")
    few_rows, few_motions = tuple(row[:few] for row in rows), tuple(motion[:few] for motion in motions)
    upper = first_overlap(a, b, few_rows, few_motions, 100)
    moving = upper > 0.0
    for label, time in (("thud", found.time[:few]), *([("python-fcl", other.run())] if other else [])):
        late, both = int((moving & (time > upper + 1e-9)).sum()), moving & np.isfinite(time) & np.isfinite(upper)
        early = np.abs(time[both] - upper[both])
        text = f"{label}: {late} of {few} times later than an overlap; {np.median(early):.1e} off in the median"
        report.note("random motions", name, text)


def run(size: str) -> None:
    """Times of convex pairs and of meshes."""
    count, few, meshes, rings, rounds = _SIZES[size]
    report = Report("cast")
    rng = np.random.default_rng(1)
    box, capsule = thud.Box((0.3, 0.4, 0.5)), thud.Capsule(0.2, 0.4)
    hull = thud.ConvexHull(0.4 * rng.normal(size=(30, 3)))
    blobs = [thud.TriangleMesh(*blob_mesh(rings, seed)) for seed in (1, 2)]

    def fcl_boxes() -> tuple[Any, Any]:
        import fcl

        return fcl.Box(0.6, 0.8, 1.0), fcl.Box(0.6, 0.8, 1.0)

    def fcl_capsule_box() -> tuple[Any, Any]:
        import fcl

        return fcl.Capsule(0.2, 0.8), fcl.Box(0.6, 0.8, 1.0)

    with one_core():
        _race(report, "box-box", box, box, fcl_boxes, count, few, 1.5, rounds)
        _race(report, "capsule-box", capsule, box, fcl_capsule_box, count, few, 1.5, rounds)
        _race(report, "hull-hull (30 vertices)", hull, hull, None, count, few, 1.5, rounds)
        _race(report, f"capsule-mesh ({len(blobs[0].corners)} triangles)", capsule, blobs[1], None, meshes, meshes, 2.5, rounds)
        _race(report, f"mesh-mesh ({len(blobs[0].corners)} triangles)", *blobs, None, meshes, meshes, 2.5, rounds)
    report.save()
