"""The point of a simplex closest to the origin: GJK's inner step.

Vertices are 3-tuples held in registers. A solver returns the closest point v and the barycentric weights; a vertex
with weight 0 is not needed to express v and leaves the simplex.
"""

from __future__ import annotations

from thud._jit import device
from thud.constants import UNIT_ROUNDOFF
from thud.math.vec3 import cross, dot, norm2, sub

#: Relative error of a triple product, in units of the product of the three lengths.
_VOLUME_NOISE = 16.0 * UNIT_ROUNDOFF


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
        # Over the inside: the foot on the plane, exact in direction even when it is close.
        h = (n[0] * (a[0] + b[0] + c[0]) + n[1] * (a[1] + b[1] + c[1]) + n[2] * (a[2] + b[2] + c[2])) / (3.0 * n2)
        total = wa + wb + wc
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
    noise2 = _VOLUME_NOISE * _VOLUME_NOISE * norm2(e) * norm2(f)
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
