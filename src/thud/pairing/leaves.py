"""Compounds taken apart: their leaves, and poses of leaves."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.pairing.families import COMPOUND
from thud.pose import Pose
from thud.shapes.shape import IDENTITY, Shape

#: A shape that is no compound, and its (12,) pose in the shape that it was taken from.
Leaf = tuple[Shape, Floats]


def leaves(shape: Shape, pose: Floats = IDENTITY) -> list[Leaf]:
    """What a shape is made of, in order; one that is no compound is its own leaf."""
    if shape.family not in COMPOUND:
        return [(shape, pose)]
    result: list[Leaf] = []
    for part, row in zip(shape.shapes, shape.poses.rows, strict=True):  # type: ignore[attr-defined]
        result += leaves(part, (Pose.from_rows(pose) @ Pose.from_rows(row)).rows[0])
    return result


def placed(rows: Floats, pose: Floats) -> Floats:
    """Poses of a leaf for (N, 12) poses of its shape."""
    if pose is IDENTITY:
        return rows
    return np.ascontiguousarray((Pose.from_rows(rows) @ Pose.from_rows(pose)).rows)


def some_rows(rows: Floats, chosen: Ints, count: int) -> Floats:
    """The chosen ones of `count` rows, of which there may be one for all."""
    return rows if len(rows) == 1 or len(chosen) == count else np.ascontiguousarray(rows[chosen])
