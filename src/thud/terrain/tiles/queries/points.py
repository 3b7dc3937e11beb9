"""Points and a terrain: are they in the ground, where is its surface nearest, how high is it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.pairing.ask import ask_shape, check_reach
from thud.results import ClosestPoints
from thud.shapes.shape import IDENTITY
from thud.terrain.tiles.queries.names import tile_names
from thud.terrain.tiles.queries.pairs import box_gaps, each_tile, grow_until_sure, nearest_first
from thud.terrain.tiles.queries.rays import local_crossings, raycast
from thud.terrain.tiles.queries.reach import points_in_frame
from thud.terrain.tiles.queries.windows import Window
from thud.terrain.tiles.record import KINDS, TRIANGLES

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain

_STILL = IDENTITY[None]


def contains(terrain: Terrain, points: Floats, rows: Floats, count: int, *, threads: int | None) -> Bools:
    """Whether points are in the ground. That of triangles lies behind them: a point is in it where a line straight up leaves
    the ground more often than it enters it."""
    check_reach(points, "points")
    check_reach(rows, "pose")
    local = np.ascontiguousarray(np.broadcast_to(points_in_frame(rows, points), (count, 3)))
    return local_contains(terrain, local, threads)


def local_contains(terrain: Terrain, local: Floats, threads: int | None) -> Bools:
    """The same in the terrain's frame."""
    inside = np.zeros(len(local), dtype=bool)
    if KINDS[terrain.manifest.kind] == TRIANGLES:
        up = np.tile([0.0, 0.0, 1.0], (len(local), 1))
        found = local_crossings(terrain, local, up, math.inf, threads)
        crossed = np.zeros(len(local), dtype=np.int64)
        np.add.at(crossed, found.row, np.sign(found.normal[:, 2]).astype(np.int64))
        inside = crossed > 0
        inside[found.row[found.distance == 0.0]] = True
        return inside
    for shape, near in each_tile(terrain, local, local):
        ask = near[~inside[near]]
        if len(ask):
            points = np.ascontiguousarray(local[ask])
            inside[ask] = ask_shape("contains", shape, points, rows=_STILL, count=len(ask), threads=threads)
    return inside


def closest_point(
    terrain: Terrain, points: Floats, rows: Floats, count: int, *, signed: bool, threads: int | None
) -> ClosestPoints:
    """The nearest point of the surface; signed: negative in the ground."""
    check_reach(points, "points")
    check_reach(rows, "pose")
    local = np.ascontiguousarray(np.broadcast_to(points_in_frame(rows, points), (count, 3)))
    solid = KINDS[terrain.manifest.kind] != TRIANGLES
    inside = local_contains(terrain, local, threads) if solid or signed else np.zeros(count, dtype=bool)
    out = ClosestPoints(np.full(count, math.inf), np.zeros((count, 3)), np.full(count, -1, dtype=np.int64))
    best = np.full(count, math.inf)
    outer = np.flatnonzero(~inside) if solid else np.arange(count)

    def ask(ground: Any, part: Ints) -> None:
        at = outer[part]
        low, high = ground.box
        keep = box_gaps(local[at], local[at], low, high) <= best[part]
        part, at = part[keep], at[keep]
        if len(at) == 0:
            return
        found = _closest(terrain.tile_shape(ground), local[at], threads)
        names = tile_names(terrain.manifest, ground)
        nearer = found.distance < out.distance[at]
        _put(out, at[nearer], found, nearer, names.triangles(found.triangle))
        best[part] = np.minimum(best[part], found.distance)

    nearest_first(terrain, local[outer], local[outer], best[: len(outer)], ask)
    deep = np.flatnonzero(inside) if solid else np.empty(0, np.int64)

    def look(window: Window, part: Ints) -> ClosestPoints:
        found = _closest(window.shape, local[deep[part]], threads)
        return ClosestPoints(found.distance, found.point, window.names.triangles(found.triangle))

    def put(part: Ints, found: ClosestPoints, _sure: bool) -> None:
        _put(out, deep[part], found, slice(None), found.triangle)

    grow_until_sure(terrain, local[deep], local[deep], terrain.apron, look, lambda found, _n: found.distance, put)
    turn = np.broadcast_to(rows[:, :9].reshape(-1, 3, 3), (count, 3, 3))
    world = np.einsum("nij,nj->ni", turn, out.point) + rows[:, 9:]
    # A point of the surface is its own closest point.
    world = np.where(out.distance[:, None] == 0.0, np.broadcast_to(points, (count, 3)), world)
    distance = np.where(inside, -out.distance, out.distance) if signed else out.distance
    distance[distance == 0.0] = 0.0
    return ClosestPoints(distance, world, out.triangle)


def _closest(shape: Any, points: Floats, threads: int | None) -> ClosestPoints:
    where = np.ascontiguousarray(points)
    return ask_shape("closest_point", shape, where, rows=_STILL, count=len(where), signed=False, threads=threads)


def _put(out: ClosestPoints, rows: Ints, found: ClosestPoints, chosen: Any, triangle: Ints) -> None:
    out.distance[rows], out.point[rows] = np.abs(found.distance[chosen]), found.point[chosen]
    out.triangle[rows] = triangle[chosen]


def height(terrain: Terrain, places: Floats, threads: int | None) -> Floats:
    """(N,) height of the highest surface over places (N, 2); NaN where there is none."""
    top = float(terrain.box[1][2])
    above = top + 1.0 + 2.0**-20 * abs(top)
    start = np.column_stack([places, np.full(len(places), above)])
    down = np.tile([0.0, 0.0, -1.0], (len(places), 1))
    found = raycast(terrain, start, down, _STILL, len(places), reach=math.inf, any_hit=False, threads=threads)
    return np.where(np.isfinite(found.distance), above - np.where(np.isfinite(found.distance), found.distance, 0.0), math.nan)
