"""From checked arguments to kernels: two meshes, and a convex shape (one part) with a mesh. What the pair table calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.status import SEPARATED
from thud._core.threads import run_rows
from thud.convex.dispatch import empty_distances
from thud.mesh.trees import BoxTree, ObbTree, box_tree, obb_tree
from thud.pairing.leaves import some_rows
from thud.pairing.pair_cache import LeafCache
from thud.pairing.rows import distance_fields
from thud.results import Distances, Status, TrianglePairs
from thud.shapes.shape import HALF_SPACE, IDENTITY, Shape
from thud.shapes.triangle_mesh import TriangleMesh

#: Rows of a mesh pair that are worth a hand-over to another thread.
ROWS = 8


def _both_trees(mesh: TriangleMesh) -> tuple[BoxTree, ObbTree]:
    return box_tree(mesh), obb_tree(mesh)


def _own_volumes(a: TriangleMesh, b: TriangleMesh) -> str | None:
    """Type of bounding volume that a pair of meshes asks for, A's first; None: boxes without support planes, the fast walk."""
    for mesh in (a, b):
        if mesh.bounding != "aabb":
            return mesh.bounding
    return "aabb" if a.spm is not None and b.spm is not None else None


# One inside the other ----------------------------------------------------------------------------------------------------


def contained(
    outer: TriangleMesh, inner: Floats, rows_o: Floats, rows_i: Floats, count: int, threads: int | None
) -> tuple[Bools, Floats]:
    """(whether any of the points (C, 3) of another shape lies in a closed mesh, the first that does, in the world)."""
    found, where = np.zeros(count, dtype=bool), np.zeros((count, 3))
    if not outer.is_closed:
        return found, where
    from thud.mesh.near_box import points_near_box

    rows, local, world = np.empty(count, dtype=np.int64), np.empty((count, 3)), np.empty((count, 3))
    for point in range(len(inner)):
        arguments = (inner, point, rows_i, rows_o, outer.origin, outer.half_extents, found)
        near = points_near_box(*arguments, rows, local, world)
        if near:
            inside = np.flatnonzero(mesh_contains(outer, local[:near], threads))
            found[rows[inside]] = True
            where[rows[inside]] = world[inside]
    return found, where


def meshes_contained(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, threads: int | None
) -> tuple[Bools, Floats]:
    """(whether a part of one mesh lies inside the other, a common point) for rows whose surfaces do not meet."""
    found, where = contained(a, b.component_points, rows_a, rows_b, count, threads)
    rows = np.flatnonzero(~found)
    if len(rows):
        poses = some_rows(rows_b, rows, count), some_rows(rows_a, rows, count)
        found[rows], where[rows] = contained(b, a.component_points, *poses, len(rows), threads)
    return found, where


def convex_contained(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, threads: int | None
) -> tuple[Bools, Floats]:
    """The same for a convex shape, of which one point is enough. No mesh holds a half-space."""
    (part,) = a.parts()
    points = part.center[None] if part.kind != HALF_SPACE else np.empty((0, 3))
    return contained(b, points, rows_b, rows_a, count, threads)


def mesh_contains(mesh: TriangleMesh, points: Floats, threads: int | None) -> Bools:
    """(N,) whether points, in the mesh's frame, lie in a closed mesh."""
    from thud.mesh.contains import contains

    return contains(mesh, np.ascontiguousarray(points), IDENTITY[None].copy(), len(points), method="ray", threads=threads)


# Do they meet? -----------------------------------------------------------------------------------------------------------


def intersects(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, threads: int | None,
    cache: LeafCache | None = None,
) -> Bools:  # fmt: skip
    """Whether two meshes meet, a closed one being solid; what is undecided counts as meeting."""
    hit = _surfaces_meet(a, b, rows_a, rows_b, count, threads, cache)
    rows = np.flatnonzero(~hit)
    if len(rows):
        poses = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
        hit[rows] = meshes_contained(a, b, *poses, len(rows), threads)[0]
    return hit


def _surfaces_meet(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, threads: int | None, cache: LeafCache | None
) -> Bools:
    bounding = _own_volumes(a, b)
    if bounding is not None:
        from thud.mesh.volumes import surfaces_meet

        return surfaces_meet(a, b, rows_a, rows_b, bounding=bounding, threads=threads)[0]
    status = np.zeros(count, dtype=np.uint8)
    if cache is not None and cache.has_fronts:
        from thud.mesh.coherent import coherent_intersects_rows

        tests = np.zeros(count, dtype=np.int64)
        kept = (cache.rows, cache.found("meet", 2), cache.fronts("meet"))
        arrays = (*_both_trees(a), *_both_trees(b), rows_a, rows_b, *kept, tests, status)
        run_rows(coherent_intersects_rows, count, threads, *arrays, rows_per_chunk=ROWS)
        cache.add_box_tests(tests)
        return status != SEPARATED
    from thud.mesh.mesh_mesh import mesh_intersects_rows

    found = np.full((count, 2), -1, dtype=np.int64) if cache is None else cache.found("meet", 2)[cache.rows]
    trees = (box_tree(a), box_tree(b), rows_a, rows_b, found, status)
    run_rows(mesh_intersects_rows, count, threads, *trees, rows_per_chunk=ROWS)
    if cache is not None:
        cache.found("meet", 2)[cache.rows] = found
    return status != SEPARATED


