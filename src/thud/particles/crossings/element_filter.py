"""Paths against elementary colliders in floats: what they surely miss, and crossings whose error is proven small enough.

Everything has room for its roundoff; what floats cannot settle is DOUBTFUL and goes to `elements.py`, with 32 digits. What
is said of an element depends on the path and the element alone, never on what else was found.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device
from thud.particles.colliders.element import PLANE, POLYGON, QUADRIC, RECTANGLE
from thud.particles.colliders.element_arrays import CLIP, CLIP_END, DU, DV, FLAT_SLACK, KIND, NORMAL, ORIGIN, G, J
from thud.particles.crossings.elements import abs_dot3, abs_times_quadric, dot3, in_bounds, path_at, real3, times_quadric
from thud.particles.crossings.tolerances import FILTER_CLOSE, FILTER_ERROR, FILTER_ROUNDOFF, FILTER_STEPS, PATH_ROUNDOFF
from thud.particles.tolerances import START_ROUNDOFF


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
def in_flat_bounds(reals, e, kind, p, extra):
    """`in_bounds` of a plane, a rectangle or a disc: here it is not worth a call."""
    if kind == PLANE:
        return True
    o, du, dv = real3(reals, e, ORIGIN), real3(reals, e, DU), real3(reals, e, DV)
    d = (p[0] - o[0], p[1] - o[1], p[2] - o[2])
    s, t = dot3(du, d), dot3(dv, d)
    slack = reals[e, FLAT_SLACK] + extra * math.sqrt(max(dot3(du, du), dot3(dv, dv)))
    if kind == RECTANGLE:
        return -slack <= s <= 1.0 + slack and -slack <= t <= 1.0 + slack
    return s * s + t * t <= (1.0 + slack) * (1.0 + slack)


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
    extra = 2.0 * speed * off / slope
    kind = elements.ints[e, KIND]
    if kind < POLYGON and elements.ints[e, CLIP] == elements.ints[e, CLIP_END]:
        inside = in_flat_bounds(elements.reals, e, kind, path_at(x, v, a, t), extra)
    else:
        inside = in_bounds(elements, e, path_at(x, v, a, t), extra)
    return (SURE, time) if inside else (NONE, inf)


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
        off = PATH_ROUNDOFF * (far + begin * (fast + begin * steady))
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
