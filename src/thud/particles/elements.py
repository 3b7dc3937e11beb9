"""Paths against elementary colliders: h(tau) = f(g(tau)), Eq. (3.3), its crossings, and the bounds c(p) >= 0.

For a plane h is a quadratic, Eq. (3.6); for a quadric a quadratic for straight paths, Eq. (3.9), and a quartic for
parabolas. Its coefficients and roots are computed with 32 digits (`roots.py`), but only where plain floats cannot rule an
impact out: a filter in float64, with room for its roundoff, turns most pairs away first.
"""

from __future__ import annotations

import math

import numpy as np

from thud._jit import exact_device, exact_kernel
from thud.constants import FILTER_CLOSE, FILTER_ERROR, FILTER_ROUNDOFF, FILTER_STEPS, PATH_SLACK, START_ROUNDOFF, UNIT_ROUNDOFF
from thud.geometry.predicates import two_diff
from thud.particles.double_double import dd_dot, dd_dot_dd, dd_dot_scaled, dd_shifted, dd_sum
from thud.particles.element import DISC, POLYGON, QUADRIC, RECTANGLE
from thud.particles.element_arrays import (
    CLIP,
    CLIP_END,
    COLLIDER,
    DU,
    DV,
    FLAT_SLACK,
    KIND,
    LOOP,
    LOOP_END,
    NORMAL,
    ORIGIN,
    PART,
    SLACK,
    A,
    G,
    J,
)  # fmt: skip
from thud.particles.roots import crossings, divided

#: Up to so many elements (a count) a row looks at each box; more have a tree.
FEW_ELEMENTS = 8


@exact_device
def dot3(a, b):
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@exact_device
def abs_dot3(a, b):
    """|a| . |b|, magnitudes a coordinate."""
    return abs(a[0] * b[0]) + abs(a[1] * b[1]) + abs(a[2] * b[2])


@exact_device
def real3(reals, e, at):
    """Three numbers of an element."""
    return reals[e, at], reals[e, at + 1], reals[e, at + 2]


@exact_device
def path_at(x, v, a, t):
    """g(t), Eq. (3.4)."""
    h = 0.5 * t
    return x[0] + t * (v[0] + h * a[0]), x[1] + t * (v[1] + h * a[1]), x[2] + t * (v[2] + h * a[2])


@exact_device
def times_quadric(reals, e, x):
    """A x of a quadric."""
    a00, a01, a02 = reals[e, A], reals[e, A + 1], reals[e, A + 2]
    a11, a12, a22 = reals[e, A + 3], reals[e, A + 4], reals[e, A + 5]
    return (
        a00 * x[0] + a01 * x[1] + a02 * x[2],
        a01 * x[0] + a11 * x[1] + a12 * x[2],
        a02 * x[0] + a12 * x[1] + a22 * x[2],
    )


@exact_device
def abs_times_quadric(reals, e, x):
    """|A| |x|, magnitudes a coordinate."""
    a00, a01, a02 = abs(reals[e, A]), abs(reals[e, A + 1]), abs(reals[e, A + 2])
    a11, a12, a22 = abs(reals[e, A + 3]), abs(reals[e, A + 4]), abs(reals[e, A + 5])
    x = (abs(x[0]), abs(x[1]), abs(x[2]))
    return (
        a00 * x[0] + a01 * x[1] + a02 * x[2],
        a01 * x[0] + a11 * x[1] + a12 * x[2],
        a02 * x[0] + a12 * x[1] + a22 * x[2],
    )


@exact_device
def gradient(reals, e, kind, p):
    """Direction of grad f at p."""
    if kind != QUADRIC:
        return real3(reals, e, NORMAL)
    o, g = real3(reals, e, ORIGIN), real3(reals, e, G)
    m = times_quadric(reals, e, (p[0] - o[0], p[1] - o[1], p[2] - o[2]))
    return m[0] + g[0], m[1] + g[1], m[2] + g[2]


