"""Paths against elementary colliders: h(tau) = f(g(tau)), Eq. (3.3), its crossings, and the bounds c(p) >= 0.

For a plane h is a quadratic, Eq. (3.6); for a quadric a quadratic for straight paths, Eq. (3.9), and a quartic for
parabolas. Its coefficients and roots are computed with 32 digits (`roots.py`). Most pairs never come here: floats settle them
(`element_filter.py`).
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.predicates import two_diff
from thud.particles.colliders.element import (
    CONE_NEGATIVE,
    CONE_POSITIVE,
    DISC,
    DOUBLE_PLANE,
    POLYGON,
    QUADRIC,
    RECTANGLE,
    REGULAR,
    TWO_PLANES,
)
from thud.particles.colliders.element_arrays import (
    CLIP,
    CLIP_END,
    DU,
    DV,
    FLAT_SLACK,
    KIND,
    LINE,
    LOOP,
    LOOP_END,
    NORMAL,
    ORIGIN,
    SINGULAR,
    SLACK,
    A,
    G,
    J,
)  # fmt: skip
from thud.particles.crossings.double_double import dd_dot, dd_dot_dd, dd_dot_scaled, dd_shifted, dd_sum
from thud.particles.crossings.roots import crossings, divided, touches
from thud.particles.crossings.tolerances import SINGULAR_NEAR, SINGULAR_PASS
from thud.particles.tolerances import START_ROUNDOFF


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


@exact_kernel(inner="elements, i8, vec3, vec3, vec3, vec3, f8, f8")
def at_singular_point(elements, e, x, v, a, p, t, part):
    """Whether p, where the path is at t, is a singular point of a quadric: grad f = 0 up to this part of its terms."""
    if elements.ints[e, SINGULAR] == REGULAR:
        return False
    o = real3(elements.reals, e, ORIGIN)
    n = gradient(elements.reals, e, QUADRIC, p)
    size = (
        abs(x[0]) + abs(o[0]) + t * (abs(v[0]) + t * abs(a[0])),
        abs(x[1]) + abs(o[1]) + t * (abs(v[1]) + t * abs(a[1])),
        abs(x[2]) + abs(o[2]) + t * (abs(v[2]) + t * abs(a[2])),
    )
    terms, g = abs_times_quadric(elements.reals, e, size), real3(elements.reals, e, G)
    near = abs(n[0]) <= part * (terms[0] + abs(g[0])) and abs(n[1]) <= part * (terms[1] + abs(g[1]))
    return near and abs(n[2]) <= part * (terms[2] + abs(g[2]))


@exact_device
def singular_normal(elements, e, w):
    """The normal at a singular point, where f has none, of unit length or 0: against the velocity w, and across the line of two
    planes, so that a particle comes back out of a corner."""
    line = real3(elements.reals, e, LINE)
    along = dot3(line, w)
    n = (-w[0], -w[1], -w[2])
    if elements.ints[e, SINGULAR] == TWO_PLANES:
        n = (n[0] + along * line[0], n[1] + along * line[1], n[2] + along * line[2])
    elif elements.ints[e, SINGULAR] == DOUBLE_PLANE:
        n = (-along * line[0], -along * line[1], -along * line[2])
    length = math.sqrt(dot3(n, n))
    return (n[0] / length, n[1] / length, n[2] / length) if length > 0.0 else (0.0, 0.0, 0.0)


@exact_device
def leaving_time(elements, e, x, v):
    """When a particle that starts at a singular point has left it, beyond what its place is off; inf if it has no velocity."""
    o = real3(elements.reals, e, ORIGIN)
    size = abs(x[0]) + abs(x[1]) + abs(x[2]) + abs(o[0]) + abs(o[1]) + abs(o[2])
    speed = abs(v[0]) + abs(v[1]) + abs(v[2])
    return SINGULAR_NEAR * size / speed if speed > 0.0 else math.inf


@exact_kernel(inner="elements, i8, vec3, vec3, vec3, UniTuple(UniTuple(f8, 2), 5), f8, f8")
def singular_crossing(elements, e, x, v, a, c, begin, reach):
    """Earliest time in (begin, reach) at which a path passes through a singular quadric at a double root of h; inf: never.

    There it goes from one nappe of a cone to the other, or through both planes; elsewhere a double root is a touch.
    """
    kind = elements.ints[e, SINGULAR]
    count, roots = touches(c, reach)
    for k in range(count):
        t = roots[k]
        w = (v[0] + t * a[0], v[1] + t * a[1], v[2] + t * a[2])
        inside = dot3(w, times_quadric(elements.reals, e, w))
        # Outside of a cone it passes the apex by.
        if (
            not t > begin
            or inside == 0.0
            or (kind == CONE_NEGATIVE and inside > 0.0)
            or (kind == CONE_POSITIVE and inside < 0.0)
        ):
            continue
        p = path_at(x, v, a, t)
        if at_singular_point(elements, e, x, v, a, p, t, SINGULAR_PASS) and in_bounds(elements, e, p, 0.0):
            return t
    return math.inf


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
    begin = 0.0
    if is_last != 0 or abs(c[0][0]) <= roundoff:
        singular = at_singular_point(elements, e, x, v, a, x, 0.0, SINGULAR_NEAR)
        if is_last == 0:
            n = singular_normal(elements, e, v) if singular else gradient(elements.reals, e, kind, x)
            before, after = dot3(n, came), dot3(n, v)
            if ((before > 0.0 and after > 0.0) or (before < 0.0 and after < 0.0)) and in_bounds(elements, e, x, 0.0):
                return 0.0
        # At an apex h has two roots, which are known to roundoff only: what is next to the start does not count below.
        if singular:
            begin = leaving_time(elements, e, x, v)
        else:
            c = divided(c)
    count, roots = crossings(c, reach)
    best = math.inf
    for k in range(count):
        if roots[k] > begin and in_bounds(elements, e, path_at(x, v, a, roots[k]), 0.0):
            best = roots[k]
            break
    if elements.ints[e, SINGULAR] != REGULAR:
        best = min(best, singular_crossing(elements, e, x, v, a, c, begin, reach))
    return best
