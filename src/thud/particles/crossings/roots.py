"""Where a polynomial of degree up to four changes its sign: h(t) = c0 + c1 t + c2 t^2 + c3 t^3 + c4 t^4, Eq. (3.3).

The coefficients are double-doubles. Between two neighbouring roots of h' a polynomial is monotone, so it has a root there just
where its signs at the two differ; h' is treated in the same way by h'', and so on down to the line. All signs are those of
double-double values, so that two crossings 1e-15 apart are still told from none. Where |h| is below ROOT_TOUCH of its terms'
magnitudes at an extreme, the path touches the surface without crossing it: no root.

Inside a bracket, Newton's method, kept there by halving, ends at the float nearest the root; its values of h are double-doubles
from where floats cannot tell their sign.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.particles.crossings.double_double import dd_product, dd_scaled, dd_shifted, dd_sum
from thud.particles.crossings.tolerances import ROOT_FARTHEST, ROOT_NEAR, ROOT_PRECISE, ROOT_SIGN, ROOT_STEPS, ROOT_TOUCH


@exact_device
def degree_of(c):
    """Highest power whose coefficient is not zero; 0 for a constant."""
    if c[4][0] != 0.0:
        return 4
    if c[3][0] != 0.0:
        return 3
    if c[2][0] != 0.0:
        return 2
    return 1 if c[1][0] != 0.0 else 0


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def value(c, t):
    """h(t) by Horner's rule, a double-double."""
    h = dd_sum(dd_scaled(c[4], t), c[3])
    h = dd_sum(dd_scaled(h, t), c[2])
    h = dd_sum(dd_scaled(h, t), c[1])
    return dd_sum(dd_scaled(h, t), c[0])


@exact_device
def slope(c, t):
    """h'(t), a float."""
    return c[1][0] + t * (2.0 * c[2][0] + t * (3.0 * c[3][0] + t * 4.0 * c[4][0]))


@exact_device
def magnitude(c, t):
    """Sum of the magnitudes of h(t)'s terms, t >= 0."""
    return abs(c[0][0]) + t * (abs(c[1][0]) + t * (abs(c[2][0]) + t * (abs(c[3][0]) + t * abs(c[4][0]))))


@exact_device
def derivative(c):
    """Coefficients of h'."""
    return c[1], dd_shifted(c[2], 2.0), dd_scaled(c[3], 3.0), dd_shifted(c[4], 4.0), (0.0, 0.0)


@exact_device
def divided(c):
    """Coefficients of h(t) / t, c0 taken for 0."""
    return c[1], c[2], c[3], c[4], (0.0, 0.0)


@exact_device
def rough_value(c, t):
    """h(t), a float: right to some 10 units of roundoff of its terms' magnitudes."""
    return c[0][0] + t * (c[1][0] + t * (c[2][0] + t * (c[3][0] + t * c[4][0])))


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def sign_at(c, t):
    """Sign of h(t); 0 where it cannot be told from a touch."""
    size = magnitude(c, t)
    h = rough_value(c, t)
    if abs(h) <= ROOT_SIGN * size:
        h = value(c, t)[0]
        if abs(h) <= ROOT_TOUCH * size:
            return 0
    return 1 if h > 0.0 else -1


@exact_device
def sign_after_start(c):
    """Sign of h just after 0."""
    for k in range(5):
        if c[k][0] != 0.0:
            return 1 if c[k][0] > 0.0 else -1
    return 0


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8, f8, i8")
def bracketed_root(c, low, high, sign_low):
    """The root of a polynomial that is monotone between low and high and has sign_low at low, another one at high."""
    t = 0.5 * (low + high)
    before = high - low
    exact = False
    for _ in range(ROOT_STEPS):
        # In floats as long as their signs are sure.
        h = 0.0
        if not exact:
            h = rough_value(c, t)
            exact = abs(h) <= ROOT_PRECISE * magnitude(c, t)
        if exact:
            h = value(c, t)[0]
        if h == 0.0:
            return t
        if (h > 0.0) == (sign_low > 0):
            low = t
        else:
            high = t
        step = h / slope(c, t)
        to = t - step
        # Newton's steps must halve; where they do not (far from the root, at multiple ones), the bracket is halved.
        if not (low < to < high) or abs(step) > 0.5 * before:
            to = 0.5 * (low + high)
            step = t - to
        before = abs(step)
        if abs(to - t) <= UNIT_ROUNDOFF * abs(t) or high - low <= UNIT_ROUNDOFF * abs(t):
            return to
        t = to
    return t


