"""The smallest sphere about the triangles of each node, in float32, rounded outward.

The sphere through a few support points grows by the farthest point until none is outside (pivoting: Gaertner 1999, "Fast
and robust smallest enclosing balls"). It is the smallest one to roundoff, where the centroid with the farthest vertex is
10 to 30 % too wide. Layout of a row: centre x, y, z and radius, relative to the mesh's origin; 16 bytes a node. Every node
reads its own triangles some 5 to 10 times: O(T log T) for a tree over T triangles, 0.1 s for 17,000.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.bounds.rounding import up32
from thud.bounds.tolerances import SPHERE_GAP, SPHERE_PIVOTS, SPHERE_SLIVER
from thud.gates import Array
from thud.geometry.exact_vec3 import add_scaled, cross, dot, load3, norm2, sub


def node_spheres(skip: Ints, first: Ints, corners: Array, threads: int | None = None) -> npt.NDArray[np.float32]:
    """(K, 4) float32 spheres of the nodes of a `MeshTree`; `corners` (T, 9) in tree order."""
    spheres = np.empty((len(skip), 4), dtype=np.float32)
    run_rows(sphere_rows, len(skip), threads, skip, first, corners, spheres)
    return spheres


@exact_device
def _sphere_of_two(a, b):
    """(centre, squared radius)."""
    d = sub(b, a)
    return add_scaled(a, d, 0.5), 0.25 * norm2(d)


@exact_device
def _sphere_of_three(a, b, c):
    """The smallest sphere through three points: (centre, squared radius), the radius negative where they are on a line."""
    u, v = sub(b, a), sub(c, a)
    w = cross(u, v)
    area2, uu, vv = norm2(w), norm2(u), norm2(v)
    if area2 <= SPHERE_SLIVER * uu * vv:
        return a, -1.0
    p, q = cross(v, w), cross(w, u)
    f, g = 0.5 * uu / area2, 0.5 * vv / area2
    d = (f * p[0] + g * q[0], f * p[1] + g * q[1], f * p[2] + g * q[2])
    return (a[0] + d[0], a[1] + d[1], a[2] + d[2]), norm2(d)


@exact_device
def _sphere_of_four(a, b, c, d):
    """The sphere through four points: (centre, squared radius), the radius negative where they are in a plane."""
    u, v, w = sub(b, a), sub(c, a), sub(d, a)
    p, q, r = cross(v, w), cross(w, u), cross(u, v)
    volume = dot(u, p)
    uu, vv, ww = norm2(u), norm2(v), norm2(w)
    if volume * volume <= SPHERE_SLIVER * uu * vv * ww:
        return a, -1.0
    s = 0.5 / volume
    e = (
        s * (uu * p[0] + vv * q[0] + ww * r[0]),
        s * (uu * p[1] + vv * q[1] + ww * r[1]),
        s * (uu * p[2] + vv * q[2] + ww * r[2]),
    )
    return (a[0] + e[0], a[1] + e[1], a[2] + e[2]), norm2(e)


@exact_device
def _holds(center, radius2, support, count):
    """Whether all support points are in the sphere, with a tolerance for those on it."""
    for i in range(count):  # noqa: SIM110 (a kernel)
        if norm2(sub(load3(support, i, 0), center)) > radius2 * (1.0 + 16.0 * SPHERE_GAP):
            return False
    return True


@exact_kernel(inner="f8[:,::1], i8")
def _grow_support(support, count):
    """(centre, squared radius, points) of the smallest sphere about the `count` <= 5 points of `support` that has the last on
    it. The points it passes through come first in `support`. Negative radius: none was found."""
    last = load3(support, count - 1, 0)
    best_center, best = last, -1.0
    size, keep_i, keep_j, keep_k = 1, 0, 0, 0
    for i in range(count - 1):
        p = load3(support, i, 0)
        center, radius2 = _sphere_of_two(last, p)
        if (best < 0.0 or radius2 < best) and _holds(center, radius2, support, count):
            best_center, best, size, keep_i = center, radius2, 2, i
        for j in range(i):
            q = load3(support, j, 0)
            center, radius2 = _sphere_of_three(last, p, q)
            if radius2 >= 0.0 and (best < 0.0 or radius2 < best) and _holds(center, radius2, support, count):
                best_center, best, size, keep_i, keep_j = center, radius2, 3, i, j
            for k in range(j):
                center, radius2 = _sphere_of_four(last, p, q, load3(support, k, 0))
                if radius2 >= 0.0 and (best < 0.0 or radius2 < best) and _holds(center, radius2, support, count):
                    best_center, best, size, keep_i, keep_j, keep_k = center, radius2, 4, i, j, k
    p, q, r = load3(support, keep_i, 0), load3(support, keep_j, 0), load3(support, keep_k, 0)
    for axis in range(3):
        support[0, axis] = last[axis]
        support[1, axis], support[2, axis], support[3, axis] = p[axis], q[axis], r[axis]
    return best_center, best, size


@exact_device
def _farthest(corners, start, stop, center):
    """(squared distance, row, column) of the corner of triangles start .. stop farthest from `center`."""
    best, row, column = -1.0, start, 0
    for t in range(start, stop):
        for c in range(0, 9, 3):
            d2 = norm2(sub(load3(corners, t, c), center))
            if d2 > best:
                best, row, column = d2, t, c
    return best, row, column


@exact_kernel(inner="f8[:,::1], i8, i8, f8[:,::1]")
def smallest_sphere(corners, start, stop, support):
    """Centre of the smallest sphere about triangles start .. stop; `support` (5, 3) is work space."""
    # Two points far from each other, as Ritter starts.
    _, row, column = _farthest(corners, start, stop, load3(corners, start, 0))
    p = load3(corners, row, column)
    _, row, column = _farthest(corners, start, stop, p)
    q = load3(corners, row, column)
    for axis in range(3):
        support[0, axis], support[1, axis] = p[axis], q[axis]
    center, radius2 = _sphere_of_two(p, q)
    count, best_center, best = 2, center, math.inf
    for _ in range(SPHERE_PIVOTS):
        d2, row, column = _farthest(corners, start, stop, center)
        if d2 < best:
            best_center, best = center, d2
        if d2 <= radius2 * (1.0 + SPHERE_GAP):
            break
        p = load3(corners, row, column)
        support[count, 0], support[count, 1], support[count, 2] = p
        grown, grown2, size = _grow_support(support, count + 1)
        if not grown2 > radius2:
            break
        center, radius2, count = grown, grown2, size
    return best_center


@exact_kernel("i8, i8, i8[::1], i8[::1], f8[:,::1], f4[:,::1]")
def sphere_rows(begin, end, skip, first, corners, spheres_out):
    """Spheres of nodes begin .. end."""
    support = np.empty((5, 3))
    for k in range(begin, end):
        start = first[k]
        stop = start + (skip[k] - k + 1) // 2
        center = smallest_sphere(corners, start, stop, support)
        for axis in range(3):
            spheres_out[k, axis] = np.float32(center[axis])
        # About the rounded centre, the radius is what the farthest corner needs.
        center = (np.float64(spheres_out[k, 0]), np.float64(spheres_out[k, 1]), np.float64(spheres_out[k, 2]))
        spheres_out[k, 3] = up32(math.sqrt(_farthest(corners, start, stop, center)[0]))


@exact_kernel("i8, i8, i8[::1], f8[:,::1], f8[:,::1]")
def fit_spheres(begin, end, first, corners, spheres_out):
    """Centre and radius, in float64, of the spheres about triangles first[k] .. first[k + 1]."""
    support = np.empty((5, 3))
    for k in range(begin, end):
        start, stop = first[k], first[k + 1]
        center = smallest_sphere(corners, start, stop, support)
        spheres_out[k, 0], spheres_out[k, 1], spheres_out[k, 2] = center
        spheres_out[k, 3] = math.sqrt(_farthest(corners, start, stop, center)[0])
