"""Colliders made ready for kernels: elementary ones as one set of arrays with a tree, each of the others by itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.element import Element
from thud.particles.colliders.element_arrays import COLLIDER, ElementArrays, pack_elements


@runtime_checkable
class HasElements(Protocol):
    """A collider made of planes and quadrics."""

    def elements(self) -> list[Element]:
        """Its planes and quadrics."""
        ...


class ColliderSet:
    """Colliders, made ready once. A list of colliders serves wherever a set does; a set saves the making.

    Parameters
    ----------
    colliders : colliders of `thud.particles`; also plain shapes, meshes and displaced surfaces, which stand at the origin
    """

    def __init__(self, colliders: Iterable[Any]) -> None:
        self.colliders: tuple[Collider, ...] = tuple(as_collider(c, row) for row, c in enumerate(colliders))

    def __repr__(self) -> str:
        return f"ColliderSet({len(self)} colliders)"

    def __len__(self) -> int:
        return len(self.colliders)

    @cached_property
    def materials(self) -> Floats:
        """(C, 2) restitution and friction."""
        return np.array([[c.restitution, c.friction] for c in self.colliders]).reshape(-1, 2)

    @cached_property
    def elements(self) -> ElementArrays:
        """All planes and quadrics."""
        return pack_elements([(k, c.elements()) for k, c in enumerate(self.colliders) if isinstance(c, HasElements)])

    @cached_property
    def first_elements(self) -> Ints:
        """(C,) row of each collider's first plane or quadric; -1 for those that are not made of them."""
        first = np.full(len(self), -1, np.int64)
        owner = self.elements.ints[:, COLLIDER]
        rows = np.flatnonzero(np.diff(owner, prepend=-1))
        first[owner[rows]] = rows
        return first

    @cached_property
    def others(self) -> tuple[tuple[int, Any], ...]:
        """Colliders with a kernel of their own, and their places; meshes first: they are never in doubt, and the others clear
        the doubt of a row that they improve."""
        others = [(k, c) for k, c in enumerate(self.colliders) if not isinstance(c, HasElements)]
        return tuple(sorted(others, key=lambda pair: pair[1].may_doubt))

    def make_ready(self) -> None:
        """Make all arrays, before threads share them: the making of some is spread over the same threads, which must not wait
        for each other there."""
        _ = self.materials, self.elements, self.first_elements
        for _place, collider in self.others:
            _ = collider.arrays

    def earliest(self, rows: int, paths: Any, came: Any, last: Any, time: Any, hit: Any, normal: Any, status: Any) -> None:
        """Improve the earliest crossing of each of the first rows (see `flights.py`)."""
        from thud.particles.crossings.element_rows import element_rows

        if len(self.elements.ints):
            element_rows(0, rows, self.elements, paths, came, last, time, hit, normal)
        for place, collider in self.others:
            collider.earliest(rows, place, paths, came, last, time, hit, normal, status)

    def earliest_dragged(
        self, rows: int, paths: Any, came: Any, last: Any, time: Any, hit: Any, normal: Any, status: Any
    ) -> None:
        """`earliest` where some of the paths have drag: those, and the others as if they were alone."""
        from thud.particles.crossings.drag_elements import dragged_element_rows
        from thud.particles.crossings.path_columns import PATH_DRAG

        columns = (paths, came, last, time, hit, normal, status)
        dragged = paths[:rows, PATH_DRAG] != 0.0
        for drag in (False, True):
            chosen = np.flatnonzero(dragged == drag)
            if not len(chosen):
                continue
            part = [column[chosen] for column in columns]
            if drag:
                # Elements last: what they improve is no longer in doubt, which meshes leave as it is.
                for place, collider in self.others:
                    collider.earliest(len(chosen), place, *part)
                if len(self.elements.ints):
                    dragged_element_rows(0, len(chosen), self.elements, *part)
            else:
                self.earliest(len(chosen), *part)
            for column, values in zip(columns[3:], part[3:]):
                column[chosen] = values


def as_set(colliders: Any) -> ColliderSet:
    """A set from a set, a list of colliders, or one collider."""
    if isinstance(colliders, ColliderSet):
        return colliders
    if isinstance(colliders, (list, tuple)):
        return ColliderSet(colliders)
    return ColliderSet([colliders])


def as_collider(value: Any, row: int) -> Collider:
    """A collider from itself or from a shape at the origin."""
    from thud.pairing.plans import refuse, resolve, shape_plan
    from thud.shapes.shape import Shape

    if isinstance(value, Collider):
        return value
    if not isinstance(value, Shape):
        raise InvalidInputError(
            f"colliders: row {row} is a {type(value).__name__}; expected a collider of thud.particles or a shape"
        )
    plan = shape_plan("collider", value.family)
    if plan.entry is None:
        raise refuse(f"colliders: row {row}", plan)
    return resolve(plan.entry.function)(value)
