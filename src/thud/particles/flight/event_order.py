"""Events in the order of time: counted into as many slots of equal length as there are events, then sorted within each."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.particles.flight.response import NORMAL, POINT, SPEED, TIME, VELOCITY
from thud.results import ParticleImpacts

#: Slots of up to so many events (a count) are sorted by insertion; larger ones, of events at almost one time, otherwise.
_FEW = 32


@exact_device
def comes_before(ints, time, i, j):
    """Whether event i comes before event j: by time, particle, generation, bounce."""
    if time[i] != time[j]:
        return time[i] < time[j]
    if ints[i, 0] != ints[j, 0]:
        return ints[i, 0] < ints[j, 0]
    if ints[i, 1] != ints[j, 1]:
        return ints[i, 1] < ints[j, 1]
    return ints[i, 4] < ints[j, 4]


@exact_device
def count_into_slots(time, order_out, ends_out):
    """Events slot by slot, within each as they are; ends_out, zeros before: where each slot ends."""
    count = time.shape[0]
    first, last = time[0], time[0]
    for k in range(count):
        first, last = min(first, time[k]), max(last, time[k])
    scale = (count - 1) / (last - first) if last > first else 0.0
    if not scale < np.inf:
        scale = 0.0
    # A time's slot rises with it, whatever is rounded.
    for k in range(count):
        ends_out[min(np.int64((time[k] - first) * scale), count - 1)] += 1
    before = 0
    for k in range(count):
        many = ends_out[k]
        ends_out[k] = before
        before += many
    for k in range(count):
        slot = min(np.int64((time[k] - first) * scale), count - 1)
        order_out[ends_out[slot]] = k
        ends_out[slot] += 1


@exact_kernel("i8[:,::1], f8[::1], i8[::1], i8[::1]")
def order_events(ints, time, order_out, ends_out):
    """Order of the events, but for slots of more than _FEW; ends_out: where each slot ends. Returns how many are to be
    sorted."""
    count = time.shape[0]
    count_into_slots(time, order_out, ends_out)
    start, large = 0, 0
    for slot in range(count):
        end = ends_out[slot]
        if end - start > _FEW:
            large += 1
        else:
            for k in range(start + 1, end):
                event, at = order_out[k], k
                while at > start and comes_before(ints, time, event, order_out[at - 1]):
                    order_out[at] = order_out[at - 1]
                    at -= 1
                order_out[at] = event
        start = end
    return large


@exact_kernel("f8[::1], i8[::1], i8[::1]")
def time_slots(time, order_out, ends_out):
    """As `order_events`, of events that are in the order of particle, generation and bounce: at one time they stay so."""
    count = time.shape[0]
    count_into_slots(time, order_out, ends_out)
    start, large = 0, 0
    for slot in range(count):
        end = ends_out[slot]
        if end - start > _FEW:
            large += 1
        else:
            for k in range(start + 1, end):
                event, at = order_out[k], k
                while at > start and time[event] < time[order_out[at - 1]]:
                    order_out[at] = order_out[at - 1]
                    at -= 1
                order_out[at] = event
        start = end
    return large


def order_times(time: Floats) -> Ints:
    """Order of events by time; at one time as they are."""
    count = len(time)
    order, ends = np.empty(count, np.int64), np.zeros(count, np.int64)
    if count and time_slots(time, order, ends):
        starts = np.concatenate([[0], ends[:-1]])
        for slot in np.flatnonzero(ends - starts > _FEW):
            rows = order[starts[slot] : ends[slot]]
            order[starts[slot] : ends[slot]] = rows[np.argsort(time[rows], kind="stable")]
    return order


@exact_kernel("i8, i8, i8[:,::1], f8[:,::1], i8[::1], i8[:,::1], f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], u1[::1]")
def take_rows(start, stop, ints, reals, order, ints_out, time_out, point_out, normal_out, velocity_out, speed_out, status_out):
    """Columns of the events in their order."""
    for row in range(start, stop):
        k = order[row]
        for column in range(5):
            ints_out[column, row] = ints[k, column]
        time_out[row], speed_out[row], status_out[row] = reals[k, TIME], reals[k, SPEED], ints[k, 5]
        for axis in range(3):
            point_out[row, axis], normal_out[row, axis] = reals[k, POINT + axis], reals[k, NORMAL + axis]
            velocity_out[row, axis] = reals[k, VELOCITY + axis]


def result_columns(count: int, integers: int) -> tuple[Ints, Floats, Floats, Floats, Floats, Floats]:
    """Room for (integers, M) integers, time, point, normal, velocity and speed of M impacts, in one piece of memory: a system
    takes longer to hand out many small ones than we take to fill them."""
    block = np.empty((integers + 11) * count)
    parts, begin = [], 0
    for width in (integers, 1, 3, 3, 3, 1):
        parts.append(block[begin : begin + width * count])
        begin += width * count
    ints, time, point, normal, velocity, speed = parts
    three = (point.reshape(-1, 3), normal.reshape(-1, 3), velocity.reshape(-1, 3))
    return ints.view(np.int64).reshape(integers, count), time, *three, speed


def of_particles(values: Floats, particle: Ints) -> Floats:
    """(M,) of one number a particle, or of one for all, which takes no memory."""
    return values[particle] if len(values) > 1 else np.broadcast_to(values, len(particle))


def in_time_order(ints: Ints, reals: Floats, mass: Floats, radius: Floats, threads: int | None) -> ParticleImpacts:
    """Impacts from the integers and numbers of events (`response.py`); mass and radius: one a particle, or one for
    all."""
    count = len(ints)
    order, ends = np.empty(count, np.int64), np.zeros(count, np.int64)
    # Side by side: most of the sorting is waiting for memory.
    times = np.ascontiguousarray(reals[:, TIME])
    if count and order_events(ints, times, order, ends):
        starts = np.concatenate([[0], ends[:-1]])
        for slot in np.flatnonzero(ends - starts > _FEW):
            rows = order[starts[slot] : ends[slot]]
            keys = (ints[rows, 4], ints[rows, 1], ints[rows, 0], times[rows])
            order[starts[slot] : ends[slot]] = rows[np.lexsort(keys)]
    columns, time, point, normal, velocity, speed = result_columns(count, 5)
    status = np.empty(count, np.uint8)
    run_rows(take_rows, count, threads, ints, reals, order, columns, time, point, normal, velocity, speed, status)
    particle, generation, collider, part, bounce = columns
    return ParticleImpacts(
        particle, generation, collider, part, bounce, time, point, normal, velocity, speed, status,
        of_particles(mass, particle), of_particles(radius, particle),
    )  # fmt: skip
