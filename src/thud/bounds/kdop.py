"""Discrete orientation polytopes (k-DOPs, Klosowski et al. 1998) of the nodes, in float32, rounded outward.

k / 2 fixed directions, not of unit length: the 3 axes (k = 6), with the 4 diagonals of a cube (14), with its 6 face
diagonals (18), with both (26). Layout of a row: k / 2 lower bounds of direction . x, then the k / 2 upper bounds, relative
to the mesh's origin; 4 k bytes a node. Fitted from the leaves up: O(k T).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud._core.decorators import exact_kernel
from thud.bounds.tolerances import KDOP_ROUNDOFF
from thud.errors import InvalidInputError
from thud.gates import Array

SIZES = (6, 14, 18, 26)

_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
_CORNERS = ((1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1))
_EDGES = ((1, 1, 0), (1, 0, 1), (0, 1, 1), (1, -1, 0), (1, 0, -1), (0, 1, -1))


@lru_cache(maxsize=8)
def directions(k: int) -> Array:
    """(k / 2, 3) the directions of a k-DOP; their opposites are the other half."""
    if k not in SIZES:
        raise InvalidInputError(f"k: expected one of {SIZES}, got {k!r}")
    rows = _AXES + {6: (), 14: _CORNERS, 18: _EDGES, 26: _CORNERS + _EDGES}[k]
    return np.array(rows, dtype=np.float64)  # writable, since kernels take no other


@lru_cache(maxsize=8)
def cones(k: int) -> tuple[Ints, Array]:
    """The cones of three neighbouring directions into which all of space falls: what Zachmann (1998) needs to turn a k-DOP.

    Returns (2 k - 4, 3) rows of the k signed directions (those of `directions`, then their opposites), and (2 k - 4, 9) the
    matrix that gives the three weights of a vector in each cone (all of them >= 0 if it is in the cone).
    """
    from scipy.spatial import ConvexHull

    signed = np.concatenate([directions(k), -directions(k)])
    # The hull of the unit directions is dual to the k-DOP of a sphere: its triangles are that k-DOP's vertices.
    unit = signed / np.linalg.norm(signed, axis=1)[:, None]
    triples = np.sort(ConvexHull(unit).simplices.astype(np.int64), axis=1)
    triples = triples[np.lexsort(triples.T[::-1])]
    matrices = np.linalg.inv(np.swapaxes(signed[triples], 1, 2)).reshape(-1, 9)
    return np.ascontiguousarray(triples), np.ascontiguousarray(matrices)


def node_kdops(skip: Ints, first: Ints, corners: Array, k: int = 18) -> npt.NDArray[np.float32]:
    """(K, k) float32 k-DOPs of the nodes of a `MeshTree`; `corners` (T, 9) in tree order."""
    kdops = np.empty((len(skip), k))
    fit_kdops(skip, first, corners, directions(k), kdops)
    half = k // 2
    rounded = kdops.astype(np.float32)
    rounded[:, :half] = np.nextafter(rounded[:, :half], np.float32(-np.inf))
    rounded[:, half:] = np.nextafter(rounded[:, half:], np.float32(np.inf))
    return rounded


@exact_kernel("i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1]")
def fit_kdops(skip, first, corners, axes, kdops_out):
    """k-DOPs from the leaves up, in float64, each bound moved outward by the roundoff of its sum."""
    half = axes.shape[0]
    for k in range(skip.shape[0] - 1, -1, -1):
        left, right, t = k + 1, 0, first[k]
        if skip[k] != k + 1:
            right = skip[k + 1]
        for d in range(half):
            if skip[k] != k + 1:
                kdops_out[k, d] = min(kdops_out[left, d], kdops_out[right, d])
                kdops_out[k, half + d] = max(kdops_out[left, half + d], kdops_out[right, half + d])
                continue
            low, high = np.inf, -np.inf
            for c in range(0, 9, 3):
                x, y, z = corners[t, c] * axes[d, 0], corners[t, c + 1] * axes[d, 1], corners[t, c + 2] * axes[d, 2]
                s = x + y + z
                # Two additions: at most two roundoffs of the terms' sum.
                error = KDOP_ROUNDOFF * (abs(x) + abs(y) + abs(z))
                low, high = min(low, s - error), max(high, s + error)
            kdops_out[k, d], kdops_out[k, half + d] = low, high
