"""A field and a half-space, in closed form: what counts is the vertex of the field that is lowest along the half-space's
normal.

Ground without end is in every half-space whose normal has a part upwards in the field's frame: it overlaps with depth inf, as
two half-spaces do. Along any other normal the ground below the triangles is no lower than they are.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Bools, Floats
from thud.constants import TOUCH
from thud.convex.dispatch import empty_distances
from thud.pairing.contact_points import feature_ids, spread_points
from thud.pairing.families import CONVEX
from thud.pairing.join import empty_contacts
from thud.pairing.motions import empty_impacts
from thud.results import CastStatus, Contacts, Distances, Impacts, Status
from thud.shapes.height_field import HeightField
from thud.shapes.shape import HALF_SPACE, Shape

#: Deepest vertices that contact points are chosen from (a count).
_CANDIDATES = 256


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
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, margin: float, max_points: int
) -> Contacts:
    """Vertices of the field in the half-space, or within the margin of it, spread out."""
    normal, gap, _, touch, sinks = _planes(field, other, rows_f, rows_o, count)
    status = np.where(gap <= touch, Status.OVERLAPPING, Status.SEPARATED).astype(np.uint8)
    rows_f, rows_o = np.broadcast_to(rows_f, (count, 12)), np.broadcast_to(rows_o, (count, 12))
    chosen = np.flatnonzero((gap <= np.maximum(margin, touch)) & ~sinks)
    if len(chosen) == 0:
        return empty_contacts(status)
    vertices = field.surface()[0]
    found = []
    for row in chosen.tolist():
        turn, up = rows_f[row, :9].reshape(3, 3), normal[row]
        points = vertices @ turn.T + (rows_f[row, 9:] - rows_o[row, 9:])
        if field.thickness is not None and up @ turn[:, 2] > 0.0:
            points = points - field.thickness * turn[:, 2]
        depth = other.parts()[0].parameters[3] - points @ up
        below = np.flatnonzero(depth >= -max(margin, touch[row]))
        below = below[np.argsort(-depth[below], kind="stable")[:_CANDIDATES]]
        kept = below[spread_points(points[below], depth[below], -up, max_points)]
        for k in kept.tolist():
            # Midway between the vertex and the plane, which lies along the half-space's normal from it.
            found.append((row, points[k] + rows_o[row, 9:] + 0.5 * depth[k] * up, -up, float(depth[k]), k))
    columns = list(zip(*found, strict=True))
    rows, vertex = (np.array(columns[k], dtype=np.int64) for k in (0, 4))
    feature = feature_ids(vertex, np.zeros_like(vertex))
    point, normal, depth = (np.array(columns[k]) for k in (1, 2, 3))
    return Contacts(rows, point, normal, depth, feature, np.zeros(len(rows), np.int64), status)


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
