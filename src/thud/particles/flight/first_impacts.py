"""Impacts of particles that are removed by their first one, on planes and quadrics: one flight a generation.

Piece by piece of the rows, of which each stays in the cache: the earliest crossing of each generation, the order in time of
those in the window, then a record of each impact with all that the result has of it. So the records are runs in the order of
time, side by side in the memory, and putting all in order reads a few pages at once. (In the order of particles most of the
time was waiting for memory.)
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats
from thud._core.decorators import exact_kernel
from thud._core.threads import run_rows
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.colliders.element_arrays import COLLIDER, PART
from thud.particles.crossings.element_rows import earliest_element, unit_normal
from thud.particles.crossings.elements import dot3, path_at
from thud.particles.flight.event_order import of_particles, order_times, result_columns
from thud.particles.flight.generations import living_generations
from thud.particles.flight.motion import birth_of, start_of
from thud.particles.flight.response import CROSSED, towards, velocity_at
from thud.results import ParticleImpacts

if TYPE_CHECKING:
    from thud.particles.flight.system import ParticleSystem

#: Rows of a piece (a count): their starts and what is found of them take a megabyte.
PIECE = 2**13

#: Numbers of a record: particle, generation, element, point, normal, velocity.
RECORD = 12


@exact_kernel(
    "i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], u8, i8[::1], i8[::1], f8, f8, elements, f8[::1], "
    "f8[:,::1]"
)
def first_rows(
    start, stop, positions, velocities, accelerations, spreads, births, lifetimes, seed, first, ends, t0, t1, elements,
    time_out, found_out,
):  # fmt: skip
    """How many of rows [start, stop) have their first impact in [t0, t1); time, and (age, particle, generation, element).
    Rows as in `start_rows`."""
    none = (0.0, 0.0, 0.0)
    # With one birth and lifetime all particles have as many generations.
    alike = ends.shape[0] == 1
    particle = start // ends[0] if alike else np.searchsorted(ends, start, side="right")
    before = particle * ends[0] if alike else (ends[particle - 1] if particle > 0 else 0)
    count = 0
    for row in range(start, stop):
        while row >= (before + ends[0] if alike else ends[particle]):
            before = before + ends[0] if alike else ends[particle]
            particle += 1
        generation = first[0 if alike else particle] + row - before
        x, v, a = start_of(positions, velocities, accelerations, spreads, seed, particle, generation)
        lifetime = lifetimes[particle if lifetimes.shape[0] > 1 else 0]
        age, e = earliest_element(elements, x, v, a, none, np.int64(-1), np.int64(-1), lifetime)
        if e < 0 or not age < lifetime:
            continue
        at = birth_of(births[particle if births.shape[0] > 1 else 0], lifetime, generation) + age
        if t0 <= at < t1:
            # As floats they are exact: none is above 2**53.
            time_out[count], found_out[count, 0], found_out[count, 1] = at, age, particle
            found_out[count, 2], found_out[count, 3] = generation, e
            count += 1
    return count


@exact_kernel("f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], u8, elements, f8[::1], f8[:,::1], i8[::1], f8[::1], f8[:,::1]")
def record_rows(
    positions, velocities, accelerations, spreads, seed, elements, time, found, order, time_out, record_out
):  # fmt: skip
    """Times and records of what `first_rows` has found, in its order."""
    for row in range(order.shape[0]):
        k = order[row]
        age, particle, generation, e = found[k, 0], np.int64(found[k, 1]), np.int64(found[k, 2]), np.int64(found[k, 3])
        x, v, a = start_of(positions, velocities, accelerations, spreads, seed, particle, generation)
        p, w = path_at(x, v, a, age), velocity_at(v, a, age)
        n = towards(unit_normal(elements, e, x, v, a, p, age), w)
        time_out[row] = time[k]
        # As floats they are exact: none is above 2**53.
        record_out[row, 0], record_out[row, 1], record_out[row, 2] = found[k, 1], found[k, 2], found[k, 3]
        for axis in range(3):
            record_out[row, 3 + axis], record_out[row, 6 + axis], record_out[row, 9 + axis] = p[axis], n[axis], w[axis]


@exact_kernel("i8, i8, elements, f8[::1], f8[:,::1], i8[::1], i8[:,::1], f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1]")
def column_rows(
    start, stop, elements, times, records, order, ints_out, time_out, point_out, normal_out, velocity_out, speed_out
):  # fmt: skip
    """Columns of the result, from the records in their order. ints_out: particle, collider, part, generation; without the last
    row if all are the first."""
    for row in range(start, stop):
        k = order[row]
        e = np.int64(records[k, 2])
        ints_out[0, row] = np.int64(records[k, 0])
        ints_out[1, row], ints_out[2, row] = elements.ints[e, COLLIDER], elements.ints[e, PART]
        if ints_out.shape[0] > 3:
            ints_out[3, row] = np.int64(records[k, 1])
        w = (records[k, 9], records[k, 10], records[k, 11])
        time_out[row], speed_out[row] = times[k], math.sqrt(dot3(w, w))
        for axis in range(3):
            point_out[row, axis], normal_out[row, axis] = records[k, 3 + axis], records[k, 6 + axis]
            velocity_out[row, axis] = w[axis]


class _Records:
    """Times and records of impacts, run after run; they grow."""

    def __init__(self, room: int) -> None:
        self.time, self.record, self.count = np.empty(room), np.empty((room, RECORD)), 0

    def reserve(self, more: int) -> None:
        """Have room for so many more."""
        if self.count + more > len(self.time):
            room = max(self.count + more, 2 * len(self.time))
            time, record = np.empty(room), np.empty((room, RECORD))
            time[: self.count], record[: self.count] = self.time[: self.count], self.record[: self.count]
            self.time, self.record = time, record

    def next(self, count: int) -> tuple[Floats, Floats]:
        """Where the next so many come."""
        self.reserve(count)
        rows = slice(self.count, self.count + count)
        self.count += count
        return self.time[rows], self.record[rows]


class _Scratch(threading.local):
    """Memory of a thread that is filled anew by each call: a system takes longer to hand it out than we take to fill it."""

    def __init__(self) -> None:
        self.block = np.empty(0)

    def room(self, size: int) -> Floats:
        if len(self.block) < size:
            self.block = np.empty(size)
        return self.block[:size]


_scratch = _Scratch()


def first_impacts(system: ParticleSystem, colliders: ColliderSet, t0: float, t1: float, threads: int | None) -> ParticleImpacts:
    """All events in [t0, t1), in time order."""
    first, count = living_generations(system, t0, t1, threads, alike=True)
    ends = np.cumsum(count)
    total = int(ends[-1]) * (system.count // len(ends))
    found: list[tuple[int, _Records]] = []
    starts = (system._position, system._velocity, system._acceleration, system._spreads)

    def work(start: int, stop: int) -> None:
        records = _Records(0)
        for begin in range(start, stop, PIECE):
            size = min(PIECE, stop - begin)
            block = _scratch.room(5 * size)
            time, what = block[:size], block[size:].reshape(-1, 4)
            many = first_rows(
                begin, begin + size, *starts, system._birth, system._lifetime, system._key, first, ends, t0, t1,
                colliders.elements, time, what,
            )  # fmt: skip
            if begin == start:
                # As many as these let expect.
                records.reserve(many * -(-(stop - start) // size) + PIECE // 8)
            # By time; at one time by particle and generation, as they are.
            order = order_times(time[:many])
            record_rows(*starts, system._key, colliders.elements, time, what, order, *records.next(many))
        found.append((start, records))

    run_rows(work, total, threads)
    found.sort(key=lambda piece: piece[0])
    if len(found) == 1:
        time, record = found[0][1].time[: found[0][1].count], found[0][1].record
    else:
        time = np.concatenate([piece[1].time[: piece[1].count] for piece in found] or [np.empty(0)])
        record = np.concatenate([piece[1].record[: piece[1].count] for piece in found] or [np.empty((0, RECORD))])
    # One run alone is in order.
    order = order_times(time) if len(found) > 1 or total > PIECE else np.arange(len(time))
    many = len(order)
    # With one generation each, all impacts are of the first.
    single = not first.any() and count.max() <= 1
    ints, when, point, normal, velocity, speed = result_columns(many, 3 if single else 4)
    run_rows(
        column_rows, many, threads, colliders.elements, time, record, order, ints, when, point, normal, velocity, speed
    )  # fmt: skip
    generation = np.broadcast_to(np.int64(0), many) if single else ints[3]
    # What ends at its first impact has bounced off none.
    bounce, status = np.broadcast_to(np.int64(0), many), np.broadcast_to(np.uint8(CROSSED), many)
    mass, radius = of_particles(system._mass, ints[0]), of_particles(system._size, ints[0])
    return ParticleImpacts(
        ints[0], generation, ints[1], ints[2], bounce, when, point, normal, velocity, speed, status, mass, radius
    )
