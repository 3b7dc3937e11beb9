"""A path p(tau) = x + tau (v + tau a / 2) and boxes: when it may be in them. Eq. (3.4), (3.7).

With drag (`drag_time.py`) it is x + tau v + psi(tau) a, the rate in the column DRAG, and all of this holds too: then the times
are bounded by chords and tangents of its coordinates (`drag_box.py`).

Between the times at which one of its coordinates turns round a path is monotone along each axis, so over an interval of time
its exact box is that of its two ends, and the times at which it is in a box are an interval, whose ends are roots of one
quadratic each. Boxes are widened by a bound of the roundoff (PATH_SLACK), so that no time is lost.

A path's row `local` (`path_columns.py`): x, v, a in the collider's frame, in floats and what the floats leave
(`colliders/frame.py`), the velocity of arrival, and lengths.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.colliders.frame import INVERSE, INVERSE_REST, REACH, SHIFT, SHIFT_REST
from thud.particles.crossings.double_double import dd_dot_scaled, dd_sum
from thud.particles.crossings.drag_box import dragged_narrow, dragged_pieces, dragged_point
from thud.particles.crossings.drag_time import phi_psi
from thud.particles.crossings.path_columns import CAME, DRAG, PATH_DRAG, REST, SIZE, SLACK, TURNS, A, V, X
from thud.particles.crossings.path_columns import LOCAL as LOCAL
from thud.particles.crossings.tolerances import PATH_MARGIN, PATH_SLACK


@exact_device
def _largest(x, y, z):
    return max(abs(x), abs(y), abs(z))


@exact_device
def _turned(frame, p, i):
    """Coordinate i of a vector in the collider's frame, in floats."""
    k = INVERSE + 3 * i
    return frame[k] * p[0] + frame[k + 1] * p[1] + frame[k + 2] * p[2]


@exact_device
def _turned_exactly(frame, p, i):
    """The same as a double-double."""
    k, r = INVERSE + 3 * i, INVERSE_REST + 3 * i
    row = ((frame[k], frame[r]), (frame[k + 1], frame[r + 1]), (frame[k + 2], frame[r + 2]))
    return dd_dot_scaled(row, p)


@exact_kernel(inner="f8[::1], f8[:,::1], i8, f8[::1]")
def path_into_frame(frame, paths, row, local):
    """x, v, a of a path in a collider's frame, in floats."""
    x, v = (paths[row, 0], paths[row, 1], paths[row, 2]), (paths[row, 3], paths[row, 4], paths[row, 5])
    a = (paths[row, 6], paths[row, 7], paths[row, 8])
    for i in range(3):
        local[X + i] = _turned(frame, x, i) + frame[SHIFT + i]
        local[V + i], local[A + i] = _turned(frame, v, i), _turned(frame, a, i)
    local[DRAG] = paths[row, PATH_DRAG]
    local[SIZE] = _largest(x[0], x[1], x[2]) + frame[REACH]


@exact_kernel(inner="f8[::1], f8[:,::1], f8[:,::1], i8, f8[::1]")
def path_exactly(frame, paths, came, row, local):
    """x, v, a of a path in a collider's frame as double-doubles, and the velocity of arrival."""
    x, v = (paths[row, 0], paths[row, 1], paths[row, 2]), (paths[row, 3], paths[row, 4], paths[row, 5])
    a, c = (paths[row, 6], paths[row, 7], paths[row, 8]), (came[row, 0], came[row, 1], came[row, 2])
    for i in range(3):
        local[X + i], local[REST + X + i] = dd_sum(_turned_exactly(frame, x, i), (frame[SHIFT + i], frame[SHIFT_REST + i]))
        local[V + i], local[REST + V + i] = _turned_exactly(frame, v, i)
        local[A + i], local[REST + A + i] = _turned_exactly(frame, a, i)
        local[CAME + i] = _turned(frame, c, i)


@exact_device
def coordinate(local, axis, tau):
    """One coordinate of a path without drag at tau."""
    return local[X + axis] + tau * (local[V + axis] + 0.5 * tau * local[A + axis])


@exact_device
def path_point(local, tau):
    """p(tau)."""
    if local[DRAG] != 0.0:
        return dragged_point(local, tau)
    return coordinate(local, 0, tau), coordinate(local, 1, tau), coordinate(local, 2, tau)


@exact_device
def path_velocity(local, tau):
    """p'(tau)."""
    if local[DRAG] != 0.0:
        f = phi_psi(local[DRAG], tau)[0]
        return local[V] + f * local[A], local[V + 1] + f * local[A + 1], local[V + 2] + f * local[A + 2]
    return local[V] + tau * local[A], local[V + 1] + tau * local[A + 1], local[V + 2] + tau * local[A + 2]


@exact_device
def path_size(local, tau):
    """A length as large as all that is added up in p(tau)."""
    v, a = _largest(local[V], local[V + 1], local[V + 2]), _largest(local[A], local[A + 1], local[A + 2])
    if local[DRAG] != 0.0:
        return local[SIZE] + tau * v + phi_psi(local[DRAG], tau)[1] * a
    return local[SIZE] + tau * (v + 0.5 * tau * a)


@exact_device
def last_below(x, v, a, bound):
    """The last time at which x + tau (v + tau a / 2) <= bound, or -1; inf if there is none. a >= 0."""
    gap = bound - x
    if a == 0.0:
        if v > 0.0:
            return gap / v
        return math.inf if v < 0.0 or gap >= 0.0 else -1.0
    under = v * v + 2.0 * a * gap
    if under < 0.0:
        return -1.0
    s = math.sqrt(under)
    return 2.0 * gap / (v + s) if v > 0.0 else (s - v) / a


