"""Vertex-face and edge-edge queries of continuous collision against ipctk's Tight Inclusion. Everybody has one core."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.asking import decades, repeated
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import installed
from tests.continuous.elementary_cases import HITS, Cases, hits, random_rows
from tests.oracles import ccd

Floats = npt.NDArray[np.float64]

#: (random rows, near-degenerate rows of each kind, most of each that ipctk is asked, rounds)
_SIZES = {
    "ci": (2_000, 10, 100, 45, 1),
    "standard": (200_000, 2_000, 1_000, 450, 5),
    "full": (1_000_000, 20_000, 10_000, 1_800, 5),
}

#: For everybody. ipctk's tolerance is a length; all rows have an extent of 1 to 4.
_TOLERANCE = 1e-6
_ITERATIONS = 10_000


class TightInclusion:
    """ipctk's queries one at a time, as it offers them: its batch calls give one number for all rows, the first time."""

    def __init__(self, cases: Cases, face: bool, rows: npt.NDArray[np.int64], depth_first: bool) -> None:
        from ipctk import tight_inclusion as ti

        self.call = ti.point_triangle_ccd if face else ti.edge_edge_ccd
        self.rows = rows
        self.arguments = [(*cases.start[i], *cases.end[i]) for i in rows]
        method = ti.DEPTH_FIRST_SEARCH if depth_first else ti.BREADTH_FIRST_SEARCH
        # Minimum distance, end of time, tolerance, iterations, error bounds computed by itself, times of 0 as they come.
        self.options = (0.0, 1.0, _TOLERANCE, _ITERATIONS, np.full(3, -1.0), False, method)

    def run(self) -> list[Any]:
        call, options = self.call, self.options
        return [call(*arguments, *options) for arguments in self.arguments]

    def answer(self) -> tuple[npt.NDArray[np.bool_], Floats]:
        found = self.run()
        hit = np.array([row[0] for row in found])
        return hit, np.where(hit, [row[1] for row in found], np.inf)


class TightInclusionStep:
    """ipctk's loop in C++ over candidates, for rows without a contact: with one, it stops there or clips all others."""

    def __init__(self, cases: Cases, face: bool, rows: npt.NDArray[np.int64]) -> None:
        import ipctk

        points = np.arange(4 * len(rows)).reshape(-1, 4)
        self.at = [np.asfortranarray(x[rows].reshape(-1, 3)) for x in (cases.start, cases.end)]
        self.candidates = ipctk.Candidates()
        if face:
            faces = points[:, 1:].astype(np.int32)
            self.mesh = ipctk.CollisionMesh(self.at[0], ipctk.edges(faces), faces)
            self.candidates.fv_candidates = [ipctk.FaceVertexCandidate(k, int(p[0])) for k, p in enumerate(points)]
        else:
            edges = points.reshape(-1, 2).astype(np.int32)
            self.mesh = ipctk.CollisionMesh(self.at[0], edges, np.zeros((0, 3), dtype=np.int32))
            self.candidates.ee_candidates = [ipctk.EdgeEdgeCandidate(2 * k, 2 * k + 1) for k in range(len(rows))]
        self.method = ipctk.TightInclusionCCD(_TOLERANCE, _ITERATIONS, 1.0)

    def run(self) -> bool:
        return bool(self.candidates.is_step_collision_free(self.mesh, *self.at, 0.0, self.method))


def _degenerate(face: bool, each: int) -> Cases:
    """All kinds of constructed contacts, of size about 1."""
    made = [hits(np.random.default_rng([k, face]), kind, face, each, plain=True) for k, kind in enumerate(HITS)]
    columns = [np.concatenate([getattr(m, name) for m in made]) for name in ("start", "end", "time", "gap")]
    # In any order, so that the first few are of all kinds.
    order = np.random.default_rng(face).permutation(len(columns[0]))
    return Cases("near-degenerate", *(column[order] for column in columns))


def _late(cases: Cases, face: bool, rows: npt.NDArray[np.int64], hit: npt.NDArray[np.bool_], time: Floats) -> int:
    """Times later than the true first contact, or than the one constructed."""
    if cases.kind == "random":
        truth = ccd.first_contacts(cases.start[rows], cases.end[rows], face)
        return int((ccd.late(cases.start[rows], cases.end[rows], face, time, truth) & hit).sum())
    return int((hit & (time > cases.time[rows])).sum())


