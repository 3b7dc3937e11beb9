"""Mesh against mesh: boolean, distance with witness points and contacts, beside coal, python-fcl and trimesh.

A family of closed and open meshes at several hit rates; poses as plain arrays and as `Pose`; single calls; growth with the
number of triangles. (Building: `bench_mesh_build`.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.asking import QUERIES, ask_all, decades, one_by_one, ours, peers_of
from benchmarks.families import FORMS, SINGLE_FORMS, Pairs
from benchmarks.harness import Contestant, Report
from benchmarks.peers import Coal, Fcl, available
from thud._core.threads import core_count

Floats = npt.NDArray[np.float64]

#: (rings of the two models: 17k triangles with 66; poses of the boolean, poses of the distance, rounds; triangles and poses of
#: the family, most triangles of the growth)
_SIZES = {
    "ci": (12, 40, 10, 2, 500, 10, 3_000),
    "standard": (66, 2_000, 400, 7, 17_000, 200, 1_000_000),
    "full": (66, 20_000, 2_000, 9, 70_000, 1_000, 3_000_000),
}

#: The small model of the scene with containment: its size, how far it is put from the middle, and how often.
_SMALL, _SMALL_REACH, _SMALL_POSES = 0.12, 1.6, {"ci": 20, "standard": 60, "full": 200}


def _poses(count: int, nearest: float, farthest: float, seed: int) -> Floats:
    """(N, 7) at any rotation, so far from the origin."""
    rng = np.random.default_rng(seed)
    q, way = rng.normal(size=(count, 4)), rng.normal(size=(count, 3))
    way *= rng.uniform(nearest, farthest, (count, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    return np.concatenate([way, q / np.linalg.norm(q, axis=1, keepdims=True)], axis=1)


class _Trimesh:
    """trimesh's CollisionManager, which calls python-fcl."""

    name = "trimesh"

    def __init__(self, pairs: Pairs) -> None:
        import trimesh

        ((a, b),) = pairs.partners
        self.manager = trimesh.collision.CollisionManager()
        self.manager.add_object("a", trimesh.Trimesh(a.vertices, a.faces, process=False))  # type: ignore[attr-defined]
        self.manager.add_object("b", trimesh.Trimesh(b.vertices, b.faces, process=False))  # type: ignore[attr-defined]
        self.at = list(zip(families.matrices(pairs.a[0]), families.matrices(pairs.b[0]), strict=True))

    def boolean(self) -> npt.NDArray[np.bool_]:
        manager, hits = self.manager, []
        for at_a, at_b in self.at:
            manager.set_transform("a", at_a)
            manager.set_transform("b", at_b)
            hits.append(manager.in_collision_internal())
        return np.array(hits)


def _at_home(name: str, a: thud.TriangleMesh, b: thud.TriangleMesh, poses: Floats) -> Pairs:
    """A at the origin, B at the poses."""
    home = np.zeros_like(poses)
    home[:, 3] = 1.0
    return Pairs(name, [(a, b)], home[None], poses[None])


def _race(report: Report, query: str, pairs: Pairs, rounds: int) -> list[Any]:
    """One query, everyone who offers it; returns the peers."""
    lanes = (1,) if core_count() == 1 else (1, 2)
    peers = peers_of(pairs, Coal, Fcl)
    if query == "boolean":
        peers += [kind(pairs) for kind in available(_Trimesh)]
    contestants = ours(query, pairs, lanes) + [Contestant(p.name, getattr(p, query), pairs.count) for p in peers]
    report.race(pairs.name, query, peers[0].name if peers else contestants[0].name, contestants, rounds)
    return peers


def _race_boolean(report: Report, pairs: Pairs, rounds: int) -> None:
    peers = _race(report, "boolean", pairs, rounds)
    ((a, b),), at = pairs.partners, pairs.b[0]
    hits = thud.intersects(a, b, None, at)
    surfaces = np.bincount(thud.triangle_pairs(a, b, None, at).row, minlength=len(at)) > 0
    report.note(pairs.name, "boolean", f"{hits.mean():.1%} of {len(at)} poses collide")
    inside = np.flatnonzero(hits & ~surfaces)
    report.note(pairs.name, "boolean", f"one inside the other: {len(inside)} poses {inside.tolist()}")
    for peer in peers:
        theirs = peer.boolean()
        differ = np.flatnonzero(theirs != hits)
        sure = [bool(_encloses(a, b, families.as_pose(at[row]))) for row in differ]
        text = f"{peer.name}: hits differ in {len(differ)} poses {differ.tolist()}; contains confirms {sum(sure)} of them"
        report.note(pairs.name, "boolean", text)
        if not all(sure):
            report.note(pairs.name, "boolean", f"{peer.name}: NOT CONFIRMED {differ[~np.array(sure)].tolist()}")
        wrong = np.flatnonzero(theirs != surfaces)
        text = f"{peer.name}: {len(wrong)} poses differ in whether the surfaces meet {wrong.tolist()}"
        report.note(pairs.name, "boolean", text)


def _encloses(a: Any, b: Any, at: thud.Pose) -> np.bool_:
    """Whether `contains` finds every vertex of one mesh in the other."""
    b_in_a = np.asarray(b.vertices) @ at.rotation.reshape(3, 3).T + at.position.reshape(3)
    a_in_b = (np.asarray(a.vertices) - at.position.reshape(3)) @ at.rotation.reshape(3, 3)
    return thud.contains(a, b_in_a).all() or thud.contains(b, a_in_b).all()


