"""All overlapping pairs of boxes, by the definition."""

from __future__ import annotations

import numpy as np


def overlapping_pairs(bounds: np.ndarray, rules: np.ndarray) -> np.ndarray:
    """(M, 2) sorted pairs; bounds (N, 6), rules as `thud.broadphase.Boxes` has them."""
    low, high = bounds[:, :3], bounds[:, 3:]
    meet = ((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(axis=2)
    # What is not there meets nothing, itself included.
    there = (low <= high).all(axis=1)
    meet &= there[:, None] & there[None]
    if len(rules):
        layer, mask, static = rules.T
        meet &= (layer[:, None] & mask[None]) != 0
        meet &= (layer[None] & mask[:, None]) != 0
        meet &= (static[:, None] == 0) | (static[None] == 0)
    return np.argwhere(np.triu(meet, 1))
