"""Poses as kernels read them, rows of rotation (row-major) and translation, from what users have: quaternions and matrices."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel, view_device
from thud.constants import FARTHEST_POSE, ROTATION_EXACT, ROTATION_SINGLE, ROTATION_TOLERANCE

D = np.float64


@device
def put_quaternion(rows_out, i, w, x, y, z):
    """Rotation of a quaternion of any length above 0: R = I + (2 / |q|^2) (...), which takes no square root."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    rows_out[i, 0] = 1.0 - s * (y * y + z * z)
    rows_out[i, 1] = s * (x * y - w * z)
    rows_out[i, 2] = s * (x * z + w * y)
    rows_out[i, 3] = s * (x * y + w * z)
    rows_out[i, 4] = 1.0 - s * (x * x + z * z)
    rows_out[i, 5] = s * (y * z - w * x)
    rows_out[i, 6] = s * (x * z - w * y)
    rows_out[i, 7] = s * (y * z + w * x)
    rows_out[i, 8] = 1.0 - s * (x * x + y * y)


@device
def near_enough(x, y, z):
    """Whether a place is within the limit; no for NaN."""
    return abs(x) <= FARTHEST_POSE and abs(y) <= FARTHEST_POSE and abs(z) <= FARTHEST_POSE


@device
def put_seven(rows_out, i, place, q):
    """A place and a unit quaternion (wxyz). Returns whether they are a pose."""
    low, high = (1.0 - ROTATION_TOLERANCE) ** 2, (1.0 + ROTATION_TOLERANCE) ** 2
    w, x, y, z = q
    if not low <= w * w + x * x + y * y + z * z <= high or not near_enough(place[0], place[1], place[2]):
        return False
    put_quaternion(rows_out, i, w, x, y, z)
    rows_out[i, 9], rows_out[i, 10], rows_out[i, 11] = place
    return True


@device
def quaternions(values, rows_out):
    """Rows of [x y z qw qx qy qz]. Returns the first that is no pose, or -1."""
    for i in range(values.shape[0]):
        place = (D(values[i, 0]), D(values[i, 1]), D(values[i, 2]))
        if not put_seven(rows_out, i, place, (D(values[i, 3]), D(values[i, 4]), D(values[i, 5]), D(values[i, 6]))):
            return i
    return -1


@kernel("f8[:,::1], f8[:,::1]")
def quaternion_rows(values, rows_out):
    """`quaternions` in float64."""
    return quaternions(values, rows_out)


@kernel("f4[:,::1], f8[:,::1]")
def quaternion_rows32(values, rows_out):
    """`quaternions` in float32."""
    return quaternions(values, rows_out)


@device
def put_matrix(rows_out, i, first, second, third):
    """A rotation from its rows, each with its part of the translation. Returns whether it is one; what is orthogonal to a few
    digits is replaced by the nearest rotation, R (R^T R)^(-1/2) with the root's series to the second power: the third is
    below roundoff."""
    a, b, c, x = first
    d, e, f, y = second
    g, h, k, z = third
    # E = R^T R - I.
    e00, e11, e22 = a * a + d * d + g * g - 1.0, b * b + e * e + h * h - 1.0, c * c + f * f + k * k - 1.0
    e01, e02, e12 = a * b + d * e + g * h, a * c + d * f + g * k, b * c + e * f + h * k
    off = max(max(abs(e00), max(abs(e11), abs(e22))), max(abs(e01), max(abs(e02), abs(e12))))
    right_handed = a * (e * k - f * h) - b * (d * k - f * g) + c * (d * h - e * g) > 0.0
    # NaN passes max in some places; the sum tells.
    finite = math.isfinite(a + b + c + d + e + f + g + h + k)
    if not (off <= 2.0 * ROTATION_TOLERANCE and right_handed and finite and near_enough(x, y, z)):
        return False
    if off > ROTATION_EXACT:
        # S = I - E / 2 + 3 / 8 E^2.
        s00, s11, s22 = 1.0 - 0.5 * e00, 1.0 - 0.5 * e11, 1.0 - 0.5 * e22
        s01, s02, s12 = -0.5 * e01, -0.5 * e02, -0.5 * e12
        if off > ROTATION_SINGLE:
            s00 += 0.375 * (e00 * e00 + e01 * e01 + e02 * e02)
            s11 += 0.375 * (e01 * e01 + e11 * e11 + e12 * e12)
            s22 += 0.375 * (e02 * e02 + e12 * e12 + e22 * e22)
            s01 += 0.375 * (e00 * e01 + e01 * e11 + e02 * e12)
            s02 += 0.375 * (e00 * e02 + e01 * e12 + e02 * e22)
            s12 += 0.375 * (e01 * e02 + e11 * e12 + e12 * e22)
        a, b, c = a * s00 + b * s01 + c * s02, a * s01 + b * s11 + c * s12, a * s02 + b * s12 + c * s22
        d, e, f = d * s00 + e * s01 + f * s02, d * s01 + e * s11 + f * s12, d * s02 + e * s12 + f * s22
        g, h, k = g * s00 + h * s01 + k * s02, g * s01 + h * s11 + k * s12, g * s02 + h * s12 + k * s22
    rows_out[i, 0], rows_out[i, 1], rows_out[i, 2] = a, b, c
    rows_out[i, 3], rows_out[i, 4], rows_out[i, 5] = d, e, f
    rows_out[i, 6], rows_out[i, 7], rows_out[i, 8] = g, h, k
    rows_out[i, 9], rows_out[i, 10], rows_out[i, 11] = x, y, z
    return True


