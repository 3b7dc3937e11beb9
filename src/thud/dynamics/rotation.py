"""Rotations as state: exp of a rotation vector, the nearest rotation of a matrix that is nearly one, skew matrices."""

from __future__ import annotations

import math

from thud._core.decorators import device
from thud.dynamics.tolerances import NEAREST_ROUNDS, SMALL_ANGLE
from thud.math.vec3 import cross, dot, norm2


@device
def skew_times(w, a):
    """w~ A: the matrix of the cross product with w, times A (row-major)."""
    return (
        w[1] * a[6] - w[2] * a[3], w[1] * a[7] - w[2] * a[4], w[1] * a[8] - w[2] * a[5],
        w[2] * a[0] - w[0] * a[6], w[2] * a[1] - w[0] * a[7], w[2] * a[2] - w[0] * a[8],
        w[0] * a[3] - w[1] * a[0], w[0] * a[4] - w[1] * a[1], w[0] * a[5] - w[1] * a[2],
    )  # fmt: skip


@device
def add_matrix(a, b, s):
    """A + s B."""
    return (
        a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2], a[3] + s * b[3], a[4] + s * b[4], a[5] + s * b[5],
        a[6] + s * b[6], a[7] + s * b[7], a[8] + s * b[8],
    )  # fmt: skip


@device
def exp_rotation(w):
    """exp(w~): the rotation by |w| radians about w (Rodrigues)."""
    angle2 = norm2(w)
    if angle2 < SMALL_ANGLE * SMALL_ANGLE:
        s, c = 1.0 - angle2 / 6.0, 0.5 - angle2 / 24.0
    else:
        angle = math.sqrt(angle2)
        s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / angle2
    x, y, z = w
    return (
        1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y,
        c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x,
        c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y),
    )  # fmt: skip


@device
def inverse_transpose(a):
    """A^-T: the cofactors over the determinant."""
    u, v, w = (a[0], a[1], a[2]), (a[3], a[4], a[5]), (a[6], a[7], a[8])
    p, q, r = cross(v, w), cross(w, u), cross(u, v)
    d = 1.0 / (u[0] * p[0] + u[1] * p[1] + u[2] * p[2])
    return d * p[0], d * p[1], d * p[2], d * q[0], d * q[1], d * q[2], d * r[0], d * r[1], d * r[2]


@device
def nearest_rotation(a):
    """The rotation nearest to A, which is nearly one: A = (A + A^-T) / 2 until it stays (Higham 1986). No axis is preferred, as
    one is in Gram and Schmidt's way."""
    for _ in range(NEAREST_ROUNDS):
        b = inverse_transpose(a)
        a = (
            0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2]), 0.5 * (a[3] + b[3]), 0.5 * (a[4] + b[4]),
            0.5 * (a[5] + b[5]), 0.5 * (a[6] + b[6]), 0.5 * (a[7] + b[7]), 0.5 * (a[8] + b[8]),
        )  # fmt: skip
    return a


@device
def straightened(a):
    """A (3 I - A^T A) / 2: of a matrix that is off a rotation by e, one that is off by e^2."""
    u, v, w = (a[0], a[1], a[2]), (a[3], a[4], a[5]), (a[6], a[7], a[8])
    x, y, z = (a[0], a[3], a[6]), (a[1], a[4], a[7]), (a[2], a[5], a[8])
    xx, yy, zz = 1.5 - 0.5 * dot(x, x), 1.5 - 0.5 * dot(y, y), 1.5 - 0.5 * dot(z, z)
    xy, xz, yz = -0.5 * dot(x, y), -0.5 * dot(x, z), -0.5 * dot(y, z)
    return (
        u[0] * xx + u[1] * xy + u[2] * xz, u[0] * xy + u[1] * yy + u[2] * yz, u[0] * xz + u[1] * yz + u[2] * zz,
        v[0] * xx + v[1] * xy + v[2] * xz, v[0] * xy + v[1] * yy + v[2] * yz, v[0] * xz + v[1] * yz + v[2] * zz,
        w[0] * xx + w[1] * xy + w[2] * xz, w[0] * xy + w[1] * yy + w[2] * yz, w[0] * xz + w[1] * yz + w[2] * zz,
    )  # fmt: skip
