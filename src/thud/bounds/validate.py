"""Do the volumes of a tree hold their triangles? Checked in float64 for every node, with the check's roundoff on the strict
side, so that a pass proves it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from thud._core.arrays import Ints
from thud.bounds.kdop import directions
from thud.bounds.tolerances import CHECK_BOX, CHECK_KDOP, CHECK_OBB, CHECK_SPHERE
from thud.errors import InvalidInputError
from thud.gates import Array


class _Tree(Protocol):
    skip: Ints
    first: Ints


class Bounded(Protocol):
    """What is read of a mesh."""

    @property
    def tree(self) -> _Tree: ...  # noqa: D102
    @property
    def corners(self) -> Array: ...  # noqa: D102


def validate_volumes(mesh: Bounded, bounding: str) -> None:
    """Named error unless every node's volume of type "aabb", "sphere", "obb" or "kdop" holds all triangles below the node.

    O(T log T) time: every node looks at each of its triangles.
    """
    names = {"aabb": "boxes", "sphere": "spheres", "obb": "obbs", "kdop": "kdops"}
    if bounding not in names:
        raise InvalidInputError(f"bounding: expected one of {tuple(names)}, got {bounding!r}")
    outside = {"aabb": _outside_box, "sphere": _outside_sphere, "obb": _outside_obb, "kdop": _outside_kdop}[bounding]
    skip, first = mesh.tree.skip, mesh.tree.first
    points = mesh.corners.reshape(-1, 3)
    volumes = np.asarray(getattr(mesh, names[bounding]), dtype=np.float64)
    if len(volumes) != len(skip) or not np.isfinite(volumes).all():
        raise InvalidInputError(f"{names[bounding]}: expected {len(skip)} finite rows, got {len(volumes)}")
    for node, row in enumerate(volumes):
        below = points[3 * first[node] : 3 * (first[node] + (skip[node] - node + 1) // 2)]
        if outside(row, below):
            raise InvalidInputError(f"{names[bounding]}: node {node} does not hold its triangles")


def _outside_box(row: Array, points: Array) -> bool:
    return bool((np.abs(points - row[:3]) * CHECK_BOX > row[3:]).any())


def _outside_sphere(row: Array, points: Array) -> bool:
    return bool((np.linalg.norm(points - row[:3], axis=1) * CHECK_SPHERE > row[3]).any())


def _outside_obb(row: Array, points: Array) -> bool:
    axes, v = row[:9].reshape(3, 3), points - row[9:12]
    # The slabs, and the box that the axes span.
    slack = CHECK_OBB * np.abs(v).sum(axis=1)[:, None]
    slabs = np.abs(v @ axes.T) + slack
    spanned = np.abs(np.linalg.solve(axes.T, v.T).T) + slack
    return bool((slabs > row[12:]).any() or (spanned > row[12:]).any())


def _outside_kdop(row: Array, points: Array) -> bool:
    half = len(row) // 2
    along = points @ directions(len(row)).T
    slack = CHECK_KDOP * (np.abs(points) @ np.abs(directions(len(row))).T)
    return bool((along - slack < row[:half]).any() or (along + slack > row[half:]).any())
