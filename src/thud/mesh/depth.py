"""Penetration of meshes: a short translation of B after which A and B are disjoint.

For concave bodies the shortest one has no closed form. Every translation that leaves them disjoint bounds it from above,
and going back from there towards where B was, until they touch, improves the bound. So: from the hulls' EPA depth, which
clears everything, back to the first contact; then from directions all around, those that are free at what is the best so
far (a boolean query each, cheap) or a little beyond it, back to their first contact; then a pattern search about the best
few of these. The bound only ever falls, so that it never exceeds the hulls' depth, and what is returned has been found
disjoint by the cast that led to it.

Two meshes, and a convex shape and a mesh, are searched by a kernel (`mesh/way_out.py`), which takes less than a tenth of the
time; everything else that can be cast, here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Bools, Floats
from thud._core.threads import run_rows
from thud.constants import TINY
from thud.convex import dispatch
from thud.convex.queries import PAIR
from thud.errors import UnboundedShapeError
from thud.mesh.tolerances import (
    CLEAR_ATTEMPTS,
    CLEAR_FURTHER,
    CLEAR_LEAST,
    DEPTH_DIRECTIONS,
    DEPTH_FINEST,
    DEPTH_STARTS,
    DEPTH_STEPS,
    DEPTH_WIDER,
    LEAST_WAY_OUT,
    WAY_STARTS,
)
from thud.pairing.ask import ask_pair
from thud.pairing.families import MESH
from thud.pairing.leaves import leaves, some_rows
from thud.pairing.plans import resolve, shape_plan
from thud.results import CastStatus, Distances, Status
from thud.shapes.packed import pack
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh

_STILL = np.zeros((1, 3))


class Clearing(NamedTuple):
    """A way out for B, in the world."""

    shift: Floats
    """(3,) translation of B."""
    point: Floats
    """(3,) point of A where they then touch."""
    clears: bool
    """Whether B was found free of A on this way; if not, no way was."""


def signed_distance(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, reach: float = np.inf, threads: int | None = None
) -> Distances:
    """Signed distances of `count` rows, of any two shapes that can be cast: in an overlap the negative length of a
    translation of B, along the normal, after which the two are disjoint."""
    out = ask_pair("distance", a, b, rows_a, rows_b, count, reach=reach, threads=threads)
    for row in np.flatnonzero(out.distance == 0.0):
        pose_a, pose_b = some_rows(rows_a, np.array([row]), count), some_rows(rows_b, np.array([row]), count)
        found = clearing_translation(a, b, pose_a[:1], pose_b[:1], threads)
        depth = float(np.linalg.norm(found.shift))
        out.distance[row], out.point_a[row], out.point_b[row] = -depth, found.point, found.point - found.shift
        out.normal[row] = found.shift / depth if depth > 0.0 else _any_normal(a, b, pose_a, pose_b)
        out.status[row] = Status.OVERLAPPING if found.clears else Status.UNCONVERGED
    return out


def mesh_signed_distance(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *,
    reach: float = np.inf, threads: int | None = None,
) -> Distances:  # fmt: skip
    """The same of two meshes."""
    out = ask_pair("distance", a, b, rows_a, rows_b, count, reach=reach, threads=threads)
    return _with_depths(out, a, b, rows_a, rows_b, count, threads)


def convex_signed_distance(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *,
    reach: float = np.inf, threads: int | None = None,
) -> Distances:  # fmt: skip
    """The same of a convex shape and a mesh."""
    if half_spaces(a):
        return signed_distance(a, b, rows_a, rows_b, count, reach=reach, threads=threads)
    out = ask_pair("distance", a, b, rows_a, rows_b, count, reach=reach, threads=threads)
    return _with_depths(out, a, b, rows_a, rows_b, count, threads)


def _with_depths(
    out: Distances, a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, threads: int | None
) -> Distances:
    """The rows that overlap, which have the distance 0, with their depths."""
    rows = np.flatnonzero(out.distance == 0.0)
    if len(rows) == 0:
        return out
    poses = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
    shift, point, free = ways_out(a, b, *poses, len(rows), threads)
    depth = np.linalg.norm(shift, axis=1)
    deep = depth > 0.0
    out.distance[rows] = -depth
    # Where they only touch the common point stays.
    out.point_a[rows[deep]] = point[deep]
    out.point_b[rows] = out.point_a[rows] - shift
    out.normal[rows[deep]] = shift[deep] / depth[deep, None]
    for k in np.flatnonzero(~deep).tolist():
        pose_a, pose_b = (pose[min(k, len(pose) - 1)][None] for pose in poses)
        out.normal[rows[k]] = _any_normal(a, b, pose_a, pose_b)
    out.status[rows] = np.where(free, Status.OVERLAPPING, Status.UNCONVERGED)
    return out


def ways_out(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, threads: int | None,
    *, directions: int = DEPTH_DIRECTIONS, starts: int = WAY_STARTS,
) -> tuple[Floats, Floats, Bools]:  # fmt: skip
    """(translations of B, points of A, whether found free) of a mesh or a bounded convex shape and a mesh, in rows that
    overlap; see `way_out.way_out_rows`."""
    from thud.mesh.overlap_pair import convex_overlap_pair, overlap_pair
    from thud.mesh.way_out import way_out_rows

    pair = overlap_pair(a, b) if a.family == MESH else convex_overlap_pair(a, b)  # type: ignore[arg-type]
    first = hulls_parted(a, b, rows_a, rows_b, count, threads)
    shift, point, free = np.empty((count, 3)), np.empty((count, 3)), np.empty(count, dtype=np.bool_)
    arguments = (pair, rows_a, rows_b, first, mixed_directions(directions), starts, shift, point, free)
    run_rows(way_out_rows, count, threads, *arguments, rows_per_chunk=1)
    return shift, point, free


def hulls_parted(a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, threads: int | None) -> Floats:
    """(count, 3) translations of B that part the hulls; where these are not known to overlap a small one."""
    covers = convex_cover(a), convex_cover(b)
    found = dispatch.distance(pack(covers), PAIR, rows_a, rows_b, 0, count, signed=True, threads=threads)
    shift = -found.distance[:, None] * found.normal
    least = np.array([0.0, 0.0, CLEAR_LEAST * sum(cover.bounding_sphere()[1] for cover in covers)])
    good = (found.distance < 0.0) & np.isfinite(found.distance) & found.normal.any(axis=1)
    return np.where(good[:, None], shift, least)


def _any_normal(a: Shape, b: Shape, row_a: Floats, row_b: Floats) -> Floats:
    """From the middle of A to that of B."""
    way = row_b[0, 9:] - row_a[0, 9:]
    length = np.linalg.norm(way)
    return way / length if length > 0.0 else np.array([0.0, 0.0, 1.0])


def sphere_directions(count: int) -> Floats:
    """(count, 3) directions spread evenly over the sphere (a Fibonacci spiral)."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = math.pi * (3.0 - math.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)


