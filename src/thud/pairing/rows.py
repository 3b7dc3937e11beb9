"""Which shapes and poses each row of a batch compares: the row indices that all pair kernels share.

`pairs` holds shape indices, (M, 2) or one row for all. Poses belong to rows (one or N of them), or, with `by_shape`,
to shapes.
"""

from __future__ import annotations

from thud._core.decorators import device
from thud.math.pose import load_rotation, load_translation, relative_rotation, unrotate


@device
def row_of(array, i):
    """Row i, or the only row."""
    return i if array.shape[0] > 1 else 0


@device
def batch_row(rows, j):
    """Batch row of a kernel's row j: `rows` lists those that the kernel is for, or is empty for all."""
    return rows[j] if rows.shape[0] > 0 else j


@device
def pair_rows(pairs, poses_a, poses_b, by_shape, i):
    """(shape a, shape b, pose row a, pose row b) of batch row i."""
    k = row_of(pairs, i)
    a, b = pairs[k, 0], pairs[k, 1]
    if by_shape:
        return a, b, a, b
    return a, b, row_of(poses_a, i), row_of(poses_b, i)


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
    if not n[0] * n[0] + n[1] * n[1] + n[2] * n[2] > 1e-12:
        return fallback
    return n
