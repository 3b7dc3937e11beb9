"""How deep a shape is in the ground: a short translation after which the two are apart.

Straight up there is always a way out. It is gone to its end and back to the first contact; then other directions are looked in
which the shape is free a little before the length of the best way so far, and those ways are gone back along too; then
directions closer and closer about the best. What is returned was found free by the cast that led to it. All rows take part
together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.heightfield import half_space
from thud.heightfield.half_space import is_half_space
from thud.heightfield.tolerances import (
    CLEAR_ROOM,
    DEPTH_ANGLE,
    DEPTH_BETTER,
    DEPTH_BLOCK,
    DEPTH_DIRECTIONS,
    DEPTH_NO_WORSE,
    DEPTH_ROUNDS,
    DEPTH_SHRINK,
)
from thud.mesh import depth as mesh_depth
from thud.mesh.depth import sphere_directions
from thud.pairing.ask import ask_pair
from thud.pairing.leaves import some_rows
from thud.results import CastStatus, Distances, Status
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Shape

_STILL = np.zeros((1, 3))


def signed_distance(
    field: HeightField,
    other: Shape,
    rows_f: Floats,
    rows_o: Floats,
    count: int,
    *,
    reach: float = math.inf,
    threads: int | None,
) -> Distances:
    """Signed distances of a field and any shape that can be cast against it: in an overlap the negative length of a
    translation of the shape, along the normal, after which the two are apart."""
    if is_half_space(other):
        return half_space.distance(field, other, rows_f, rows_o, count, reach=reach, signed=True)
    if not other.bounding_sphere()[1] < math.inf:
        # A compound that holds a half-space: out along that.
        return mesh_depth.signed_distance(field, other, rows_f, rows_o, count, reach=reach, threads=threads)
    out = ask_pair("distance", field, other, rows_f, rows_o, count, reach=reach, threads=threads)
    met = np.flatnonzero(out.distance == 0.0)
    for start in range(0, len(met), DEPTH_BLOCK):
        rows = met[start : start + DEPTH_BLOCK]
        search = _Search(field, other, some_rows(rows_f, rows, count), some_rows(rows_o, rows, count), len(rows), threads)
        search.run()
        length = np.linalg.norm(search.shift, axis=1)
        out.distance[rows], out.point_a[rows], out.point_b[rows] = -length, search.point, search.point - search.shift
        out.normal[rows] = np.where(
            length[:, None] > 0.0, search.shift / np.where(length > 0.0, length, 1.0)[:, None], search.turn[:, :, 2]
        )
        out.status[rows] = Status.OVERLAPPING
    return out


class _Search:
    """Rows that overlap, and the shortest way out of each so far."""

    def __init__(
        self, field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, threads: int | None
    ) -> None:
        self.field, self.other, self.threads = field, other, threads
        self.rows_f, self.rows_o = np.broadcast_to(rows_f, (count, 12)), np.broadcast_to(rows_o, (count, 12))
        self.turn = self.rows_f[:, :9].reshape(-1, 3, 3)
        self.shift, self.point, self.length = np.zeros((count, 3)), np.zeros((count, 3)), np.full(count, math.inf)

    def _asked(self, query: str, rows: Ints, shifts: Floats, **given: Any) -> Any:
        moved = self.rows_o[rows].copy()
        moved[:, 9:] += shifts
        poses = np.ascontiguousarray(self.rows_f[rows])
        return ask_pair(query, self.field, self.other, poses, moved, len(rows), threads=self.threads, **given)

    def back(self, rows: Ints, shifts: Floats) -> None:
        """Each translation, after which row rows[k] is free, shortened until the two touch; the best of each row is kept."""
        if len(rows) == 0:
            return
        found = self._asked("cast", rows, shifts, move_a=_STILL, move_b=-shifts)
        time = np.where(found.status == CastStatus.MISS, 1.0, np.minimum(found.time, 1.0))
        ends = shifts * (1.0 - time)[:, None]
        length = np.linalg.norm(ends, axis=1)
        # Where a cast found no contact there is no point to report.
        length[found.status == CastStatus.UNCONVERGED] = math.inf
        order = np.lexsort((length, rows))
        first = order[np.unique(rows[order], return_index=True)[1]]
        better = first[length[first] < self.length[rows[first]]]
        at = rows[better]
        self.length[at], self.shift[at], self.point[at] = length[better], ends[better], found.point[better]

    def attempt(self, rows: Ints, directions: Floats, part: Floats) -> None:
        """Look along unit directions (K, D, 3) of rows (K,) at these parts (K,) of their best length."""
        many = directions.shape[1]
        each, shifts = np.repeat(rows, many), (directions * (part * self.length[rows])[:, None, None]).reshape(-1, 3)
        free = ~self._asked("intersects", each, shifts)
        self.back(each[free], shifts[free])

    def run(self) -> None:
        """All of it."""
        count = len(self.length)
        rows, up = np.arange(count), self.turn[:, :, 2]
        center, radius = self.other.bounding_sphere()
        # The middle of the other shape in the field's frame.
        world = self.rows_o[:, :9].reshape(-1, 3, 3) @ center + self.rows_o[:, 9:] - self.rows_f[:, 9:]
        local = np.einsum("nji,nj->ni", self.turn, world)
        middle, extent = self.field.top_ball
        top = -float(self.field.extremes(np.array([[0.0, 0.0, -1.0]]))[0][0])
        rise = np.maximum(top - local[:, 2] + radius, 0.0)
        rise += CLEAR_ROOM * (rise + radius + extent + np.abs(middle).max() + np.abs(local).max(axis=1))
        self.length, self.shift, self.point = rise, rise[:, None] * up, world + self.rows_f[:, 9:]
        self.back(rows, self.shift.copy())
        walls = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])
        around = sphere_directions(2 * DEPTH_DIRECTIONS)
        if self.field.thickness is None:
            around = around[around[:, 2] > 0.0]
        own = _surface_normals(self.field, local, radius)
        if self.field.thickness is not None:
            own, walls = np.concatenate([own, -own], axis=1), np.concatenate([walls, [[0.0, 0.0, -1.0]]])
        fixed = np.broadcast_to(np.concatenate([walls, around]), (count, len(walls) + len(around), 3))
        directions = np.einsum("nij,ndj->ndi", self.turn, np.concatenate([own, fixed], axis=1))
        self.attempt(rows, directions, np.full(count, DEPTH_BETTER))
        angle = np.full(count, DEPTH_ANGLE)
        for _ in range(DEPTH_ROUNDS):
            live = np.flatnonzero(self.length > 0.0)
            if len(live) == 0:
                break
            before = self.length[live].copy()
            ring = _ring(self.shift[live] / before[:, None], angle[live])
            self.attempt(live, ring, 1.0 - 0.1 * angle[live] ** 2)
            angle[live] *= np.where(self.length[live] < before, 1.0, DEPTH_SHRINK)
        # The refinement comes near to the bottom of a basin; a triangle's own normal is the bottom, where it is one.
        live = np.flatnonzero(self.length > 0.0)
        if len(live):
            self.attempt(live, directions[live, : own.shape[1]], np.full(len(live), DEPTH_NO_WORSE))


def _ring(along: Floats, angle: Floats) -> Floats:
    """(K, 6, 3) unit directions round each of (K, 3), at its angle."""
    least = np.eye(3)[np.argmin(np.abs(along), axis=1)]
    u = np.cross(along, least)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(along, u)
    turn = np.arange(6) * (math.pi / 3.0)
    ring = np.cos(turn)[:, None] * u[:, None] + np.sin(turn)[:, None] * v[:, None]
    out = along[:, None] + np.tan(angle)[:, None, None] * ring
    return out / np.linalg.norm(out, axis=2, keepdims=True)


def _surface_normals(field: HeightField, local: Floats, radius: float) -> Floats:
    """(N, 10, 3) normals of the field's triangles about places in its frame: both of the cell there and of four about it."""
    heights, scale = np.asarray(field.heights), field.scale
    x, y = np.asarray(field.spacing).tolist()
    across = np.array([[0.0, 0.0], [0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]]) * radius
    places = local[:, None, :2] - field.grid.origin[:2] + across
    i = np.clip(np.floor(places[..., 0] / x), 0, field.grid.columns - 1).astype(np.int64)
    j = np.clip(np.floor(places[..., 1] / y), 0, field.grid.rows - 1).astype(np.int64)
    a, b, c, d = (
        np.where(heights[q, p] == field.hole, np.nan, heights[q, p].astype(np.float64)) if field.hole is not None
        else heights[q, p].astype(np.float64)
        for q, p in ((j, i), (j, i + 1), (j + 1, i), (j + 1, i + 1))
    )  # fmt: skip
    one = np.ones_like(a)
    normals = [np.stack([-(b - a) * scale / x, -(d - b) * scale / y, one], axis=-1)]
    normals.append(np.stack([-(d - c) * scale / x, -(c - a) * scale / y, one], axis=-1))
    found = np.concatenate(normals, axis=1)
    found = np.where(np.isfinite(found).all(axis=-1, keepdims=True), found, [0.0, 0.0, 1.0])
    return found / np.linalg.norm(found, axis=-1, keepdims=True)
