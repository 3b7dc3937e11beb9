"""From checked arguments to kernels, for pairs in which a mesh takes part.

Each side is taken apart into leaves: meshes and convex shapes, with their poses inside compounds. Every pair of leaves is
asked over all rows that are still open, and the answers are joined.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thud._threads import run_rows
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.narrowphase import dispatch
from thud.narrowphase.pair_cache import PairCache
from thud.pose import Pose
from thud.results import Distances, Status, TrianglePairs
from thud.shapes.compound import Compound
from thud.shapes.half_space import HalfSpace
from thud.shapes.packed import pack
from thud.shapes.shape import IDENTITY, Shape
from thud.shapes.triangle_mesh import TriangleMesh

if TYPE_CHECKING:
    from thud.narrowphase.tree_front import TreeFronts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Leaf = tuple[Shape, Floats]

_PAIR = np.array([[0, 1]], dtype=np.int64)

#: Rows of a mesh pair that are worth a hand-over to another thread.
_ROWS = 8


def has_mesh(shape: Shape) -> bool:
    """Whether the shape is a mesh or a compound with one inside."""
    if isinstance(shape, Compound):
        return any(has_mesh(part) for part in shape.shapes)
    return isinstance(shape, TriangleMesh)


def leaves(shape: Shape, pose: Floats = IDENTITY) -> list[Leaf]:
    """The meshes and convex shapes that a shape is made of, each with its (12,) pose in the shape's frame."""
    if not isinstance(shape, Compound):
        return [(shape, pose)]
    result = []
    for part, row in zip(shape.shapes, shape.poses.rows, strict=True):
        result += leaves(part, _compose(pose, row))
    return result


def _compose(outer: Floats, inner: Floats) -> Floats:
    return (Pose.from_rows(outer) @ Pose.from_rows(inner)).rows[0]


def placed(rows: Floats, pose: Floats) -> Floats:
    """Poses of a leaf for poses of its shape."""
    if pose is IDENTITY:
        return rows
    return np.ascontiguousarray((Pose.from_rows(rows) @ Pose.from_rows(pose)).rows)


def some_rows(rows: Floats, chosen: Ints, count: int) -> Floats:
    """The chosen ones of `count` rows, of which there may be one for all."""
    return rows if len(rows) == 1 or len(chosen) == count else np.ascontiguousarray(rows[chosen])


def check_reach(rows: Floats, name: str) -> None:
    """Named error for positions beyond what meshes are compared at."""
    far = np.abs(rows[:, 9:]).max(axis=1) > MESH_COORDINATE
    if far.any():
        raise InvalidInputError(f"{name}: row {int(np.argmax(far))} is beyond {MESH_COORDINATE:g}, the limit of meshes")


def mesh_arrays(mesh: TriangleMesh) -> tuple[npt.NDArray[np.float32], Ints, Floats, Floats]:
    """The 8-wide tree, triangles and origin of a mesh as kernels take them."""
    return mesh.pair_tree.boxes, mesh.pair_tree.child, mesh.corners.ravel(), mesh.origin


def _mesh_obbs(mesh: TriangleMesh) -> tuple[npt.NDArray[np.float32], Ints, Floats, Floats]:
    return mesh.pair_obbs, mesh.pair_tree.child, mesh.corners.ravel(), mesh.origin


def _both_arrays(mesh: TriangleMesh) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], Ints, Floats, Floats]:
    return mesh.pair_tree.boxes, mesh.pair_obbs, mesh.pair_tree.child, mesh.corners.ravel(), mesh.origin


def _own_volumes(a: TriangleMesh, b: TriangleMesh) -> str | None:
    """Type of bounding volume that a pair of meshes asks for, A's first; None: boxes without support planes, the fast walk."""
    for mesh in (a, b):
        if mesh.bounding != "aabb":
            return mesh.bounding
    return "aabb" if a.spm is not None and b.spm is not None else None


def _are_plain_meshes(a: Shape, b: Shape) -> bool:
    """Whether both are meshes, walked by their boxes."""
    return isinstance(a, TriangleMesh) and isinstance(b, TriangleMesh) and _own_volumes(a, b) is None