@exact_kernel(inner="f8[:,::1], i8, vec3, vec3, vec3")
def plane_coefficients(reals, e, x, v, a):
    """h of Eq. (3.6), double-doubles, and how large h may be by the roundoff of x alone."""
    o, n = real3(reals, e, ORIGIN), real3(reals, e, NORMAL)
    d = two_diff(x[0], o[0]), two_diff(x[1], o[1]), two_diff(x[2], o[2])
    zero = (0.0, 0.0)
    near = abs(n[0]) * (abs(x[0]) + abs(o[0])) + abs(n[1]) * (abs(x[1]) + abs(o[1])) + abs(n[2]) * (abs(x[2]) + abs(o[2]))
    c = (dd_dot_scaled(d, n), dd_dot(n, v), dd_shifted(dd_dot(n, a), 0.5), zero, zero)
    return c, START_ROUNDOFF * near


@exact_device
def quadric_row(reals, e, i):
    """Row i of A."""
    if i == 0:
        return reals[e, A], reals[e, A + 1], reals[e, A + 2]
    if i == 1:
        return reals[e, A + 1], reals[e, A + 3], reals[e, A + 4]
    return reals[e, A + 2], reals[e, A + 4], reals[e, A + 5]


@exact_kernel(inner="f8[:,::1], i8, vec3, vec3, vec3")
def quadric_coefficients(reals, e, x, v, a):
    """h of Eq. (3.9), with the terms of the acceleration: double-doubles, and how large h may be by the roundoff of x alone.

    With X = x - origin: c0 = X'AX + 2 g.X + J, c1 = 2 v.(AX + g), c2 = v'Av + a.(AX + g), c3 = a'Av, c4 = a'Aa / 4.
    """
    o, g = real3(reals, e, ORIGIN), real3(reals, e, G)
    d = two_diff(x[0], o[0]), two_diff(x[1], o[1]), two_diff(x[2], o[2])
    r0, r1, r2 = quadric_row(reals, e, 0), quadric_row(reals, e, 1), quadric_row(reals, e, 2)
    ax, av = (dd_dot_scaled(d, r0), dd_dot_scaled(d, r1), dd_dot_scaled(d, r2)), (dd_dot(r0, v), dd_dot(r1, v), dd_dot(r2, v))
    m = (dd_sum(ax[0], (g[0], 0.0)), dd_sum(ax[1], (g[1], 0.0)), dd_sum(ax[2], (g[2], 0.0)))
    # X'AX + 2 g.X = X.(AX + g) + g.X
    c0 = dd_sum(dd_sum(dd_dot_dd(d, m), dd_dot_scaled(d, g)), (reals[e, J], 0.0))
    c1 = dd_shifted(dd_dot_scaled(m, v), 2.0)
    c2, c3, c4 = dd_dot_scaled(av, v), (0.0, 0.0), (0.0, 0.0)
    if a[0] != 0.0 or a[1] != 0.0 or a[2] != 0.0:
        aa = (dd_dot(r0, a), dd_dot(r1, a), dd_dot(r2, a))
        c2, c3 = dd_sum(c2, dd_dot_scaled(m, a)), dd_dot_scaled(av, a)
        c4 = dd_shifted(dd_dot_scaled(aa, a), 0.25)
    size = (abs(d[0][0]), abs(d[1][0]), abs(d[2][0]))
    terms = abs(reals[e, J])
    far = max(abs(x[0]) + abs(o[0]), abs(x[1]) + abs(o[1]), abs(x[2]) + abs(o[2]))
    for i in range(3):
        r = r0 if i == 0 else (r1 if i == 1 else r2)
        terms += size[i] * (abs_dot3(r, size) + 2.0 * abs(g[i])) + 2.0 * far * abs(m[i][0])
    return (c0, c1, c2, c3, c4), START_ROUNDOFF * terms


