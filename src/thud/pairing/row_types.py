"""The Numba types of `PairBatch`, `DistanceFields` and `ImpactFields`, by which kernel signatures name them (see
`_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.pairing.rows import DistanceFields, ImpactFields, PairBatch
from thud.shapes.packed_type import PACKED

_f1, _f2, _u1 = types.float64[::1], types.float64[:, ::1], types.uint8[::1]

#: packed, pairs, poses_a, poses_b, by_shape
PAIR_BATCH = types.NamedTuple((PACKED, types.int64[:, ::1], _f2, _f2, types.int64), PairBatch)

#: distance, point_a, point_b, normal, status
DISTANCE_FIELDS = types.NamedTuple((_f1, _f2, _f2, _f2, _u1), DistanceFields)

#: time, point, normal, status
IMPACT_FIELDS = types.NamedTuple((_f1, _f2, _f2, _u1), ImpactFields)
