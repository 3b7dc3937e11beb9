"""The culling test of [Vogiannou]: Theorem 3.2, for spheres, boxes and k-DOPs.

O_1, O_2 are objects in convex volumes R_1, R_2 with support planes E_1, E_2, each a point p and a normal n. O_1 lies in R_1 and
behind E_1, O_2 behind E_2; so if R_1 has no point behind both planes the objects are apart, and likewise for R_2. Each function
here is one case of the theorem, for one volume R, its `own` plane and the `other` object's; calling it twice with the roles
exchanged makes both cases. The line l = E_1 with E_2 must not pass through R. Then

- R entirely before the other plane: Eqs. (2), (4);
- the other plane crosses R: with q in R behind it and l'(t) the line from p_own to q, Eqs. (1), (3) say that this line meets
  the other plane before the own one.

What the functions see of the geometry, c being R's centre:

    d_own = n_own . (c - p_own),  d_other = n_other . (c - p_other),  s_p = n_other . (p_own - p_other)

With s_q = n_other . (q - p_other) <= 0, t_2 = s_p / (s_p - s_q) lies in (0, 1] if and only if s_p > 0, and then Eq. (1) is
(q - p_own) . n_own > 0. Whether l passes through R takes no division: the point of l closest to c, or the separating axes of
l and a box, are quotients whose denominator |n_own x n_other| is common to both sides. So nothing is lost near parallel planes.

Decisions where the paper is silent:

- Parallel planes have no line l, and nothing passes through R: the inequalities decide alone. (With opposite normals that is
  the separating-axis test, section 3.1.) The same plane twice rejects nothing: s_p = 0.
- l touches R, q or p_own is on the plane, R touches the plane: not rejected, as touching is intersecting.
- All points of R on one side of the other plane, so any point may stand for the object's centroid c_1 in (2): R's own.
- Directions of length 0 (common centres): v_1 = -v_2 if only one is 0, else no test.

Conservative: `margin` bounds the roundoff of the distances above and what still counts as touching; R is wider by `slack`,
since planes in float32 may have their point that far outside of it. Every comparison must hold by at least that much, so
roundoff only ever leads to "not rejected".
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.bounds.tolerances import SPM_PARALLEL
from thud.constants import SPM_SLACK
from thud.math.vec3 import add_scaled, cross, dot, norm2, sub


@device
def sphere_rejects(c, r, p_own, n_own, p_other, n_other, slack, margin):
    """One case for a sphere (4.1.1); all in one frame."""
    d_own, d_other = dot(n_own, sub(c, p_own)), dot(n_other, sub(c, p_other))
    # Normals in float32 have lengths up to 1 + 2^-23.
    wide = r + slack
    wider = wide * (1.0 + SPM_SLACK)
    # R before the other plane: Eq. (2) / (4).
    if d_other - wider > margin:
        return True
    s_p = dot(n_other, sub(p_own, p_other))
    if not s_p > margin:
        return False
    # q = c - r n_other (4.1.1): (q - p_own) . n_own > 0, Eq. (1) / (3).
    k = dot(n_own, n_other)
    if not (d_other - wide * norm2(n_other) <= 0.0 and d_own - wide * k > margin):
        return False
    # l must miss R: |x - c|^2 |n_own x n_other|^2 at the point x of l closest to c.
    apart = d_own * d_own * norm2(n_other) + d_other * d_other * norm2(n_own) - 2.0 * k * d_own * d_other
    blur = 8.0 * margin * (abs(d_own) + abs(d_other) + margin)
    return apart > wider * wider * norm2(cross(n_own, n_other)) + blur


@device
def box_rejects(h, m_own, m_other, d_own, d_other, s_p, slack, margin):
    """One case for a box (4.1.2, 4.1.3) with half extents h; m are the two normals along the box's axes."""
    hx, hy, hz = h[0] + slack, h[1] + slack, h[2] + slack
    # R before the other plane: Eq. (2) / (4).
    if d_other - (hx * abs(m_other[0]) + hy * abs(m_other[1]) + hz * abs(m_other[2])) > margin:
        return True
    if not s_p > margin:
        return False
    # q is the vertex deepest behind the other plane; (q - p_own) . n_own > 0, Eq. (1) / (3).
    qx, qy, qz = math.copysign(h[0], m_other[0]), math.copysign(h[1], m_other[1]), math.copysign(h[2], m_other[2])
    if not d_other - (qx * m_other[0] + qy * m_other[1] + qz * m_other[2]) <= 0.0:
        return False
    if not d_own - (qx * m_own[0] + qy * m_own[1] + qz * m_own[2]) > margin:
        return False
    # l must miss R: one of the axes l x a_i separates them. l x a_i = m_own_i n_other - m_other_i n_own.
    xy = abs(m_own[0] * m_other[1] - m_own[1] * m_other[0])
    xz = abs(m_own[0] * m_other[2] - m_own[2] * m_other[0])
    yz = abs(m_own[1] * m_other[2] - m_own[2] * m_other[1])
    blur = 4.0 * margin
    return (
        abs(m_other[0] * d_own - m_own[0] * d_other) > hy * xy + hz * xz + blur
        or abs(m_other[1] * d_own - m_own[1] * d_other) > hx * xy + hz * yz + blur
        or abs(m_other[2] * d_own - m_own[2] * d_other) > hx * xz + hy * yz + blur
    )