@exact_device
def in_loops(sides, start, stop, s, t, slack):
    """Whether (s, t) is in an odd number of loops, or within `slack` of a side."""
    inside = False
    for k in range(start, stop):
        s0, t0, s1, t1 = sides[k, 0], sides[k, 1], sides[k, 2], sides[k, 3]
        if (t0 > t) != (t1 > t):
            # Left of the side? Multiplied out, with the sign of the side's rise.
            turn = (s1 - s0) * (t - t0) - (s - s0) * (t1 - t0)
            if (turn > 0.0) == (t1 > t0):
                inside = not inside
        ds, dt = s1 - s0, t1 - t0
        length2 = ds * ds + dt * dt
        along = 0.0
        if length2 > 0.0:
            along = min(max(((s - s0) * ds + (t - t0) * dt) / length2, 0.0), 1.0)
        es, et = s - s0 - along * ds, t - t0 - along * dt
        if es * es + et * et <= slack * slack:
            return True
    return inside


@exact_kernel(inner="elements, i8, vec3, f8")
def in_bounds(elements, e, p, extra):
    """c(p) >= 0, with the element's slack and `extra` metres more."""
    ints, reals = elements.ints, elements.reals
    kind = ints[e, KIND]
    if RECTANGLE <= kind <= POLYGON:
        o, du, dv = real3(reals, e, ORIGIN), real3(reals, e, DU), real3(reals, e, DV)
        d = (p[0] - o[0], p[1] - o[1], p[2] - o[2])
        s, t = dot3(du, d), dot3(dv, d)
        slack = reals[e, FLAT_SLACK]
        if extra > 0.0:
            slack += extra * math.sqrt(max(dot3(du, du), dot3(dv, dv)))
        if kind == RECTANGLE:
            if s < -slack or s > 1.0 + slack or t < -slack or t > 1.0 + slack:
                return False
        elif kind == DISC:
            if s * s + t * t > (1.0 + slack) * (1.0 + slack):
                return False
        elif not in_loops(elements.sides, ints[e, LOOP], ints[e, LOOP_END], s, t, slack):
            return False
    for k in range(ints[e, CLIP], ints[e, CLIP_END]):
        n = (elements.clips[k, 0], elements.clips[k, 1], elements.clips[k, 2])
        if dot3(n, p) > elements.clips[k, 3] + reals[e, SLACK] + extra:
            return False
    return True


@exact_kernel(inner="elements, i8, vec3, vec3, vec3, vec3, i8, f8")
def element_crossing(elements, e, x, v, a, came, is_last, reach):
    """Earliest time in [0, reach) at which a path crosses an element within its bounds; inf if it does not.

    A root at 0 is where the particle has just been. It counts only if the particle would pass through: at a corner, where two
    colliders are hit at the same moment and it has bounced off one of them.
    """
    kind = elements.ints[e, KIND]
    if kind == QUADRIC:
        c, roundoff = quadric_coefficients(elements.reals, e, x, v, a)
    else:
        c, roundoff = plane_coefficients(elements.reals, e, x, v, a)
    if is_last != 0 or abs(c[0][0]) <= roundoff:
        if is_last == 0:
            n = gradient(elements.reals, e, kind, x)
            before, after = dot3(n, came), dot3(n, v)
            if ((before > 0.0 and after > 0.0) or (before < 0.0 and after < 0.0)) and in_bounds(elements, e, x, 0.0):
                return 0.0
        c = divided(c)
    count, roots = crossings(c, reach)
    for k in range(count):
        if in_bounds(elements, e, path_at(x, v, a, roots[k]), 0.0):
            return roots[k]
    return math.inf


@exact_device
def rough_plane(reals, e, x, v, a):
    """(c, r, start): h in floats, bounds of what its coefficients are off, and how large h is within roundoff of the plane."""
    o, n = real3(reals, e, ORIGIN), real3(reals, e, NORMAL)
    d = (x[0] - o[0], x[1] - o[1], x[2] - o[2])
    u = FILTER_ROUNDOFF
    near = abs(n[0]) * (abs(x[0]) + abs(o[0])) + abs(n[1]) * (abs(x[1]) + abs(o[1])) + abs(n[2]) * (abs(x[2]) + abs(o[2]))
    c = (dot3(n, d), dot3(n, v), 0.5 * dot3(n, a), 0.0, 0.0)
    return c, (u * abs_dot3(n, d), u * abs_dot3(n, v), u * abs_dot3(n, a), 0.0, 0.0), START_ROUNDOFF * near


