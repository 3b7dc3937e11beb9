"""Pairs that begin to touch, go on and end: the last two calls of `contacts` beside each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.status import SEPARATED
from thud._core.threads import run_rows
from thud.math.vec3 import cross, dot, load3
from thud.results import WorldEvents
from thud.world.body_rows import rows_key
from thud.world.contact_rows import ContactColumns

#: As `results.EventKind`, plain numbers for the kernel.
BEGUN, KEPT, ENDED = 0, 1, 2


class PairTouches(NamedTuple):
    """What events need to know of P pairs that have contacts."""

    pairs: Ints
    """(P, 2) handles, sorted by their rows."""
    point: Floats
    normal: Floats
    """(P, 3) of the deepest contact."""
    speed: Floats
    """(P,) at which the bodies approach each other there, m/s."""
    sensor: Bools
    touching: Bools
    """(P,) false for one that is only within the margin."""


def new_touches(count: int) -> PairTouches:
    """Room for so many pairs."""
    return PairTouches(
        np.empty((count, 2), np.int64), np.empty((count, 3)), np.empty((count, 3)), np.empty(count), np.empty(count, np.bool_),
        np.empty(count, np.bool_),
    )  # fmt: skip


NO_TOUCHES = new_touches(0)


@device
def velocity_at(velocity, angular, poses, i, p):
    """Velocity of body i where it is at the point p."""
    v, w = load3(velocity, i, 0), load3(angular, i, 0)
    turn = cross(w, (p[0] - poses[i, 9], p[1] - poses[i, 10], p[2] - poses[i, 11]))
    return v[0] + turn[0], v[1] + turn[1], v[2] + turn[2]


@kernel("i8, i8, contact_columns, f8[:,::1], f8[:,::1], f8[:,::1], pair_touches")
def touch_rows(start, stop, found, poses, velocity, angular, out):
    """The deepest contact of each pair, of equal ones the first."""
    for q in range(start, stop):
        i, j = found.rows[q, 0], found.rows[q, 1]
        deepest = found.start[q]
        for k in range(found.start[q], found.start[q] + found.length[q]):
            if found.depth[k] > found.depth[deepest]:
                deepest = k
        p, n = load3(found.point, deepest, 0), load3(found.normal, deepest, 0)
        a, b = velocity_at(velocity, angular, poses, i, p), velocity_at(velocity, angular, poses, j, p)
        out.pairs[q, 0], out.pairs[q, 1] = found.pairs[q, 0], found.pairs[q, 1]
        out.point[q, 0], out.point[q, 1], out.point[q, 2] = p
        out.normal[q, 0], out.normal[q, 1], out.normal[q, 2] = n
        out.speed[q] = dot(n, (a[0] - b[0], a[1] - b[1], a[2] - b[2]))
        out.sensor[q] = found.sensor[q]
        # What counts as touching may lie a few roundoffs apart.
        out.touching[q] = found.depth[deepest] >= 0.0 or found.status[deepest] != SEPARATED


@device
def _next_touching(touches, q):
    """The first pair from q on that touches."""
    while q < touches.touching.shape[0] and not touches.touching[q]:
        q += 1
    return q


@kernel("pair_touches, pair_touches, u1[::1], i8[::1]")
def compare_touches(now, before, kind_out, source_out):
    """Kind of each event, and the pair that it is about, of `now`, for one that ended of `before`; by rows, and of one pair of
    rows what ended first. Returns how many."""
    found, q, b = 0, _next_touching(now, 0), _next_touching(before, 0)
    while q < now.pairs.shape[0] or b < before.pairs.shape[0]:
        here, there = q < now.pairs.shape[0], b < before.pairs.shape[0]
        same = here and there and now.pairs[q, 0] == before.pairs[b, 0] and now.pairs[q, 1] == before.pairs[b, 1]
        if same:
            kind_out[found], source_out[found] = KEPT, q
            q, b = _next_touching(now, q + 1), _next_touching(before, b + 1)
        elif there and (not here or rows_key(before.pairs, b) <= rows_key(now.pairs, q)):
            kind_out[found], source_out[found] = ENDED, b
            b = _next_touching(before, b + 1)
        else:
            kind_out[found], source_out[found] = BEGUN, q
            q = _next_touching(now, q + 1)
        found += 1
    return found


def touches_of(found: ContactColumns, poses: Floats, velocity: Floats, angular: Floats, threads: int | None) -> PairTouches:
    """Of the contacts of a call, with the bodies' velocities at that time."""
    out = new_touches(len(found.pairs))
    run_rows(touch_rows, len(found.pairs), threads, found, poses, velocity, angular, out)
    return out


def events_between(before: PairTouches, now: PairTouches) -> WorldEvents:
    """What happened from one call to the next."""
    most = len(before.pairs) + len(now.pairs)
    kind, source = np.empty(most, np.uint8), np.empty(most, np.int64)
    count = compare_touches(now, before, kind, source)
    kind, source = kind[:count].copy(), source[:count]
    ended = kind == ENDED
    columns = []
    for fresh, old in zip(now[:5], before[:5], strict=True):
        column = np.empty((count, *fresh.shape[1:]), fresh.dtype)
        column[~ended], column[ended] = fresh[source[~ended]], old[source[ended]]
        columns.append(column)
    pairs, point, normal, speed, sensor = columns
    return WorldEvents(kind, pairs[:, 0].copy(), pairs[:, 1].copy(), point, normal, speed, sensor)
