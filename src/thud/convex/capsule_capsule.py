"""Spheres and capsules against each other: the distance of two segments (a sphere's has length 0), less the radii.

A's frame: A's segment lies on the z axis; (r, t) is B.
"""

from __future__ import annotations

import math

from thud._core.decorators import kernel
from thud.convex.tolerances import CAPSULE_PARALLEL, CAPSULE_TOUCH
from thud.math.vec3 import any_orthogonal


@kernel
def contact_capsule_capsule(half_a, half_b, r, t):
    """Closest points of the two segments: (distance, point on A's segment, unit normal from A to B).

    Segments that cross have distance 0 and the normal orthogonal to both. Parallel ones: the middle of the overlap,
    so that the answer does not jump with the last bit.
    """
    b = (r[2], r[5], r[8])  # B's axis
    cosine = b[2]
    # P(s) = (0, 0, s), Q(u) = t + u b; minimise |P - Q|^2 over |s| <= half_a, |u| <= half_b.
    tb = t[0] * b[0] + t[1] * b[1] + t[2] * b[2]
    sine2 = b[0] * b[0] + b[1] * b[1]
    if sine2 > CAPSULE_PARALLEL * CAPSULE_PARALLEL and half_a > 0.0 and half_b > 0.0:
        # Along the common perpendicular, then clamp u, s, and u again (the usual order for convex quadratics). Written with
        # the parts across A, as t_z - (t.b) cosine cancels where the segments are all but parallel.
        s = t[2] - cosine * ((t[0] * b[0] + t[1] * b[1]) / sine2)
        s = min(max(s, -half_a), half_a)
        u = min(max(s * cosine - tb, -half_b), half_b)
        s = min(max(t[2] + u * cosine, -half_a), half_a)
        # A second round settles the corner cases of clamping.
        u = min(max(s * cosine - tb, -half_b), half_b)
        s = min(max(t[2] + u * cosine, -half_a), half_a)
    else:
        # (Nearly) parallel: B's segment covers [t_z - half_b, t_z + half_b] of A's line; meet in the middle.
        low, high = max(-half_a, t[2] - half_b), min(half_a, t[2] + half_b)
        s = min(max(0.5 * (low + high), -half_a), half_a)
        u = min(max(s * cosine - tb, -half_b), half_b)
        s = min(max(t[2] + u * cosine, -half_a), half_a)
    d = (t[0] + u * b[0], t[1] + u * b[1], t[2] + u * b[2] - s)
    distance = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    scale = half_a + half_b + abs(t[0]) + abs(t[1]) + abs(t[2])
    if distance > CAPSULE_TOUCH * scale:
        return distance, (0.0, 0.0, s), (d[0] / distance, d[1] / distance, d[2] / distance)
    # The segments meet: orthogonal to both where they span a plane, else to whichever is a segment.
    sine = math.sqrt(sine2)
    if half_a > 0.0 and half_b > 0.0 and sine > CAPSULE_PARALLEL:
        return 0.0, (0.0, 0.0, s), (-b[1] / sine, b[0] / sine, 0.0)
    if half_a > 0.0:
        return 0.0, (0.0, 0.0, s), (1.0, 0.0, 0.0)
    if half_b > 0.0:
        n = any_orthogonal(b)
        length = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
        return 0.0, (0.0, 0.0, s), (n[0] / length, n[1] / length, n[2] / length)
    return 0.0, (0.0, 0.0, s), (1.0, 0.0, 0.0)
