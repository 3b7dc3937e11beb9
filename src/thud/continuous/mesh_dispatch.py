"""Casts in which a mesh takes part, from checked arguments to kernels: the leaves of both sides, and the earliest contact."""

from __future__ import annotations

import numpy as np

from thud._threads import run_rows
from thud.continuous.convex_cast import cast_rows
from thud.continuous.convex_dispatch import by_rotation, convex_turning_cast, empty_impacts
from thud.continuous.mesh_cast import convex_cast_rows, mesh_cast_rows, two_triangles
from thud.continuous.mesh_turning_cast import convex_turning_rows, mesh_turning_rows
from thud.narrowphase.mesh_convex import convex_query
from thud.narrowphase.mesh_dispatch import Floats, Leaf, check_reach, contained, leaves, mesh_arrays, placed, some_rows
from thud.pose import Pose
from thud.results import CastStatus, Impacts
from thud.shapes.compound import Compound
from thud.shapes.packed import pack, pack_now
from thud.shapes.shape import IDENTITY, Shape
from thud.shapes.triangle_mesh import TriangleMesh

_PAIR = np.array([[0, 1]], dtype=np.int64)
_ROWS = 8


def _leaf_cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """First contacts of one pair of leaves."""
    out = empty_impacts(count)
    fields = (out.time, out.point, out.normal, out.status)
    if isinstance(a, TriangleMesh) and isinstance(b, TriangleMesh):
        pair = two_triangles()
        hulls = (pair.part_ints, pair.part_reals, pair.vertices, pair.link_starts, pair.links)
        trees = (*mesh_arrays(a), *mesh_arrays(b), *hulls)
        run_rows(mesh_cast_rows, count, threads, *trees, rows_a, rows_b, move_a, move_b, *fields, rows_per_chunk=_ROWS)
    elif isinstance(a, TriangleMesh) or isinstance(b, TriangleMesh):
        swapped = isinstance(a, TriangleMesh)
        mesh, shape = (a, b) if swapped else (b, a)
        assert isinstance(mesh, TriangleMesh)
        motions = (rows_b, rows_a, move_b, move_a) if swapped else (rows_a, rows_b, move_a, move_b)
        boxes, child, corners, origin = mesh_arrays(mesh)
        tree = (boxes, mesh.pair_obbs, child, corners, origin)
        run_rows(convex_cast_rows, count, threads, *tree, *convex_query(shape), *motions, *fields, rows_per_chunk=_ROWS)
        if swapped:
            out.normal[:] = 0.0 - out.normal
    else:
        run_rows(cast_rows, count, threads, pack((a, b)), _PAIR, rows_a, rows_b, 0, move_a, move_b, *fields)
        return out
    _mark_contained(out, a, b, rows_a, rows_b, count, threads)
    return out


def _mark_contained(out: Impacts, a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, threads: int | None) -> None:
    """Rows in which one leaf starts inside the other, which no surface test sees."""
    open_rows = np.flatnonzero(out.status != CastStatus.OVERLAPPING_AT_START)
    if len(open_rows):
        poses = some_rows(rows_a, open_rows, count), some_rows(rows_b, open_rows, count)
        inside, where = contained(a, b, *poses, len(open_rows), threads)
        rows = open_rows[inside]
        out.time[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, CastStatus.OVERLAPPING_AT_START
        out.point[rows] = where[inside]


def _mesh_frame(mesh: TriangleMesh, inner: Floats) -> tuple[Floats, float]:
    """((1, 12) frame of the mesh's tree in its shape's, how far the mesh reaches from the shape's origin)."""
    frame = inner[None].copy()
    frame[0, 9:] += inner[:9].reshape(3, 3) @ mesh.origin
    corners = mesh.corners.reshape(-1, 3) @ inner[:9].reshape(3, 3).T + frame[0, 9:]
    return frame, float(np.sqrt(np.einsum("ni,ni->n", corners, corners).max())) * (1.0 + 1e-12)


def _leaf_turning(
    leaf_a: Leaf, leaf_b: Leaf, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """First contacts of one pair of leaves of shapes that turn; poses and motions are those of the shapes."""
    (a, inner_a), (b, inner_b) = leaf_a, leaf_b
    out = empty_impacts(count)
    fields = (out.time, out.point, out.normal, out.status)
    if isinstance(a, TriangleMesh) and isinstance(b, TriangleMesh):
        pair = two_triangles()
        hulls = (pair.part_ints, pair.part_reals, pair.vertices, pair.link_starts, pair.links)
        tree_a = (a.pair_obbs, *mesh_arrays(a)[:3], *_mesh_frame(a, inner_a))
        tree_b = (b.pair_obbs, *mesh_arrays(b)[:3], *_mesh_frame(b, inner_b))
        trees = (*tree_a, *tree_b, *hulls)
        run_rows(mesh_turning_rows, count, threads, *trees, rows_a, rows_b, move_a, move_b, *fields, rows_per_chunk=_ROWS)
    elif isinstance(a, TriangleMesh) or isinstance(b, TriangleMesh):
        swapped = isinstance(a, TriangleMesh)
        mesh, shape = (a, b) if swapped else (b, a)
        inner_mesh, inner_shape = (inner_a, inner_b) if swapped else (inner_b, inner_a)
        assert isinstance(mesh, TriangleMesh)
        motions = (rows_b, rows_a, move_b, move_a) if swapped else (rows_a, rows_b, move_a, move_b)
        (part,) = shape.parts()
        center = inner_shape[:9].reshape(3, 3) @ part.center + inner_shape[9:]
        far = (float(np.linalg.norm(center)) + part.bounding_radius) * (1.0 + 1e-12)
        tree = (mesh.pair_obbs, *mesh_arrays(mesh)[:3], *_mesh_frame(mesh, inner_mesh))
        query = (*convex_query(shape), inner_shape[None].copy(), far)
        run_rows(convex_turning_rows, count, threads, *tree, *query, *motions, *fields, rows_per_chunk=_ROWS)
        if swapped:
            out.normal[:] = 0.0 - out.normal
    else:
        sides = [shape if inner is IDENTITY else Compound([shape], Pose.from_rows(inner)) for shape, inner in (leaf_a, leaf_b)]
        return convex_turning_cast(pack_now(tuple(sides)), _PAIR, rows_a, rows_b, move_a, move_b, count, threads)
    _mark_contained(out, a, b, placed(rows_a, inner_a), placed(rows_b, inner_b), count, threads)
    return out


def cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """First contact of `count` rows, motions (N, 3) or (N, 6): never later than the true one."""
    for rows, name in ((rows_a, "pose_a"), (rows_b, "pose_b")):
        check_reach(rows, name)

    def linear(rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int) -> Impacts:
        return _earliest(
            [
                _leaf_cast(x, y, placed(rows_a, at_x), placed(rows_b, at_y), move_a, move_b, count, threads)
                for x, at_x in leaves(a)
                for y, at_y in leaves(b)
            ]
        )

    def turning(rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int) -> Impacts:
        return _earliest(
            [_leaf_turning(x, y, rows_a, rows_b, move_a, move_b, count, threads) for x in leaves(a) for y in leaves(b)]
        )

    return by_rotation(linear, turning, rows_a, rows_b, move_a, move_b, count)


def _earliest(found: list[Impacts]) -> Impacts:
    """Row by row the earliest."""
    best = found[0]
    for other in found[1:]:
        sooner = (other.time < best.time) | ((other.time == best.time) & (other.status > best.status))
        for name in ("time", "point", "normal", "status"):
            getattr(best, name)[sooner] = getattr(other, name)[sooner]
    return best
