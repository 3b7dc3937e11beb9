"""Flights of particles, in rounds: the earliest crossing of each row, its response, the next flight.

Rows are generations of particles, taken in chunks of `FlightRows`. Every kind of collider improves time, hit and normal;
`response.py` does the rest. A generation's flights are computed from its birth on, or from one that an earlier query has come
to (`checkpoints.py`), so that an impact has the same bytes in every query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.flight.checkpoints import Checkpoint, best_of, with_one_more
from thud.particles.flight.event_order import in_time_order
from thud.particles.flight.first_impacts import first_impacts
from thud.particles.flight.flight_rows import FlightRows, new_rows, put_rows, rows_of
from thud.particles.flight.generations import living_generations
from thud.particles.flight.motion import living_rows, start_rows
from thud.particles.flight.response import EVENT_INTS, EVENT_REALS, begin_round, respond, settle
from thud.particles.flight.tolerances import CHECKPOINT_FLIGHTS
from thud.particles.tolerances import MOST_WINDOW_IMPACTS
from thud.results import ParticleImpacts

if TYPE_CHECKING:
    from thud.particles.flight.system import ParticleSystem


#: Rows of a chunk (a count): its arrays take 4 MB.
CHUNK = 16384

#: More flights (a count) than any generation has.
_NEVER = 2**62


class Chunk:
    """The arrays of up to CHUNK rows, and those of the ones that are saved."""

    def __init__(self, size: int, system: ParticleSystem, colliders: ColliderSet) -> None:
        self.flights = new_rows(size)
        # One that is removed at its first impact has but one flight.
        self.least = _NEVER if system._bounces < 0 else CHECKPOINT_FLIGHTS
        self.saved = new_rows(0 if system._bounces < 0 else size)
        self.colliders = colliders
        self.settings = (
            system._bounces, system._slides, colliders.elements, colliders.first_elements, colliders.materials,
            system._pull,
        )  # fmt: skip
        self.drag = system._drags

    def earliest(self, rows: int) -> None:
        """The earliest crossing of the first rows."""
        f = self.flights
        begin_round(rows, f)
        if self.drag:
            self.colliders.earliest_dragged(rows, f.paths, f.came, f.last, f.time, f.hit, f.normal, f.status)
        else:
            self.colliders.earliest(rows, f.paths, f.came, f.last, f.time, f.hit, f.normal, f.status)

    def take_saved(self, count: int, saved: list[FlightRows]) -> None:
        """A copy of what was saved."""
        if count:
            saved.append(rows_of(self.saved, slice(0, count)))


def _in_chunks(
    system: ParticleSystem,
    colliders: ColliderSet,
    checkpoint: Checkpoint | None,
    first: Ints,
    count: Ints,
    threads: int | None,
    visit: Callable[[int, Chunk, int], None],
) -> None:
    """Start all rows, `count` generations from `first` on for each particle, and visit them chunk by chunk."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    rows_kept, places = checkpoint.places(first, count, ends) if checkpoint else (np.empty(0, np.int64), np.empty(0, np.int64))

    def work(start: int, stop: int) -> None:
        chunk = Chunk(min(CHUNK, stop - start), system, colliders)
        for begin in range(start, stop, CHUNK):
            rows = min(CHUNK, stop - begin)
            start_rows(
                begin, begin + rows, system._position, system._velocity, system._pull, system._spreads, system._rate,
                system._birth, system._lifetime, system._key, first, ends, chunk.flights,
            )  # fmt: skip
            low, high = np.searchsorted(places, (begin, begin + rows))
            if checkpoint is not None and high > low:
                put_rows(chunk.flights, places[low:high] - begin, rows_of(checkpoint.flights, rows_kept[low:high]))
            visit(begin, chunk, rows)

    run_rows(work, total, threads)


def gather_events(system: ParticleSystem, colliders: ColliderSet, t0: float, t1: float, threads: int | None) -> ParticleImpacts:
    """All events in [t0, t1), in time order."""
    colliders.make_ready()
    if system._bounces < 0 and not system._drags and len(colliders.elements.ints) and not colliders.others:
        return first_impacts(system, colliders, t0, t1, threads)
    first, count = living_generations(system, t0, t1, threads)
    found: list[tuple[int, int, Ints, Floats]] = []
    saved: list[FlightRows] = []
    total = [0]

    def visit(begin: int, chunk: Chunk, rows: int) -> None:
        turn = 0
        while rows:
            ints, reals = np.empty((rows, EVENT_INTS), np.int64), np.empty((rows, EVENT_REALS))
            chunk.earliest(rows)
            events, rows, keeps = respond(rows, t0, t1, *chunk.settings, chunk.flights, ints, reals, chunk.least, chunk.saved)
            chunk.take_saved(keeps, saved)
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
        checkpoint = best_of(system._checkpoints, colliders, t0)
        _in_chunks(system, colliders, checkpoint, first, count, threads, visit)
        system._checkpoints = with_one_more(system._checkpoints, colliders, t1, False, saved)
    found.sort(key=lambda piece: piece[:2])
    ints = np.concatenate([piece[2] for piece in found] or [np.empty((0, EVENT_INTS), np.int64)])
    reals = np.concatenate([piece[3] for piece in found] or [np.empty((0, EVENT_REALS))])
    return in_time_order(ints, reals, system._mass, system._size, threads)


def states_at(
    system: ParticleSystem, colliders: ColliderSet, t: float, threads: int | None
) -> tuple[Floats, Floats, Ints, Floats]:
    """Position, velocity, (state, generation, impacts) and age of all particles at t."""
    colliders.make_ready()
    n = system.count
    first, count, age = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    position, velocity, state = np.empty((n, 3)), np.zeros((n, 3)), np.zeros((n, 3), np.int64)
    run_rows(
        living_rows, n, threads, system._position, system._velocity, system._acceleration, system._spreads, system._birth,
        system._lifetime, system._key, t, system._generations, first, count, age, position, state,
    )  # fmt: skip
    saved: list[FlightRows] = []

    def visit(begin: int, chunk: Chunk, rows: int) -> None:
        while rows:
            chunk.earliest(rows)
            rows, keeps = settle(
                rows, t, *chunk.settings, system._lifetime, chunk.flights, position, velocity, state, chunk.least, chunk.saved
            )
            chunk.take_saved(keeps, saved)

    checkpoint = best_of(system._checkpoints, colliders, t)
    _in_chunks(system, colliders, checkpoint, first, count, threads, visit)
    system._checkpoints = with_one_more(system._checkpoints, colliders, t, True, saved)
    return position, velocity, state, age
