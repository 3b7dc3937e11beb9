"""Axis-aligned boxes of the nodes, as centre and half extents in float32, rounded outward.

Boxes are stored relative to `origin`, the middle of the mesh, so that a mesh far from its frame's origin loses nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._jit import exact_kernel
from thud.gates import Array

Ints = npt.NDArray[np.int64]


def triangle_boxes(corners: Array) -> tuple[Array, Array]:
    """(T, 3) lower and upper corners of (T, 9) triangles."""
    points = corners.reshape(-1, 3, 3)
    return points.min(axis=1), points.max(axis=1)


def node_boxes(skip: Ints, first: Ints, corners: Array) -> Array:
    """(K, 6) lower and upper corner of each node of a `MeshTree`, float64; `corners` (T, 9) in tree order."""
    boxes = np.empty((len(skip), 6))
    fit_boxes(skip, first, corners, boxes)
    return boxes


def outward_boxes(boxes: Array) -> npt.NDArray[np.float32]:
    """(K, 6) centre and half extents in float32 that hold the float64 boxes (K, 6) of lower and upper corners."""
    center = (0.5 * (boxes[:, :3] + boxes[:, 3:])).astype(np.float32)
    wide = center.astype(np.float64)
    half = np.maximum(boxes[:, 3:] - wide, wide - boxes[:, :3])
    # One step up in float32 is more than the roundoff of the difference above.
    half32 = np.nextafter(np.maximum(half.astype(np.float32), np.finfo(np.float32).tiny), np.float32(np.inf))
    return np.ascontiguousarray(np.concatenate([center, half32], axis=1))


@exact_kernel("i8[::1], i8[::1], f8[:,::1], f8[:,::1]")
def fit_boxes(skip, first, corners, boxes_out):
    """Boxes from the leaves up: children come after their parent, so one pass backward does."""
    for k in range(skip.shape[0] - 1, -1, -1):
        if skip[k] == k + 1:
            t = first[k]
            for axis in range(3):
                a, b, c = corners[t, axis], corners[t, axis + 3], corners[t, axis + 6]
                boxes_out[k, axis], boxes_out[k, axis + 3] = min(a, min(b, c)), max(a, max(b, c))
        else:
            left, right = k + 1, skip[k + 1]
            for axis in range(3):
                boxes_out[k, axis] = min(boxes_out[left, axis], boxes_out[right, axis])
                boxes_out[k, axis + 3] = max(boxes_out[left, axis + 3], boxes_out[right, axis + 3])
