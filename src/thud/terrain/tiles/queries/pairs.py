"""Queries of a terrain and another shape, from checked arguments to the tiles' own queries; the terrain is A. For the pair
table.

Whether something meets the ground, and how far it is from it, is asked of each tile by itself: the ground is the union of the
tiles' ground. Contacts, depths and first contacts, whose normals are those of the surface, are asked of windows in which the
tiles are stitched together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.convex.dispatch import empty_distances
from thud.pairing.advance import moved
from thud.pairing.ask import ask_pair
from thud.pairing.groups import ContactList
from thud.pairing.join import put_rows
from thud.pairing.leaves import some_rows
from thud.pairing.motions import empty_impacts
from thud.results import CastStatus, Contacts, Distances, Impacts, Status
from thud.shapes.shape import IDENTITY, Shape
from thud.terrain.tiles.queries.names import named_contacts
from thud.terrain.tiles.queries.reach import (
    place_boxes,
    range_pairs,
    rows_by_tile,
    shape_boxes,
    swept_boxes,
    tile_ranges,
    vectors_in_frame,
)
from thud.terrain.tiles.queries.windows import Window, rows_by_window
from thud.terrain.tiles.tolerances import CAST_OVERLAP, CAST_TILES

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain


def is_endless(other: Shape) -> bool:
    """Whether a shape has no end, such as a half-space: it reaches all tiles, and is asked of them one by one."""
    return not other.bounding_sphere()[1] < math.inf


def each_tile(terrain: Terrain, lower: Floats, upper: Floats) -> Iterator[tuple[Any, Ints]]:
    """The shape of each tile that boxes reach, and their rows."""
    row, number = range_pairs(terrain.manifest, *tile_ranges(terrain.manifest, lower, upper))
    for key, rows in rows_by_tile(terrain, row, number):
        ground = terrain.ground(key)
        low, high = ground.box
        near = rows[((lower[rows] <= high) & (upper[rows] >= low)).all(axis=1)]
        if len(near):
            yield terrain.tile_shape(ground), near


def intersects(terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, *, threads: int | None) -> Bools:
    """Whether the shape touches the ground."""
    hit = np.zeros(count, dtype=bool)
    for shape, rows in each_tile(terrain, *shape_boxes(other, rows_t, rows_o, count)):
        ask = rows[~hit[rows]]
        if len(ask):
            poses = some_rows(rows_t, ask, count), some_rows(rows_o, ask, count)
            hit[ask] = ask_pair("intersects", shape, other, *poses, len(ask), threads=threads)
    return hit


# Distances ---------------------------------------------------------------------------------------------------------------


def box_gaps(lower: Floats, upper: Floats, low: Floats, high: Floats) -> Floats:
    """(N,) distances of boxes."""
    gap = np.maximum(np.maximum(low - upper, lower - high), 0.0)
    return np.sqrt((gap * gap).sum(axis=1))


def nearest_first(terrain: Terrain, lower: Floats, upper: Floats, best: Floats, ask: Callable[[Any, Ints], None]) -> None:
    """Ask the tiles about boxes, ring by ring, until none that was not asked can be nearer than `best`, which `ask(ground,
    rows)` makes smaller."""
    manifest = terrain.manifest
    tile = min(size for size in manifest.tile_size if size > 0.0)
    live = np.arange(len(lower))
    ring = 0.5 * tile
    before: tuple[Ints, Ints] | None = None
    while len(live):
        # A row that is farther from the terrain than the ring begins where it meets it.
        first, last = tile_ranges(manifest, lower[live] - ring, upper[live] + ring)
        row, number = range_pairs(manifest, first, last)
        if before is not None and len(row):
            keys = _grid_keys(manifest, number)
            asked = ((keys >= before[0][live][row]) & (keys <= before[1][live][row])).all(axis=1)
            row, number = row[~asked], number[~asked]
        every = live[row]
        bound = box_gaps(lower[every], upper[every], *place_boxes(manifest, number, terrain.box)) if len(row) else np.empty(0)
        _ask_tiles(terrain, every, number, bound, best, ask)
        if before is None:
            before = np.empty((len(lower), 3), np.int64), np.empty((len(lower), 3), np.int64)
        before[0][live], before[1][live] = first, last
        whole = (first == np.array(manifest.first)) & (last == np.array(manifest.first) + np.array(manifest.count) - 1)
        live = live[~((best[live] <= ring) | whole.all(axis=1))]
        ring *= 2.0


def _grid_keys(manifest: Any, number: Ints) -> Ints:
    rest, i = np.divmod(number, manifest.count[0])
    k, j = np.divmod(rest, manifest.count[1])
    return np.column_stack([i, j, k]) + np.array(manifest.first)


def _ask_tiles(
    terrain: Terrain, row: Ints, number: Ints, bound: Floats, best: Floats, ask: Callable[[Any, Ints], None]
) -> None:
    """Tiles of one ring, that with the smallest bound first."""
    if len(row) == 0:
        return
    order = np.lexsort((row, number))
    row, number, bound = row[order], number[order], bound[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
    least = np.minimum.reduceat(bound, starts)
    ends = np.append(starts[1:], len(row))
    for k in np.lexsort((number[starts], least)).tolist():
        part = slice(starts[k], ends[k])
        chosen = bound[part] <= best[row[part]]
        for key, rows in rows_by_tile(terrain, row[part][chosen], number[part][chosen]):
            ask(terrain.ground(key), rows)


def distance(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, *, reach: float = math.inf, threads: int | None
) -> Distances:
    """Unsigned distances with witness points."""
    out = empty_distances(count)
    out.distance[:], out.point_a[:], out.point_b[:], out.normal[:] = math.inf, 0.0, 0.0, 0.0
    out.status[:] = Status.SEPARATED
    lower, upper = shape_boxes(other, rows_t, rows_o, count)
    best = np.full(count, reach)

    def ask(ground: Any, rows: Ints) -> None:
        low, high = ground.box
        rows = rows[box_gaps(lower[rows], upper[rows], low, high) <= best[rows]]
        if len(rows) == 0:
            return
        poses = some_rows(rows_t, rows, count), some_rows(rows_o, rows, count)
        found = ask_pair("distance", terrain.tile_shape(ground), other, *poses, len(rows), reach=reach, threads=threads)
        nearer = found.distance < out.distance[rows]
        put_rows(out, rows[nearer], _rows(found, nearer))
        best[rows] = np.minimum(best[rows], found.distance)

    nearest_first(terrain, lower, upper, best, ask)
    return out


def _rows(found: Any, chosen: Any) -> Any:
    return type(found)(*(getattr(found, name)[chosen] for name in found.__dataclass_fields__))


def signed_distance(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, *, reach: float = math.inf, threads: int | None
) -> Distances:
    """In the ground: the negative length of a way out."""
    if is_endless(other):
        return _of_all_tiles("signed_distance", terrain, other, rows_t, rows_o, count, reach=reach, threads=threads)
    out = distance(terrain, other, rows_t, rows_o, count, reach=reach, threads=threads)
    inside = np.flatnonzero(out.distance == 0.0)
    if len(inside) == 0:
        return out
    poses = some_rows(rows_t, inside, count), some_rows(rows_o, inside, count)
    lower, upper = shape_boxes(other, *poses, len(inside))

    def ask(window: Window, rows: Ints) -> Distances:
        here = some_rows(poses[0], rows, len(inside)), some_rows(poses[1], rows, len(inside))
        return ask_pair("signed_distance", window.shape, other, *here, len(rows), reach=reach, threads=threads)

    def put(rows: Ints, found: Distances, sure: bool) -> None:
        put_rows(out, inside[rows], found)
        if not sure:
            out.status[inside[rows]] = Status.UNCONVERGED

    grow_until_sure(terrain, lower, upper, terrain.apron, ask, lambda found, n: -found.distance, put)
    return out


def grow_until_sure(
    terrain: Terrain, lower: Floats, upper: Floats, room: float, ask: Callable[[Window, Ints], Any],
    reached: Callable[[Any, int], Floats], put: Callable[[Ints, Any, bool], None],
) -> None:  # fmt: skip
    """Ask windows that hold the rows' boxes and some room about them; rows whose answer reaches farther than the room are asked
    again with more.

    ask(window, rows) -> answer; reached(answer, rows) -> (N,) metres; put(rows, answer, whether it is sure)
    """
    live, size = np.arange(len(lower)), np.full(len(lower), room)
    while len(live):
        again: list[Ints] = []
        wide = size[live][:, None]
        for window, part in rows_by_window(terrain, lower[live] - wide, upper[live] + wide):
            if window.shape is None:
                continue
            rows = live[part]
            found = ask(window, rows)
            far = np.minimum(reached(found, len(rows)), 1e300)
            more = far > size[rows]
            if window.whole or not window.stitched:
                more[:] = False
            size[rows[more]] = 2.0 * far[more]
            again.append(rows[more])
            kept = np.flatnonzero(~more)
            if len(kept) == len(rows):
                put(rows, found, window.stitched)
            elif len(kept):
                put(rows[kept], some_of(found, kept), True)
        live = np.sort(np.concatenate([np.empty(0, np.int64), *again]))


def some_of(found: Any, kept: Ints) -> Any:
    """Some rows of an answer."""
    if not isinstance(found, Contacts):
        return _rows(found, kept)
    place = np.full(len(found.status), -1)
    place[kept] = np.arange(len(kept))
    chosen = place[found.row] >= 0
    columns = {name: getattr(found, name)[chosen] for name in found.__dataclass_fields__ if name != "status"}
    columns["row"] = place[columns["row"]]
    return Contacts(**columns, status=found.status[kept])


# Contacts ----------------------------------------------------------------------------------------------------------------


def contacts(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, *, margin: float, max_points: int,
    threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points; ids are those of the terrain, whatever window found them."""
    return _touching(
        "contacts", terrain, other, rows_t, rows_o, count, margin, {"margin": margin, "max_points": max_points}, threads
    )


