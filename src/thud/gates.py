"""The gates: functions every public call passes its arguments through, so that kernels see one dtype and layout.

Each raises a named error with argument, row and expectation before any kernel runs.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thud._core.arrays import (
    MOST,
    as_flag,
    as_flags,
    check_finite,
    finite_array,
    float_array,
    number_array,
    whole_array,
)
from thud.constants import FARTHEST_POINT, LARGEST_SIZE, LEAST_SIZE, MANIFOLD_POINTS
from thud.errors import InvalidInputError
from thud.pose import PoseLike, as_poses, pair_count

__all__ = [
    "as_axes",
    "as_directions",
    "as_flag",
    "as_flags",
    "as_max_points",
    "as_pairs",
    "as_path",
    "as_points",
    "as_poses",
    "as_positive",
    "as_reach",
    "as_reaches",
    "as_size",
    "as_sizes",
    "as_vector",
    "broadcast_rows",
    "check_extent",
    "finite_array",
    "kind_of",
    "one_or",
    "one_row",
    "pair_count",
    "unit",
    "whole_array",
]

Array = npt.NDArray[np.float64]


def one_row(pose: PoseLike, name: str) -> Array:
    """The gate of one pose."""
    rows = as_poses(pose, name)
    if len(rows) != 1:
        raise InvalidInputError(f"{name}: expected one pose, got {len(rows)}; `thud.intersects` and the like take many")
    return rows


def as_points(points: npt.ArrayLike, name: str, *, width: int = 3, limit: float = FARTHEST_POINT, least: int = 0) -> Array:
    """(N, width) contiguous, writable float64 rows; one point becomes one row. `least`: the fewest rows.

    (A read-only array would make Numba compile a second specialisation.)
    """
    array = float_array(points, name)
    if array.ndim == 1 and array.shape[0] in (0, width):
        array = array.reshape(-1, width)
    check_finite(array, name, limit)
    if array.ndim != 2 or array.shape[1] != width:
        raise InvalidInputError(f"{name}: expected shape ({width},) or (N, {width}), got {array.shape}")
    if len(array) < least:
        raise InvalidInputError(f"{name}: expected at least one row, got none")
    return array if array.flags.carray else array.copy()


def as_directions(directions: npt.ArrayLike, name: str) -> Array:
    """(N, 3) rows that are not zero; their length is kept, whatever it is."""
    array = as_points(directions, name, limit=MOST)
    zero = (array[:, 0] == 0.0) & (array[:, 1] == 0.0) & (array[:, 2] == 0.0)
    if zero.any():
        raise InvalidInputError(f"{name}: row {int(np.argmax(zero))} is zero; expected a direction")
    return array


def unit(directions: Array) -> Array:
    """(N, 3) rows of length 1; by the largest component first, so that no square over- or underflows."""
    along = directions / np.abs(directions).max(axis=1, keepdims=True)
    return along / np.linalg.norm(along, axis=1, keepdims=True)


def as_vector(value: npt.ArrayLike, name: str, *, limit: float = MOST) -> Array:
    """One (3,) vector, no coordinate of which is beyond `limit`."""
    array = finite_array(value, name, limit=limit)
    if array.shape != (3,):
        raise InvalidInputError(f"{name}: expected shape (3,), got {array.shape}")
    return array.copy()


def as_path(value: str | os.PathLike[str], name: str) -> Path:
    """The name of a file or folder."""
    try:
        return Path(value)
    except TypeError:
        raise InvalidInputError(f"{name}: expected the name of a file or folder, got a {type(value).__name__}") from None


def kind_of(value: object) -> str:
    """What was given where an object of thud was expected, for a message: a class is a common slip."""
    return (
        f"the class {value.__name__}; make one: {value.__name__}(...)"
        if isinstance(value, type)
        else f"a {type(value).__name__}"
    )


def one_or(count: int, what: str = "rows") -> str:
    """How many rows an argument may have, for a message: one for all, or one each."""
    return f"1 or {count} {what}" if count != 1 else f"1 {what[:-1]}"


def as_positive(value: float, name: str, *, zero: bool = False) -> float:
    """One finite number above 0 (or from 0 on, with `zero=True`)."""
    if type(value) is float and (0.0 < value < math.inf or (zero and value == 0.0)):
        return value
    array = finite_array(value, name)
    if array.ndim != 0 or array < 0 or (array == 0 and not zero):
        expected = "a number of at least 0" if zero else "a positive number"
        got = f"an array of shape {array.shape}" if array.ndim else repr(value)
        raise InvalidInputError(f"{name}: expected {expected}, got {got}")
    return float(array)


def as_size(value: float, name: str, *, zero: bool = False) -> float:
    """One length of a shape: from LEAST_SIZE to LARGEST_SIZE, or 0 with `zero=True`."""
    size = as_positive(value, name, zero=zero)
    if not LEAST_SIZE <= size <= LARGEST_SIZE and size != 0.0:
        raise InvalidInputError(f"{name}: expected a length from {LEAST_SIZE:g} to {LARGEST_SIZE:g} metres, got {value!r}")
    return size


def as_sizes(value: npt.ArrayLike, name: str, expected: str) -> Array:
    """Three lengths of a shape."""
    sizes = as_vector(value, name)
    if not all(LEAST_SIZE <= size <= LARGEST_SIZE for size in sizes.tolist()):
        if (sizes > 0).all():
            expected = f"lengths from {LEAST_SIZE:g} to {LARGEST_SIZE:g} metres"
        raise InvalidInputError(f"{name}: expected {expected}, got {sizes.tolist()}")
    return sizes


def check_extent(points: Array, name: str, least: float) -> None:
    """Named error for points that all but coincide: what reaches over less than `least` metres is no shape."""
    extent = float((points.max(axis=0) - points.min(axis=0)).max())
    if 0.0 < extent < least:
        raise InvalidInputError(f"{name}: reach over {extent:g} metres; expected at least {least:g}")


def as_reach(max_distance: float) -> float:
    """A distance limit: 0 or more, inf allowed."""
    if type(max_distance) is float and max_distance >= 0.0:
        return max_distance
    array = number_array(max_distance, "max_distance")
    if array.ndim or not array >= 0.0:
        raise InvalidInputError(f"max_distance: expected a number of at least 0, got {max_distance!r}")
    return float(array)


def as_reaches(max_distance: npt.ArrayLike) -> Array:
    """Distance limits, (1,) for all or (N,): 0 or more, inf allowed."""
    array = np.atleast_1d(number_array(max_distance, "max_distance")).astype(np.float64)
    if array.ndim != 1:
        raise InvalidInputError(f"max_distance: expected a number or (N,) numbers, got shape {array.shape}")
    wrong = ~(array >= 0.0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"max_distance: row {row} is {array[row]:g}; expected numbers of at least 0")
    return array


def as_max_points(max_points: int) -> int:
    """Points of a contact patch: 1 to MANIFOLD_POINTS."""
    return as_count(max_points, "max_points", 1, MANIFOLD_POINTS)


def as_count(value: int, name: str, least: int, most: int) -> int:
    """A whole number, Python's or NumPy's, from `least` to `most`."""
    if type(value) is int and least <= value <= most:
        return value
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise InvalidInputError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")
    return int(value)


def as_choice(value: object, name: str, allowed: tuple[str | None, ...]) -> str | None:
    """One of a few words, or None where that is one of them. Whatever is no word is refused without being compared: an array
    compares by its entries."""
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise InvalidInputError(f"{name}: expected one of {allowed}, got {value!r}")
    return None if value is None else str(value)


def as_axes(axes: npt.ArrayLike, count: int) -> Array:
    """Normals of an earlier query to start from: one or `count` rows."""
    array = as_points(axes, "axes")
    if len(array) not in (1, count):
        raise InvalidInputError(f"axes: expected {one_or(count)}, got {len(array)}")
    return array


def as_pairs(pairs: npt.ArrayLike, shapes: int) -> npt.NDArray[np.int64]:
    """(M, 2) indices of shapes."""
    array = whole_array(pairs, "pairs")
    array = array.reshape(0, 2) if array.shape == (0,) else array
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInputError(f"pairs: expected whole numbers of shape (M, 2), got shape {array.shape}")
    wrong = (array < 0) | (array >= shapes)
    if wrong.any():
        row = int(np.argwhere(wrong)[0, 0])
        raise InvalidInputError(f"pairs: row {row} is {array[row].tolist()}; expected indices from 0 to {shapes - 1}")
    return array


def broadcast_rows(names: str, *arrays: Array) -> int:
    """Number of rows when each array has that many or one."""
    counts = {len(array) for array in arrays} - {1}
    if len(counts) > 1:
        raise InvalidInputError(f"{names}: expected equal numbers of rows or one, got {[len(a) for a in arrays]}")
    return counts.pop() if counts else 1
