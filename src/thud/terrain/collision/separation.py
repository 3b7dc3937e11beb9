"""The way out of the ground: a translation after which a shape is free, and not much longer than need be.

Each contact says how far the shape must go along its normal: n . x >= depth. The shortest translation that does all of this
is a small quadratic programme. At its end there may be new contacts, which are added, and so on until `intersects` finds
none. Where contacts lead from one into the next for ever, free places are looked for all around, farther and farther away.
Contacts of curved ground say a little too much or too little; so the shape is cast back along its way until it
touches, and other directions are tried: those of the contacts; all around, where the way is long, since it may be shorter
through another sheet, into a tunnel, say, that no contact tells of; then such that lean away from the best by less and less.
Whatever is shorter must be free at its end, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import kernel
from thud._core.threads import run_rows
from thud.results import CastStatus, Impacts
from thud.terrain.collision.tolerances import (
    WAY_AROUND,
    WAY_BACK,
    WAY_BATCH,
    WAY_CLEAR,
    WAY_DIRECTIONS,
    WAY_FAR_AROUND,
    WAY_FAR_STEPS,
    WAY_FARTHER,
    WAY_FIRST,
    WAY_GAIN,
    WAY_LEANS,
    WAY_LONG,
    WAY_MARGIN,
    WAY_MOST,
    WAY_PARTS,
    WAY_ROUNDS,
    WAY_SWEEPS,
)


@kernel("i8, i8, i8[::1], f8[:,::1], f8[::1], f8[::1], f8[:,::1]")
def least_translation_rows(start, stop, starts, normals, levels, weights, out):
    """Shortest x with n . x >= level for the constraints starts[row] to starts[row + 1], by dual coordinate ascent (Hildreth).
    weights: work space, one a constraint."""
    for row in range(start, stop):
        x, y, z = 0.0, 0.0, 0.0
        first, last = starts[row], starts[row + 1]
        most = 0.0
        for k in range(first, last):
            weights[k] = 0.0
            most = max(most, abs(levels[k]))
        for _ in range(WAY_SWEEPS):
            moved = 0.0
            for k in range(first, last):
                lack = levels[k] - (normals[k, 0] * x + normals[k, 1] * y + normals[k, 2] * z)
                step = max(lack, -weights[k])
                if step != 0.0:
                    weights[k] += step
                    x, y, z = x + step * normals[k, 0], y + step * normals[k, 1], z + step * normals[k, 2]
                    moved = max(moved, abs(step))
            if moved <= 0.1 * WAY_CLEAR * most:
                break
        out[row, 0], out[row, 1], out[row, 2] = x, y, z


@dataclass
class Ways:
    """Ways out of N rows, in the surface's frame."""

    way: Floats
    """(N, 3)"""
    free: Bools
    """(N,) whether the shape is proven to be free at its end."""


class Asking:
    """The queries of one pair, in the surface's frame, of rows that are moved by a way."""

    def __init__(
        self,
        rows_o: Floats,
        size: float,
        meets: Callable[[Floats], Bools],
        touches: Callable[[Floats, float], tuple[Ints, Floats, Floats]],
        casts: Callable[[Floats, Floats], Impacts],
    ) -> None:
        """rows_o : (N, 12) poses of the shape; size : its radius; meets(poses), touches(poses, margin) -> (row, normal, depth),
        casts(poses, motions)."""
        self.rows_o, self.size = rows_o, size
        self.meets, self.touches, self.casts = meets, touches, casts

    def moved(self, rows: Ints, way: Floats) -> Floats:
        """Poses of some rows, moved."""
        poses = self.rows_o[rows].copy()
        poses[:, 9:] += way
        return poses

    def meets_at(self, rows: Ints, way: Floats) -> Bools:
        """Whether they meet at the end of a way."""
        return self.meets(self.moved(rows, way))

    def tightened(self, rows: Ints, way: Floats) -> Floats:
        """Ways, free at their ends, made shorter until the shape all but touches, and is free still."""
        out = self.casts(self.moved(rows, way), -way)
        time = np.where(out.status == CastStatus.MISS, 1.0, np.where(out.status == CastStatus.HIT, out.time, 0.0))
        length = np.linalg.norm(way, axis=1)
        # Along a slope it takes more of a way to be as clear.
        best = way
        for more in (64.0, 8.0, 1.0):
            clear = more * WAY_CLEAR * (self.size + length)
            other = way * (1.0 - np.maximum(time - clear / np.maximum(length, clear), 0.0))[:, None]
            free = ~self.meets_at(rows, other)
            best = np.where(free[:, None], other, best)
        return np.asarray(best)


