"""Queries of a displaced surface and a shape, from checked arguments to kernels. The surface is A."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._threads import run_rows
from thud.narrowphase.pair_cache import PairCache
from thud.results import ClosestPoints, Contacts, Distances, Impacts, RayHits, Status
from thud.shapes.shape import Shape
from thud.shapes.sphere import Sphere
from thud.terrain.query_object import query_object
from thud.terrain.surface import DisplacedSurface

Floats = npt.NDArray[np.float64]

#: Rows that are worth a hand-over to another thread: each takes some microseconds.
_ROWS = 32

#: Rows of contacts that are worked on at once, and the room each has at first: what does not fit is done again.
_BLOCK, _ROOM = 1024, 256


def intersects(
    surface: DisplacedSurface,
    shape: Shape,
    rows_s: Floats,
    rows_o: Floats,
    count: int,
    threads: int | None,
    cache: PairCache | None = None,
) -> npt.NDArray[np.bool_]:
    """Whether the shape touches the surface or the ground below it."""
    from thud.terrain.surface_meets import surface_intersects_rows

    if cache is None:
        last = np.full((count, 4), -1, dtype=np.int64)
    else:
        cache.start(surface, shape)
        last = cache.places(count)
    status = np.empty(count, dtype=np.uint8)
    arguments = (surface.arrays, *query_object(shape), rows_s, rows_o, last, status)
    run_rows(surface_intersects_rows, count, threads, *arguments, rows_per_chunk=_ROWS)
    return np.asarray(status != Status.SEPARATED)


def distance(
    surface: DisplacedSurface,
    shape: Shape,
    rows_s: Floats,
    rows_o: Floats,
    count: int,
    *,
    signed: bool,
    reach: float,
    threads: int | None,
) -> Distances:
    """Distances with witness points. Signed: in the ground, how far the shape must move along a normal to clear the
    patches that it now touches."""
    from thud.terrain.surface_meets import surface_distance_rows

    out = Distances(
        np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty((count, 3)), np.empty(count, dtype=np.uint8)
    )
    place = np.empty((count, 4), dtype=np.int64)
    # The search takes what is nearer than a bound; what is just as far as `reach` counts too.
    arguments = (surface.arrays, *query_object(shape), rows_s, rows_o, float(np.nextafter(reach, np.inf)))
    fields = (out.distance, out.point_a, out.point_b, out.normal, out.status, place)
    run_rows(surface_distance_rows, count, threads, *arguments, *fields, rows_per_chunk=_ROWS)
    if signed:
        rows = np.flatnonzero(out.status == Status.OVERLAPPING)
        if len(rows):
            _fill_depths(surface, shape, rows_s, rows_o, rows, out, threads)
    return out


def _rows_of(poses: Floats, rows: npt.NDArray[np.int64]) -> Floats:
    return poses if len(poses) == 1 else np.ascontiguousarray(poses[rows])


def _fill_depths(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, rows: Any, out: Distances, threads: int | None
) -> None:
    """Overlaps get the depth of their deepest contact."""
    found = contacts(
        surface, shape, _rows_of(rows_s, rows), _rows_of(rows_o, rows), len(rows), margin=0.0, max_points=8, threads=threads
    )
    order = np.lexsort((-found.depth, found.row))
    first = order[np.unique(found.row[order], return_index=True)[1]]
    at, depth, normal = rows[found.row[first]], np.maximum(found.depth[first], 0.0), found.normal[first]
    out.distance[at], out.normal[at] = -depth, normal
    out.point_a[at] = found.point[first] + 0.5 * depth[:, None] * normal
    out.point_b[at] = found.point[first] - 0.5 * depth[:, None] * normal


def contacts(
    surface: DisplacedSurface,
    shape: Shape,
    rows_s: Floats,
    rows_o: Floats,
    count: int,
    *,
    margin: float,
    max_points: int,
    threads: int | None,
) -> Contacts:
    """Contact points; each patch of the surface that a part touches is a patch of its own, of which each part keeps the
    deepest and those that are farthest from each other."""
    from thud.terrain.surface_contacts import ALONG, AT, DEPTH, PART, PATCH

    blocks = []
    status = np.empty(count, dtype=np.uint8)
    for start in range(0, max(count, 1), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, count))
        block, counts, status[rows] = _block(
            surface, shape, _rows_of(rows_s, rows), _rows_of(rows_o, rows), len(rows), margin, max_points, threads
        )
        chosen = np.arange(block.shape[1]) < counts[:, None]
        blocks.append((np.repeat(rows, counts), block[chosen]))
    row = np.concatenate([one[0] for one in blocks])
    table = np.concatenate([one[1] for one in blocks])
    depth, normal = np.ascontiguousarray(table[:, DEPTH]), np.ascontiguousarray(table[:, ALONG : ALONG + 3])
    first = np.searchsorted(row, row)
    feature = table[:, PART].astype(np.int64) * 2**44 + table[:, PATCH].astype(np.int64)
    point = table[:, AT : AT + 3] - 0.5 * depth[:, None] * normal
    return Contacts(row, point, normal, depth, feature, np.arange(len(row)) - first, status)


def _block(
    surface: DisplacedSurface,
    shape: Shape,
    rows_s: Floats,
    rows_o: Floats,
    count: int,
    margin: float,
    max_points: int,
    threads: int | None,
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    from thud.terrain.surface_contacts import CONTACT, surface_contacts_rows

    shape_arrays = query_object(shape)
    room, space = _ROOM, max_points * min(len(shape_arrays.poses), 16)
    while True:
        table = np.zeros((count, space, CONTACT))
        counts, needed = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        status = np.zeros(count, dtype=np.uint8)
        arguments = (surface.arrays, *shape_arrays, rows_s, rows_o, margin, max_points, room)
        run_rows(surface_contacts_rows, count, threads, *arguments, table, counts, status, needed, rows_per_chunk=_ROWS)
        if not needed.any():
            return table, counts, status
        room, space = max(room, int(needed.max())), max(space, int(counts.max()))


def cast(
    surface: DisplacedSurface,
    shape: Shape,
    rows_s: Floats,
    rows_o: Floats,
    move_s: Floats,
    move_o: Floats,
    count: int,
    threads: int | None,
) -> Impacts:
    """First contacts with motions (N, 3) or (N, 6)."""
    from thud.continuous.convex_dispatch import by_rotation, empty_impacts
    from thud.terrain.surface_meets import surface_cast_rows
    from thud.terrain.surface_turning import turning_cast

    def linear(rows_s: Floats, rows_o: Floats, move_s: Floats, move_o: Floats, count: int) -> Impacts:
        out = empty_impacts(count)
        arguments = (surface.arrays, *query_object(shape), rows_s, rows_o, move_s, move_o)
        fields = (out.time, out.point, out.normal, out.status)
        run_rows(surface_cast_rows, count, threads, *arguments, *fields, rows_per_chunk=_ROWS)
        return out

    def turning(rows_s: Floats, rows_o: Floats, move_s: Floats, move_o: Floats, count: int) -> Impacts:
        return turning_cast(surface, shape, rows_s, rows_o, move_s, move_o, count, threads)

    return by_rotation(linear, turning, rows_s, rows_o, move_s, move_o, count)


def raycast(
    surface: DisplacedSurface,
    origins: Floats,
    directions: Floats,
    rows: Floats,
    count: int,
    reach: float,
    any_hit: bool,
    threads: int | None,
) -> RayHits:
    """First hits, from either side; `triangle` is the quad that was hit."""
    from thud.terrain.surface_rays import surface_ray_rows

    start, along = _unturned(rows, origins - rows[:, 9:], count), _unturned(rows, directions, count)
    found, normal, quad = np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64)
    arguments = (surface.arrays, start, along, reach, int(any_hit), found, normal, quad, np.empty((count, 2)))
    run_rows(surface_ray_rows, count, threads, *arguments, rows_per_chunk=_ROWS)
    hit = np.isfinite(found)
    point = np.where(hit[:, None], origins + np.where(hit, found, 0.0)[:, None] * directions, 0.0)
    return RayHits(found, point, _turned(rows, normal), quad)


def _unturned(rows: Floats, vectors: Floats, count: int) -> Floats:
    """(count, 3) vectors of the world in the frames of pose rows. Each row has the same bytes whatever the number of rows."""
    x, y, z = vectors.T
    turned = [rows[:, k] * x + rows[:, 3 + k] * y + rows[:, 6 + k] * z for k in range(3)]
    return np.array(np.broadcast_to(np.stack(turned, axis=1), (count, 3)), order="C")


def _turned(rows: Floats, vectors: Floats) -> Floats:
    """The other way."""
    x, y, z = vectors.T
    return np.stack([rows[:, 3 * k] * x + rows[:, 3 * k + 1] * y + rows[:, 3 * k + 2] * z for k in range(3)], axis=1)


def contains(surface: DisplacedSurface, points: Floats, rows: Floats, count: int, threads: int | None) -> npt.NDArray[np.bool_]:
    """Whether points are in the ground."""
    from thud.terrain.ground import BELOW, in_ground_rows

    local = _unturned(rows, points - rows[:, 9:], count)
    where = np.empty(count, dtype=np.uint8)
    run_rows(in_ground_rows, count, threads, surface.arrays, local, where)
    return np.asarray(where == BELOW)


def closest_point(
    surface: DisplacedSurface, points: Floats, rows: Floats, count: int, signed: bool, threads: int | None
) -> ClosestPoints:
    """The nearest point of the surface; signed: negative in the ground. `triangle` is the quad."""
    from thud.terrain.surface_meets import surface_points_rows

    local = _unturned(rows, points - rows[:, 9:], count)
    found, near, quad = np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64)
    arguments = (surface.arrays, *query_object(_POINT), local, found, near, quad)
    run_rows(surface_points_rows, count, threads, *arguments, rows_per_chunk=_ROWS)
    if signed:
        inside = contains(surface, points, rows, count, threads)
        found = np.where(inside, -found, found)
    return ClosestPoints(found, _turned(rows, near) + rows[:, 9:], quad)


#: A point, as far as GJK is concerned.
_POINT = Sphere(1e-300)
