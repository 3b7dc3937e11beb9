"""Numbers of cells and regions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints, whole_array
from thud.errors import InvalidInputError


def as_number(value: int, name: str, count: int) -> int:
    """One of `count` cells, by its number; or a named error."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < count:
        raise InvalidInputError(f"{name}: expected a whole number from 0 to {count - 1}, got {value!r}")
    return int(value)


def as_numbers(value: npt.ArrayLike, name: str, count: int) -> Ints:
    """Some of `count` cells, (K,), by their numbers; or a named error."""
    numbers = np.atleast_1d(whole_array(value, name))
    if numbers.ndim != 1:
        raise InvalidInputError(f"{name}: expected (K,) whole numbers, got {numbers.shape}")
    wrong = np.flatnonzero((numbers < 0) | (numbers >= count))
    if len(wrong):
        raise InvalidInputError(f"{name}: row {wrong[0]} is {numbers[wrong[0]]}; expected 0 to {count - 1}")
    return numbers
