"""How far two impact maps of the same interval agree, with what pixels cannot tell set apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Agreement(NamedTuple):
    """Pixels that differ though no impact lay within `border` of a pixel's border, and the counts of impacts of both."""

    differing: int
    doubtful: int
    impacts: tuple[int, int]


def agreement(
    first: Any, second: Any, impacts: Any, uv: np.ndarray, border: float = 1e-5, tolerance: float = 2e-6
) -> Agreement:
    """Compare two surface maps of floats; `impacts` with coordinates `uv` are the first one's.

    Doubtful are pixels beside an impact that is within `border` pixels of a border, and those whose two latest impacts are
    closer in time than the depth buffer tells (2**-23 of the interval).
    """
    colliders, q, p = first.data.shape[:3]
    seen = ~np.isnan(uv[:, 0])
    at, collider, time = uv[seen] * [p, q], impacts.collider[seen], impacts.time[seen]
    doubtful = np.zeros((colliders, q + 2, p + 2), bool)
    near = np.flatnonzero((np.abs(at - np.rint(at)) < border).any(axis=1))
    for k in near:
        x, y = np.rint(at[k]).astype(int)
        # All pixels that share the border or the corner, and the other end of what goes around.
        cx, cy = np.floor(at[k]).astype(int)
        doubtful[collider[k], min(cy, y) : max(cy, y) + 2, min(cx, x) : max(cx, x) + 2] = True
        doubtful[collider[k], :, [0, 1, p, p + 1]] |= abs(at[k, 0] - x) < border and x in (0, p)
    inner = doubtful[:, 1:-1, 1:-1]
    pixel = np.minimum(at, [p - 1, q - 1]).astype(int)
    key = (collider * q + pixel[:, 1]) * p + pixel[:, 0]
    order = np.lexsort((time, key))
    close = (np.diff(key[order]) == 0) & (np.diff(time[order]) < (first.t1 - first.t0) * 2.0**-23)
    inner.reshape(-1)[key[order][1:][close]] = True
    scale = np.maximum(np.abs(first.data), 1.0)
    differs = (np.abs(first.data - second.data) > tolerance * scale).any(axis=-1)
    counts = int(first.data[..., 3].sum()), int(second.data[..., 3].sum())
    return Agreement(int((differs & ~inner).sum()), int(inner.sum()), counts)
