"""Linear drag: the functions of time that stand in for t and t^2 / 2 along a path.

With the rate r = drag / mass, acceleration g and wind u a particle obeys v' = g - r (v - u), and so

    p(t) = x + v t + a psi(t),   p'(t) = v + a phi(t),   p''(t) = a exp(-r t),   a = g + r (u - v) at the start,
    phi(t) = (1 - exp(-r t)) / r,   psi(t) = (t - phi(t)) / r.

Without drag phi is t and psi is t^2 / 2. For small r t they are summed as series, so that they go over into these without any
loss. Each coordinate is convex or concave, and turns at most once. Started anew at any time of itself a path is one of the same
rate again, its acceleration times exp(-r t): so over a cell of time of middle m and half width w

    p(m + s) = p(m) + v(m) s + c a(m) s^2 / 2,   c between 2 psi(w) / w^2 and 2 psi(-w) / w^2,

a parabola but for a factor near 1, one for all coordinates.
"""

from __future__ import annotations

import math
from fractions import Fraction

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.predicates import two_product
from thud.particles.crossings.double_double import dd_product, dd_scaled, dd_shifted, dd_sum
from thud.particles.crossings.tolerances import DRAG_ENDED, DRAG_NONE, DRAG_SERIES, DRAG_SERIES_EXACT

#: Terms of the series of psi (counts) in floats and with 32 digits: 1 / (n + 2)!, and what the floats leave.
_TERMS, _EXACT_TERMS = 15, 19
_COEFFICIENT = tuple(1.0 / math.factorial(n + 2) for n in range(_EXACT_TERMS))
_COEFFICIENT_REST = tuple(float(Fraction(1, math.factorial(n + 2)) - Fraction(c)) for n, c in enumerate(_COEFFICIENT))


@exact_device
def series(z):
    """psi(t) / t^2 = 1/2 - z/6 + z^2/24 - ..., z = rate t no larger than DRAG_SERIES."""
    total = _COEFFICIENT[_TERMS - 1]
    for k in range(_TERMS - 1):
        total = _COEFFICIENT[_TERMS - 2 - k] - z * total
    return total


@exact_device
def phi(rate, t):
    """(1 - exp(-rate t)) / rate."""
    z = rate * t
    return t if abs(z) < DRAG_NONE else -math.expm1(-z) / rate


@exact_device
def psi(rate, t):
    """(t - phi(t)) / rate."""
    z = rate * t
    return t * t * series(z) if abs(z) <= DRAG_SERIES else (t + math.expm1(-z) / rate) / rate


@exact_kernel(inner="f8, f8")
def phi_psi(rate, t):
    """(phi, psi) at t; one exponential."""
    z = rate * t
    if abs(z) <= DRAG_SERIES:
        value = t * t * series(z)
        return t - rate * value, value
    value = -math.expm1(-z) / rate
    return value, (t - value) / rate


@exact_device
def when_phi(rate, value):
    """The time at which phi has this value; inf if it never does."""
    z = rate * value
    if abs(z) < DRAG_NONE:
        return value
    return -math.log1p(-z) / rate if z < 1.0 else math.inf


@exact_kernel(inner="f8, f8")
def exact_phi_psi(rate, t):
    """(phi, psi) as double-doubles. psi(2 t) = 2 psi(t) + phi(t)^2, phi(2 t) = phi(t) (2 - rate phi(t))."""
    z = two_product(rate, t)
    if z[0] > DRAG_ENDED:
        one = 1.0 / rate
        p, rest = two_product(one, rate)
        inverse = dd_sum((one, 0.0), (((1.0 - p) - rest) / rate, 0.0))
        return inverse, dd_product(dd_sum((t, 0.0), dd_shifted(inverse, -1.0)), inverse)
    doublings = 0
    while abs(z[0]) > DRAG_SERIES_EXACT:
        z, t, doublings = (0.5 * z[0], 0.5 * z[1]), 0.5 * t, doublings + 1
    total = (_COEFFICIENT[_EXACT_TERMS - 1], _COEFFICIENT_REST[_EXACT_TERMS - 1])
    for k in range(_EXACT_TERMS - 1):
        n = _EXACT_TERMS - 2 - k
        total = dd_sum((_COEFFICIENT[n], _COEFFICIENT_REST[n]), dd_shifted(dd_product(z, total), -1.0))
    high = dd_product(two_product(t, t), total)
    low = dd_sum((t, 0.0), dd_shifted(dd_scaled(high, rate), -1.0))
    for _ in range(doublings):
        high = dd_sum(dd_shifted(high, 2.0), dd_product(low, low))
        low = dd_product(low, dd_sum((2.0, 0.0), dd_shifted(dd_scaled(low, rate), -1.0)))
    return low, high


@exact_device
def dragged_place(x, v, a, rate, t):
    """p(t) of a path with drag."""
    p = psi(rate, t)
    return x[0] + t * v[0] + p * a[0], x[1] + t * v[1] + p * a[1], x[2] + t * v[2] + p * a[2]


@exact_device
def dragged_velocity(v, a, rate, t):
    """p'(t) of a path with drag."""
    f = phi(rate, t)
    return v[0] + f * a[0], v[1] + f * a[1], v[2] + f * a[2]


@exact_device
def cell_bend(rate, w):
    """How much phi(s) / s and 2 psi(s) / s^2 are off 1 at most, over a cell of half width w with rate w <= DRAG_SERIES."""
    # (exp(z) - 1) / z - 1 = z series(-z); it is the largest of all.
    z = rate * w
    return z * series(-z) * (1.0 + 1e-15)
