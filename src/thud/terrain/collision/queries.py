"""Queries of a displaced surface and a shape, from checked arguments to kernels; the surface is A. For the pair table."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.constants import LEAST_SIZE
from thud.convex.dispatch import empty_distances
from thud.gates import unit
from thud.pairing.ask import check_reach
from thud.pairing.contact_points import feature_ids
from thud.pairing.motions import empty_impacts
from thud.pairing.pair_cache import LeafCache
from thud.pairing.rows import distance_fields, impact_fields
from thud.results import ClosestPoints, Contacts, Distances, Impacts, RayCrossings, RayHits, Status
from thud.shapes.shape import IDENTITY, Shape
from thud.shapes.sphere import Sphere
from thud.terrain.collision.query_object import query_object
from thud.terrain.collision.tolerances import BLOCK_RAYS, CROSSING_GAP
from thud.terrain.surface import DisplacedSurface

#: Rows that are worth a hand-over to another thread: each takes some microseconds.
_ROWS = 32

#: Rows of contacts that are worked on at once, and the room each has at first: what does not fit is done again.
_BLOCK, _ROOM = 1024, 256

#: Crossings of a ray that there is room for at first.
_CROSSINGS = 16


class Meets(Protocol):
    """`intersects` of a kind of shape."""

    def __call__(
        self, surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, *, threads: int | None
    ) -> Bools:
        """Whether they meet."""
        ...


def intersects(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, *, threads: int | None,
    cache: LeafCache | None = None,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Whether the shape touches the surface or the ground below it."""
    from thud.terrain.collision.meets import surface_intersects_rows

    # Part and patch that met last, -1 where none did.
    last = np.full((count, 4), -1, dtype=np.int64) if cache is None else cache.found("patch", 4)[cache.rows]
    status = np.empty(count, dtype=np.uint8)
    arguments = (surface.arrays, query_object(shape), rows_s, rows_o, last, status)
    run_rows(surface_intersects_rows, count, threads, *arguments, rows_per_chunk=_ROWS)
    if cache is not None:
        cache.found("patch", 4)[cache.rows] = last
    return np.asarray(status != Status.SEPARATED)


def distance(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, *, reach: float = np.inf,
    threads: int | None,
) -> Distances:  # fmt: skip
    """Unsigned distances with witness points."""
    return distance_and_rest(surface, shape, rows_s, rows_o, count, reach=reach, threads=threads)[0]


def distance_and_rest(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, *, reach: float = np.inf,
    threads: int | None,
) -> tuple[Distances, Floats]:  # fmt: skip
    """The same, and by how much each may be too large at most: 0 on flat patches."""
    from thud.terrain.collision.meets import surface_distance_rows

    out = empty_distances(count)
    place, rough = np.empty((count, 4), dtype=np.int64), np.empty(count)
    # The search takes what is nearer than a bound; what is just as far as `reach` counts too.
    arguments = (surface.arrays, query_object(shape), rows_s, rows_o, float(np.nextafter(reach, np.inf)))
    run_rows(surface_distance_rows, count, threads, *arguments, distance_fields(out), place, rough, rows_per_chunk=_ROWS)
    return out, rough


def signed_distance(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, *, reach: float = np.inf,
    threads: int | None,
) -> Distances:  # fmt: skip
    """In the ground: a translation after which the shape is free. UNCONVERGED where none was found."""
    out = distance(surface, shape, rows_s, rows_o, count, reach=reach, threads=threads)
    rows = np.flatnonzero(out.status == Status.OVERLAPPING)
    if len(rows):
        fill_depths(surface, shape, rows_s, rows_o, rows, out, threads)
    return out


def _rows_of(poses: Floats, rows: npt.NDArray[np.int64]) -> Floats:
    return poses if len(poses) == 1 else np.ascontiguousarray(poses[rows])


