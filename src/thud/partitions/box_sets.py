"""Sets of boxes, rows of lower and upper corners."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import as_points


def as_boxes(lower: npt.ArrayLike, upper: npt.ArrayLike) -> Floats:
    """(N, 6) finite boxes, at least one, of (3,) or (N, 3) corners; or a named error."""
    _refuse_endless(lower, upper)
    low, high = as_points(lower, "lower"), as_points(upper, "upper")
    if len(low) != len(high):
        raise InvalidInputError(f"upper: expected as many rows as lower has, {len(low)}, got {len(high)}")
    if len(low) == 0:
        raise InvalidInputError("lower: expected at least one box, (N, 3) lower corners")
    wrong = (low > high).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInputError(f"lower: row {row} lies above `upper` ({low[row]}, {high[row]})")
    return np.concatenate([low, high], axis=1)


def _refuse_endless(*corners: npt.ArrayLike) -> None:
    """`World.bounds` gives half-spaces boxes without end."""
    for corner in corners:
        if isinstance(corner, np.ndarray) and corner.ndim == 2 and corner.dtype == np.float64:
            rows = np.flatnonzero((np.abs(corner) == np.finfo(np.float64).max).any(axis=1))
            if len(rows):
                raise InvalidInputError(
                    f"lower, upper: row {rows[0]} is a box without end, as of a HalfSpace; leave it out, such as by"
                    " world.bounds(handles)"
                )


def as_box(lower: npt.ArrayLike, upper: npt.ArrayLike) -> Floats:
    """(1, 6) one box."""
    box = as_boxes(lower, upper)
    if len(box) != 1:
        raise InvalidInputError(f"lower: expected one box, (3,) corners, got {len(box)} rows")
    return box


def boxes_meet(a: Floats, b: Floats) -> Bools:
    """Whether boxes (..., 6) overlap or touch."""
    return np.asarray(((a[..., :3] <= b[..., 3:]) & (b[..., :3] <= a[..., 3:])).all(axis=-1))


def pairs_within(bounds: Floats, groups: list[Ints]) -> Ints:
    """(M, 2) sorted pairs of boxes of one group that overlap, each once."""
    found = [np.empty((0, 2), np.int64)]
    for own in groups:
        i, j = np.triu_indices(len(own), 1)
        meet = boxes_meet(bounds[own[i]], bounds[own[j]])
        found.append(np.stack([np.minimum(own[i], own[j])[meet], np.maximum(own[i], own[j])[meet]], axis=1))
    return np.unique(np.concatenate(found), axis=0)