# One pair of leaves ---------------------------------------------------------------------------------------------------


def _surfaces_meet(a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, threads: int | None, found: Ints) -> Bools:
    """Whether the surface of each mesh meets the other; what is undecided counts as meeting. `found` (count, 2): see
    `mesh_intersects_rows`."""
    status = np.zeros(count, dtype=np.uint8)
    if isinstance(a, TriangleMesh) and isinstance(b, TriangleMesh):
        bounding = _own_volumes(a, b)
        if bounding is not None:
            from thud.narrowphase.mesh_volumes import surfaces_meet

            return surfaces_meet(a, b, rows_a, rows_b, bounding=bounding, threads=threads)[0]
        from thud.narrowphase.mesh_mesh import mesh_intersects_rows

        arrays = (*mesh_arrays(a), *mesh_arrays(b), rows_a, rows_b, found, status)
        run_rows(mesh_intersects_rows, count, threads, *arrays, rows_per_chunk=_ROWS)
    elif isinstance(a, TriangleMesh) or isinstance(b, TriangleMesh):
        from thud.narrowphase.mesh_convex import convex_intersects_rows, convex_query

        mesh, shape, rows_m, rows_s = (a, b, rows_a, rows_b) if isinstance(a, TriangleMesh) else (b, a, rows_b, rows_a)
        assert isinstance(mesh, TriangleMesh)
        boxes, child, corners, origin = mesh_arrays(mesh)
        tree = (boxes, mesh.pair_obbs, child, corners, origin)
        query = convex_query(shape)
        run_rows(convex_intersects_rows, count, threads, *tree, *query, rows_s, rows_m, status, rows_per_chunk=_ROWS)
    else:
        return dispatch.intersects(pack((a, b)), _PAIR, rows_a, rows_b, False, count, threads=threads)
    return status != Status.SEPARATED


def _surfaces_meet_again(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, rows: Ints, threads: int | None, cache: PairCache,
    found: Ints, fronts: TreeFronts,
) -> Bools:  # fmt: skip
    """As `_surfaces_meet`, for the rows `rows` of what the cache keeps: `found` and the fronts."""
    from thud.narrowphase.mesh_coherent import coherent_intersects_rows

    assert isinstance(a, TriangleMesh)
    assert isinstance(b, TriangleMesh)
    tests, hit = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.uint8)
    arrays = (*_both_arrays(a), *_both_arrays(b), rows_a, rows_b, rows, found, *fronts.arrays, tests, hit)
    run_rows(coherent_intersects_rows, len(rows), threads, *arrays, rows_per_chunk=_ROWS)
    cache.box_tests += int(tests.sum())
    return hit != Status.SEPARATED


def _inside_points(shape: Shape) -> Floats:
    """(C, 3) one point of each connected part of the shape."""
    if isinstance(shape, TriangleMesh):
        return shape.component_points
    return shape.parts()[0].center[None]


def contained(a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, threads: int | None) -> tuple[Bools, Floats]:
    """(whether one lies inside the other, a common point in the world) for rows whose surfaces do not meet."""
    found, where = np.zeros(count, dtype=bool), np.zeros((count, 3))
    for outer, inner, rows_o, rows_i in ((a, b, rows_a, rows_b), (b, a, rows_b, rows_a)):
        if not isinstance(outer, TriangleMesh) or not outer.is_closed or isinstance(inner, HalfSpace):
            continue
        for point in _inside_points(inner):
            world = rows_i[:, :9].reshape(-1, 3, 3) @ point + rows_i[:, 9:]
            local = np.einsum("nji,nj->ni", rows_o[:, :9].reshape(-1, 3, 3), world - rows_o[:, 9:])
            local, world = np.broadcast_to(local, (count, 3)), np.broadcast_to(world, (count, 3))
            box = outer.node_boxes[0]
            near = ((local - outer.origin >= box[:3]) & (local - outer.origin <= box[3:])).all(axis=1) & ~found
            rows = np.flatnonzero(near)
            if len(rows) == 0:
                continue
            inside = rows[mesh_contains(outer, local[rows], threads)]
            found[inside] = True
            where[inside] = world[inside]
    return found, where


