"""Casts of shapes that move and turn: beside the linear cast, and beside python-fcl's continuous collision. One core.

A family of convex pairs beside python-fcl, and one of hulls and meshes, which it does not offer, turning beside linear; single
and first calls; growth with the number of rows and of triangles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.asking import anew, decades, repeated
from benchmarks.families import FORMS, SINGLE_FORMS, Body
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import Fcl, installed
from tests.oracles.meshes import blob_mesh
from tests.oracles.motion import first_overlap, pose_at
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]

#: (rows of convex pairs, rows that fcl is asked, rows of mesh pairs, rings of the meshes, rounds, most rows and triangles of
#: the growth)
_SIZES = {
    "ci": (200, 50, 10, 10, 2, 100, 1_000),
    "standard": (10_000, 2_000, 200, 50, 5, 10_000, 300_000),
    "full": (100_000, 10_000, 1_000, 50, 5, 100_000, 1_000_000),
}


@dataclass
class Casts:
    """Two shapes, N poses and N motions of each."""

    name: str
    a: Shape
    b: Shape
    poses: tuple[Floats, Floats]
    """(N, 7) each"""
    motions: tuple[Floats, Floats]
    """(N, 6) each"""

    def first(self, rows: int) -> Casts:
        """The first rows."""
        poses, motions = ((x[:rows], y[:rows]) for x, y in (self.poses, self.motions))
        return Casts(self.name, self.a, self.b, poses, motions)

    @property
    def rows(self) -> tuple[Floats, Floats]:
        """The poses as rows of 12."""
        return families.pose_rows(self.poses[0]), families.pose_rows(self.poses[1])

    @property
    def straight(self) -> tuple[Floats, Floats]:
        """The motions without their rotations."""
        return self.motions[0][:, :3].copy(), self.motions[1][:, :3].copy()


def _casts(name: str, a: Shape, b: Shape, count: int, reach: float, way: float = 2.0) -> Casts:
    """B comes towards A from one to two `reach` away by up to `way` of them: with 2 about half meet. No rotation reaches pi, so
    that ends tell the way."""
    rng = np.random.default_rng(0)
    q = families.unit(rng.normal(size=(2, count, 4)))
    to = families.unit(rng.normal(size=(count, 3)))
    places = rng.uniform(-0.2, 0.2, (count, 3)), to * rng.uniform(1, 2, (count, 1)) * reach
    moves = 0.3 * rng.normal(size=(count, 3)), -to * rng.uniform(0, way, (count, 1)) * reach + 0.3 * rng.normal(size=(count, 3))
    turns = [0.7 * rng.normal(size=(count, 3)) for _ in range(2)]
    for turn in turns:
        turn *= np.minimum(1.0, 3.0 / np.linalg.norm(turn, axis=1, keepdims=True))
    poses = [np.concatenate([at, turned], axis=1) for at, turned in zip(places, q, strict=True)]
    motions = [np.concatenate([move, turn], axis=1) for move, turn in zip(moves, turns, strict=True)]
    return Casts(name, a, b, (poses[0], poses[1]), (motions[0], motions[1]))


class FclCasts:
    """python-fcl, one row at a time: conservative advancement of the linear motion with constant rotation."""

    name = "python-fcl, turning"

    def __init__(self, casts: Casts) -> None:
        import fcl

        self.fcl, self.shapes = fcl, (Fcl.geometry(casts.a), Fcl.geometry(casts.b))
        rows = casts.rows
        self.count = len(rows[0])
        ends = [pose_at(row, motion, np.ones(len(row))).rows for row, motion in zip(rows, casts.motions, strict=True)]

        def transforms(poses: Floats) -> list[Any]:
            return [fcl.Transform(pose[:9].reshape(3, 3), pose[9:]) for pose in poses]

        self.start = [transforms(row) for row in rows]
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


def _ask(casts: Casts, form: Callable[[Floats], Any], turning: bool) -> Callable[[], thud.Impacts]:
    at, motions = [form(pose) for pose in casts.poses], casts.motions if turning else casts.straight
    return lambda: thud.cast(casts.a, casts.b, *at, *motions, threads=1)


def _ours(casts: Casts) -> list[Contestant]:
    count = len(casts.poses[0])
    found = [Contestant(f"thud, turning, {name}", _ask(casts, form, True), count) for name, form in FORMS.items()]
    return [Contestant("thud, linear, (N, 7)", _ask(casts, FORMS["(N, 7)"], False), count), *found]


def _singles(casts: Casts) -> list[Contestant]:
    """A call a row."""
    found = []
    for name, form in SINGLE_FORMS.items():
        calls = [(form(a), form(b), *motions) for a, b, *motions in zip(*casts.poses, *casts.motions, strict=True)]

        def run(calls: list[Any] = calls) -> None:
            for call in calls:
                thud.cast(casts.a, casts.b, *call)

        found.append(Contestant(f"thud, turning, {name}", run, len(calls)))
    return found


def _first(casts: Casts) -> Contestant:
    """New shapes, one row."""
    a, b = anew(casts.a), anew(casts.b)
    at, motions = [pose[0] for pose in casts.poses], [motion[0] for motion in casts.motions]
    return Contestant("thud, turning, (7,)", lambda: thud.cast(a(), b(), *at, *motions, threads=1), 1)


def _checks(report: Report, scene: str, casts: Casts, peer: FclCasts | None) -> None:
    """Status, and the times beside those of a slow search."""
    found = thud.cast(casts.a, casts.b, *casts.poses, *casts.motions)
    status = np.bincount(found.status, minlength=4).tolist()
    report.note(scene, "a cast", f"{casts.name}: status {status} miss, hit, start, limit")
    upper = first_overlap(casts.a, casts.b, casts.rows, casts.motions, 100)
    moving = upper > 0.0
    for label, time in (("thud", found.time), *([("python-fcl", peer.run())] if peer else [])):
        late, both = int((moving & (time > upper + 1e-9)).sum()), moving & np.isfinite(time) & np.isfinite(upper)
        early = np.median(np.abs(time[both] - upper[both])) if both.any() else 0.0
        text = f"{label}: {late} of {len(time)} times later than an overlap; {early:.1e} off in the median"
        report.note(scene, "a cast", f"{casts.name}, {text}")


def _family(report: Report, scene: str, members: list[Casts], few: int, reference: str, rounds: int) -> None:
    peer = reference.startswith("python-fcl") and installed("fcl")

    def batches() -> Iterator[tuple[str, list[Contestant]]]:
        for casts in members:
            part = casts.first(few)
            other = FclCasts(part) if peer else None
            yield casts.name, _ours(casts) + ([Contestant(other.name, other.run, few)] if other else [])
            _checks(report, scene, part, other)

    def singles() -> Iterator[tuple[str, list[Contestant]]]:
        for casts in members:
            part = casts.first(200)
            other = [FclCasts(part)] if peer else []
            yield casts.name, _singles(part) + [Contestant(one.name, one.run, one.count) for one in other]

    def firsts() -> Iterator[tuple[str, list[Contestant]]]:
        for casts in members:
            one = casts.first(1)
            theirs = [Contestant(FclCasts.name, lambda one=one: FclCasts(one).run(), 1)] if peer else []
            yield casts.name, [_first(casts), *theirs]

    report.family(scene, "a cast", reference, batches(), rounds)
    report.family(scene, "single calls", reference if peer else "", singles(), rounds)
    report.family(scene, "first call: shapes made of arrays, one cast", reference if peer else "", firsts(), rounds)


def _growth(report: Report, most_rows: int, most_triangles: int, rounds: int) -> None:
    box, capsule = thud.Box((0.3, 0.4, 0.5)), thud.Capsule(0.2, 0.4)
    whole = _casts("boxes", box, box, most_rows, 1.5)

    def by_rows(rows: int) -> list[Contestant]:
        part, times = whole.first(rows), max(1, 200 // rows)
        runs: dict[str, Callable[[], object]] = {c.name: c.run for c in _ours(part) if "Pose" not in c.name}
        if installed("fcl"):
            runs[FclCasts.name] = FclCasts(part).run
        return [Contestant(name, repeated(run, times), times) for name, run in runs.items()]

    report.growth("two boxes", "casts", "rows", FclCasts.name, decades(1, most_rows), by_rows, rounds)

    def by_triangles(triangles: int) -> list[Contestant]:
        mesh = thud.TriangleMesh(*families.ball(triangles, 1))
        casts = _casts("capsule", capsule, mesh, 50, 2.5)
        return [Contestant(c.name, c.run, 1) for c in _ours(casts) if "(N, 7)" in c.name]

    sizes = decades(max(100, most_triangles // 300), most_triangles)
    report.growth("50 casts of a capsule on a ball", "casts", "triangles", "thud, linear, (N, 7)", sizes, by_triangles, rounds)


def run(size: str) -> None:
    """Times of convex pairs and of meshes."""
    count, few, meshes, rings, rounds, most_rows, most_triangles = _SIZES[size]
    report = Report("cast")
    rng = np.random.default_rng(1)
    box, capsule, plank = thud.Box((0.3, 0.4, 0.5)), thud.Capsule(0.2, 0.4), thud.Box((0.9, 0.2, 0.03))
    sphere, cylinder = thud.Sphere(0.4), thud.Cylinder(0.3, 0.5)
    hull, needle = thud.ConvexHull(0.4 * rng.normal(size=(30, 3))), families.hull(rng, 40, (0.9, 0.05, 0.05))
    one, other = (thud.TriangleMesh(*blob_mesh(rings, seed)) for seed in (1, 2))
    hills = Body("hills", *families.terrain(len(one.corners), 3, side=4.0, height=0.1), closed=False).mesh()
    convex = [
        _casts("box-box", box, box, count, 1.5),
        _casts("box-box, most miss", box, box, count, 3.0, 1.0),
        _casts("capsule-box", capsule, box, count, 1.5),
        _casts("sphere-box", sphere, box, count, 1.5),
        _casts("plank-plank", plank, plank, count, 1.5),
        _casts("cylinder-capsule", cylinder, capsule, count, 1.5),
    ]
    others = [
        _casts("hull-hull (30 vertices)", hull, hull, count, 1.5),
        _casts("needle-needle (40 vertices)", needle, needle, count, 1.5),
        _casts(f"capsule-mesh ({len(other.corners)} triangles)", capsule, other, meshes, 2.5),
        _casts(f"box-open hills ({len(hills.corners)} triangles)", box, hills, meshes, 1.5),
        _casts(f"mesh-mesh ({len(one.corners)} triangles)", one, other, meshes, 2.5),
    ]
    with one_core():
        _family(report, "family of convex pairs", convex, few, FclCasts.name, rounds)
        _family(report, "family of hulls and meshes", others, min(few, meshes), "thud, linear, (N, 7)", rounds)
        _growth(report, most_rows, most_triangles, max(2, rounds // 2))
    report.save()