def overlap_patches(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, *, max_points: int, threads: int | None
) -> Contacts:
    """What `thud.overlap_patches` says."""
    return _touching("overlap_patches", terrain, other, rows_t, rows_o, count, 0.0, {"max_points": max_points}, threads)


def _touching(
    query: str, terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, margin: float,
    given: dict[str, Any], threads: int | None,
) -> Contacts:  # fmt: skip
    listed = ContactList(count)
    if is_endless(other):
        every = np.arange(count)
        for shape, names in terrain.all_shapes():
            found = ask_pair(query, shape, other, rows_t, rows_o, count, threads=threads, **given)
            before = listed.status.copy()
            listed.put(every, named_contacts(found, names))
            np.maximum(listed.status, before, out=listed.status)
        return listed.joined()
    lower, upper = shape_boxes(other, rows_t, rows_o, count)

    def ask(window: Window, rows: Ints) -> Contacts:
        poses = some_rows(rows_t, rows, count), some_rows(rows_o, rows, count)
        found = ask_pair(query, window.shape, other, *poses, len(rows), threads=threads, **given)
        return named_contacts(found, window.names)

    def deepest(found: Contacts, rows: int) -> Floats:
        deep = np.zeros(rows)
        np.maximum.at(deep, found.row, found.depth)
        return deep

    grow_until_sure(
        terrain, lower - margin, upper + margin, terrain.apron, ask, deepest, lambda rows, part, _: listed.put(rows, part)
    )
    return listed.joined()