def _race_distance(report: Report, pairs: Pairs, rounds: int) -> None:
    peers = _race(report, "distance", pairs, max(2, rounds // 2))
    mine = thud.distance(*pairs.partners[0], pairs.a[0], pairs.b[0])
    report.note(pairs.name, "distance", f"{(mine.distance == 0).mean():.1%} of {pairs.count} poses collide")
    gap = np.abs(np.linalg.norm(mine.point_b - mine.point_a, axis=1) - mine.distance).max()
    report.note(pairs.name, "distance", f"thud: witness points and distance agree to {gap:.1e}")
    for peer in peers:
        theirs = np.maximum(peer.distance(), 0.0)
        off = np.abs(theirs - mine.distance).max()
        above, below = (theirs > mine.distance + 1e-9).sum(), (theirs < mine.distance - 1e-9).sum()
        text = f"{peer.name}: differs by up to {off:.1e} m; larger than ours in {above} poses, smaller in {below}"
        report.note(pairs.name, "distance", text)


def _family(report: Report, triangles: int, rows: int, rounds: int) -> None:
    members = families.mesh_pairs(triangles, rows)
    scene = f"family of meshes of {triangles:,} triangles"
    for query, part in (("boolean", 1), ("distance", 4)):

        def races(query: str = query, part: int = part) -> Iterator[tuple[str, list[Contestant]]]:
            for whole in members:
                pairs = whole.first(max(4, rows // part))
                peers = peers_of(pairs, Coal, Fcl)
                yield whole.name, ours(query, pairs) + [Contestant(p.name, getattr(p, query), pairs.count) for p in peers]

        report.family(scene, query, "coal", races(), max(2, rounds // 2))

    def contacts() -> Iterator[tuple[str, list[Contestant]]]:
        # Patches with a depth that separates take up to seconds a row: few rows, one form of poses, no run before.
        thud.contacts(families.blob(6, 0), families.blob(6, 1), None, [1.0, 0, 0, 1, 0, 0, 0])
        for whole in members:
            pairs = whole.first(4)
            peers = peers_of(pairs, Coal, Fcl)
            yield whole.name, ours("contacts", pairs)[:1] + [Contestant(p.name, p.contacts, pairs.count) for p in peers]

    report.family(scene, "contacts", "coal", contacts(), 2, warm=False)
    for query, part in (("boolean", 1), ("distance", 4)):

        def singles(query: str = query, part: int = part) -> Iterator[tuple[str, list[Contestant]]]:
            for whole in members:
                pairs = whole.first(max(4, rows // part))
                peers = peers_of(pairs, Coal, Fcl)
                own = [
                    Contestant(f"thud, {name}", one_by_one(QUERIES[query], pairs, form), pairs.count)
                    for name, form in SINGLE_FORMS.items()
                ]
                yield whole.name, own + [Contestant(p.name, getattr(p, query), pairs.count) for p in peers]

        report.family(scene, f"{query}, single calls", "coal", singles(), max(2, rounds // 2))


def _growth(report: Report, most: int, rounds: int) -> None:
    """Two balls of more and more triangles; the trees are made before."""
    for query, rows in (("boolean", 100), ("distance", 20)):

        def make(triangles: int, query: str = query, rows: int = rows) -> list[Contestant]:
            a, b = (thud.TriangleMesh(*families.ball(triangles, seed)) for seed in (1, 2))
            pairs = families.place("balls", [(a, b)], rows, 0.5, 3)
            runs = {f"thud, {name}": ask_all(QUERIES[query], pairs, FORMS[name], 1) for name in ("(N, 7)", "Pose")}
            runs |= {peer.name: getattr(peer, query) for peer in peers_of(pairs, Coal, Fcl)}
            return [Contestant(name, run, 1) for name, run in runs.items()]

        sizes = decades(most // 1000 if most > 10_000 else most // 10, most)
        report.growth(f"{rows} poses of two balls", query, "triangles", "coal", sizes, make, max(2, rounds // 2))


def run(size: str) -> None:
    """Two 17k-triangle models; boolean at poses of which about 60 % collide, distance at poses of which a fifth do. Then one
    of them against a small copy of the other, which is inside it, across its surface or outside. Then the family."""
    rings, many, few, rounds, triangles, rows, most = _SIZES[size]
    report = Report("mesh")
    a, b = families.blob(rings, 0), families.blob(rings, 1)
    scene = f"{len(np.asarray(a.faces))} x {len(np.asarray(b.faces))} triangles"
    _race_boolean(report, _at_home(scene, a, b, _poses(many, 1.4, 3.6, 3)), rounds)
    small = thud.TriangleMesh(_SMALL * np.asarray(b.vertices), b.faces)
    inside = _at_home(
        f"{scene}, one of them {_SMALL:g} times as large", a, small, _poses(_SMALL_POSES[size], 0.0, _SMALL_REACH, 5)
    )
    _race_boolean(report, inside, max(2, rounds // 2))
    _race_distance(report, _at_home(scene, a, b, _poses(few, 2.0, 5.0, 4)), rounds)
    _family(report, triangles, rows, rounds)
    _growth(report, most, rounds)
    report.save()