@exact_device
def rough_quadric(reals, e, x, v, a, off):
    """(c, r, start) of a quadric; x is off by up to `off` a coordinate."""
    o, g = real3(reals, e, ORIGIN), real3(reals, e, G)
    d = (x[0] - o[0], x[1] - o[1], x[2] - o[2])
    size_d = (abs(d[0]) + off, abs(d[1]) + off, abs(d[2]) + off)
    u = FILTER_ROUNDOFF
    m, av = times_quadric(reals, e, d), times_quadric(reals, e, v)
    size_m, size_v = abs_times_quadric(reals, e, size_d), abs_times_quadric(reals, e, v)
    m = (m[0] + g[0], m[1] + g[1], m[2] + g[2])
    size_m = (size_m[0] + abs(g[0]), size_m[1] + abs(g[1]), size_m[2] + abs(g[2]))
    c0, c1, c2 = dot3(d, m) + dot3(d, g) + reals[e, J], 2.0 * dot3(m, v), dot3(av, v)
    terms = abs_dot3(size_d, size_m) + abs_dot3(size_d, g) + abs(reals[e, J])
    steep = abs(m[0]) + abs(m[1]) + abs(m[2])
    sweep = size_v[0] + size_v[1] + size_v[2]
    e0, e1, e2 = u * terms + 4.0 * off * steep, u * abs_dot3(size_m, v) + 4.0 * off * sweep, u * abs_dot3(size_v, v)
    far = max(abs(x[0]) + abs(o[0]), abs(x[1]) + abs(o[1]), abs(x[2]) + abs(o[2]))
    start = START_ROUNDOFF * (terms + 2.0 * far * steep)
    if a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0:
        return (c0, c1, c2, 0.0, 0.0), (e0, e1, e2, 0.0, 0.0), start
    aa = times_quadric(reals, e, a)
    size_a = abs_times_quadric(reals, e, a)
    e2 += u * abs_dot3(size_m, a) + 4.0 * off * (size_a[0] + size_a[1] + size_a[2])
    c = (c0, c1, c2 + dot3(m, a), dot3(av, a), 0.25 * dot3(aa, a))
    return c, (e0, e1, e2, u * abs_dot3(size_v, a), u * abs_dot3(size_a, a)), start


# What the filter says of an element: no crossing that matters, the crossing, or to be computed with 32 digits.
NONE, SURE, DOUBTFUL = 0, 1, 2


@exact_device
def sure_time(elements, e, x, v, a, begin, c, r, t, best, reach):
    """(verdict, time): whether a root t of h in floats, of the path (x, v, a) from `begin` on, is one whose error is below
    FILTER_ERROR of its time, by the residual and the slope; and within the bounds. NONE: it is sure, but too late or out of
    bounds."""
    inf = math.inf
    slope = abs(c[1] + t * (2.0 * c[2] + t * (3.0 * c[3] + t * 4.0 * c[4])))
    size = abs(c[0]) + t * (abs(c[1]) + t * (abs(c[2]) + t * (abs(c[3]) + t * abs(c[4]))))
    off = 2.0 * (r[0] + t * (r[1] + t * (r[2] + t * (r[3] + t * r[4]))) + FILTER_ROUNDOFF * size)
    time = begin + t
    if not off <= FILTER_ERROR * time * slope:
        return DOUBTFUL, inf
    # An element's time never depends on the others: only a sure one is too late.
    if time > best or not time < reach:
        return NONE, inf
    speed = abs(v[0]) + abs(v[1]) + abs(v[2]) + t * (abs(a[0]) + abs(a[1]) + abs(a[2]))
    if in_bounds(elements, e, path_at(x, v, a, t), 2.0 * speed * off / slope):
        return SURE, time
    return NONE, inf


