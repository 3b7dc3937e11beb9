"""Backward projection by the roots of (3.4): a cubic in alpha, so all its solutions can be had, each safely.

[Yang] 3.2.3 looks for one root by Newton's method, which may end at another one. Here the interval of lengths is searched as a
whole. The cubic's Bernstein coefficients over it tell at once when it has no root there (all of one sign) or exactly one (one
change of sign); otherwise the interval is cut where the derivative vanishes. Each piece is searched by Newton's method within
a bracket. Where the length may be large or infinite, the rest of the line is one more interval, of 1 / alpha: so a leading
coefficient that vanishes, as with parallel directions, is a root at 1 / alpha = 0 and no special case.

A root counts where the alpha triangle does not collapse. Two roots in the primitive are two surfaces through one point.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.exact_vec3 import norm2
from thud.terrain.projection.alpha_triangle import (
    AMBIGUOUS,
    INSIDE,
    OUTSIDE,
    UNCONVERGED,
    alpha_cubic,
    belongs,
    edge_margin,
    foot,
    in_own_units,
)
from thud.terrain.projection.rows import SIGNATURE, load_point, load_triangle
from thud.terrain.projection.tolerances import (
    PROJECTION_ALONE,
    PROJECTION_BRACKET,
    PROJECTION_DISTINCT,
    PROJECTION_EDGE_MOST,
    PROJECTION_FAR,
    PROJECTION_NEAR,
    PROJECTION_STEPS,
)


@exact_device
def value(c0, c1, c2, c3, x):
    """c0 + c1 x + c2 x^2 + c3 x^3."""
    return ((c3 * x + c2) * x + c1) * x + c0


@exact_device
def slope(c1, c2, c3, x):
    """Its derivative."""
    return (3.0 * c3 * x + 2.0 * c2) * x + c1


@exact_kernel(inner="f8, f8, f8, f8, f8, f8, f8, f8, f8")
def bracketed_root(c0, c1, c2, c3, a, b, fa, fb, near):
    """(x, steps): the root between a and b, where the cubic is fa and fb, of opposite signs. Halley's method, whose last step
    is below `near`; else bisection."""
    x = a - fa * ((b - a) / (fb - fa))
    before = b - a
    for k in range(PROJECTION_STEPS):
        fx = value(c0, c1, c2, c3, x)
        if fx == 0.0:
            return x, k
        if (fx < 0.0) == (fa < 0.0):
            a = x
        else:
            b = x
        # Newton's step with the curvature, f f' / (f'^2 - f f'' / 2). It is small near a root, but also where the slope
        # vanishes: there, out of the bracket, or where it gains less than halving would, the bracket is halved instead.
        df, bend = slope(c1, c2, c3, x), fx * (3.0 * c3 * x + c2)
        y = x - fx * df / (df * df - bend)
        if not (a <= y <= b) or 2.0 * abs(bend) > df * df or abs(y - x) > 0.5 * before:
            y = 0.5 * (a + b)
        before = abs(y - x)
        x = y
        if before <= near:
            return x, k + 1
    return x, PROJECTION_STEPS


@exact_device
def noise_of(noise, e1, e2, w, n0, d1, d2, x, reverse):
    """What roundoff may make of the cubic's value at x (reversed: of the cubic in 1 / alpha)."""
    ax = abs(x)
    l1, l2, l0 = math.sqrt(norm2(e1)), math.sqrt(norm2(e2)), math.sqrt(norm2(w)) + noise / UNIT_ROUNDOFF
    k1, k2, k0 = math.sqrt(norm2(d1)), math.sqrt(norm2(d2)), math.sqrt(norm2(n0))
    if reverse == 1:
        return 16.0 * UNIT_ROUNDOFF * (l1 * ax + k1) * (l2 * ax + k2) * (l0 * ax + k0)
    return 16.0 * UNIT_ROUNDOFF * (l1 + k1 * ax) * (l2 + k2 * ax) * (l0 + k0 * ax)


