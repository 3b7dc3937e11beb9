"""GJK on a few pairs of hulls at once: the hottest loop of the package.

One GJK search is a chain of dependent steps, and the processor waits for each: the two support scans alone take twice
as long in a chain as side by side. So the row kernels keep SLOTS searches in flight. Each wave first does the support
scans of all of them, which are independent and branch little, then the simplex step of each; a search that ends makes
room for the next row. The searches do not know of each other, so a row's bytes do not depend on its neighbours.

A search lives in SLOT_REALS floats and SLOT_INTS ints of two flat scratch arrays. Offsets are uint64 throughout: for a
signed index Numba also compiles the case of a negative one, which costs a quarter of this loop.

The simplex step here is that of `simplex.py` for polytopes, told which vertex is the newest: the closest point always
needs it, so half of the regions need no look. Where it makes no progress `gjk_careful` takes over.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device
from thud.convex.gjk import stopping, touch_distance
from thud.convex.support import hull_support
from thud.convex.tolerances import GJK_GAP, GJK_ITERATIONS, SIMPLEX_VOLUME2
from thud.math.pose import rotate, unrotate
from thud.math.vec3 import cross, dot, norm2, sub
from thud.shapes.packed import LINK_START, SCAN_COUNT, VERTEX_COUNT, VERTEX_START

#: Searches in flight. Measured: 8 beats 16 and 32 (the state stays in the nearest cache) and 4 (too few to overlap).
SLOTS = 8

U = np.uint64

# How a step ends.
SEPARATED, OVERLAPPING, GO_ON, STALLED = 0, 1, 2, 3  # STALLED as in `gjk.py`

# Reals of a slot: the pose of B in A's frame; the closest point v so far; the newest support point and the point of A it
# comes from; three simplex vertices of the same kind and their weights; the best |v|^2, the best lower bound; squared
# touch distance and the floor of the gap.
_ROTATION, _TRANSLATION, _V, _NEW, _S0, _S1, _S2, _X, _LAST2, _LOWER, _TOUCH2, _FLOOR = (
    0,
    9,
    12,
    15,
    21,
    27,
    33,
    39,
    42,
    43,
    44,
    45,
)
SLOT_REALS = 48

# Ints of a slot: batch row, parts a and b, pose row of a; first vertex, end of the scan and link row of each hull; number of
# simplex vertices; steps done.
_ROW, _A, _B, _ROW_A, _HULL_A, _HULL_B, _COUNT, _STEPS = 0, 1, 2, 3, 4, 7, 10, 11
SLOT_INTS = 12


@device
def get(s, o, c):
    """Field c of the slot at offset o."""
    return s[o + U(c)]


@device
def put(s, o, c, x):
    """Set field c."""
    s[o + U(c)] = x


@device
def get3(s, o, c):
    """Three reals from field c on."""
    return s[o + U(c)], s[o + U(c + 1)], s[o + U(c + 2)]


@device
def put3(s, o, c, p):
    """Set three reals."""
    s[o + U(c)] = p[0]
    s[o + U(c + 1)] = p[1]
    s[o + U(c + 2)] = p[2]


@device
def get6(s, o, c):
    """A vertex: point of A - B and point of A."""
    return s[o + U(c)], s[o + U(c + 1)], s[o + U(c + 2)], s[o + U(c + 3)], s[o + U(c + 4)], s[o + U(c + 5)]


@device
def put6(s, o, c, p):
    """Set a vertex."""
    s[o + U(c)] = p[0]
    s[o + U(c + 1)] = p[1]
    s[o + U(c + 2)] = p[2]
    s[o + U(c + 3)] = p[3]
    s[o + U(c + 4)] = p[4]
    s[o + U(c + 5)] = p[5]


@device
def search_pose(s, o):
    """Rotation and translation of B in A's frame."""
    r = (
        s[o],
        s[o + U(1)],
        s[o + U(2)],
        s[o + U(3)],
        s[o + U(4)],
        s[o + U(5)],
        s[o + U(6)],
        s[o + U(7)],
        s[o + U(8)],
    )
    return r, get3(s, o, _TRANSLATION)