@exact_device
def rough_quadratic(elements, e, x, v, a, begin, c, r, best, reach):
    """(verdict, time) of the earliest crossing in floats, h up to the second degree."""
    inf = math.inf
    if c[2] == 0.0:
        if c[1] == 0.0:
            return DOUBTFUL, inf
        low, high = -c[0] / c[1], -1.0
    else:
        under, size = c[1] * c[1] - 4.0 * c[2] * c[0], c[1] * c[1] + 4.0 * abs(c[2] * c[0])
        off = 2.0 * abs(c[1]) * r[1] + 4.0 * (abs(c[2]) * r[0] + abs(c[0]) * r[2])
        if under < -(off + FILTER_CLOSE * size):
            return NONE, inf
        if under <= off + FILTER_CLOSE * size:
            return DOUBTFUL, inf
        q = -0.5 * (c[1] + math.copysign(math.sqrt(under), c[1]))
        low, high = q / c[2], c[0] / q
        if low > high:
            low, high = high, low
    for k in range(2):
        t = low if k == 0 else high
        if t >= 0.0:
            verdict, t = sure_time(elements, e, x, v, a, begin, c, r, t, best, reach)
            if verdict != NONE:
                return verdict, t
    return NONE, inf


@exact_device
def first_of_hull(b0, b1, b2, b3, b4, off):
    """Where the convex hull of a polynomial's Bernstein coefficients first comes to zero, b0 > off: no root in [0, 1] lies
    before. Above 1: there is none."""
    first = 2.0
    for j in range(1, 5):
        low = (b1 if j == 1 else (b2 if j == 2 else (b3 if j == 3 else b4))) - off
        if low <= 0.0:
            # The earliest line from a coefficient before it that is above zero.
            first = min(first, 0.25 * j * b0 / (b0 - low))
            if j > 1 and b1 > 0.0:
                first = min(first, 0.25 + 0.25 * (j - 1) * b1 / (b1 - low))
            if j > 2 and b2 > 0.0:
                first = min(first, 0.5 + 0.25 * (j - 2) * b2 / (b2 - low))
            if j > 3 and b3 > 0.0:
                first = min(first, 0.75 + 0.25 * b3 / (b3 - low))
    return first


@exact_device
def rough_quartic(elements, e, x, v, a, begin, end, c, r, best, reach):
    """(verdict, time) of the earliest crossing of the path from `begin` on, no later than `end`, in floats.

    From the start on to where the hull of the Bernstein coefficients over what is left first comes to zero, and so on: these
    steps never pass a root, and square their distance to a simple one. Where they do not end soon, two roots are close.
    """
    inf = math.inf
    length = end - begin
    size = abs(c[0]) + length * (abs(c[1]) + length * (abs(c[2]) + length * (abs(c[3]) + length * abs(c[4]))))
    off = r[0] + length * (r[1] + length * (r[2] + length * (r[3] + length * r[4]))) + FILTER_ROUNDOFF * size
    t, up = 0.0, (1.0 if c[0] > 0.0 else -1.0)
    for _ in range(FILTER_STEPS):
        w = length - t
        # Taylor's shift to t, powers of the width, Bernstein coefficients.
        b0 = up * (c[0] + t * (c[1] + t * (c[2] + t * (c[3] + c[4] * t))))
        b1 = up * w * (c[1] + t * (2.0 * c[2] + t * (3.0 * c[3] + 4.0 * c[4] * t)))
        b2 = up * w * w * (c[2] + t * (3.0 * c[3] + 6.0 * c[4] * t))
        b3 = up * w * w * w * (c[3] + 4.0 * c[4] * t)
        b4 = up * w * w * w * w * c[4]
        if b0 <= 2.0 * off:
            # At a root, up to roundoff; not where the path began.
            if t == 0.0 or b1 >= 0.0:
                return DOUBTFUL, inf
            t -= w * b0 / b1
            verdict, time = sure_time(elements, e, x, v, a, begin, c, r, t, best, reach)
            # Out of bounds: the next root is not looked for here.
            if verdict == NONE and begin + t <= best and begin + t < reach:
                verdict = DOUBTFUL
            return verdict, time
        p1, p2, p3 = b0 + 0.25 * b1, b0 + 0.5 * b1 + b2 / 6.0, b0 + 0.75 * b1 + 0.5 * b2 + 0.25 * b3
        step = first_of_hull(b0, p1, p2, p3, b0 + b1 + b2 + b3 + b4, off)
        if step > 1.0:
            return NONE, inf
        t += w * step
    return DOUBTFUL, inf