def ways_out(ask: Asking, count: int, *, threads: int | None) -> Ways:
    """Ways out of the ground of rows that meet it."""
    way, free = np.zeros((count, 3)), np.zeros(count, dtype=bool)
    held_row, held_normal, held_level = np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0)
    first: tuple[Ints, Floats, Floats] | None = None
    rows = np.arange(count)
    for _ in range(WAY_ROUNDS):
        row, normal, depth = ask.touches(ask.moved(rows, way[rows]), WAY_MARGIN * ask.size)
        row = rows[row]
        if first is None:
            first = row, normal, depth
        level = np.einsum("ni,ni->n", normal, way[row]) + depth + WAY_CLEAR * (ask.size + np.abs(depth))
        held_row, held_normal = np.concatenate([held_row, row]), np.concatenate([held_normal, normal])
        held_level = np.concatenate([held_level, level])
        order = _deepest_first(held_row, held_level)
        held_row, held_normal, held_level = held_row[order], held_normal[order], held_level[order]
        starts = np.searchsorted(held_row, np.append(rows, count)).astype(np.int64)
        found = np.zeros((len(rows), 3))
        arguments = (starts, np.ascontiguousarray(held_normal), held_level.copy(), np.zeros(len(held_level)), found)
        run_rows(least_translation_rows, len(rows), threads, *arguments)
        way[rows] = found
        clear = ~ask.meets_at(rows, found)
        free[rows[clear]] = True
        rows = rows[~clear]
        if len(rows) == 0:
            break
        keep = np.isin(held_row, rows)
        held_row, held_normal, held_level = held_row[keep], held_normal[keep], held_level[keep]
    _search_out(ask, way, free, rows)
    done = np.flatnonzero(free)
    if len(done):
        way[done] = ask.tightened(done, way[done])
    if first is not None and len(done):
        _try_directions(ask, way, done, first)
    return Ways(way, free)


def _deepest_first(row: Ints, level: Floats) -> Ints:
    """Order by row, then by level; of each row the first WAY_MOST."""
    order = np.lexsort((-level, row))
    rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
    return np.asarray(order[rank < WAY_MOST])


def _try(ask: Asking, way: Floats, rows: Ints, direction: Floats, part: float = 1.0 - WAY_GAIN) -> None:
    """Replace ways by shorter ones along unit directions, that are free after this part of the length."""
    tried = part * np.linalg.norm(way[rows], axis=1)[:, None] * direction
    clear = np.flatnonzero(~ask.meets_at(rows, tried)) if len(rows) else np.zeros(0, np.int64)
    if len(clear):
        chosen, tried = rows[clear], tried[clear]
        way[chosen] = ask.tightened(chosen, tried)


def _nearest_of(ask: Asking, way: Floats, rows: Ints, clear: Bools, tried: Floats) -> None:
    """Replace ways by the shortest that comes of the free places found, (R, D) of the ends of (R, D, 3) ways, cast back."""
    row, place = np.nonzero(clear)
    if not len(row):
        return
    # Some of each row's, spread over all of them.
    rank, many = np.arange(len(row)) - np.searchsorted(row, row), np.bincount(row)[row]
    some = rank % np.maximum(-(-many // WAY_BACK), 1) == 0
    row, found = row[some], tried[row[some], place[some]]
    found = ask.tightened(rows[row], found)
    order = np.lexsort((np.linalg.norm(found, axis=1), row))
    first = order[np.r_[True, np.diff(row[order]) > 0]]
    way[rows[row[first]]] = found[first]


def _all_around(count: int) -> Floats:
    """(count, 3) unit directions, spread evenly: points of a spiral over the sphere."""
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    across = np.sqrt(1.0 - z * z)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), z])


def _search_out(ask: Asking, way: Floats, free: Bools, rows: Ints) -> None:
    """Rows whose contacts lead from one into the next: free places all around, farther and farther away."""
    around = WAY_FIRST * ask.size * _all_around(WAY_FAR_AROUND)
    each = max(WAY_BATCH // WAY_FAR_AROUND, 1)
    for step in range(WAY_FAR_STEPS):
        tried = WAY_FARTHER**step * around
        for k in range(0, len(rows), each):
            some = rows[k : k + each]
            ends = np.tile(tried, (len(some), 1))
            clear = ~ask.meets_at(np.repeat(some, WAY_FAR_AROUND), ends).reshape(len(some), -1)
            _nearest_of(ask, way, some, clear, ends.reshape(len(some), WAY_FAR_AROUND, 3))
            free[some] = clear.any(axis=1)
        rows = rows[~free[rows]]


def _try_directions(ask: Asking, way: Floats, done: Ints, first: tuple[Ints, Floats, Floats]) -> None:
    """Along the normals of the first contacts, then leaning away from the best direction."""
    row, normal, depth = first
    order = _deepest_first(row, depth)
    row, normal = row[order], normal[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    for k in range(WAY_DIRECTIONS):
        own = np.flatnonzero((rank == k) & np.isin(row, done))
        _try(ask, way, row[own], normal[own])
    for part, count in zip(WAY_PARTS, WAY_AROUND, strict=True):
        around = _all_around(count)
        # A free place may be narrow, so that shorter ways are asked for, too; the shortest first.
        length = np.linalg.norm(way[done], axis=1)
        far, length = done[length > WAY_LONG * ask.size], length[length > WAY_LONG * ask.size]
        if not len(far):
            break
        each = max(WAY_BATCH // count, 1)
        for k in range(0, len(far), each):
            rows = far[k : k + each]
            tried = (part * length[k : k + each, None, None] * around).reshape(-1, 3)
            clear = ~ask.meets_at(np.repeat(rows, count), tried).reshape(len(rows), -1)
            _nearest_of(ask, way, rows, clear, tried.reshape(len(rows), count, 3))
    for lean in WAY_LEANS:
        for k in range(8):
            length = np.linalg.norm(way[done], axis=1, keepdims=True)
            u = way[done] / np.where(length > 0.0, length, 1.0)
            side = np.cross(u, np.where(np.abs(u[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]))
            side /= np.linalg.norm(side, axis=1, keepdims=True)
            across = np.cos(0.25 * np.pi * k) * side + np.sin(0.25 * np.pi * k) * np.cross(u, side)
            tilted = u + np.tan(lean) * across
            _try(ask, way, done, tilted / np.linalg.norm(tilted, axis=1, keepdims=True))
