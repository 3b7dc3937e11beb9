"""What the backward projections on a triangle share: the problem in units of its own size, and how an answer is judged.

A point P' is the forward projection (2.1, 2.2) of (u, v) with length alpha when

    w - alpha N0 = u (e1 + alpha d1) + v (e2 + alpha d2),   w = P' - P0, e_i = P_i - P0, d_i = N_i - N0,

that is, when it lies in the alpha triangle (3.3), whose corners are all three moved by alpha. Kernels see w and e divided by
the largest coordinate L of theirs and N0 and d by the largest coordinate D of theirs, so that every number is of the order of
1 at any scale; alpha is then in units of L / D.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.exact_vec3 import add_scaled, cross, dot, norm2, sub
from thud.results import ProjectionStatus
from thud.terrain.projection.tolerances import (
    PROJECTION_COLLAPSE,
    PROJECTION_EDGE,
    PROJECTION_EDGE_MOST,
    PROJECTION_POLISH,
    PROJECTION_RESIDUAL,
)

INSIDE = int(ProjectionStatus.INSIDE)
OUTSIDE = int(ProjectionStatus.OUTSIDE)
AMBIGUOUS = int(ProjectionStatus.AMBIGUOUS)
UNCONVERGED = int(ProjectionStatus.UNCONVERGED)


@exact_device
def largest(a):
    """Largest magnitude of the coordinates of a."""
    return max(abs(a[0]), max(abs(a[1]), abs(a[2])))


@exact_device
def scaled(a, s):
    """a * s."""
    return a[0] * s, a[1] * s, a[2] * s


@exact_device
def in_own_units(p, p0, p1, p2, n0, n1, n2):
    """(w, e1, e2, N0, d1, d2, L / D, roundoff of the coordinates in units of L); L / D is 0 if nothing can be projected."""
    w, e1, e2 = sub(p, p0), sub(p1, p0), sub(p2, p0)
    d1, d2 = sub(n1, n0), sub(n2, n0)
    size = max(largest(w), max(largest(e1), largest(e2)))
    reach = max(largest(n0), max(largest(d1), largest(d2)))
    if not (size > 0.0 and reach > 0.0):
        return w, e1, e2, n0, d1, d2, 0.0, 0.0
    a, b = 1.0 / size, 1.0 / reach
    noise = UNIT_ROUNDOFF * (1.0 + (largest(p) + largest(p0)) * a)
    return scaled(w, a), scaled(e1, a), scaled(e2, a), scaled(n0, b), scaled(d1, b), scaled(d2, b), size / reach, noise


@exact_device
def alpha_cubic(w, e1, e2, n0, d1, d2):
    """(c0, c1, c2, c3): (3.4) is f = (A + alpha B + alpha^2 C) . (w - alpha N0) = c0 + c1 alpha + c2 alpha^2 + c3 alpha^3."""
    a = cross(e1, e2)
    b1, b2 = cross(e1, d2), cross(d1, e2)
    b = (b1[0] + b2[0], b1[1] + b2[1], b1[2] + b2[2])
    c = cross(d1, d2)
    return dot(a, w), dot(b, w) - dot(a, n0), dot(c, w) - dot(b, n0), -dot(c, n0)


@exact_device
def foot(alpha, w, e1, e2, n0, d1, d2):
    """(kind, u, v, alpha) from a root of (3.4), polished.

    kind is 1 if (u, v, alpha) reproduces the point, 0 if the alpha triangle collapses there, -1 if it does not reproduce it.
    """
    s1, s2 = add_scaled(e1, d1, alpha), add_scaled(e2, d2, alpha)
    x = add_scaled(w, n0, -alpha)
    n = cross(s1, s2)
    nn = norm2(n)
    a2 = alpha * alpha
    whole = (norm2(e1) + a2 * norm2(d1)) * (norm2(e2) + a2 * norm2(d2))
    if not nn > PROJECTION_COLLAPSE * PROJECTION_COLLAPSE * whole:
        return 0, 0.0, 0.0, alpha
    u, v = dot(cross(x, s2), n) / nn, dot(cross(s1, x), n) / nn
    # Newton's method on all three unknowns: the residual is taken from the vectors themselves, not from the coefficients.
    # It goes on while it gains; where the directions fold (det = 0) it does not.
    best, at_u, at_v, at_alpha = math.inf, u, v, alpha
    for _ in range(10):
        r = add_scaled(add_scaled(x, s1, -u), s2, -v)
        rr = norm2(r)
        if not rr < best:
            break
        best, at_u, at_v, at_alpha = rr, u, v, alpha
        if rr <= (PROJECTION_POLISH * (1.0 + abs(alpha))) ** 2:
            break
        m = add_scaled(add_scaled(n0, d1, u), d2, v)
        det = dot(n, m)
        if det == 0.0:
            break
        u += dot(cross(s2, m), r) / det
        v += dot(cross(m, s1), r) / det
        alpha += dot(n, r) / det
        s1, s2 = add_scaled(e1, d1, alpha), add_scaled(e2, d2, alpha)
        x = add_scaled(w, n0, -alpha)
        n = cross(s1, s2)
    limit = PROJECTION_RESIDUAL * (1.0 + abs(at_alpha)) * (1.0 + abs(at_u) + abs(at_v))
    kind = 1 if best <= limit * limit else -1
    return kind, at_u, at_v, at_alpha


@exact_device
def widths(u, v, alpha, noise, e1, e2, n0, d1, d2):
    """How far (u and v, alpha) may be off: roundoff of the coordinates, times what the projection makes of it, up to a limit
    (where directions fold it has none)."""
    s1, s2 = add_scaled(e1, d1, alpha), add_scaled(e2, d2, alpha)
    m = add_scaled(add_scaled(n0, d1, u), d2, v)
    n = cross(s1, s2)
    blur = 16.0 * noise * (1.0 + abs(alpha)) / abs(dot(n, m))
    across, along = blur * (largest(cross(s2, m)) + largest(cross(m, s1))), blur * largest(n)
    return min(PROJECTION_EDGE + across, PROJECTION_EDGE_MOST), min(PROJECTION_EDGE + along, PROJECTION_EDGE_MOST)


@exact_device
def edge_margin(u, v):
    """How far (u, v) is inside the triangle: the least of u, v, 1 - u - v; negative outside."""
    return min(u, min(v, 1.0 - u - v))


@exact_device
def belongs(u, v, alpha, low, high, noise, e1, e2, n0, d1, d2):
    """(whether (u, v) is in the primitive, whether alpha is in the range), both closed, their ends as wide as the roundoff of
    the answer."""
    margin, spare = edge_margin(u, v), min(alpha - low, high - alpha)
    if margin >= 0.0 and spare >= 0.0:
        return True, True
    if margin < -PROJECTION_EDGE_MOST or spare < -PROJECTION_EDGE_MOST:
        return margin >= 0.0, spare >= 0.0
    across, along = widths(u, v, alpha, noise, e1, e2, n0, d1, d2)
    return margin >= -across, spare >= -along
