"""A displaced surface and a mesh, the surface being A: the mesh's triangles are asked as parts, then whether the surface lies
inside a closed mesh, which no triangle shows. What the pair table calls."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats
from thud.mesh.dispatch import contained
from thud.pairing.contact_points import feature_ids, features_of, spread_points
from thud.pairing.join import empty_contacts
from thud.pairing.leaves import placed, some_rows
from thud.pairing.pair_cache import LeafCache
from thud.results import CastStatus, Contacts, Distances, Impacts, Status
from thud.shapes.mesh_connectivity import connected_parts
from thud.shapes.shape import IDENTITY
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.collision import queries as surface_queries
from thud.terrain.surface import DisplacedSurface


@lru_cache(maxsize=64)
def surface_points(surface: DisplacedSurface) -> Floats:
    """(C, 3) one point of each connected part of the surface."""
    primitives = np.asarray(surface.primitives)
    corners = primitives[:, :3]
    label = connected_parts(corners)
    first = np.unique(label, return_index=True)[1]
    third = np.full(len(first), 1.0 / 3.0)
    return np.asarray(surface.forward(first, third, third).point)


def _inside(
    surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, rows: npt.NDArray[np.int64], count: int,
    threads: int | None,
) -> tuple[Bools, Floats]:  # fmt: skip
    poses = some_rows(rows_m, rows, count), some_rows(rows_s, rows, count)
    return contained(mesh, surface_points(surface), *poses, len(rows), threads)


def intersects(
    surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, count: int, *, threads: int | None,
    cache: LeafCache | None = None,
) -> Bools:  # fmt: skip
    """Whether they touch, the mesh lies in the ground, or the surface in a closed mesh."""
    hit = surface_queries.intersects(surface, mesh, rows_s, rows_m, count, threads=threads, cache=cache)
    rows = np.flatnonzero(~hit)
    if len(rows):
        hit[rows] = _inside(surface, mesh, rows_s, rows_m, rows, count, threads)[0]
    return hit


def distance(
    surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, count: int, *, reach: float = np.inf,
    threads: int | None,
) -> Distances:  # fmt: skip
    """Unsigned distances with witness points."""
    out = surface_queries.distance(surface, mesh, rows_s, rows_m, count, reach=reach, threads=threads)
    apart = np.flatnonzero(out.status != Status.OVERLAPPING)
    if len(apart):
        inside, where = _inside(surface, mesh, rows_s, rows_m, apart, count, threads)
        rows = apart[inside]
        out.distance[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, Status.OVERLAPPING
        out.point_a[rows] = out.point_b[rows] = where[inside]
    return out


def signed_distance(
    surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, count: int, *, reach: float = np.inf,
    threads: int | None,
) -> Distances:  # fmt: skip
    """In the ground: a translation after which the mesh is free. A surface inside a closed mesh that touches none of its
    triangles has no way out that a contact shows: UNCONVERGED at 0."""
    out = distance(surface, mesh, rows_s, rows_m, count, reach=reach, threads=threads)
    rows = np.flatnonzero(out.status == Status.OVERLAPPING)
    if len(rows):
        surface_queries.fill_depths(surface, mesh, rows_s, rows_m, rows, out, threads, meets=intersects)  # type: ignore[arg-type]
    return out


def contacts(
    surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, count: int, *,
    margin: float, max_points: int, threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points: the triangles that touch are joined where they share vertices, each such piece is a patch and keeps its
    deepest point and those that are farthest from each other."""
    found = surface_queries.contacts(
        surface, mesh, rows_s, rows_m, count, margin=margin, max_points=max_points, threads=threads
    )
    apart = np.flatnonzero(found.status != Status.OVERLAPPING)
    if len(apart):
        inside = _inside(surface, mesh, rows_s, rows_m, apart, count, threads)[0]
        found.status[apart[inside]] = Status.OVERLAPPING
    if len(found.row) == 0:
        return empty_contacts(found.status)
    ground, position = features_of(found.feature)
    triangle = mesh.tree.order[position]
    welded = mesh.places[np.asarray(mesh.faces)]
    chosen: list[int] = []
    patch: list[int] = []
    starts = np.flatnonzero(np.diff(found.row, prepend=-1))
    for rows in np.split(np.arange(len(found.row)), starts[1:]):
        touching, which = np.unique(triangle[rows], return_inverse=True)
        label = connected_parts(welded[touching])[which.reshape(-1)]
        for number in range(int(label.max()) + 1):
            own = rows[label == number]
            kept = own[spread_points(found.point[own], found.depth[own], found.normal[own].mean(axis=0), max_points)]
            chosen += kept.tolist()
            patch += [number] * len(kept)
    k = np.array(chosen, dtype=np.int64)
    # The triangle by its row of the faces, which stays while the mesh does.
    feature = feature_ids(ground[k], triangle[k])
    numbers = np.array(patch, dtype=np.int64)
    return Contacts(found.row[k], found.point[k], found.normal[k], found.depth[k], feature, numbers, found.status)


def cast(
    surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, count: int, *,
    move_a: Floats, move_b: Floats, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 3)."""
    out = surface_queries.cast(surface, mesh, rows_s, rows_m, count, move_a=move_a, move_b=move_b, threads=threads)
    return _with_inside(out, surface, mesh, rows_s, rows_m, count, threads)


def turning_cast(
    surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, count: int, *,
    move_a: Floats, move_b: Floats, inner_a: Floats = IDENTITY, inner_b: Floats = IDENTITY, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 6)."""
    options = {"move_a": move_a, "move_b": move_b, "inner_a": inner_a, "inner_b": inner_b, "threads": threads}
    out = surface_queries.turning_cast(surface, mesh, rows_s, rows_m, count, **options)  # type: ignore[arg-type]
    return _with_inside(out, surface, mesh, placed(rows_s, inner_a), placed(rows_m, inner_b), count, threads)


def _with_inside(
    out: Impacts, surface: DisplacedSurface, mesh: TriangleMesh, rows_s: Floats, rows_m: Floats, count: int, threads: int | None
) -> Impacts:
    """Rows in which the surface lies inside the mesh at the start."""
    open_rows = np.flatnonzero(out.status != CastStatus.OVERLAPPING_AT_START)
    if len(open_rows):
        inside, where = _inside(surface, mesh, rows_s, rows_m, open_rows, count, threads)
        rows = open_rows[inside]
        out.time[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, CastStatus.OVERLAPPING_AT_START
        out.point[rows] = where[inside]
    return out
