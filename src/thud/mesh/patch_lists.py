"""Contact points of patches, row by row, put together to one answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.mesh.depth import ways_out
from thud.mesh.tolerances import PATCH_DIRECTIONS, PATCH_STARTS
from thud.pairing.join import empty_contacts
from thud.pairing.leaves import some_rows
from thud.results import Contacts, Distances
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh


class PatchPoints(NamedTuple):
    """The contact points of one row."""

    point: Floats
    normal: Floats
    depth: Floats
    feature: Ints
    patch: Ints

    @staticmethod
    def of(point: Floats, normal: Floats, depth: Floats, points: Ints, feature: Ints, most: int) -> PatchPoints:
        """From patches with room for `most` points each: normal, number of points and feature are by patch."""
        number = np.repeat(np.arange(len(points)), points)
        kept = (np.arange(most) < points[:, None]).ravel()
        return PatchPoints(point[kept], normal[number], depth[kept], feature[number], number)

    @staticmethod
    def single(point: Floats, normal: Floats, depth: float) -> PatchPoints:
        """One point."""
        none = np.zeros(1, dtype=np.int64)
        return PatchPoints(point[None], normal[None], np.array([depth]), none, none)


def found_patches(
    overlaps: Callable[..., list[PatchPoints]], a: Any, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int,
    gap: Distances, max_points: int, threads: int | None,
) -> Contacts:  # fmt: skip
    """What `overlaps` finds of the rows that overlap; one point midway where they are apart by a finite gap."""
    found: dict[int, PatchPoints] = {}
    for row in np.flatnonzero(np.isfinite(gap.distance) & (gap.distance > 0.0)).tolist():
        middle = 0.5 * (gap.point_a[row] + gap.point_b[row])
        found[row] = PatchPoints.single(middle, gap.normal[row], -float(gap.distance[row]))
    rows = np.flatnonzero(gap.distance <= 0.0)
    if len(rows):
        poses = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
        found |= dict(zip(rows.tolist(), overlaps(a, b, *poses, len(rows), max_points, threads), strict=True))
    if not found:
        return empty_contacts(gap.status)
    order = sorted(found)
    columns = {name: np.concatenate([getattr(found[row], name) for row in order]) for name in PatchPoints._fields}
    return Contacts(row=np.repeat(order, [len(found[row].depth) for row in order]), **columns, status=gap.status)


def contained_patch(a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, row: int, threads: int | None) -> PatchPoints:
    """One inside the other, whose surfaces do not meet: one patch that leads out."""
    pose_a, pose_b = (rows[[row if len(rows) > 1 else 0]] for rows in (rows_a, rows_b))
    shift, point, _free = ways_out(a, b, pose_a, pose_b, 1, threads, directions=PATCH_DIRECTIONS, starts=PATCH_STARTS)
    depth = float(np.linalg.norm(shift))
    normal = shift[0] / depth if depth > 0.0 else np.array([0.0, 0.0, 1.0])
    return PatchPoints.single(point[0] - 0.5 * shift[0], normal, depth)
