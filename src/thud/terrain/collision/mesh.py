"""A displaced surface and a mesh, the surface being A: the mesh's triangles are asked as parts, then whether the surface lies
inside a closed mesh, which no triangle shows. What the pair table calls."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats
from thud.mesh.dispatch import contained
from thud.pairing.contact_points import feature_ids
from thud.pairing.join import empty_contacts
from thud.pairing.leaves import placed, some_rows
from thud.pairing.pair_cache import LeafCache
from thud.results import CastStatus, Contacts, Distances, Impacts, Status
from thud.shapes.mesh_connectivity import connected_parts
from thud.shapes.shape import IDENTITY
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.collision import queries as surface_queries
from thud.terrain.collision.mesh_points import TrianglePoints, kept_points
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
    deepest point and those that are farthest from each other, at vertices of the mesh wherever these tell all
    (`mesh_points.py`)."""
    from thud.terrain.collision.contact_table import ALONG, AT, CORNER, DEPTH, PART, PATCH
    from thud.terrain.collision.contacts import PATCH_NUMBERS, VERTEX_NUMBER

    row, table, status = surface_queries.contact_table(surface, mesh, rows_s, rows_m, count, margin, max_points, threads)
    apart = np.flatnonzero(status != Status.OVERLAPPING)
    if len(apart):
        inside = _inside(surface, mesh, rows_s, rows_m, apart, count, threads)[0]
        status[apart[inside]] = Status.OVERLAPPING
    if len(row) == 0:
        return empty_contacts(status)
    depth, normal = np.ascontiguousarray(table[:, DEPTH]), np.ascontiguousarray(table[:, ALONG : ALONG + 3])
    at, part = table[:, AT : AT + 3], table[:, PART].astype(np.int64)
    triangle = mesh.tree.order[part]
    welded = mesh.places[np.asarray(mesh.faces)]
    # Which vertex of its triangle a contact is at, and the face of the ground by its number alone.
    pose = rows_m if len(rows_m) == 1 else rows_m[row]
    own = surface_queries.unturned(pose, at - depth[:, None] * normal - pose[:, 9:], len(row))
    corners = mesh.corners.reshape(-1, 3, 3)[part] + mesh.origin
    local = np.linalg.norm(corners - own[:, None], axis=2).argmin(axis=1)
    corner = table[:, CORNER] > 0.0
    vertex = np.where(corner, welded[triangle, local], -1)
    number = table[:, PATCH].astype(np.int64)
    ground = np.where(corner, (number - (local + 1) * VERTEX_NUMBER) % PATCH_NUMBERS, number)
    found, size = TrianglePoints(at, normal, depth, vertex, ground), mesh.bounding_sphere()[1]
    chosen: list[int] = []
    patch: list[int] = []
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    for rows in np.split(np.arange(len(row)), starts[1:]):
        touching, which = np.unique(triangle[rows], return_inverse=True)
        label = connected_parts(welded[touching])[which.reshape(-1)]
        for piece in range(int(label.max()) + 1):
            some = rows[label == piece]
            kept = some[kept_points(TrianglePoints(*(x[some] for x in found)), size, max_points)]
            chosen += kept.tolist()
            patch += [piece] * len(kept)
    k = np.array(chosen, dtype=np.int64)
    # The vertex by its number, the triangle by its row of the faces and those before it, which stay while the mesh does.
    named = np.where(vertex >= 0, vertex, len(mesh.places) + triangle)
    point = at[k] - 0.5 * depth[k, None] * normal[k]
    return Contacts(
        row[k], point, normal[k], depth[k], feature_ids(ground[k], named[k]), np.array(patch, dtype=np.int64), status
    )


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