@exact_device
def rough_crossing(elements, e, x, v, a, best, reach):
    """(verdict, time) of the earliest crossing in floats. Planes from the start of the path; quadrics from where the path comes
    into the element's box: h has small coefficients there."""
    if elements.ints[e, KIND] != QUADRIC:
        c, r, start = rough_plane(elements.reals, e, x, v, a)
        if abs(c[0]) <= start + 2.0 * r[0]:
            return DOUBTFUL, math.inf
        return rough_quadratic(elements, e, x, v, a, 0.0, c, r, best, reach)
    if reach == math.inf:
        return DOUBTFUL, math.inf
    begin, end = times_in_box(x, v, a, elements.boxes, e, reach)
    if begin > end or begin > best:
        return NONE, math.inf
    off = 0.0
    if begin > 0.0:
        far = max(abs(x[0]), abs(x[1]), abs(x[2]))
        fast, steady = max(abs(v[0]), abs(v[1]), abs(v[2])), max(abs(a[0]), abs(a[1]), abs(a[2]))
        off = 4.0 * UNIT_ROUNDOFF * (far + begin * (fast + begin * steady))
        x = path_at(x, v, a, begin)
        v = (v[0] + begin * a[0], v[1] + begin * a[1], v[2] + begin * a[2])
    c, r, start = rough_quadric(elements.reals, e, x, v, a, off)
    if abs(c[0]) <= start + 2.0 * r[0]:
        return DOUBTFUL, math.inf
    if c[3] == 0.0 and c[4] == 0.0:
        return rough_quadratic(elements, e, x, v, a, begin, c, r, best, reach)
    return rough_quartic(elements, e, x, v, a, begin, end, c, r, best, reach)


@exact_device
def first_and_last(x, v, a, bound, end):
    """First and last time in [0, end] at which x + tau (v + tau a / 2) = bound; (inf, -1) if there is none."""
    gap = bound - x
    under = v * v + 2.0 * a * gap
    if under < 0.0:
        return math.inf, -1.0
    q = v + math.copysign(math.sqrt(under), v)
    one = 2.0 * gap / q if q != 0.0 else 0.0
    other = -q / a
    low, high = min(one, other), max(one, other)
    if low < 0.0 or low > end:
        low = high
    if high > end or high < 0.0:
        high = low
    if low < 0.0 or low > end:
        return math.inf, -1.0
    return low, high


@exact_device
def times_between(x, v, a, low, high, begin, end):
    """The hull of the times of [begin, end] at which a coordinate lies in [low, high], widened by FILTER_CLOSE; begin > end:
    never. `end` may be inf for straight paths and infinite bounds."""
    wide = 1.0 + FILTER_CLOSE
    if a == 0.0:
        if v == 0.0:
            return (begin, end) if low <= x <= high else (1.0, 0.0)
        one, other = (low - x) / v, (high - x) / v
        return max(begin, min(one, other) / wide), min(end, max(one, other) * wide)
    last = x + end * (v + 0.5 * end * a)
    first_low, last_low = first_and_last(x, v, a, low, end)
    first_high, last_high = first_and_last(x, v, a, high, end)
    if x < low:
        begin = max(begin, first_low / wide)
    elif x > high:
        begin = max(begin, first_high / wide)
    if last < low:
        end = min(end, last_low * wide)
    elif last > high:
        end = min(end, last_high * wide)
    return begin, end


@exact_device
def times_in_box(x, v, a, boxes, k, end):
    """The hull of the times of [0, end], a finite one, at which a path is in a box; begin > end: never."""
    begin = 0.0
    for axis in range(3):
        low, high = boxes[k, axis], boxes[k, axis + 3]
        if low > -math.inf and high < math.inf:
            begin, end = times_between(x[axis], v[axis], a[axis], low, high, begin, end)
            if begin > end:
                return begin, end
    return begin, end


