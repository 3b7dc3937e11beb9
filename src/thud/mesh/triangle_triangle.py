"""Do two triangles meet: the fast test at the leaves of the trees.

After Guigue and Devillers 2003: each triangle must cross the plane of the other, and then their two intervals on the
common line must overlap, which is the sign of two volumes. Every sign is compared with a bound of `touch`, the gap that
still counts as touching; only where all are clear are they believed. The rest, such as coplanar, touching and degenerate
triangles, is decided by their distance.
"""

from __future__ import annotations

from thud._core.decorators import device, kernel
from thud.geometry.triangle import closest_triangle_triangle
from thud.math.vec3 import cross, dot, sub


@device
def reach(e):
    """A bound of the length of e, without a root."""
    return abs(e[0]) + abs(e[1]) + abs(e[2])


@kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, f8")
def triangles_touch(a0, a1, a2, b0, b1, b2, touch):
    """Whether the distance of two triangles is at most `touch`: slow, right in every case."""
    return closest_triangle_triangle(a0, a1, a2, b0, b1, b2)[0] <= touch * touch


@device
def lone_corner(h0, h1, h2):
    """Which corner is alone on its side of a plane, by heights that are all clear of 0: 0, 1, 2, or -1 if none."""
    s0, s1, s2 = h0 > 0.0, h1 > 0.0, h2 > 0.0
    if s0 == s1:
        return -1 if s1 == s2 else 2
    return 0 if s1 == s2 else 1


@device
def turned(k, p0, p1, p2):
    """The corners with corner k first, in the same sense of rotation."""
    if k == 0:
        return p0, p1, p2
    if k == 1:
        return p1, p2, p0
    return p2, p0, p1


@device
def triangles_meet(a0, a1, a2, b0, b1, b2, touch):
    """Whether two triangles (3-tuples, one frame) meet or come within `touch` metres of each other."""
    e1, e2 = sub(a1, a0), sub(a2, a0)
    n = cross(e1, e2)
    h0, h1, h2 = dot(n, sub(b0, a0)), dot(n, sub(b1, a0)), dot(n, sub(b2, a0))
    blur = touch * reach(e1) * reach(e2)
    # All of B on one side of A's plane: the usual end.
    if (h0 > blur and h1 > blur and h2 > blur) or (h0 < -blur and h1 < -blur and h2 < -blur):
        return False
    f1, f2 = sub(b1, b0), sub(b2, b0)
    m = cross(f1, f2)
    g0, g1, g2 = dot(m, sub(a0, b0)), dot(m, sub(a1, b0)), dot(m, sub(a2, b0))
    blur_b = touch * reach(f1) * reach(f2)
    if (g0 > blur_b and g1 > blur_b and g2 > blur_b) or (g0 < -blur_b and g1 < -blur_b and g2 < -blur_b):
        return False
    clear = min(abs(h0), min(abs(h1), abs(h2))) > blur and min(abs(g0), min(abs(g1), abs(g2))) > blur_b
    if clear:
        # The lone corners first: p0 on the positive side of B's plane, q0 on the positive side of A's.
        k, j = lone_corner(g0, g1, g2), lone_corner(h0, h1, h2)
        p0, p1, p2 = turned(k, a0, a1, a2)
        q0, q1, q2 = turned(j, b0, b1, b2)
        if (g0 if k == 0 else (g1 if k == 1 else g2)) < 0.0:
            q1, q2 = q2, q1
        if (h0 if j == 0 else (h1 if j == 1 else h2)) < 0.0:
            p1, p2 = p2, p1
        # The intervals overlap if the start of each is not beyond the end of the other.
        d1, d2, c1, c2 = sub(p1, p0), sub(p2, p0), sub(q1, q0), sub(q2, q0)
        r = sub(q0, p0)
        v1 = dot(cross(d1, c1), r)
        v2 = dot(cross(d2, c2), r)
        bound1, bound2 = touch * reach(d1) * reach(c1), touch * reach(d2) * reach(c2)
        if v1 < -bound1 or v2 > bound2:
            return False
        if v1 > bound1 and v2 < -bound2:
            return True
    return triangles_touch(a0, a1, a2, b0, b1, b2, touch)
