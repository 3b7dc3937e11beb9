"""Convex shapes and compounds of them: what the pair table calls. Two shapes are packed together, then see `dispatch.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.convex import dispatch
from thud.gates import unit
from thud.pairing.pair_cache import LeafCache
from thud.results import ClosestPoints, Contacts, Distances, RayCrossings, RayHits
from thud.shapes.packed import Packed, pack, pack_now
from thud.shapes.shape import SPHERE, Part, Shape
from thud.shapes.sphere import Sphere

#: The table of a batch in which all rows compare the same two shapes.
PAIR: Ints = np.array([[0, 1]], dtype=np.int64)

#: All rows ask the first shape.
FIRST: Ints = np.zeros(1, dtype=np.int64)


def intersects(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, threads: int | None,
    axes: Floats = dispatch.NO_AXES, method: str = "gjk", features: LeafCache | None = None,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Whether the two meet."""
    options = {"axes": axes, "method": method, "walks": features, "threads": threads}
    return dispatch.intersects(pack((a, b)), PAIR, rows_a, rows_b, 0, count, **options)  # type: ignore[arg-type]


def distance(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, reach: float = np.inf, threads: int | None,
    axes: Floats = dispatch.NO_AXES, method: str = "gjk", features: LeafCache | None = None,
) -> Distances:  # fmt: skip
    """Unsigned distances."""
    options = {"max_distance": reach, "axes": axes, "method": method, "walks": features, "threads": threads}
    return dispatch.distance(pack((a, b)), PAIR, rows_a, rows_b, 0, count, **options)  # type: ignore[arg-type]


def signed_distance(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, reach: float = np.inf, threads: int | None,
    axes: Floats = dispatch.NO_AXES, method: str = "gjk", features: LeafCache | None = None,
) -> Distances:  # fmt: skip
    """Signed distances; of compounds the deepest pair of parts."""
    options = {"max_distance": reach, "axes": axes, "method": method, "walks": features, "threads": threads, "signed": True}
    return dispatch.distance(pack((a, b)), PAIR, rows_a, rows_b, 0, count, **options)  # type: ignore[arg-type]


def contacts(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, margin: float, max_points: int, threads: int | None
) -> Contacts:
    """Contact points; each pair of parts is a patch."""
    options = {"margin": margin, "max_points": max_points, "threads": threads}
    return dispatch.contacts(pack((a, b)), PAIR, rows_a, rows_b, 0, count, **options)  # type: ignore[arg-type]


def raycast(
    shape: Shape, origins: Floats, directions: Floats, rows: Floats, count: int, *,
    reach: float, any_hit: bool, threads: int | None,
) -> RayHits:  # fmt: skip
    """First hits, or any."""
    from thud.convex.rows.raycast import raycast_rows

    out = RayHits(np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty(count, dtype=np.int64))
    fields = (out.distance, out.point, out.normal, out.triangle)
    arguments = (pack((shape,)), origins, unit(directions), rows, reach, int(any_hit))
    run_rows(raycast_rows, count, threads, *arguments, *fields)
    return out


def raycast_all(
    shape: Shape, origins: Floats, directions: Floats, rows: Floats, count: int, *, reach: float, threads: int | None
) -> RayCrossings:
    """All crossings."""
    from thud.convex.rows.raycast_all import raycast_all_convex

    return raycast_all_convex(pack((shape,)), FIRST, origins, unit(directions), rows, count, reach, threads)


def crossings_of_many(
    shapes: tuple[Shape, ...], which: Ints, origins: Floats, directions: Floats, rows: Floats, reach: float, threads: int | None
) -> RayCrossings:
    """The same for rows of many shapes, `which` of them each row asks; directions of unit length."""
    from thud.convex.rows.raycast_all import raycast_all_convex

    return raycast_all_convex(pack_now(shapes), which, origins, directions, rows, len(which), reach, threads)


def contains(
    shape: Shape, points: Floats, rows: Floats, count: int, *, threads: int | None, method: str = "parts"
) -> npt.NDArray[np.bool_]:
    """Whether points lie in any part."""
    from thud.convex.rows.closest_point import contains_rows

    inside = np.empty(count, dtype=np.bool_)
    run_rows(contains_rows, count, threads, pack((shape,)), points, rows, inside)
    return inside


class _Point(Sphere):
    """A single point as a part: what closest_point compares a hull with."""

    def __init__(self) -> None:
        """A sphere of radius 0, which users cannot make."""

    def parts(self) -> list[Part]:
        """One point."""
        return [Part(SPHERE, (), 0.0, np.zeros(3), 0.0)]


_POINT = _Point()


def closest_point(
    shape: Shape, points: Floats, rows: Floats, count: int, *, signed: bool, threads: int | None
) -> ClosestPoints:
    """Closest points of the parts' surfaces."""
    return closest_points(pack((shape, _POINT)), FIRST, points, rows, count, signed, threads)


def closest_of_many(
    shapes: tuple[Shape, ...], which: Ints, points: Floats, rows: Floats, signed: bool, threads: int | None
) -> ClosestPoints:
    """The same for rows of many shapes: `which` of them each row asks."""
    return closest_points(pack_now((*shapes, _POINT)), which, points, rows, len(which), signed, threads)


def closest_points(
    packed: Packed, which: Ints, points: Floats, rows: Floats, count: int, signed: bool, threads: int | None
) -> ClosestPoints:
    """Of packed shapes, the last of which is a single point."""
    from thud.convex.rows.closest_point import closest_rows

    out = ClosestPoints(np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64))
    fields = (out.distance, out.point, out.triangle)
    run_rows(closest_rows, count, threads, packed, which, points, rows, int(signed), *fields)
    return out