def mesh_contains(mesh: TriangleMesh, points: Floats, threads: int | None) -> Bools:
    """(N,) whether points, in the mesh's frame, lie in a closed mesh."""
    from thud.narrowphase.mesh_contains import contains_mesh

    return contains_mesh(mesh, np.ascontiguousarray(points), IDENTITY[None].copy(), len(points), "ray", threads)


def _leaf_distance(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, reach: float, threads: int | None, near: Ints,
    cache: PairCache | None, key: Hashable,
) -> Distances:  # fmt: skip
    """Unsigned distances of one pair of leaves: surfaces first, then containment. `near` (count, 2): tree positions of the
    closest triangles, before and after. `key`: of the fronts in the cache."""
    out = dispatch.empty_distances(count)
    fields = (out.distance, out.point_a, out.point_b, out.normal, out.status)
    if isinstance(a, TriangleMesh) and isinstance(b, TriangleMesh):
        arrays = (*_mesh_obbs(a), *_mesh_obbs(b), rows_a, rows_b, reach, *fields, near)
        if cache is not None and cache.front > 0:
            from thud.narrowphase.mesh_coherent import coherent_distance_rows

            tests = np.zeros(count, dtype=np.int64)
            kept = (*cache.fronts(key, count).arrays, tests)
            run_rows(coherent_distance_rows, count, threads, *arrays, *kept, rows_per_chunk=_ROWS)
            cache.box_tests += int(tests.sum())
        else:
            from thud.narrowphase.mesh_distance import mesh_distance_rows

            run_rows(mesh_distance_rows, count, threads, *arrays, rows_per_chunk=_ROWS)
    elif isinstance(a, TriangleMesh) or isinstance(b, TriangleMesh):
        from thud.narrowphase.mesh_convex import convex_distance_rows, convex_query

        swapped = isinstance(a, TriangleMesh)
        mesh, shape, rows_m, rows_s = (a, b, rows_a, rows_b) if swapped else (b, a, rows_b, rows_a)
        assert isinstance(mesh, TriangleMesh)
        on_shape, on_mesh = (out.point_b, out.point_a) if swapped else (out.point_a, out.point_b)
        position = np.ascontiguousarray(near[:, 0])
        query = (*_mesh_obbs(mesh), *convex_query(shape), rows_s, rows_m, reach)
        results = (out.distance, on_shape, on_mesh, out.normal, out.status, position)
        run_rows(convex_distance_rows, count, threads, *query, *results, rows_per_chunk=_ROWS)
        near[:, 0] = position
        if swapped:
            np.negative(out.normal, out=out.normal)
            out.normal[out.distance == 0.0] = 0.0
    else:
        return dispatch.distance(pack((a, b)), _PAIR, rows_a, rows_b, False, count, max_distance=reach, threads=threads)
    apart = np.flatnonzero(out.distance > 0.0)
    if len(apart):
        inside, where = contained(a, b, some_rows(rows_a, apart, count), some_rows(rows_b, apart, count), len(apart), threads)
        rows = apart[inside]
        out.distance[rows], out.normal[rows], out.status[rows] = 0.0, 0.0, Status.OVERLAPPING
        out.point_a[rows] = out.point_b[rows] = where[inside]
    return out


# All pairs of leaves --------------------------------------------------------------------------------------------------