def _of_all_tiles(query: str, terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, **given: Any) -> Any:
    """A shape without end, of each tile by itself: nearest, deepest or first of all."""
    best: Any = None
    for shape, _names in terrain.all_shapes():
        found = ask_pair(query, shape, other, rows_t, rows_o, count, **given)
        if best is None:
            best = found
            continue
        value = "time" if isinstance(found, Impacts) else "distance"
        sooner = getattr(found, value) < getattr(best, value)
        if isinstance(found, Impacts):
            sooner |= (found.time == best.time) & (found.status > best.status)
        put_rows(best, np.flatnonzero(sooner), _rows(found, sooner))
    return best


# Casts -------------------------------------------------------------------------------------------------------------------


def cast(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats,
    threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 3)."""
    return _cast("cast", terrain, other, rows_t, rows_o, count, move_a, move_b, IDENTITY, IDENTITY, threads)


def turning_cast(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats,
    inner_a: Floats = IDENTITY, inner_b: Floats = IDENTITY, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 6)."""
    return _cast("turning_cast", terrain, other, rows_t, rows_o, count, move_a, move_b, inner_a, inner_b, threads)


def _cast(
    query: str, terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, count: int, move_t: Floats, move_o: Floats,
    inner_t: Floats, inner_o: Floats, threads: int | None,
) -> Impacts:  # fmt: skip
    given: dict[str, Any] = {"inner_a": inner_t, "inner_b": inner_o} if query == "turning_cast" else {}
    if is_endless(other):
        return _of_all_tiles(
            query, terrain, other, rows_t, rows_o, count, move_a=move_t, move_b=move_o, threads=threads, **given
        )  # fmt: skip
    out = empty_impacts(count)
    out.time[:], out.point[:], out.normal[:], out.status[:] = math.inf, 0.0, 0.0, CastStatus.MISS
    rows_t, rows_o, move_t, move_o = (
        np.ascontiguousarray(np.broadcast_to(array, (count, array.shape[1]))) for array in (rows_t, rows_o, move_t, move_o)
    )
    pieces = _pieces(terrain, other, rows_t, rows_o, move_t, move_o, count, inner_o)
    step, last = _steps_inside(terrain, other, rows_t, rows_o, move_t, move_o, pieces, inner_o)
    live = np.flatnonzero(step <= last)
    while len(live):
        share = 1.0 / pieces[live]
        begin = np.maximum(step[live] - CAST_OVERLAP, 0.0) * share
        length = np.minimum((step[live] + 1.0) * share, 1.0) - begin
        length[pieces[live] == 1] = 1.0
        place_t, place_o = (
            _at(rows[live], move[live], begin) if begin.any() else rows[live]
            for rows, move in ((rows_t, move_t), (rows_o, move_o))
        )  # fmt: skip
        part_t, part_o = move_t[live] * length[:, None], move_o[live] * length[:, None]
        found = _cast_piece(query, terrain, other, place_t, place_o, part_t, part_o, inner_o, given, threads)
        known = found.status != CastStatus.MISS
        at = live[known]
        time = begin[known] + length[known] * np.minimum(found.time[known], 1.0)
        out.time[at] = np.where(pieces[at] == 1, found.time[known], time)
        out.point[at], out.normal[at], out.status[at] = found.point[known], found.normal[known], found.status[known]
        # What a piece begins in was not there at the end of the one before: it is a contact.
        begun = at[(out.status[at] == CastStatus.OVERLAPPING_AT_START) & (step[at] > 0)]
        out.status[begun] = CastStatus.UNCONVERGED
        step[live] += 1
        live = live[~known & (step[live] <= last[live])]
    return out


