"""Paths against elementary colliders: h(tau) = f(g(tau)), Eq. (3.3), its crossings, and the bounds c(p) >= 0.

For a plane h is a quadratic, Eq. (3.6); for a quadric a quadratic for straight paths, Eq. (3.9), and a quartic for
parabolas. Its coefficients and roots are computed with 32 digits (`roots.py`), but only where plain floats cannot rule an
impact out: a filter in float64, with room for its roundoff, turns most pairs away first.
"""

from __future__ import annotations

import math

import numpy as np

from thud._jit import exact_device, exact_kernel
from thud.constants import FILTER_CLOSE, FILTER_ERROR, FILTER_ROUNDOFF, START_ROUNDOFF, UNIT_ROUNDOFF
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
def coefficient_bounds(reals, e, kind, x, v, a):
    """(c0 .. c4, E0 .. E4): h in floats, and bounds of what they are off."""
    o = real3(reals, e, ORIGIN)
    d = (x[0] - o[0], x[1] - o[1], x[2] - o[2])
    far = (abs(x[0]) + abs(o[0]), abs(x[1]) + abs(o[1]), abs(x[2]) + abs(o[2]))
    u = FILTER_ROUNDOFF
    if kind != QUADRIC:
        n = real3(reals, e, NORMAL)
        c = (dot3(n, d), dot3(n, v), 0.5 * dot3(n, a), 0.0, 0.0)
        return c, (u * abs_dot3(n, far), u * abs_dot3(n, v), u * abs_dot3(n, a), 0.0, 0.0)
    g = real3(reals, e, G)
    m, av = times_quadric(reals, e, d), times_quadric(reals, e, v)
    size_m, size_v = abs_times_quadric(reals, e, far), abs_times_quadric(reals, e, v)
    m = (m[0] + g[0], m[1] + g[1], m[2] + g[2])
    size_m = (size_m[0] + abs(g[0]), size_m[1] + abs(g[1]), size_m[2] + abs(g[2]))
    c0, c1, c2 = dot3(d, m) + dot3(d, g) + reals[e, J], 2.0 * dot3(m, v), dot3(av, v)
    e0 = u * (abs_dot3(far, size_m) + abs_dot3(far, g) + abs(reals[e, J]))
    e1, e2 = u * abs_dot3(size_m, v), u * abs_dot3(size_v, v)
    if a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0:
        return (c0, c1, c2, 0.0, 0.0), (e0, e1, e2, 0.0, 0.0)
    aa = times_quadric(reals, e, a)
    size_a = abs_times_quadric(reals, e, a)
    c = (c0, c1, c2 + dot3(m, a), dot3(av, a), 0.25 * dot3(aa, a))
    return c, (e0, e1, e2 + u * abs_dot3(size_m, a), u * abs_dot3(size_v, a), u * abs_dot3(size_a, a))


@exact_device
def surely_none(c, r, begin, end):
    """Whether h surely has one sign over [begin, end]: its Bernstein coefficients there have, whatever roundoff did."""
    w = end - begin
    # Taylor's shift to `begin`, then powers of the width.
    b4 = c[4]
    b3 = c[3] + 4.0 * b4 * begin
    b2 = c[2] + begin * (3.0 * c[3] + 6.0 * b4 * begin)
    b1 = c[1] + begin * (2.0 * c[2] + begin * (3.0 * c[3] + 4.0 * b4 * begin))
    b0 = c[0] + begin * (c[1] + begin * (c[2] + begin * (c[3] + b4 * begin)))
    b1, b2, b3, b4 = b1 * w, b2 * w * w, b3 * w * w * w, b4 * w * w * w * w
    p1 = b0 + 0.25 * b1
    p2 = b0 + 0.5 * b1 + b2 / 6.0
    p3 = b0 + 0.75 * b1 + 0.5 * b2 + 0.25 * b3
    p4 = b0 + b1 + b2 + b3 + b4
    size = abs(c[0]) + end * (abs(c[1]) + end * (abs(c[2]) + end * (abs(c[3]) + end * abs(c[4]))))
    off = r[0] + end * (r[1] + end * (r[2] + end * (r[3] + end * r[4]))) + FILTER_ROUNDOFF * size
    low, high = min(b0, p1, p2, p3, p4), max(b0, p1, p2, p3, p4)
    return low > off or high < -off


# What the filter says of an element: no crossing that matters, the crossing, or to be computed with 32 digits.
NONE, SURE, DOUBTFUL = 0, 1, 2


