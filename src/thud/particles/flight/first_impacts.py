"""Impacts of particles that are removed by their first one, on planes and quadrics: one flight a generation.

Two passes. The first looks for the earliest crossing of each generation and keeps four numbers of those that have one in the
window; put in the order of time, the second makes the columns of the result from them, each start once more by its hash. So
what is between is 32 bytes an impact, side by side.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats
from thud._core.decorators import exact_kernel
from thud._core.simd import prefetch
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

#: So many impacts ahead, what was found, and then the starts of particles, are asked of the memory.
FAR, SOON = 32, 16

#: Rows of a piece of the first pass (a count): what is found in each is kept by itself.
PIECE = 2**17


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


@exact_kernel(
    "i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], u8, elements, f8[::1], f8[:,::1], i8[::1], "
    "i8[:,::1], f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1]"
)
def column_rows(
    start, stop, positions, velocities, accelerations, spreads, seed, elements, times, found, order,
    ints_out, time_out, point_out, normal_out, velocity_out, speed_out,
):  # fmt: skip
    """Columns of the result, from what `first_rows` has found, in its order. ints_out: particle, collider, part, generation;
    without the last row if all are the first."""
    for row in range(start, stop):
        # What was found and the starts lie anywhere: most of the time would be waiting for them.
        if row + FAR < stop:
            prefetch(found, 4 * order[row + FAR])
        if row + SOON < stop:
            ahead = np.int64(found[order[row + SOON], 1])
            prefetch(positions, 3 * ahead if positions.shape[0] > 1 else 0)
            prefetch(velocities, 3 * ahead if velocities.shape[0] > 1 else 0)
            prefetch(accelerations, 3 * ahead if accelerations.shape[0] > 1 else 0)
        k = order[row]
        age, particle, generation, e = found[k, 0], np.int64(found[k, 1]), np.int64(found[k, 2]), np.int64(found[k, 3])
        x, v, a = start_of(positions, velocities, accelerations, spreads, seed, particle, generation)
        p, w = path_at(x, v, a, age), velocity_at(v, a, age)
        n = towards(unit_normal(elements, e, x, v, a, p, age), w)
        ints_out[0, row], ints_out[1, row], ints_out[2, row] = particle, elements.ints[e, COLLIDER], elements.ints[e, PART]
        if ints_out.shape[0] > 3:
            ints_out[3, row] = generation
        time_out[row], speed_out[row] = times[k], math.sqrt(dot3(w, w))
        for axis in range(3):
            point_out[row, axis], normal_out[row, axis], velocity_out[row, axis] = p[axis], n[axis], w[axis]


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
    found: list[tuple[int, Floats, Floats]] = []
    starts = (system._position, system._velocity, system._acceleration, system._spreads)

    def work(start: int, stop: int) -> None:
        for begin in range(start, stop, PIECE):
            size = min(PIECE, stop - begin)
            block = _scratch.room(5 * size)
            time, what = block[:size], block[size:].reshape(-1, 4)
            many = first_rows(
                begin, begin + size, *starts, system._birth, system._lifetime, system._key, first, ends, t0, t1,
                colliders.elements, time, what,
            )  # fmt: skip
            # One piece is used where it is.
            alone = size == total
            found.append((begin, time[:many] if alone else time[:many].copy(), what[:many] if alone else what[:many].copy()))

    run_rows(work, total, threads)
    found.sort(key=lambda piece: piece[0])
    if len(found) == 1:
        _begin, time, what = found[0]
    else:
        time = np.concatenate([piece[1] for piece in found] or [np.empty(0)])
        what = np.concatenate([piece[2] for piece in found] or [np.empty((0, 4))])
    # By time; at one time by particle and generation, as they are.
    order = order_times(time)
    many = len(order)
    # With one generation each, all impacts are of the first.
    single = not first.any() and count.max() <= 1
    ints, when, point, normal, velocity, speed = result_columns(many, 3 if single else 4)
    run_rows(
        column_rows, many, threads, *starts, system._key, colliders.elements, time, what, order,
        ints, when, point, normal, velocity, speed,
    )  # fmt: skip
    generation = np.broadcast_to(np.int64(0), many) if single else ints[3]
    # What ends at its first impact has bounced off none.
    bounce, status = np.broadcast_to(np.int64(0), many), np.broadcast_to(np.uint8(CROSSED), many)
    mass, radius = of_particles(system._mass, ints[0]), of_particles(system._size, ints[0])
    return ParticleImpacts(
        ints[0], generation, ints[1], ints[2], bounce, when, point, normal, velocity, speed, status, mass, radius
    )
