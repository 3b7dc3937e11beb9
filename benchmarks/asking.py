"""How contestants ask: us, from each form of poses, in batches, one by one and prepared; and the peers on the same pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.families import FORMS, Pairs
from benchmarks.harness import Contestant
from benchmarks.peers import Bullet, NotOffered, available
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]

#: pybullet is slow to fill: it gets so many rows at most.
_MOST_BODIES = 4_000

#: How each query is asked of us; a peer has a method of the same name.
QUERIES: dict[str, Callable[..., Any]] = {
    "boolean": thud.intersects,
    "distance": thud.distance,
    "depth": lambda *arguments, **options: thud.distance(*arguments, signed=True, **options),
    "contacts": thud.contacts,
}


def ask_all(ask: Callable[..., Any], pairs: Pairs, form: Callable[[Floats], Any], threads: int) -> Callable[[], list[Any]]:
    """A run that asks for all rows, a call a pair of shapes; arrays are made before."""
    jobs = [(*partners, form(a), form(b)) for partners, a, b in zip(pairs.partners, pairs.a, pairs.b, strict=True)]
    return lambda: [ask(*job, threads=threads) for job in jobs]


def ours(query: str, pairs: Pairs, lanes: tuple[int, ...] = (1,)) -> list[Contestant]:
    """Us, from each form of poses; more than one thread from `(N, 7)` only."""
    found = [Contestant(f"thud, {name}", ask_all(QUERIES[query], pairs, form, 1), pairs.count) for name, form in FORMS.items()]
    for n in lanes:
        if n > 1:
            run = ask_all(QUERIES[query], pairs, FORMS["(N, 7)"], n)
            found.append(Contestant(f"thud, (N, 7), {n} threads", run, pairs.count))
    return found


def peers_of(pairs: Pairs, *kinds: Any) -> list[Any]:
    """Those peers that are installed and have the shapes."""
    found = []
    for kind in available(*kinds):
        shapes, indices, poses = (pairs.first(_MOST_BODIES) if kind is Bullet else pairs).scene()
        try:
            found.append(kind(shapes, indices, families.pose_rows(poses)))
        except NotOffered:
            continue
    return found


def close(peers: list[Any]) -> None:
    """Let go of what they hold."""
    for peer in peers:
        if hasattr(peer, "close"):
            peer.close()


def reference_of(peers: list[Any]) -> str:
    """The first peer; ourselves if there is none."""
    return peers[0].name if peers else "thud, (N, 7)"


def _calls(pairs: Pairs, form: Callable[[Floats], Any]) -> list[tuple[Any, Any, Any, Any]]:
    return [
        (*partners, form(x), form(y))
        for partners, a, b in zip(pairs.partners, pairs.a, pairs.b, strict=True)
        for x, y in zip(a, b, strict=True)
    ]


def one_by_one(ask: Callable[..., Any], pairs: Pairs, form: Callable[[Floats], Any]) -> Callable[[], None]:
    calls = _calls(pairs, form)

    def run() -> None:
        for a, b, at_a, at_b in calls:
            ask(a, b, at_a, at_b)

    return run


def prepared(query: str, pairs: Pairs, form: Callable[[Floats], Any]) -> Callable[[], None]:
    made = {partners: thud.prepare(*partners) for partners in pairs.partners}
    name = {"boolean": "intersects", "depth": "distance"}.get(query, query)
    options = {"signed": True} if query == "depth" else {}
    calls = [(getattr(made[a, b], name), at_a, at_b) for a, b, at_a, at_b in _calls(pairs, form)]

    def run() -> None:
        for ask, at_a, at_b in calls:
            ask(at_a, at_b, **options)

    return run


def anew(shape: Shape) -> Callable[[], Shape]:
    """Makes the shape again from plain numbers and arrays."""
    if isinstance(shape, thud.ConvexHull):
        points = np.array(shape.vertices)
        return lambda: thud.ConvexHull(points)
    if isinstance(shape, thud.TriangleMesh):
        vertices, faces = np.array(shape.vertices), np.array(shape.faces)
        return lambda: thud.TriangleMesh(vertices, faces)
    kind = type(shape)
    values = [getattr(shape, name) for name in kind.__dataclass_fields__]
    values = [np.array(v) if isinstance(v, np.ndarray) else v for v in values]
    return lambda: kind(*values)


def decades(least: int, most: int) -> list[int]:
    """Sizes from least to most, two a decade."""
    return [round(x) for x in np.geomspace(least, most, max(2, round(2 * np.log10(most / least)) + 1))]


def repeated(run: Callable[[], object], times: int) -> Callable[[], None]:
    """The same run several times, for what is too short to be measured."""

    def many() -> None:
        for _ in range(times):
            run()

    return many
