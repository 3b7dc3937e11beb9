"""Rotations from one form to another: quaternions (wxyz), matrices, rotation vectors, Euler angles. Batches of N."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.constants import ROTATION_TOLERANCE
from thud.errors import InvalidInputError, InvalidPoseError

#: Below this angle (radians) sin(a / 2) / a is 1/2 - a^2 / 48 to the last bit.
_SMALL = 1e-4


def rotation_from_quaternion(q: Floats, name: str) -> Floats:
    """(N, 9) rotations of (N, 4) unit quaternions."""
    length = np.sqrt(np.einsum("ij,ij->i", q, q))
    wrong = np.abs(length - 1.0) > ROTATION_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidPoseError(
            f"{name}: row {row} has length {length[row]:.9g}; expected a unit quaternion wxyz within {ROTATION_TOLERANCE:g}"
        )
    w, x, y, z = (q / length[:, None]).T
    rows = np.empty((len(q), 9))
    rows[:, 0] = 1 - 2 * (y * y + z * z)
    rows[:, 1] = 2 * (x * y - w * z)
    rows[:, 2] = 2 * (x * z + w * y)
    rows[:, 3] = 2 * (x * y + w * z)
    rows[:, 4] = 1 - 2 * (x * x + z * z)
    rows[:, 5] = 2 * (y * z - w * x)
    rows[:, 6] = 2 * (x * z - w * y)
    rows[:, 7] = 2 * (y * z + w * x)
    rows[:, 8] = 1 - 2 * (x * x + y * y)
    return rows


def quaternion_from_rotation(r: Floats) -> Floats:
    """(N, 4) unit quaternions, w >= 0, of (N, 9) rotations, from the largest of the four squares (Shepperd)."""
    m = r.reshape(-1, 3, 3)
    xx, yy, zz = m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]
    squares = np.stack([xx + yy + zz, xx - yy - zz, yy - xx - zz, zz - xx - yy], axis=1)
    largest = squares.argmax(axis=1)
    # The symmetric 4x4 matrix 4 q q^T - I + ... ; the row of the largest diagonal is a multiple of q.
    k = np.empty((len(m), 4, 4))
    k[:, 0, 0], k[:, 1, 1], k[:, 2, 2], k[:, 3, 3] = (squares + 1.0).T
    k[:, 0, 1] = k[:, 1, 0] = m[:, 2, 1] - m[:, 1, 2]
    k[:, 0, 2] = k[:, 2, 0] = m[:, 0, 2] - m[:, 2, 0]
    k[:, 0, 3] = k[:, 3, 0] = m[:, 1, 0] - m[:, 0, 1]
    k[:, 1, 2] = k[:, 2, 1] = m[:, 1, 0] + m[:, 0, 1]
    k[:, 1, 3] = k[:, 3, 1] = m[:, 2, 0] + m[:, 0, 2]
    k[:, 2, 3] = k[:, 3, 2] = m[:, 2, 1] + m[:, 1, 2]
    q = k[np.arange(len(m)), largest]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return np.where(q[:, :1] < 0, -q, q)


def quaternion_from_vector(vectors: Floats) -> Floats:
    """(N, 4) of (N, 3) rotation vectors: unit axis times angle in radians, of any size."""
    angle = np.linalg.norm(vectors, axis=1)
    small = angle < _SMALL
    scale = np.where(small, 0.5 - angle * angle / 48.0, np.sin(0.5 * angle) / np.where(small, 1.0, angle))
    return np.concatenate([np.cos(0.5 * angle)[:, None], scale[:, None] * vectors], axis=1)


def vector_from_quaternion(q: Floats) -> Floats:
    """(N, 3) rotation vectors, angles from 0 to pi, of (N, 4) unit quaternions with w >= 0."""
    sine = np.linalg.norm(q[:, 1:], axis=1)
    small = sine < _SMALL
    # angle / sin(angle / 2), for small angles by its series.
    scale = np.where(small, 2.0 + sine * sine / 3.0, 2.0 * np.arctan2(sine, q[:, 0]) / np.where(small, 1.0, sine))
    return scale[:, None] * q[:, 1:]


def _axes_of(order: str) -> tuple[list[int], bool]:
    """(axes, whether they turn with the body) of three letters: "xyz" about fixed axes in turn, "XYZ" about the body's own."""
    axes = ["xyz".find(letter) for letter in order.lower()] if isinstance(order, str) else []
    if len(axes) != 3 or -1 in axes or axes[0] == axes[1] or axes[1] == axes[2] or order not in (order.lower(), order.upper()):
        raise InvalidInputError(
            f'order: expected three letters such as "xyz" (fixed axes) or "ZYX" (the body\'s own), no two alike in a row, '
            f"got {order!r}"
        )
    return axes, order == order.upper()


def quaternion_from_euler(angles: Floats, order: str) -> Floats:
    """(N, 4) of (N, 3) angles in radians about the axes of `order`, in turn."""
    axes, own = _axes_of(order)
    total = np.zeros((len(angles), 4))
    total[:, 0] = 1.0
    for k, axis in enumerate(axes):
        turn = np.zeros((len(angles), 4))
        turn[:, 0], turn[:, 1 + axis] = np.cos(0.5 * angles[:, k]), np.sin(0.5 * angles[:, k])
        total = multiply(total, turn) if own else multiply(turn, total)
    return total


def multiply(a: Floats, b: Floats) -> Floats:
    """(N, 4) products of quaternions: b's rotation first."""
    aw, ax, ay, az = a.T
    bw, bx, by, bz = b.T
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=1,
    )


def euler_from_quaternion(q: Floats, order: str) -> Floats:
    """(N, 3) angles in radians: the first and third from -pi to pi; the second from 0 to pi where the first and third axis are
    the same, else from -pi/2 to pi/2. Where only a sum or difference of two is determined, the third (about fixed axes; the
    first about the body's own) is 0.

    Bernardes and Viollet 2022, "Quaternion to Euler angles conversion: a direct, general and computationally efficient method".
    """
    axes, own = _axes_of(order)
    i, j, k = axes if not own else axes[::-1]
    proper = i == k
    if proper:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) / 2.0
    w, x, y, z = q[:, 0], q[:, 1 + i], q[:, 1 + j], sign * q[:, 1 + k]
    a, b, c, d = (w, x, y, z) if proper else (w - y, x + z, y + w, z - x)
    second = 2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    plus, minus = np.arctan2(b, a), np.arctan2(d, c)
    first, third = plus - minus, plus + minus
    # Gimbal lock: only plus, or only minus, is determined.
    flat, turned = np.abs(second) < _LOCK, np.abs(second - np.pi) < _LOCK
    first = np.where(flat, 2.0 * plus, np.where(turned, -2.0 * minus, first))
    third = np.where(flat | turned, 0.0, third)
    if not proper:
        third, second = sign * third, second - 0.5 * np.pi
    angles = np.stack([first, second, third] if not own else [third, second, first], axis=1)
    angles[:, 0], angles[:, 2] = _within_pi(angles[:, 0]), _within_pi(angles[:, 2])
    return angles


#: Within this angle (radians) of a gimbal lock the two outer angles are not determined one by one.
_LOCK = 1e-7


def _within_pi(angles: Floats) -> Floats:
    return np.where(angles < -np.pi, angles + 2.0 * np.pi, np.where(angles > np.pi, angles - 2.0 * np.pi, angles))
