"""Theorem 3.2 of [Vogiannou] for spheres as one number: how far apart two objects are at least.

O_1 lies in the ball R_1 (centre c, radius r) and behind its plane E_1; O_2 lies behind E_2. The least of n_2 . x over the part
of the ball that is behind E_1 has a closed form. With a = n_1 . c - h_1 the height of the centre above the own plane and
k = n_1 . n_2,

- if c - r n_2, the ball's lowest point along n_2, is behind E_1 (a <= r k), it is n_2 . c - r;
- else it lies on the rim of the disc in which E_1 cuts the ball: n_2 . c - a k - sqrt((r^2 - a^2) (1 - k^2)).

If it exceeds h_2 the objects are apart, by at least the difference: all of O_1 lies beyond it, all of O_2 on this side of h_2.
This is the theorem's case (1) in one number: the ball has no point behind both planes if and only if it is positive. Calling it
twice with the roles exchanged makes both. It takes no point of the planes.

Conservative: a is known to `margin`, so the ball is taken wider by that; k to some roundoffs, which under the root are far
more, so BALL_SINE is added to 1 - k^2. Both only ever lower the number.
"""

from __future__ import annotations

import math

from thud._core.decorators import device
from thud.bounds.tolerances import BALL_SINE


@device
def ball_gap(height_own, height_other, r, k, margin):
    """Lower bound of the distance by one ball of radius r: heights of its centre above the own and the other plane, k the
    cosine between their normals. Positive: apart."""
    wide = r + margin
    if height_own <= wide * k:
        return height_other - wide
    disc2 = max((wide - height_own) * (wide + height_own), 0.0)
    return height_other - height_own * k - math.sqrt(disc2 * (max(1.0 - k * k, 0.0) + BALL_SINE))
