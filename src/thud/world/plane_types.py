"""The Numba type of `PlaneTrees`, by which kernel signatures name it (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.world.plane_trees import PlaneTrees

_f1, _f2, _s2 = types.float64[::1], types.float64[:, ::1], types.float32[:, ::1]
_i1, _i2, _u1 = types.int64[::1], types.int64[:, ::1], types.uint8[::1]

#: root, origin, extent, child, spheres, cells, points, inside_start, inside, solid
PLANE_TREES = types.NamedTuple((_i1, _f2, _f1, _i2, _s2, _f2, _s2, _i1, _f2, _u1), PlaneTrees)