@exact_device
def separated(c, before, at, sign, edge, count, roots):
    """One step along the pieces: from (at, sign) on to `edge`. Returns the new (at, sign, count, roots)."""
    sign_edge = sign_at(c, edge)
    if sign_edge == 0:
        return at, sign, count, roots
    if sign_edge != sign and sign != 0:
        t = bracketed_root(c, at, edge, sign)
        if t < before:
            if count == 0:
                roots = (t, roots[1], roots[2], roots[3])
            elif count == 1:
                roots = (roots[0], t, roots[2], roots[3])
            elif count == 2:
                roots = (roots[0], roots[1], t, roots[3])
            else:
                roots = (roots[0], roots[1], roots[2], t)
            count += 1
    return edge, sign_edge, count, roots


@exact_device
def along_pieces(c, to, edges, many):
    """(count, roots): crossings in (0, to) of a polynomial that is monotone between the first `many` edges, rising numbers."""
    at, sign, count, roots = 0.0, sign_after_start(c), 0, (math.inf, math.inf, math.inf, math.inf)
    for k in range(many):
        edge = edges[k]
        if at < edge < to:
            at, sign, count, roots = separated(c, to, at, sign, edge, count, roots)
    at, sign, count, roots = separated(c, to, at, sign, to, count, roots)
    return count, roots


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def linear_crossings(c, to):
    """(count, roots) of c0 + c1 t in (0, to)."""
    inf = math.inf
    if c[0][0] == 0.0 or (c[0][0] > 0.0) == (c[1][0] > 0.0):
        return 0, (inf, inf, inf, inf)
    t = -c[0][0] / c[1][0]
    t -= value(c, t)[0] / c[1][0]
    if 0.0 < t < to:
        return 1, (t, inf, inf, inf)
    return 0, (inf, inf, inf, inf)


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def quadratic_crossings(c, to):
    """(count, roots) of c0 + c1 t + c2 t^2 in (0, to). Eq. (3.6), (3.9)."""
    inf = math.inf
    none = (inf, inf, inf, inf)
    if c[0][0] == 0.0:
        # A root at 0, which does not count, and one more.
        count, roots = linear_crossings(divided(c), to)
        return count, roots
    square = dd_product(c[1], c[1])
    product = dd_shifted(dd_product(c[2], c[0]), -4.0)
    under = dd_sum(square, product)[0]
    if under <= 4.0 * ROOT_TOUCH * (square[0] + abs(product[0])):
        return 0, none
    q = -0.5 * (c[1][0] + math.copysign(math.sqrt(under), c[1][0]))
    a, b = q / c[2][0], c[0][0] / q
    if a > b:
        a, b = b, a
    # The formula loses digits where the roots are close; Newton's method with values of 32 digits brings them back. The
    # roots stay on their sides of the extreme.
    middle = -0.5 * c[1][0] / c[2][0]
    for _ in range(8):
        down, up = slope(c, a), slope(c, b)
        step_a = value(c, a)[0] / down if down != 0.0 else 0.0
        step_b = value(c, b)[0] / up if up != 0.0 else 0.0
        a, b = min(a - step_a, middle), max(b - step_b, middle)
        if abs(step_a) <= UNIT_ROUNDOFF * abs(a) and abs(step_b) <= UNIT_ROUNDOFF * abs(b):
            break
    if not 0.0 < a < to:
        if 0.0 < b < to:
            return 1, (b, inf, inf, inf)
        return 0, none
    if 0.0 < b < to:
        return 2, (a, b, inf, inf)
    return 1, (a, inf, inf, inf)


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def cubic_crossings(c, to):
    """(count, roots) of a cubic in (0, to)."""
    if degree_of(c) <= 2:
        count, roots = quadratic_crossings(c, to) if degree_of(c) == 2 else linear_crossings(c, to)
        return count, roots
    many, edges = quadratic_crossings(derivative(c), to)
    return along_pieces(c, to, edges, many)


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def quartic_crossings(c, to):
    """(count, roots) of a quartic in (0, to)."""
    many, edges = cubic_crossings(derivative(c), to)
    return along_pieces(c, to, edges, many)