@device
def begin_search(parts, a, b, r, t, axis, row, row_a, slot, s, k):
    """Put the search of hulls a and b into a free slot."""
    o, q = slot * U(SLOT_REALS), slot * U(SLOT_INTS)
    put3(s, o, _ROTATION, (r[0], r[1], r[2]))
    put3(s, o, _ROTATION + 3, (r[3], r[4], r[5]))
    put3(s, o, _ROTATION + 6, (r[6], r[7], r[8]))
    put3(s, o, _TRANSLATION, t)
    put3(s, o, _V, axis)
    touch = touch_distance(parts, a, b, t)
    _gap, floor, _limit = stopping(parts, a, b, t, True)
    put(s, o, _LAST2, 1e308)
    put(s, o, _LOWER, -1e308)
    put(s, o, _TOUCH2, touch * touch)
    put(s, o, _FLOOR, floor)
    put(k, q, _ROW, row)
    put(k, q, _A, a)
    put(k, q, _B, b)
    put(k, q, _ROW_A, row_a)
    _put_hull(parts, a, k, q, _HULL_A)
    _put_hull(parts, b, k, q, _HULL_B)
    put(k, q, _COUNT, 0)
    put(k, q, _STEPS, 0)


@device
def _put_hull(parts, part, k, q, field):
    start = parts.ints[part, VERTEX_START]
    put(k, q, field, start)
    put(k, q, field + 1, start + parts.ints[part, SCAN_COUNT])
    put(k, q, field + 2, parts.ints[part, LINK_START] if parts.ints[part, VERTEX_COUNT] > parts.ints[part, SCAN_COUNT] else -1)


@device
def wave_supports(parts, live, count, s, k):
    """The next support point of each search in flight, along -v. A's frame."""
    for j in range(count):
        o, q = live[j] * U(SLOT_REALS), live[j] * U(SLOT_INTS)
        v = get3(s, o, _V)
        r, t = search_pose(s, o)
        start, stop, link_row = get3(k, q, _HULL_A)
        ia = U(hull_support(parts, start, stop, link_row, (-v[0], -v[1], -v[2])))
        start, stop, link_row = get3(k, q, _HULL_B)
        ib = U(hull_support(parts, start, stop, link_row, unrotate(r, v)))
        pa = (parts.vertices[0, ia], parts.vertices[1, ia], parts.vertices[2, ia])
        pb = rotate(r, (parts.vertices[0, ib], parts.vertices[1, ib], parts.vertices[2, ib]))
        put3(s, o, _NEW, (pa[0] - (pb[0] + t[0]), pa[1] - (pb[1] + t[1]), pa[2] - (pb[2] + t[2])))
        put3(s, o, _NEW + 3, pa)


@device
def along(q, e, t):
    """q + t e."""
    return q[0] + t * e[0], q[1] + t * e[1], q[2] + t * e[2]


@device
def reduce_segment(p, q):
    """Closest point of segment pq to the origin, q the newest: (count, v, kept vertices, weights)."""
    e = sub(p, q)
    t = -dot(q, e)
    if t <= 0.0:
        return 1, (q[0], q[1], q[2]), q, q, q, 1.0, 0.0, 0.0
    t = min(t / norm2(e), 1.0)
    return 2, along(q, e, t), p, q, q, t, 1.0 - t, 0.0


@device
def reduce_triangle(p, q, r):
    """Closest point of triangle pqr to the origin, r the newest: on the face, or on the edges or the vertex at r."""
    e, f = sub(p, r), sub(q, r)
    n = cross(e, f)
    wp, wq = dot(n, cross(f, r)), dot(n, cross(r, e))
    n2 = norm2(n)
    wr = n2 - wp - wq
    # In theory wr is always positive, as the closest point needs r; in a triangle that is all but a line it is noise, and
    # without the test the point would lie outside.
    if wp > 0.0 and wq > 0.0 and wr > 0.0:
        # The height is taken where the weights are: a vertex far away would bring in the roundoff of its own length.
        h = (wp * dot(n, p) + wq * dot(n, q) + wr * dot(n, r)) / (n2 * n2)
        return 3, (n[0] * h, n[1] * h, n[2] * h), p, q, r, wp / n2, wq / n2, wr / n2
    te = min(max(-dot(r, e) / norm2(e), 0.0), 1.0)
    tf = min(max(-dot(r, f) / norm2(f), 0.0), 1.0)
    ve, vf = along(r, e, te), along(r, f, tf)
    if norm2(ve) < norm2(vf):
        if te <= 0.0:
            return 1, ve, r, r, r, 1.0, 0.0, 0.0
        return 2, ve, p, r, r, te, 1.0 - te, 0.0
    if tf <= 0.0:
        return 1, vf, r, r, r, 1.0, 0.0, 0.0
    return 2, vf, q, r, r, tf, 1.0 - tf, 0.0


