"""Chung-Wang: whether two convex polytopes meet, by a search for a separating axis. [Yang] 2.8.2, Algorithm 2.

Everything is in A's frame; (r, t) is the pose of B in it. [Yang]'s d points from A to B; here v = -d points from B to A,
as in GJK, so that an axis found by one serves the other. With P and Q the extreme points of A along d and of B along
-d, w = P - Q is the support point of A - B along d.

Deviations from the printed algorithm:
- Its test P.d < -Q.d reads P.d < Q.d: as printed the sign of the second term is wrong, and the answer depends on where
  the origin is. Errata, tested.
- It has no end on overlap. The differences w it meets are points of A - B, so a simplex of them is kept, the one
  closest to the origin; if it holds the origin, or comes within the touch distance of it, the shapes meet.
- Where a reflection brings nothing (w takes the simplex no closer to the origin), or cannot (d is already orthogonal to
  w), the next d is taken from the simplex's closest point, as GJK does. That step either separates, or ends, or takes the
  simplex closer, so the search cannot cycle: there are finitely many simplices and none returns.
- Close to contact that point has few digits. Its direction is then taken from what has more: orthogonal to a segment,
  or the normal of a plane of the simplex. A wrong guess costs a step; an axis only counts once it separates.

It decides intersection only; the distance along d is not the closest ([Yang] 2.8.2).
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.gjk import center_axis, difference_support, touch_distance
from thud.convex.simplex import closest_on_segment, closest_on_triangle, keep_carriers
from thud.convex.support import load_part
from thud.convex.tolerances import CHUNG_WANG_REFLECTIONS, CHUNG_WANG_STALLS, CHUNG_WANG_VOLUME, GJK_GAP, GJK_ITERATIONS
from thud.math.vec3 import add_scaled, cross, dot, norm2, scale, sub
from thud.pairing.rows import placed_parts


@device
def signed_volume(e, f, g):
    """(e x f) . g, or 0 where roundoff leaves its sign open."""
    yz, zy, zx, xz, xy, yx = e[1] * f[2], e[2] * f[1], e[2] * f[0], e[0] * f[2], e[0] * f[1], e[1] * f[0]
    volume = (yz - zy) * g[0] + (zx - xz) * g[1] + (xy - yx) * g[2]
    # The sum of all the products' magnitudes bounds the error, and is small where the factors are, component by component.
    total = (abs(yz) + abs(zy)) * abs(g[0]) + (abs(zx) + abs(xz)) * abs(g[1]) + (abs(xy) + abs(yx)) * abs(g[2])
    return volume if abs(volume) > CHUNG_WANG_VOLUME * total else 0.0


@device
def beyond(p, q, r, opposite):
    """Whether the origin may lie on the other side of plane pqr than `opposite`: yes where roundoff leaves it open."""
    e, f = sub(q, p), sub(r, p)
    return signed_volume(e, f, p) * signed_volume(e, f, sub(opposite, p)) >= 0.0


@device
def closest_on_tetrahedron(a, b, c, d):
    """Closest point of tetrahedron abcd to the origin: (inside, v, weights of a, b, c, d).

    Unlike in GJK the newest vertex may lie anywhere, so all four faces are tried.
    """
    best2, best = 1e308, (0.0, 0.0, 0.0)
    xa, xb, xc, xd = 0.0, 0.0, 0.0, 0.0
    inside = True
    if beyond(a, b, c, d):
        v, y0, y1, y2 = closest_on_triangle(a, b, c)
        best2, best, xa, xb, xc = norm2(v), v, y0, y1, y2
        inside = False
    if beyond(a, b, d, c):
        v, y0, y1, y2 = closest_on_triangle(a, b, d)
        d2 = norm2(v)
        inside = False
        if d2 < best2:
            best2, best, xa, xb, xc, xd = d2, v, y0, y1, 0.0, y2
    if beyond(b, c, d, a):
        v, y0, y1, y2 = closest_on_triangle(b, c, d)
        d2 = norm2(v)
        inside = False
        if d2 < best2:
            best2, best, xa, xb, xc, xd = d2, v, 0.0, y0, y1, y2
    if beyond(a, c, d, b):
        v, y0, y1, y2 = closest_on_triangle(a, c, d)
        d2 = norm2(v)
        inside = False
        if d2 < best2:
            best2, best, xa, xb, xc, xd = d2, v, y0, 0.0, y1, y2
    return inside, best, xa, xb, xc, xd


@device
def closest_on_simplex(n, w0, w1, w2, w3):
    """Closest point of the simplex w0 .. w(n-1) to the origin: (inside, v, four weights)."""
    if n == 1:
        return False, w0, 1.0, 0.0, 0.0, 0.0
    if n == 2:
        v, x = closest_on_segment(w0, w1)
        return False, v, 1.0 - x, x, 0.0, 0.0
    if n == 3:
        v, x0, x1, x2 = closest_on_triangle(w0, w1, w2)
        return False, v, x0, x1, x2, 0.0
    return closest_on_tetrahedron(w0, w1, w2, w3)


@device
def squared_up(n, w0, w1, u):
    """The closest point u of a segment made orthogonal to it: close to the origin the rounding of u tilts it."""
    if n != 2:
        return u
    e = sub(w1, w0)
    return add_scaled(u, e, -dot(u, e) / norm2(e))


@kernel(inner="parts, i8, i8, mat3, vec3, vec3")
def chung_wang_intersects(parts, a, b, r, t, axis):
    """Whether two polytopes (boxes, hulls) meet; touching counts.

    `axis`, from B to A, is the first search direction. Returns (status, v, iterations): with SEPARATED v = -d is the
    separating axis, from B to A; it may start the next search.
    """
    part_a, part_b = load_part(parts, a), load_part(parts, b)
    touch = touch_distance(parts, a, b, t)
    touch2 = touch * touch
    zero = (0.0, 0.0, 0.0)
    w0, w1, w2, w3 = zero, zero, zero, zero
    # The first direction at unit length; reflections keep it.
    length = math.sqrt(norm2(axis))
    v = (axis[0] / length, axis[1] / length, axis[2] / length)
    closest, closest2, n = zero, 1e308, 0
    from_simplex, reflections, stalls, count = False, 0, 0, 0
    while count < GJK_ITERATIONS:
        count += 1
        w, _pa = difference_support(parts, part_a, part_b, r, t, v)
        vw, v2 = dot(v, w), norm2(v)
        # P.d < Q.d by more than the touch distance: the plane through w orthogonal to d separates.
        if vw > 0.0 and vw * vw > touch2 * v2:
            return SEPARATED, v, count
        # Nothing of A - B lies closer than the simplex's closest point, and the axis through it does not separate.
        if from_simplex and v2 - vw <= GJK_GAP * v2:
            return OVERLAPPING, v, count
        # The proof of overlap: the points P - Q kept so far.
        if n == 0:
            w0 = w
        elif n == 1:
            w1 = w
        elif n == 2:
            w2 = w
        else:
            w3 = w
        inside, u, x0, x1, x2, x3 = closest_on_simplex(n + 1, w0, w1, w2, w3)
        u2 = norm2(u)
        if inside or u2 <= touch2:
            return OVERLAPPING, v, count
        if u2 < closest2:
            n, w0, w1, w2 = keep_carriers(x0, x1, x2, x3, w0, w1, w2, w3, w0, w1, w2, w3)[:4]
            closest, closest2 = squared_up(n, w0, w1, u), u2
            if vw < 0.0 and reflections < CHUNG_WANG_REFLECTIONS:
                # d = d - 2 (n.d) n with n = (Q - P) / |Q - P| = -w / |w|: the pair P, Q is then apart along d.
                v = add_scaled(v, w, -2.0 * vw / norm2(w))
                from_simplex = False
                reflections += 1
            else:
                v, from_simplex = closest, True
        elif not from_simplex:
            v, from_simplex = closest, True
        else:
            # Near contact the length of the closest point has no digits left to lose, while its direction still matters.
            # Turn to the new closest point if it is as close; then to the planes through the new vertex and two others.
            stalls += 1
            if stalls > CHUNG_WANG_STALLS:
                break
            if stalls % 2 == 1 and u2 <= closest2 + 0.25 * touch * math.sqrt(closest2):
                n, w0, w1, w2 = keep_carriers(x0, x1, x2, x3, w0, w1, w2, w3, w0, w1, w2, w3)[:4]
                closest = squared_up(n, w0, w1, u)
                v = closest
            elif n > 1:
                p, q = (w0, w1) if n == 2 or stalls <= 2 else ((w1, w2) if stalls <= 4 else (w2, w0))
                normal = cross(sub(p, w), sub(q, w))
                height = dot(normal, p)
                if height != 0.0:
                    v, from_simplex = scale(normal, height), False
    return UNCONVERGED, v, count


@kernel("i8, i8, pair_batch, u1[::1]")
def chung_wang_rows(start, stop, batch, status_out):
    """`chung_wang_intersects` of rows start .. stop-1: pairs of single boxes or hulls, poses in the world."""
    parts = batch.packed.parts
    for i in range(start, stop):
        a, b, _row, (r, t) = placed_parts(batch, i)
        status_out[i] = chung_wang_intersects(parts, a, b, r, t, center_axis(parts, a, b, r, t))[0]