@device
def is_last_row(p, q, r, s):
    """Whether it is 0, 0, 0, 1; no for NaN."""
    tolerance = ROTATION_TOLERANCE
    return abs(p) <= tolerance and abs(q) <= tolerance and abs(r) <= tolerance and abs(s - 1.0) <= tolerance


@device
def matrices(values, rows_out):
    """Rows of homogeneous matrices, 16 numbers each. Returns the first that is no rigid motion, or -1. Rotations that are
    orthogonal to the last bits keep the caller's numbers."""
    for i in range(values.shape[0]):
        first = (D(values[i, 0]), D(values[i, 1]), D(values[i, 2]), D(values[i, 3]))
        second = (D(values[i, 4]), D(values[i, 5]), D(values[i, 6]), D(values[i, 7]))
        third = (D(values[i, 8]), D(values[i, 9]), D(values[i, 10]), D(values[i, 11]))
        rigid = is_last_row(D(values[i, 12]), D(values[i, 13]), D(values[i, 14]), D(values[i, 15]))
        if not (rigid and put_matrix(rows_out, i, first, second, third)):
            return i
    return -1


@kernel("f8[:,::1], f8[:,::1]")
def matrix_rows(values, rows_out):
    """`matrices` in float64."""
    return matrices(values, rows_out)


@kernel("f4[:,::1], f8[:,::1]")
def matrix_rows32(values, rows_out):
    """`matrices` in float32."""
    return matrices(values, rows_out)


@device
def put_one_matrix(m, rows_out, i):
    """A (4, 4) matrix. Returns whether it is a rigid motion."""
    first, second = (m[0, 0], m[0, 1], m[0, 2], m[0, 3]), (m[1, 0], m[1, 1], m[1, 2], m[1, 3])
    third = (m[2, 0], m[2, 1], m[2, 2], m[2, 3])
    return is_last_row(m[3, 0], m[3, 1], m[3, 2], m[3, 3]) and put_matrix(rows_out, i, first, second, third)


@view_device
def pose_row(values):
    """(1, 12) of one pose given as its row (1, 12), as seven numbers (1, 7), or as its matrix (4, 4); (0, 12) if it is none."""
    if values.shape[1] == 12:
        return values
    row = np.empty((1, 12))
    if values.shape[1] == 7:
        place = (values[0, 0], values[0, 1], values[0, 2])
        right = put_seven(row, 0, place, (values[0, 3], values[0, 4], values[0, 5], values[0, 6]))
    else:
        right = put_one_matrix(values, row, 0)
    return row if right else row[:0]


@kernel("f8[:,::1], f8[:,::1]")
def one_matrix(m, rows_out):
    """`matrix_rows` of one (4, 4) matrix."""
    return -1 if put_one_matrix(m, rows_out, 0) else 0


@kernel("f8[::1], f8[:,::1]")
def one_quaternion(v, rows_out):
    """`quaternion_rows` of one (7,) row."""
    return -1 if put_seven(rows_out, 0, (v[0], v[1], v[2]), (v[3], v[4], v[5], v[6])) else 0
