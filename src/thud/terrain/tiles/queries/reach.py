"""Which tiles a query reaches: boxes of shapes in the terrain's frame, and the tiles whose places they touch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.pairing.advance import reach_about_origin
from thud.pose import Pose
from thud.shapes.shape import IDENTITY, Shape
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.tolerances import PLACE_SLACK

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain


def in_frame(rows_t: Floats, rows_o: Floats) -> Floats:
    """Poses (N, 12) of the other shape in the terrain's frame."""
    if len(rows_t) == 1 and np.array_equal(rows_t[0], IDENTITY):
        return rows_o
    return np.ascontiguousarray((Pose.from_rows(rows_t).inverse() @ Pose.from_rows(rows_o)).rows)


def vectors_in_frame(rows_t: Floats, vectors: Floats) -> Floats:
    """(N, 3) vectors of the world in the terrain's frame."""
    return np.einsum("nji,nj->ni", *_same(rows_t[:, :9].reshape(-1, 3, 3), vectors))


def _same(turns: Floats, vectors: Floats) -> tuple[Floats, Floats]:
    count = max(len(turns), len(vectors)) if len(turns) and len(vectors) else 0
    return np.broadcast_to(turns, (count, 3, 3)), np.broadcast_to(vectors, (count, 3))


def points_in_frame(rows_t: Floats, points: Floats) -> Floats:
    """(N, 3) points of the world in the terrain's frame."""
    return vectors_in_frame(rows_t, points - rows_t[:, 9:])


def shape_boxes(other: Shape, rows_t: Floats, rows_o: Floats, count: int) -> tuple[Floats, Floats]:
    """(count, 3) lower and upper corners of a shape in the terrain's frame; infinite for one without end."""
    lower, upper = other._bounds(in_frame(rows_t, rows_o))
    return tuple(np.array(np.broadcast_to(one, (count, 3))) for one in (lower, upper))  # type: ignore[return-value]


def swept_boxes(
    other: Shape, rows_t: Floats, rows_o: Floats, move_t: Floats, move_o: Floats, count: int, inner: Floats = IDENTITY
) -> tuple[Floats, Floats]:
    """The same of all places that a shape passes, for motions (N, 3) or (N, 6) of both. `inner`: of the shape in the frame
    that turns."""
    if move_t.shape[1] == 3:
        lower, upper = shape_boxes(other, rows_t, rows_o, count)
        way = vectors_in_frame(rows_t, move_o - move_t)
        return lower + np.minimum(way, 0.0), upper + np.maximum(way, 0.0)
    # A ball about the origin of the frame that turns holds the shape; in the terrain's frame it goes by at most what the two
    # motions and the terrain's own rotation allow.
    start = np.broadcast_to(in_frame(rows_t, rows_o)[:, 9:], (count, 3))
    radius = reach_about_origin(other, inner)
    way = vectors_in_frame(rows_t, move_o[:, :3] - move_t[:, :3])
    turn = np.linalg.norm(move_t[:, 3:], axis=1)
    apart = np.linalg.norm(start, axis=1) + np.linalg.norm(way, axis=1) + radius
    lower, upper = start + np.minimum(way, 0.0), start + np.maximum(way, 0.0)
    room = (radius + turn * apart)[:, None] if turn.any() else np.full((count, 1), radius)
    return lower - room, upper + room


def tile_ranges(manifest: Manifest, lower: Floats, upper: Floats) -> tuple[Ints, Ints]:
    """(N, 3) first and last keys of the tiles that may reach into boxes; first > last along an axis for none."""
    first, last = np.empty(lower.shape, np.int64), np.empty(lower.shape, np.int64)
    for axis in range(3):
        begin, count, size = manifest.first[axis], manifest.count[axis], manifest.tile_size[axis]
        if size > 0.0:
            corner = manifest.corner[axis]
            far = size * (abs(begin) + count + 2.0) + abs(corner)
            room = manifest.overhang + PLACE_SLACK * far
            low = np.clip((lower[:, axis] - room - corner) / size, begin - 1.0, begin + count + 1.0)
            high = np.clip((upper[:, axis] + room - corner) / size, begin - 1.0, begin + count + 1.0)
            # A tile that ends where the box begins touches it: the room sees to that.
            first[:, axis] = np.maximum(np.floor(low).astype(np.int64), begin)
            last[:, axis] = np.minimum(np.floor(high).astype(np.int64), begin + count - 1)
        else:
            first[:, axis], last[:, axis] = begin, begin + count - 1
    return first, last


def range_pairs(manifest: Manifest, first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """(row, number of the tile in the grid) of every tile in the rows' ranges, by row."""
    many = np.maximum(last - first + 1, 0)
    total = many.prod(axis=1)
    row = np.repeat(np.arange(len(first)), total)
    place = np.arange(int(total.sum())) - np.repeat(np.cumsum(total) - total, total)
    width, depth = many[row, 0], many[row, 1]
    x, y, z = place % width, place // width % depth, place // (width * depth)
    return row, tile_numbers(manifest, first[row] + np.column_stack([x, y, z]))


def tile_numbers(manifest: Manifest, keys: Ints) -> Ints:
    """Numbers of keys (N, 3) in the grid of the manifest."""
    i, j, k = (keys - np.array(manifest.first)).T
    return (k * manifest.count[1] + j) * manifest.count[0] + i


def key_of(manifest: Manifest, number: int) -> TileKey:
    """And back."""
    rest, i = divmod(number, manifest.count[0])
    k, j = divmod(rest, manifest.count[1])
    return TileKey(i + manifest.first[0], j + manifest.first[1], k + manifest.first[2])


def rows_by_tile(terrain: Terrain, row: Ints, number: Ints) -> Iterator[tuple[TileKey, Ints]]:
    """Each tile that is there and its rows, in the order of the store."""
    manifest, places = terrain.manifest, terrain.places
    order = np.lexsort((row, number))
    row, number = row[order], number[order]
    for part in np.split(np.arange(len(row)), np.flatnonzero(np.diff(number)) + 1):
        if len(part):
            key = key_of(manifest, int(number[part[0]]))
            if key in places:
                yield key, row[part]


def place_boxes(manifest: Manifest, number: Ints, box: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """(N, 3) boxes that hold the ground of tiles by their numbers: their places and the overhang, and, upright, all of the
    terrain's ground, whose box is given."""
    keys = np.empty((len(number), 3))
    rest, keys[:, 0] = np.divmod(number, manifest.count[0])
    keys[:, 2], keys[:, 1] = np.divmod(rest, manifest.count[1])
    keys += np.array(manifest.first)
    size, corner = np.array(manifest.tile_size), np.array(manifest.corner)
    far = np.abs(corner) + size * (np.abs(keys) + 1.0)
    room = manifest.overhang + PLACE_SLACK * far
    lower, upper = corner + keys * size - room, corner + (keys + 1.0) * size + room
    # Ground below a tile need not be straight below.
    room_low, room_high = np.array(manifest.bounds[:3]) - box[0], box[1] - np.array(manifest.bounds[3:])
    flat = size == 0.0
    lower -= np.where(flat | ~np.isfinite(room_low), 0.0, np.maximum(room_low, 0.0))
    upper += np.where(flat, 0.0, np.maximum(room_high, 0.0))
    lower[:, flat], upper[:, flat] = box[0][flat], box[1][flat]
    return lower, upper
