"""Elementary continuous collision by interval inclusion: the first root of a trilinear map, never missed, never late.

A vertex and a triangle, or two edges, whose vertices move linearly over t in [0, 1] touch where

    F(t, u, v) = D(t) + u E(t) + v G(t) = 0                                                               (1)

with D, E, G differences of vertices, linear in t (`elementary_rows`). The map is trilinear, so over a cell, a box of
(t, u, v), each y . F lies between its least and its greatest value at the cell's corners (Snyder 1992; Wang et al. 2021,
who take the coordinate axes for y). A cell is empty if for some y that interval, widened by a bound of its roundoff, does
not hold 0. What is ours:

- y is also taken from the adjugate of F's Jacobian amid the cell, which all but separates the three unknowns. Any y is
  valid, so the adjugate needs no accuracy.
- Along t, y . F lies between two straight lines, from the extremes on the face t = t0 to those on t = t1; so the roots lie
  where that band holds 0, and likewise along u and v. Cells shrink to it, quadratically near a simple root, and are halved
  only where that gains little.
- The search stays with a cell, depth first, until another one starts earlier by more than a step in which nothing moves
  noticeably; then it takes the earliest (a heap). So it neither wanders off to late roots nor looks at all of a contact
  that happens everywhere at once. The time returned is the least over the cell taken and all that are left: none of the
  cells that may hold a root starts earlier.

Exact code: no fast-math. Roundoff: see INCLUSION_ROUNDOFF.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.continuous.tolerances import (
    INCLUSION_CELLS,
    INCLUSION_EASY,
    INCLUSION_FLAT,
    INCLUSION_FLOOR,
    INCLUSION_GAIN,
    INCLUSION_ROUNDOFF,
    INCLUSION_UNDERFLOW,
    INCLUSION_WIDTH,
    OUTWARD,
    SUM_OUTWARD,
)
from thud.geometry.exact_vec3 import add_scaled, cross, dot, norm2
from thud.results import CastStatus

_MISS, _HIT, _AT_START, _UNCONVERGED = (
    int(CastStatus.MISS),
    int(CastStatus.HIT),
    int(CastStatus.OVERLAPPING_AT_START),
    int(CastStatus.UNCONVERGED),
)

#: sqrt(3), rounded up.
_SQRT3 = 1.7320508075688774

#: Columns of a direction's row: y.D, y.E, y.G at t0, the same at t1, the widening.
_ROW = 7


@exact_device
def _band(low0, high0, low1, high1, least, most):
    """[least, most] of s in [0, 1] cut down to where the band from [low0, high0] to [low1, high1] holds 0, outward.

    Empty bands (both ends on one side of 0) are culled beforehand.
    """
    if low0 > 0.0:
        least = max(least, low0 / (low0 - low1) * (1.0 - OUTWARD))
    elif low1 > 0.0:
        most = min(most, low0 / (low0 - low1) * (1.0 + OUTWARD))
    if high0 < 0.0:
        least = max(least, high0 / (high0 - high1) * (1.0 - OUTWARD))
    elif high1 < 0.0:
        most = min(most, high0 / (high0 - high1) * (1.0 + OUTWARD))
    return least, most


@exact_device
def _part(low, high, least, most):
    """The part [least, most] of the interval [low, high] within [0, 1], rounded outward."""
    width = high - low
    below = (low + least * (1.0 - OUTWARD) * width) * (1.0 - SUM_OUTWARD)
    if below < INCLUSION_UNDERFLOW:
        below = low
    above = (low + most * (1.0 + OUTWARD) * width) * (1.0 + SUM_OUTWARD) + INCLUSION_UNDERFLOW
    return max(low, below), min(high, above)


@exact_device
def _largest(a):
    """Largest magnitude of a 3-tuple."""
    return max(abs(a[0]), abs(a[1]), abs(a[2]))


@exact_kernel
def _project(rows, k, y, separation):
    """Row k of the directions: y . D, y . E, y . G at both ends from rows 0 to 2, and the widening."""
    for j in range(6):
        rows[k, j] = y[0] * rows[0, j] + y[1] * rows[1, j] + y[2] * rows[2, j]
    slack = abs(y[0]) * rows[7, 0] + abs(y[1]) * rows[7, 1] + abs(y[2]) * rows[7, 2] + INCLUSION_UNDERFLOW
    if separation > 0.0:
        slack += separation * np.sqrt(norm2(y)) * (1.0 + OUTWARD)
    rows[k, 6] = slack


@exact_device
def _unit(a):
    """a over its largest magnitude: keeps products of directions in range. What is next to 0 becomes 0."""
    size = _largest(a)
    if size > INCLUSION_UNDERFLOW:
        scale = 1.0 / size
        return a[0] * scale, a[1] * scale, a[2] * scale
    return 0.0, 0.0, 0.0


@exact_device
def _put(heap, k, t0, t1, u0, u1, v0, v1):
    """Row k of the heap."""
    heap[k, 0], heap[k, 1] = t0, t1
    heap[k, 2], heap[k, 3] = u0, u1
    heap[k, 4], heap[k, 5] = v0, v1


@exact_kernel
def _near(triangle, motion, t, u, v):
    """|F| at time t near its least, from (u, v) on: two rounds of the best u for this v and the best v for this u."""
    d = ((1.0 - t) * motion[0] + t * motion[1], (1.0 - t) * motion[6] + t * motion[7], (1.0 - t) * motion[12] + t * motion[13])
    e = ((1.0 - t) * motion[2] + t * motion[3], (1.0 - t) * motion[8] + t * motion[9], (1.0 - t) * motion[14] + t * motion[15])
    g = (
        (1.0 - t) * motion[4] + t * motion[5],
        (1.0 - t) * motion[10] + t * motion[11],
        (1.0 - t) * motion[16] + t * motion[17],
    )
    ee, gg = norm2(e), norm2(g)
    f = d
    for _ in range(2):
        if ee > 0.0:
            f = add_scaled(d, g, v)
            u = min(max(-dot(f, e) / ee, 0.0), 1.0 - v if triangle == 1 else 1.0)
        if gg > 0.0:
            f = add_scaled(d, e, u)
            v = min(max(-dot(f, g) / gg, 0.0), 1.0 - u if triangle == 1 else 1.0)
        f = add_scaled(add_scaled(d, e, u), g, v)
    return np.sqrt(norm2(f))


@exact_kernel
def _rise(heap, count, t0, t1, u0, u1, v0, v1):
    """Add a cell to a heap of `count` cells, earliest first."""
    k = count
    while k > 0:
        parent = (k - 1) // 2
        if heap[parent, 0] <= t0:
            break
        for j in range(6):
            heap[k, j] = heap[parent, j]
        k = parent
    _put(heap, k, t0, t1, u0, u1, v0, v1)


@exact_kernel
def _sink(heap, count, t0, t1, u0, u1, v0, v1):
    """Put a cell in the place of the first of a heap of `count` cells (0: leave it as it is)."""
    if count == 0:
        return
    k = 0
    while True:
        child = 2 * k + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if heap[child, 0] >= t0:
            break
        for j in range(6):
            heap[k, j] = heap[child, j]
        k = child
    _put(heap, k, t0, t1, u0, u1, v0, v1)


@exact_kernel(inner="f8[::1], f8, f8, f8, f8, f8, f8[:,::1]")
def directions(motion, t0, t1, uc, vc, separation, rows):
    """Rows of a cell for the axes (0 to 2), the Jacobian's adjugate amid it (3 to 5) and, with a separation, F there (6).

    A row is y . D, y . E, y . G at t0, the same at t1, and by how much to widen. Returns how far F moves from t0 to t1 at
    (uc, vc), along the axis where it is farthest; the row that tells v; and |F| amid the cell (0 without a separation).
    """
    # D, E, G at both ends; by axis.
    for k in range(3):
        for j in range(3):
            at_start, at_end = motion[6 * k + 2 * j], motion[6 * k + 2 * j + 1]
            rows[k, j] = (1.0 - t0) * at_start + t0 * at_end
            rows[k, 3 + j] = (1.0 - t1) * at_start + t1 * at_end
        rows[k, 6] = rows[7, k] + separation
    e = _unit((rows[0, 1] + rows[0, 4], rows[1, 1] + rows[1, 4], rows[2, 1] + rows[2, 4]))
    g = _unit((rows[0, 2] + rows[0, 5], rows[1, 2] + rows[1, 5], rows[2, 2] + rows[2, 5]))
    f = (
        rows[0, 3] - rows[0, 0] + uc * (rows[0, 4] - rows[0, 1]) + vc * (rows[0, 5] - rows[0, 2]),
        rows[1, 3] - rows[1, 0] + uc * (rows[1, 4] - rows[1, 1]) + vc * (rows[1, 5] - rows[1, 2]),
        rows[2, 3] - rows[2, 0] + uc * (rows[2, 4] - rows[2, 1]) + vc * (rows[2, 5] - rows[2, 2]),
    )
    moved = _largest(f)
    f = _unit(f)

    # The rows of the Jacobian's adjugate, or where it is singular a frame that separates the unknowns.
    n = cross(e, g)
    guide = 5
    if norm2(n) > INCLUSION_FLAT:
        if abs(dot(n, f)) > INCLUSION_FLAT:
            y_u, y_v = cross(g, f), cross(f, e)
        else:
            y_u, y_v = cross(g, n), cross(n, e)
    else:
        # Parallel, or one of them 0: along them, and across towards D.
        guide = 4
        d = _unit((rows[0, 0] + rows[0, 3], rows[1, 0] + rows[1, 3], rows[2, 0] + rows[2, 3]))
        y_u = e if norm2(e) > 0.0 else g
        if norm2(y_u) > 0.0:
            s = dot(d, y_u) / norm2(y_u)
            n = add_scaled(d, y_u, -s)
            y_v = cross(y_u, n)
        else:
            n, y_v = d, f
    _project(rows, np.int64(3), n, separation)
    _project(rows, np.int64(4), y_u, separation)
    _project(rows, np.int64(5), y_v, separation)
    if separation == 0.0:
        return moved, guide, 0.0
    # The direction of F itself: the one that counts where what is near is not what is opposite.
    y = (
        0.5 * (rows[0, 0] + rows[0, 3] + uc * (rows[0, 1] + rows[0, 4]) + vc * (rows[0, 2] + rows[0, 5])),
        0.5 * (rows[1, 0] + rows[1, 3] + uc * (rows[1, 1] + rows[1, 4]) + vc * (rows[1, 2] + rows[1, 5])),
        0.5 * (rows[2, 0] + rows[2, 3] + uc * (rows[2, 1] + rows[2, 4]) + vc * (rows[2, 2] + rows[2, 5])),
    )
    _project(rows, np.int64(6), _unit(y), separation)
    return moved, guide, np.sqrt(norm2(y))


@exact_kernel(inner="i8, f8[::1], f8[::1], f8, f8, i8, f8[:,::1], f8[:,::1]")
def first_root(triangle, motion, width, step, separation, max_iterations, heap, rows):
    """First root of F in [0, 1] x (the unit square, or its lower triangle): (time, status, cells looked at).

    motion: per axis D0, D1, E0, E1, G0, G1. width: per axis, the width of F's box below which a cell that may hold a root
    counts as one. step: time in which F moves by less than that. separation: |F| <= separation counts as a root. rows[7]
    holds the roundoff of F per axis.
    """
    found = False
    best, first = np.inf, np.inf
    cells, depth, alive = 0, np.int64(0), True
    near = separation + _SQRT3 * min(width[0], width[1], width[2])
    t0, t1, u0, u1, v0, v1 = 0.0, 1.0, 0.0, 1.0, 0.0, 1.0
    while True:
        popped = not alive
        if popped:
            if depth == 0:
                break
            t0, t1 = heap[0, 0], heap[0, 1]
            u0, u1 = heap[0, 2], heap[0, 3]
            v0, v1 = heap[0, 4], heap[0, 5]
            depth -= 1
            _sink(heap, depth, heap[depth, 0], heap[depth, 1], heap[depth, 2], heap[depth, 3], heap[depth, 4], heap[depth, 5])
        elif depth > 0 and heap[0, 0] < t0 - step:
            s0, s1, p0, p1, q0, q1 = heap[0, 0], heap[0, 1], heap[0, 2], heap[0, 3], heap[0, 4], heap[0, 5]
            _sink(heap, depth, t0, t1, u0, u1, v0, v1)
            t0, t1, u0, u1, v0, v1 = s0, s1, p0, p1, q0, q1
        alive = False
        if found:
            if t0 >= best - step:
                first = min(first, t0)
                if popped:
                    break  # all others start later
                continue
            t1 = min(t1, best)
        if cells >= max_iterations or depth + 1 >= INCLUSION_CELLS:
            if depth > 0:
                t0 = min(t0, heap[0, 0])
            return min(first, t0), _UNCONVERGED, cells
        cells += 1

        moved, guide, far = directions(motion, t0, t1, 0.5 * (u0 + u1), 0.5 * (v0 + v1), separation, rows)
        count = 7 if separation > 0.0 else 6

        # Bounds of y . F on the six faces of the cell, by direction.
        straddles = triangle == 1 and u1 + v1 > 1.0
        rest = 1.0 - u0 - v0
        empty, small = False, True
        t_least, t_most, u_least, u_most, v_least, v_most = 0.0, 1.0, 0.0, 1.0, 0.0, 1.0
        for j in range(count):
            # The adjugate's rows first: they are the ones that tell cells without a contact.
            k = j + 3 if j + 3 < count else j + 3 - count
            d0, e0, g0 = rows[k, 0], rows[k, 1], rows[k, 2]
            d1, e1, g1 = rows[k, 3], rows[k, 4], rows[k, 5]
            slack = rows[k, 6]
            a00, a01, a10, a11 = d0 + u0 * e0, d0 + u1 * e0, d1 + u0 * e1, d1 + u1 * e1
            b00, b01, b10, b11 = v0 * g0, v1 * g0, v0 * g1, v1 * g1
            low0, high0 = min(a00, a01) + min(b00, b01), max(a00, a01) + max(b00, b01)
            low1, high1 = min(a10, a11) + min(b10, b11), max(a10, a11) + max(b10, b11)
            if straddles:
                # The triangle that is left beyond (u0, v0) holds the cell as well.
                low0 = max(low0, a00 + b00 + rest * min(0.0, e0, g0))
                high0 = min(high0, a00 + b00 + rest * max(0.0, e0, g0))
                low1 = max(low1, a10 + b10 + rest * min(0.0, e1, g1))
                high1 = min(high1, a10 + b10 + rest * max(0.0, e1, g1))
            low, high = min(low0, low1), max(high0, high1)
            if low > slack or high < -slack:
                empty = True
                break
            if k < 3 and high - low > width[k]:
                small = False
            t_least, t_most = _band(low0 - slack, high0 + slack, low1 - slack, high1 + slack, t_least, t_most)
            # Along u: extremes at u0 and u1 over t and v. Along v likewise.
            low0, high0 = min(a00 + min(b00, b01), a10 + min(b10, b11)), max(a00 + max(b00, b01), a10 + max(b10, b11))
            low1, high1 = min(a01 + min(b00, b01), a11 + min(b10, b11)), max(a01 + max(b00, b01), a11 + max(b10, b11))
            u_least, u_most = _band(low0 - slack, high0 + slack, low1 - slack, high1 + slack, u_least, u_most)
            low0, high0 = min(min(a00, a01) + b00, min(a10, a11) + b10), max(max(a00, a01) + b00, max(a10, a11) + b10)
            low1, high1 = min(min(a00, a01) + b01, min(a10, a11) + b11), max(max(a00, a01) + b01, max(a10, a11) + b11)
            v_least, v_most = _band(low0 - slack, high0 + slack, low1 - slack, high1 + slack, v_least, v_most)
        if empty or t_least > t_most or u_least > u_most or v_least > v_most:
            continue
        if separation > 0.0 and small:
            # F differs from its value amid the cell by at most the box's diagonal.
            reach = _SQRT3 * (max(width[0], width[1], width[2]) + max(rows[7, 0], rows[7, 1], rows[7, 2]))
            if far > (separation + reach) * (1.0 + OUTWARD):
                continue

        # Shrink.
        s0, s1 = _part(t0, t1, t_least, t_most)
        p0, p1 = _part(u0, u1, u_least, u_most)
        q0, q1 = _part(v0, v1, v_least, v_most)
        if triangle == 1:
            p1 = min(p1, 1.0 - q0 + SUM_OUTWARD)
            q1 = min(q1, 1.0 - p0 + SUM_OUTWARD)
            if p0 > p1 or q0 > q1:
                continue
        if not small and cells > INCLUSION_EASY:
            # A contact that is hard to pin down in u and v may still be known to be near at the start of the cell.
            small = _near(triangle, motion, s0, 0.5 * (p0 + p1), 0.5 * (q0 + q1)) <= near
        if small:
            best, found = min(best, s0), True
            first = min(first, s0)
            continue

        # How far F moves along each unknown, before and after.
        e_size = max(abs(rows[0, 1]), abs(rows[1, 1]), abs(rows[2, 1]), abs(rows[0, 4]), abs(rows[1, 4]), abs(rows[2, 4]))
        g_size = max(abs(rows[0, 2]), abs(rows[1, 2]), abs(rows[2, 2]), abs(rows[0, 5]), abs(rows[1, 5]), abs(rows[2, 5]))
        before = max(moved, e_size * (u1 - u0), g_size * (v1 - v0))
        t_size = moved * (s1 - s0) / (t1 - t0) if t1 > t0 else 0.0
        u_size, v_size = e_size * (p1 - p0), g_size * (q1 - q0)
        t0, t1, u0, u1, v0, v1 = s0, s1, p0, p1, q0, q1
        alive = True
        after = max(t_size, u_size, v_size)
        if after <= INCLUSION_GAIN * before:
            continue

        # Halve the longest; the earlier half, or the one Newton's step leads to, comes next.
        if t_size >= u_size and t_size >= v_size:
            middle, axis = 0.5 * (t0 + t1), 0
            lower_first = True
        else:
            axis = 1 if u_size >= v_size else 2
            middle = 0.5 * (u0 + u1) if axis == 1 else 0.5 * (v0 + v1)
            k = 4 if axis == 1 else guide
            amid = rows[k, 0] + 0.5 * (u0 + u1) * rows[k, 1] + 0.5 * (v0 + v1) * rows[k, 2]
            lower_first = amid * rows[k, axis] >= 0.0
        if axis == 0:
            low, high = t0, t1
        elif axis == 1:
            low, high = u0, u1
        else:
            low, high = v0, v1
        if not low < middle < high:
            # As fine as floats are.
            best, found = min(best, t0), True
            first = min(first, t0)
            alive = False
            continue
        if axis == 0:
            _rise(heap, depth, middle, t1, u0, u1, v0, v1)
            t1 = middle
        elif axis == 1:
            if lower_first:
                _rise(heap, depth, t0, t1, middle, u1, v0, v1)
                u1 = middle
            else:
                _rise(heap, depth, t0, t1, u0, middle, v0, v1)
                u0 = middle
        else:
            if lower_first:
                _rise(heap, depth, t0, t1, u0, u1, middle, v1)
                v1 = middle
            else:
                _rise(heap, depth, t0, t1, u0, u1, v0, middle)
                v0 = middle
        depth += 1
    if not found:
        return np.inf, _MISS, cells
    return first, _AT_START if first == 0.0 else _HIT, cells


@exact_device
def _apart(triangle, motion, axis_or_row, slack):
    """Whether F's component has one sign at all corners of the domain, beyond `slack`."""
    k = 6 * axis_or_row
    d0, d1, e0, e1, g0, g1 = motion[k], motion[k + 1], motion[k + 2], motion[k + 3], motion[k + 4], motion[k + 5]
    if triangle == 1:
        low = min(d0 + min(0.0, e0, g0), d1 + min(0.0, e1, g1))
        high = max(d0 + max(0.0, e0, g0), d1 + max(0.0, e1, g1))
    else:
        low = min(d0 + min(0.0, e0) + min(0.0, g0), d1 + min(0.0, e1) + min(0.0, g1))
        high = max(d0 + max(0.0, e0) + max(0.0, g0), d1 + max(0.0, e1) + max(0.0, g1))
    return low > slack or high < -slack


