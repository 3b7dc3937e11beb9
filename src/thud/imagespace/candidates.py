"""Pairs whose boxes overlap, and where."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError


def box_pairs(boxes: Floats) -> Ints:
    """(M, 2) pairs of boxes that overlap, the lower first, sorted."""
    from thud.bvh.morton_tree import boxes_in_tree, build_morton_tree

    if len(boxes) < 2:
        return np.empty((0, 2), np.int64)
    places, second = boxes_in_tree(build_morton_tree(boxes), boxes)
    first = np.repeat(np.arange(len(boxes)), np.diff(places))
    pairs = np.column_stack([first, second])[first < second]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def overlap_boxes(boxes: Floats, pairs: Ints) -> Floats:
    """(M, 6) boxes that both boxes of a pair hold."""
    a, b = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    return np.concatenate([np.maximum(a[:, :3], b[:, :3]), np.minimum(a[:, 3:], b[:, 3:])], axis=1)


def pair_keys(pairs: Any, count: int, name: str = "pairs") -> Ints:
    """The pairs as numbers, the lower object first."""
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInputError(f"{name}: expected (M, 2) whole numbers, got {rows.dtype} of shape {rows.shape}")
    wrong = ((rows < 0) | (rows >= count)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"{name}: row {row} is {rows[row].tolist()}; expected numbers from 0 to {count - 1}")
    rows = rows.astype(np.int64)
    return rows.min(axis=1) * count + rows.max(axis=1)
