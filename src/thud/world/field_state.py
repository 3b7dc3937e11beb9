"""A height field as one run of reals and one of whole numbers, and back, to the last bit.

Whole numbers: type of the heights, rows, columns, 1 if there is a thickness, 1 if a number stands for holes, that number; then
the heights as they are in memory, so many to a number as fit. Reals: spacing, origin, scale, thickness.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.shapes.height_field import HeightField

#: Types of heights by their numbers: never renumbered.
_KINDS = ("<f8", "<f4", "<i2")

_SIZES = 6


def field_numbers(field: HeightField) -> tuple[Floats, Ints]:
    """(reals, whole numbers) of a field."""
    heights = np.asarray(field.heights)
    kind = [np.dtype(one) for one in _KINDS].index(heights.dtype.newbyteorder("<"))
    has_thickness, has_hole = field.thickness is not None, field.hole is not None
    sizes = np.array([kind, *heights.shape, has_thickness, has_hole, field.hole or 0], np.int64)
    data = np.ascontiguousarray(heights, dtype=_KINDS[kind]).tobytes()
    whole = np.frombuffer(data + bytes(-len(data) % 8), dtype="<i8").astype(np.int64)
    thickness = [field.thickness] if has_thickness else []
    reals = np.concatenate([np.asarray(field.spacing), np.asarray(field.origin), [field.scale], thickness])
    return reals, np.concatenate([sizes, whole])


def field_from(reals: Floats, ints: Ints) -> HeightField:
    """The field of these numbers; what is wrong is a named error. No array is larger than what was given."""
    if len(ints) < _SIZES or (ints[: _SIZES - 1] < 0).any() or ints[0] >= len(_KINDS) or (ints[3:5] > 1).any():
        raise InvalidInputError(f"a field: expected {_SIZES} numbers: type, rows, columns, thickness or not, hole or not, hole")
    kind, rows, columns, has_thickness, has_hole, hole = ints[:_SIZES].tolist()
    size = rows * columns * np.dtype(_KINDS[kind]).itemsize
    if len(ints) != _SIZES + -(-size // 8) or len(reals) != 6 + has_thickness:
        raise InvalidInputError(f"a field of {rows} x {columns} heights: got {len(reals)} reals and {len(ints)} whole numbers")
    data = ints[_SIZES:].astype("<i8").tobytes()[:size]
    heights = np.frombuffer(data, dtype=_KINDS[kind]).reshape(rows, columns)
    heights = heights.astype(heights.dtype.newbyteorder("="))
    thickness = float(reals[6]) if has_thickness else None
    return HeightField(heights, reals[:2], reals[2:5], thickness, float(reals[5]), hole if has_hole else None)