@lru_cache(maxsize=8)
def mixed_directions(count: int) -> Floats:
    """The same in an order in which each few of them lie all around."""
    step = round(count * 0.5 * (math.sqrt(5.0) - 1.0))
    while math.gcd(step, count) != 1:
        step += 1
    return np.ascontiguousarray(sphere_directions(count)[np.arange(count) * step % count])


def clearing_translation(
    a: Shape,
    b: Shape,
    row_a: Floats,
    row_b: Floats,
    threads: int | None = None,
    *,
    directions: Floats | None = None,
    starts: int = DEPTH_STARTS,
    along: Floats | None = None,
    toward: Floats | None = None,
) -> Clearing:
    """A short translation of B after which the two only touch, for one pose each that overlap.

    directions : (D, 3) unit directions to look in; default: all around
    starts : how many of the best of them to refine
    along : unit direction to begin with, instead of that of the hulls' depth
    toward : unit direction that the answer must have a part of
    """
    search = _Search(a, b, row_a, row_b, threads, toward)
    for is_a, shape in ((True, a), (False, b)):
        if half_spaces(shape):
            # Out along its normal is the shortest way, and the only one needed.
            search.back_from(search.outside(is_a))
            return search.answer()
    search.back_from(search.hulls_apart() if along is None else search.far_along(along))
    if search.length == 0.0:
        return search.answer()
    around = sphere_directions(DEPTH_DIRECTIONS) if directions is None else directions
    ends = search.length * DEPTH_WIDER * around
    # Those that are no better than the best so far may still lead to something better nearby.
    seeds = [(search.length, search.shift / search.length)]
    for shift in search.backs(ends[search.free(ends)]):
        length = float(np.linalg.norm(shift))
        if length > 0.0:
            seeds.append((length, shift / length))
    seeds.sort(key=lambda seed: seed[0])
    chosen: list[tuple[float, Floats]] = []
    for length, direction in seeds:
        if len(chosen) < starts and all(direction @ other < 0.95 for _, other in chosen):
            chosen.append((length, direction))
    for length, direction in chosen:
        search.refine(length, direction)
    return search.answer()


