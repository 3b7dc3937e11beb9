"""Families: what the code of pairs distinguishes of shapes. A shape says its own (`Shape.family`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thud.errors import InvalidInputError
from thud.gates import kind_of
from thud.shapes.shape import Shape

CONVEX, PARTS, MESH, FIELD, SURFACE, TERRAIN, MIXED = "convex", "parts", "mesh", "field", "surface", "terrain", "mixed"

#: In words. A compound of convex shapes alone is a family of its own: kernels know it as a run of parts with a tree.
NAMES = {
    CONVEX: "convex shape",
    PARTS: "Compound of convex shapes",
    MESH: "TriangleMesh",
    FIELD: "HeightField",
    SURFACE: "DisplacedSurface",
    TERRAIN: "Terrain",
    MIXED: "Compound with a mesh, field or surface inside",
}

FAMILIES = tuple(NAMES)

#: Those that packed arrays describe: rows of any of them are one batch of the convex kernels.
PACKED = frozenset({CONVEX, PARTS})

#: Those that can be taken apart into leaves.
COMPOUND = frozenset({PARTS, MIXED})


def as_shape(value: Any, name: str) -> Shape:
    """The gate of every shape argument."""
    if not isinstance(value, Shape):
        raise InvalidInputError(f"{name}: expected a thud shape, got {kind_of(value)}")
    return value


def as_shapes(values: Any, name: str) -> tuple[Shape, ...]:
    """The gate of every list of shapes."""
    if isinstance(values, Shape) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name}: expected a list of thud shapes, got a {type(values).__name__}")
    return tuple(as_shape(value, f"{name}: row {row}") for row, value in enumerate(values))


def as_family(value: Any, name: str, family: str) -> Any:
    """A shape of one family."""
    if not isinstance(value, Shape) or value.family != family:
        raise InvalidInputError(f"{name}: expected a {NAMES[family]}, got a {type(value).__name__}")
    return value
