"""Casts of meshes, from checked arguments to kernels. What the pair table calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud._core.threads import run_rows
from thud.mesh.cast import convex_cast_rows, mesh_cast_rows, two_triangles
from thud.mesh.dispatch import ROWS, convex_contained, meshes_contained
from thud.mesh.mesh_convex import convex_query
from thud.mesh.tolerances import REACH_ROUNDING
from thud.mesh.trees import TurningTree, box_tree, obb_tree
from thud.mesh.turning_cast import convex_turning_rows, mesh_turning_rows
from thud.pairing.leaves import placed, some_rows
from thud.pairing.motions import empty_impacts
from thud.pairing.rows import impact_fields
from thud.results import CastStatus, Impacts
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh


def cast(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, move_a: Floats, move_b: Floats,
    threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts of two meshes, motions (N, 3): never later than the true ones."""
    out = empty_impacts(count)
    arguments = (box_tree(a), box_tree(b), two_triangles(), rows_a, rows_b, move_a, move_b, impact_fields(out))
    run_rows(mesh_cast_rows, count, threads, *arguments, rows_per_chunk=ROWS)
    return _with_contained(out, meshes_contained, a, b, rows_a, rows_b, count, threads)


def convex_cast(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, move_a: Floats, move_b: Floats,
    threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts of a convex shape and a mesh."""
    out = empty_impacts(count)
    arguments = (box_tree(b), *convex_query(a), rows_a, rows_b, move_a, move_b, impact_fields(out))
    run_rows(convex_cast_rows, count, threads, *arguments, rows_per_chunk=ROWS)
    return _with_contained(out, convex_contained, a, b, rows_a, rows_b, count, threads)


def turning_cast(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, move_a: Floats, move_b: Floats,
    inner_a: Floats, inner_b: Floats, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts of two meshes, motions (N, 6); poses and motions are those of the shapes that they stand in."""
    out = empty_impacts(count)
    trees = (_turning_tree(a, inner_a), _turning_tree(b, inner_b), two_triangles())
    arguments = (*trees, rows_a, rows_b, move_a, move_b, impact_fields(out))
    run_rows(mesh_turning_rows, count, threads, *arguments, rows_per_chunk=ROWS)
    poses = placed(rows_a, inner_a), placed(rows_b, inner_b)
    return _with_contained(out, meshes_contained, a, b, *poses, count, threads)


def convex_turning_cast(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, move_a: Floats, move_b: Floats,
    inner_a: Floats, inner_b: Floats, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts of a convex shape and a mesh."""
    out = empty_impacts(count)
    (part,) = a.parts()
    center = inner_a[:9].reshape(3, 3) @ part.center + inner_a[9:]
    far = (float(np.linalg.norm(center)) + part.bounding_radius) * (1.0 + REACH_ROUNDING)
    query = (_turning_tree(b, inner_b), *convex_query(a), inner_a[None].copy(), far)
    arguments = (*query, rows_a, rows_b, move_a, move_b, impact_fields(out))
    run_rows(convex_turning_rows, count, threads, *arguments, rows_per_chunk=ROWS)
    poses = placed(rows_a, inner_a), placed(rows_b, inner_b)
    return _with_contained(out, convex_contained, a, b, *poses, count, threads)


def _turning_tree(mesh: TriangleMesh, inner: Floats) -> TurningTree:
    frame = inner[None].copy()
    frame[0, 9:] += inner[:9].reshape(3, 3) @ mesh.origin
    corners = mesh.corners.reshape(-1, 3) @ inner[:9].reshape(3, 3).T + frame[0, 9:]
    far = float(np.sqrt(np.einsum("ni,ni->n", corners, corners).max())) * (1.0 + REACH_ROUNDING)
    return TurningTree(box_tree(mesh), obb_tree(mesh), frame, far)


def _with_contained(
    out: Impacts, inside_of: Any, a: Any, b: Any, rows_a: Floats, rows_b: Floats, count: int, threads: int | None
) -> Impacts:
    """Rows in which one starts inside the other, which no surface test sees."""
    open_rows = np.flatnonzero(out.status != CastStatus.OVERLAPPING_AT_START)
    if len(open_rows):
        poses = some_rows(rows_a, open_rows, count), some_rows(rows_b, open_rows, count)
        inside, where = inside_of(a, b, *poses, len(open_rows), threads)
        rows = open_rows[inside]
        out.time[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, CastStatus.OVERLAPPING_AT_START
        out.point[rows] = where[inside]
    return out
