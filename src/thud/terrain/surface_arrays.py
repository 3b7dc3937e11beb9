"""A displaced surface as flat arrays that kernels read, and the Numba type that signatures mean by `surface`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Columns of `vertices`: base position, projection direction.
POSITION, DIRECTION = 0, 3

# Columns of `primitives`: four vertices (the fourth -1 for a triangle), the quad it lies in, its material (-1 for none).
V0, V1, V2, V3, QUAD, MATERIAL = range(6)

# Columns of `quads`: lowest corner in the map, side in map samples, its primitives.
S, T, SIDE, FIRST, COUNT = range(5)

# Columns of `planes`: unit normal of the base primitive, its offset (normal . P0), heights of the lower and upper bounding
# plane above it, and the lengths that reach from the one to the other anywhere in the primitive.
NORMAL, OFFSET, LOWER, UPPER, LEAST, MOST = 0, 3, 4, 5, 6, 7

# Columns of `map_ints`: first of the quad's bounding lengths and of its cells, step of its coarsest bounding points (1: none).
LENGTHS, CELLS, STEP = range(3)


class SurfaceArrays(NamedTuple):
    """What kernels read of a `DisplacedSurface`. All C-contiguous and writable."""

    vertices: npt.NDArray[np.float64]
    """(V, 6)"""
    coordinates: npt.NDArray[np.int32]
    """(V, 2) s, t"""
    primitives: npt.NDArray[np.int32]
    """(P, 6) ordered by quad"""
    quads: npt.NDArray[np.int32]
    """(Q, 5)"""
    displacements: npt.NDArray[np.float32]
    """(H, W), indexed [t, s]"""
    details: npt.NDArray[np.float32]
    """(M, h, w)"""
    fade: npt.NDArray[np.uint8]
    """(P,) bits 0 to 3: edges at which details fade out, bits 4 to 7: vertices. Of a triangle edge k is opposite to vertex k,
    of a quadrilateral it leads from vertex k to the next."""
    planes: npt.NDArray[np.float64]
    """(P, 8)"""
    node_boxes: npt.NDArray[np.float32]
    """(K, 6) tree over the primitives' projected surfaces, rounded outward."""
    node_ints: npt.NDArray[np.int32]
    """(K, 2) skip and primitive (-1)."""
    map_ints: npt.NDArray[np.int64]
    """(Q, 3)"""
    lengths: npt.NDArray[np.float32]
    """Bounding lengths: a quad from its coarsest level to the finest, of each level the upper, then the lower ones."""
    codes: npt.NDArray[np.uint8]
    """Growth of each cell, see `terrain/bounding/volume.py`; quads and levels in the order of the lengths."""
    flat: npt.NDArray[np.uint8]
    """How many of the next finer levels would exclude nothing and are skipped."""
    ratio: int
    """Samples a side of a square of the map: 1 without details."""
    thickness: float
    """How deep the ground is below the surface, in lengths. Bounding planes are made with inf: they hold the sheet."""
    rim: npt.NDArray[np.uint8]
    """(Q,) bits 0 to 3: the surface ends at the quad's edge y = 0, x = side, y = side, x = 0, or at a part of it."""
    face_boxes: npt.NDArray[np.float32]
    """(K, 6) the same tree over bottom and sides of the primitives' ground, rounded outward."""
    fall: npt.NDArray[np.float64]
    """(P, 2) least and greatest rise, along the primitive's normal, of the ways to the ends of its quad's columns."""
