"""A tile as kernels read it: one named tuple for all kinds, with the arrays of the other kinds empty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud.bvh.height_tree import NUMBERS, HeightGrid
from thud.terrain.surface_arrays import SurfaceArrays

# Columns of `nodes` (float32) and `links` (int32), which are the same 32 bytes: a node reads four of each.
CENTER, RADIUS = 0, 3
CHILDREN, COUNT, OFFSET, NEXT = 4, 5, 6, 7

# Columns of `blocks`: quad (0 in a grid of heights), first patch along x and y, patches along x and y.
BLOCK_QUAD, BLOCK_X, BLOCK_Y, BLOCK_WIDE, BLOCK_HIGH = range(5)


class TileArrays(NamedTuple):
    """Of one tile. Its frame is the terrain's moved to `origin`; all but `surface` are in it."""

    kind: int
    """TRIANGLES, HEIGHTS or DISPLACED of `record.py`."""
    origin: npt.NDArray[np.float64]
    """(3,) of the tile's frame in the terrain's, metres."""
    nodes: npt.NDArray[np.float32]
    """(K, 8) centre and radius, then what `links` has, in pre-order."""
    links: npt.NDArray[np.int32]
    """(K, 8) the same memory: number of children; of a leaf count and offset of its triangles or blocks (0 and -1 in others);
    the next node that is not below this one."""
    corners: npt.NDArray[np.float32]
    """(T, 9) triangles, in the order of the leaves."""
    planes: npt.NDArray[np.float64]
    """(T, 4) A, B, C, D of each: unit normal and A x + B y + C z + D = 0. 0 for a triangle without area."""
    blocks: npt.NDArray[np.int32]
    """(B, 5) rectangles of patches, in the order of the leaves."""
    grid: HeightGrid
    surface: SurfaceArrays


def no_grid() -> HeightGrid:
    """A grid of nothing."""
    f8, f4, i2 = np.float64, np.float32, np.int16
    samples = (np.empty((0, 0), f8), np.empty((0, 0), f4), np.empty((0, 0), i2))
    ranges = (np.empty((0, 2), f8), np.empty((0, 2), f4), np.empty((0, 2), i2))
    return HeightGrid(0, *samples, *ranges, np.empty((0, 3), np.int64), 0, 0, np.zeros(NUMBERS), np.zeros(3))


def no_surface() -> SurfaceArrays:
    """A surface of nothing."""
    i4, f4, u1 = np.int32, np.float32, np.uint8
    return SurfaceArrays(
        vertices=np.empty((0, 6)), coordinates=np.empty((0, 2), i4), primitives=np.empty((0, 6), i4),
        quads=np.empty((0, 5), i4), displacements=np.empty((0, 0), f4), details=np.empty((0, 1, 1), f4), fade=np.empty(0, u1),
        planes=np.empty((0, 8)), node_boxes=np.empty((0, 6), f4), node_ints=np.empty((0, 2), i4),
        map_ints=np.empty((0, 3), np.int64), lengths=np.empty(0, f4), codes=np.empty(0, u1), flat=np.empty(0, u1), ratio=1,
        thickness=np.inf, rim=np.empty(0, u1), face_boxes=np.empty((0, 6), f4), fall=np.empty((0, 2)),
    )  # fmt: skip


NO_GRID, NO_SURFACE = no_grid(), no_surface()
NO_CORNERS, NO_PLANES = np.empty((0, 9), np.float32), np.empty((0, 4))
NO_BLOCKS = np.empty((0, 5), np.int32)
