"""A field and a half-space, in closed form: what counts is the vertex of the field that is lowest along the half-space's
normal.

Ground without end is in every half-space whose normal has a part upwards in the field's frame: it overlaps with depth inf, as
two half-spaces do. Along any other normal the ground below the triangles is no lower than they are.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Bools, Floats
from thud._core.threads import run_rows
from thud.constants import TOUCH
from thud.convex.dispatch import empty_distances
from thud.mesh.manifolds.contacts import collect
from thud.mesh.manifolds.rows import ManifoldRows
from thud.mesh.manifolds.tolerances import PATCH_POINTS
from thud.pairing.families import CONVEX
from thud.pairing.motions import empty_impacts
from thud.results import CastStatus, Contacts, Distances, Impacts, Status
from thud.shapes.height_field import HeightField
from thud.shapes.shape import HALF_SPACE, Shape

#: Rows of a chunk (a count).
ROWS = 8


def is_half_space(shape: Shape) -> bool:
    """Whether a shape is a half-space."""
    return shape.family == CONVEX and shape.parts()[0].kind == HALF_SPACE


def _planes(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int
) -> tuple[Floats, Floats, Floats, Floats, Bools]:
    """(normal in the world, gap along it to the lowest vertex, that vertex in the world, touching, whether depth is inf)."""
    parameters = other.parts()[0].parameters
    rows_f, rows_o = np.broadcast_to(rows_f, (count, 12)), np.broadcast_to(rows_o, (count, 12))
    turn = rows_f[:, :9].reshape(-1, 3, 3)
    normal = rows_o[:, :9].reshape(-1, 3, 3) @ np.array(parameters[:3])
    local = np.einsum("nji,nj->ni", turn, normal)
    _, vertex = field.extremes(local)
    sinks = local[:, 2] > TOUCH
    if field.thickness is not None:
        vertex = vertex - np.where(local[:, 2] > 0.0, field.thickness, 0.0)[:, None] * [0.0, 0.0, 1.0]
        sinks = np.zeros(count, dtype=bool)
    apart = rows_f[:, 9:] - rows_o[:, 9:]
    turned = np.einsum("nij,nj->ni", turn, vertex)
    # The difference of the translations first: a common offset costs no digits.
    gap = np.einsum("ni,ni->n", normal, turned + apart) - parameters[3]
    size = np.abs(vertex).sum(axis=1) + np.abs(apart).sum(axis=1) + abs(parameters[3])
    return normal, np.where(sinks, -math.inf, gap), turned + rows_f[:, 9:], TOUCH * size, sinks


def intersects(field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int) -> Bools:
    """Whether they meet."""
    _, gap, _, touch, _ = _planes(field, other, rows_f, rows_o, count)
    return np.asarray(gap <= touch)


def distance(
    field: HeightField,
    other: Shape,
    rows_f: Floats,
    rows_o: Floats,
    count: int,
    *,
    reach: float = math.inf,
    signed: bool = False,
) -> Distances:
    """Distances; signed: negative in an overlap, -inf where there is no way out."""
    normal, gap, vertex, touch, sinks = _planes(field, other, rows_f, rows_o, count)
    out = empty_distances(count)
    met = gap <= touch
    out.status[:] = np.where(met, Status.OVERLAPPING, Status.SEPARATED)
    if not signed:
        gap = np.where(met, 0.0, gap)
    out.distance[:], out.normal[:], out.point_a[:] = gap, -normal, vertex
    out.point_b[:] = vertex - np.where(np.isfinite(gap), gap, 0.0)[:, None] * normal
    if not signed:
        out.normal[met] = 0.0
        out.point_a[sinks] = out.point_b[sinks] = _deep_points(field, other, rows_f, rows_o, count)[sinks]
    beyond = gap > reach
    out.distance[beyond], out.status[beyond] = math.inf, Status.SEPARATED
    out.point_a[beyond] = out.point_b[beyond] = out.normal[beyond] = 0.0
    return out


def _deep_points(field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int) -> Floats:
    """Points of the ground, straight below its first vertices, as deep as lies in the half-space."""
    parameters = other.parts()[0].parameters
    rows_f, rows_o = np.broadcast_to(rows_f, (count, 12)), np.broadcast_to(rows_o, (count, 12))
    turn = rows_f[:, :9].reshape(-1, 3, 3)
    normal = rows_o[:, :9].reshape(-1, 3, 3) @ np.array(parameters[:3])
    top = turn @ field.extremes(np.array([[0.0, 0.0, 1.0]]))[1][0] + rows_f[:, 9:]
    above = np.einsum("ni,ni->n", normal, top - rows_o[:, 9:]) - parameters[3]
    slope = np.einsum("ni,ni->n", normal, turn[:, :, 2])
    with np.errstate(divide="ignore", invalid="ignore"):
        down = np.where(slope > 0.0, np.maximum(above, 0.0) / slope, 0.0)
    return top - down[:, None] * turn[:, :, 2]


def contacts(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, margin: float, max_points: int,
    threads: int | None,
) -> Contacts:  # fmt: skip
    """Corners of the field in the half-space, or within the margin of it, spread out."""
    from thud.heightfield.half_space_rows import field_half_space_contact_rows

    plane = np.array(other.parts()[0].parameters[:4], dtype=np.float64)
    limit = min(max_points, PATCH_POINTS)

    def rows(poses_f: Floats, poses_o: Floats, _former: tuple[Floats, Floats], _room: int, out: ManifoldRows) -> None:
        arguments = (field.grid, plane, poses_f, poses_o, margin, limit, out)
        run_rows(field_half_space_contact_rows, len(out.counts), threads, *arguments, rows_per_chunk=ROWS)

    return collect(rows, rows_f, rows_o, None, None, count)


def cast(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats
) -> Impacts:
    """First contacts with motions (N, 3)."""
    found = distance(field, other, rows_f, rows_o, count)
    out = empty_impacts(count)
    out.time[:], out.point[:], out.normal[:], out.status[:] = math.inf, 0.0, 0.0, CastStatus.MISS
    met = found.status == Status.OVERLAPPING
    out.time[met], out.point[met], out.status[met] = 0.0, found.point_a[met], CastStatus.OVERLAPPING_AT_START
    # The field comes closer by this much over the step; the normal points from it to the half-space.
    closer = np.einsum("ni,ni->n", found.normal, np.broadcast_to(move_a - move_b, (count, 3)))
    hit = ~met & (closer > 0.0) & (found.distance <= closer)
    time = found.distance[hit] / closer[hit]
    out.time[hit], out.normal[hit], out.status[hit] = time, found.normal[hit], CastStatus.HIT
    out.point[hit] = found.point_a[hit] + time[:, None] * np.broadcast_to(move_a, (count, 3))[hit]
    return out
