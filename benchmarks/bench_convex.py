"""Convex pairs: boolean, distance with witness points, depth by EPA and contacts, beside coal, python-fcl and pybullet.

Families of hulls and of primitives; poses as plain arrays, `(N, 7)` and `(N, 4, 4)`, and as `Pose`; first calls and single
calls; growth with the number of rows and of vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.asking import (
    QUERIES,
    anew,
    ask_all,
    close,
    decades,
    one_by_one,
    ours,
    peers_of,
    prepared,
    reference_of,
    repeated,
)
from benchmarks.families import FORMS, SINGLE_FORMS, Pairs
from benchmarks.harness import Contestant, Report
from benchmarks.peers import Bullet, Coal, Fcl, NotOffered, available
from thud._core.threads import core_count
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: (pairs of the main scene, pairs of each member of a family, rounds, most rows of the growth, most vertices)
_SIZES = {
    "ci": (1_000, 60, 2, 100, 80),
    "standard": (100_000, 5_000, 5, 100_000, 10_000),
    "full": (1_000_000, 40_000, 9, 1_000_000, 10_000),
}

#: How each query is asked of a table of pairs.
_TABLES: dict[str, Callable[..., Any]] = {
    "boolean": thud.intersects_pairs,
    "distance": thud.distance_pairs,
    "depth": lambda *arguments, **options: thud.distance_pairs(*arguments, signed=True, **options),
    "contacts": thud.contacts_pairs,
}


# The whole scene: many bodies -----------------------------------------------------------------------------------------------


def _bodies(rng: np.random.Generator, count: int, pairs: int) -> tuple[list[Shape], Ints, Floats]:
    """Hulls of 100 kinds in a cube, and random pairs among them, of which about half collide."""
    models: list[Shape] = [families.medium_hull(rng) for _ in range(min(100, count))]
    shapes = [models[k] for k in rng.integers(0, len(models), count)]
    a = rng.integers(0, count, pairs)
    b = (a + rng.integers(1, count, pairs)) % count
    return shapes, np.stack([a, b], axis=1), families.random_poses(rng, count, 1.4)


def _table(report: Report, pairs: int, rounds: int) -> None:
    """Pairs among 1,000 bodies: `intersects_pairs` and the like, one call."""
    shapes, indices, poses = _bodies(np.random.default_rng(2), 1000, pairs)
    scene = "pairs among 1,000 hulls of 30-60 vertices"
    peers = [kind(shapes, indices, families.pose_rows(poses)) for kind in available(Coal, Fcl, Bullet)]
    lanes = [1] if core_count() == 1 else [1, 2]
    table, forms = thud.prepare(shapes, indices), {name: form(poses) for name, form in FORMS.items()}
    for query, ask in _TABLES.items():
        contestants = [
            Contestant(f"thud, {name}", lambda ask=ask, at=at: ask(shapes, indices, at, threads=1), len(indices))
            for name, at in forms.items()
        ]
        known = {"boolean": table.intersects, "distance": table.distance, "contacts": table.contacts}
        if query in known:
            run = known[query]
            contestants.append(Contestant("thud, prepared, (N, 7)", lambda run=run: run(poses, threads=1), len(indices)))
        contestants += [Contestant(peer.name, getattr(peer, query), len(indices)) for peer in peers]
        report.race(scene, query, reference_of(peers), contestants, rounds)
        if len(lanes) > 1:
            # By turns, with no peer in between: what a second thread brings.
            both = [
                Contestant(
                    f"thud, {n} thread{'s' * (n > 1)}",
                    lambda ask=ask, n=n: ask(shapes, indices, poses, threads=n),
                    len(indices),
                )
                for n in lanes
            ]
            report.race(scene, f"{query}, a second thread", both[0].name, both, 3 * rounds)
        _agreement(report, scene, query, shapes, indices, poses, peers)
    close(peers)


def _agreement(
    report: Report, scene: str, query: str, shapes: list[Shape], indices: Ints, poses: Floats, peers: list[Any]
) -> None:
    """What the peers say to the same pairs."""
    if query == "boolean":
        hits = thud.intersects_pairs(shapes, indices, poses)
        report.note(scene, query, f"{hits.mean():.1%} of {len(indices)} pairs collide")
        for peer in peers:
            differ = np.flatnonzero(peer.boolean() != hits)
            gaps = np.abs(thud.distance_pairs(shapes, indices[differ], poses, signed=True).distance)
            text = (
                f"{peer.name}: {len(differ)} pairs differ, the largest |signed distance| of those {gaps.max(initial=0.0):.1e}"
            )
            report.note(scene, query, text)
    elif query in ("distance", "depth"):
        found = thud.distance_pairs(shapes, indices, poses, signed=query == "depth")
        rows = found.distance > 0 if query == "distance" else found.distance < 0
        if query == "distance":
            gap = _certificate(shapes, indices[rows], poses, found, rows)
            report.note(scene, query, f"thud: upper and lower bound of the distance meet to {gap.max():.1e} relative")
        for peer in peers:
            theirs = getattr(peer, query)()
            both = rows & (np.sign(theirs) == np.sign(found.distance)) & np.isfinite(theirs)
            error = (np.abs(theirs) - np.abs(found.distance))[both] / np.abs(found.distance[both])
            far = (np.abs(error) > 1e-9).mean() if len(error) else 0.0
            text = f"{peer.name}: from {error.min(initial=0.0):.1e} to {error.max(initial=0.0):.1e} relative to ours"
            report.note(scene, query, f"{text}, {far:.3%} of pairs by more than 1e-9")
    else:
        touching = thud.contacts_pairs(shapes, indices, poses)
        points = np.bincount(touching.row, minlength=len(indices))
        report.note(scene, query, f"thud: {points[points > 0].mean():.2f} points a pair that touches")
        for peer in peers:
            theirs = peer.contacts()
            report.note(scene, query, f"{peer.name}: {theirs[theirs > 0].mean():.2f} points a pair that touches")


def _certificate(shapes: list[Any], pairs: Ints, poses: Floats, result: thud.Distances, rows: npt.NDArray[np.bool_]) -> Floats:
    """Relative gap between two bounds that do not trust the engine: the witness points' distance from above, and the
    width of the slab between the two hulls along the normal, by all vertices, from below."""
    normal, point_a, point_b = result.normal[rows], result.point_a[rows], result.point_b[rows]
    upper = np.linalg.norm(point_b - point_a, axis=1)
    unit = (point_b - point_a) / upper[:, None]
    assert np.abs(unit - normal).max() < 1e-6
    at, lower = families.pose_rows(poses), np.empty(len(pairs))
    for i, (a, b) in enumerate(pairs.tolist()):
        va = shapes[a].vertices @ (at[a][:9].reshape(3, 3).T @ normal[i]) + at[a][9:] @ normal[i]
        vb = shapes[b].vertices @ (at[b][:9].reshape(3, 3).T @ normal[i]) + at[b][9:] @ normal[i]
        lower[i] = vb.min() - va.max()
    return np.abs(upper - lower) / upper


# Two shapes, N poses each -----------------------------------------------------------------------------------------------------


def _two_hulls(report: Report, rows: int, rounds: int) -> None:
    """The headline: N rows of plain poses for both shapes, 20 pairs of hulls."""
    rng = np.random.default_rng(3)
    partners: list[tuple[Shape, Shape]] = [(families.medium_hull(rng), families.medium_hull(rng)) for _ in range(20)]
    pairs = families.place("hulls", partners, rows, 0.5, 4)
    peers = peers_of(pairs, Coal, Fcl)
    lanes = (1,) if core_count() == 1 else (1, 2)
    scene = f"{pairs.count:,} pairs of hulls of 30-60 vertices, 20 calls"
    for query in ("boolean", "distance"):
        contestants = ours(query, pairs, lanes) + [Contestant(p.name, getattr(p, query), pairs.count) for p in peers]
        report.race(scene, query, reference_of(peers), contestants, rounds)


def _families(report: Report, rows: int, rounds: int, kinds: int) -> None:
    """Each query on each member of both families."""
    for scene, members in (
        ("family of hulls", families.hulls(rows, kinds=kinds)),
        ("family of primitives", families.primitives(rows, kinds=kinds)),
    ):
        for query in QUERIES:

            def races(query: str = query, members: list[Pairs] = members) -> Iterator[tuple[str, list[Contestant]]]:
                for pairs in members:
                    peers = peers_of(pairs, Coal, Fcl, Bullet)
                    yield pairs.name, ours(query, pairs) + [Contestant(p.name, getattr(p, query), len(p.calls)) for p in peers]
                    close(peers)

            report.family(scene, query, "coal", races(), rounds)
        for query in QUERIES:
            report.family(scene, f"{query}, single calls", "coal", _singles(query, members), rounds)
        report.family(scene, "first call: shapes made of arrays, boolean at one pose", "coal", _firsts(members), rounds)


def _singles(query: str, members: list[Pairs]) -> Iterator[tuple[str, list[Contestant]]]:
    """A call a row: plain, and prepared."""
    for whole in members:
        pairs = whole.first(400)
        contestants = [
            Contestant(f"thud, {name}", one_by_one(QUERIES[query], pairs, form), pairs.count)
            for name, form in SINGLE_FORMS.items()
        ]
        for name in ("(7,)", "Pose"):
            contestants.append(Contestant(f"thud, prepared, {name}", prepared(query, pairs, SINGLE_FORMS[name]), pairs.count))
        peers = peers_of(pairs, Coal, Fcl)
        yield whole.name, contestants + [Contestant(p.name, getattr(p, query), pairs.count) for p in peers]


def _firsts(members: list[Pairs]) -> Iterator[tuple[str, list[Contestant]]]:
    """Two new shapes and their first answer, kernels warm. (A hull's faces are found by everybody's user beforehand but by ours
    in the call: peers take them as given.)"""
    for pairs in members:
        makers = [
            (anew(a), anew(b), at_a[0], at_b[0]) for (a, b), at_a, at_b in zip(pairs.partners, pairs.a, pairs.b, strict=True)
        ]

        def run(makers: list[Any] = makers) -> None:
            for a, b, at_a, at_b in makers:
                thud.intersects(a(), b(), at_a, at_b)

        contestants = [Contestant("thud, (7,)", run, len(makers))]
        for kind in available(Coal, Fcl):
            one = pairs.first(len(makers))
            shapes, indices, poses = one.scene()
            rows = families.pose_rows(poses)

            def theirs(kind: Any = kind, shapes: Any = shapes, indices: Any = indices, rows: Any = rows) -> None:
                kind(shapes, indices, rows).boolean()

            try:
                theirs()
            except NotOffered:
                continue
            contestants.append(Contestant(kind.name, theirs, len(makers)))
        yield pairs.name, contestants


# Growth -----------------------------------------------------------------------------------------------------------------------


def _growth(report: Report, most_rows: int, most_vertices: int, rounds: int) -> None:
    rng = np.random.default_rng(7)
    partners: list[tuple[Shape, Shape]] = [(families.medium_hull(rng), families.medium_hull(rng))]
    whole = families.place("hulls", partners, most_rows, 0.5, 8)

    def by_rows(rows: int) -> list[Contestant]:
        pairs, times = whole.first(rows), max(1, 1000 // rows)
        runs = {f"thud, {name}": ask_all(thud.intersects, pairs, form, 1) for name, form in FORMS.items()}
        runs |= {peer.name: peer.boolean for peer in peers_of(pairs, Coal)}
        return [Contestant(name, repeated(run, times), times) for name, run in runs.items()]

    report.growth("two hulls of 30-60 vertices", "boolean", "rows", "coal", decades(1, most_rows), by_rows, rounds)

    def by_vertices(count: int) -> list[Contestant]:
        pair: list[tuple[Shape, Shape]] = [(families.hull(rng, count), families.hull(rng, count)) for _ in range(4)]
        pairs = families.place("hulls", pair, 1000, 0.5, 9)
        runs = {"thud, (N, 7)": ask_all(thud.distance, pairs, FORMS["(N, 7)"], 1)}
        runs |= {peer.name: peer.distance for peer in peers_of(pairs, Coal, Fcl)}
        return [Contestant(name, run, 1) for name, run in runs.items()]

    sizes = decades(10, most_vertices)
    report.growth("1,000 rows of two hulls", "distance", "vertices", "coal", sizes, by_vertices, rounds)


def run(size: str) -> None:
    main, rows, rounds, most_rows, most_vertices = _SIZES[size]
    report = Report("convex")
    _two_hulls(report, main, rounds)
    _table(report, main, rounds)
    _families(report, rows, rounds, 3 if size == "ci" else 5)
    _growth(report, most_rows, most_vertices, rounds)
    report.save()
