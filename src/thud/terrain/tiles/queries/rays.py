"""Rays against a terrain, tile by tile along them.

A height tile by itself ends in upright walls. Those between two tiles are inside the ground: a crossing of such a wall is no
crossing of the terrain, unless it is on the upper edge, to a roundoff, where the ray passes from the surface of one tile to
that of the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.bvh.height_tree import HOLE, SCALE, SHIFT, SPACING_X, SPACING_Y, HeightGrid
from thud.gates import unit
from thud.pairing.ask import ask_shape
from thud.results import RayCrossings, RayHits
from thud.shapes.shape import IDENTITY
from thud.terrain.tiles.ground_tile import GroundTile
from thud.terrain.tiles.queries.names import tile_names
from thud.terrain.tiles.queries.reach import points_in_frame, range_pairs, rows_by_tile, tile_ranges, vectors_in_frame
from thud.terrain.tiles.record import HEIGHTS, KINDS, TileKey
from thud.terrain.tiles.tolerances import RAY_EDGE, RAY_PIECE

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain

_STILL = IDENTITY[None]


def raycast(
    terrain: Terrain, origins: Floats, directions: Floats, rows: Floats, count: int, *, reach: float, any_hit: bool,
    threads: int | None,
) -> RayHits:  # fmt: skip
    """First hits, from either side."""
    along = unit(directions)
    local, way = _local(rows, origins, along, count)
    best = np.full(count, math.inf)
    normal, triangle = np.zeros((count, 3)), np.full(count, -1, dtype=np.int64)

    def ask(ground: GroundTile, at: Ints) -> None:
        shape, names = terrain.tile_shape(ground), tile_names(terrain.manifest, ground)
        start, toward = np.ascontiguousarray(local[at]), np.ascontiguousarray(way[at])
        options: dict[str, Any] = {"rows": _STILL, "count": len(at), "reach": reach, "threads": threads}
        found = ask_shape("raycast", shape, start, toward, any_hit=any_hit, **options)
        distance, normals, triangles = found.distance, found.normal, found.triangle
        if ground.kind == HEIGHTS:
            walls = np.flatnonzero(np.isfinite(distance) & (normals[:, 2] == 0.0))
            ghost, top = _inner_walls(terrain, ground, triangles[walls], normals[walls], found.point[walls])
            again, edge = walls[ghost], walls[top]
            normals[edge] = _top_normals(ground.tile.arrays.grid, triangles[edge])
            if len(again):
                part = options | {"count": len(again)}
                every = ask_shape("raycast_all", shape, start[again], toward[again], **part)
                every = _real(terrain, ground, every)
                distance[again], normals[again], triangles[again] = math.inf, 0.0, -1
                first = np.unique(every.row, return_index=True)[1]
                to = again[every.row[first]]
                distance[to], normals[to], triangles[to] = every.distance[first], every.normal[first], every.triangle[first]
        nearer = distance < best[at]
        to = at[nearer]
        best[to], normal[to] = distance[nearer], normals[nearer]
        triangle[to] = names.triangles(triangles[nearer])

    _along(terrain, local, way, reach, best, ask)
    hit = np.isfinite(best)
    point = np.where(hit[:, None], origins + np.where(hit, best, 0.0)[:, None] * along, 0.0)
    return RayHits(best, point, _turned(rows, normal, count), triangle)


def raycast_all(
    terrain: Terrain, origins: Floats, directions: Floats, rows: Floats, count: int, *, reach: float, threads: int | None
) -> RayCrossings:
    """All crossings."""
    along = unit(directions)
    local, way = _local(rows, origins, along, count)
    found = local_crossings(terrain, local, way, reach, threads)
    start, toward = (np.broadcast_to(array, (count, 3))[found.row] for array in (origins, along))
    normal = _turned(rows if len(rows) == 1 else rows[found.row], found.normal, len(found.row))
    return RayCrossings(found.row, found.distance, start + found.distance[:, None] * toward, normal, found.triangle)


def local_crossings(terrain: Terrain, local: Floats, way: Floats, reach: float, threads: int | None) -> RayCrossings:
    """All crossings of rays in the terrain's frame, in order."""
    count = len(local)
    parts: list[RayCrossings] = []

    def ask(ground: GroundTile, at: Ints) -> None:
        shape, names = terrain.tile_shape(ground), tile_names(terrain.manifest, ground)
        start, toward = np.ascontiguousarray(local[at]), np.ascontiguousarray(way[at])
        found = ask_shape(
            "raycast_all", shape, start, toward, rows=_STILL, count=len(at), reach=reach, threads=threads
        )  # fmt: skip
        if ground.kind == HEIGHTS:
            found = _real(terrain, ground, found)
        parts.append(
            RayCrossings(at[found.row], found.distance, found.point, found.normal, names.triangles(found.triangle))
        )  # fmt: skip

    _along(terrain, local, way, reach, np.full(count, math.inf), ask)
    if not parts:
        none = np.empty(0, np.int64)
        return RayCrossings(none, np.empty(0), np.empty((0, 3)), np.empty((0, 3)), none)
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in parts[0].__dataclass_fields__}
    order = np.lexsort((columns["triangle"], columns["distance"], columns["row"]))
    columns = {name: column[order] for name, column in columns.items()}
    return RayCrossings(**{name: column[~_twice(terrain, columns, way)] for name, column in columns.items()})


