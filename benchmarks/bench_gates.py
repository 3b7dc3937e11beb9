"""The way in: what it costs to hand poses over and to ask one question, beside the question itself and beside the peers.

Batches of poses against copying the same bytes into a fresh `(N, 12)` array; one pose; one plain call of each query for two
spheres, boxes, capsules, hulls; prepared pairs; a table of 55 pairs of ten links in 1,000 configurations. One thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.asking import QUERIES, close, one_by_one, peers_of, prepared, repeated
from benchmarks.families import SINGLE_FORMS
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import Bullet, Coal, Fcl, installed
from thud.pose import as_poses
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]

#: (poses of a batch, single calls, configurations, rounds, most poses of the growth)
_SIZES = {
    "ci": (1_000, 100, 20, 2, 1_000),
    "standard": (100_000, 2_000, 1_000, 15, 1_000_000),
    "full": (1_000_000, 10_000, 10_000, 15, 10_000_000),
}


_COPY = "NumPy, copy of (N, 12)"


def _batches(rng: np.random.Generator, count: int) -> dict[str, Any]:
    """Poses as users have them."""
    poses = families.random_poses(rng, count, 3.0)
    whole = families.matrices(poses)
    return {
        "(N, 7)": poses,
        "(N, 4, 4)": whole,
        "(N, 7), float32": poses.astype(np.float32),
        "(N, 4, 4), float32": whole.astype(np.float32),
        "(N, 7), every other row": np.repeat(poses, 2, axis=0)[::2],
        "(N, 7), Fortran order": np.asfortranarray(poses),
        "(N, 4, 4), Fortran order": np.asfortranarray(whole),
        "(N, 4, 4), of a table (N, 10, 4, 4)": np.repeat(whole[:, None], 10, axis=1)[:, 3] if count <= 100_000 else whole,
    }


def _copiers(array: npt.NDArray[Any]) -> list[Contestant]:
    """What no gate can do without: a fresh array of N rows of 12 numbers, filled. Once from such an array, by one copy of
    memory; once from the poses as they are, whose numbers go to the first columns."""
    count = len(array)
    ready = np.zeros((count, 12))
    rows = array if array.ndim == 2 else array[:, :3]
    width = rows.shape[1:]

    def fill() -> object:
        fresh = np.empty((count, 12))
        fresh[:, : int(np.prod(width))].reshape(count, *width)[...] = rows
        return fresh

    return [Contestant(_COPY, ready.copy, count), Contestant("NumPy, the poses into (N, 12)", fill, count)]


def _gates(report: Report, count: int, rounds: int) -> None:
    """`as_poses`, through which every pose goes."""

    def members() -> Iterator[tuple[str, list[Contestant]]]:
        for name, array in _batches(np.random.default_rng(0), count).items():
            gate = Contestant("thud, gate", lambda array=array: as_poses(array, "poses"), count)
            yield name, [gate, *_copiers(array)]

    report.family(f"gate of {count:,} poses", "a pose", _COPY, members(), rounds)

    def singles() -> Iterator[tuple[str, list[Contestant]]]:
        rng, times = np.random.default_rng(1), 1000
        pose = families.random_poses(rng, 1, 3.0)[0]
        forms: dict[str, Any] = {name: form(pose) for name, form in SINGLE_FORMS.items()}
        forms |= {"(7,), float32": pose.astype(np.float32), "(7,), a list": pose.tolist()}
        forms |= {
            "(4, 4), float32": families.matrices(pose).astype(np.float32),
            "(4, 4), a list": families.matrices(pose).tolist(),
        }
        for name, array in forms.items():
            gate = Contestant("thud, gate", repeated(lambda array=array: as_poses(array, "pose"), times), times)
            copy = Contestant(_COPY, repeated(np.zeros((1, 12)).copy, times), times)
            yield name, [gate, copy]

    report.family("gate of one pose", "a pose", _COPY, singles(), rounds)


def _growth(report: Report, most: int, rounds: int) -> None:
    poses = families.random_poses(np.random.default_rng(2), most, 3.0)
    whole = families.matrices(poses)

    def make(count: int) -> list[Contestant]:
        times = max(1, 10_000 // count)
        runs = {
            "thud, (N, 7)": lambda: as_poses(poses[:count], "poses"),
            "thud, (N, 4, 4)": lambda: as_poses(whole[:count], "poses"),
            _COPY: np.zeros((count, 12)).copy,
        }
        return [Contestant(name, repeated(run, times), times) for name, run in runs.items()]

    sizes = [10**k for k in range(round(np.log10(most)) + 1)]
    report.growth("gate", "time of all poses", "poses", _COPY, sizes, make, rounds)


# Single calls ---------------------------------------------------------------------------------------------------------------

_KINDS = ("sphere", "box", "capsule", "hull")


def _single_calls(report: Report, count: int, rounds: int) -> None:
    """One plain call, one row: two spheres, boxes, capsules, hulls; half of the poses meet."""
    rng = np.random.default_rng(3)
    scenes = [
        families.place(
            f"two {kind}{'es' * (kind == 'box') or 's'}",
            [(families.primitive(rng, kind), families.primitive(rng, kind))],
            count,
            0.5,
            k,
        )
        for k, kind in enumerate(_KINDS)
    ]
    for query in QUERIES:

        def members(query: str = query) -> Iterator[tuple[str, list[Contestant]]]:
            for pairs in scenes:
                peers = peers_of(pairs, Coal, Fcl, Bullet)
                contestants = [
                    Contestant(f"thud, {name}", one_by_one(QUERIES[query], pairs, form), pairs.count)
                    for name, form in SINGLE_FORMS.items()
                ]
                contestants += [
                    Contestant(f"thud, prepared, {name}", prepared(query, pairs, form), pairs.count)
                    for name, form in SINGLE_FORMS.items()
                ]
                yield pairs.name, contestants + [Contestant(p.name, getattr(p, query), len(p.calls)) for p in peers]
                close(peers)

        report.family("one call", query, "coal", members(), rounds)


# Tables of pairs ------------------------------------------------------------------------------------------------------------


def _links(rng: np.random.Generator, kind: str) -> list[Shape]:
    """Ten links and a base of some kind, each half a metre long."""
    if kind == "capsules":
        return [thud.Capsule(0.08, 0.2) for _ in range(11)]
    if kind == "boxes":
        return [thud.Box(rng.uniform([0.05, 0.05, 0.2], [0.1, 0.1, 0.25])) for _ in range(11)]
    if kind == "hulls":
        return [families.hull(rng, 40, (0.1, 0.1, 0.25)) for _ in range(11)]
    return [one for k in range(11) for one in [_links(rng, ("capsules", "boxes", "hulls")[k % 3])[k]]]


def _chain(rng: np.random.Generator, configurations: int, links: int) -> Floats:
    """(C, S, 7): an arm whose joints are at random angles; each link begins where the last one ends."""
    turns = thud.Pose.from_rotation_vector(np.zeros(3), rng.normal(size=(configurations * links, 3)) * 0.6).rotation
    turns = turns.reshape(configurations, links, 3, 3)
    poses, at, way = np.empty((configurations, links, 4, 4)), np.zeros((configurations, 3)), np.eye(3)[None]
    for k in range(links):
        way = way @ turns[:, k]
        poses[:, k, :3, :3], poses[:, k, :3, 3] = way, at + 0.25 * way[:, :, 2]
        poses[:, k, 3] = [0, 0, 0, 1]
        at = at + 0.5 * way[:, :, 2]
    pose = thud.Pose.from_matrix(poses.reshape(-1, 4, 4))
    return np.concatenate([pose.position, pose.quaternion], axis=1).reshape(configurations, links, 7)


class _CoalTable:
    """coal over all configurations and pairs, a call each."""

    def __init__(self, shapes: list[Shape], pairs: npt.NDArray[np.int64], poses: Floats) -> None:
        rows = families.pose_rows(poses)
        count = len(shapes)
        shifted = (pairs[None] + count * np.arange(len(poses))[:, None, None]).reshape(-1, 2)
        self.coal = Coal(shapes * len(poses), shifted, rows)


def _tables(report: Report, configurations: int, rounds: int) -> None:
    """A robot: all 55 pairs among eleven bodies (ten links and a base) in many configurations, one thread. The time is that of
    one configuration: microseconds of one are milliseconds of a thousand."""
    rng = np.random.default_rng(4)
    pairs = np.array([(a, b) for a in range(11) for b in range(a + 1, 11)])
    kinds = ("capsules", "boxes", "hulls", "mixed")
    robots = {kind: (_links(rng, kind), _chain(rng, configurations, 11)) for kind in kinds}
    scene = f"a configuration of {configurations:,}: {len(pairs)} pairs of ten links and a base"
    for query in ("boolean", "distance"):
        name = {"boolean": "intersects", "distance": "distance"}[query]
        ask = {"boolean": thud.intersects_pairs, "distance": thud.distance_pairs}[query]

        def members(query: str = query, name: str = name, ask: Any = ask) -> Iterator[tuple[str, list[Contestant]]]:
            for kind, (shapes, poses) in robots.items():
                whole, table, one = families.matrices(poses), thud.prepare(shapes, pairs), configurations
                known = getattr(table, name)
                contestants = [
                    Contestant(f"thud, {name}_pairs, (C, S, 7)", lambda s=shapes, at=poses: ask(s, pairs, at, threads=1), one),
                    Contestant(
                        f"thud, {name}_pairs, (C, S, 4, 4)", lambda s=shapes, at=whole: ask(s, pairs, at, threads=1), one
                    ),
                    Contestant("thud, prepared, (C, S, 7)", lambda f=known, at=poses: f(at, threads=1), one),
                    Contestant("thud, prepared, (C, S, 4, 4)", lambda f=known, at=whole: f(at, threads=1), one),
                ]
                if installed("coal"):
                    coal = _CoalTable(shapes, pairs, poses).coal
                    contestants.append(Contestant("coal", getattr(coal, query), one))
                    hits = known(poses) if query == "boolean" else known(poses).distance == 0.0
                    differ = int((coal.boolean() != hits.ravel()).sum())
                    text = f"{kind}: {hits.mean():.1%} of pairs meet; coal differs in {differ} of {hits.size}"
                    report.note(scene, query, text)
                yield kind, contestants

        report.family(scene, query, "coal", members(), rounds)


def run(size: str) -> None:
    batch, singles, configurations, rounds, most = _SIZES[size]
    report = Report("gates")
    with one_core():
        _gates(report, batch, rounds)
        _growth(report, most, rounds)
        _single_calls(report, singles, rounds)
        _tables(report, configurations, rounds)
    report.save()