@exact_kernel(inner="f8, f8, f8, f8, f8, f8, f8, i8, vec3, vec3, vec3, vec3, vec3, vec3")
def roots_by_pieces(c0, c1, c2, c3, a, b, noise, reverse, w, e1, e2, n0, d1, d2):
    """(count, three roots, steps) of the cubic in [a, b]: cut where its derivative vanishes, each piece monotone.

    A least or largest value that is 0 to within roundoff is a double root.
    """
    # c1 + 2 c2 x + 3 c3 x^2 = 0, without cancellation; what is not in (a, b), not finite or not a number is left out.
    cut1, cut2 = a, a
    square = c2 * c2 - 3.0 * c1 * c3
    if square >= 0.0:
        t = -(c2 + math.copysign(math.sqrt(square), c2))
        x, y = t / (3.0 * c3), c1 / t
        cut1 = x if a < x < b else a
        cut2 = y if a < y < b else a
        if cut2 < cut1:
            cut1, cut2 = cut2, cut1
    cuts = (a, cut1, cut2, b)
    near = PROJECTION_FAR if reverse == 1 else PROJECTION_BRACKET
    r0, r1, r2 = 0.0, 0.0, 0.0
    count, steps = 0, 0
    used = False
    for k in range(4):
        x = cuts[k]
        if k > 0 and x == a:
            continue
        fx = value(c0, c1, c2, c3, x)
        root, found = x, False
        if fx == 0.0:
            found, used = True, True
        else:
            # The next cut that differs.
            y = b
            if k < 2 and cuts[2] > x:
                y = cuts[2]
            if k < 1 and cuts[1] > x:
                y = cuts[1]
            fy = value(c0, c1, c2, c3, y)
            crossing = (fx < 0.0) != (fy < 0.0) and fy != 0.0 and y > x
            if crossing:
                root, took = bracketed_root(c0, c1, c2, c3, x, y, fx, fy, near * (y - x))
                steps += took
                found = True
            elif 0 < k < 3 and not used and abs(fx) <= noise_of(noise, e1, e2, w, n0, d1, d2, x, reverse):
                found = True
            used = crossing
        if found and count < 3:
            if count == 0:
                r0 = root
            elif count == 1:
                r1 = root
            else:
                r2 = root
            count += 1
    return count, r0, r1, r2, steps