def _twice(terrain: Terrain, columns: dict[str, Any], way: Floats) -> Bools:
    """Crossings on a border that both tiles report: the second of two in different tiles, the same way, in one place."""
    row, distance = columns["row"], columns["distance"]
    tile = columns["triangle"] // 2**32
    facing = np.einsum("ni,ni->n", columns["normal"], way[row]) < 0.0
    again = np.zeros(len(row), dtype=bool)
    near = RAY_EDGE * (np.abs(columns["point"]).max(axis=1) + distance)
    # Those at one place are side by side, but perhaps not next to each other.
    for step in range(1, 4):
        same = (row[step:] == row[:-step]) & (tile[step:] != tile[:-step]) & (facing[step:] == facing[:-step])
        same &= distance[step:] - distance[:-step] <= near[step:]
        again[step:] |= same & ~again[:-step]
    return again


def _local(rows: Floats, origins: Floats, along: Floats, count: int) -> tuple[Floats, Floats]:
    local = np.broadcast_to(points_in_frame(rows, origins), (count, 3))
    way = np.broadcast_to(vectors_in_frame(rows, along), (count, 3))
    return np.ascontiguousarray(local), np.ascontiguousarray(way)


def _turned(rows: Floats, vectors: Floats, count: int) -> Floats:
    return np.einsum("nij,nj->ni", np.broadcast_to(rows[:, :9].reshape(-1, 3, 3), (count, 3, 3)), vectors)


# Along the rays ----------------------------------------------------------------------------------------------------------


