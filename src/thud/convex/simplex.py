"""The point of a simplex closest to the origin: GJK's inner step.

Vertices are 3-tuples held in registers. A solver returns the closest point v and the barycentric weights; a vertex
with weight 0 is not needed to express v and leaves the simplex.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.convex.tolerances import SIMPLEX_BORDER, SIMPLEX_CLEARLY, SIMPLEX_VOLUME
from thud.math.vec3 import cross, dot, norm2, sub


@device
def closest_on_segment(a, b):
    """Closest point of segment ab to the origin: (v, weight of b)."""
    ab = sub(b, a)
    length2 = norm2(ab)
    t = -dot(a, ab)
    if t <= 0.0:
        return a, 0.0
    if t >= length2:
        return b, 1.0
    t /= length2
    return (a[0] + t * ab[0], a[1] + t * ab[1], a[2] + t * ab[2]), t


@device
def closest_on_triangle(a, b, c):
    """Closest point of triangle abc to the origin: (v, weight of a, of b, of c).

    The area coordinates are triple products of edge vectors with positions, n . (a x ab), which lose a factor
    |a| / |ab| of accuracy where products of dot products lose its square.
    """
    ab, bc, ca = sub(b, a), sub(c, b), sub(a, c)
    n = cross(ab, bc)
    wc = dot(n, cross(a, ab))
    wa = dot(n, cross(b, bc))
    wb = dot(n, cross(c, ca))
    n2 = norm2(n)
    if wa > 0.0 and wb > 0.0 and wc > 0.0:
        # Over the inside: the foot on the plane, exact in direction even when it is close. Its height is taken where the
        # weights are: a vertex far from the origin would bring in the roundoff of its own length.
        total = wa + wb + wc
        h = (wa * dot(n, a) + wb * dot(n, b) + wc * dot(n, c)) / (total * n2)
        return (n[0] * h, n[1] * h, n[2] * h), wa / total, wb / total, wc / total
    # Otherwise on an edge whose area coordinate is not positive; take the nearest of those.
    best, xa, xb, xc = (0.0, 0.0, 0.0), 0.0, 0.0, 0.0
    best2 = 1e308
    if wc <= 0.0:
        p, t = closest_on_segment(a, b)
        best2, best, xa, xb, xc = norm2(p), p, 1.0 - t, t, 0.0
    if wa <= 0.0:
        p, t = closest_on_segment(b, c)
        d2 = norm2(p)
        if d2 < best2:
            best2, best, xa, xb, xc = d2, p, 0.0, 1.0 - t, t
    if wb <= 0.0:
        p, t = closest_on_segment(c, a)
        d2 = norm2(p)
        if d2 < best2:
            best2, best, xa, xb, xc = d2, p, t, 0.0, 1.0 - t
    return best, xa, xb, xc


@device
def faces_origin(p, q, r, opposite):
    """Whether the origin lies on the other side of plane pqr than `opposite`, or roundoff leaves it open.

    Both signed volumes are sums of products of three lengths; below a few roundoffs of that product their sign means
    nothing, as in a tetrahedron that is flat or has two vertices close together.
    """
    e, f, g = sub(q, p), sub(r, p), sub(opposite, p)
    n = cross(e, f)
    side, origin = dot(n, g), dot(n, p)
    noise2 = SIMPLEX_VOLUME * SIMPLEX_VOLUME * norm2(e) * norm2(f)
    return origin * side >= 0.0 or side * side <= noise2 * norm2(g) or origin * origin <= noise2 * norm2(p)


@device
def closest_on_tetrahedron(a, b, c, d):
    """Closest point of tetrahedron abcd to the origin: (inside, v, weights of a, b, c, d).

    The three faces with the newest vertex d are enough: the origin is on the inner side of the face that was there
    before.
    """
    best2, best = 1e308, (0.0, 0.0, 0.0)
    xa, xb, xc, xd = 0.0, 0.0, 0.0, 0.0
    inside = True
    if faces_origin(a, b, d, c):
        v, y0, y1, y2 = closest_on_triangle(a, b, d)
        best2, best, xa, xb, xd = norm2(v), v, y0, y1, y2
        inside = False
    if faces_origin(b, c, d, a):
        v, y0, y1, y2 = closest_on_triangle(b, c, d)
        d2 = norm2(v)
        inside = False
        if d2 < best2:
            best2, best, xa, xb, xc, xd = d2, v, 0.0, y0, y1, y2
    if faces_origin(a, c, d, b):
        v, y0, y1, y2 = closest_on_triangle(a, c, d)
        d2 = norm2(v)
        inside = False
        if d2 < best2:
            best2, best, xa, xb, xc, xd = d2, v, y0, 0.0, y1, y2
    return inside, best, xa, xb, xc, xd


@device
def weighted(a, b, c, x, y, z):
    """x a + y b + z c."""
    return x * a[0] + y * b[0] + z * c[0], x * a[1] + y * b[1] + z * c[1], x * a[2] + y * b[2] + z * c[2]


@device
def foot_on_plane(a, b, c):
    """The origin's foot on the plane of abc, where it lies in the triangle or, but for roundoff, on its border.

    Returns (whether it does, v, weight of a, of b, of c).
    """
    ab, bc, ca = sub(b, a), sub(c, b), sub(a, c)
    n = cross(ab, bc)
    wa, wb, wc = dot(n, cross(b, bc)), dot(n, cross(c, ca)), dot(n, cross(a, ab))
    n2 = norm2(n)
    least, total = -SIMPLEX_BORDER * n2, max(wa, 0.0) + max(wb, 0.0) + max(wc, 0.0)
    if not (wa > least and wb > least and wc > least and total > 0.0 and n2 > 0.0):
        return False, a, 1.0, 0.0, 0.0
    xa, xb, xc = max(wa, 0.0) / total, max(wb, 0.0) / total, max(wc, 0.0) / total
    h = (xa * dot(n, a) + xb * dot(n, b) + xc * dot(n, c)) / n2
    return True, (n[0] * h, n[1] * h, n[2] * h), xa, xb, xc


@device
def clearly_shorter(p2, q2, blur):
    """Whether a squared length is less than another by more than roundoff; `blur` is that of the points the two come from."""
    return p2 < SIMPLEX_CLEARLY * q2 and math.sqrt(p2) + blur < math.sqrt(q2)


@device
def triangle_with_care(a, b, c, blur):
    """Closest point of triangle abc to the origin, all parts tried: (squared length, v, weight of a, of b, of c)."""
    v, xa, xb, xc = closest_on_triangle(a, b, c)
    best2 = norm2(weighted(a, b, c, xa, xb, xc))
    # Over an edge, as where two edges cross in their middle, the edge's own v has a poor direction; the plane's is exact.
    over, p, ya, yb, yc = foot_on_plane(a, b, c)
    if over:
        length2 = norm2(weighted(a, b, c, ya, yb, yc))
        if not clearly_shorter(best2, length2, blur):
            best2, v, xa, xb, xc = length2, p, ya, yb, yc
    p, t = closest_on_segment(a, b)
    if clearly_shorter(norm2(p), best2, blur):
        best2, v, xa, xb, xc = norm2(p), p, 1.0 - t, t, 0.0
    p, t = closest_on_segment(b, c)
    if clearly_shorter(norm2(p), best2, blur):
        best2, v, xa, xb, xc = norm2(p), p, 0.0, 1.0 - t, t
    p, t = closest_on_segment(c, a)
    if clearly_shorter(norm2(p), best2, blur):
        best2, v, xa, xb, xc = norm2(p), p, t, 0.0, 1.0 - t
    return best2, v, xa, xb, xc


@kernel
def advance_with_care(n, a, b, c, d):
    """Closest point of a simplex of n vertices that may be flat: (v, four weights).

    The quick solvers look where signed areas and volumes point; in a flat simplex these are noise. Here every face and
    edge is tried, and each is measured by the point that its weights give, which no roundoff makes too short. Where two are
    as short the larger one with the newest vertex wins: it turns v.
    """
    if n == 1:
        return a, 1.0, 0.0, 0.0, 0.0
    if n == 2:
        v, x = closest_on_segment(a, b)
        return v, 1.0 - x, x, 0.0, 0.0
    blur = SIMPLEX_VOLUME * math.sqrt(max(norm2(a), max(norm2(b), norm2(c))))
    best2, v, xa, xb, xc = triangle_with_care(a, b, c, blur)
    xd = 0.0
    if n == 4:
        length2, p, x, y, z = triangle_with_care(a, b, d, blur)
        if not clearly_shorter(best2, length2, blur):
            best2, v, xa, xb, xc, xd = length2, p, x, y, 0.0, z
        length2, p, x, y, z = triangle_with_care(b, c, d, blur)
        if clearly_shorter(length2, best2, blur):
            best2, v, xa, xb, xc, xd = length2, p, 0.0, x, y, z
        length2, p, x, y, z = triangle_with_care(a, c, d, blur)
        if clearly_shorter(length2, best2, blur):
            best2, v, xa, xb, xc, xd = length2, p, x, 0.0, y, z
    return v, xa, xb, xc, xd


@device
def keep_carriers(x0, x1, x2, x3, w0, w1, w2, w3, a0, a1, a2, a3):
    """The vertices that carry v moved to the front: (how many, three of w, of a, of the weights)."""
    n = 0
    if x0 > 0.0:
        n = 1
    if x1 > 0.0:
        if n == 0:
            w0, a0, x0 = w1, a1, x1
        n += 1
    if x2 > 0.0:
        if n == 0:
            w0, a0, x0 = w2, a2, x2
        elif n == 1:
            w1, a1, x1 = w2, a2, x2
        n += 1
    if x3 > 0.0:
        if n == 0:
            w0, a0, x0 = w3, a3, x3
        elif n == 1:
            w1, a1, x1 = w3, a3, x3
        else:
            w2, a2, x2 = w3, a3, x3
        n += 1
    return n, w0, w1, w2, a0, a1, a2, x0, x1 if n > 1 else 0.0, x2 if n > 2 else 0.0
