"""Casts in which a mesh takes part, from checked arguments to kernels: the leaves of both sides, and the earliest contact."""

from __future__ import annotations

import numpy as np

from thud._threads import run_rows
from thud.continuous.convex_cast import cast_rows
from thud.continuous.mesh_cast import convex_cast_rows, mesh_cast_rows, two_triangles
from thud.narrowphase.mesh_convex import convex_query
from thud.narrowphase.mesh_dispatch import Floats, check_reach, contained, leaves, mesh_arrays, placed, some_rows
from thud.results import CastStatus, Impacts
from thud.shapes.packed import pack
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh

_PAIR = np.array([[0, 1]], dtype=np.int64)
_ROWS = 8


def _leaf_cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """First contacts of one pair of leaves."""
    out = Impacts(np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty(count, dtype=np.uint8))
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
    open_rows = np.flatnonzero(out.status != CastStatus.OVERLAPPING_AT_START)
    if len(open_rows):
        poses = some_rows(rows_a, open_rows, count), some_rows(rows_b, open_rows, count)
        inside, where = contained(a, b, *poses, len(open_rows), threads)
        rows = open_rows[inside]
        out.time[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, CastStatus.OVERLAPPING_AT_START
        out.point[rows] = where[inside]
    return out


def cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """First contact of `count` rows: never later than the true one."""
    for rows, name in ((rows_a, "pose_a"), (rows_b, "pose_b")):
        check_reach(rows, name)
    best: Impacts | None = None
    for shape_a, inner_a in leaves(a):
        for shape_b, inner_b in leaves(b):
            poses = placed(rows_a, inner_a), placed(rows_b, inner_b)
            found = _leaf_cast(shape_a, shape_b, *poses, move_a, move_b, count, threads)
            if best is None:
                best = found
                continue
            sooner = (found.time < best.time) | ((found.time == best.time) & (found.status > best.status))
            for name in ("time", "point", "normal", "status"):
                getattr(best, name)[sooner] = getattr(found, name)[sooner]
    assert best is not None
    return best
