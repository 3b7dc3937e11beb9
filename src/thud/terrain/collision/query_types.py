"""The Numba types of `QueryObject`, `PartQuery` and `WorkSpace`, by which kernel signatures name them (see
`_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.shapes.packed_type import PARTS
from thud.terrain.collision.query_object import QueryObject
from thud.terrain.collision.work_space import PartQuery, WorkSpace

_f1, _f2 = types.float64[::1], types.float64[:, ::1]
_i1, _i2 = types.int64[::1], types.int64[:, ::1]
_vec3, _mat3 = types.UniTuple(types.float64, 3), types.UniTuple(types.float64, 9)

#: parts, part_poses, node_boxes, node_ints, group, heads
QUERY_OBJECT = types.NamedTuple((PARTS, _f2, _f2, _i2, _i1, _i1), QueryObject)

#: a, b, r, t, m, mode
PART_QUERY = types.NamedTuple((types.int64, types.int64, _mat3, _vec3, _vec3, types.int64), PartQuery)

#: box, corners, pieces, points, cells, nodes, result, found, counter, above, tops, ends, ray_corners, ray_points, ray_cells,
#: ray_crossings, ray_place, turn
WORK_SPACE = types.NamedTuple(
    (_f1, _f2, _f2, _f2, _i2, _i1, _f1, _i2, _i1, _f2, _f2, _f2, _f2, _f2, _i2, _f2, _f1, _f1), WorkSpace
)
