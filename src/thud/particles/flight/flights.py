"""Flights of particles, in rounds: the earliest crossing of each row, its response, the next flight.

Rows are generations of particles, taken in chunks. A chunk's arrays, R rows:

- row (R, 3): particle, generation, impacts so far; clock (R, 3): birth, age at the start of the flight, lifetime
- paths (R, 9): x, v, a, world frame; came (R, 3): velocity of arrival at x, 0 at birth
- last (R, 2): collider and part just left, -1 at birth
- time (R,): longest time to look at, then that of the earliest crossing; hit (R, 2): its collider and part, or -1; normal
(R, 3) - status (R,): 1 where a search ended at its limit

Every kind of collider improves time, hit and normal; `response.py` does the rest. A generation's flights are always computed
from its birth to its end, whatever time is asked for, so that an impact has the same bytes in every query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_kernel
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.flight.event_order import in_time_order
from thud.particles.flight.motion import generation_rows, living_rows, start_rows
from thud.particles.flight.response import AGE, EVENT_INTS, EVENT_REALS, LIFE, respond, settle
from thud.particles.tolerances import MOST_WINDOW_GENERATIONS, MOST_WINDOW_IMPACTS
from thud.results import ParticleImpacts

if TYPE_CHECKING:
    from thud.particles.flight.system import ParticleSystem


#: Rows of a chunk (a count): its arrays take 3 MB.
CHUNK = 16384


@exact_kernel("i8, f8[:,::1], f8[::1], i8[:,::1], u1[::1]")
def begin_round(rows, clock, time, hit, status):
    """Look until the end of life; nothing is hit yet."""
    for k in range(rows):
        time[k], hit[k, 0], hit[k, 1], status[k] = clock[k, LIFE] - clock[k, AGE], -1, -1, 0


class Chunk:
    """The arrays of up to CHUNK rows."""

    def __init__(self, size: int) -> None:
        self.row, self.clock = np.zeros((size, 3), np.int64), np.empty((size, 3))
        self.paths, self.came, self.last = np.empty((size, 9)), np.empty((size, 3)), np.empty((size, 2), np.int64)
        self.time, self.hit = np.empty(size), np.empty((size, 2), np.int64)
        self.normal, self.status = np.empty((size, 3)), np.empty(size, np.uint8)

    def earliest(self, rows: int, colliders: ColliderSet) -> None:
        """The earliest crossing of the first rows."""
        begin_round(rows, self.clock, self.time, self.hit, self.status)
        colliders.earliest(rows, self.paths, self.came, self.last, self.time, self.hit, self.normal, self.status)


def _in_chunks(
    system: ParticleSystem, first: Ints, count: Ints, threads: int | None, visit: Callable[[int, Chunk, int], None]
) -> None:
    """Start all rows, `count` generations from `first` on for each particle, and visit them chunk by chunk."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0

    def work(start: int, stop: int) -> None:
        chunk = Chunk(min(CHUNK, stop - start))
        for begin in range(start, stop, CHUNK):
            rows = min(CHUNK, stop - begin)
            start_rows(
                begin, begin + rows, system._position, system._velocity, system._acceleration, system._spreads,
                system._birth, system._lifetime, system._key, first, ends, chunk.row, chunk.paths, chunk.clock,
            )  # fmt: skip
            chunk.row[:rows, 2] = 0
            chunk.came[:rows], chunk.last[:rows] = 0.0, -1
            visit(begin, chunk, rows)

    run_rows(work, total, threads)


def living_generations(system: ParticleSystem, t0: float, t1: float, threads: int | None) -> tuple[Ints, Ints]:
    """The first generation of each particle that lives in [t0, t1), and how many do."""
    first, count = np.empty(system.count, np.int64), np.empty(system.count, np.int64)
    run_rows(generation_rows, system.count, threads, system._birth, system._lifetime, t0, t1, system._generations, first, count)
    lives = float(count.astype(np.float64).sum())
    if lives > MOST_WINDOW_GENERATIONS:
        raise InvalidInputError(
            f"lifetime: {lives:.3g} generations live in [{t0:g}, {t1:g}) s; expected at most {MOST_WINDOW_GENERATIONS}: ask for "
            "shorter windows, or let particles live longer"
        )
    return first, count


def gather_events(system: ParticleSystem, colliders: ColliderSet, t0: float, t1: float, threads: int | None) -> ParticleImpacts:
    """All events in [t0, t1), in time order."""
    colliders.make_ready()
    first, count = living_generations(system, t0, t1, threads)
    found: list[tuple[int, int, Ints, Floats]] = []
    total = [0]

    def visit(begin: int, chunk: Chunk, rows: int) -> None:
        turn = 0
        while rows:
            ints, reals = np.empty((rows, EVENT_INTS), np.int64), np.empty((rows, EVENT_REALS))
            chunk.earliest(rows, colliders)
            events, rows = respond(
                rows, t0, t1, system._bounces, colliders.materials, chunk.row, chunk.clock, chunk.paths, chunk.came, chunk.last,
                chunk.time, chunk.hit, chunk.normal, chunk.status, ints, reals,
            )  # fmt: skip
            if events:
                # Few events of many rows would hold on to memory that they do not fill.
                full = 2 * events > len(ints)
                kept = (ints[:events], reals[:events]) if full else (ints[:events].copy(), reals[:events].copy())
                found.append((begin, turn, *kept))
                # Threads may count past each other; the limit need not be met to the one.
                total[0] += events
                if total[0] > MOST_WINDOW_IMPACTS:
                    raise InvalidInputError(
                        f"t1: more than {MOST_WINDOW_IMPACTS} impacts in [{t0:g}, {t1:g}) s; ask for shorter windows, or let "
                        "particles bounce less often"
                    )
            turn += 1

    if len(colliders):
        _in_chunks(system, first, count, threads, visit)
    found.sort(key=lambda piece: piece[:2])
    ints = np.concatenate([piece[2] for piece in found] or [np.empty((0, EVENT_INTS), np.int64)])
    reals = np.concatenate([piece[3] for piece in found] or [np.empty((0, EVENT_REALS))])
    return in_time_order(ints, reals, threads)


def states_at(
    system: ParticleSystem, colliders: ColliderSet, t: float, threads: int | None
) -> tuple[Floats, Floats, Ints, Floats]:
    """Position, velocity, (state, generation, bounces) and age of all particles at t."""
    colliders.make_ready()
    n = system.count
    first, count, age = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    position, velocity, state = np.empty((n, 3)), np.zeros((n, 3)), np.zeros((n, 3), np.int64)
    run_rows(
        living_rows, n, threads, system._position, system._velocity, system._acceleration, system._spreads, system._birth,
        system._lifetime, system._key, t, system._generations, first, count, age, position, state,
    )  # fmt: skip

    def visit(begin: int, chunk: Chunk, rows: int) -> None:
        while rows:
            chunk.earliest(rows, colliders)
            rows = settle(
                rows, t, system._bounces, colliders.materials, chunk.row, chunk.clock, chunk.paths, chunk.came, chunk.last,
                chunk.time, chunk.hit, chunk.normal, position, velocity, state,
            )  # fmt: skip

    _in_chunks(system, first, count, threads, visit)
    return position, velocity, state, age
