"""What a field is compared with, as kernels read it: one convex part, or a mesh whose triangles are taken as parts one by one.

Part 0 is the convex shape, or a triangle to be written over; part 1 is a prism, the ground below one triangle of the field, to
be written over. Each thread has its own copy (`convex/own_parts.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud._core.decorators import view_device
from thud.bvh.height_tree import LEVELS
from thud.convex.own_parts import own_parts
from thud.mesh.mesh_convex import PlaceholderTriangle
from thud.mesh.trees import STACK, BoxTree, box_tree
from thud.pairing.families import MESH
from thud.shapes.convex_hull import ConvexHull
from thud.shapes.packed import Parts, pack
from thud.shapes.shape import Shape

#: The parts' places.
SHAPE, PRISM = 0, 1

_PRISM = ConvexHull(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, -1], [1, 0, -1], [1, 1, -1]]))
_TRIANGLE = PlaceholderTriangle()

#: In place of a mesh's tree: one leaf, the convex part itself.
_NO_TREE = BoxTree(np.zeros(48, np.float32), np.full(8, -1, dtype=np.int64), np.empty(0), np.zeros(3))


class FieldObject(NamedTuple):
    """A convex shape, or a mesh."""

    parts: Parts
    tree: BoxTree
    """Of the mesh; without corners for a convex shape."""


class FieldSpace(NamedTuple):
    """What walks write to. Each thread has its own."""

    stack: npt.NDArray[np.int64]
    """Nodes of the field that wait."""
    bounds: Floats
    """How near or how early they can be."""
    slots: npt.NDArray[np.uint64]
    """Slots of the mesh's tree that wait."""
    slot_bounds: Floats
    none: npt.NDArray[np.int64]
    """Without room: for walks whose finds are not asked for."""


@view_device
def own_object(other):
    """The same with parts of its own to write over."""
    return FieldObject(own_parts(other.parts), other.tree)


@view_device
def new_field_space():
    """Empty."""
    stack, bounds = np.empty(4 * LEVELS, np.int64), np.empty(4 * LEVELS)
    return FieldSpace(stack, bounds, np.empty(STACK, np.uint64), np.empty(STACK), np.empty(0, np.int64))


@lru_cache(maxsize=256)
def _parts_of(shape: Shape) -> Parts:
    return pack((shape, _PRISM)).parts


def field_object(shape: Shape) -> FieldObject:
    """Of one convex shape (a single part), or of a mesh."""
    if shape.family == MESH:
        return FieldObject(_parts_of(_TRIANGLE), box_tree(shape))  # type: ignore[arg-type]
    return FieldObject(_parts_of(shape), _NO_TREE)
