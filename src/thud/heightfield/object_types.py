"""The Numba types of `FieldObject` and `FieldSpace`, by which kernel signatures name them (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.heightfield.objects import FieldObject, FieldSpace
from thud.mesh.tree_types import BOX_TREE
from thud.shapes.packed_type import PARTS

FIELD_OBJECT = types.NamedTuple((PARTS, BOX_TREE), FieldObject)

_i1, _f1 = types.int64[::1], types.float64[::1]

#: stack, bounds, slots, slot_bounds, none
FIELD_SPACE = types.NamedTuple((_i1, _f1, types.uint64[::1], _f1, _i1), FieldSpace)
