"""Forward projection, [Yang] (2.1) and (2.2): from (u, v) of a base primitive and a displacement to the point in space."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import finite_array
from thud.errors import InvalidInputError
from thud.gates import broadcast_rows
from thud.geometry._gates import Array
from thud.terrain.projection.primitives import as_primitives

__all__ = ["forward_project"]


def _as_numbers(value: npt.ArrayLike, name: str) -> Array:
    array = np.atleast_1d(finite_array(value, name))
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInputError(f"{name}: expected a number or shape (N,), got {array.shape}")
    return array


def interpolate(corners: Array, u: Array, v: Array) -> Array:
    """(N, 3) values at (u, v) of corners (N or 1, 3 or 4, 3): Eq. (2.1), or bilinear for four corners in cyclic order."""
    u, v = u[:, None], v[:, None]
    c0, along_u, along_v = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, -1] - corners[:, 0]
    value = c0 + u * along_u + v * along_v
    if corners.shape[1] == 4:
        value = value + u * v * ((corners[:, 2] - corners[:, 3]) - along_u)
    return np.asarray(value)


def forward_project(
    u: npt.ArrayLike, v: npt.ArrayLike, length: npt.ArrayLike, positions: npt.ArrayLike, directions: npt.ArrayLike
) -> Array:
    """Points P(u, v) + length * N(u, v) of base primitives.

    Parameters
    ----------
    u, v : a number or (N,); need not lie in the primitive
    length : a number or (N,), displacement in units of the interpolated direction
    positions, directions : (3, 3) or (N, 3, 3), corners of triangles and their projection directions, of any length; or (4, 3)
        or (N, 4, 3), quadrilaterals with the corners (u, v) = (0, 0), (1, 0), (1, 1), (0, 1)

    Returns
    -------
    (N, 3) points, metres, in the frame of the positions
    """
    us, vs, lengths = _as_numbers(u, "u"), _as_numbers(v, "v"), _as_numbers(length, "length")
    corners, normals = as_primitives(positions, directions)
    broadcast_rows("u, v, length, positions, directions", us, vs, lengths, corners, normals)
    # Eq. (2.2).
    return interpolate(corners, us, vs) + lengths[:, None] * interpolate(normals, us, vs)