@device
def reduce_tetrahedron(a, b, c, d):
    """Closest point of tetrahedron abcd to the origin, d the newest; count 4 means that the origin is inside.

    A face counts as facing the origin also where roundoff leaves it open (see `simplex.py`).
    """
    ea, eb, ec = sub(a, d), sub(b, d), sub(c, d)
    nab, nbc, nca = cross(ea, eb), cross(eb, ec), cross(ec, ea)
    volume = dot(ea, nbc)
    oab, obc, oca = dot(d, nab), dot(d, nbc), dot(d, nca)
    la, lb, lc, ld = norm2(ea), norm2(eb), norm2(ec), norm2(d)
    flat = volume * volume <= SIMPLEX_VOLUME2 * la * lb * lc
    facing = 0
    if flat or oab * volume >= 0.0 or oab * oab <= SIMPLEX_VOLUME2 * la * lb * ld:
        facing = 1
    if flat or obc * volume >= 0.0 or obc * obc <= SIMPLEX_VOLUME2 * lb * lc * ld:
        facing |= 2
    if flat or oca * volume >= 0.0 or oca * oca <= SIMPLEX_VOLUME2 * lc * la * ld:
        facing |= 4
    n, v, s0, s1, s2, x0, x1, x2 = 4, (0.0, 0.0, 0.0), a, b, c, 0.0, 0.0, 0.0
    best2 = 1e308
    while facing > 0:
        # Mostly one face, so one copy of the triangle step serves all three.
        lowest = facing & -facing
        facing ^= lowest
        p = a if lowest != 2 else b
        q = b if lowest == 1 else c
        m, u, t0, t1, t2, y0, y1, y2 = reduce_triangle(p, q, d)
        u2 = norm2(u)
        if u2 < best2:
            best2 = u2
            n, v, s0, s1, s2, x0, x1, x2 = m, u, t0, t1, t2, y0, y1, y2
    return n, v, s0, s1, s2, x0, x1, x2


@device
def reduce_simplex(n, s0, s1, s2, new):
    """Closest point of the simplex s0 .. s(n-1), new to the origin: (count, v, kept vertices, weights)."""
    if n == 0:
        return 1, (new[0], new[1], new[2]), new, new, new, 1.0, 0.0, 0.0
    if n == 1:
        return reduce_segment(s0, new)
    if n == 2:
        return reduce_triangle(s0, s1, new)
    return reduce_tetrahedron(s0, s1, s2, new)


@device
def weighted_point(x0, x1, x2, s0, s1, s2):
    """The point of A that goes with three weighted vertices."""
    return (
        x0 * s0[3] + x1 * s1[3] + x2 * s2[3],
        x0 * s0[4] + x1 * s1[4] + x2 * s2[4],
        x0 * s0[5] + x1 * s1[5] + x2 * s2[5],
    )


@device
def inside_point(w0, w1, w2, w3):
    """The point of A that meets B when the tetrahedron holds the origin: weights are the volumes it splits into."""
    x0, x1 = abs(dot(w1, cross(w2, w3))), abs(dot(w0, cross(w2, w3)))
    x2, x3 = abs(dot(w0, cross(w1, w3))), abs(dot(w0, cross(w1, w2)))
    total = x0 + x1 + x2 + x3
    if not total > 0.0:
        return w0[3], w0[4], w0[5]
    return (
        (x0 * w0[3] + x1 * w1[3] + x2 * w2[3] + x3 * w3[3]) / total,
        (x0 * w0[4] + x1 * w1[4] + x2 * w2[4] + x3 * w3[4]) / total,
        (x0 * w0[5] + x1 * w1[5] + x2 * w2[5] + x3 * w3[5]) / total,
    )


