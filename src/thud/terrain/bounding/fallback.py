"""Bounding lengths for cells whose best ones are extreme ([Yang] 3.5.7): the range of the lengths themselves.

A cliff within one cell, or a sheet that bends over, tilts the bounding triangles so far that lengths at the corners become
huge, or no lengths meet the planes. Each bounding point of such a cell takes the highest (lowest) length of all nodes of the
cells around it instead. The volume then holds p + r l for every l in the cell's own range at each corner, and with it every
sample whose base position and direction are a combination of the corners' with weights from 0 to 1, whatever the skew. Cells
that share points with it are looked at again. A cell stays EXTREME only where this does not hold its samples either.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud.constants import FLOAT32_STEP, FLOAT32_TINY
from thud.terrain.bounding.tolerances import BOUND_THINNEST
from thud.terrain.bounding.volume import EXTREME, cell_growth

Array = npt.NDArray[np.float64]
Lengths = npt.NDArray[np.float32]

#: Most passes in which neighbours of extreme cells follow (a count).
_PASSES = 4


def _points_around(cells: Array, empty: float) -> Array:
    """(B, n + 1, n + 1) largest value of the up to four cells around each bounding point."""
    padded = np.pad(cells, ((0, 0), (1, 1), (1, 1)), constant_values=empty)
    return np.maximum(np.maximum(padded[:, :-1, :-1], padded[:, :-1, 1:]), np.maximum(padded[:, 1:, :-1], padded[:, 1:, 1:]))


def _cell_largest(l: Array, step: int) -> Array:
    """(B, n, n) largest length of each cell's nodes."""
    return np.lib.stride_tricks.sliding_window_view(l, (step + 1, step + 1), axis=(1, 2))[:, ::step, ::step].max(axis=(-2, -1))


def range_lengths(p: Array, r: Array, l: Array, step: int) -> tuple[Lengths, Lengths]:
    """Upper and lower lengths (B, n + 1, n + 1) that take in the range of lengths of all cells around each point."""
    corners = p[:, ::step, ::step]
    one = np.linalg.norm(corners[:, 1:, 1:] - corners[:, :-1, :-1], axis=-1).max(axis=(1, 2))
    two = np.linalg.norm(corners[:, 1:, :-1] - corners[:, :-1, 1:], axis=-1).max(axis=(1, 2))
    longest = np.linalg.norm(r, axis=-1).max(axis=(1, 2))
    reach = np.ptp(l, axis=(1, 2)) + np.divide(np.maximum(one, two), longest, out=np.zeros_like(one), where=longest > 0.0)
    margin = (BOUND_THINNEST * np.where(reach > 0.0, reach, 1.0))[:, None, None]
    highest = _points_around(_cell_largest(l, step), -np.inf) + margin
    lowest = -_points_around(_cell_largest(-l, step), -np.inf) - margin
    # A step of float32 outweighs rounding to nearest.
    upper = highest + (np.abs(highest) * FLOAT32_STEP + FLOAT32_TINY)
    lower = lowest - (np.abs(lowest) * FLOAT32_STEP + FLOAT32_TINY)
    return upper.astype(np.float32), lower.astype(np.float32)


def bound_extremes(
    p: Array,
    r: Array,
    l: Array,
    step: int,
    upper: Lengths,
    lower: Lengths,
    codes: npt.NDArray[np.uint8],
    volumes: Array,
    threads: int | None = None,
) -> None:
    """Give cells that are EXTREME the range of their lengths, and new codes and volumes to their quads: in place.

    Arrays as `bounding_lengths` takes and gives them, `codes` and `volumes` as from `growth_codes`.
    """
    rows = np.flatnonzero((codes == EXTREME).any(axis=(1, 2)))
    if len(rows) == 0:
        return
    samples = p[rows], r[rows], l[rows]
    range_upper, range_lower = range_lengths(*samples, step)
    _, range_volumes = cell_growth(range_upper, range_lower, *samples, step, False, threads)
    chosen = np.zeros(codes[rows].shape, bool)
    part_codes, part_volumes = codes[rows], volumes[rows]
    mixed_upper, mixed_lower = upper[rows], lower[rows]
    for _ in range(_PASSES):
        # Extreme cells, and those that neighbours made larger than their own range would.
        more = (part_volumes[..., 0] > range_volumes[..., 0]) & ~chosen
        if not more.any():
            break
        chosen |= more
        points = _points_around(chosen.astype(np.float64), 0.0) > 0.0
        mixed_upper = np.where(points, range_upper, mixed_upper)
        mixed_lower = np.where(points, range_lower, mixed_lower)
        part_codes, part_volumes = cell_growth(mixed_upper, mixed_lower, *samples, step, False, threads)
    codes[rows], volumes[rows], upper[rows], lower[rows] = part_codes, part_volumes, mixed_upper, mixed_lower