def fill_depths(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, rows: Ints, out: Distances, threads: int | None,
    *, meets: Meets | None = None,
) -> None:  # fmt: skip
    """Overlaps get the length of their way out, and the points that touch at its end. meets : what tells whether the two meet,
    `intersects` by itself."""
    # In the surface's frame: turned together, the two have the same way out.
    poses_s = np.ascontiguousarray(np.broadcast_to(_rows_of(rows_s, rows), (len(rows), 12)))
    poses_o = np.ascontiguousarray(np.broadcast_to(_rows_of(rows_o, rows), (len(rows), 12)))
    own = np.concatenate(
        [unturned(poses_s, np.ascontiguousarray(poses_o[:, k:9:3]), len(rows)) for k in range(3)]
        + [unturned(poses_s, poses_o[:, 9:] - poses_s[:, 9:], len(rows))],
        axis=1,
    )[:, [0, 3, 6, 1, 4, 7, 2, 5, 8, 9, 10, 11]]
    still, told = IDENTITY[None], intersects if meets is None else meets

    def meet(poses: Floats) -> Bools:
        return told(surface, shape, still, poses, len(poses), threads=threads)

    def touch(poses: Floats, margin: float) -> tuple[Ints, Floats, Floats]:
        row, table, _status = contact_table(surface, shape, still, poses, len(poses), margin, 16, threads)
        return row, table[:, ALONG : ALONG + 3], table[:, DEPTH]

    def move(poses: Floats, motion: Floats) -> Impacts:
        return cast(surface, shape, still, poses, len(poses), move_a=np.zeros((1, 3)), move_b=motion, threads=threads)

    from thud.terrain.collision.contact_table import ALONG, DEPTH
    from thud.terrain.collision.separation import Asking, ways_out

    # A half-space has no size.
    size = min(shape.bounding_sphere()[1], surface.bounding_sphere()[1])
    ask = Asking(np.ascontiguousarray(own), size, meet, touch, move)
    found = ways_out(ask, len(rows), threads=threads)
    length = np.linalg.norm(found.way, axis=1)
    ends = ask.moved(np.arange(len(rows)), found.way)
    there = distance(surface, shape, still, ends, len(rows), threads=threads)
    # A way of no length: they touch, and the normal is that of what they touch.
    normal = np.where(length[:, None] > 0.0, found.way / np.where(length > 0.0, length, 1.0)[:, None], there.normal)
    normal, point = _turned(poses_s, normal), _turned(poses_s, there.point_a) + poses_s[:, 9:]
    out.distance[rows], out.normal[rows] = -length, normal
    out.point_a[rows], out.point_b[rows] = point, point - length[:, None] * normal
    out.status[rows] = np.where(found.free, Status.OVERLAPPING, Status.UNCONVERGED)


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
    from thud.terrain.collision.contact_table import ALONG, AT, DEPTH, PART, PATCH

    row, table, status = contact_table(surface, shape, rows_s, rows_o, count, margin, max_points, threads)
    depth, normal = np.ascontiguousarray(table[:, DEPTH]), np.ascontiguousarray(table[:, ALONG : ALONG + 3])
    feature = feature_ids(table[:, PATCH].astype(np.int64), table[:, PART].astype(np.int64))
    point = table[:, AT : AT + 3] - 0.5 * depth[:, None] * normal
    first = np.searchsorted(row, row)
    return Contacts(row, point, normal, depth, feature, np.arange(len(row)) - first, status)


