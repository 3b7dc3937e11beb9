"""The Numba types of the named tuples in `rows.py` and `mesh_side.py`, by which kernel signatures name them (see
`_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.bvh.mesh_edges_type import MESH_EDGES
from thud.bvh.wide_type import WIDE_TREE
from thud.convex.rows.work_types import EPA_SPACE, MANIFOLD_SPACE
from thud.mesh.manifolds.mesh_side import MeshSide, RaySpace
from thud.mesh.manifolds.rows import FacetSpace, ManifoldRows, PairSpace
from thud.mesh.tree_types import BOX_TREE

_f2, _i1, _i2 = types.float64[:, ::1], types.int64[::1], types.int64[:, ::1]

#: contacts, counts, needed, status
MANIFOLD_ROWS = types.NamedTuple((types.float64[:, :, ::1], _i1, _i1, types.uint8[::1]), ManifoldRows)

#: facets, ints, keys, directions, points, epa, polygons
FACET_SPACE = types.NamedTuple((_f2, _i2, _i1, _f2, _f2, EPA_SPACE, MANIFOLD_SPACE), FacetSpace)

_s1 = types.float32[::1]

#: stack, stack_t, t_box, t_triangle
RAY_SPACE = types.NamedTuple((_i1, _s1, _s1, types.float64[::1]), RaySpace)

#: tree, edges, wide, closed, turned, rays
MESH_SIDE = types.NamedTuple((BOX_TREE, MESH_EDGES, WIDE_TREE, types.int64, types.int64, RAY_SPACE), MeshSide)

#: facets, ints, keys, pairs, gaps, queue, seen, beyond
PAIR_SPACE = types.NamedTuple((_f2, _i2, _i1, _i2, _f2, _i1, _i1, _i2), PairSpace)
