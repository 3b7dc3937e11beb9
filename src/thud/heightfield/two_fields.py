"""Two height fields: one that has a thickness is taken as a closed mesh. For the pair table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from thud._core.arrays import Bools, Floats
from thud.errors import UnboundedShapeError
from thud.heightfield import contacts as contact_queries
from thud.heightfield import depth, queries, turning
from thud.pairing.swap import SWAPPED
from thud.results import Contacts, Distances, Impacts
from thud.shapes.height_field import HeightField
from thud.shapes.triangle_mesh import TriangleMesh


@lru_cache(maxsize=16)
def solid_mesh(field: HeightField) -> TriangleMesh:
    """Of a field with a thickness."""
    return field.to_mesh()


def _asked(
    query: str, function: Callable[..., Any], a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int,
    given: dict[str, Any],
) -> Any:  # fmt: skip
    if b.thickness is not None:
        return function(a, solid_mesh(b), rows_a, rows_b, count, **given)
    if a.thickness is None:
        raise UnboundedShapeError(
            f"{query}: a, b: both are HeightFields without end, which reach each other however deep; give one of them a "
            "thickness"
        )
    other = {"a": "b", "b": "a"}
    turned = {f"{name[:-1]}{other[name[-1]]}" if name[-2:] in ("_a", "_b") else name: value for name, value in given.items()}
    return SWAPPED[query](function(b, solid_mesh(a), rows_b, rows_a, count, **turned))


def intersects(a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int, **given: Any) -> Bools:
    """Whether two fields meet."""
    return _asked("intersects", queries.intersects, a, b, rows_a, rows_b, count, given)


def distance(a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int, **given: Any) -> Distances:
    """Unsigned distances."""
    return _asked("distance", queries.distance, a, b, rows_a, rows_b, count, given)


def signed_distance(a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int, **given: Any) -> Distances:
    """Signed distances."""
    return _asked("signed_distance", depth.signed_distance, a, b, rows_a, rows_b, count, given)


def contacts(a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int, **given: Any) -> Contacts:
    """Contact points."""
    return _asked("contacts", contact_queries.contacts, a, b, rows_a, rows_b, count, given)


def cast(a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int, **given: Any) -> Impacts:
    """First contacts with motions (N, 3)."""
    return _asked("cast", queries.cast, a, b, rows_a, rows_b, count, given)


def turning_cast(a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int, **given: Any) -> Impacts:
    """First contacts with motions (N, 6)."""
    return _asked("turning_cast", turning.turning_cast, a, b, rows_a, rows_b, count, given)
