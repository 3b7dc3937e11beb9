"""Queries of a height field and a convex shape or a mesh, from checked arguments to kernels; the field is A. For the pair
table."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Bools, Floats
from thud._core.threads import run_rows
from thud.convex.dispatch import empty_distances
from thud.heightfield import half_space
from thud.heightfield.half_space import is_half_space
from thud.heightfield.objects import field_object
from thud.mesh.dispatch import contained
from thud.pairing.families import MESH
from thud.pairing.leaves import some_rows
from thud.pairing.motions import empty_impacts
from thud.pairing.rows import distance_fields, impact_fields
from thud.results import CastStatus, Distances, Impacts, Status
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Shape

#: Rows that are worth a hand-over to another thread: each takes a microsecond or a few.
ROWS = 64


def intersects(field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, threads: int | None) -> Bools:
    """Whether the shape touches the ground, or holds a part of it."""
    if is_half_space(other):
        return half_space.intersects(field, other, rows_f, rows_o, count)
    from thud.heightfield.rows import field_intersects_rows

    status = np.empty(count, dtype=np.uint8)
    arguments = (field.grid, field_object(other), rows_f, rows_o, status)
    run_rows(field_intersects_rows, count, threads, *arguments, rows_per_chunk=ROWS)
    hit = np.asarray(status != Status.SEPARATED)
    rows = np.flatnonzero(~hit)
    if len(rows):
        hit[rows] = _inside(field, other, rows_f, rows_o, rows, count, threads)[0]
    return hit


def ground_inside(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, threads: int | None
) -> tuple[Bools, Floats]:
    """(whether a connected part of the ground lies inside a closed mesh, a common point): what no triangle shows. Ground
    without end lies inside nothing."""
    if other.family != MESH or field.thickness is None:
        return np.zeros(count, dtype=bool), np.zeros((count, 3))
    return contained(other, field.component_points, rows_o, rows_f, count, threads)  # type: ignore[arg-type]


def _inside(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, rows: np.ndarray, count: int, threads: int | None
) -> tuple[Bools, Floats]:
    """The same of some rows."""
    return ground_inside(field, other, some_rows(rows_f, rows, count), some_rows(rows_o, rows, count), len(rows), threads)


def distance(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, reach: float = np.inf, threads: int | None
) -> Distances:
    """Unsigned distances with witness points."""
    if is_half_space(other):
        return half_space.distance(field, other, rows_f, rows_o, count, reach=reach)
    from thud.heightfield.rows import field_distance_rows

    out = empty_distances(count)
    arguments = (field.grid, field_object(other), rows_f, rows_o, reach, distance_fields(out))
    run_rows(field_distance_rows, count, threads, *arguments, rows_per_chunk=ROWS)
    apart = np.flatnonzero(out.distance > 0.0)
    if len(apart):
        inside, where = _inside(field, other, rows_f, rows_o, apart, count, threads)
        rows = apart[inside]
        out.distance[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, Status.OVERLAPPING
        out.point_a[rows] = out.point_b[rows] = where[inside]
    return out


def cast(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats,
    threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 3)."""
    if is_half_space(other):
        return half_space.cast(field, other, rows_f, rows_o, count, move_a=move_a, move_b=move_b)
    from thud.heightfield.rows import field_cast_rows

    out = empty_impacts(count)
    arguments = (field.grid, field_object(other), rows_f, rows_o, move_a, move_b, impact_fields(out))
    run_rows(field_cast_rows, count, threads, *arguments, rows_per_chunk=ROWS)
    return with_inside(out, field, other, rows_f, rows_o, count, threads)


def with_inside(
    out: Impacts, field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, threads: int | None
) -> Impacts:
    """Rows in which ground lies inside a closed mesh at the start."""
    open_rows = np.flatnonzero(out.status != CastStatus.OVERLAPPING_AT_START)
    if len(open_rows):
        inside, where = _inside(field, other, rows_f, rows_o, open_rows, count, threads)
        rows = open_rows[inside]
        out.time[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, CastStatus.OVERLAPPING_AT_START
        out.point[rows] = where[inside]
    return out