@exact_device
def roots_within(c0, c1, c2, c3, a, b, noise, reverse, w, e1, e2, n0, d1, d2):
    """(count, three roots, steps) of the cubic in [a, b]."""
    b0, b3 = value(c0, c1, c2, c3, a), value(c0, c1, c2, c3, b)
    third = (b - a) * (1.0 / 3.0)
    b1, b2 = b0 + third * slope(c1, c2, c3, a), b3 - third * slope(c1, c2, c3, b)
    if (b0 > 0.0 and b1 > 0.0 and b2 > 0.0 and b3 > 0.0) or (b0 < 0.0 and b1 < 0.0 and b2 < 0.0 and b3 < 0.0):
        return 0, 0.0, 0.0, 0.0, 0
    # The signs of the ends differ, so they change once or three times.
    if b0 != 0.0 and b3 != 0.0 and (b0 > 0.0) != (b3 > 0.0) and ((b0 > 0.0) == (b1 > 0.0) or (b1 > 0.0) == (b2 > 0.0)):
        # The only root: the Newton steps that follow cannot come to another one. (A reciprocal wants relative precision.)
        near = PROJECTION_FAR if reverse == 1 else PROJECTION_ALONE
        x, steps = bracketed_root(c0, c1, c2, c3, a, b, b0, b3, near * (b - a))
        return 1, x, 0.0, 0.0, steps
    return roots_by_pieces(c0, c1, c2, c3, a, b, noise, reverse, w, e1, e2, n0, d1, d2)


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8")
def cubic_project_counted(p, p0, p1, p2, n0, n1, n2, lo, hi):
    """As `cubic_project`, and the number of Newton and bisection steps."""
    w, e1, e2, n0, d1, d2, unit, noise = in_own_units(p, p0, p1, p2, n0, n1, n2)
    if unit == 0.0:
        return OUTSIDE, math.inf, math.inf, math.inf, 0
    c0, c1, c2, c3 = alpha_cubic(w, e1, e2, n0, d1, d2)
    # The range in own units; it is searched a little beyond its ends, which are closed.
    low, high = lo / unit, hi / unit
    status, best_u, best_v, best_alpha = OUTSIDE, math.inf, math.inf, math.inf
    nearest, steps, failed = -math.inf, 0, False
    far = low < -PROJECTION_NEAR or high > PROJECTION_NEAR
    for piece in range(2 if far else 1):
        if piece == 0:
            a, b = max(low - PROJECTION_EDGE_MOST, -PROJECTION_NEAR), min(high + PROJECTION_EDGE_MOST, PROJECTION_NEAR)
            if not a <= b:
                continue
            count, r0, r1, r2, took = roots_within(c0, c1, c2, c3, a, b, noise, np.int64(0), w, e1, e2, n0, d1, d2)
        else:
            # Beyond: alpha = 1 / z, and z^3 f(1 / z) has the coefficients in reverse. The pieces overlap a little.
            z = 1.0 / (PROJECTION_NEAR * (1.0 - PROJECTION_EDGE_MOST))
            count, r0, r1, r2, took = roots_within(c3, c2, c1, c0, -z, z, noise, np.int64(1), w, e1, e2, n0, d1, d2)
        steps += took
        roots = (r0, r1, r2)
        for k in range(count):
            root = roots[k]
            if piece == 1:
                if abs(root) < PROJECTION_FAR:
                    continue
                root = 1.0 / root
            kind, u, v, alpha = foot(root, w, e1, e2, n0, d1, d2)
            if kind == 0:
                continue
            in_primitive, in_range = belongs(u, v, alpha, low, high, noise, e1, e2, n0, d1, d2)
            if not in_range:
                continue
            if not in_primitive:
                margin = edge_margin(u, v)
                if status == OUTSIDE and kind == 1 and margin > nearest:
                    nearest, best_u, best_v, best_alpha = margin, u, v, alpha
            elif kind == -1:
                failed = True
            elif status == OUTSIDE:
                status, best_u, best_v, best_alpha = INSIDE, u, v, alpha
            else:
                # Roots closer than this are one, which roundoff has split. Of two surfaces the upper one is given.
                if abs(alpha - best_alpha) > PROJECTION_DISTINCT * (1.0 + abs(alpha)):
                    status = AMBIGUOUS
                if alpha > best_alpha:
                    best_u, best_v, best_alpha = u, v, alpha
    if failed and status == OUTSIDE:
        status = UNCONVERGED
    return status, best_u, best_v, best_alpha * unit, steps


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8")
def cubic_project(p, p0, p1, p2, n0, n1, n2, lo, hi):
    """(status, u, v, length) of the point p on the triangle p0, p1, p2 with directions n0, n1, n2, lengths within [lo, hi].

    OUTSIDE: (u, v) of the root within the range that is nearest to the primitive, or infinity if there is none.
    """
    status, u, v, length, _steps = cubic_project_counted(p, p0, p1, p2, n0, n1, n2, lo, hi)
    return status, u, v, length


@exact_kernel(SIGNATURE)
def cubic_rows(
    start, stop, points, positions, directions, ranges, starts, u_out, v_out, length_out, iterations_out, status_out
):
    """Each row by `cubic_project_counted`; `starts` is not read."""
    for i in range(start, stop):
        p, lo, hi = load_point(points, ranges, i)
        p0, p1, p2 = load_triangle(positions, i)
        n0, n1, n2 = load_triangle(directions, i)
        status, u, v, length, steps = cubic_project_counted(p, p0, p1, p2, n0, n1, n2, lo, hi)
        u_out[i], v_out[i], length_out[i] = u, v, length
        iterations_out[i], status_out[i] = steps, np.uint8(status)
