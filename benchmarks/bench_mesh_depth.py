"""How deep two scans overlap: signed distance, overlap patches and contacts, beside coal's contacts, one core.

Closed bumpy bodies of growing numbers of triangles, from a graze to nearly one place. coal offers no penetration depth of
meshes; its contacts have one a pair of triangles, of which the largest is the nearest to it. A note says how often moving B out
by each answer left the two disjoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.asking import peers_of
from benchmarks.families import Pairs
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import Coal

Floats = npt.NDArray[np.float64]

#: (triangles of the bodies, rows, rounds)
_SIZES = {
    "ci": ((300, 1_000), 2, 2),
    "standard": ((5_000, 20_000, 70_000), 4, 3),
    "full": ((5_000, 20_000, 70_000, 300_000), 20, 5),
}

#: B's distance from A, in units of that at which it lets go.
_DEPTHS = {"graze": 0.97, "a third": 0.7, "deep": 0.35, "nearly one place": 0.05}

#: Bodies of the family that are closed scans, by name.
_SCANS = ("bumpy ball", "rough ball", "uneven ball", "ring")


def _overlaps(a: thud.TriangleMesh, b: thud.TriangleMesh, name: str, nearness: float, rows: int, seed: int) -> Pairs:
    """A at the origin, B along random ways at `nearness` of the distance at which it lets go, both turned at random."""
    rng = np.random.default_rng(seed)
    way, turn_a, turn_b = (families.unit(rng.normal(size=(rows, k))) for k in (3, 4, 4))
    far = families.touching_distance(a, b, way, turn_a, turn_b, 1.01 * (families.radius(a) + families.radius(b)))
    at_a = np.concatenate([np.zeros((rows, 3)), turn_a], axis=1)
    at_b = np.concatenate([way * (nearness * far)[:, None], turn_b], axis=1)
    return Pairs(name, [(a, b)], at_a[None], at_b[None])


class _CoalDepth(Coal):
    """The deepest contact of all pairs of triangles, and its normal."""

    def deepest(self) -> tuple[Floats, Floats]:
        result, request = self.coal.CollisionResult(), self.coal.CollisionRequest()
        request.enable_contact, request.num_max_contacts = True, self.most
        depths, normals = np.zeros(len(self.calls)), np.zeros((len(self.calls), 3))
        for row, (a, ta, b, tb) in enumerate(self.calls):
            result.clear()
            self.coal.collide(a, ta, b, tb, request, result)
            for k in range(result.numContacts()):
                contact = result.getContact(k)
                if abs(contact.penetration_depth) > depths[row]:
                    depths[row], normals[row] = abs(contact.penetration_depth), contact.normal
        return depths, normals


def _contestants(pairs: Pairs, peers: list[Any]) -> dict[str, list[Contestant]]:
    """By query."""
    ((a, b),), at = pairs.partners, (pairs.a[0], pairs.b[0])
    theirs = [Contestant("coal, contacts", peer.contacts, pairs.count) for peer in peers]
    signed = Contestant("thud", lambda: thud.distance(a, b, *at, signed=True, threads=1), pairs.count)
    patches = Contestant("thud", lambda: thud.overlap_patches(a, b, *at, threads=1), pairs.count)
    contacts = Contestant("thud", lambda: thud.contacts(a, b, *at, threads=1), pairs.count)
    return {"signed distance": [signed, *theirs], "overlap patches": [patches, *theirs], "contacts": [contacts, *theirs]}


def _checks(report: Report, scene: str, pairs: Pairs, peers: list[Any]) -> None:
    """Depths, and whether they lead out."""
    ((a, b),), at_a, at_b = pairs.partners, pairs.a[0], pairs.b[0]
    found = thud.distance(a, b, at_a, at_b, signed=True)
    hulls = -thud.distance(a.hull, b.hull, at_a, at_b, signed=True).distance  # type: ignore[attr-defined]
    answers = {"thud": (-found.distance, found.normal)} | {peer.name: peer.deepest() for peer in peers}
    for name, (depth, normal) in answers.items():
        moved = at_b.copy()
        moved[:, :3] += (depth * (1.0 + 1e-9))[:, None] * normal
        out = int((~thud.intersects(a, b, at_a, moved)).sum())
        text = f"{name}: depth {np.median(depth):.3g} in the median, {np.median(depth / hulls):.3g} of the hulls'"
        report.note(scene, "signed distance", f"{pairs.name}, {text}; leads out in {out} of {len(depth)} rows")


def run(size: str) -> None:
    """Each scan against the next one, at each depth."""
    sizes, rows, rounds = _SIZES[size]
    report = Report("mesh_depth")
    with one_core():
        for triangles in sizes:
            made = {body.name: body.mesh() for body in families.bodies(triangles) if body.name in _SCANS}
            names = list(made)
            scene = f"two scans of {triangles:,} triangles"
            members = [
                _overlaps(made[one], made[other], f"{one}, {other}, {depth}", nearness, rows, 10 * k + j)
                for k, (one, other) in enumerate(zip(names, names[1:] + names[:1], strict=True))
                for j, (depth, nearness) in enumerate(_DEPTHS.items())
            ]
            for query in ("signed distance", "overlap patches", "contacts"):

                def races(query: str = query, members: list[Pairs] = members) -> Iterator[tuple[str, list[Contestant]]]:
                    for pairs in members:
                        yield pairs.name, _contestants(pairs, peers_of(pairs, _CoalDepth))[query]

                report.family(scene, query, "coal, contacts", races(), rounds)
            for pairs in members:
                _checks(report, scene, pairs, peers_of(pairs, _CoalDepth))
    report.save()
