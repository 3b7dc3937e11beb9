"""The Numba types of the named tuples in `trees.py`, `overlap_pair.py` and `patch_mesh.py` and of `TreeFronts`, by which kernel
signatures name them (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.bvh.wide_type import WIDE_TREE
from thud.mesh.overlap_pair import OverlapPair, PartTree, SearchSpace
from thud.mesh.patch_mesh import PatchMesh, PatchSpace
from thud.mesh.trees import BoxTree, FrontSpace, ObbTree, TurningTree, WalkSpace
from thud.pairing.pair_cache import TreeFronts
from thud.shapes.packed_type import PARTS

_s1, _f1, _f2, _f3 = types.float32[::1], types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_h2, _h3 = types.int32[:, ::1], types.int32[:, :, ::1]
_i1, _i2 = types.int64[::1], types.int64[:, ::1]

BOX_TREE = types.NamedTuple((_s1, _i1, _f1, _f1), BoxTree)
OBB_TREE = types.NamedTuple((_s1, _i1, _f1, _f1), ObbTree)

#: tree, obbs, inner, far
TURNING_TREE = types.NamedTuple((BOX_TREE, OBB_TREE, _f2, types.float64), TurningTree)

#: stack, waiting, lanes
WALK_SPACE = types.NamedTuple((types.uint64[::1], _s1, _s1), WalkSpace)

#: entries, bounds, waiting, gap, lanes, kid
FRONT_SPACE = types.NamedTuple((_h2, _f2, _i2, _s1, _s1, _i1), FrontSpace)

#: entries, bounds, state, length
TREE_FRONTS = types.NamedTuple((_h3, _f3, _f2, _i1), TreeFronts)

#: boxes, child, corners, origin, mark
PART_TREE = types.NamedTuple((_s1, _i1, _f1, _f1, types.int32[::1]), PartTree)

#: a, b, wide_a, wide_b, points_a, points_b, half_a, half_b, parts, box, convex
OVERLAP_PAIR = types.NamedTuple(
    (PART_TREE, PART_TREE, WIDE_TREE, WIDE_TREE, _f2, _f2, _f1, _f1, PARTS, _f1, types.int64), OverlapPair
)

#: walk, found, known, tries, planes, seeds, stack, t_box, t_triangle, parts
SEARCH_SPACE = types.NamedTuple((WALK_SPACE, _i2, _i2, _i1, _f2, _f2, _i1, _s1, _f1, PARTS), SearchSpace)

#: vertices, welded, fan_start, fan_face, face_slot, up, closed, inverted
PATCH_MESH = types.NamedTuple((_f2, _i2, _i1, _i1, _i1, _i1, types.int64, types.int64), PatchMesh)

#: face_label, place_label, inside, taken, mark, waiting, crossing, region, listed, places
PATCH_SPACE = types.NamedTuple((*5 * (types.int32[::1],), *5 * (_i1,)), PatchSpace)
