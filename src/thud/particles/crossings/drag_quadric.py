"""A path with drag and a quadric: h(t) = f(p(t)), by interval root finding.

Over a cell of time (`drag_cell.py`) h is a quartic of s whose coefficients are known up to bounds; so are h and h'. Cells are
taken in the order of time and halved, as in `blob_path.py`:

- where h does not hold 0, its sign is known: if it is not that of before, h has crossed 0 in between;
- where h' does not hold 0, h is monotone, and its sign at the end of the cell tells as much;
- in a cell narrower than DRAG_RESOLUTION of its time, or in which h is nothing but roundoff, its extreme is looked at with 32
  digits. A touch is no crossing, but at a singular point (`elements.py`).

A crossing is then found by Newton's method in its bracket, with values of h of 32 digits.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.predicates import two_diff, two_product
from thud.particles.colliders.element import CONE_NEGATIVE, CONE_POSITIVE, REGULAR
from thud.particles.colliders.element_arrays import ORIGIN, SINGULAR, G, J
from thud.particles.crossings.double_double import dd_dot_dd, dd_dot_scaled, dd_scaled, dd_sum
from thud.particles.crossings.drag_cell import dragged_cell
from thud.particles.crossings.drag_time import dragged_place, dragged_velocity, exact_phi_psi, phi_psi
from thud.particles.crossings.elements import (
    abs_dot3,
    abs_times_quadric,
    at_singular_point,
    dot3,
    in_bounds,
    quadric_row,
    real3,
    times_quadric,
)
from thud.particles.crossings.path_columns import DRAG, V, X
from thud.particles.crossings.path_columns import A as ACC
from thud.particles.crossings.tolerances import (
    DRAG_CELLS,
    DRAG_NOISE,
    DRAG_RESOLUTION,
    DRAG_SERIES,
    ROOT_NEAR,
    ROOT_STEPS,
    ROOT_TOUCH,
    SINGULAR_PASS,
)

_I = np.int64

# What `enclose_quadric` writes: bounds of h and of h' over the cell, bounds of h in its middle, h' there, its terms' size.
LOW, HIGH, STEEP_LOW, STEEP_HIGH, MIDDLE_LOW, MIDDLE_HIGH, STEEP, WEIGHT = range(8)
OUT = 8

# Halved cells that wait: each halving adds one.
CELL_STACK = 320


@exact_device
def _three(local, at):
    return local[at], local[at + 1], local[at + 2]


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8, f8, f8[::1]")
def enclose_quadric(reals, e, local, begin, end, out):
    """Bounds of h, of h' and of h in the middle, for times from begin to end; outward rounded."""
    m, w = 0.5 * (begin + end), 0.5 * (end - begin)
    if w > 0.0:
        w += 2.0 * UNIT_ROUNDOFF * abs(m)
    shift, v, h, off, off_speed, bend = dragged_cell(local, m, w)
    o, g = real3(reals, e, ORIGIN), real3(reals, e, G)
    q = (local[X] - o[0] + shift[0], local[X + 1] - o[1] + shift[1], local[X + 2] - o[2] + shift[2])
    aq, av = times_quadric(reals, e, q), times_quadric(reals, e, v)
    n = (aq[0] + g[0], aq[1] + g[1], aq[2] + g[2])
    k0, k1 = dot3(q, n) + dot3(q, g) + reals[e, J], 2.0 * dot3(n, v)
    nh = 2.0 * dot3(n, h)
    k2, k3, k4 = dot3(av, v) + nh, 2.0 * dot3(av, h), dot3(times_quadric(reals, e, h), h)
    more = w * w * (1.0 + bend)
    size = (
        abs(q[0]) + w * abs(v[0]) + more * abs(h[0]),
        abs(q[1]) + w * abs(v[1]) + more * abs(h[1]),
        abs(q[2]) + w * abs(v[2]) + more * abs(h[2]),
    )
    twice = 2.0 * w * (1.0 + bend)
    swift = (abs(v[0]) + twice * abs(h[0]), abs(v[1]) + twice * abs(h[1]), abs(v[2]) + twice * abs(h[2]))
    slopes = abs_times_quadric(reals, e, size)
    slopes = (slopes[0] + abs(g[0]), slopes[1] + abs(g[1]), slopes[2] + abs(g[2]))
    wide = abs_times_quadric(reals, e, (1.0, 1.0, 1.0))
    whole = wide[0] + wide[1] + wide[2]
    # How steep f is anywhere on the cell, a sum over the axes.
    reach = abs_times_quadric(reals, e, (size[0] - abs(q[0]), size[1] - abs(q[1]), size[2] - abs(q[2])))
    steepest = abs(n[0]) + abs(n[1]) + abs(n[2]) + reach[0] + reach[1] + reach[2]
    weight = dot3(size, slopes) + abs_dot3(size, g) + abs(reals[e, J])
    noise = 32.0 * UNIT_ROUNDOFF
    err = off * (2.0 * steepest + off * whole) + noise * weight
    err_mid = off * (2.0 * (abs(n[0]) + abs(n[1]) + abs(n[2])) + off * whole) + noise * weight
    bent = bend * (2.0 + bend) * abs(k4)
    err += w * w * (bend * (abs(nh) + w * abs(k3)) + w * w * bent)
    least = k0 + w * (-abs(k1) + w * (min(k2, 0.0) - w * (abs(k3) - w * min(k4, 0.0))))
    curve = k2 - w * abs(k3) + w * w * min(k4, 0.0)
    if curve > 0.0 and abs(k1) < 2.0 * curve * w:
        least = max(least, k0 - k1 * k1 / (4.0 * curve))
    most = k0 + w * (abs(k1) + w * (max(k2, 0.0) + w * (abs(k3) + w * max(k4, 0.0))))
    curve = k2 + w * abs(k3) + w * w * max(k4, 0.0)
    if curve < 0.0 and abs(k1) < -2.0 * curve * w:
        most = min(most, k0 - k1 * k1 / (4.0 * curve))
    turn = w * (2.0 * abs(k2) + w * (3.0 * abs(k3) + w * 4.0 * abs(k4)))
    loose = w * (bend * (2.0 * abs(nh) + 3.0 * w * abs(k3)) + 4.0 * w * w * bent)
    push = abs_times_quadric(reals, e, swift)
    loose += 2.0 * off * (push[0] + push[1] + push[2] + off_speed * whole) + 2.0 * steepest * off_speed
    loose += 2.0 * noise * abs_dot3(slopes, swift)
    out[LOW], out[HIGH] = least - err, most + err
    out[STEEP_LOW], out[STEEP_HIGH] = k1 - turn - loose, k1 + turn + loose
    out[MIDDLE_LOW], out[MIDDLE_HIGH], out[STEEP], out[WEIGHT] = k0 - err_mid, k0 + err_mid, k1, weight


