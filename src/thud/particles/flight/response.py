"""What happens at an impact: the particle is removed, bounces, or rests. 3.3.

The speed along the normal is turned round and multiplied by the restitution e; Coulomb friction takes up to
friction (1 + e) times the speed of approach off the rest. Normals point to where the particle comes from.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.crossings.elements import dot3, path_at
from thud.particles.tolerances import RESTING_SPEED

# What a particle is doing.
UNBORN, FLYING, REMOVED, RESTING = range(4)

# Columns of an event's numbers: time, point (3), normal (3), velocity (3), speed. Of its integers: particle, generation,
# collider, part, bounce, status.
TIME, POINT, NORMAL, VELOCITY, SPEED, EVENT_REALS = 0, 1, 4, 7, 10, 11
EVENT_INTS = 6

# `CastStatus` of an event: HIT, UNCONVERGED.
CROSSED, CROSSED_DOUBTFULLY = 1, 3

# Columns of a row's clock: birth of its generation, age at the start of the flight, lifetime.
BIRTH, AGE, LIFE = 0, 1, 2


@exact_device
def bounced(v, n, restitution, friction):
    """Velocity after an impact with velocity v, and its speed along n."""
    approach = dot3(n, v)
    along = (v[0] - approach * n[0], v[1] - approach * n[1], v[2] - approach * n[2])
    speed = math.sqrt(dot3(along, along))
    keep, away = 1.0, -restitution * approach
    if friction > 0.0 and speed > 0.0:
        keep = max(0.0, 1.0 + friction * (1.0 + restitution) * approach / speed)
    return (keep * along[0] + away * n[0], keep * along[1] + away * n[1], keep * along[2] + away * n[2]), away


@exact_device
def towards(n, w):
    """The normal on the side that a particle with velocity w comes from."""
    return (-n[0], -n[1], -n[2]) if dot3(n, w) > 0.0 else n


@exact_device
def velocity_at(v, a, t):
    """g'(t)."""
    return v[0] + t * a[0], v[1] + t * a[1], v[2] + t * a[2]


@exact_device
def next_flight(k, kept, p, out, w, row, clock, paths, came, last, time, hit):
    """Row `kept` becomes the flight that follows row k's: from p with velocity `out`, where it arrived with w."""
    row[kept, 0], row[kept, 1], row[kept, 2] = row[k, 0], row[k, 1], row[k, 2] + 1
    clock[kept, BIRTH], clock[kept, AGE], clock[kept, LIFE] = clock[k, BIRTH], clock[k, AGE] + time[k], clock[k, LIFE]
    for axis in range(3):
        paths[kept, axis], paths[kept, 3 + axis], paths[kept, 6 + axis] = p[axis], out[axis], paths[k, 6 + axis]
        # At a corner, where it hits again at once, the particle has arrived with the velocity before.
        came[kept, axis] = w[axis] if time[k] > 0.0 else came[k, axis]
    last[kept, 0], last[kept, 1] = hit[k, 0], hit[k, 1]


@exact_kernel(
    "i8, f8, f8, i8, f8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1], "
    "u1[::1], i8[:,::1], f8[:,::1]"
)
def respond(
    rows, t0, t1, bounces, materials, row, clock, paths, came, last, time, hit, normal, status,
    event_ints, event_reals,
):  # fmt: skip
    """Write the events of [t0, t1) and start the next flights. Returns (events, rows that fly on); those come first.

    bounces: how often a particle bounces; -1 removes it at its first impact. materials: restitution, friction a collider.
    """
    events, kept = 0, 0
    for k in range(rows):
        if hit[k, 0] < 0:
            continue
        age = clock[k, AGE] + time[k]
        at = clock[k, BIRTH] + age
        if not (age < clock[k, LIFE] and at < t1):
            continue
        x, v = (paths[k, 0], paths[k, 1], paths[k, 2]), (paths[k, 3], paths[k, 4], paths[k, 5])
        a, t = (paths[k, 6], paths[k, 7], paths[k, 8]), time[k]
        p, w = path_at(x, v, a, t), velocity_at(v, a, t)
        n = towards((normal[k, 0], normal[k, 1], normal[k, 2]), w)
        if at >= t0:
            event_ints[events, 0], event_ints[events, 1] = row[k, 0], row[k, 1]
            event_ints[events, 2], event_ints[events, 3], event_ints[events, 4] = hit[k, 0], hit[k, 1], row[k, 2]
            event_ints[events, 5] = CROSSED_DOUBTFULLY if status[k] != 0 else CROSSED
            event_reals[events, TIME] = at
            for axis in range(3):
                event_reals[events, POINT + axis] = p[axis]
                event_reals[events, NORMAL + axis] = n[axis]
                event_reals[events, VELOCITY + axis] = w[axis]
            event_reals[events, SPEED] = math.sqrt(dot3(w, w))
            events += 1
        if row[k, 2] >= bounces:
            continue
        collider = hit[k, 0]
        out, away = bounced(w, n, materials[collider, 0], materials[collider, 1])
        if away < RESTING_SPEED:
            continue
        next_flight(k, kept, p, out, w, row, clock, paths, came, last, time, hit)
        kept += 1
    return events, kept


@exact_kernel(
    "i8, f8, i8, f8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1], "
    "f8[:,::1], f8[:,::1], i8[:,::1]"
)
def settle(
    rows, t, bounces, materials, row, clock, paths, came, last, time, hit, normal, position_out, velocity_out, state_out,
):  # fmt: skip
    """Write the state at t of rows whose flight lasts until then or ends before; start the next flights of the others, which
    come first. Returns how many. state_out: what it is doing, generation, bounces."""
    kept = 0
    for k in range(rows):
        x, v = (paths[k, 0], paths[k, 1], paths[k, 2]), (paths[k, 3], paths[k, 4], paths[k, 5])
        a, particle = (paths[k, 6], paths[k, 7], paths[k, 8]), row[k, 0]
        age = clock[k, AGE] + time[k]
        state, impacts = FLYING, row[k, 2]
        if hit[k, 0] < 0 or not (age < clock[k, LIFE] and clock[k, BIRTH] + age <= t):
            over = t - clock[k, BIRTH] >= clock[k, LIFE]
            span = max(0.0, (clock[k, LIFE] if over else t - clock[k, BIRTH]) - clock[k, AGE])
            p, w = path_at(x, v, a, span), velocity_at(v, a, span)
            if over:
                # Its last generation has ended: it stays where that was.
                state, w = REMOVED, (0.0, 0.0, 0.0)
        else:
            p, w = path_at(x, v, a, time[k]), velocity_at(v, a, time[k])
            n = towards((normal[k, 0], normal[k, 1], normal[k, 2]), w)
            collider = hit[k, 0]
            out, away = bounced(w, n, materials[collider, 0], materials[collider, 1])
            if impacts < bounces and away >= RESTING_SPEED:
                next_flight(k, kept, p, out, w, row, clock, paths, came, last, time, hit)
                kept += 1
                continue
            state, impacts = (REMOVED if bounces < 0 else RESTING), impacts + 1
            w = (0.0, 0.0, 0.0)
        for axis in range(3):
            position_out[particle, axis], velocity_out[particle, axis] = p[axis], w[axis]
        state_out[particle, 0], state_out[particle, 1], state_out[particle, 2] = state, row[k, 1], impacts
    return np.int64(kept)
