"""Exact predicates: on which side of a line or plane a point lies, decided without any rounding error.

A sign is computed in floating point first and believed where it exceeds the largest error the computation can have
(Shewchuk 1997, bounds A). Where it does not, the determinant is summed exactly, as an expansion: a list of floats that
do not overlap and whose sum is the exact value.

All of this is exact code: compiled without fast-math and called by no fast kernel that would inline it. Points are 2-
or 3-tuples of floats. Exact while no product of three coordinates' differences over- or underflows: lengths between
about 1e-90 and 1e90.
"""

from __future__ import annotations

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.geometry._stack import stack_expansion
from thud.geometry.exact_vec3 import drop_axis, sub
from thud.geometry.tolerances import PRECISE

#: Largest relative errors of the two determinants (of the sum of their terms' magnitudes), Shewchuk 1997.
_BOUND_2D = (3.0 + 16.0 * UNIT_ROUNDOFF) * UNIT_ROUNDOFF
_BOUND_3D = (7.0 + 56.0 * UNIT_ROUNDOFF) * UNIT_ROUNDOFF

#: 2^27 + 1: multiplying by it cuts a float64 into two halves of 26 bits (Veltkamp).
_SPLITTER = 134217729.0


@exact_device
def two_sum(a, b):
    """(s, e): s = a + b rounded, s + e = a + b exactly (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@exact_device
def two_diff(a, b):
    """(s, e): s = a - b rounded, s + e = a - b exactly."""
    s = a - b
    t = a - s
    return s, (a - (s + t)) + (t - b)


@exact_device
def _split(a):
    """a as the sum of two floats of 26 bits."""
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


@exact_device
def two_product(a, b):
    """(p, e): p = a * b rounded, p + e = a * b exactly (Dekker)."""
    p = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)


@exact_kernel
def grow_expansion(terms, count, x):
    """Add x to the expansion terms[:count], smallest first, without zeros; returns its new length."""
    kept = 0
    for i in range(count):
        x, rest = two_sum(x, terms[i])
        if rest != 0.0:
            terms[kept] = rest
            kept += 1
    if x != 0.0:
        terms[kept] = x
        kept += 1
    return kept


@exact_device
def _estimate(terms, count):
    """Value of an expansion, right to the last bits, its sign exactly."""
    total = 0.0
    for i in range(count):
        total += terms[i]
    return total


@exact_kernel
def _det3_exact(u, v, w):
    """u . (v x w), vectors of pairs (high, low) of floats: exact sign, value right to the last bits."""
    # In arrays and plain loops: unrolled, this rarely needed code would cost more to compile than all the rest.
    pairs, terms = stack_expansion(), stack_expansion()
    for i in range(3):
        for half in range(2):
            pairs[2 * i + half], pairs[6 + 2 * i + half], pairs[12 + 2 * i + half] = u[i][half], v[i][half], w[i][half]
    count = 0
    # Six products of three components, the last three with a minus; each factor is a sum of two floats: eight triples.
    for n in range(48):
        product, halves = n // 8, n % 8
        i, odd = product % 3, product >= 3
        j, k = ((i + 2) % 3, (i + 1) % 3) if odd else ((i + 1) % 3, (i + 2) % 3)
        x, y, z = pairs[2 * i + halves % 2], pairs[6 + 2 * j + halves // 2 % 2], pairs[12 + 2 * k + halves // 4]
        if x == 0.0 or y == 0.0 or z == 0.0:
            continue
        # x y z as four floats, smallest first.
        high, low = two_product(-x if odd else x, y)
        pairs[19], pairs[18] = two_product(low, z)
        pairs[21], pairs[20] = two_product(high, z)
        for part in range(18, 22):
            if pairs[part] != 0.0:
                count = grow_expansion(terms, count, pairs[part])
    return _estimate(terms, count)


@exact_device
def _det2_exact(u, v):
    """u x v, vectors of the plane of pairs (high, low) of floats: exact sign, value right to the last bits."""
    zero, one = (0.0, 0.0), (1.0, 0.0)
    return _det3_exact((zero, zero, one), (u[0], u[1], zero), (v[0], v[1], zero))


@exact_device
def _exact_sub(a, b):
    """a - b of 3-tuples as pairs (high, low)."""
    return two_diff(a[0], b[0]), two_diff(a[1], b[1]), two_diff(a[2], b[2])


@exact_device
def _pairs(a):
    """A 3-tuple as pairs (high, low)."""
    return (a[0], 0.0), (a[1], 0.0), (a[2], 0.0)


@exact_device
def _det3_float(u, v, w):
    """(u . (v x w), sum of the magnitudes of its terms) in floating point."""
    p, q = v[1] * w[2], v[2] * w[1]
    r, s = v[2] * w[0], v[0] * w[2]
    t, o = v[0] * w[1], v[1] * w[0]
    value = u[0] * (p - q) + u[1] * (r - s) + u[2] * (t - o)
    size = abs(u[0]) * (abs(p) + abs(q)) + abs(u[1]) * (abs(r) + abs(s)) + abs(u[2]) * (abs(t) + abs(o))
    return value, size


@exact_device
def _cross2(u, v, w, bound):
    """(u - w) x (v - w) of 2-tuples, with the exact sum where |value| is at most bound * its terms."""
    left, right = (u[0] - w[0]) * (v[1] - w[1]), (u[1] - w[1]) * (v[0] - w[0])
    value = left - right
    if abs(value) > bound * (abs(left) + abs(right)):
        return value
    return _det2_exact((two_diff(u[0], w[0]), two_diff(u[1], w[1])), (two_diff(v[0], w[0]), two_diff(v[1], w[1])))


@exact_kernel
def orient2d(a, b, c):
    """(b - a) x (c - a): positive where c lies to the left of the line from a to b. The sign is exact."""
    return _cross2(b, c, a, _BOUND_2D)


@exact_kernel
def orient2d_precise(a, b, c):
    """`orient2d` with a value right to 1e-11 of itself."""
    return _cross2(b, c, a, PRECISE)


@exact_kernel
def orient3d(a, b, c, d):
    """((b - a) x (c - a)) . (d - a): positive where d lies on the side abc's normal points to. The sign is exact."""
    value, size = _det3_float(sub(b, a), sub(c, a), sub(d, a))
    if abs(value) > _BOUND_3D * size:
        return value
    return _det3_exact(_exact_sub(b, a), _exact_sub(c, a), _exact_sub(d, a))


