"""Numbers of about 32 digits as unevaluated sums of two floats, (high, low), |low| at most half a unit of high's last place.

Dekker 1971, "A floating-point technique for extending the available precision". Sums and products are right to some 2**-104
of their terms' magnitudes. Exact code: see `_core/decorators.py`.
"""

from __future__ import annotations

from thud._core.decorators import exact_device
from thud.geometry.predicates import two_product, two_sum


@exact_device
def dd_sum(a, b):
    """a + b."""
    s, e = two_sum(a[0], b[0])
    e += a[1] + b[1]
    high = s + e
    return high, e - (high - s)


@exact_device
def dd_product(a, b):
    """a b."""
    p, e = two_product(a[0], b[0])
    e += a[0] * b[1] + a[1] * b[0]
    high = p + e
    return high, e - (high - p)


@exact_device
def dd_scaled(a, x):
    """a x for a float x."""
    p, e = two_product(a[0], x)
    e += a[1] * x
    high = p + e
    return high, e - (high - p)


@exact_device
def dd_shifted(a, power):
    """a times a power of two: exact."""
    return a[0] * power, a[1] * power


@exact_device
def dd_dot(a, b):
    """a . b of two vectors of floats."""
    return dd_sum(dd_sum(two_product(a[0], b[0]), two_product(a[1], b[1])), two_product(a[2], b[2]))


@exact_device
def dd_dot_scaled(a, b):
    """a . b of a vector of double-doubles and one of floats."""
    return dd_sum(dd_sum(dd_scaled(a[0], b[0]), dd_scaled(a[1], b[1])), dd_scaled(a[2], b[2]))


@exact_device
def dd_dot_dd(a, b):
    """a . b of two vectors of double-doubles."""
    return dd_sum(dd_sum(dd_product(a[0], b[0]), dd_product(a[1], b[1])), dd_product(a[2], b[2]))
