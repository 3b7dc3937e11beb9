"""Mesh against mesh: boolean and distance with witness points, against coal, python-fcl and trimesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.harness import Contestant, Report
from thud._core.threads import core_count

Floats = npt.NDArray[np.float64]

#: (rings of the models: 17k triangles with 66, poses, poses of the slow queries, rounds)
_SIZES = {"ci": (12, 40, 10, 2), "standard": (66, 2_000, 400, 7), "full": (66, 20_000, 2_000, 9)}


def _blob(rings: int, seed: int) -> thud.TriangleMesh:
    """A closed, bumpy, concave ball of 4 rings (rings - 1) triangles and radius about 1."""
    rng = np.random.default_rng(seed)
    around = 2 * rings
    phi, theta = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False), np.linspace(0.0, np.pi, rings + 1)[1:-1]
    ring = [[np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)] for t in theta for p in phi]
    unit = np.array([[0.0, 0.0, 1.0], *ring, [0.0, 0.0, -1.0]])
    radius = 1.0 + 0.3 * np.sin(unit @ (2.0 * rng.normal(size=(6, 3))).T + rng.uniform(0.0, 6.0, 6)).sum(axis=1)
    faces = [[0, 1 + j, 1 + (j + 1) % around] for j in range(around)]
    for i in range(rings - 2):
        for j in range(around):
            a, b = 1 + i * around + j, 1 + i * around + (j + 1) % around
            faces += [[a, a + around, b], [b, a + around, b + around]]
    last, first = len(unit) - 1, 1 + (rings - 2) * around
    faces += [[last, first + (j + 1) % around, first + j] for j in range(around)]
    return thud.TriangleMesh(unit * np.maximum(radius, 0.2)[:, None], np.array(faces))


def _poses(count: int, nearest: float, farthest: float, seed: int) -> thud.Pose:
    rng = np.random.default_rng(seed)
    q, way = rng.normal(size=(count, 4)), rng.normal(size=(count, 3))
    way *= rng.uniform(nearest, farthest, (count, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    return thud.Pose(way, q / np.linalg.norm(q, axis=1, keepdims=True))


class _Coal:
    """coal with OBBRSS trees; boolean without contacts, distance unsigned."""

    name = "coal OBBRSS"

    def __init__(self, a: thud.TriangleMesh, b: thud.TriangleMesh, poses: thud.Pose) -> None:
        import coal

        self.coal, self.a, self.b = coal, self._model(coal, a), self._model(coal, b)
        self.at = [coal.Transform3s(row[:9].reshape(3, 3), row[9:]) for row in poses.rows]
        self.home = coal.Transform3s.Identity()

    @staticmethod
    def _model(coal: Any, mesh: thud.TriangleMesh) -> Any:
        model, points, faces = coal.BVHModelOBBRSS(), coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in np.asarray(mesh.vertices):
            points.append(vertex)
        for i, j, k in np.asarray(mesh.faces).tolist():
            faces.append(coal.Triangle(i, j, k))
        model.beginModel(len(faces), len(points))
        model.addSubModel(points, faces)
        model.endModel()
        return model

    def boolean(self) -> npt.NDArray[np.bool_]:
        request, result = self.coal.CollisionRequest(), self.coal.CollisionResult()
        request.enable_contact = False
        hits = []
        for at in self.at:
            result.clear()
            hits.append(self.coal.collide(self.a, self.home, self.b, at, request, result))
        return np.array(hits) > 0

    def distance(self) -> Floats:
        request, result = self.coal.DistanceRequest(), self.coal.DistanceResult()
        request.enable_signed_distance = False
        found = []
        for at in self.at:
            result.clear()
            found.append(self.coal.distance(self.a, self.home, self.b, at, request, result))
        return np.maximum(np.array(found), 0.0)


class _Fcl:
    """python-fcl; boolean stops at the first contact."""

    name = "python-fcl"

    def __init__(self, a: thud.TriangleMesh, b: thud.TriangleMesh, poses: thud.Pose) -> None:
        import fcl

        self.fcl = fcl
        models = []
        for mesh in (a, b):
            model = fcl.BVHModel()
            model.beginModel(len(np.asarray(mesh.vertices)), len(np.asarray(mesh.faces)))
            model.addSubModel(np.asarray(mesh.vertices), np.asarray(mesh.faces))
            model.endModel()
            models.append(model)
        self.a = fcl.CollisionObject(models[0])
        self.b = [fcl.CollisionObject(models[1], fcl.Transform(row[:9].reshape(3, 3), row[9:])) for row in poses.rows]

    def boolean(self) -> npt.NDArray[np.bool_]:
        request = self.fcl.CollisionRequest()
        return np.array([self.fcl.collide(self.a, b, request, self.fcl.CollisionResult()) for b in self.b]) > 0

    def distance(self) -> Floats:
        request = self.fcl.DistanceRequest()
        found = [self.fcl.distance(self.a, b, request, self.fcl.DistanceResult()) for b in self.b]
        return np.maximum(np.array(found), 0.0)


class _Trimesh:
    """trimesh's CollisionManager, which calls python-fcl."""

    name = "trimesh"

    def __init__(self, a: thud.TriangleMesh, b: thud.TriangleMesh, poses: thud.Pose) -> None:
        import trimesh

        self.manager = trimesh.collision.CollisionManager()
        self.manager.add_object("a", trimesh.Trimesh(a.vertices, a.faces, process=False))
        self.b = trimesh.Trimesh(b.vertices, b.faces, process=False)
        self.at = poses.matrix

    def boolean(self) -> npt.NDArray[np.bool_]:
        manager = self.manager
        if "b" not in manager._objs:
            manager.add_object("b", self.b)
        hits = []
        for at in self.at:
            manager.set_transform("b", at)
            hits.append(manager.in_collision_internal())
        return np.array(hits)