@exact_device
def last_within(x, v, a, low, high):
    """A time after which x + tau (v + tau a / 2) is no longer in [low, high]; negative: it never is."""
    if a < 0.0 or (a == 0.0 and v < 0.0):
        x, v, a, low, high = -x, -v, -a, -high, -low
    return last_below(x, v, a, high)


@exact_kernel(inner="f8[::1], f8, vec3, vec3")
def path_pieces(local, end, low, high):
    """How many pieces, each monotone along all axes, the path has until `end` or until it has left a box for good; 0 if it
    never is in it, or does not move. Piece k reaches from TURNS + k - 1 (the first from 0) to TURNS + k. Sets the slack."""
    if local[DRAG] != 0.0:
        return dragged_pieces(local, end, low, high)
    moves = False
    for axis in range(3):
        x, v, a = local[X + axis], local[V + axis], local[A + axis]
        moves = moves or v != 0.0 or a != 0.0
        margin = PATH_MARGIN * (local[SIZE] + high[axis] - low[axis])
        last = last_within(x, v, a, low[axis] - margin, high[axis] + margin)
        if last < 0.0:
            return 0
        end = min(end, last)
    if not moves or not end >= 0.0:
        return 0
    local[SLACK] = PATH_SLACK * path_size(local, end)
    count = 0
    for axis in range(3):
        v, a = local[V + axis], local[A + axis]
        # Turns lie after 0 and before the end.
        if a != 0.0 and v != 0.0 and (v > 0.0) != (a > 0.0) and abs(v) < end * abs(a):
            at, k = -v / a, count
            while k > 0 and local[TURNS + k - 1] > at:
                local[TURNS + k] = local[TURNS + k - 1]
                k -= 1
            local[TURNS + k] = at
            count += 1
    local[TURNS + count] = end
    return count + 1


@exact_device
def rising_time(x, v, a, bound):
    """When the rising piece of x + tau (v + tau a / 2) comes to `bound`."""
    gap = bound - x
    s = math.sqrt(max(v * v + 2.0 * a * gap, 0.0))
    if v > 0.0:
        return 2.0 * gap / (v + s)
    return (s - v) / a if a > 0.0 else math.nan


@exact_device
def narrow_axis(x, v, a, low, high, begin, end):
    """The times of [begin, end], a monotone piece, at which a coordinate is in [low, high]; begin > end: never."""
    first, last = x + begin * (v + 0.5 * begin * a), x + end * (v + 0.5 * end * a)
    if last < first:
        x, v, a, low, high, first, last = -x, -v, -a, -high, -low, -first, -last
    if last < low or first > high:
        return 1.0, 0.0
    if first < low:
        at = rising_time(x, v, a, low)
        begin = at if at > begin else begin
    if last > high:
        at = rising_time(x, v, a, high)
        end = at if at < end else end
    return begin, end


@exact_device
def narrow_box(local, lx, ly, lz, ux, uy, uz, begin, end):
    """The times of [begin, end], a monotone piece, at which the path may be in a box; begin > end: never."""
    slack = local[SLACK]
    if local[DRAG] != 0.0:
        return dragged_narrow(local, lx - slack, ly - slack, lz - slack, ux + slack, uy + slack, uz + slack, begin, end)
    begin, end = narrow_axis(local[X], local[V], local[A], lx - slack, ux + slack, begin, end)
    if begin <= end:
        begin, end = narrow_axis(local[X + 1], local[V + 1], local[A + 1], ly - slack, uy + slack, begin, end)
    if begin <= end:
        begin, end = narrow_axis(local[X + 2], local[V + 2], local[A + 2], lz - slack, uz + slack, begin, end)
    return begin, end


@exact_device
def piece_box(local, begin, end):
    """The exact box of [begin, end], a part of a monotone piece, widened by the slack: lower, upper corner."""
    p, q, slack = path_point(local, begin), path_point(local, end), local[SLACK]
    return (
        min(p[0], q[0]) - slack,
        min(p[1], q[1]) - slack,
        min(p[2], q[2]) - slack,
        max(p[0], q[0]) + slack,
        max(p[1], q[1]) + slack,
        max(p[2], q[2]) + slack,
    )


@exact_device
def piece_begin(local, piece):
    """When piece k of the path begins."""
    return local[TURNS + piece - 1] if piece > 0 else 0.0


@exact_device
def unit3(n):
    """n / |n|, of any magnitude; 0 for 0."""
    size = max(abs(n[0]), abs(n[1]), abs(n[2]))
    if not size > 0.0:
        return 0.0, 0.0, 0.0
    x, y, z = n[0] / size, n[1] / size, n[2] / size
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@exact_device
def improves(tau, collider, time, hit, row):
    """Whether a crossing at tau is the row's earliest so far: of two at one time that of the lower collider."""
    if hit[row, 0] < 0:
        return 0.0 <= tau < time[row]
    return 0.0 <= tau < time[row] or (tau == time[row] and collider < hit[row, 0])


@exact_device
def write_hit(frame, rotation, row, tau, collider, part, n, time, hit, normal):
    """Write a crossing; n in the collider's frame, whose rotation starts at frame[rotation]."""
    n = unit3(n)
    time[row], hit[row, 0], hit[row, 1] = tau, collider, part
    for i in range(3):
        k = rotation + 3 * i
        normal[row, i] = frame[k] * n[0] + frame[k + 1] * n[1] + frame[k + 2] * n[2]