@device
def aabb_rejects(c, h, p_own, n_own, p_other, n_other, slack, margin):
    """One case for a box along the axes of the frame of everything else (4.1.2)."""
    d_own, d_other = dot(n_own, sub(c, p_own)), dot(n_other, sub(c, p_other))
    return box_rejects(h, n_own, n_other, d_own, d_other, dot(n_other, sub(p_own, p_other)), slack, margin)


@device
def obb_rejects(axes, c, h, p_own, n_own, p_other, n_other, slack, margin):
    """One case for an oriented box (4.1.3), axes as rows of a 9-tuple."""
    d_own, d_other = dot(n_own, sub(c, p_own)), dot(n_other, sub(c, p_other))
    u, v, w = (axes[0], axes[1], axes[2]), (axes[3], axes[4], axes[5]), (axes[6], axes[7], axes[8])
    m_own, m_other = (dot(u, n_own), dot(v, n_own), dot(w, n_own)), (dot(u, n_other), dot(v, n_other), dot(w, n_other))
    return box_rejects(h, m_own, m_other, d_own, d_other, dot(n_other, sub(p_own, p_other)), slack, margin)


@device
def kdop_span(axes, kdops, row, x, u, slack, low, high):
    """(low, high): where x + t u, t in [low, high], is inside the k-DOP of a row, widened by `slack`; low > high if nowhere."""
    half = axes.shape[0]
    for i in range(half):
        # Directions have lengths up to sqrt(3).
        a = (axes[i, 0], axes[i, 1], axes[i, 2])
        s, v = dot(a, x), dot(a, u)
        below, above = np.float64(kdops[row, i]) - 2.0 * slack - s, np.float64(kdops[row, half + i]) + 2.0 * slack - s
        if v > 0.0:
            low, high = max(low, below / v), min(high, above / v)
        elif v < 0.0:
            low, high = max(low, above / v), min(high, below / v)
        elif below > 0.0 or above < 0.0:
            return 1.0, -1.0
    return low, high


@kernel(inner="f8[:,::1], f4[:,::1], i8, vec3, vec3, vec3, vec3, f8, f8")
def kdop_rejects(axes, kdops, row, p_own, n_own, p_other, n_other, slack, margin):
    """One case for a k-DOP: not in the paper, by 4.1.3's directions.

    First its box, the first three of its slabs, as for an AABB. Then the k-DOP itself: l is cut by all slabs, and q is where
    the line from p_own along -n_other leaves the k-DOP; if that is not behind the other plane, there is no answer.
    """
    half = axes.shape[0]
    low = (np.float64(kdops[row, 0]), np.float64(kdops[row, 1]), np.float64(kdops[row, 2]))
    high = (np.float64(kdops[row, half]), np.float64(kdops[row, half + 1]), np.float64(kdops[row, half + 2]))
    c = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2]))
    h = (0.5 * (high[0] - low[0]), 0.5 * (high[1] - low[1]), 0.5 * (high[2] - low[2]))
    if aabb_rejects(c, h, p_own, n_own, p_other, n_other, slack, margin):
        return True
    if not dot(n_other, sub(p_own, p_other)) > margin:
        return False
    far = 4.0 * (h[0] + h[1] + h[2] + slack)
    exit_t = kdop_span(axes, kdops, row, p_own, (-n_other[0], -n_other[1], -n_other[2]), slack, 0.0, far)[1]
    q = add_scaled(p_own, n_other, -max(exit_t, 0.0))
    if not (dot(n_other, sub(q, p_other)) <= 0.0 and dot(n_own, sub(q, p_own)) > margin):
        return False
    # The point of l closest to c, and along l from there; near parallel planes it would be lost in roundoff.
    u = cross(n_own, n_other)
    sine2 = norm2(u)
    if sine2 < SPM_PARALLEL:
        return False
    k, d_own, d_other = dot(n_own, n_other), dot(n_own, sub(c, p_own)), dot(n_other, sub(c, p_other))
    f = (k * d_other - d_own * norm2(n_other)) / sine2
    g = (k * d_own - d_other * norm2(n_own)) / sine2
    x = add_scaled(add_scaled(c, n_own, f), n_other, g)
    s = 1.0 / math.sqrt(sine2)
    low_t, high_t = kdop_span(axes, kdops, row, x, (u[0] * s, u[1] * s, u[2] * s), 2.0 * slack, -far, far)
    return low_t > high_t
