"""The Numba types of the named tuples in `trees.py` and of `TreeFronts`, by which kernel signatures name them (see
`_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.mesh.trees import BoxTree, FrontSpace, ObbTree, TurningTree, WalkSpace
from thud.pairing.pair_cache import TreeFronts

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
