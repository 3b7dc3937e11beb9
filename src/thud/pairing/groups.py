"""Rows of many pairs of shapes: packed ones as one batch, the others in groups of the same two shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.pairing.ask import ask_pair
from thud.pairing.families import PACKED
from thud.pairing.join import joined_contacts, put_rows
from thud.results import Contacts, Distances
from thud.shapes.shape import Shape


def equal_rows(kinds: Ints) -> Iterator[Ints]:
    """Rows of (M,) or (M, 2) whole numbers that are equal, group by group in the order of the numbers."""
    if len(kinds) == 0:
        return
    columns = kinds.reshape(len(kinds), -1)
    order = np.lexsort(columns.T[::-1])
    change = (np.diff(columns[order], axis=0) != 0).any(axis=1)
    yield from np.split(order, np.flatnonzero(change) + 1)


def shape_numbers(shapes: Sequence[Shape]) -> Ints:
    """(S,) which shapes are the same object, by the first one's row."""
    number: dict[int, int] = {}
    return np.array([number.setdefault(id(shape), k) for k, shape in enumerate(shapes)], dtype=np.int64)


def unpacked_rows(shapes: Sequence[Shape], pairs: Ints) -> npt.NDArray[np.bool_]:
    """(M,) pairs of which at least one shape is not described by packed arrays."""
    unpacked = np.array([shape.family not in PACKED for shape in shapes], dtype=np.bool_)
    return unpacked[pairs[:, 0]] | unpacked[pairs[:, 1]]


def ask_groups(
    query: str, shapes: Sequence[Shape], pairs: Ints, rows: Floats, chosen: Ints, put: Callable[[Ints, Any], None], **given: Any
) -> None:
    """The chosen of (M, 2) pairs in each configuration of the shapes, two shapes at a time; put(rows, their answer). `rows`:
    poses of the first configuration's shapes, those of the second's, and so on; the rows of answers likewise."""
    kinds = shape_numbers(shapes)[pairs[chosen]]
    configurations = np.arange(len(rows) // len(shapes))[:, None]
    for group in equal_rows(kinds):
        here = chosen[group]
        a, b = (shapes[k] for k in pairs[here[0]])
        rows_a, rows_b = (rows[(len(shapes) * configurations + pairs[here, k]).ravel()] for k in range(2))
        answers = (len(pairs) * configurations + here).ravel()
        put(answers, ask_pair(query, a, b, rows_a, rows_b, len(answers), **given))


class ContactList:
    """Contacts of many batches, by their rows in all pairs."""

    def __init__(self, count: int) -> None:
        self.status = np.zeros(count, dtype=np.uint8)
        self.found: list[Contacts] = []

    def put(self, rows: Ints, part: Contacts) -> None:
        """Take over those of a batch, whose row k is rows[k]."""
        self.status[rows] = part.status
        self.found.append(replace(part, row=rows[part.row]))

    def joined(self) -> Contacts:
        """All of them, by row."""
        return joined_contacts(self.found, self.status)


def put_distances(out: Distances) -> Callable[[Ints, Distances], None]:
    """Writes the rows of batches into `out`."""
    return lambda rows, part: put_rows(out, rows, part)
