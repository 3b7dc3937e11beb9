"""Which contacts of a mesh's triangles with the ground are kept.

Each triangle is a part of its own, so a vertex of the mesh is found by all triangles around it, and a triangle that lies in
the ground as a whole, or comes to a patch with a piece of an edge, has contacts at places that mean nothing to the mesh. What
vertices of the mesh tell is kept once, under the vertex's own name, and the rest where it tells more than they do.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.pairing.contact_points import spread_points
from thud.terrain.collision.tolerances import LIFT_LEAST, OUTER_CORNERS, SAME_NORMAL


class TrianglePoints(NamedTuple):
    """Contacts of triangles of one piece of a mesh, row by row."""

    point: Floats
    """(K, 3) on the ground."""
    normal: Floats
    depth: Floats
    vertex: Ints
    """(K,) the mesh's vertex that it is at, -1 if none."""
    ground: Ints
    """(K,) the face of the ground."""


def kept_points(found: TrianglePoints, size: float, limit: int) -> Ints:
    """Rows to keep, at most `limit`; size of the mesh, metres."""
    corners = _vertices_once(found)
    rows = np.concatenate([corners, np.flatnonzero(found.vertex < 0)])
    if len(corners) > 2:
        outer, least = _outer(found, corners), LIFT_LEAST * size
        first = len(outer)
        # Most of the time none of the outer ones is covered by others of them, on an edge between two, say.
        rows = np.concatenate([outer, np.setdiff1d(rows, outer)])
        told = _covered(found, rows, outer, least)
        for k in outer[told[:first]].tolist():
            others = outer[outer != k]
            if _covered(found, np.array([k]), others, least)[0]:
                outer = others
        rows = np.concatenate([outer, rows[first:][~told[first:]]])
    mean = found.normal[rows].mean(axis=0)
    return np.asarray(rows[spread_points(found.point[rows], found.depth[rows], mean, limit)])


def _vertices_once(found: TrianglePoints) -> Ints:
    """Contacts at vertices: of those of one vertex with one face that of least depth, and of those along one normal one."""
    rows = np.flatnonzero(found.vertex >= 0)
    rows = rows[np.lexsort((found.depth[rows], found.ground[rows], found.vertex[rows]))]
    names = np.stack([found.vertex[rows], found.ground[rows]], axis=1)
    rows = rows[np.concatenate([[True], (np.diff(names, axis=0) != 0).any(axis=1)])] if len(rows) else rows
    kept: list[int] = []
    for k in rows.tolist():
        # The rows of a vertex follow each other.
        same = [j for j in kept[-8:] if found.vertex[j] == found.vertex[k]]
        if not any(found.normal[j] @ found.normal[k] > 1.0 - SAME_NORMAL for j in same):
            kept.append(k)
    return np.array(kept, dtype=np.int64)


def _outer(found: TrianglePoints, rows: Ints) -> Ints:
    """The deepest, and those that lie farthest out in some directions across the mean normal: those that cover most."""
    normal = found.normal[rows].mean(axis=0)
    helper = np.eye(3)[np.abs(normal).argmin()]
    e = np.cross(normal, helper)
    f = np.cross(normal, e)
    angle = 2.0 * np.pi * np.arange(OUTER_CORNERS) / OUTER_CORNERS
    ways = np.cos(angle)[:, None] * e + np.sin(angle)[:, None] * f
    chosen = np.append((found.point[rows] @ ways.T).argmax(axis=0), found.depth[rows].argmax())
    return np.asarray(rows[np.unique(chosen)])


def _covered(found: TrianglePoints, rows: Ints, corners: Ints, least: float) -> Bools:
    """Whether each of `rows` lies, seen along its normal, between three of `corners` that have this normal, and is no deeper
    there by more than `least`."""
    n, p = found.normal[rows], found.point[rows]
    along = n @ found.normal[corners].T > 1.0 - SAME_NORMAL
    # (T, 3): all triples.
    three = np.array(list(combinations(range(len(corners)), 3)), dtype=np.int64).reshape(-1, 3)
    x, y, z = (found.point[corners[three[:, k]]] for k in range(3))
    e, f = y - x, z - x
    longest = np.sqrt(np.maximum(np.maximum((e * e).sum(axis=1), (f * f).sum(axis=1)), ((f - e) ** 2).sum(axis=1)))[:, None]
    # (T, K): the places of all rows in all triples.
    w = p[None] - x[:, None]
    area = np.cross(e, f) @ n.T
    with np.errstate(divide="ignore", invalid="ignore"):
        # Points are known to `least`, which the triangle is made larger by.
        slack = least * longest / np.abs(area)
        u = (np.cross(w, f[:, None]) * n).sum(axis=2) / area
        v = (np.cross(e[:, None], w) * n).sum(axis=2) / area
        inside = (np.abs(area) > least * longest) & (np.minimum(np.minimum(u, v), 1.0 - u - v) >= -slack)
        deep = found.depth[corners[three]][:, None]
        depth = (1.0 - u - v) * deep[..., 0] + u * deep[..., 1] + v * deep[..., 2]
    inside &= along.T[three].all(axis=1) & (found.depth[rows] <= depth + least)
    # Not by itself.
    inside &= (corners[three][..., None] != rows).all(axis=1)
    return np.asarray(inside.any(axis=0))
