"""The gates: functions every public call passes its arguments through, so that kernels see one dtype and layout.

Each raises a named error with argument, row and expectation before any kernel runs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud.errors import InvalidInputError
from thud.pose import as_poses, finite_array, pair_count

__all__ = ["as_directions", "as_points", "as_poses", "as_positive", "as_vector", "broadcast_rows", "finite_array", "pair_count"]

Array = npt.NDArray[np.float64]


def as_points(points: npt.ArrayLike, name: str, *, width: int = 3) -> Array:
    """(N, width) contiguous float64 rows; one point becomes one row."""
    array = finite_array(points, name)
    if array.ndim == 1 and array.shape[0] == width:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != width:
        raise InvalidInputError(f"{name}: expected shape ({width},) or (N, {width}), got {array.shape}")
    if len(array) == 0:
        raise InvalidInputError(f"{name}: expected at least one row, got none")
    return _writable(array)


def as_directions(directions: npt.ArrayLike, name: str) -> Array:
    """(N, 3) rows that are not zero; their length is kept."""
    array = as_points(directions, name)
    zero = (array[:, 0] == 0.0) & (array[:, 1] == 0.0) & (array[:, 2] == 0.0)
    if zero.any():
        raise InvalidInputError(f"{name}: row {int(np.argmax(zero))} is zero; expected a direction")
    return array


def as_vector(value: npt.ArrayLike, name: str) -> Array:
    """One (3,) vector."""
    array = finite_array(value, name)
    if array.shape != (3,):
        raise InvalidInputError(f"{name}: expected shape (3,), got {array.shape}")
    return array.copy()


def as_positive(value: float, name: str, *, zero: bool = False) -> float:
    """One finite number above 0 (or from 0 on, with `zero=True`)."""
    array = finite_array(value, name)
    if array.ndim != 0 or array < 0 or (array == 0 and not zero):
        expected = "a number of at least 0" if zero else "a positive number"
        raise InvalidInputError(f"{name}: expected {expected}, got {value!r}")
    return float(array)


def broadcast_rows(names: str, *arrays: Array) -> int:
    """Number of rows when each array has that many or one."""
    counts = {len(array) for array in arrays} - {1}
    if len(counts) > 1:
        raise InvalidInputError(f"{names}: expected equal numbers of rows or one, got {[len(a) for a in arrays]}")
    return counts.pop() if counts else 1


def _writable(array: Array) -> Array:
    """C-contiguous and writable: a read-only array would make Numba compile a second specialisation."""
    array = np.ascontiguousarray(array)
    return array if array.flags.writeable else array.copy()
