"""The corners of a node's triangles that are farthest along many directions at once: the support mapping s_O, in bulk."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import kernel
from thud.gates import Array

U = np.uint64

#: So many corners back the same point is looked for, to be passed over (a count): that costs a tenth of a point's own work.
LOOK_BACK = 48


def farthest_corners(
    skip: Ints, first: Ints, corners: Array, nodes: Ints, slot: npt.NDArray[np.int32], directions: Floats
) -> Ints:
    """(S, D) row of the corner (3 a triangle, in tree order) farthest along each of D directions, below each of S nodes, which
    are the first levels of the tree from the root on (`first_levels`), slot being their inverse."""
    rows = np.empty((len(nodes), len(directions)), np.int64)
    along = np.empty((len(nodes), len(directions)))
    columns = [np.ascontiguousarray(directions[:, k]) for k in range(3)]
    farthest_rows(skip, first, corners.reshape(-1), nodes, slot, *columns, along, rows)
    return rows


def farthest_of_planes(skip: Ints, first: Ints, corners: Array, nodes: Ints, starts: Ints, normals: Floats) -> Ints:
    """(P,) row of the corner farthest along each of P normals, rows starts[s] .. starts[s + 1] of them below node nodes[s]."""
    rows = np.empty(len(normals), np.int64)
    columns = [np.ascontiguousarray(normals[:, k]) for k in range(3)]
    farthest_plane_rows(skip, first, corners.reshape(-1), nodes, starts, *columns, rows)
    return rows


@kernel(inner="f8[::1], i8, i8, f8[::1], f8[::1], f8[::1], f8[::1], i8[::1]")
def scan_corners(corners, start, stop, x, y, z, best, row):
    """Of corners start .. stop - 1 the one farthest along each direction, the first of equals."""
    count = x.shape[0]
    for d in range(U(count)):
        best[d] = -math.inf
    for c in range(start, stop):
        px, py, pz = corners[3 * c], corners[3 * c + 1], corners[3 * c + 2]
        # A triangle shares its corners with the ones before it.
        seen = False
        for e in range(max(start, c - LOOK_BACK), c):
            seen |= corners[3 * e] == px and corners[3 * e + 1] == py and corners[3 * e + 2] == pz
        if seen:
            continue
        for d in range(U(count)):
            a = x[d] * px + y[d] * py + z[d] * pz
            farther = a > best[d]
            best[d] = a if farther else best[d]
            row[d] = c if farther else row[d]


@kernel("i8[::1], i8[::1], f8[::1], i8[::1], i4[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], i8[:,::1]")
def farthest_rows(skip, first, corners, nodes, slot, x, y, z, along_out, rows_out):
    """`farthest_corners`, from the deepest nodes up: of a node that has children it is the farther one of theirs."""
    for s in range(nodes.shape[0] - 1, -1, -1):
        k = nodes[s]
        if skip[k] != k + 1 and slot[k + 1] >= 0:
            # Children come after their parent among the nodes, so theirs are there.
            left, right = slot[k + 1], slot[skip[k + 1]]
            for d in range(x.shape[0]):
                if along_out[right, d] > along_out[left, d]:
                    along_out[s, d], rows_out[s, d] = along_out[right, d], rows_out[right, d]
                else:
                    along_out[s, d], rows_out[s, d] = along_out[left, d], rows_out[left, d]
        else:
            start, stop = 3 * first[k], 3 * (first[k] + (skip[k] - k + 1) // 2)
            scan_corners(corners, start, stop, x, y, z, along_out[s], rows_out[s])


@kernel("i8[::1], i8[::1], f8[::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[::1], i8[::1]")
def farthest_plane_rows(skip, first, corners, nodes, starts, x, y, z, rows_out):
    """`farthest_of_planes`."""
    best = np.empty(x.shape[0])
    for s in range(nodes.shape[0]):
        k, p, q = nodes[s], starts[s], starts[s + 1]
        start, stop = 3 * first[k], 3 * (first[k] + (skip[k] - k + 1) // 2)
        scan_corners(corners, start, stop, x[p:q], y[p:q], z[p:q], best[p:q], rows_out[p:q])
