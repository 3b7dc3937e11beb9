"""Axis-aligned boxes of the nodes, as centre and half extents in float32, rounded outward.

Boxes are stored relative to `origin`, the middle of the mesh, so that a mesh far from its frame's origin loses nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints, writable
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.bounds.upward import fit_upward
from thud.gates import Array

#: Triangles whose corners are gathered at a time.
_ROWS = 65536

_TINY, _INFINITE = np.finfo(np.float32).tiny, np.float32(np.inf)


def node_boxes(skip: Ints, first: Ints, corners: Array) -> Array:
    """(K, 6) lower and upper corner of each node of a `MeshTree`, float64; `corners` (T, 9) in tree order."""
    boxes = np.empty((len(skip), 6))
    fit_upward(fit_boxes, skip, first, corners, boxes)
    return boxes


def outward_boxes(boxes: Array) -> npt.NDArray[np.float32]:
    """(K, 6) centre and half extents in float32 that hold the float64 boxes (K, 6) of lower and upper corners."""
    out = np.empty(boxes.shape, dtype=np.float32)
    outward_rows(boxes, out)
    return out


def ordered_corners(vertices: Array, faces: Ints, order: Ints, origin: Array) -> Array:
    """(T, 9) the corners of triangles in the given order, relative to `origin`."""
    out = np.empty((len(order), 9))
    run_rows(corner_rows, len(order), None, writable(vertices), writable(faces), order, origin, out, rows_per_chunk=_ROWS)
    return out


def used_box(vertices: Array, faces: Ints) -> tuple[Array, Array]:
    """Lower and upper corner of the triangles, whatever other vertices there are."""
    box = np.concatenate([np.full(3, np.inf), np.full(3, -np.inf)])
    grow_by_faces(writable(vertices), writable(faces), box)
    return box[:3], box[3:]


def outward_corners(skip: Ints, first: Ints, corners: Array) -> npt.NDArray[np.float32]:
    """(K, 6) lower and upper corner of each node in float32, rounded outward; `corners` (T, 9) in tree order."""
    out = np.empty((len(skip), 6), dtype=np.float32)
    fit_upward(fit_outward, skip, first, corners, out)
    return out


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], i8[::1], f8[::1], f8[:,::1]")
def corner_rows(start, stop, vertices, faces, order, origin, corners_out):
    """Corners in tree order."""
    for k in range(start, stop):
        for corner in range(3):
            v = faces[order[k], corner]
            for axis in range(3):
                corners_out[k, 3 * corner + axis] = vertices[v, axis] - origin[axis]


@exact_kernel("f8[:,::1], f4[:,::1]")
def outward_rows(boxes, out):
    """Centre and half extents in float32 that hold each box."""
    for k in range(boxes.shape[0]):
        for axis in range(3):
            lower, upper = boxes[k, axis], boxes[k, 3 + axis]
            center = np.float32(0.5 * (lower + upper))
            wide = np.float64(center)
            half = np.float32(max(upper - wide, wide - lower))
            out[k, axis] = center
            # One step up in float32 is more than the roundoff of the difference above.
            out[k, 3 + axis] = np.nextafter(max(half, _TINY), _INFINITE)


@exact_kernel("i8, i8, i8[:,::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1]")
def fit_boxes(begin, end, ranges, skip, first, corners, boxes_out):
    """Boxes of ranges of nodes (`upward.py`)."""
    for row in range(begin, end):
        for k in range(ranges[row, 1] - 1, ranges[row, 0] - 1, -1):
            if skip[k] == k + 1:
                t = first[k]
                for axis in range(3):
                    a, b, c = corners[t, axis], corners[t, axis + 3], corners[t, axis + 6]
                    boxes_out[k, axis], boxes_out[k, axis + 3] = min(a, min(b, c)), max(a, max(b, c))
            else:
                join_boxes(boxes_out, k, skip)


@exact_device
def join_boxes(boxes, k, skip):
    """Box of an inner node from those of its children."""
    left, right = k + 1, skip[k + 1]
    for axis in range(3):
        boxes[k, axis] = min(boxes[left, axis], boxes[right, axis])
        boxes[k, axis + 3] = max(boxes[left, axis + 3], boxes[right, axis + 3])


@exact_kernel("f8[:,::1], i8[:,::1], f8[::1]")
def grow_by_faces(vertices, faces, box):
    """Grow a box by all corners."""
    for t in range(faces.shape[0]):
        for corner in range(3):
            v = faces[t, corner]
            for axis in range(3):
                box[axis], box[3 + axis] = min(box[axis], vertices[v, axis]), max(box[3 + axis], vertices[v, axis])


@exact_kernel("i8, i8, i8[:,::1], i8[::1], i8[::1], f8[:,::1], f4[:,::1]")
def fit_outward(begin, end, ranges, skip, first, corners, boxes_out):
    """The same in float32."""
    for row in range(begin, end):
        for k in range(ranges[row, 1] - 1, ranges[row, 0] - 1, -1):
            if skip[k] == k + 1:
                t = first[k]
                for axis in range(3):
                    a, b, c = corners[t, axis], corners[t, axis + 3], corners[t, axis + 6]
                    low, high = min(a, min(b, c)), max(a, max(b, c))
                    lower, upper = np.float32(low), np.float32(high)
                    boxes_out[k, axis] = lower if np.float64(lower) <= low else np.nextafter(lower, -_INFINITE)
                    boxes_out[k, axis + 3] = upper if np.float64(upper) >= high else np.nextafter(upper, _INFINITE)
            else:
                join_boxes(boxes_out, k, skip)