@exact_device
def _place(local, o, axis, t, twice):
    """A coordinate of p(t) - o as a double-double."""
    start = dd_sum(two_diff(local[X + axis], o[axis]), two_product(t, local[V + axis]))
    return dd_sum(start, dd_scaled(twice, local[ACC + axis]))


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8")
def quadric_value(reals, e, local, t):
    """h(t) from double-doubles."""
    o, g = real3(reals, e, ORIGIN), real3(reals, e, G)
    _slow, twice = exact_phi_psi(local[DRAG], t)
    q = (_place(local, o, 0, t, twice), _place(local, o, 1, t, twice), _place(local, o, 2, t, twice))
    n = (
        dd_sum(dd_dot_scaled(q, quadric_row(reals, e, 0)), (2.0 * g[0], 0.0)),
        dd_sum(dd_dot_scaled(q, quadric_row(reals, e, 1)), (2.0 * g[1], 0.0)),
        dd_sum(dd_dot_scaled(q, quadric_row(reals, e, 2)), (2.0 * g[2], 0.0)),
    )
    return dd_sum(dd_dot_dd(q, n), (reals[e, J], 0.0))[0]


@exact_kernel(inner="f8[:,::1], i8, f8[::1], f8, f8, i8, f8[::1]")
def quadric_root(reals, e, local, low, high, side, out):
    """The crossing between low, where h has the sign `side`, and high, where it has the other."""
    t, before = 0.5 * (low + high), high - low
    for _ in range(ROOT_STEPS):
        enclose_quadric(reals, e, local, t, t, out)
        h = 0.5 * (out[MIDDLE_LOW] + out[MIDDLE_HIGH])
        if abs(h) <= 32.0 * (out[MIDDLE_HIGH] - out[MIDDLE_LOW]):
            h = quadric_value(reals, e, local, t)
        if h == 0.0:
            return t
        if (h > 0.0) == (side > 0):
            low = t
        else:
            high = t
        to = t - h / out[STEEP] if out[STEEP] != 0.0 else math.inf
        if not low <= to <= high or abs(to - t) > 0.5 * before:
            to = 0.5 * (low + high)
        before = abs(to - t)
        if before <= UNIT_ROUNDOFF * abs(t):
            return to
        t = to
    return t


