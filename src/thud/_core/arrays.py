"""Names of array types that all modules use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud.errors import InvalidInputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_FLOAT64 = np.dtype(np.float64)

#: Kinds of NumPy types that are numbers: floats, signed and unsigned whole numbers, booleans.
_NUMBERS = "fiub"

#: Arrays of up to so many numbers are looked through in Python, which is faster for them.
_FEW = 48

#: The largest number.
MOST = float(np.finfo(np.float64).max)


def number_array(value: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """`value` as an array of numbers, of whatever type. Complex numbers, objects, text and masked entries are none."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            row = int(np.argwhere(np.ma.getmaskarray(value))[0, 0]) if value.ndim else 0
            raise InvalidInputError(f"{name}: row {row} is masked; expected numbers (fill or drop masked rows first)")
        value = value.data
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: expected numbers, got {type(value).__name__} ({error})") from None
    if array.dtype.kind not in _NUMBERS:
        kind = "complex numbers" if array.dtype.kind == "c" else f"{type(value).__name__} of type {array.dtype}"
        raise InvalidInputError(f"{name}: expected numbers, got {kind}")
    return array


def whole_array(value: npt.ArrayLike, name: str) -> Ints:
    """`value` as an array of whole numbers, contiguous and writable. Booleans are none; an empty list is one of nothing."""
    array = number_array(value, name)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidInputError(f"{name}: expected whole numbers, got {array.dtype} of shape {array.shape}")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InvalidInputError(f"{name}: expected whole numbers below 2^63, got {array.max()}")
    array = array.astype(np.int64, copy=False)
    return array if array.flags.carray else array.copy()


def as_flags(value: npt.ArrayLike, name: str) -> Bools:
    """`value` as an array of yes and no: booleans, or the numbers 0 and 1."""
    array = number_array(value, name)
    if array.dtype.kind != "b" and not ((array == 0) | (array == 1)).all():
        raise InvalidInputError(f"{name}: expected True or False, got {value!r}")
    return array.astype(np.bool_)


def as_flag(value: Any, name: str) -> bool:
    """One yes or no."""
    if value is True or value is False:
        return value
    array = as_flags(value, name)
    if array.ndim:
        raise InvalidInputError(f"{name}: expected True or False, got shape {array.shape}")
    return bool(array)


def float_array(value: npt.ArrayLike, name: str) -> Floats:
    """`value` as a float64 array, whatever its numbers are."""
    array = value if type(value) is np.ndarray and value.dtype is _FLOAT64 else number_array(value, name)
    return array if array.dtype is _FLOAT64 else array.astype(np.float64)


def check_finite(array: Floats, name: str, limit: float = MOST) -> None:
    """Named error for NaN, infinity, and what is beyond `limit`."""
    if array.size <= _FEW:
        fits = all(-limit <= number <= limit for number in array.ravel().tolist())
    else:
        # NaN is neither.
        fits = bool(array.min() >= -limit and array.max() <= limit)
    if not fits:
        raise _beyond(array, name, limit)


def finite_array(value: npt.ArrayLike, name: str, *, limit: float = MOST) -> Floats:
    """`value` as a float64 array without NaN or infinity, nor anything beyond `limit`."""
    array = float_array(value, name)
    check_finite(array, name, limit)
    return array


def _beyond(array: Floats, name: str, limit: float) -> InvalidInputError:
    """Which number is not finite, or else beyond the limit."""
    finite = np.isfinite(array)
    wrong = ~finite if not finite.all() else np.abs(array) > limit
    row = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f"row {row[0]}" if array.ndim else "the value"
    if not finite.all():
        return InvalidInputError(f"{name}: {where} is not finite ({array[row]}); expected finite numbers")
    return InvalidInputError(f"{name}: {where} is beyond the limit ({array[row]:g}); expected at most {limit:g}")


def writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """For kernels, which have one specialisation: a read-only view's own array where it is the same, else a copy."""
    base = array.base
    if array.flags.carray:
        return array
    if isinstance(base, np.ndarray) and base.shape == array.shape and base.dtype == array.dtype and base.flags.carray:
        return base
    return array.copy()


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only view, for the fields of shapes; `writable` leads back."""
    view = array.view()
    view.flags.writeable = False
    return view
