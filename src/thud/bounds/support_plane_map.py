"""From a direction to a support plane ([Vogiannou] Definition 2.2 and section 4.2), in kernels."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.bounds.octahedral import octahedral_cell
from thud.bounds.support_planes import POINTS, SCAN_FACES, TABLE
from thud.constants import TINY
from thud.math.vec3 import dot, load3

#: Numba's type of `SupportPlanes.arrays()`: mode, resolution, slot, samples, planes, plane starts, vertices, their starts,
#: number of directions.
SPM = "Tuple((i8, i8, i4[::1], i4[:,::1], f4[:,::1], i8[::1], f8[:,::1], i8[::1], i8))"


@device
def angle(y, x):
    """About atan2(y, x), within 7e-4 rad and with no call: a sample is 0.1 rad wide, and any plane will do (4.2)."""
    low, high = min(abs(x), abs(y)), max(abs(x), abs(y))
    z = low / max(high, TINY)
    z2 = z * z
    a = z * (0.9953545 + z2 * (-0.2886790 + z2 * 0.0793307))
    a = 0.5 * math.pi - a if abs(y) > abs(x) else a
    a = math.pi - a if x < 0.0 else a
    return -a if y < 0.0 else a


@device
def sample_of(n, v):
    """Which of the n x n samples the direction v (not 0, of any length) falls to; close to a border, perhaps the one beside."""
    phi, theta = angle(v[1], v[0]), angle(math.sqrt(v[0] * v[0] + v[1] * v[1]), v[2])
    # A direction that is no number maps to some plane, as any plane will do.
    if not (abs(phi) < 4.0 and abs(theta) < 4.0):
        return 0
    if phi < 0.0:
        phi += 2.0 * math.pi
    i, j = int(phi * (n / (2.0 * math.pi))), int(max(theta, 0.0) * (n / math.pi))
    return min(i, n - 1) * n + min(j, n - 1)


@device
def load_point(points, row):
    """A stored point in float64."""
    return np.float64(points[row, 0]), np.float64(points[row, 1]), np.float64(points[row, 2])


@device
def load_plane(planes, row):
    """(point, normal) in float64."""
    return (
        (np.float64(planes[row, 0]), np.float64(planes[row, 1]), np.float64(planes[row, 2])),
        (np.float64(planes[row, 3]), np.float64(planes[row, 4]), np.float64(planes[row, 5])),
    )


@kernel(inner="i8, f4[:,::1], i8[::1], f8[:,::1], i8[::1], i8, vec3")
def scanned_plane(mode, planes, plane_starts, vertices, vertex_starts, slot, v):
    """(point, normal) of the exact M_O(v)."""
    if mode == SCAN_FACES:
        best, row = -math.inf, plane_starts[slot]
        for k in range(plane_starts[slot], plane_starts[slot + 1]):
            along = planes[k, 3] * v[0] + planes[k, 4] * v[1] + planes[k, 5] * v[2]
            if along > best:
                best, row = along, k
        return load_plane(planes, row)
    # All support planes: the normal is v itself.
    best, row = -math.inf, vertex_starts[slot]
    for k in range(vertex_starts[slot], vertex_starts[slot + 1]):
        along = dot(load3(vertices, k, 0), v)
        if along > best:
            best, row = along, k
    s = 1.0 / math.sqrt(dot(v, v))
    return load3(vertices, row, 0), (v[0] * s, v[1] * s, v[2] * s)


@device
def support_plane(spm, slot, v):
    """(point, normal) of M_O(v), v not 0. A mapping of OFFSETS has no points."""
    mode, n, _, samples, planes, plane_starts, vertices, vertex_starts, _ = spm
    if mode == TABLE:
        return load_plane(planes, samples[slot, sample_of(n, v)])
    if mode == POINTS:
        cell = octahedral_cell(n, v)
        return load_point(planes, slot * n * n + cell), load3(vertices, cell, 0)
    return scanned_plane(mode, planes, plane_starts, vertices, vertex_starts, slot, v)
