"""Directions by cells of an octahedron: the unit sphere folded out to a square of n x n cells, with no angle in it.

A direction is divided by the sum of its coordinates' magnitudes, which brings it to the octahedron |x| + |y| + |z| = 1; seen
from above, the upper half is the square's inner diamond, and the four lower faces are folded out to its corners. A cell's own
direction is that of its middle. With n = 32 no direction is farther than 0.13 rad from that of its cell.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from thud._core.decorators import device
from thud.constants import TINY
from thud.gates import Array


@lru_cache(maxsize=8)
def octahedral_directions(n: int) -> Array:
    """(n * n, 3) unit vectors, those of the middles of the cells, y-major. One array for all that ask, so that it stays in the
    processor's cache."""
    middle = (2.0 * np.arange(n) + 1.0) / n - 1.0
    y, x = np.meshgrid(middle, middle, indexing="ij")
    z = 1.0 - np.abs(x) - np.abs(y)
    below = z < 0.0
    x, y = (
        np.where(below, (1.0 - np.abs(y)) * np.copysign(1.0, x), x),
        np.where(below, (1.0 - np.abs(x)) * np.copysign(1.0, y), y),
    )
    found = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    return np.ascontiguousarray(found / np.linalg.norm(found, axis=1, keepdims=True))


@device
def octahedral_cell(n, v):
    """Which of the n x n cells the direction v (of any length) falls to; some cell for what is no direction."""
    s = 1.0 / max(abs(v[0]) + abs(v[1]) + abs(v[2]), TINY)
    x, y = v[0] * s, v[1] * s
    if v[2] < 0.0:
        x, y = math.copysign(1.0 - abs(y), x), math.copysign(1.0 - abs(x), y)
    half = 0.5 * n
    i, j = half + half * x, half + half * y
    # What is no number fails both comparisons.
    if not (i >= 0.0 and j >= 0.0):
        return 0
    return min(int(j), n - 1) * n + min(int(i), n - 1)