def half_spaces(shape: Shape) -> list[tuple[Floats, float]]:
    """Normals and offsets, in the shape's frame, of the half-spaces that it is, holds or needs as a cover."""
    found = []
    for leaf, inner in leaves(shape):
        if leaf.family != MESH and leaf.bounding_sphere()[1] == math.inf:
            (plane,) = convex_cover(leaf).parts()
            parameters = plane.parameters
            normal = inner[:9].reshape(3, 3) @ np.array(parameters[:3])
            found.append((normal, parameters[3] + float(normal @ inner[9:])))
    return found


def convex_cover(shape: Shape) -> Shape:
    """A convex shape that holds the shape: its hull where there is one."""
    entry = shape_plan("cover", shape.family).entry
    assert entry is not None
    return resolve(entry.function)(shape)


class _Search:
    """One pair at one pose each, and the shortest clearing translation so far."""

    def __init__(
        self, a: Shape, b: Shape, row_a: Floats, row_b: Floats, threads: int | None, toward: Floats | None = None
    ) -> None:
        self.a, self.b, self.row_a, self.row_b, self.threads, self.toward = a, b, row_a, row_b, threads, toward
        self.shift, self.point, self.length = np.zeros(3), row_a[0, 9:].copy(), math.inf
        self.clears = False

    def answer(self) -> Clearing:
        """The shortest way so far."""
        return Clearing(self.shift, self.point, self.clears)

    def _moved(self, shifts: Floats) -> Floats:
        rows = np.repeat(self.row_b, len(shifts), axis=0)
        rows[:, 9:] += shifts
        return rows

    def free(self, shifts: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of the translations leave the two disjoint."""
        if len(shifts) == 0:
            return np.zeros(0, dtype=bool)
        rows = self._moved(shifts)
        free = ~ask_pair("intersects", self.a, self.b, self.row_a, rows, len(shifts), threads=self.threads)
        if self.toward is not None:
            free &= shifts @ self.toward > 0.0
        self.clears = self.clears or bool(free.any())
        return free

    def _witness(self) -> Floats:
        """The point of A nearest to B where B was: common to both, or all but."""
        return ask_pair("distance", self.a, self.b, self.row_a, self.row_b, 1, reach=np.inf, threads=1).point_a[0]

    def backs(self, shifts: Floats) -> Floats:
        """Each translation shortened until the two touch; the best is kept."""
        if len(shifts) == 0:
            return shifts
        rows = self._moved(shifts)
        options = {"move_a": _STILL, "move_b": -shifts, "threads": self.threads}
        found = ask_pair("cast", self.a, self.b, self.row_a, rows, len(shifts), **options)
        # One that touches from the start stays as it is.
        time = np.where(found.status == CastStatus.MISS, 1.0, np.minimum(found.time, 1.0))
        ends = shifts * (1.0 - time)[:, None]
        lengths = np.linalg.norm(ends, axis=1)
        lengths[found.status == CastStatus.UNCONVERGED] = math.inf
        best = int(np.argmin(lengths))
        if lengths[best] < self.length:
            self.length, self.shift = float(lengths[best]), ends[best]
            # A cast all the way back that misses says nothing of where they touch.
            self.point = found.point[best] if found.status[best] != CastStatus.MISS else self._witness()
        return ends[np.isfinite(lengths)]

    def back_from(self, shift: Floats) -> None:
        """Start from a translation that clears all, or that touches."""
        further = shift * (1.0 + CLEAR_FURTHER)
        self.length, self.shift, self.point = float(np.linalg.norm(further)), further, self.row_a[0, 9:].copy()
        for attempt in range(CLEAR_ATTEMPTS):
            if self.free(further[None])[0]:
                break
            # A little farther each time; at last so far that balls about the two are apart.
            length = float(np.linalg.norm(further))
            last = self.far_along(further / length) if attempt == CLEAR_ATTEMPTS - 2 and length > 0.0 else further
            further = last if np.isfinite(last).all() and np.linalg.norm(last) > 1.1 * length else further * 1.1
            self.length, self.shift = float(np.linalg.norm(further)), further
        # Where the two touch is known from the way back alone.
        self.length = math.inf
        self.backs(further[None])
        if self.length == math.inf:
            self.length, self.shift = float(np.linalg.norm(further)), further

    def refine(self, length: float, direction: Floats) -> None:
        """Pattern search: twelve directions about the best, closer and closer, each free or not a little below its length."""
        angle = math.sqrt(4.0 / DEPTH_DIRECTIONS) * 2.0
        for _ in range(DEPTH_STEPS):
            if angle < DEPTH_FINEST:
                return
            u = np.cross(direction, np.eye(3)[int(np.argmin(np.abs(direction)))])
            u /= np.linalg.norm(u)
            v = np.cross(direction, u)
            turn = np.arange(6) * (math.pi / 3.0)
            ring = np.cos(turn)[:, None] * u + np.sin(turn)[:, None] * v
            around = np.concatenate([direction + math.tan(angle) * ring, direction + math.tan(0.5 * angle) * ring])
            around /= np.linalg.norm(around, axis=1, keepdims=True)
            ends = length * (1.0 - 0.1 * angle * angle) * around
            ends = self.backs(ends[self.free(ends)])
            if len(ends) == 0:
                angle *= 0.5
                continue
            lengths = np.linalg.norm(ends, axis=1)
            best = int(np.argmin(lengths))
            if lengths[best] == 0.0:
                return
            length, direction = float(lengths[best]), ends[best] / lengths[best]

    def hulls_apart(self) -> Floats:
        """A translation that parts the two hulls."""
        pair = convex_cover(self.a), convex_cover(self.b)
        found = dispatch.distance(pack(pair), PAIR, self.row_a, self.row_b, 0, 1, signed=True, threads=1)
        # Where the search has not converged the depth is larger than need be, and still parts them.
        if -np.inf < found.distance[0] < 0.0 and found.normal[0].any():
            return -found.distance[0] * found.normal[0]
        return np.array([0.0, 0.0, CLEAR_LEAST * (pair[0].bounding_sphere()[1] + pair[1].bounding_sphere()[1])])

    def far_along(self, direction: Floats) -> Floats:
        """A translation along the direction that parts balls about the two."""
        (center_a, radius_a), (center_b, radius_b) = self.a.bounding_sphere(), self.b.bounding_sphere()
        place_a = self.row_a[0, :9].reshape(3, 3) @ center_a + self.row_a[0, 9:]
        place_b = self.row_b[0, :9].reshape(3, 3) @ center_b + self.row_b[0, 9:]
        return (float(np.linalg.norm(place_b - place_a)) + radius_a + radius_b) * direction

    def outside(self, is_a: bool) -> Floats:
        """The translation of B, along the normal of the half-spaces that one side is or holds, that parts it from the other's
        ball and the balls of what else it holds."""
        shape, row, other, row_o = (
            (self.a, self.row_a, self.b, self.row_b) if is_a else (self.b, self.row_b, self.a, self.row_a)
        )
        turn, planes = row[0, :9].reshape(3, 3), half_spaces(shape)
        center, radius = other.bounding_sphere()
        if not radius < math.inf:
            raise UnboundedShapeError("signed distance: a and b both are or hold a HalfSpace; no translation parts them")
        place = row_o[0, :9].reshape(3, 3) @ center + row_o[0, 9:] - row[0, 9:]
        normals = [turn @ normal for normal, _ in planes]
        along = normals[0] if len(normals) == 1 else np.sum(normals, axis=0)
        if len(normals) > 1:
            along = along / max(float(np.linalg.norm(along)), TINY)
            if min(float(normal @ along) for normal in normals) < LEAST_WAY_OUT:
                raise UnboundedShapeError("signed distance: a Compound whose HalfSpaces face each other has no way out")
        slopes = [1.0] if len(normals) == 1 else [float(normal @ along) for normal in normals]
        depths = [
            (offset - (float(normal @ place) - radius)) / slope
            for normal, (_, offset), slope in zip(normals, planes, slopes, strict=True)
        ]
        for leaf, inner in leaves(shape):
            middle, extent = leaf.bounding_sphere()
            if extent < math.inf:
                at = turn @ (inner[:9].reshape(3, 3) @ middle + inner[9:])
                depths.append(radius + extent - float(along @ (place - at)))
        return (max(depths) if is_a else -max(depths)) * along
