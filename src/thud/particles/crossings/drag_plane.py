"""A path with drag and a plane: h(t) = c0 + c1 t + c2 psi(t), the terms of `drag_time.py`.

h' = c1 + c2 phi(t) is monotone, so h has one extreme at most, whose time is a logarithm: on either side of it h has a root just
where its signs at the two ends differ. Coefficients and signs have 32 digits. A path whose extreme is within ROOT_TOUCH of
the plane touches it: no root. A root whose error is proven below FILTER_ERROR in floats needs no more digits.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.particles.crossings.double_double import dd_product, dd_scaled, dd_sum
from thud.particles.crossings.drag_time import exact_phi_psi, phi_psi, when_phi
from thud.particles.crossings.tolerances import (
    DRAG_FARTHEST,
    DRAG_NOISE,
    DRAG_STRAIGHT,
    FILTER_ERROR,
    ROOT_PRECISE,
    ROOT_STEPS,
    ROOT_TOUCH,
)


@exact_device
def plane_turn(rate, c1, c2):
    """When h turns, after 0; inf if it does not."""
    if c1 == 0.0 or c2 == 0.0 or (c1 > 0.0) == (c2 > 0.0):
        return math.inf
    return when_phi(rate, -c1 / c2)


@exact_kernel(inner="f8, Tuple((f8, f8)), Tuple((f8, f8)), Tuple((f8, f8)), f8")
def plane_sign(rate, c0, c1, c2, t):
    """Sign of h(t); 0 where it cannot be told from a touch."""
    _low, high = phi_psi(rate, t)
    size = abs(c0[0]) + abs(c1[0]) * t + abs(c2[0]) * high
    h = c0[0] + c1[0] * t + c2[0] * high
    if not abs(h) > ROOT_PRECISE * size:
        _low, exact = exact_phi_psi(rate, t)
        h = dd_sum(dd_sum(c0, dd_scaled(c1, t)), dd_product(c2, exact))[0]
        if abs(h) <= ROOT_TOUCH * size:
            return 0
    return 1 if h > 0.0 else -1


@exact_kernel(inner="f8, Tuple((f8, f8)), Tuple((f8, f8)), Tuple((f8, f8)), f8, f8, i8")
def plane_bracket(rate, c0, c1, c2, low, high, sign_low):
    """The root of h, monotone between low, where it has sign_low, and high, where it has another sign."""
    t, before, exact = 0.5 * (low + high), high - low, False
    for _ in range(ROOT_STEPS):
        slow, twice = phi_psi(rate, t)
        h, slope = c0[0] + c1[0] * t + c2[0] * twice, c1[0] + c2[0] * slow
        if not exact:
            noise = ROOT_PRECISE * (abs(c0[0]) + abs(c1[0]) * t + abs(c2[0]) * twice)
            exact = abs(h) <= noise
            if exact and 2.0 * noise <= FILTER_ERROR * t * abs(slope):
                # Near enough without more digits.
                return min(max(t - h / slope, low), high)
        if exact:
            _slow, more = exact_phi_psi(rate, t)
            h = dd_sum(dd_sum(c0, dd_scaled(c1, t)), dd_product(c2, more))[0]
        if h == 0.0:
            return t
        if (h > 0.0) == (sign_low > 0):
            low = t
        else:
            high = t
        to = t - h / slope if slope != 0.0 else math.inf
        if not low < to < high or abs(to - t) > 0.5 * before:
            to = 0.5 * (low + high)
        before = abs(to - t)
        if before <= UNIT_ROUNDOFF * abs(t) or high - low <= UNIT_ROUNDOFF * abs(t):
            return to
        t = to
    return t


@exact_kernel(inner="f8, Tuple((f8, f8)), Tuple((f8, f8)), Tuple((f8, f8)), f8")
def dragged_plane_roots(rate, c0, c1, c2, reach):
    """(first, second): times in (0, reach] at which h changes its sign, inf where there is none. With c0 = 0 the root at 0 is
    none."""
    inf = math.inf
    end = min(reach, DRAG_FARTHEST)
    slowed = c2[0] / rate
    if abs(c1[0] + slowed) <= DRAG_NOISE * max(abs(c1[0]), abs(slowed)):
        # It comes to rest: later h is what the roundoff of its last velocity adds up to.
        end = min(end, DRAG_STRAIGHT / rate)
    if not end > 0.0:
        return inf, inf
    sign = c0[0] if c0[0] != 0.0 else (c1[0] if c1[0] != 0.0 else c2[0])
    if sign == 0.0:
        return inf, inf
    before = 1 if sign > 0.0 else -1
    first, at = inf, 0.0
    turn = plane_turn(rate, c1[0], c2[0])
    if turn < end:
        here = plane_sign(rate, c0, c1, c2, turn)
        if here == 0:
            return inf, inf
        if here != before:
            first = plane_bracket(rate, c0, c1, c2, 0.0, turn, before)
        at, before = turn, here
    last = plane_sign(rate, c0, c1, c2, end)
    # The end itself may be a root.
    if last == before:
        return first, inf
    other = plane_bracket(rate, c0, c1, c2, at, end, before) if last != 0 else end
    return (other, inf) if first == inf else (first, other)
