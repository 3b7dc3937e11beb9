"""Answers of the leaves of compounds, joined to one answer.

Pairs: `ask` answers a pair of leaves, (i, j), for some of the rows. Single shapes: a list of the leaves' answers, and the
query's options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud.results import ClosestPoints, Contacts, Distances, Impacts, RayCrossings, RayHits

#: Pair of leaves, rows that are asked -> their answer.
Ask = Callable[[int, int, Ints], Any]


def put_rows(out: Any, rows: Any, part: Any) -> None:
    """Write the rows of one result into those of another of the same kind."""
    for field in fields(out):
        getattr(out, field.name)[rows] = getattr(part, field.name)


def any_meets(ask: Ask, pairs: list[tuple[int, int]], count: int) -> Bools:
    """Whether any pair of leaves meets; rows that are known to are not asked again."""
    hit = np.zeros(count, dtype=bool)
    for i, j in pairs:
        rows = np.flatnonzero(~hit)
        if len(rows) == 0:
            break
        hit[rows] = ask(i, j, rows)
    return hit


def nearest_pair(ask: Ask, pairs: list[tuple[int, int]], count: int) -> Distances:
    """Row by row the smallest distance; of equal ones the first."""
    rows = np.arange(count)
    best: Distances = ask(*pairs[0], rows)
    for i, j in pairs[1:]:
        found = ask(i, j, rows)
        nearer = found.distance < best.distance
        for field in fields(best):
            getattr(best, field.name)[nearer] = getattr(found, field.name)[nearer]
    return best


def earliest_pair(ask: Ask, pairs: list[tuple[int, int]], count: int) -> Impacts:
    """Row by row the earliest contact; of equal ones the one with the graver status, then the first."""
    rows = np.arange(count)
    best: Impacts = ask(*pairs[0], rows)
    for i, j in pairs[1:]:
        found = ask(i, j, rows)
        sooner = (found.time < best.time) | ((found.time == best.time) & (found.status > best.status))
        for field in fields(best):
            getattr(best, field.name)[sooner] = getattr(found, field.name)[sooner]
    return best


def all_contacts(ask: Ask, pairs: list[tuple[int, int]], count: int) -> Contacts:
    """The contacts of all, by row; patches of a row are numbered on."""
    rows, patches = np.arange(count), np.zeros(count, dtype=np.int64)
    found: list[Contacts] = []
    status = np.zeros(count, dtype=np.uint8)
    for i, j in pairs:
        part: Contacts = ask(i, j, rows)
        np.maximum(status, part.status, out=status)
        patch = part.patch + patches[part.row]
        np.maximum.at(patches, part.row, patch + 1)
        found.append(replace(part, patch=patch))
    return joined_contacts(found, status)


def joined_contacts(found: list[Contacts], status: npt.NDArray[np.uint8]) -> Contacts:
    """Contacts by row; within a row in the order they came."""
    none = empty_contacts(status)
    order = np.argsort(np.concatenate([part.row for part in (none, *found)]), kind="stable")
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in (none, *found)])[order]
        for field in fields(Contacts)
        if field.name != "status"
    }
    return Contacts(**columns, status=status)


def empty_contacts(status: npt.NDArray[np.uint8]) -> Contacts:
    """No points, for rows of the given status."""
    none = np.empty(0, np.int64)
    return Contacts(none, np.empty((0, 3)), np.empty((0, 3)), np.empty(0), none, none, status)


#: By query.
PAIR_JOINS: dict[str, Callable[[Ask, list[tuple[int, int]], int], Any]] = {
    "intersects": any_meets,
    "distance": nearest_pair,
    "signed_distance": nearest_pair,
    "contacts": all_contacts,
    "overlap_patches": all_contacts,
    "cast": earliest_pair,
    "turning_cast": earliest_pair,
}


_Found = TypeVar("_Found", RayHits, ClosestPoints)


def nearest_leaf(found: list[_Found], _given: Mapping[str, Any]) -> _Found:
    """Row by row the answer of the leaf at the smallest distance; `triangle` becomes the number of that leaf, -1 for a miss."""
    best = np.argmin([one.distance for one in found], axis=0)
    rows = np.arange(len(best))
    columns = {field.name: np.stack([getattr(one, field.name) for one in found])[best, rows] for field in fields(found[0])}
    columns["triangle"] = np.where(np.isinf(columns["distance"]), -1, best)
    return type(found[0])(**columns)


def closest_leaf(found: list[ClosestPoints], given: Mapping[str, Any]) -> ClosestPoints:
    """As `nearest_leaf`; the leaves say how deep a point lies in them, which is left out of an unsigned answer."""
    nearest = nearest_leaf(found, given)
    return nearest if given["signed"] else replace(nearest, distance=np.abs(nearest.distance))


def all_crossings(found: list[RayCrossings], _given: Mapping[str, Any]) -> RayCrossings:
    """The crossings of all leaves in order; `triangle` becomes the number of the leaf."""
    columns = {field.name: np.concatenate([getattr(one, field.name) for one in found]) for field in fields(RayCrossings)}
    columns["triangle"] = np.repeat(np.arange(len(found)), [len(one.row) for one in found])
    order = np.lexsort((columns["triangle"], columns["distance"], columns["row"]))
    return RayCrossings(**{name: column[order] for name, column in columns.items()})


def any_leaf(found: list[Bools], _given: Mapping[str, Any]) -> Bools:
    """Whether any says so."""
    return np.logical_or.reduce(found)


def all_triangles(found: list[tuple[Floats, Ints]], _given: Mapping[str, Any]) -> tuple[Floats, Ints]:
    """Vertices and faces of all leaves, in the frame of the shape that they were taken from."""
    first = np.cumsum([0, *(len(vertices) for vertices, _ in found[:-1])])
    faces = [faces + start for (_, faces), start in zip(found, first, strict=True)]
    return np.concatenate([vertices for vertices, _ in found]), np.concatenate(faces)


#: By query.
LEAF_JOINS: dict[str, Callable[[list[Any], Mapping[str, Any]], Any]] = {
    "raycast": nearest_leaf,
    "raycast_all": all_crossings,
    "contains": any_leaf,
    "closest_point": closest_leaf,
    "triangles": all_triangles,
}
