"""Leaves of a hierarchy (5.2.2): only the portions of meshes in leaves that overlap another mesh's are looked at.

Triangles in Morton order, a run of them a leaf with a box; a tree over all leaves' boxes finds those that overlap. Where two
surfaces cross, the edges that cross are in such leaves. An object inside another has none: those pairs are looked at inward.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.imagespace.candidates import box_pairs, overlap_boxes
from thud.imagespace.scene import Scene

#: Bits of a Morton code, an axis.
_BITS = 10


def checked_leaves(leaves: Any) -> None:
    """A named error unless it is a number of triangles or None."""
    if leaves is None:
        return
    if isinstance(leaves, bool) or not isinstance(leaves, (int, np.integer)) or leaves < 1:
        raise InvalidInputError(f"leaves: expected a whole number of triangles of at least 1, or None, got {leaves!r}")


def make_leaves(scene: Scene, size: int) -> tuple[Floats, Ints, Ints, Ints]:
    """(L, 6) boxes of leaves of up to `size` triangles, the object of each, (T,) triangles leaf by leaf, and where each leaf
    begins in these."""
    corners = scene.vertices[scene.triangles]
    counts = np.diff(scene.triangle_starts)
    owner = np.repeat(np.arange(scene.count), counts)
    lower, extent = scene.boxes[owner, :3], np.maximum(scene.boxes[owner, 3:] - scene.boxes[owner, :3], 1e-300)
    cells = np.minimum((corners.mean(axis=1) - lower) / extent * 2**_BITS, 2**_BITS - 1).astype(np.int64)
    code = np.zeros(len(cells), np.int64)
    for bit in range(_BITS):
        for axis in range(3):
            code |= ((np.maximum(cells[:, axis], 0) >> bit) & 1) << (3 * bit + axis)
    order = np.lexsort((code, owner))
    # A leaf begins at each object's first triangle, and after every `size` of them.
    place = np.arange(len(order)) - scene.triangle_starts[owner]
    starts = np.flatnonzero(place % size == 0)
    if not len(starts):
        return np.empty((0, 6)), np.empty(0, np.int64), order, starts
    low = np.minimum.reduceat(corners.min(axis=1)[order], starts, axis=0)
    high = np.maximum.reduceat(corners.max(axis=1)[order], starts, axis=0)
    return np.concatenate([low, high], axis=1), owner[starts], order, starts


def meeting_leaves(scene: Scene, pairs: Ints, size: int) -> tuple[Scene, Floats]:
    """The scene with only those of its edges that are in leaves which overlap a leaf of another object, of those in (M, 2)
    pairs; and (K, 6) where leaves overlap."""
    boxes, owner, order, starts = make_leaves(scene, size)
    both = box_pairs(boxes)
    a, b = owner[both[:, 0]], owner[both[:, 1]]
    wanted = pairs.min(axis=1) * scene.count + pairs.max(axis=1)
    both = both[(a != b) & np.isin(np.minimum(a, b) * scene.count + np.maximum(a, b), wanted)]
    met = np.zeros(len(boxes), bool)
    met[both] = True
    leaf = np.empty(len(order), np.int64)
    leaf[order] = np.repeat(np.arange(len(boxes)), np.diff([*starts, len(order)]))
    marked = np.zeros(len(scene.vertices), bool)
    marked[scene.triangles[met[leaf]]] = True
    kept = marked[scene.edges].all(axis=1)
    left = np.concatenate([[0], np.cumsum(kept)])
    return replace(scene, edges=scene.edges[kept], edge_starts=left[scene.edge_starts]), overlap_boxes(boxes, both)
