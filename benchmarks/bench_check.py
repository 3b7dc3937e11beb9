"""What collides among 1,000 parts: `thud.report.check` beside the same job by trimesh's collision manager and by coal.

The job is to find the pairs of parts whose triangles meet, from arrays of vertices and faces: trees are part of it, and shown
apart. Two assemblies: every part with a mesh of its own, and 1,000 parts of 50 meshes, as of screws and brackets. Peers are
at their best settings: trimesh with its manager (python-fcl), coal with our broad phase on its boxes, OBBRSS trees
shared by parts of one mesh, and booleans without contacts. They use one core; we are shown with one, and with all. Some parts
are inside others, which the peers do not tell, and some boxes stand face to face, of which last bits decide: both are listed
apart.
Then all that the check says of the same scene: kinds, ways out, volumes, gaps; no peer does that. `--size full` is 1e7
triangles, one after the other.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.memory import peak_megabytes
from benchmarks.peers import available, coal_mesh
from thud.io.scene.scene import Scene
from thud.report.clash.candidates import place
from thud.report.clash.pairs import find_pairs

#: Parts inside others, and pairs of boxes that touch (counts).
_INSIDE, _TOUCHING = 20, 10

#: (parts, triangles of each, rounds)
_SIZES = {"ci": (40, 300, 2), "standard": (1000, 2_000, 3), "full": (1000, 10_000, 1)}

Pairs = set[tuple[int, int]]
Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


def assembly(parts: int, triangles: int, kinds: int, seed: int = 1) -> tuple[list[Arrays], npt.NDArray[np.int64], Any]:
    """(meshes as arrays, mesh of each part, (P, 4, 4) poses): bumpy and long bodies on a loose grid, some of them shifted so
    that they meet; then pebbles in the middle of the first ones, and beside it all pairs of boxes face to face."""
    rng = np.random.default_rng(seed)
    meshes = []
    for k in range(kinds):
        vertices, faces = families.ball(triangles, seed + k, bumps=0.35)
        meshes.append((0.5 * vertices * rng.uniform(0.5, 1.4, 3), faces))
    # Each of its own mesh, or each mesh about equally often.
    rows = np.arange(parts) % kinds
    side = int(np.ceil(parts ** (1 / 3)))
    place_of = np.stack(np.unravel_index(np.arange(parts), (side,) * 3), axis=1) * 1.25 + rng.normal(0.0, 0.16, (parts, 3))
    q = rng.normal(size=(parts, 4))
    poses = thud.Pose(place_of, q / np.linalg.norm(q, axis=1, keepdims=True)).matrix
    pebble, box = families.ball(80, seed), thud.Box([0.5, 0.5, 0.5]).to_mesh()
    meshes += [(0.05 * pebble[0], pebble[1]), (np.asarray(box.vertices), np.asarray(box.faces))]
    stand = [[-10.0 - 4.0 * (k // 2) - k % 2, 0.0, 0.0] for k in range(2 * _TOUCHING)]
    more = thud.Pose(np.concatenate([place_of[:_INSIDE], stand])).matrix
    rows = np.concatenate([rows, np.full(_INSIDE, kinds), np.full(2 * _TOUCHING, kinds + 1)])
    return meshes, rows, np.concatenate([poses, more])


def touching(parts: int) -> Pairs:
    """The pairs of boxes that stand face to face."""
    first = parts + _INSIDE
    return {(first + 2 * k, first + 2 * k + 1) for k in range(_TOUCHING)}


class _Thud:
    def __init__(self, meshes: list[Arrays], rows: npt.NDArray[np.int64], poses: Any, threads: int | None = None) -> None:
        self.arrays, self.rows, self.poses, self.threads = meshes, rows, poses, threads
        self.name = "thud" if threads is None else f"thud, {threads} thread"
        self.scene: Scene | None = None

    def build(self) -> None:
        made = [thud.TriangleMesh(*arrays) for arrays in self.arrays]
        names = [f"part {k}" for k in range(len(self.rows))]
        self.scene = Scene.from_parts(names, [made[k] for k in self.rows], self.poses)

    def pairs(self) -> tuple[Pairs, Pairs]:
        """Those whose triangles meet, and those of which one is inside the other."""
        assert self.scene is not None
        found = find_pairs(self.scene, place(self.scene), threads=self.threads)
        inside = found.meets & ~found.surfaces
        return {(a, b) for a, b in found.pairs[found.surfaces].tolist()}, {(a, b) for a, b in found.pairs[inside].tolist()}


class _Trimesh:
    name = "trimesh"

    def __init__(self, meshes: list[Arrays], rows: npt.NDArray[np.int64], poses: Any) -> None:
        import trimesh

        self.meshes = [trimesh.Trimesh(*arrays, process=False) for arrays in meshes]
        self.rows, self.poses, self.library = rows, poses, trimesh
        self.manager: Any = None

    def build(self) -> None:
        self.manager = self.library.collision.CollisionManager()
        for k, row in enumerate(self.rows):
            self.manager.add_object(str(k), self.meshes[row], self.poses[k])

    def pairs(self) -> tuple[Pairs, Pairs]:
        _, names = self.manager.in_collision_internal(return_names=True)
        return {(min(int(a), int(b)), max(int(a), int(b))) for a, b in names}, set()


class _Coal:
    name = "coal"

    def __init__(self, meshes: list[Arrays], rows: npt.NDArray[np.int64], poses: Any) -> None:
        import coal

        self.coal, self.arrays, self.rows, self.poses = coal, meshes, rows, poses

    def build(self) -> None:
        coal = self.coal
        models = [coal_mesh(*arrays) for arrays in self.arrays]
        self.objects = []
        for k, row in enumerate(self.rows):
            at = coal.Transform3s(np.ascontiguousarray(self.poses[k][:3, :3]), np.ascontiguousarray(self.poses[k][:3, 3]))
            self.objects.append(coal.CollisionObject(models[row], at))
            self.objects[-1].computeAABB()

    def pairs(self) -> tuple[Pairs, Pairs]:
        # Its managers hand pairs to Python one object at a time, or not at all: our broad phase, on its boxes, is faster.
        coal, boxes = self.coal, [one.getAABB() for one in self.objects]
        near = thud.broadphase.pairs([box.min_ for box in boxes], [box.max_ for box in boxes])
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        request.enable_contact = False
        found: Pairs = set()
        for a, b in near.tolist():
            result.clear()
            if coal.collide(self.objects[a], self.objects[b], request, result):
                found.add((a, b))
        return found, set()


def _race(report: Report, scene: str, made: tuple[Any, ...], rounds: int) -> None:
    engines: list[Any] = [_Thud(*made), _Thud(*made, threads=1), *(kind(*made) for kind in available(_Coal, _Trimesh))]
    answers: dict[str, tuple[Pairs, Pairs]] = {}
    spent: dict[str, list[tuple[float, float]]] = {engine.name: [] for engine in engines}

    def whole(engine: Any) -> Any:
        def run() -> None:
            with one_core() if getattr(engine, "threads", None) == 1 else nullcontext():
                begin = time.perf_counter()
                engine.build()
                middle = time.perf_counter()
                answers[engine.name] = engine.pairs()
                spent[engine.name].append((middle - begin, time.perf_counter() - middle))

        return run

    contestants = [Contestant(engine.name, whole(engine), 1) for engine in engines]
    report.race(scene, "pairs that meet", "trimesh", contestants, rounds)
    for name, seconds in spent.items():
        # The first run compiled.
        made_in, asked_in = np.median(np.array(seconds[1:]), axis=0)
        report.note(scene, "pairs that meet", f"{name}: meshes and trees in {made_in:.3f} s, pairs in {asked_in:.3f} s")
    apart = touching(len(made[1]) - _INSIDE - 2 * _TOUCHING)
    met, inside = answers["thud"][0] - apart, answers["thud"][1]
    report.note(scene, "agreement", f"{len(met)} pairs meet; {len(inside)} more have one inside the other, told by us alone")
    for name, (theirs, _) in answers.items():
        has = f"{len(theirs & apart)} of {len(apart)} pairs that stand face to face meet"
        text = f"{name}: {len(theirs - apart - met)} pairs that we do not have, {len(met - theirs)} that it has not; {has}"
        report.note(scene, "agreement", text)


def _whole(report: Report, scene: str, made: tuple[Any, ...]) -> None:
    """All that the check says; once, after one run that compiles."""
    thud.report.check(_small(), clearance=0.01)
    engine = _Thud(*made)
    begin = time.perf_counter()
    engine.build()
    assert engine.scene is not None
    stages: dict[str, float] = {}
    last = [time.perf_counter()]

    def progress(label: str, done: int, total: int) -> None:
        now = time.perf_counter()
        stages[label] = stages.get(label, 0.0) + now - last[0]
        last[0] = now

    found = thud.report.check(engine.scene, clearance=0.01, progress=progress)
    used = time.perf_counter() - begin
    parts = ", ".join(f"{label} {seconds:.1f} s" for label, seconds in stages.items())
    report.note(scene, "whole check", f"{engine.scene.triangle_count:,} triangles: {used:.1f} s, of which {parts}")
    report.note(scene, "whole check", f"{found.summary()}; most memory {peak_megabytes():,.0f} MB")
    for note in found.notes:
        report.note(scene, "whole check", note)


def _small() -> Scene:
    box = thud.Box([0.5, 0.5, 0.5]).to_mesh()
    small = thud.Sphere(0.1).to_mesh()
    places = thud.Pose([[0, 0, 0], [0.9, 0.1, 0.05], [1.905, 0.1, 0.05], [0, 0, 0], [0.0, 0.0, 3.0], [0, 0, 3.0]])
    return Scene.from_parts(["a", "b", "c", "d", "e", "f"], [box, box, box, small, box, box], places)


def run(size: str) -> None:
    """The races, then the whole check."""
    parts, triangles, rounds = _SIZES[size]
    report = Report("check")
    for kinds in (parts, max(1, parts // 20)):
        scene = f"{parts:,} parts of {kinds:,} meshes of {triangles:,} triangles"
        made = assembly(parts, triangles, kinds)
        if size != "full":
            _race(report, scene, made, rounds)
        _whole(report, scene, made)
    report.save()
