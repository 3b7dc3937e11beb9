"""What all pair kernels share: which shapes and poses each row of a batch compares, and the arrays that answers go to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device
from thud.math.pose import load_rotation, load_translation, relative_rotation, unrotate
from thud.pairing.tolerances import AXIS_LEAST
from thud.results import Distances, Impacts
from thud.shapes.packed import PART_START, Packed


class PairBatch(NamedTuple):
    """What rows of pairs compare."""

    packed: Packed
    pairs: Ints
    """(M, 2) shapes of each row, or one row for all."""
    poses_a: Floats
    poses_b: Floats
    """(N, 12) or (1, 12): of each row, or of each shape in each configuration."""
    by_shape: int
    """0 if poses belong to rows; else the number of shapes, of which each configuration has all. Rows are then the pairs of the
    first configuration, those of the second, and so on."""


class DistanceFields(NamedTuple):
    """The arrays of `Distances` as kernels write them."""

    distance: Floats
    point_a: Floats
    point_b: Floats
    normal: Floats
    status: npt.NDArray[np.uint8]


class ImpactFields(NamedTuple):
    """The arrays of `Impacts` as kernels write them."""

    time: Floats
    point: Floats
    normal: Floats
    status: npt.NDArray[np.uint8]


def distance_fields(out: Distances) -> DistanceFields:
    """Of a result."""
    return DistanceFields(out.distance, out.point_a, out.point_b, out.normal, out.status)


def impact_fields(out: Impacts) -> ImpactFields:
    """Of a result."""
    return ImpactFields(out.time, out.point, out.normal, out.status)


@device
def row_of(array, i):
    """Row i, or the only row."""
    return i if array.shape[0] > 1 else 0


@device
def batch_row(rows, j):
    """Batch row of a kernel's row j: `rows` lists those that the kernel is for, or is empty for all."""
    return rows[j] if rows.shape[0] > 0 else j


@device
def pair_rows(batch, i):
    """(shape a, shape b, pose row a, pose row b) of batch row i."""
    if batch.by_shape:
        k, first = i, 0
        if i >= batch.pairs.shape[0]:
            configuration = i // batch.pairs.shape[0]
            k, first = i - configuration * batch.pairs.shape[0], configuration * batch.by_shape
        a, b = batch.pairs[k, 0], batch.pairs[k, 1]
        return a, b, first + a, first + b
    k = row_of(batch.pairs, i)
    return batch.pairs[k, 0], batch.pairs[k, 1], row_of(batch.poses_a, i), row_of(batch.poses_b, i)


@device
def placed_shapes(batch, i):
    """(shape a, shape b, pose row a, pose of B in A's frame) of batch row i."""
    shape_a, shape_b, row_a, row_b = pair_rows(batch, i)
    return shape_a, shape_b, row_a, relative_pose(batch.poses_a, row_a, batch.poses_b, row_b)


@device
def placed_parts(batch, i):
    """(part a, part b, pose row a, pose of B in A's frame) of batch row i, whose shapes have one part each."""
    shape_a, shape_b, row_a, pose = placed_shapes(batch, i)
    starts = batch.packed.shape_ints
    return starts[shape_a, PART_START], starts[shape_b, PART_START], row_a, pose


@device
def relative_pose(poses_a, row_a, poses_b, row_b):
    """Pose of B in A's frame: (rotation, translation)."""
    ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
    rb, tb = load_rotation(poses_b, row_b), load_translation(poses_b, row_b)
    return relative_rotation(ra, rb), unrotate(ra, (tb[0] - ta[0], tb[1] - ta[1], tb[2] - ta[2]))


@device
def first_axis(axes, i, poses_a, row_a, fallback):
    """The caller's cached normal from A to B (world) as a search direction from B to A in A's frame, else `fallback`."""
    if axes.shape[0] == 0:
        return fallback
    k = row_of(axes, i)
    n = unrotate(load_rotation(poses_a, row_a), (-axes[k, 0], -axes[k, 1], -axes[k, 2]))
    # A normal has length 1, or 0 where there was none; anything far from 1 is no direction to trust.
    if not n[0] * n[0] + n[1] * n[1] + n[2] * n[2] > AXIS_LEAST:
        return fallback
    return n