def _race(report: Report, cases: Cases, face: bool, few: int, rounds: int) -> None:
    query = thud.continuous.vertex_face if face else thud.continuous.edge_edge
    scene, name = f"{cases.kind} rows", "vertex-face" if face else "edge-edge"
    options: dict[str, Any] = {"tolerance": _TOLERANCE, "max_iterations": _ITERATIONS, "threads": 1}
    count = len(cases.start)
    rows = np.arange(min(few, count))
    few_rows = cases.start[rows], cases.end[rows]
    mine = query(cases.start, cases.end, **options)
    peers: dict[str, TightInclusion] = {}
    try:
        peers["ipctk tight inclusion"] = TightInclusion(cases, face, rows, depth_first=False)
        if cases.kind == "random":
            # It does not heed the iteration limit: a near-degenerate row takes it a second.
            peers["ipctk, depth first"] = TightInclusion(cases, face, rows, depth_first=True)
    except ImportError:
        print("  ipctk is not installed")
    racers = [Contestant("thud, 1 thread", lambda: query(*few_rows, **options), len(rows))]
    racers += [Contestant(label, peer.run, len(rows)) for label, peer in peers.items()]
    racers.append(Contestant("thud, 1 thread, all rows", lambda: query(cases.start, cases.end, **options), count))
    report.race(scene, name, next(iter(peers), racers[0].name), racers, rounds)
    limits = int((mine.status == thud.CastStatus.UNCONVERGED).sum())
    cells = f"{mine.iterations.mean():.1f} cells a row, {mine.iterations.max()} at most, {limits} limits reached"
    report.note(scene, name, f"thud: {mine.hit.mean():.1%} of {count} rows hit; {cells}")
    for label, peer in peers.items():
        hit, time = peer.answer()
        differ = np.flatnonzero(hit != mine.hit[rows])
        true = [ccd.exact_first(cases.start[i], cases.end[i], face) is not None for i in differ]
        wrong = {
            "missed by us": sum(t and not mine.hit[i] for t, i in zip(true, differ, strict=True)),
            "missed by it": sum(t and not hit[i] for t, i in zip(true, differ, strict=True)),
            "none, reported by us": sum(not t and mine.hit[i] for t, i in zip(true, differ, strict=True)),
            "none, reported by it": sum(not t and hit[i] for t, i in zip(true, differ, strict=True)),
        }
        told = ", ".join(f"{text} {number}" for text, number in wrong.items())
        late = [_late(cases, face, rows, h, t) for h, t in ((hit, time), (mine.hit[rows], mine.time[rows]))]
        report.note(scene, name, f"{label}: {len(differ)} of {len(rows)} rows differ ({told})")
        report.note(scene, name, f"{label}: {late[0]} times later than the true contact; ours {late[1]}")
    misses = np.flatnonzero(~mine.hit)[:few]
    if peers and len(misses):
        step = TightInclusionStep(cases, face, misses)
        apart = cases.start[misses], cases.end[misses]
        racers = [
            Contestant("thud, 1 thread", lambda: query(*apart, **options), len(misses)),
            Contestant("ipctk is_step_collision_free", step.run, len(misses)),
        ]
        report.race(f"{scene} without a contact", name, racers[1].name, racers, rounds)


def _singles_and_growth(report: Report, most: int, rounds: int) -> None:
    """From one row to all of them: single calls are the first size."""
    for face, query in ((True, thud.continuous.vertex_face), (False, thud.continuous.edge_edge)):
        cases = random_rows(np.random.default_rng(face), face, most, plain=True)

        def make(count: int, face: bool = face, query: Any = query, cases: Cases = cases) -> list[Contestant]:
            times, rows = max(1, 100 // count), (cases.start[:count], cases.end[:count])
            ask = lambda: query(*rows, tolerance=_TOLERANCE, max_iterations=_ITERATIONS, threads=1)  # noqa: E731
            found = [Contestant("thud, 1 thread", repeated(ask, times), times)]
            if count <= 1_000 and installed("ipctk"):
                peer = TightInclusion(cases, face, np.arange(count), depth_first=False)
                found.append(Contestant("ipctk tight inclusion", repeated(peer.run, times), times))
            return found

        name, sizes = "vertex-face" if face else "edge-edge", decades(1, most)
        report.growth("random rows", f"{name}, growth", "rows", "ipctk tight inclusion", sizes, make, max(2, rounds // 2))


def run(size: str) -> None:
    random, each, few, fewer, rounds = _SIZES[size]
    report = Report("ccd")
    with one_core():
        for face in (True, False):
            _race(report, random_rows(np.random.default_rng(face), face, random, plain=True), face, few, rounds)
            _race(report, _degenerate(face, each), face, fewer, rounds)
        _singles_and_growth(report, random, rounds)
    report.save()
