"""The gate of base primitives given as corner positions and directions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import finite_array
from thud.errors import InvalidInputError
from thud.geometry._gates import Array, in_range


def as_primitives(positions: npt.ArrayLike, directions: npt.ArrayLike) -> tuple[Array, Array]:
    """(N or 1, 3 or 4, 3) positions and directions of one kind, contiguous float64."""
    corners, normals = _as_corners(positions, "positions"), _as_corners(directions, "directions")
    if corners.shape[1] != normals.shape[1]:
        raise InvalidInputError(
            f"directions: expected as many corners as positions, {corners.shape[1]}, got {normals.shape[1]}"
        )
    return corners, normals


def _as_corners(value: npt.ArrayLike, name: str) -> Array:
    array = finite_array(value, name)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.shape[1] not in (3, 4) or array.shape[2] != 3 or len(array) == 0:
        raise InvalidInputError(
            f"{name}: expected shape (3, 3) or (N, 3, 3) for triangles, (4, 3) or (N, 4, 3) for quadrilaterals, "
            f"got {np.shape(value)}"
        )
    in_range(array.reshape(len(array), -1), name)
    array = np.ascontiguousarray(array)
    return array if array.flags.writeable else array.copy()