@exact_kernel
def orient3d_precise(a, b, c, d):
    """`orient3d` with a value right to 1e-11 of itself."""
    value, size = _det3_float(sub(b, a), sub(c, a), sub(d, a))
    if abs(value) > PRECISE * size:
        return value
    return _det3_exact(_exact_sub(b, a), _exact_sub(c, a), _exact_sub(d, a))


@exact_kernel
def line_side(o, d, a, b):
    """d . ((a - o) x (b - o)): on which side of the line o + t d the edge ab passes, d an exact vector. The sign is exact.

    Changes its sign, and nothing else, when a and b are swapped.
    """
    value, size = _det3_float(d, sub(a, o), sub(b, o))
    if abs(value) > _BOUND_3D * size:
        return value
    return _det3_exact(_pairs(d), _exact_sub(a, o), _exact_sub(b, o))


@exact_kernel
def line_side_precise(o, d, a, b):
    """`line_side` with a value right to 1e-11 of itself."""
    value, size = _det3_float(d, sub(a, o), sub(b, o))
    if abs(value) > PRECISE * size:
        return value
    return _det3_exact(_pairs(d), _exact_sub(a, o), _exact_sub(b, o))


@exact_kernel
def cross_component(d, a, b, axis):
    """Component `axis` of d x (a - b), d an exact vector. The sign is exact."""
    # The component is e x (a - b) in the plane across the axis.
    e, p, q = drop_axis(d, axis), drop_axis(a, axis), drop_axis(b, axis)
    left, right = e[0] * (p[1] - q[1]), e[1] * (p[0] - q[0])
    value = left - right
    if abs(value) > _BOUND_2D * (abs(left) + abs(right)):
        return value
    return _det2_exact(((e[0], 0.0), (e[1], 0.0)), (two_diff(p[0], q[0]), two_diff(p[1], q[1])))


@exact_device
def same_side(a, b):
    """Whether two determinants are strictly on one side: both positive or both negative. Their product could underflow."""
    return (a > 0.0 and b > 0.0) or (a < 0.0 and b < 0.0)


@exact_device
def none_apart(a, b, c):
    """Whether no two of three determinants are strictly on opposite sides."""
    return (a >= 0.0 and b >= 0.0 and c >= 0.0) or (a <= 0.0 and b <= 0.0 and c <= 0.0)
