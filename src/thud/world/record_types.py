"""The Numba types of `PairScene`, `PairRecords`, `ContactColumns`, `Reaches`, `PointList` and `PairTouches`, by which
kernel signatures name them (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.shapes.packed_type import PACKED
from thud.world.contact_records import PointList
from thud.world.contact_rows import ContactColumns, PairRecords, PairScene, Reaches
from thud.world.events import PairTouches

_b1, _u1 = types.boolean[::1], types.uint8[::1]
_f1, _f2 = types.float64[::1], types.float64[:, ::1]
_i1, _i2 = types.int64[::1], types.int64[:, ::1]

#: packed, shape_rows, covered, shape, poses, revision, reach, way, least, size, elsewhere
PAIR_SCENE = types.NamedTuple((PACKED, _i1, _b1, _i1, _f2, _i2, _f1, _f2, _f1, _f1, _f2), PairScene)

#: keys, frames, bits, revisions, counts, places, status, how, points, features
PAIR_RECORDS = types.NamedTuple((types.uint64[::1], _f2, _i2, _i2, _i1, _i1, _u1, _u1, _f2, _i1), PairRecords)

#: handle_a, handle_b, point, normal, depth, feature, patch, status, triangle_a, triangle_b, pairs, rows, start, length, sensor
CONTACT_COLUMNS = types.NamedTuple((_i1, _i1, _f2, _f2, _f1, _i1, _i1, _u1, _i1, _i1, _i2, _i2, _i1, _i1, _b1), ContactColumns)

#: reach, way, least, size
REACHES = types.NamedTuple((_f1, _f2, _f1, _f1), Reaches)

#: pairs, start, length, feature
POINT_LIST = types.NamedTuple((_i2, _i1, _i1, _i1), PointList)

#: pairs, point, normal, speed, sensor, touching
PAIR_TOUCHES = types.NamedTuple((_i2, _f2, _f2, _f1, _b1, _b1), PairTouches)