def contact_table(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, margin: float, max_points: int,
    threads: int | None,
) -> tuple[Ints, Floats, npt.NDArray[np.uint8]]:  # fmt: skip
    """(row, columns of `contacts.py`, status a row)."""
    blocks = []
    status = np.empty(count, dtype=np.uint8)
    for start in range(0, max(count, 1), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, count))
        block, counts, status[rows] = _block(
            surface, shape, _rows_of(rows_s, rows), _rows_of(rows_o, rows), len(rows), margin, max_points, threads
        )
        chosen = np.arange(block.shape[1]) < counts[:, None]
        blocks.append((np.repeat(rows, counts), block[chosen]))
    return np.concatenate([one[0] for one in blocks]), np.concatenate([one[1] for one in blocks]), status


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
    from thud.terrain.collision.contact_table import CONTACT
    from thud.terrain.collision.contacts import surface_contacts_rows

    shape_arrays = query_object(shape)
    room, space = _ROOM, max_points * min(len(shape_arrays.part_poses), 16)
    while True:
        table = np.zeros((count, space, CONTACT))
        counts, needed = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        status = np.zeros(count, dtype=np.uint8)
        arguments = (surface.arrays, shape_arrays, rows_s, rows_o, margin, max_points, room)
        run_rows(surface_contacts_rows, count, threads, *arguments, table, counts, status, needed, rows_per_chunk=_ROWS)
        if not needed.any():
            return table, counts, status
        room, space = max(room, int(needed.max())), max(space, int(counts.max()))


def cast(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats,
    threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 3)."""
    from thud.terrain.collision.meets import surface_cast_rows

    out = empty_impacts(count)
    arguments = (surface.arrays, query_object(shape), rows_s, rows_o, move_a, move_b)
    run_rows(surface_cast_rows, count, threads, *arguments, impact_fields(out), rows_per_chunk=_ROWS)
    return out


def turning_cast(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats,
    inner_a: Floats = IDENTITY, inner_b: Floats = IDENTITY, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 6)."""
    from thud.terrain.collision.turning import advance

    return advance(surface, shape, rows_s, rows_o, move_a, move_b, inner_a, inner_b, count, threads)


def raycast(
    surface: DisplacedSurface, origins: Floats, directions: Floats, rows: Floats, count: int, *,
    reach: float, any_hit: bool, threads: int | None,
) -> RayHits:  # fmt: skip
    """First hits, from either side; `triangle` is the quad that was hit."""
    found, quad = np.empty(count), np.empty(count, dtype=np.int64)
    point, normal = np.empty((count, 3)), np.empty((count, 3))
    out, arguments = (found, point, normal, quad), (surface.arrays, origins, directions, rows, reach, int(any_hit))
    if surface.has_ray_blocks or surface.rays_so_far(count) > BLOCK_RAYS * surface.sample_count:
        from thud.mesh.raycast import sorted_chunk
        from thud.terrain.collision.block_walk import block_ray_rows

        chunk = sorted_chunk(count, threads)
        run_rows(block_ray_rows, count, threads, *arguments, *surface.ray_blocks, *out, rows_per_chunk=chunk)
    else:
        from thud.terrain.collision.rays import surface_ray_rows

        run_rows(surface_ray_rows, count, threads, *arguments, *out, np.empty((count, 2)), rows_per_chunk=_ROWS)
    return RayHits(found, point, normal, quad)