def _available(*kinds: Any) -> list[Any]:
    found = []
    for kind in kinds:
        try:
            __import__({"coal OBBRSS": "coal", "python-fcl": "fcl", "trimesh": "trimesh"}[kind.name])
        except ImportError:
            print(f"{kind.name} is not installed: left out")
            continue
        found.append(kind)
    return found


#: The small model of the scene with containment: its size, how far it is put from the middle, and how often.
_SMALL, _SMALL_REACH, _SMALL_POSES = 0.12, 1.6, {"ci": 20, "standard": 60, "full": 200}


def run(size: str) -> None:
    """Two 17k-triangle models; boolean at poses of which about 60 % collide, distance at poses of which a fifth do. Then one
    of them against a small copy of the other, which is inside it, across its surface or outside."""
    rings, many, few, rounds = _SIZES[size]
    report = Report("mesh")
    a, b = _blob(rings, 0), _blob(rings, 1)
    scene = f"{len(np.asarray(a.faces))} x {len(np.asarray(b.faces))} triangles"
    lanes = [1] if core_count() == 1 else [1, 2]
    _race_boolean(report, scene, a, b, _poses(many, 1.4, 3.6, 3), lanes, rounds)
    small = thud.TriangleMesh(_SMALL * np.asarray(b.vertices), b.faces)
    inside = _poses(_SMALL_POSES[size], 0.0, _SMALL_REACH, 5)
    _race_boolean(report, f"{scene}, one of them {_SMALL:g} times as large", a, small, inside, lanes, max(2, rounds // 2))
    _race_distance(report, scene, a, b, _poses(few, 2.0, 5.0, 4), lanes, rounds)
    report.save()


def _ours(query: Any, a: thud.TriangleMesh, b: thud.TriangleMesh, at: thud.Pose, lanes: list[int]) -> list[Contestant]:
    return [
        Contestant(f"thud, {n} thread{'s' * (n > 1)}", lambda n=n: query(a, b, None, at, threads=n), len(at)) for n in lanes
    ]


def _race_boolean(
    report: Report, scene: str, a: thud.TriangleMesh, b: thud.TriangleMesh, at: thud.Pose, lanes: list[int], rounds: int
) -> None:
    peers = [kind(a, b, at) for kind in _available(_Coal, _Fcl, _Trimesh)]
    ours = _ours(thud.intersects, a, b, at, lanes)
    report.race(
        scene,
        "boolean",
        peers[0].name if peers else ours[0].name,
        ours + [Contestant(p.name, p.boolean, len(at)) for p in peers],
        rounds,
    )
    hits = thud.intersects(a, b, None, at)
    surfaces = np.bincount(thud.triangle_pairs(a, b, None, at).row, minlength=len(at)) > 0
    report.note(scene, "boolean", f"{hits.mean():.1%} of {len(at)} poses collide")
    inside = np.flatnonzero(hits & ~surfaces)
    report.note(scene, "boolean", f"one inside the other: {len(inside)} poses {inside.tolist()}")
    for peer in peers:
        theirs = peer.boolean()
        differ = np.flatnonzero(theirs != hits)
        sure = [bool(_encloses(a, b, at[int(row)])) for row in differ]
        text = f"{peer.name}: hits differ in {len(differ)} poses {differ.tolist()}; contains confirms {sum(sure)} of them"
        report.note(scene, "boolean", text)
        if not all(sure):
            report.note(scene, "boolean", f"{peer.name}: NOT CONFIRMED {differ[~np.array(sure)].tolist()}")
        wrong = np.flatnonzero(theirs != surfaces)
        report.note(scene, "boolean", f"{peer.name}: {len(wrong)} poses differ in whether the surfaces meet {wrong.tolist()}")


def _encloses(a: thud.TriangleMesh, b: thud.TriangleMesh, at: thud.Pose) -> np.bool_:
    """Whether `contains` finds every vertex of one mesh in the other."""
    b_in_a = np.asarray(b.vertices) @ at.rotation.reshape(3, 3).T + at.position.reshape(3)
    a_in_b = (np.asarray(a.vertices) - at.position.reshape(3)) @ at.rotation.reshape(3, 3)
    return thud.contains(a, b_in_a).all() or thud.contains(b, a_in_b).all()


def _race_distance(
    report: Report, scene: str, a: thud.TriangleMesh, b: thud.TriangleMesh, at: thud.Pose, lanes: list[int], rounds: int
) -> None:
    peers = [kind(a, b, at) for kind in _available(_Coal, _Fcl)]
    ours = _ours(thud.distance, a, b, at, lanes)
    report.race(
        scene,
        "distance",
        peers[0].name if peers else ours[0].name,
        ours + [Contestant(p.name, p.distance, len(at)) for p in peers],
        max(2, rounds // 2),
    )
    mine = thud.distance(a, b, None, at)
    report.note(scene, "distance", f"{(mine.distance == 0).mean():.1%} of {len(at)} poses collide")
    gap = np.abs(np.linalg.norm(mine.point_b - mine.point_a, axis=1) - mine.distance).max()
    report.note(scene, "distance", f"thud: witness points and distance agree to {gap:.1e}")
    for peer in peers:
        theirs = peer.distance()
        off = np.abs(theirs - mine.distance).max()
        above, below = (theirs > mine.distance + 1e-9).sum(), (theirs < mine.distance - 1e-9).sum()
        text = f"{peer.name}: differs by up to {off:.1e} m; larger than ours in {above} poses, smaller in {below}"
        report.note(scene, "distance", text)