def _along(
    terrain: Terrain, local: Floats, way: Floats, reach: float, best: Floats, ask: Callable[[GroundTile, Ints], None]
) -> None:
    """Ask the tiles that rays pass, piece by piece, each once; a ray ends where `best` lies before its next piece."""
    manifest = terrain.manifest
    low, high = terrain.box
    begin, end = _inside_box(local, way, low, high)
    begin, end = np.maximum(begin, 0.0), np.minimum(end, reach)
    length = RAY_PIECE * max(terrain.least_tile, manifest.overhang)
    live = np.flatnonzero(begin <= end)
    at = begin.copy()
    asked = np.empty((0,), np.int64)
    total = int(np.prod(manifest.count))
    while len(live):
        stop = np.minimum(at[live] + length, end[live])
        # A ray straight up or down stays in its place however far it goes.
        flat = np.abs(way[live, :2]).max(axis=1) * np.minimum(end[live] - at[live], 1e300) <= length
        if manifest.tile_size[2] == 0.0:
            stop = np.where(flat, end[live], stop)
        a, b = local[live] + at[live][:, None] * way[live], local[live] + np.minimum(stop, 1e300)[:, None] * way[live]
        first, last = tile_ranges(manifest, np.minimum(a, b), np.maximum(a, b))
        row, number = range_pairs(manifest, first, last)
        code = live[row] * total + number
        fresh = ~np.isin(code, asked)
        asked = np.concatenate([asked, code[fresh]])
        for key, rows in rows_by_tile(terrain, live[row[fresh]], number[fresh]):
            ground = terrain.ground(key)
            enter, leave = _inside_box(local[rows], way[rows], *_roomy(ground.box))
            near = rows[(enter <= leave) & (leave >= 0.0) & (enter <= np.minimum(best[rows], reach))]
            if len(near):
                ask(ground, near)
        at[live] = stop
        live = live[(stop < end[live]) & (best[live] > stop)]
        asked = asked[np.isin(asked // total, live)]


def _roomy(box: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """A little larger, so that roundoff does not decide."""
    room = RAY_EDGE * np.maximum(np.abs(np.where(np.isfinite(box[0]), box[0], 0.0)), np.abs(box[1])).max()
    return box[0] - room, box[1] + room


def _inside_box(local: Floats, way: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """(N,) from when and until when rays are in a box; the first is larger for never."""
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (low - local) / way, (high - local) / way
        still = way == 0.0
        inside = (local >= low) & (local <= high)
    a, b = np.minimum(a, b), np.maximum(a, b)
    a = np.where(still, np.where(inside, -math.inf, math.inf), a)
    b = np.where(still, np.where(inside, math.inf, -math.inf), b)
    return a.max(axis=1), b.min(axis=1)


# Walls -------------------------------------------------------------------------------------------------------------------


def _real(terrain: Terrain, ground: GroundTile, found: RayCrossings) -> RayCrossings:
    """Crossings of a height tile without those of walls inside the ground; those on a wall's upper edge are the surface's."""
    walls = np.flatnonzero(found.normal[:, 2] == 0.0)
    if len(walls) == 0:
        return found
    ghost, top = _inner_walls(terrain, ground, found.triangle[walls], found.normal[walls], found.point[walls])
    normal = found.normal.copy()
    normal[walls[top]] = _top_normals(ground.tile.arrays.grid, found.triangle[walls[top]])
    keep = np.ones(len(found.row), dtype=bool)
    keep[walls[ghost]] = False
    return RayCrossings(found.row[keep], found.distance[keep], found.point[keep], normal[keep], found.triangle[keep])


def _inner_walls(terrain: Terrain, ground: GroundTile, triangle: Ints, normal: Floats, point: Floats) -> tuple[Bools, Bools]:
    """(which walls stand between two tiles' ground, which of the others are hit on an upper edge between two tiles)."""
    grid = ground.tile.arrays.grid
    ghost, top = np.zeros(len(triangle), dtype=bool), np.zeros(len(triangle), dtype=bool)
    j, i = np.divmod(triangle // 2, grid.columns)
    key = ground.tile.key
    # Outward across x or y, at the border of the tile; the ends of the wall's upper edge in samples.
    sides = (
        ((1, 0), (normal[:, 0] == 1.0) & (i == grid.columns - 1)),
        ((-1, 0), (normal[:, 0] == -1.0) & (i == 0)),
        ((0, 1), (normal[:, 1] == 1.0) & (j == grid.rows - 1)),
        ((0, -1), (normal[:, 1] == -1.0) & (j == 0)),
    )
    x, y = float(grid.numbers[SPACING_X]), float(grid.numbers[SPACING_Y])
    for (di, dj), at in sides:
        rows = np.flatnonzero(at)
        if len(rows) == 0:
            continue
        beyond = TileKey(key.i + di, key.j + dj, key.k)
        if beyond not in terrain.places:
            continue
        other = terrain.ground(beyond).tile.arrays.grid
        a, b = i[rows] + (di > 0), j[rows] + (dj > 0)
        c, d = (a, b + 1) if di else (a + 1, b)
        h0, h1 = _sample(grid, b, a), _sample(grid, d, c)
        there = _ground_beyond(grid, other, a, b, c, d, di, dj)
        # How far along the edge, and how deep below it.
        part = (point[rows, 1] - grid.origin[1]) / y - b if di else (point[rows, 0] - grid.origin[0]) / x - a
        edge = h0 + np.clip(part, 0.0, 1.0) * (h1 - h0) + grid.origin[2]
        near = np.abs(point[rows, 2] - edge) <= RAY_EDGE * (np.abs(point[rows]).max(axis=1) + np.abs(h0) + np.abs(h1))
        ghost[rows], top[rows] = there & ~near, there & near
    return ghost, top


def _sample(grid: HeightGrid, j: Ints, i: Ints) -> Floats:
    """Heights in the grid's frame; NaN for holes."""
    raw = (grid.heights64, grid.heights32, grid.heights16)[grid.kind][j, i]
    found = grid.numbers[SCALE] * raw.astype(np.float64) + grid.numbers[SHIFT]
    return np.where(raw == grid.numbers[HOLE], np.nan, found) if grid.kind == 2 else found


def _ground_beyond(grid: HeightGrid, other: HeightGrid, a: Ints, b: Ints, c: Ints, d: Ints, di: int, dj: int) -> Bools:
    """Whether the triangle of the neighbour behind an edge (a, b) - (c, d) of samples is there, with the same edge."""
    shift = (grid.origin[:2] - other.origin[:2]) / grid.numbers[[SPACING_X, SPACING_Y]]
    whole = np.round(shift).astype(np.int64)
    if (np.abs(shift - whole) > 0.01).any():
        return np.zeros(len(a), dtype=bool)
    a, b, c, d = a + whole[0], b + whole[1], c + whole[0], d + whole[1]
    # The third corner: of the triangle towards +y of a cell to the right, and so on.
    e, f = (a + 1, b + 1) if di > 0 else ((a - 1, b) if di < 0 else ((a + 1, b + 1) if dj > 0 else (a, b - 1)))
    inside = np.ones(len(a), dtype=bool)
    for i, j in ((a, b), (c, d), (e, f)):
        inside &= (i >= 0) & (i <= other.columns) & (j >= 0) & (j <= other.rows)
    found = np.zeros(len(a), dtype=bool)
    at = np.flatnonzero(inside)
    corners = [_sample(other, j[at], i[at]) for i, j in ((a, b), (c, d), (e, f))]
    found[at] = ~np.isnan(corners).any(axis=0)
    return found


def _top_normals(grid: HeightGrid, triangle: Ints) -> Floats:
    """(N, 3) unit normals of the tops of triangles."""
    j, i = np.divmod(triangle // 2, grid.columns)
    h00, h10, h01, h11 = (_sample(grid, j + v, i + u) for v, u in ((0, 0), (0, 1), (1, 0), (1, 1)))
    first = triangle % 2 == 0
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    slope = np.where(first, h10 - h00, h11 - h01) / x, np.where(first, h11 - h10, h01 - h00) / y
    found = np.stack([-slope[0], -slope[1], np.ones(len(triangle))], axis=1)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def is_heights(terrain: Terrain) -> bool:
    """Whether the tiles are of heights."""
    return KINDS[terrain.manifest.kind] == HEIGHTS