def intersects(
    a: Shape,
    b: Shape,
    rows_a: Floats,
    rows_b: Floats,
    count: int,
    threads: int | None = None,
    cache: PairCache | None = None,
) -> Bools:
    """(count,) whether the two meet, a closed mesh being solid."""
    check_reach(rows_a, "pose_a")
    check_reach(rows_b, "pose_b")
    if cache is not None:
        cache.start(a, b)
    hit = np.zeros(count, dtype=bool)
    for surfaces in (True, False):
        for i, (shape_a, inner_a) in enumerate(leaves(a)):
            for j, (shape_b, inner_b) in enumerate(leaves(b)):
                rows = np.flatnonzero(~hit)
                if len(rows) == 0:
                    return hit
                poses = placed(some_rows(rows_a, rows, count), inner_a), placed(some_rows(rows_b, rows, count), inner_b)
                if not surfaces:
                    hit[rows[contained(shape_a, shape_b, *poses, len(rows), threads)[0]]] = True
                    continue
                key = ("meet", i, j)
                kept = None if cache is None else cache.rows(key, count)
                if cache is not None and kept is not None and cache.front > 0 and _are_plain_meshes(shape_a, shape_b):
                    fronts = cache.fronts(key, count)
                    hit[rows[_surfaces_meet_again(shape_a, shape_b, *poses, rows, threads, cache, kept, fronts)]] = True
                    continue
                found = np.full((len(rows), 2), -1, dtype=np.int64) if kept is None else kept[rows]
                hit[rows[_surfaces_meet(shape_a, shape_b, *poses, len(rows), threads, found)]] = True
                if kept is not None:
                    kept[rows] = found
    return hit


def distance(
    a: Shape,
    b: Shape,
    rows_a: Floats,
    rows_b: Floats,
    count: int,
    *,
    reach: float = np.inf,
    threads: int | None = None,
    cache: PairCache | None = None,
) -> Distances:
    """Unsigned distances of `count` rows; those beyond `reach` get inf."""
    check_reach(rows_a, "pose_a")
    check_reach(rows_b, "pose_b")
    if cache is not None:
        cache.start(a, b)
    best: Distances | None = None
    for i, (shape_a, inner_a) in enumerate(leaves(a)):
        for j, (shape_b, inner_b) in enumerate(leaves(b)):
            poses = placed(rows_a, inner_a), placed(rows_b, inner_b)
            near = np.full((count, 2), -1, dtype=np.int64) if cache is None else cache.rows(("near", i, j), count)
            found = _leaf_distance(shape_a, shape_b, *poses, count, reach, threads, near, cache, ("near", i, j))
            if best is None:
                best = found
                continue
            nearer = found.distance < best.distance
            for name in ("distance", "point_a", "point_b", "normal", "status"):
                getattr(best, name)[nearer] = getattr(found, name)[nearer]
    assert best is not None
    return best


def triangle_pairs(
    a: Shape,
    b: Shape,
    rows_a: Floats,
    rows_b: Floats,
    count: int,
    threads: int | None = None,
    cache: PairCache | None = None,
) -> TrianglePairs:
    """All pairs of triangles that meet, sorted by row, triangle of A, triangle of B."""
    for name, shape in (("a", a), ("b", b)):
        if not isinstance(shape, TriangleMesh):
            raise UnsupportedQueryError(f"triangle_pairs: {name} is a {type(shape).__name__}; expected a TriangleMesh")
    assert isinstance(a, TriangleMesh)
    assert isinstance(b, TriangleMesh)
    check_reach(rows_a, "pose_a")
    check_reach(rows_b, "pose_b")
    bounding = _own_volumes(a, b)
    if bounding is not None:
        from thud.narrowphase.mesh_volumes import surface_pairs

        return TrianglePairs(*surface_pairs(a, b, rows_a, rows_b, bounding=bounding, threads=threads))
    block: Any
    arrays: tuple[Any, ...]
    tests = np.zeros(count, dtype=np.int64)
    if cache is not None and cache.front > 0:
        from thud.narrowphase.mesh_coherent import coherent_pairs_block as block

        cache.start(a, b)
        arrays = (*_both_arrays(a), *_both_arrays(b), rows_a, rows_b, *cache.fronts("pairs", count).arrays, tests)
    else:
        from thud.narrowphase.mesh_mesh import mesh_pairs_block as block

        arrays = (*mesh_arrays(a), *mesh_arrays(b), rows_a, rows_b)
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

    run_rows(collect, count, threads, rows_per_chunk=_ROWS)
    if cache is not None:
        cache.box_tests = int(tests.sum())
    found = np.concatenate([chunks[start] for start in sorted(chunks)])
    triangle_a, triangle_b = a.tree.order[found[:, 1]], b.tree.order[found[:, 2]]
    order = np.lexsort((triangle_b, triangle_a, found[:, 0]))
    return TrianglePairs(found[order, 0], triangle_a[order], triangle_b[order])