@device(inner="f8[::1], i8[::1], u8, u8")
def intersects_step(s, k, o, q):
    """One simplex step of a boolean search: SEPARATED, OVERLAPPING, GO_ON or STALLED."""
    v, new, n = get3(s, o, _V), get3(s, o, _NEW), get(k, q, _COUNT)
    touch2, floor = get(s, o, _TOUCH2), get(s, o, _FLOOR)
    vw, v2 = dot(v, new), norm2(v)
    # The plane through the new point orthogonal to v separates: the distance is at least v.w / |v|.
    if vw > 0.0 and vw * vw > touch2 * v2:
        return SEPARATED
    # The bounds of the distance have met, and the lower one is within the touch distance.
    excess = v2 - vw - GJK_GAP * v2
    if n > 0 and (excess <= 0.0 or excess * excess <= floor * floor * v2):
        return OVERLAPPING
    n, v, s0, s1, s2, _x0, _x1, _x2 = reduce_simplex(n, get3(s, o, _S0), get3(s, o, _S1), get3(s, o, _S2), new)
    v2 = norm2(v)
    if n == 4 or v2 <= touch2:
        return OVERLAPPING
    steps = get(k, q, _STEPS) + 1
    put3(s, o, _V, v)
    if v2 >= get(s, o, _LAST2) or steps >= GJK_ITERATIONS:
        return STALLED
    put3(s, o, _S0, s0)
    put3(s, o, _S1, s1)
    put3(s, o, _S2, s2)
    put(s, o, _LAST2, v2)
    put(k, q, _COUNT, n)
    put(k, q, _STEPS, steps)
    return GO_ON


@device(inner="f8[::1], i8[::1], u8, u8, f8, f8")
def distance_step(s, k, o, q, reach, size):
    """One simplex step of a distance search: (outcome, v, point of A, lower bound), the last three as `gjk_distance` has
    them once the outcome is SEPARATED or OVERLAPPING."""
    zero = (0.0, 0.0, 0.0)
    v, new, n = get3(s, o, _V), get6(s, o, _NEW), get(k, q, _COUNT)
    vw, v2 = dot(v, new), norm2(v)
    length = math.sqrt(v2)
    lower = max(get(s, o, _LOWER), vw / length)
    if lower > reach:
        return SEPARATED, v, (new[3], new[4], new[5]), lower
    s0, s1, s2 = get6(s, o, _S0), get6(s, o, _S1), get6(s, o, _S2)
    if n > 0 and v2 - vw <= (GJK_GAP * min(length, size) + get(s, o, _FLOOR)) * length:
        x0, x1, x2 = get3(s, o, _X)
        return SEPARATED, v, weighted_point(x0, x1, x2, s0, s1, s2), lower
    m, v, t0, t1, t2, x0, x1, x2 = reduce_simplex(n, s0, s1, s2, new)
    if m == 4:
        return OVERLAPPING, zero, inside_point(s0, s1, s2, new), lower
    v2 = norm2(v)
    if v2 <= get(s, o, _TOUCH2):
        return OVERLAPPING, v, weighted_point(x0, x1, x2, t0, t1, t2), lower
    steps = get(k, q, _STEPS) + 1
    if v2 >= get(s, o, _LAST2) or steps >= GJK_ITERATIONS:
        return STALLED, v, zero, lower
    put3(s, o, _V, v)
    put6(s, o, _S0, t0)
    put6(s, o, _S1, t1)
    put6(s, o, _S2, t2)
    put3(s, o, _X, (x0, x1, x2))
    put(s, o, _LAST2, v2)
    put(s, o, _LOWER, lower)
    put(k, q, _COUNT, m)
    put(k, q, _STEPS, steps)
    return GO_ON, v, zero, lower


@device
def search_pair(k, q):
    """(batch row, part a, part b, pose row of a) of the slot."""
    return get(k, q, _ROW), get(k, q, _A), get(k, q, _B), get(k, q, _ROW_A)


@device
def search_axis(s, o):
    """The direction the search has come to, from B to A."""
    return get3(s, o, _V)


@device
def search_touch(s, o):
    """Gap below which the two count as touching."""
    return math.sqrt(get(s, o, _TOUCH2))