def raycast_all(
    surface: DisplacedSurface, origins: Floats, directions: Floats, rows: Floats, count: int, *, reach: float,
    threads: int | None,
) -> RayCrossings:  # fmt: skip
    """All crossings with the surface, from either side; `triangle` is the quad. One at an edge of patches counts once."""
    from thud.terrain.collision.rays import ALONG, AT_EDGE, CROSSING, UPWARD, WHERE, surface_crossing_rows

    directions = unit(directions)
    start, along = unturned(rows, origins - rows[:, 9:], count), unturned(rows, directions, count)
    counts, space = np.zeros(count, dtype=np.int64), _CROSSINGS
    while True:
        table = np.zeros((count, space, CROSSING))
        run_rows(
            surface_crossing_rows, count, threads, surface.arrays, start, along, reach, counts, table, rows_per_chunk=_ROWS
        )
        if not len(counts) or counts.max() <= space:
            break
        space = int(counts.max())
    row = np.repeat(np.arange(count), counts)
    found = table[np.arange(space) < counts[:, None]]
    facing = np.einsum("ni,ni->n", found[:, UPWARD : UPWARD + 3], along[row]) < 0.0
    # In order along the ray, side by side those that may be one.
    order = np.lexsort((found[:, WHERE + 2], found[:, WHERE + 1], found[:, WHERE], found[:, ALONG], facing, row))
    row, found, facing = row[order], found[order], facing[order]
    size = float(np.linalg.norm(surface.bounds().upper - surface.bounds().lower))
    gap = np.diff(found[:, ALONG], prepend=-np.inf)
    edge = found[:, AT_EDGE] > 0.0
    at = np.arange(len(row))
    before = np.maximum(at - 1, 0)
    alike = (at > 0) & (row == row[before]) & (facing == facing[before])
    same_patch = (found[:, WHERE : WHERE + 3] == found[before, WHERE : WHERE + 3]).all(axis=1) & (gap == 0.0)
    shared = edge & edge[before] & (gap <= CROSSING_GAP * (size + found[:, ALONG]))
    keep = ~(alike & (same_patch | shared))
    row, found = row[keep], found[keep]
    order = np.lexsort((found[:, ALONG], row))
    row, found = row[order], found[order]
    distance = np.ascontiguousarray(found[:, ALONG])
    one = len(rows) == 1
    normal = _turned(rows if one else rows[row], found[:, UPWARD : UPWARD + 3])
    origin = origins if len(origins) == 1 else origins[row]
    direction = directions if len(directions) == 1 else directions[row]
    return RayCrossings(row, distance, origin + distance[:, None] * direction, normal, found[:, WHERE].astype(np.int64))


def unturned(rows: Floats, vectors: Floats, count: int) -> Floats:
    """(count, 3) vectors of the world in the frames of pose rows. Each row has the same bytes whatever the number of rows."""
    x, y, z = vectors.T
    turned = [rows[:, k] * x + rows[:, 3 + k] * y + rows[:, 6 + k] * z for k in range(3)]
    return np.array(np.broadcast_to(np.stack(turned, axis=1), (count, 3)), order="C")


def _turned(rows: Floats, vectors: Floats) -> Floats:
    """The other way."""
    x, y, z = vectors.T
    return np.stack([rows[:, 3 * k] * x + rows[:, 3 * k + 1] * y + rows[:, 3 * k + 2] * z for k in range(3)], axis=1)


def contains(
    surface: DisplacedSurface, points: Floats, rows: Floats, count: int, *, threads: int | None
) -> npt.NDArray[np.bool_]:
    """Whether points are in the ground."""
    from thud.terrain.collision.ground_walk import in_ground_rows

    check_reach(points, "points")
    check_reach(rows, "pose")
    local = unturned(rows, points - rows[:, 9:], count)
    inside = np.empty(count, dtype=np.uint8)
    run_rows(in_ground_rows, count, threads, surface.arrays, local, inside, rows_per_chunk=_ROWS)
    return np.asarray(inside != 0)


def closest_point(
    surface: DisplacedSurface, points: Floats, rows: Floats, count: int, *, signed: bool, threads: int | None
) -> ClosestPoints:
    """The nearest point of the surface; signed: negative in the ground. `triangle` is the quad."""
    from thud.terrain.collision.meets import surface_points_rows

    check_reach(points, "points")
    check_reach(rows, "pose")
    local = unturned(rows, points - rows[:, 9:], count)
    found, near, quad = np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64)
    arguments = (surface.arrays, query_object(_POINT), local, found, near, quad)
    run_rows(surface_points_rows, count, threads, *arguments, rows_per_chunk=_ROWS)
    if signed:
        inside = contains(surface, points, rows, count, threads=threads)
        found = np.where(inside, -found, found)
    return ClosestPoints(found, _turned(rows, near) + rows[:, 9:], quad)


#: A point, as far as GJK is concerned.
_POINT = Sphere(LEAST_SIZE)
