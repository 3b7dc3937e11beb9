"""The Numba types of `HullSlots`, `EpaSpace`, `ManifoldSpace` and `ContactFields`, by which kernel signatures name them (see
`_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.convex.manifold import ManifoldSpace
from thud.convex.rows.contacts import ContactFields
from thud.convex.rows.work_space import EpaSpace, HullSlots

#: reals, ints, live
HULL_SLOTS = types.NamedTuple((types.float64[::1], types.int64[::1], types.uint64[::1]), HullSlots)

#: reals, ints
EPA_SPACE = types.NamedTuple((types.float64[::1], types.int64[::1]), EpaSpace)

#: face_a, face_b, spare, whole, found
MANIFOLD_SPACE = types.NamedUniTuple(types.float64[:, ::1], 5, ManifoldSpace)

#: counts, reals, ints, status
CONTACT_FIELDS = types.NamedTuple(
    (types.int64[::1], types.float64[:, ::1], types.int64[:, ::1], types.uint8[::1]), ContactFields
)