@exact_device
def add_touch(c, t, to, count, roots):
    """(count, roots) with t, an extreme of h, if h is zero there up to ROOT_NEAR, and does not come to the other side of it."""
    bend = 2.0 * c[2][0] + t * (6.0 * c[3][0] + t * 12.0 * c[4][0])
    if not (0.0 < t < to and bend != 0.0 and abs(rough_value(c, t)) <= ROOT_NEAR * magnitude(c, t)):
        return count, roots
    sign = sign_at(c, t)
    if sign == 0 or (sign > 0) == (bend > 0.0):
        if count == 0:
            return 1, (t, roots[1])
        if count == 1:
            return 2, (roots[0], t)
    return count, roots


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def touches(c, to):
    """(count, roots): times in (0, to), rising, at which h all but touches zero: double roots, at most two. `to` may be inf."""
    count, roots = 0, (math.inf, math.inf)
    degree = degree_of(c)
    if degree < 2 or not to > 0.0:
        return count, roots
    if degree == 2:
        return add_touch(c, -0.5 * c[1][0] / c[2][0], to, count, roots)
    end = min(to, farthest_root(c, degree))
    if not end > 0.0:
        return count, roots
    power = 2.0 ** math.ceil(math.log2(end))
    c = rescaled(c, power)
    end /= power
    many, edges = cubic_crossings(derivative(c), end)
    for k in range(many):
        count, roots = add_touch(c, edges[k], end, count, roots)
    return count, (roots[0] * power, roots[1] * power)


@exact_device
def farthest_root(c, degree):
    """No root lies beyond: Fujiwara's bound, 2 max |c_(n-i) / c_n|^(1/i)."""
    leading = abs(c[degree][0])
    most = 0.0
    for k in range(degree):
        ratio = abs(c[k][0]) / leading
        if ratio > 0.0:
            most = max(most, math.exp(math.log(ratio) / (degree - k)))
    return min(2.5 * most, ROOT_FARTHEST)


@exact_device
def rescaled(c, power):
    """Coefficients of h(power t), a power of two."""
    square = power * power
    return (
        c[0],
        dd_shifted(c[1], power),
        dd_shifted(c[2], square),
        dd_shifted(c[3], square * power),
        dd_shifted(c[4], square * square),
    )


@exact_kernel(inner="UniTuple(UniTuple(f8, 2), 5), f8")
def crossings(c, to):
    """(count, roots): times in (0, to), rising, at which h changes its sign; at most four. `to` may be inf."""
    inf = math.inf
    none = (inf, inf, inf, inf)
    degree = degree_of(c)
    if degree == 0 or not to > 0.0:
        return 0, none
    # Descartes: no change of signs among the coefficients, no positive root.
    rising = c[0][0] >= 0.0 and c[1][0] >= 0.0 and c[2][0] >= 0.0 and c[3][0] >= 0.0 and c[4][0] >= 0.0
    falling = c[0][0] <= 0.0 and c[1][0] <= 0.0 and c[2][0] <= 0.0 and c[3][0] <= 0.0 and c[4][0] <= 0.0
    if rising or falling:
        return 0, none
    if degree == 1:
        return linear_crossings(c, to)
    if degree == 2:
        return quadratic_crossings(c, to)
    end = min(to, farthest_root(c, degree))
    if not end > 0.0:
        return 0, none
    # Times in units of a power of two near the end, so that no power of them overflows.
    power = 2.0 ** math.ceil(math.log2(end))
    c = rescaled(c, power)
    end /= power
    if degree == 3:
        count, roots = cubic_crossings(c, end)
    else:
        count, roots = quartic_crossings(c, end)
    return count, (roots[0] * power, roots[1] * power, roots[2] * power, roots[3] * power)
