"""Ways out of an overlap: translations of B after which it is free of A, each of them tested."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Bools, Floats
from thud.queries import distance, intersects
from thud.report.clash.meeting import Body, Meeting, distinct
from thud.report.clash.tolerances import HALVINGS
from thud.results import Status

#: Normals of triangles that are tried as ways out (a count).
_NORMALS = 12

#: Along and across the axes: 26 directions.
_LATTICE = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
_LATTICE /= np.linalg.norm(_LATTICE, axis=1, keepdims=True)


class Way(NamedTuple):
    """A translation of B by `depth` along `normal`."""

    depth: float
    """Metres; NaN if no way was found free."""
    normal: Floats
    is_bound: bool
    """A shorter one may exist in a direction that was not tried."""


def shortest_way(a: Body, b: Body) -> Way:
    """By the search in all directions (`mesh/way_out.py`)."""
    found = distance(a.mesh, b.mesh, a.pose, b.pose, signed=True, threads=1)
    depth, normal = float(-found.distance[0]), found.normal[0]
    if found.status[0] != Status.OVERLAPPING or not np.isfinite(depth) or not normal.any():
        return Way(np.nan, np.zeros(3), True)
    # The way leads to touching, which a rounding may call meeting: then a little beyond. In a narrow place the two are free
    # there and meet again beyond.
    free = is_free(a, b, normal * np.array([[depth], [depth * (1.0 + 1e-6) + 1e-12]])).any()
    return Way(depth, normal, False) if free else Way(np.nan, np.zeros(3), True)


def hulls_way(a: Body, b: Body) -> Way:
    """Of two convex parts, by their hulls: exact, and some microseconds whatever their triangles."""
    found = distance(a.mesh.hull, b.mesh.hull, a.pose, b.pose, signed=True, threads=1)
    return Way(float(-found.distance[0]), found.normal[0], False)


def bounded_way(a: Body, b: Body, normals: Floats, box_a: tuple[Floats, Floats], box_b: tuple[Floats, Floats]) -> Way:
    """Along the axes, the normals of triangles that meet and the line of the middles: the shortest that halving finds."""
    line = 0.5 * (box_b[0] + box_b[1] - box_a[0] - box_a[1])
    directions = [_LATTICE, distinct(normals, _NORMALS)]
    if np.linalg.norm(line) > 0.0:
        directions.append((line / np.linalg.norm(line))[None])
    along = np.concatenate(directions)
    # Beyond where the two boxes end along the direction the two are apart.
    far = _top(along, *box_a) + _top(-along, *box_b)
    high, low = np.maximum(far * (1.0 + 1e-6), 1e-12), np.zeros(len(along))
    free = is_free(a, b, along * high[:, None])
    if not free.any():
        return Way(np.nan, np.zeros(3), True)
    along, high, low = along[free], high[free], low[free]
    for _ in range(HALVINGS):
        # A direction that cannot become better than the best is left.
        hope = np.flatnonzero(low < high.min())
        middle = 0.5 * (low[hope] + np.minimum(high[hope], high.min()))
        free = is_free(a, b, along[hope] * middle[:, None])
        high[hope[free]], low[hope[~free]] = middle[free], middle[~free]
    best = int(np.argmin(high))
    return Way(float(high[best]), along[best], True)


def boxes_parted(box_a: tuple[Floats, Floats], box_b: tuple[Floats, Floats]) -> float:
    """The shortest way along an axis that parts two boxes."""
    return float(min((box_a[1] - box_b[0]).min(), (box_b[1] - box_a[0]).min()))


def freeing(a: Body, b: Body, met: Meeting, step: float) -> Floats | None:
    """(3,) the normal of triangles that meet along which B, moved by `step`, is free of A; None if there is none."""
    along = distinct(met.normals, _NORMALS)
    if not len(along):
        return None
    free = is_free(a, b, along * step)
    return along[int(np.argmax(free))] if free.any() else None


def is_free(a: Body, b: Body, shifts: Floats) -> Bools:
    """(N,) whether B, moved by each of the shifts, is free of A."""
    poses = np.repeat(b.pose, len(shifts), axis=0)
    poses[:, :3, 3] += shifts
    return ~intersects(a.mesh, b.mesh, a.pose, poses, threads=1)


def _top(along: Floats, lower: Floats, upper: Floats) -> Floats:
    """(N,) how far a box reaches along each direction."""
    return np.asarray(np.maximum(along * lower, along * upper).sum(axis=1))
