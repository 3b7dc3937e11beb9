"""Oriented boxes of the nodes along the principal axes of their triangles ([Slides], OBB), in float32, rounded outward.

Layout of a row: three axes (9, one after the other), centre (3), half extents (3), relative to the mesh's origin; 60 bytes
a node. The axes are orthonormal to float32. With the stored axes a_i, centre c and half extents h_i, the triangles are both
in the slabs |a_i . (x - c)| <= h_i and in the box c + sum s_i a_i, |s_i| <= h_i. Every node reads its own triangles four
times: O(T log T) for a tree over T triangles.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.bounds.rounding import up32
from thud.bounds.tolerances import OBB_SKEW
from thud.gates import Array
from thud.geometry.exact_vec3 import cross, load3, norm2, sub
from thud.math.eigen3 import eigenvectors

#: Which points the covariance is of: the triangles' corners, as on the slides, or their surface.
WEIGHTS = ("vertices", "area")


def node_obbs(
    skip: Ints, first: Ints, corners: Array, weights: str = "vertices", threads: int | None = None
) -> npt.NDArray[np.float32]:
    """(K, 15) float32 boxes of the nodes of a `MeshTree`; `corners` (T, 9) in tree order.

    weights : "vertices" (the covariance of the corners, as on the slides) or "area" (of the surface, which does not depend
        on how it is cut into triangles)
    """
    obbs = np.empty((len(skip), 15), dtype=np.float32)
    run_rows(obb_rows, len(skip), threads, skip, first, corners, int(weights == "area"), obbs)
    return obbs


@exact_device
def _area(a, b, c):
    return 0.5 * math.sqrt(norm2(cross(sub(b, a), sub(c, a))))


@exact_kernel(inner="f8[:,::1], i8[::1], i8, i8, i8")
def mean_and_axes(corners, order, start, stop, by_area):
    """(mean, axes) of triangles order[start .. stop]; axes as rows, by descending variance."""
    n = stop - start
    # The slides: Mean = 1/(3n) sum p + q + r. By area: each triangle's barycentre counts as its area does.
    x, y, z, total = 0.0, 0.0, 0.0, 0.0
    for i in range(start, stop):
        t = order[i]
        p, q, r = load3(corners, t, 0), load3(corners, t, 3), load3(corners, t, 6)
        w = _area(p, q, r) if by_area else 1.0
        x += w * (p[0] + q[0] + r[0])
        y += w * (p[1] + q[1] + r[1])
        z += w * (p[2] + q[2] + r[2])
        total += w
    if not total > 0.0:
        # No triangle has an area: the corners have to do.
        by_area = 0
        for i in range(start, stop):
            t = order[i]
            p, q, r = load3(corners, t, 0), load3(corners, t, 3), load3(corners, t, 6)
            x += p[0] + q[0] + r[0]
            y += p[1] + q[1] + r[1]
            z += p[2] + q[2] + r[2]
        total = np.float64(n)
    mean = (x / (3.0 * total), y / (3.0 * total), z / (3.0 * total))
    # The slides: C_jk = 1/(3n) sum (p_j - M_j)(p_k - M_k) + the same of q and r. By area, the integral over the triangle:
    # area / 12 (sum of the three products + the product of the three's sum).
    xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start, stop):
        t = order[i]
        p, q, r = sub(load3(corners, t, 0), mean), sub(load3(corners, t, 3), mean), sub(load3(corners, t, 6), mean)
        w, s = 1.0, (0.0, 0.0, 0.0)
        if by_area:
            w, s = _area(p, q, r) / 4.0, (p[0] + q[0] + r[0], p[1] + q[1] + r[1], p[2] + q[2] + r[2])
        xx += w * (p[0] * p[0] + q[0] * q[0] + r[0] * r[0] + s[0] * s[0])
        yy += w * (p[1] * p[1] + q[1] * q[1] + r[1] * r[1] + s[1] * s[1])
        zz += w * (p[2] * p[2] + q[2] * q[2] + r[2] * r[2] + s[2] * s[2])
        xy += w * (p[0] * p[1] + q[0] * q[1] + r[0] * r[1] + s[0] * s[1])
        xz += w * (p[0] * p[2] + q[0] * q[2] + r[0] * r[2] + s[0] * s[2])
        yz += w * (p[1] * p[2] + q[1] * q[2] + r[1] * r[2] + s[1] * s[2])
    m = 3.0 * total
    return mean, eigenvectors(xx / m, yy / m, zz / m, xy / m, xz / m, yz / m)[0]


@exact_device
def _along(axes, i, v):
    return axes[3 * i] * v[0] + axes[3 * i + 1] * v[1] + axes[3 * i + 2] * v[2]


@exact_device
def extents(corners, order, start, stop, mean, axes):
    """(lower, upper) of triangles order[start .. stop] along the three axes, relative to `mean`."""
    low, high = (math.inf, math.inf, math.inf), (-math.inf, -math.inf, -math.inf)
    for i in range(start, stop):
        t = order[i]
        for c in range(0, 9, 3):
            v = sub(load3(corners, t, c), mean)
            s = (_along(axes, 0, v), _along(axes, 1, v), _along(axes, 2, v))
            low = (min(low[0], s[0]), min(low[1], s[1]), min(low[2], s[2]))
            high = (max(high[0], s[0]), max(high[1], s[1]), max(high[2], s[2]))
    return low, high


@exact_kernel("i8, i8, i8[::1], i8[::1], f8[:,::1], i8, f4[:,::1]")
def obb_rows(begin, end, skip, first, corners, by_area, obbs_out):
    """Boxes of nodes begin .. end; the corners are in tree order already."""
    order = np.arange(corners.shape[0])
    for k in range(begin, end):
        start = first[k]
        stop = start + (skip[k] - k + 1) // 2
        mean, axes = mean_and_axes(corners, order, start, stop, by_area)
        # The box belongs to the axes and the centre as stored.
        for i in range(9):
            obbs_out[k, i] = np.float32(axes[i])
        o = obbs_out[k]
        axes = (
            np.float64(o[0]), np.float64(o[1]), np.float64(o[2]), np.float64(o[3]), np.float64(o[4]), np.float64(o[5]),
            np.float64(o[6]), np.float64(o[7]), np.float64(o[8]),
        )  # fmt: skip
        low, high = extents(corners, order, start, stop, mean, axes)
        m = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2]))
        for i in range(3):
            obbs_out[k, 9 + i] = np.float32(mean[i] + m[0] * axes[i] + m[1] * axes[3 + i] + m[2] * axes[6 + i])
        low, high = extents(corners, order, start, stop, (np.float64(o[9]), np.float64(o[10]), np.float64(o[11])), axes)
        half = (max(high[0], -low[0]), max(high[1], -low[1]), max(high[2], -low[2]))
        # The axes are orthonormal to float32 only: this much makes slabs and box agree.
        skew = OBB_SKEW * (half[0] + half[1] + half[2])
        for i in range(3):
            obbs_out[k, 12 + i] = up32(half[i] + skew)