@exact_kernel("i8, i8, i8, f8[:,:,::1], f8[:,:,::1], f8, i8, f8, f8[::1], u1[::1], i8[::1]")
def elementary_rows(
    start, stop, triangle, start_in, end_in, tolerance, max_iterations, separation, time_out, status_out, iterations_out
):
    """First contacts of rows [start, stop): vertex and triangle (triangle = 1), or two edges (0)."""
    motion, width = np.empty(18), np.empty(3)
    heap, rows = np.empty((INCLUSION_CELLS, 6)), np.empty((8, _ROW))
    for i in range(start, stop):
        extent, misses = 0.0, False
        for k in range(3):
            # Eq. (1): a vertex minus a point of a triangle, or a point of edge a minus one of edge b.
            o0, o1 = start_in[i, 0, k], end_in[i, 0, k]
            a0, a1 = start_in[i, 1, k], end_in[i, 1, k]
            b0, b1 = start_in[i, 2, k], end_in[i, 2, k]
            c0, c1 = start_in[i, 3, k], end_in[i, 3, k]
            if triangle == 1:
                d0, d1, e0, e1, g0, g1 = o0 - a0, o1 - a1, a0 - b0, a1 - b1, a0 - c0, a1 - c1
            else:
                d0, d1, e0, e1, g0, g1 = o0 - b0, o1 - b1, a0 - o0, a1 - o1, b0 - c0, b1 - c1
            j = 6 * k
            motion[j], motion[j + 1] = d0, d1
            motion[j + 2], motion[j + 3] = e0, e1
            motion[j + 4], motion[j + 5] = g0, g1
            size = max(abs(d0), abs(d1)) + max(abs(e0), abs(e1)) + max(abs(g0), abs(g1))
            rows[7, k] = INCLUSION_ROUNDOFF * size + INCLUSION_UNDERFLOW
            if _apart(triangle, motion, k, rows[7, k] + separation):
                misses = True
                break
            width[k] = abs(d1 - d0) + abs(e1 - e0) + abs(g1 - g0)
            most = max(max(o0, o1, a0, a1), max(b0, b1, c0, c1))
            least = min(min(o0, o1, a0, a1), min(b0, b1, c0, c1))
            extent = max(extent, most - least)
        if misses:
            time_out[i], status_out[i], iterations_out[i] = np.inf, _MISS, 0
            continue
        goal, step = INCLUSION_WIDTH * tolerance * extent, np.inf
        for k in range(3):
            speed, width[k] = width[k], max(goal, INCLUSION_FLOOR * rows[7, k])
            if speed > 0.0:
                step = min(step, width[k] / speed)
        time_out[i], status_out[i], iterations_out[i] = first_root(
            triangle, motion, width, step, separation, max_iterations, heap, rows
        )
