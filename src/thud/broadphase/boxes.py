"""What every broad phase takes: axis-aligned boxes, and the rules of who may meet whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError

#: Columns of `Boxes.rules`: the layer as a bit, the mask of layers it meets, 1 for static.
LAYER, MASK, STATIC = 0, 1, 2
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

#: Where an unbounded box ends: at the largest number, so that it does not reach what is not there, at infinity.
FARTHEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """N boxes in world coordinates. A row that is not there has lower +inf and upper -inf, and meets nothing."""

    bounds: Floats
    """(N, 6) lower x, y, z, upper x, y, z, metres; closed, so that touching counts. Unbounded ones end at +-FARTHEST."""
    rules: npt.NDArray[np.uint64]
    """(N, 3) layer bit, mask, static; (0, 3): everybody meets everybody."""


def as_boxes(
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    static: npt.ArrayLike | None = None,
    layer: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
) -> Boxes:
    """Boxes and their rules, checked, as `BroadPhase.pairs` takes them.

    Parameters
    ----------
    lower, upper : (N, 3) corners, metres, lower <= upper, no NaN; infinite ones are allowed
    static : (N,) bool; two static ones never meet
    layer : (N,) layers 0 to 63
    mask : (N,) bits of the layers that each one meets; a pair needs both to agree
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if low.ndim != 2 or low.shape[1] != 3 or low.shape != high.shape:
        raise InvalidInputError(f"lower, upper: expected two arrays (N, 3), got shapes {low.shape} and {high.shape}")
    wrong = np.flatnonzero(~(low <= high).all(axis=1))
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInputError(f"lower, upper, row {row}: expected lower <= upper and no NaN, got {low[row]} and {high[row]}")
    bounds = np.clip(np.concatenate([low, high], axis=1), -FARTHEST, FARTHEST)
    return Boxes(bounds, as_rules(len(bounds), static, layer, mask))


def as_rules(
    count: int, static: npt.ArrayLike | None, layer: npt.ArrayLike | None, mask: npt.ArrayLike | None
) -> npt.NDArray[np.uint64]:
    """(count, 3) rules, or (0, 3) where nothing is forbidden."""
    if static is None and layer is None and mask is None:
        return np.empty((0, 3), np.uint64)
    rules = np.empty((count, 3), np.uint64)
    layers = np.broadcast_to(np.asarray(0 if layer is None else layer), (count,))
    if not np.issubdtype(layers.dtype, np.integer) or ((layers < 0) | (layers > 63)).any():
        raise InvalidInputError("layer: expected whole numbers from 0 to 63")
    rules[:, LAYER] = np.uint64(1) << layers.astype(np.uint64)
    if mask is None:
        rules[:, MASK] = ALL
    else:
        given = np.atleast_1d(np.array(mask))
        if given.dtype == object and all(isinstance(m, int) and -(2**63) <= m < 2**64 for m in given.ravel()):
            # Python's numbers beyond 64 bits with a sign.
            given = np.array([int(m) & int(ALL) for m in given.ravel()], dtype=np.uint64)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise InvalidInputError("mask: expected whole numbers of 64 bits, one bit a layer")
        rules[:, MASK] = np.broadcast_to(given.astype(np.uint64), (count,))
    rules[:, STATIC] = np.broadcast_to(np.asarray(False if static is None else static, dtype=bool), (count,))
    return rules
