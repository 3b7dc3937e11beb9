"""3-vectors as tuples of floats. `np.dot` and `np.cross` inside a kernel cost 15 to 25 times as much."""

from __future__ import annotations

import math

from thud._core.decorators import device


@device
def add(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@device
def sub(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@device
def scale(a, s):
    """a * s."""
    return a[0] * s, a[1] * s, a[2] * s


@device
def neg(a):
    """-a."""
    return -a[0], -a[1], -a[2]


@device
def add_scaled(a, b, s):
    """a + b * s."""
    return a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s


@device
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@device
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@device
def norm2(a):
    """|a|^2."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@device
def norm(a):
    """|a|. Overflows only where |a|^2 does (1e154)."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@device
def load3(array, row, column):
    """array[row, column:column + 3] as a tuple."""
    return array[row, column], array[row, column + 1], array[row, column + 2]


@device
def put3(array, row, column, x):
    """Write a vector to three neighbouring entries of a row."""
    array[row, column], array[row, column + 1], array[row, column + 2] = x


@device
def any_orthogonal(a):
    """A vector orthogonal to a: the cross product with the axis a is least along. Not normalised, never 0 for a != 0."""
    x, y, z = abs(a[0]), abs(a[1]), abs(a[2])
    if x <= y and x <= z:
        return 0.0, a[2], -a[1]
    if y <= z:
        return -a[2], 0.0, a[0]
    return a[1], -a[0], 0.0