@exact_device
def chord_axis(x, v, a, t):
    """One coordinate of a path until t as x + w tau + d: 1 / w, and x + d, least and greatest, widened by roundoff.

    w is the mean velocity, and d = -a tau (t - tau) / 2 lies between 0 and -a t^2 / 8."""
    w = v + 0.5 * t * a
    sag = -0.125 * a * t * t
    slack = PATH_SLACK * (abs(x) + t * (abs(v) + t * abs(a)))
    # A path that stays has any speed that is too small to matter.
    inverse = 1.0 / w if abs(w) > 1e-300 else 1e300
    return inverse, x + min(sag, 0.0) - slack, x + max(sag, 0.0) + slack


@exact_device
def chord(x, v, a, t):
    """A path until t as a line that is thick along each axis (`chord_axis`)."""
    ix, lx, ux = chord_axis(x[0], v[0], a[0], t)
    iy, ly, uy = chord_axis(x[1], v[1], a[1], t)
    iz, lz, uz = chord_axis(x[2], v[2], a[2], t)
    return t, ix, iy, iz, lx, ly, lz, ux, uy, uz


@exact_device
def may_meet(line, boxes, k):
    """Whether a path, as its chord, may come into a box."""
    t, ix, iy, iz, lx, ly, lz, ux, uy, uz = line
    one, other = (boxes[k, 0] - ux) * ix, (boxes[k, 3] - lx) * ix
    begin, end = max(0.0, min(one, other)), min(t, max(one, other))
    one, other = (boxes[k, 1] - uy) * iy, (boxes[k, 4] - ly) * iy
    begin, end = max(begin, min(one, other)), min(end, max(one, other))
    one, other = (boxes[k, 2] - uz) * iz, (boxes[k, 5] - lz) * iz
    begin, end = max(begin, min(one, other)), min(end, max(one, other))
    # Never missed for the roundoff of a quotient.
    return begin * (1.0 - FILTER_CLOSE) <= end


@exact_kernel("i8, i8, elements, f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1]")
def element_rows(start, stop, elements, paths, came, last, time, hit, normal):
    """The earliest crossing of each row's path with any element; rows as in `flights.py`."""
    many = elements.ints.shape[0]
    nodes = elements.skip.shape[0] if many > FEW_ELEMENTS else many
    for row in range(start, stop):
        x, v = (paths[row, 0], paths[row, 1], paths[row, 2]), (paths[row, 3], paths[row, 4], paths[row, 5])
        a = (paths[row, 6], paths[row, 7], paths[row, 8])
        reach = time[row]
        best, found = reach, np.int64(-1)
        # A path without end has no chord: then every element is looked at.
        bounded = best < math.inf
        line = chord(x, v, a, best if bounded else 0.0)
        k = np.int64(0)
        while k < nodes:
            e = k
            if many > FEW_ELEMENTS:
                if bounded and not may_meet(line, elements.node_boxes, k):
                    k = elements.skip[k]
                    continue
                e = elements.item[k]
                k += 1
                if e < 0:
                    continue
            else:
                k += 1
                if bounded and not may_meet(line, elements.boxes, e):
                    continue
            is_last = np.int64(
                1 if last[row, 0] == elements.ints[e, COLLIDER] and last[row, 1] == elements.ints[e, PART] else 0
            )
            verdict, t = DOUBTFUL, math.inf
            if is_last == 0:
                verdict, t = rough_crossing(elements, e, x, v, a, best, reach)
            if verdict == DOUBTFUL:
                t = element_crossing(elements, e, x, v, a, (came[row, 0], came[row, 1], came[row, 2]), is_last, reach)
            if t < best or (t == best and found >= 0 and e < found):
                best, found = t, e
                bounded, line = True, chord(x, v, a, best)
        if found >= 0:
            time[row], hit[row, 0], hit[row, 1] = best, elements.ints[found, COLLIDER], elements.ints[found, PART]
            p = path_at(x, v, a, best)
            n = gradient(elements.reals, found, elements.ints[found, KIND], p)
            length = math.sqrt(dot3(n, n))
            if length > 0.0:
                n = (n[0] / length, n[1] / length, n[2] / length)
            normal[row, 0], normal[row, 1], normal[row, 2] = n