def convex_intersects(a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, threads: int | None) -> Bools:
    """Whether a convex shape meets a mesh."""
    from thud.mesh.mesh_convex import convex_intersects_rows, convex_query

    status = np.zeros(count, dtype=np.uint8)
    arrays = (box_tree(b), *convex_query(a), rows_a, rows_b, status)
    run_rows(convex_intersects_rows, count, threads, *arrays, rows_per_chunk=ROWS)
    hit = status != SEPARATED
    rows = np.flatnonzero(~hit)
    if len(rows):
        poses = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
        hit[rows] = convex_contained(a, b, *poses, len(rows), threads)[0]
    return hit


# How far are they apart? -------------------------------------------------------------------------------------------------


def distance(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, reach: float = np.inf,
    threads: int | None, cache: LeafCache | None = None,
) -> Distances:  # fmt: skip
    """Unsigned distances of two meshes; those beyond `reach` get inf."""
    out = empty_distances(count)
    # Tree positions of the closest triangles, before and after.
    near = np.full((count, 2), -1, dtype=np.int64) if cache is None else cache.found("near", 2)
    arrays = (obb_tree(a), obb_tree(b), rows_a, rows_b, reach, near, distance_fields(out))
    if cache is not None and cache.has_fronts:
        from thud.mesh.coherent import coherent_distance_rows

        tests = np.zeros(count, dtype=np.int64)
        run_rows(coherent_distance_rows, count, threads, *arrays, cache.fronts("near"), tests, rows_per_chunk=ROWS)
        cache.add_box_tests(tests)
    else:
        from thud.mesh.distance import mesh_distance_rows

        run_rows(mesh_distance_rows, count, threads, *arrays, rows_per_chunk=ROWS)
    return _with_contained(out, meshes_contained, a, b, rows_a, rows_b, count, threads)


def convex_distance(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, reach: float = np.inf,
    threads: int | None, cache: LeafCache | None = None,
) -> Distances:  # fmt: skip
    """Unsigned distances of a convex shape and a mesh."""
    from thud.mesh.mesh_convex import convex_distance_rows, convex_query

    out = empty_distances(count)
    near = np.full((count, 1), -1, dtype=np.int64) if cache is None else cache.found("near", 1)
    query = (obb_tree(b), *convex_query(a), rows_a, rows_b, reach, near[:, 0], distance_fields(out))
    run_rows(convex_distance_rows, count, threads, *query, rows_per_chunk=ROWS)
    return _with_contained(out, convex_contained, a, b, rows_a, rows_b, count, threads)


def _with_contained(
    out: Distances, inside_of: Any, a: Any, b: Any, rows_a: Floats, rows_b: Floats, count: int, threads: int | None
) -> Distances:
    """Rows whose surfaces are apart, but of which one lies inside the other, overlap."""
    apart = np.flatnonzero(out.distance > 0.0)
    if len(apart):
        poses = some_rows(rows_a, apart, count), some_rows(rows_b, apart, count)
        inside, where = inside_of(a, b, *poses, len(apart), threads)
        rows = apart[inside]
        out.distance[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, Status.OVERLAPPING
        out.point_a[rows] = out.point_b[rows] = where[inside]
    return out


# Which triangles meet? ---------------------------------------------------------------------------------------------------


def triangle_pairs(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, threads: int | None,
    cache: LeafCache | None = None,
) -> TrianglePairs:  # fmt: skip
    """All pairs of triangles that meet, sorted by row, triangle of A, triangle of B."""
    bounding = _own_volumes(a, b)
    if bounding is not None:
        from thud.mesh.volumes import surface_pairs

        return TrianglePairs(*surface_pairs(a, b, rows_a, rows_b, bounding=bounding, threads=threads))
    block: Any
    arrays: tuple[Any, ...]
    tests = np.zeros(count, dtype=np.int64)
    if cache is not None and cache.has_fronts:
        from thud.mesh.coherent import coherent_pairs_block as block

        arrays = (*_both_trees(a), *_both_trees(b), rows_a, rows_b, cache.fronts("pairs"), tests)
    else:
        from thud.mesh.mesh_mesh import mesh_pairs_block as block

        arrays = (box_tree(a), box_tree(b), rows_a, rows_b)
    chunks: dict[int, Ints] = {}

    def collect(start: int, stop: int) -> None:
        """Rows start .. stop; the buffer grows until a row fits in."""
        buffer, parts, row = np.empty((1024, 3), dtype=np.int64), [np.empty((0, 3), dtype=np.int64)], start
        while row < stop:
            row, used, wanted = block(row, stop, *arrays, buffer)
            parts.append(buffer[:used].copy())
            if wanted > len(buffer):
                buffer = np.empty((2 * wanted, 3), dtype=np.int64)
        chunks[start] = np.concatenate(parts)

    run_rows(collect, count, threads, rows_per_chunk=ROWS)
    if cache is not None:
        cache.add_box_tests(tests)
    found = np.concatenate([np.empty((0, 3), dtype=np.int64), *(chunks[start] for start in sorted(chunks))])
    triangle_a, triangle_b = a.tree.order[found[:, 1]], b.tree.order[found[:, 2]]
    order = np.lexsort((triangle_b, triangle_a, found[:, 0]))
    return TrianglePairs(found[order, 0], triangle_a[order], triangle_b[order])
