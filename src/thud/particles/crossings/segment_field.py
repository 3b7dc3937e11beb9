"""The field of a line segment: the kernel of a blob's ball, convolved along it. McCormack and Sherstyuk 1998; 5.2.1.

    F(p) = 35 / (32 R) * integral over the segment of max(0, 1 - |p - x|^2 / R^2)^3 dx

With d the distance of p from the line, c = 1 - d^2 / R^2 and y along it from p's foot, over R, the integrand is (c - y^2)^3
where |y| < sqrt(c): a polynomial between clipped ends. On the axis of a long segment F is 1.

Bounds over a stretch of path are Taylor's: F and its slope in the middle, and the most that the slope can change. As the kernel
k has |grad k| <= 1.7174 / R and |Hess k| <= 6 / R^2, and no more than 2 R of a segment is near,

    |grad F| <= 2 R * 35 / (32 R) * 1.7174 / R,    |Hess F| <= 2 R * 35 / (32 R) * 6 / R^2.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import UNIT_ROUNDOFF

# Columns of a row beside those of a ball: unit direction, length, radius.
ALONG, LENGTH, REACH = 6, 9, 10
SEGMENT = 11

_WEIGHT = 35.0 / 32.0
_GRADIENT, _HESSIAN = 2.0 * _WEIGHT * 1.7174, 2.0 * _WEIGHT * 6.0

#: Roundoff of F and of R grad F, absolute: both are sums of some forty terms of up to 6.
_NOISE = 512.0 * UNIT_ROUNDOFF


@exact_device
def _cubed(c, y):
    """Integral of (c - y^2)^3 from 0 to y."""
    y2 = y * y
    return y * (c * c * c - y2 * (c * c - y2 * (0.6 * c - y2 / 7.0)))


@exact_device
def _squared(c, y):
    """Integral of (c - y^2)^2 from 0 to y."""
    y2 = y * y
    return y * (c * c - y2 * (2.0 / 3.0 * c - 0.2 * y2))


@exact_kernel(inner="f8[:,::1], i8, f8, f8, f8")
def segment_field(rows, k, qx, qy, qz):
    """(F, grad F) of segment k at q, seen from its first end."""
    lx, ly, lz = rows[k, ALONG], rows[k, ALONG + 1], rows[k, ALONG + 2]
    reach = rows[k, REACH]
    t = lx * qx + ly * qy + lz * qz
    px, py, pz = qx - t * lx, qy - t * ly, qz - t * lz
    c = 1.0 - (px * px + py * py + pz * pz) / (reach * reach)
    if c <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    wide = math.sqrt(c)
    a, b = -t / reach, (rows[k, LENGTH] - t) / reach
    low, high = max(a, -wide), min(b, wide)
    if low >= high:
        return 0.0, 0.0, 0.0, 0.0
    value = _WEIGHT * (_cubed(c, high) - _cubed(c, low))
    across = -6.0 * _WEIGHT / (reach * reach) * (_squared(c, high) - _squared(c, low))
    ends = max(0.0, c - a * a) ** 3 - max(0.0, c - b * b) ** 3
    along = _WEIGHT / reach * ends
    return value, across * px + along * lx, across * py + along * ly, across * pz + along * lz


@exact_device
def segment_bounds(rows, k, qx, qy, qz, v, w, swift, pull, off, off_speed):
    """(F, its error, slope in the middle, error of the slope, most change of the slope) over times within w of the middle.

    v: velocity there; swift, pull: bounds of speed and acceleration; off, off_speed: of the roundoff of q and v.
    """
    reach = rows[k, REACH]
    value, gx, gy, gz = segment_field(rows, k, qx, qy, qz)
    far = off + 16.0 * UNIT_ROUNDOFF * (abs(qx) + abs(qy) + abs(qz) + rows[k, LENGTH])
    speed = abs(v[0]) + abs(v[1]) + abs(v[2])
    err = _GRADIENT * far / reach + _NOISE
    slope = gx * v[0] + gy * v[1] + gz * v[2]
    err_slope = (_HESSIAN * far / reach + _NOISE) * speed / reach + _GRADIENT * off_speed / reach
    change = w * (_HESSIAN * swift * swift / reach + _GRADIENT * pull) / reach
    return value, err, slope, err_slope, change
