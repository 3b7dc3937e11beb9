"""The few vector operations that exact kernels need: as in `thud.math.vec3`, compiled without fast-math."""

from __future__ import annotations

from thud._core.decorators import exact_device


@exact_device
def sub(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@exact_device
def add_scaled(a, b, s):
    """a + b * s."""
    return a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s


@exact_device
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@exact_device
def norm2(a):
    """|a|^2."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@exact_device
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@exact_device
def load2(array, row, column):
    """array[row, column:column + 2] as a tuple."""
    return array[row, column], array[row, column + 1]


@exact_device
def load3(array, row, column):
    """array[row, column:column + 3] as a tuple."""
    return array[row, column], array[row, column + 1], array[row, column + 2]


@exact_device
def drop_axis(p, axis):
    """The 2-tuple of p's coordinates after `axis`, in cyclic order: a projection that keeps orientation seen from +axis."""
    if axis == 0:
        return p[1], p[2]
    if axis == 1:
        return p[2], p[0]
    return p[0], p[1]
