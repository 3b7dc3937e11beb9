"""`Terrain.slide`: cameras that move through a terrain and slide along it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.columns import Columns
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.gates import as_points, as_size, broadcast_rows
from thud.results import CastStatus
from thud.terrain.tiles.euve_pass import euve_tile
from thud.terrain.tiles.sphere_walk import gather_in_reach
from thud.terrain.tiles.swept_sphere import slide_sphere
from thud.terrain.tiles.tolerances import SLIDE_END, SLIDE_SKIN, SLIDE_SKIN_FAR, SLIDE_TILES

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain
    from thud.terrain.tiles.tile import Tile

METHODS = ("slide", "euve")

#: Rows of triangles that there is room for at first.
_ROOM = 512


@dataclass(frozen=True, slots=True, repr=False)
class Slides(Columns):
    """Where N cameras came to."""

    position: Floats
    """(N, 3) metres, in the terrain's frame."""
    hits: Ints
    """(N,) how many times each met the terrain and turned."""
    normal: Floats
    """(N, 3) of the last thing met, from it to the camera; 0 for none, and with "euve"."""
    status: npt.NDArray[np.uint8]
    """(N,) `CastStatus`: MISS or HIT; OVERLAPPING_AT_START, nearer to the terrain than the radius before it moved;
    UNCONVERGED, it turned too often and stopped before its motion was used up."""

    _unit = "camera"
    _words = (("status", CastStatus),)


class _Room:
    """Arrays for triangles, which grow."""

    def __init__(self) -> None:
        self.grow(_ROOM)

    def grow(self, rows: int) -> None:
        self.rows = rows
        self.number, self.corners, self.planes = np.empty(rows, np.int64), np.empty((rows, 9)), np.empty((rows, 4))
        self.visited = np.zeros(2, np.int64)
        self.position, self.normal, self.rest = np.empty(3), np.empty(3), np.empty(3)


def slide(
    terrain: Terrain,
    position: npt.ArrayLike,
    motion: npt.ArrayLike,
    radius: float,
    *,
    method: str = "slide",
    near: float | None = None,
    planes: Floats | None = None,
) -> Slides:
    """See `Terrain.slide`. `planes`: of the frustum, for "euve"."""
    if method not in METHODS:
        raise InvalidInputError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    starts = as_points(position, "position", limit=MESH_COORDINATE)
    motions = as_points(motion, "motion", limit=MESH_COORDINATE)
    size = as_size(radius, "radius")
    if near is not None and not as_size(near, "near") < size:
        raise InvalidInputError(f"radius: {size:g} m; expected more than the near plane's distance, {near:g} m")
    count = broadcast_rows("position, motion", starts, motions)
    starts, motions = (rows if len(rows) == count else np.repeat(rows, count, axis=0) for rows in (starts, motions))
    found = Slides(np.empty((count, 3)), np.zeros(count, np.int64), np.zeros((count, 3)), np.zeros(count, np.uint8))
    room = _Room()
    for row in range(count):
        one = _slide_euve if method == "euve" else _slide_all
        one(terrain, starts[row], motions[row], size, room, found, row, planes)
        terrain.stream_one(row, starts[row], motions[row], size)
    return found


def _slide_all(
    terrain: Terrain, start: Floats, motion: Floats, radius: float, room: _Room, found: Slides, row: int, planes: Floats | None
) -> None:
    """All trees in reach; faces, edges and vertices; until the motion is used up."""
    here, rest, whole, status = start, motion, math.sqrt(float(motion @ motion)), 0
    long = SLIDE_TILES * max(terrain.least_tile, terrain.manifest.overhang)
    while True:
        # Plain numbers: arrays of three take ten times as long.
        (x, y, z), (u, v, w) = here.tolist(), rest.tolist()
        length, way = math.sqrt(u * u + v * v + w * w), math.inf
        skin = max(SLIDE_SKIN * radius, SLIDE_SKIN_FAR * (max(abs(x), abs(y), abs(z)) + max(abs(u), abs(v), abs(w))))
        if length > long:
            # Piece by piece: what is within the length of one is all that is ever collected.
            piece = max(long, radius, terrain.way_to_tiles((x, y, z)) - 2.0 * radius)
            length, way = (piece, piece) if piece < length else (length, way)
        # Sliding makes no way longer: no triangle farther away can be met.
        reach = length * (1.0 + SLIDE_SKIN) + radius + 2.0 * skin
        triangles = _gather(terrain, here, reach, room)
        limits = (radius, skin, way, SLIDE_END * whole)
        hits, state = slide_sphere(room.corners, triangles, rest, *limits, room.position, room.normal, room.rest)
        if hits:
            found.normal[row] = room.normal
        found.hits[row] += hits
        # Only of the start it is said that it is too near.
        status = state if here is start or state == CastStatus.UNCONVERGED else max(status, min(state, 1))
        here, rest = here + room.position, room.rest.copy()
        if not rest.any():
            break
    found.position[row], found.status[row] = here, status


def _gather(terrain: Terrain, center: Floats, reach: float, room: _Room) -> int:
    """All triangles in reach of a point, written from it on; returns how many."""
    x, y, z = center.tolist()
    tiles = terrain.tiles_near((x - reach, y - reach, z - reach), (x + reach, y + reach, z + reach))
    while True:
        triangles = 0
        for tile in tiles:
            arguments = (center, reach, triangles, room.number, room.corners, room.planes, room.visited)
            triangles = int(gather_in_reach(tile.arrays, *arguments))
        if triangles <= room.rows:
            return triangles
        room.grow(2 * triangles)


def _slide_euve(
    terrain: Terrain, start: Floats, motion: Floats, radius: float, room: _Room, found: Slides, row: int, planes: Floats | None
) -> None:
    """One pass over the trees in the frustum, in the order of the store."""
    future = start + motion
    reach = 0.5 * math.sqrt(float(motion @ motion)) + radius
    middle = 0.5 * (start + future)
    hits = 0
    for tile in terrain.tiles_near(middle - reach, middle + reach):
        if planes is not None and not _in_frustum(tile, planes):
            continue
        while True:
            arguments = (room.number, room.corners, room.planes, room.visited)
            before = future.copy()
            one = int(euve_tile(tile.arrays, start, future, radius, *arguments))
            if one >= 0:
                break
            future = before
            room.grow(-2 * one)
        hits += one
    found.position[row], found.hits[row], found.status[row] = future, hits, int(hits > 0)


def _in_frustum(tile: Tile, planes: Floats) -> bool:
    """Whether the sphere of a tile lies behind no plane."""
    center, radius = tile.sphere
    return bool((planes[:, :3] @ center + planes[:, 3] >= -radius * np.linalg.norm(planes[:, :3], axis=1)).all())