def _steps_inside(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, move_t: Floats, move_o: Floats, pieces: Ints, inner: Floats
) -> tuple[Ints, Ints]:
    """(N,) first and last of the pieces of each motion in which the shape's box reaches the ground's; all where something
    turns."""
    first, last = np.zeros(len(pieces), np.int64), pieces - 1
    if move_t.shape[1] != 3 or pieces.max(initial=1) == 1:
        return first, last
    lower, upper = swept_boxes(other, rows_t, rows_o, 0.0 * move_t, 0.0 * move_o, len(pieces), inner)
    way = vectors_in_frame(rows_t, move_o - move_t)
    low, high = terrain.box
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (low - upper) / way, (high - lower) / way
    apart = (way == 0.0) & ((lower > high) | (upper < low))
    begin = np.where(way == 0.0, np.where(apart, math.inf, -math.inf), np.minimum(one, two)).max(axis=1)
    end = np.where(way == 0.0, np.where(apart, -math.inf, math.inf), np.maximum(one, two)).min(axis=1)
    # A piece to spare on both sides.
    inside = np.clip(begin, 0.0, 2.0) <= np.clip(end, -1.0, 1.0)
    first = np.where(inside, np.floor(np.clip(begin, 0.0, 1.0) * pieces) - 1.0, pieces).astype(np.int64)
    last = np.where(inside, np.floor(np.clip(end, 0.0, 1.0) * pieces) + 1.0, -1).astype(np.int64)
    return np.where(pieces == 1, 0, np.maximum(first, 0)), np.where(pieces == 1, 0, np.minimum(last, pieces - 1))


def _at(rows: Floats, motion: Floats, time: Floats) -> Floats:
    whole = np.zeros((len(rows), 6))
    whole[:, : motion.shape[1]] = motion
    if motion.shape[1] == 3:
        found = rows.copy()
        found[:, 9:] += motion * time[:, None]
        return found
    return np.ascontiguousarray(moved(rows, whole, time))


def _pieces(
    terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, move_t: Floats, move_o: Floats, count: int, inner: Floats
) -> Ints:
    """(N,) into how many pieces a motion is cut, so that none needs a large window."""
    low, high = swept_boxes(other, rows_t, rows_o, move_t, move_o, count, inner)
    still = swept_boxes(other, rows_t, rows_o, 0.0 * move_t, 0.0 * move_o, count, inner)
    size = np.maximum(np.array(terrain.manifest.tile_size), terrain.manifest.overhang)
    across = np.array(terrain.manifest.tile_size) > 0.0
    way = ((high - low) - (still[1] - still[0]))[:, across] / (CAST_TILES * size[across])
    return np.clip(np.ceil(way.max(axis=1)), 1, 2**20).astype(np.int64)


def _cast_piece(
    query: str, terrain: Terrain, other: Shape, rows_t: Floats, rows_o: Floats, move_t: Floats, move_o: Floats, inner: Floats,
    given: dict[str, Any], threads: int | None,
) -> Impacts:  # fmt: skip
    count = len(rows_t)
    out = empty_impacts(count)
    out.time[:], out.point[:], out.normal[:], out.status[:] = math.inf, 0.0, 0.0, CastStatus.MISS
    lower, upper = swept_boxes(other, rows_t, rows_o, move_t, move_o, count, inner)
    low, high = np.array(terrain.box[0]), np.array(terrain.box[1])
    near = np.flatnonzero(((lower <= high) & (upper >= low)).all(axis=1))
    for window, part in rows_by_window(terrain, lower[near] - terrain.apron, upper[near] + terrain.apron):
        if window.shape is None:
            continue
        rows = near[part]
        options: dict[str, Any] = given | {"threads": threads}
        options |= {"move_a": np.ascontiguousarray(move_t[rows]), "move_b": np.ascontiguousarray(move_o[rows])}
        poses = np.ascontiguousarray(rows_t[rows]), np.ascontiguousarray(rows_o[rows])
        found = ask_pair(query, window.shape, other, *poses, len(rows), **options)
        put_rows(out, rows, found)
    return out
