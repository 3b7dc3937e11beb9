"""Blocks of samples: what the leaves of `heights` and `displaced` tiles name, in place of triangles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud.errors import DamagedStoreError
from thud.terrain.tiles.tile_arrays import BLOCK_HIGH, BLOCK_QUAD, BLOCK_WIDE, BLOCK_X, BLOCK_Y


def block_shape(leaf: int) -> tuple[int, int]:
    """(wide, high) patches, powers of two, of the largest block with fewer than `leaf` triangles, and at least one patch."""
    wide = high = 1
    while True:
        w, h = (wide, 2 * high) if wide > high else (2 * wide, high)
        if 2 * w * h >= leaf:
            return wide, high
        wide, high = w, h


def tile_blocks(quad: int, across: int, down: int, shape: tuple[int, int]) -> npt.NDArray[np.int32]:
    """(B, 5) blocks of so many patches that cover a rectangle of them; those at the far border may be smaller."""
    wide, high = shape
    x, y = (grid.reshape(-1) for grid in np.meshgrid(np.arange(0, across, wide), np.arange(0, down, high)))
    return np.stack(
        [np.full_like(x, quad), x, y, np.minimum(across - x, wide), np.minimum(down - y, high)], axis=1
    ).astype(np.int32)  # fmt: skip


def check_blocks(blocks: npt.NDArray[np.int32], sides: npt.NDArray[np.int64], *, all_patches: bool) -> None:
    """Named error unless blocks lie inside their quads and no patch is in two of them.

    Parameters
    ----------
    blocks : (B, 5)
    sides : (Q, 2) patches along x and y of each quad
    all_patches : whether every patch must be in one
    """
    b = blocks.astype(np.int64)
    quad = b[:, BLOCK_QUAD]
    if (quad < 0).any() or (quad >= len(sides)).any():
        raise DamagedStoreError("blocks: one names a quad that is not there")
    inside = (b[:, BLOCK_X] >= 0) & (b[:, BLOCK_Y] >= 0) & (b[:, BLOCK_WIDE] > 0) & (b[:, BLOCK_HIGH] > 0)
    inside &= b[:, BLOCK_X] + b[:, BLOCK_WIDE] <= sides[quad, 0]
    inside &= b[:, BLOCK_Y] + b[:, BLOCK_HIGH] <= sides[quad, 1]
    if not inside.all():
        raise DamagedStoreError(f"blocks: row {int(np.argmin(inside))} does not lie inside its quad")
    area, most = int((b[:, BLOCK_WIDE] * b[:, BLOCK_HIGH]).sum()), int((sides[:, 0] * sides[:, 1]).sum())
    if area > most or (all_patches and area != most):
        raise DamagedStoreError(f"blocks: they cover {area} patches of {most}")
