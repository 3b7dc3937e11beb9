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
from thud.bounds.tolerances import OBB_FLAT, OBB_NOWHERE, OBB_SKEW
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
    run_rows(obb_rows, len(skip), threads, skip, first, corners, np.arange(len(corners)), int(weights == "area"), obbs)
    return obbs


def slot_obbs(
    node: npt.NDArray[np.int32], skip: Ints, first: Ints, corners: Array, weights: str = "vertices", threads: int | None = None
) -> npt.NDArray[np.float32]:
    """The boxes of the nodes in the slots of an 8-wide tree: flat, 15 rows of 8 lanes a wide node. That of an empty lane (node
    -1) is out of every reach; that of one triangle lies along its longest side."""
    out = np.empty(15 * len(node), dtype=np.float32)
    arguments = (node, skip, first, corners, np.arange(len(corners)), int(weights == "area"), out)
    run_rows(slot_rows, len(node), threads, *arguments)
    return out


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


@exact_device
def triangle_axes(corners, t):
    """(mean, axes as rows) of a triangle: the first along its longest side, the third along its normal; without an area,
    any that are orthonormal."""
    p, q, r = load3(corners, t, 0), load3(corners, t, 3), load3(corners, t, 6)
    mean = ((p[0] + q[0] + r[0]) / 3.0, (p[1] + q[1] + r[1]) / 3.0, (p[2] + q[2] + r[2]) / 3.0)
    a, b, c = sub(q, p), sub(r, q), sub(p, r)
    a2, b2, c2 = norm2(a), norm2(b), norm2(c)
    longest = a if a2 >= b2 and a2 >= c2 else (b if b2 >= c2 else c)
    n, length = cross(a, b), math.sqrt(max(a2, max(b2, c2)))
    height = math.sqrt(norm2(n))
    if not height > OBB_FLAT * length * length:
        n = cross(longest, least_axis(longest))
        height = math.sqrt(norm2(n))
    if not (height > 0.0 and length > 0.0):
        return mean, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    u = (longest[0] / length, longest[1] / length, longest[2] / length)
    w = (n[0] / height, n[1] / height, n[2] / height)
    v = cross(w, u)
    return mean, (u[0], u[1], u[2], v[0], v[1], v[2], w[0], w[1], w[2])


@exact_device
def least_axis(v):
    """The unit vector along the coordinate in which v is least."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    if x <= y and x <= z:
        return 1.0, 0.0, 0.0
    return (0.0, 1.0, 0.0) if y <= z else (0.0, 0.0, 1.0)


@exact_device
def put_obb(corners, order, start, stop, mean, axes, base, stride, out):
    """Write the box along `axes` of triangles order[start .. stop]: number i to out[base + i * stride]."""
    # The box belongs to the axes and the centre as stored.
    for i in range(9):
        out[base + i * stride] = np.float32(axes[i])
    axes = (
        np.float64(np.float32(axes[0])), np.float64(np.float32(axes[1])), np.float64(np.float32(axes[2])),
        np.float64(np.float32(axes[3])), np.float64(np.float32(axes[4])), np.float64(np.float32(axes[5])),
        np.float64(np.float32(axes[6])), np.float64(np.float32(axes[7])), np.float64(np.float32(axes[8])),
    )  # fmt: skip
    low, high = extents(corners, order, start, stop, mean, axes)
    m = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2]))
    for i in range(3):
        out[base + (9 + i) * stride] = np.float32(mean[i] + m[0] * axes[i] + m[1] * axes[3 + i] + m[2] * axes[6 + i])
    center = (
        np.float64(out[base + 9 * stride]), np.float64(out[base + 10 * stride]), np.float64(out[base + 11 * stride]),
    )  # fmt: skip
    low, high = extents(corners, order, start, stop, center, axes)
    half = (max(high[0], -low[0]), max(high[1], -low[1]), max(high[2], -low[2]))
    # The axes are orthonormal to float32 only: this much makes slabs and box agree.
    skew = OBB_SKEW * (half[0] + half[1] + half[2])
    for i in range(3):
        out[base + (12 + i) * stride] = up32(half[i] + skew)


@exact_kernel("i8, i8, i8[::1], i8[::1], f8[:,::1], i8[::1], i8, f4[:,::1]")
def obb_rows(begin, end, skip, first, corners, order, by_area, obbs_out):
    """Boxes of nodes begin .. end; the corners are in tree order already, so `order` is 0, 1, 2, ..."""
    flat = obbs_out.reshape(-1)
    for k in range(begin, end):
        start = first[k]
        stop = start + (skip[k] - k + 1) // 2
        mean, axes = mean_and_axes(corners, order, start, stop, by_area)
        put_obb(corners, order, start, stop, mean, axes, 15 * k, 1, flat)


@exact_kernel("i8, i8, i4[::1], i8[::1], i8[::1], f8[:,::1], i8[::1], i8, f4[::1]")
def slot_rows(begin, end, node, skip, first, corners, order, by_area, out):
    """Boxes of slots begin .. end, see `slot_obbs`."""
    for slot in range(begin, end):
        k, base = node[slot], slot // 8 * 120 + slot % 8
        if k < 0:
            for i in range(15):
                out[base + 8 * i] = np.float32(1.0 if i % 4 == 0 and i < 9 else (OBB_NOWHERE if 9 <= i < 12 else 0.0))
            continue
        start = first[k]
        stop = start + (skip[k] - k + 1) // 2
        mean, axes = triangle_axes(corners, start) if stop == start + 1 else mean_and_axes(corners, order, start, stop, by_area)
        put_obb(corners, order, start, stop, mean, axes, base, 8, out)
