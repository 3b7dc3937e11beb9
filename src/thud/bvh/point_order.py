"""An order of points in which neighbours in space follow each other, so that their walks find the same nodes in the cache."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud.gates import Array

#: Cells along an axis: 2^3. More of them, measured, change nothing.
_BITS = 3


def spatial_order(points: Array) -> npt.NDArray[np.int64]:
    """(N,) rows of the points (N, 3), sorted by the Morton code of their cell in the points' own box; stable."""
    low, high = points.min(axis=0), points.max(axis=0)
    extent = np.where(high > low, high - low, 1.0)
    cell = np.minimum((points - low) * (2**_BITS / extent), 2**_BITS - 1).astype(np.uint16)
    code = np.zeros(len(points), dtype=np.uint16)
    for bit in range(_BITS):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(code, kind="stable")
