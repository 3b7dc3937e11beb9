"""Moments of the area vectors below each node of a mesh's tree, for winding numbers (Barill et al. 2018, section 3)."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import kernel
from thud.bvh.mesh_tree import MeshTree
from thud.bvh.tolerances import WINDING_RADIUS
from thud.gates import Array


def winding_moments(tree: MeshTree, corners: Array) -> Array:
    """(K, 18) of each node: centre of area c, radius about it, sum of area vectors n, sum of n (x - c)^T (9, row-major),
    area, integral of |x - c|^2 over the area. `corners` (T, 9) in tree order."""
    moments = np.zeros((len(tree.skip), 18))
    fill_moments(tree.skip, tree.first, corners, moments)
    moments[:, 17] *= moments[:, 16]
    return moments


@kernel("i8[::1], i8[::1], f8[:,::1], f8[:,::1]")
def fill_moments(skip, first, corners, moments_out):
    """Sums over each node's triangles, from the leaves up; the radius by all corners below (O(T log T)). The last column gets
    the mean of |x - c|^2."""
    for k in range(skip.shape[0] - 1, -1, -1):
        m = moments_out[k]
        if skip[k] == k + 1:
            t = corners[first[k]]
            ux, uy, uz = t[3] - t[0], t[4] - t[1], t[5] - t[2]
            vx, vy, vz = t[6] - t[0], t[7] - t[1], t[8] - t[2]
            m[4], m[5], m[6] = 0.5 * (uy * vz - uz * vy), 0.5 * (uz * vx - ux * vz), 0.5 * (ux * vy - uy * vx)
            m[16] = math.sqrt(m[4] * m[4] + m[5] * m[5] + m[6] * m[6])
            edges2 = ux * ux + uy * uy + uz * uz + vx * vx + vy * vy + vz * vz
            wx, wy, wz = vx - ux, vy - uy, vz - uz
            m[17] = (edges2 + wx * wx + wy * wy + wz * wz) / 36.0
            for axis in range(3):
                m[axis] = (t[axis] + t[axis + 3] + t[axis + 6]) / 3.0
        else:
            left, right = moments_out[k + 1], moments_out[skip[k + 1]]
            m[16] = left[16] + right[16]
            share = left[16] / m[16] if m[16] > 0.0 else 0.5
            m[17] = share * left[17] + (1.0 - share) * right[17]
            for axis in range(3):
                m[17] += share * (1.0 - share) * (left[axis] - right[axis]) ** 2
                m[axis] = share * left[axis] + (1.0 - share) * right[axis]
                m[4 + axis] = left[4 + axis] + right[4 + axis]
            # Moved to the common centre.
            for row in range(3):
                for column in range(3):
                    m[7 + 3 * row + column] = (
                        left[7 + 3 * row + column]
                        + left[4 + row] * (left[column] - m[column])
                        + right[7 + 3 * row + column]
                        + right[4 + row] * (right[column] - m[column])
                    )
        radius2 = 0.0
        for t in range(first[k], first[k] + (skip[k] - k + 1) // 2):
            for corner in range(3):
                x = corners[t, 3 * corner] - m[0]
                y = corners[t, 3 * corner + 1] - m[1]
                z = corners[t, 3 * corner + 2] - m[2]
                radius2 = max(radius2, x * x + y * y + z * z)
        m[3] = math.sqrt(radius2) * WINDING_RADIUS
