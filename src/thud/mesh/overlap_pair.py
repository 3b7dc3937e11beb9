"""Two meshes, or a convex shape and a mesh, that overlap, as the search for a way out takes them, and what it writes to."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import view_device
from thud.bvh.wide import LEAF, WideTree
from thud.bvh.wide import STACK as WIDE_STACK
from thud.convex.own_parts import own_parts
from thud.mesh.cast import two_triangles
from thud.mesh.mesh_convex import convex_query
from thud.mesh.tolerances import WAY_KNOWN, WAY_PLANES, WAY_SEEDS
from thud.mesh.trees import STACK, WalkSpace
from thud.shapes.packed import Parts
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh


class PartTree(NamedTuple):
    """A `BoxTree` whose slots are marked with the part that they belong to."""

    boxes: npt.NDArray[np.float32]
    child: Ints
    corners: Floats
    origin: Floats
    mark: npt.NDArray[np.int32]
    """By slot: number of the part of the triangles below; may be empty where all of the mesh is meant (part 0)."""


class OverlapPair(NamedTuple):
    """Two meshes."""

    a: PartTree
    b: PartTree
    wide_a: WideTree
    wide_b: WideTree
    points_a: Floats
    """(C, 3) a point of each connected part of A, which may lie inside B; none if B is open."""
    points_b: Floats
    half_a: Floats
    """(3,) half extents of A's box about its origin."""
    half_b: Floats
    parts: Parts
    """The convex shape and a triangle as GJK reads them, see `ConvexQuery`."""
    box: Floats
    convex: int
    """1 if A is the convex shape: its tree is then a box of its size. 0 for two meshes."""


class SearchSpace(NamedTuple):
    """What the search writes. Each thread has its own."""

    walk: WalkSpace
    found: Ints
    """(1, 2) tree positions of two triangles that meet."""
    known: Ints
    """(WAY_KNOWN, 2) those found last, to be tried first."""
    tries: Ints
    """(1,) how many of these there are."""
    planes: Floats
    """(WAY_PLANES, 4) normals and offsets of planes that B's way must stay above."""
    seeds: Floats
    """(WAY_SEEDS, 4) translations and their lengths."""
    stack: Ints
    t_box: npt.NDArray[np.float32]
    t_triangle: Floats
    parts: Parts
    """A copy, since the triangle is written over."""


@view_device
def new_search_space(parts):
    """Empty."""
    walk = WalkSpace(np.empty(2 * STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32))
    known, count = np.empty((WAY_KNOWN, 2), np.int64), np.zeros(1, np.int64)
    planes, seeds = np.empty((WAY_PLANES, 4)), np.empty((WAY_SEEDS, 4))
    rays = np.empty(WIDE_STACK, np.int64), np.empty(8, np.float32), np.empty(LEAF)
    return SearchSpace(
        walk, np.empty((1, 2), np.int64), known, count, planes, seeds, rays[0], rays[1], rays[2], own_parts(parts)
    )


@lru_cache(maxsize=1)
def _no_wide() -> WideTree:
    """Stands where no point is looked for."""
    return TriangleMesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]]).wide


def part_tree(mesh: TriangleMesh, mark: npt.NDArray[np.int32] | None = None) -> PartTree:
    """Of a mesh; without marks for all of it."""
    tree = mesh.pair_tree
    return PartTree(
        tree.boxes, tree.child, mesh.corners.ravel(), mesh.origin, np.empty(0, dtype=np.int32) if mark is None else mark
    )


def overlap_pair(
    a: TriangleMesh,
    b: TriangleMesh,
    mark_a: npt.NDArray[np.int32] | None = None,
    mark_b: npt.NDArray[np.int32] | None = None,
) -> OverlapPair:
    """Of two meshes."""
    none = np.empty((0, 3))
    return OverlapPair(
        part_tree(a, mark_a),
        part_tree(b, mark_b),
        a.wide if a.is_closed else _no_wide(),
        b.wide if b.is_closed else _no_wide(),
        np.ascontiguousarray(a.component_points) if b.is_closed else none,
        np.ascontiguousarray(b.component_points) if a.is_closed else none,
        a.half_extents,
        b.half_extents,
        two_triangles(),
        np.zeros(6),
        0,
    )


def convex_overlap_pair(a: Shape, b: TriangleMesh, mark: npt.NDArray[np.int32] | None = None) -> OverlapPair:
    """Of a bounded convex shape and a mesh."""
    (part,), query = a.parts(), convex_query(a)
    half = np.abs(query.box[:3]) + query.box[3:] + part.radius
    boxes = np.zeros(48, dtype=np.float32)
    boxes[24::8] = half
    single = PartTree(boxes, np.full(8, -1, dtype=np.int64), np.zeros(9), np.zeros(3), np.empty(0, dtype=np.int32))
    none, wide = np.empty((0, 3)), b.wide if b.is_closed else _no_wide()
    points = np.array(part.center, dtype=np.float64).reshape(1, 3) if b.is_closed else none
    return OverlapPair(single, part_tree(b, mark), wide, wide, points, none, half, b.half_extents, *query, 1)
