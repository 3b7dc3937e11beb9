"""A path with drag and boxes: when it may be in them.

Each coordinate x + v t + a psi(t) is convex where a > 0, else concave: its chords lie on one side of it, its tangents on the
other. A time bounded by them is never on the wrong side of the true one.
"""

from __future__ import annotations

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.crossings.drag_time import phi_psi, when_phi
from thud.particles.crossings.path_columns import DRAG, SIZE, SLACK, TURNS, A, V, X
from thud.particles.crossings.tolerances import (
    DRAG_CLOSE,
    DRAG_FARTHEST,
    DRAG_NOISE,
    DRAG_STEPS,
    DRAG_STRAIGHT,
    PATH_MARGIN,
    PATH_SLACK,
)


@exact_kernel(inner="f8[::1], f8")
def dragged_point(local, tau):
    """p(tau)."""
    _low, high = phi_psi(local[DRAG], tau)
    return (
        local[X] + tau * local[V] + high * local[A],
        local[X + 1] + tau * local[V + 1] + high * local[A + 1],
        local[X + 2] + tau * local[V + 2] + high * local[A + 2],
    )


@exact_kernel(inner="f8, f8, f8, f8, f8, f8, f8")
def last_dragged(x, v, a, rate, low, high, end):
    """A time up to `end` after which a coordinate is no longer in [low, high]; negative: it never is.

    From far away a step is as long as the time itself. So what may be roundoff of places and slopes is left out of it.
    """
    if a < 0.0 or (a == 0.0 and v < 0.0):
        x, v, a, low, high = -x, -v, -a, -high, -low
    t = end
    if v + a / rate > 0.0:
        # Convex, rising in the end: tangents lie below it.
        for _ in range(DRAG_STEPS):
            slow, twice = phi_psi(rate, t)
            over = x + t * v + twice * a - high - DRAG_NOISE * (abs(x) + abs(high) + t * abs(v) + twice * a)
            slope = v + slow * a + DRAG_NOISE * (abs(v) + slow * a)
            if over <= 0.0:
                return t
            if slope <= 0.0:
                return -1.0
            step = over / slope * (1.0 - DRAG_NOISE)
            t -= step
            if t < 0.0:
                return -1.0
            if step <= DRAG_CLOSE * t:
                return t
        return t
    if x < low:
        return -1.0
    # Convex and falling for ever: chords from the start lie above it.
    for _ in range(DRAG_STEPS):
        _slow, twice = phi_psi(rate, t)
        under = low - (x + t * v + twice * a) - DRAG_NOISE * (abs(x) + abs(low) + t * abs(v) + twice * a)
        if under <= 0.0:
            return t
        before, t = t, t * ((x - low) / (x - low + under))
        if before - t <= DRAG_CLOSE * t:
            return t
    return t


@exact_device
def add_turn(local, at, count):
    """Insert a time in its order."""
    k = count
    while k > 0 and local[TURNS + k - 1] > at:
        local[TURNS + k] = local[TURNS + k - 1]
        k -= 1
    local[TURNS + k] = at
    return count + 1


@exact_device
def comes_to_rest(local):
    """Whether the last velocity is nothing but roundoff: after DRAG_STRAIGHT the particle does not move."""
    one, fast, left = 1.0 / local[DRAG], 0.0, 0.0
    for axis in range(3):
        v, slowed = local[V + axis], local[A + axis] * one
        fast, left = max(fast, abs(v), abs(slowed)), max(left, abs(v + slowed))
    return left <= DRAG_NOISE * fast


@exact_kernel(inner="f8[::1], f8, vec3, vec3")
def dragged_pieces(local, end, low, high):
    """`path_pieces` of a path with drag; it ends where it is straight, too, and a new piece begins."""
    rate, moves, end = local[DRAG], False, min(end, DRAG_FARTHEST)
    if comes_to_rest(local):
        end = min(end, DRAG_STRAIGHT / rate)
    if not end >= 0.0:
        return 0
    for axis in range(3):
        x, v, a = local[X + axis], local[V + axis], local[A + axis]
        moves = moves or v != 0.0 or a != 0.0
        margin = PATH_MARGIN * (local[SIZE] + high[axis] - low[axis])
        end = last_dragged(x, v, a, rate, low[axis] - margin, high[axis] + margin, end)
        if end < 0.0:
            return 0
    if not moves:
        return 0
    _slow, twice = phi_psi(rate, end)
    fast = max(abs(local[V]), abs(local[V + 1]), abs(local[V + 2]))
    local[SLACK] = PATH_SLACK * (local[SIZE] + end * fast + twice * max(abs(local[A]), abs(local[A + 1]), abs(local[A + 2])))
    count = 0
    for axis in range(3):
        v, a = local[V + axis], local[A + axis]
        if v != 0.0 and a != 0.0 and (v > 0.0) != (a > 0.0):
            at = when_phi(rate, -v / a)
            if at < end:
                count = add_turn(local, at, count)
    if end * rate > DRAG_STRAIGHT:
        count = add_turn(local, DRAG_STRAIGHT / rate, count)
    local[TURNS + count] = end
    return count + 1


@exact_device
def _narrow(x, v, a, low, high, begin, end, at_begin, at_end):
    """The times of [begin, end], a monotone piece, at which a coordinate may be in [low, high]; begin > end: never. at_begin,
    at_end: (phi, psi) there."""
    first, last = x + begin * v + at_begin[1] * a, x + end * v + at_end[1] * a
    if last < first:
        v, a, low, high, first, last = -v, -a, -high, -low, -first, -last
    if last < low or first > high:
        return 1.0, 0.0
    rise, span = last - first, end - begin
    to_begin, to_end = begin, end
    if first < low:
        slope = v + a * at_begin[0] + DRAG_NOISE * (abs(v) + abs(a) * at_begin[0])
        if a > 0.0:
            to_begin = begin + span * ((low - first) / rise)
        elif slope > 0.0:
            to_begin = begin + (low - first) / slope
    if last > high:
        slope = v + a * at_end[0] + DRAG_NOISE * (abs(v) + abs(a) * at_end[0])
        if a <= 0.0:
            to_end = end - span * ((last - high) / rise)
        elif slope > 0.0:
            to_end = end - (last - high) / slope
    return min(max(to_begin, begin), end), max(min(to_end, end), begin)


@exact_kernel(inner="f8[::1], f8, f8, f8, f8, f8, f8, f8, f8")
def dragged_narrow(local, lx, ly, lz, ux, uy, uz, begin, end):
    """The times of [begin, end], a monotone piece, at which the path may be in a box; begin > end: never."""
    rate = local[DRAG]
    for _ in range(2):
        first, last = phi_psi(rate, begin), phi_psi(rate, end)
        b, e = _narrow(local[X], local[V], local[A], lx, ux, begin, end, first, last)
        if b > e:
            return 1.0, 0.0
        one, other = _narrow(local[X + 1], local[V + 1], local[A + 1], ly, uy, begin, end, first, last)
        b, e = max(b, one), min(e, other)
        if one > other or b > e:
            return 1.0, 0.0
        one, other = _narrow(local[X + 2], local[V + 2], local[A + 2], lz, uz, begin, end, first, last)
        b, e = max(b, one), min(e, other)
        if one > other or b > e:
            return 1.0, 0.0
        # Much shorter: chords and tangents tell more.
        again = e - b < 0.5 * (end - begin)
        begin, end = b, e
        if not again:
            break
    return begin, end
