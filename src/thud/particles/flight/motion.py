"""Motion in closed form: where a generation of a particle starts, and which generations live when. Eq. (3.1), (3.4), (3.7).

Generation k of a particle lives over [birth + k lifetime, birth + (k + 1) lifetime). Its start is the particle's, moved within
the spreads by the hash of seed, particle and generation (`philox.py`): any state at any time is known without stepping.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.crossings.path_columns import PATH_DRAG
from thud.particles.flight.flight_rows import (
    AGE,
    BIRTH,
    FLIGHTS,
    FREE,
    GENERATION,
    IMPACTS,
    LIFE,
    MODE,
    PARTICLE,
    SIDE,
    STALL,
    UNTIL,
)
from thud.particles.flight.philox import philox, spread
from thud.particles.tolerances import MOST_GENERATIONS

_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)

# Rows of `spreads`: half widths of position and velocity.
POSITION, VELOCITY = 0, 1


@exact_device
def birth_of(birth, lifetime, generation):
    """When a generation is born; the first one of a particle that lives for ever, too."""
    return birth if generation == 0 else birth + generation * lifetime


@exact_kernel(inner="f8, f8, f8")
def generation_at(birth, lifetime, t):
    """The generation that lives at t; -1 before birth. Just where its birth, as rounded, is not after t."""
    if t < birth:
        return -1
    if lifetime == math.inf:
        return 0
    # With few generations the last of them may have ended long ago.
    k = np.int64(min((t - birth) / lifetime, 2.0**62))
    if (t - birth) / lifetime >= MOST_GENERATIONS:
        return k
    while k > 0 and birth_of(birth, lifetime, k) > t:
        k -= 1
    while birth_of(birth, lifetime, k + 1) <= t:
        k += 1
    return k


@exact_kernel("i8, i8, f8[::1], f8[::1], f8, f8, i8, i8[::1], i8[::1]")
def generation_rows(start, stop, births, lifetimes, t0, t1, most, first_out, count_out):
    """Generations that live at any time of [t0, t1): the first and how many. `most`: how many a particle has in all."""
    for i in range(start, stop):
        birth, lifetime = births[i if births.shape[0] > 1 else 0], lifetimes[i if lifetimes.shape[0] > 1 else 0]
        first, last = generation_at(birth, lifetime, t0), generation_at(birth, lifetime, t1)
        if last >= 0 and birth_of(birth, lifetime, last) >= t1:
            last -= 1
        # An event of the generation before may be rounded to t0.
        first = max(first - 1, np.int64(0))
        last = min(last, most - 1)
        first_out[i], count_out[i] = first, max(last - first + 1, np.int64(0))


@exact_device
def start_of(positions, velocities, accelerations, spreads, seed, particle, generation):
    """Start of a generation: x, v, a."""
    p, w = particle if positions.shape[0] > 1 else 0, particle if velocities.shape[0] > 1 else 0
    b = particle if accelerations.shape[0] > 1 else 0
    x, v = (positions[p, 0], positions[p, 1], positions[p, 2]), (velocities[w, 0], velocities[w, 1], velocities[w, 2])
    a = (accelerations[b, 0], accelerations[b, 1], accelerations[b, 2])
    if spreads[2, 0] == 0.0:
        return x, v, a
    i, k = np.uint64(particle), np.uint64(generation)
    c = (i & _LOW, k & _LOW, (k >> _32) & _LOW)
    key = (seed & _LOW, seed >> _32)
    r0, r1, r2, r3 = philox(c[0], c[1], c[2], np.uint64(0), key[0], key[1])
    r4, r5, _, _ = philox(c[0], c[1], c[2], np.uint64(1), key[0], key[1])
    x = (
        x[0] + spreads[POSITION, 0] * spread(r0),
        x[1] + spreads[POSITION, 1] * spread(r1),
        x[2] + spreads[POSITION, 2] * spread(r2),
    )
    v = (
        v[0] + spreads[VELOCITY, 0] * spread(r3),
        v[1] + spreads[VELOCITY, 1] * spread(r4),
        v[2] + spreads[VELOCITY, 2] * spread(r5),
    )
    return x, v, a


@exact_device
def start_generation(positions, velocities, accelerations, spreads, seed, particle, generation, paths_out, row):
    """Start of a generation into a row: x, v, a."""
    x, v, a = start_of(positions, velocities, accelerations, spreads, seed, particle, generation)
    for axis in range(3):
        paths_out[row, axis], paths_out[row, 3 + axis], paths_out[row, 6 + axis] = x[axis], v[axis], a[axis]


@exact_device
def flight_acceleration(a, v, rate):
    """Acceleration at the start of a flight with velocity v; a: all of it but the drag's part of v."""
    return (a[0] - rate * v[0], a[1] - rate * v[1], a[2] - rate * v[2]) if rate != 0.0 else a


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8[::1], u8, i8[::1], i8[::1], flights")
def start_rows(
    start, stop, positions, velocities, accelerations, spreads, rates, births, lifetimes, seed, first, ends, flights_out
):  # fmt: skip
    """Rows [start, stop) of all generations of all particles, particle by particle. ends: rows up to each particle's last.
    accelerations: with those of the wind."""
    particle = np.searchsorted(ends, start, side="right")
    for row in range(start, stop):
        while ends[particle] <= row:
            particle += 1
        before = ends[particle - 1] if particle > 0 else 0
        generation = first[particle] + row - before
        at = row - start
        row, clock = flights_out.row, flights_out.clock
        row[at, PARTICLE], row[at, GENERATION], row[at, IMPACTS] = particle, generation, 0
        row[at, MODE], row[at, FLIGHTS], row[at, STALL], row[at, SIDE] = FREE, 0, 0, -1
        for axis in range(6):
            flights_out.slope[at, axis] = 0.0
        for axis in range(3):
            flights_out.came[at, axis] = 0.0
        flights_out.last[at, 0], flights_out.last[at, 1] = -1, -1
        paths = flights_out.paths
        start_generation(positions, velocities, accelerations, spreads, seed, particle, generation, paths, at)
        rate = rates[particle if rates.shape[0] > 1 else 0]
        paths[at, PATH_DRAG] = rate
        a, v = (paths[at, 6], paths[at, 7], paths[at, 8]), (paths[at, 3], paths[at, 4], paths[at, 5])
        paths[at, 6], paths[at, 7], paths[at, 8] = flight_acceleration(a, v, rate)
        birth = births[particle if births.shape[0] > 1 else 0]
        lifetime = lifetimes[particle if lifetimes.shape[0] > 1 else 0]
        clock[at, BIRTH], clock[at, AGE], clock[at, LIFE] = birth_of(birth, lifetime, generation), 0.0, lifetime
        clock[at, UNTIL] = math.inf


@exact_kernel(
    "i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], u8, f8, i8, i8[::1], i8[::1], f8[::1], f8[:,::1], "
    "i8[:,::1]"
)
def living_rows(
    start, stop, positions, velocities, accelerations, spreads, births, lifetimes, seed, t, most, first_out, count_out, age_out,
    position_out, state_out,
):  # fmt: skip
    """The generation of each particle that lives at t, or the last one if it is over: one row a particle that has been born. Of
    the others the start of the first."""
    path = np.empty((1, 9))
    for i in range(start, stop):
        birth, lifetime = births[i if births.shape[0] > 1 else 0], lifetimes[i if lifetimes.shape[0] > 1 else 0]
        k = min(generation_at(birth, lifetime, t), most - 1)
        first_out[i], count_out[i] = max(k, np.int64(0)), 1 if k >= 0 else 0
        age_out[i] = t - birth_of(birth, lifetime, max(k, np.int64(0)))
        if k < 0:
            start_generation(positions, velocities, accelerations, spreads, seed, i, np.int64(0), path, np.int64(0))
            for axis in range(3):
                position_out[i, axis] = path[0, axis]
            state_out[i, 0], state_out[i, 1], state_out[i, 2] = 0, k, 0