@exact_kernel(inner="elements, i8, f8[::1], f8")
def passes_singular(elements, e, local, t):
    """Whether a path whose h all but touches zero at t goes through a singular point there, within the bounds."""
    kind = elements.ints[e, SINGULAR]
    if kind == REGULAR:
        return False
    x, v, a = _three(local, X), _three(local, V), _three(local, ACC)
    w = dragged_velocity(v, a, local[DRAG], t)
    inside = dot3(w, times_quadric(elements.reals, e, w))
    if inside == 0.0 or (kind == CONE_NEGATIVE and inside > 0.0) or (kind == CONE_POSITIVE and inside < 0.0):
        return False
    p = dragged_place(x, v, a, local[DRAG], t)
    return near_singular(elements, e, x, v, a, local[DRAG], p, t, SINGULAR_PASS) and in_bounds(elements, e, p, 0.0)


@exact_device
def near_singular(elements, e, x, v, a, rate, p, t, part):
    """`at_singular_point` of a path with drag: t^2 |a| is there the magnitude of the acceleration's part."""
    less = phi_psi(rate, t)[1] / (t * t) if t > 0.0 else 0.0
    return at_singular_point(elements, e, x, v, (less * a[0], less * a[1], less * a[2]), p, t, part)


@exact_device
def _sign(low, high, near):
    """Of all numbers from low to high; 0 if they differ, or are within `near` of 0."""
    return _I(1) if low > near else (_I(-1) if high < -near else _I(0))


@exact_device
def _inside(elements, e, local, t):
    p = dragged_place(_three(local, X), _three(local, V), _three(local, ACC), local[DRAG], t)
    return in_bounds(elements, e, p, 0.0)


@exact_kernel(inner="elements, i8, f8[::1], f8, f8, i8, f8, f8[:,::1], f8[::1]")
def quadric_crossing(elements, e, local, begin, end, side, start, cells, out):
    """(time, status): the first crossing of a quadric within its bounds from begin to end; inf if there is none; status 1: none
    is before that time, but the search came to its limit.

    side: sign of h at `begin`, or 0 where the particle is on the surface: then it is known where |h| is above `start`."""
    reals, singular = elements.reals, elements.ints[e, SINGULAR] != REGULAR
    since = begin
    cells[0, 0], cells[0, 1], depth, left = begin, end, 1, DRAG_CELLS
    while depth > 0:
        depth -= 1
        b, t = cells[depth, 0], cells[depth, 1]
        if left <= 0:
            return since, _I(1)
        left -= 1
        enclose_quadric(reals, e, local, b, t, out)
        near = (start if side == 0 else 0.0) + (ROOT_NEAR * out[WEIGHT] if singular else 0.0)
        sign = _sign(out[LOW], out[HIGH], near)
        small = out[HIGH] - out[LOW] <= DRAG_NOISE * (out[MIDDLE_HIGH] - out[MIDDLE_LOW] + 2.0 * near)
        # On a long cell a value is off by more than roundoff.
        small = small and local[DRAG] * (t - b) <= DRAG_SERIES
        small = small or t - b <= DRAG_RESOLUTION * t or depth + 2 > CELL_STACK
        monotone = out[STEEP_LOW] > 0.0 or out[STEEP_HIGH] < 0.0
        if sign == 0 and monotone:
            enclose_quadric(reals, e, local, t, t, out)
            sign = _sign(out[MIDDLE_LOW], out[MIDDLE_HIGH], near)
        if sign != 0:
            if side != 0 and sign != side:
                root = quadric_root(reals, e, local, since, t, side, out)
                if _inside(elements, e, local, root):
                    return root, _I(0)
            side, since = sign, t
        elif small:
            enclose_quadric(reals, e, local, b, b, out)
            steep = out[STEEP]
            enclose_quadric(reals, e, local, t, t, out)
            later = out[STEEP]
            if (steep > 0.0) != (later > 0.0):
                turn = b + (t - b) * (steep / (steep - later))
                h = quadric_value(reals, e, local, turn)
                if side != 0 and passes_singular(elements, e, local, turn):
                    return turn, _I(0)
                if side != 0 and abs(h) > ROOT_TOUCH * out[WEIGHT] and (h > 0.0) != (side > 0):
                    root = quadric_root(reals, e, local, since, turn, side, out)
                    if _inside(elements, e, local, root):
                        return root, _I(0)
                    side, since = -side, turn
        else:
            middle = 0.5 * (b + t)
            cells[depth, 0], cells[depth, 1] = middle, t
            cells[depth + 1, 0], cells[depth + 1, 1] = b, middle
            depth += 2
    return math.inf, _I(0)
