"""Results as tables: arrays beside each other, a row of each for one pair, ray, point or body."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt


class Row(SimpleNamespace):
    """One row of a result: each field by its name, numbers as Python's own, vectors as arrays, status as its name."""

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={_say_value(value)}' for name, value in vars(self).items())})"


class Columns:
    """What all results have: rows that can be counted, gone through, picked, and read.

    `len(found)` is the number of rows. `found[3]` is one `Row`; `found[2:5]`, `found[mask]` and `found[[0, 7]]` are results of
    the same class. With rows (C, M), of C configurations, `found[2]` has the M rows of one. `for row in found` goes through
    `found[0]`, `found[1]` and so on. `to_dict()` has columns of equal length, as pandas takes them.
    """

    __slots__ = ()

    _unit: ClassVar[str] = "row"
    """What a row is."""
    _beside: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Fields that are no columns of the rows, each with the column that numbers what it belongs to, "" for none."""
    _words: ClassVar[tuple[tuple[str, type[IntEnum]], ...]] = ()
    """Fields of codes, and what they mean."""
    _derived: ClassVar[tuple[str, ...]] = ()
    """Properties that are columns, too: made from the fields when they are asked for."""

    def _columns(self) -> list[str]:
        beside = dict(self._beside)
        return [field.name for field in dataclasses.fields(self) if field.name not in beside]  # type: ignore[arg-type]

    def _picked_beside(self, index: Any) -> dict[str, Any]:
        """What stands beside rows that are picked."""
        return {name: getattr(self, name) for name, _by in self._beside}

    def _shape(self) -> tuple[int, ...]:
        """Of the rows: (N,) or (C, M). The column with the fewest axes has no others."""
        return min((getattr(self, name).shape for name in self._columns()), key=len)

    def __len__(self) -> int:
        return int(self._shape()[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            if not -len(self) <= index < len(self):
                raise IndexError(f"row {index} of a {_name(self)} of {len(self)}")
            if len(self._shape()) == 1:
                return self._row(int(index) % len(self))
        elif not isinstance(index, slice):
            if isinstance(index, tuple):
                raise TypeError(
                    f"{_name(self)}: rows have one axis, got {len(index)} indices; a list picks several rows, and in C"
                    " configurations found[c][m] is pair m of configuration c"
                )
            index = np.asarray(index)
            if index.ndim != 1 or (index.size and index.dtype.kind not in "bi"):
                raise TypeError(f"{_name(self)}: rows are picked by a whole number, a slice, or (K,) numbers or booleans")
            index = index if index.dtype.kind == "b" else index.astype(np.int64)
        picked = {name: getattr(self, name)[index] for name in self._columns()}
        return type(self)(**picked, **self._picked_beside(index))

    def _row(self, k: int) -> Row:
        values = {name: _python(getattr(self, name)[k]) for name in self._columns()}
        if self._derived:
            one = self[k : k + 1]
            values |= {name: _python(getattr(one, name)[0]) for name in self._derived}
        values |= {name: _python(getattr(self, name).reshape(-1)[values[by]]) for name, by in self._beside if by}
        for name, words in self._words:
            if name in values:
                values[name] = words(values[name])
        return Row(**values)

    def to_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Columns by name, each (N,): a vector is three of them, `point_x`, `point_y`, `point_z`; codes are words. Rows (C, M)
        follow each other, with their `configuration` and `pair` in front."""
        shape, columns = self._shape(), {name: np.asarray(getattr(self, name)) for name in (*self._columns(), *self._derived)}
        for name, by in self._beside:
            if by:
                columns[name] = getattr(self, name).reshape(-1)[columns[by]]
        table: dict[str, npt.NDArray[Any]] = {}
        words = dict(self._words)
        if len(shape) == 2:
            table["configuration"], table["pair"] = (index.ravel() for index in np.indices(shape))
        for name, column in columns.items():
            flat = column.reshape((-1, *column.shape[len(shape) :]))
            if name in words:
                flat = words_of(flat, words[name])
            if flat.ndim == 1:
                table[name] = flat
                continue
            letters = "xyz" if flat.shape[1] == 3 else "ab" if flat.shape[1] == 2 else range(flat.shape[1])
            table |= {f"{name}_{letter}": flat[:, k] for k, letter in enumerate(letters)}
        return table

    def _say(self) -> list[str]:
        """What a reader wants to know beside how many rows there are."""
        return []

    def __repr__(self) -> str:
        return f"{_name(self)}({', '.join([self._say_rows(), *self._say(), *self._say_words()])})"

    def _say_rows(self) -> str:
        return f"{' x '.join(f'{n:,}' for n in self._shape())} {_plural(self._unit, self._shape())}"

    def _say_words(self) -> list[str]:
        said = []
        for name, words in self._words:
            said += say_codes(getattr(self, name), words)
        return said


def say_codes(codes: npt.NDArray[Any], words: type[IntEnum]) -> list[str]:
    """How many there are of each code, in words."""
    found, counts = np.unique(codes, return_counts=True)
    return [f"{n:,} {words(int(code)).name.lower().replace('_', ' ')}" for code, n in zip(found, counts, strict=True)]


def _name(found: Columns) -> str:
    """Of the public class: single calls have classes of their own, for speed."""
    kind = type(found)
    return next(base.__name__ for base in kind.__mro__ if "__dataclass_fields__" in vars(base))


def _python(value: Any) -> Any:
    """A number as Python has it."""
    return value.item() if isinstance(value, np.generic) else value


def _say_value(value: Any) -> str:
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, np.ndarray):
        return f"[{' '.join(f'{x:.4g}' for x in value.ravel())}]"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _plural(unit: str, shape: tuple[int, ...]) -> str:
    return unit if shape == (1,) else f"{unit}es" if unit.endswith("sh") else f"{unit}s"


def words_of(codes: npt.NDArray[Any], words: type[IntEnum]) -> npt.NDArray[Any]:
    """Names of codes, lower case."""
    names = np.array([word.name.lower() for word in words])
    order = np.array([int(word) for word in words])
    return np.asarray(names[np.searchsorted(order, codes)])


def extent(values: npt.NDArray[Any], words: str, unit: str, *, greatest: bool = False) -> list[str]:
    """ "nearest 0.2 m": the least of the finite values, or the greatest; nothing where there is none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return []
    return [f"{words} {float(finite.max() if greatest else finite.min()):.4g} {unit}".rstrip()]