@exact_device
def rough_crossing(elements, e, kind, x, v, a, begin, end, best, reach):
    """(verdict, time): the earliest crossing within the times [begin, end] at which the path is in the element's box, in
    floats. SURE: its error is below FILTER_ERROR of it, by the residual and the slope."""
    inf = math.inf
    c, r = coefficient_bounds(elements.reals, e, kind, x, v, a)
    if abs(c[0]) <= 2.0 * r[0]:
        return DOUBTFUL, inf
    if end < inf and surely_none(c, r, begin, end):
        return NONE, inf
    if c[3] != 0.0 or c[4] != 0.0:
        return DOUBTFUL, inf
    if c[2] == 0.0:
        if c[1] == 0.0:
            return DOUBTFUL, inf
        low, high = -c[0] / c[1], inf
    else:
        under, size = c[1] * c[1] - 4.0 * c[2] * c[0], c[1] * c[1] + 4.0 * abs(c[2] * c[0])
        if under <= FILTER_CLOSE * size:
            return DOUBTFUL, inf
        q = -0.5 * (c[1] + math.copysign(math.sqrt(under), c[1]))
        low, high = q / c[2], c[0] / q
        if low > high:
            low, high = high, low
    for k in range(2):
        t = low if k == 0 else high
        if t < 0.0:
            continue
        slope = abs(c[1] + 2.0 * c[2] * t)
        size = abs(c[0]) + t * (abs(c[1]) + t * abs(c[2]))
        off = 2.0 * (r[0] + t * (r[1] + t * r[2]) + FILTER_ROUNDOFF * size)
        if not off <= FILTER_ERROR * t * slope:
            return DOUBTFUL, inf
        # An element's time never depends on the others: only a sure one is too late.
        if t > best or not t < reach:
            return NONE, inf
        p = path_at(x, v, a, t)
        speed = abs(v[0]) + abs(v[1]) + abs(v[2]) + t * (abs(a[0]) + abs(a[1]) + abs(a[2]))
        if in_bounds(elements, e, p, 2.0 * speed * off / slope):
            return SURE, t
    return NONE, inf


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
    """The hull of the times of [0, end] at which a path is in a box; begin > end: never."""
    if end == math.inf and (a[0] != 0.0 or a[1] != 0.0 or a[2] != 0.0):
        return 0.0, end
    begin = 0.0
    for axis in range(3):
        low, high = boxes[k, axis], boxes[k, axis + 3]
        if low > -math.inf and high < math.inf:
            begin, end = times_between(x[axis], v[axis], a[axis], low, high, begin, end)
            if begin > end:
                return begin, end
    return begin, end


@exact_device
def path_range(x, v, a, t):
    """Least and greatest x + tau (v + tau a / 2) over [0, t], widened by roundoff; t may be inf."""
    inf = math.inf
    if t == inf:
        low, high = x, x
        if a > 0.0 or (a == 0.0 and v > 0.0):
            high = inf
        if a < 0.0 or (a == 0.0 and v < 0.0):
            low = -inf
        slack = abs(x)
    else:
        end = x + t * (v + 0.5 * t * a)
        low, high = min(x, end), max(x, end)
        slack = abs(x) + t * (abs(v) + t * abs(a))
    if v * a < 0.0 and -v / a < t:
        turn = x - 0.5 * v * v / a
        low, high = min(low, turn), max(high, turn)
    slack *= 8.0 * UNIT_ROUNDOFF
    return low - slack, high + slack


@exact_device
def apart(box, boxes, k):
    """Whether two boxes are apart."""
    return (
        box[0] > boxes[k, 3]
        or box[3] < boxes[k, 0]
        or box[1] > boxes[k, 4]
        or box[4] < boxes[k, 1]
        or box[2] > boxes[k, 5]
        or box[5] < boxes[k, 2]
    )


@exact_device
def path_box(x, v, a, t):
    """The path's exact box over [0, t]."""
    lx, ux = path_range(x[0], v[0], a[0], t)
    ly, uy = path_range(x[1], v[1], a[1], t)
    lz, uz = path_range(x[2], v[2], a[2], t)
    return lx, ly, lz, ux, uy, uz


@exact_kernel("i8, i8, elements, f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1]")
def element_rows(start, stop, elements, paths, came, last, time, hit, normal):
    """The earliest crossing of each row's path with any element; rows as in `events.py`."""
    many = elements.ints.shape[0]
    nodes = elements.skip.shape[0] if many > FEW_ELEMENTS else many
    for row in range(start, stop):
        x, v = (paths[row, 0], paths[row, 1], paths[row, 2]), (paths[row, 3], paths[row, 4], paths[row, 5])
        a = (paths[row, 6], paths[row, 7], paths[row, 8])
        c = (came[row, 0], came[row, 1], came[row, 2])
        reach = time[row]
        best, found = reach, np.int64(-1)
        box = path_box(x, v, a, best)
        k = np.int64(0)
        while k < nodes:
            if many > FEW_ELEMENTS:
                if apart(box, elements.node_boxes, k):
                    k = elements.skip[k]
                    continue
                e = elements.item[k]
                k += 1
                if e < 0:
                    continue
            else:
                e = k
                k += 1
                if apart(box, elements.boxes, e):
                    continue
            collider = elements.ints[e, COLLIDER]
            begin, end = times_in_box(x, v, a, elements.boxes, e, best)
            if begin > end:
                continue
            is_last = np.int64(1 if last[row, 0] == collider and last[row, 1] == elements.ints[e, PART] else 0)
            verdict, t = DOUBTFUL, math.inf
            if is_last == 0:
                verdict, t = rough_crossing(elements, e, elements.ints[e, KIND], x, v, a, begin, end, best, reach)
            if verdict == DOUBTFUL:
                t = element_crossing(elements, e, x, v, a, c, is_last, reach)
            if t < best or (t == best and found >= 0 and e < found):
                best, found = t, e
                box = path_box(x, v, a, best)
        if found >= 0:
            time[row], hit[row, 0], hit[row, 1] = best, elements.ints[found, COLLIDER], elements.ints[found, PART]
            p = path_at(x, v, a, best)
            n = gradient(elements.reals, found, elements.ints[found, KIND], p)
            length = math.sqrt(dot3(n, n))
            if length > 0.0:
                n = (n[0] / length, n[1] / length, n[2] / length)
            normal[row, 0], normal[row, 1], normal[row, 2] = n
