"""Fields f(p) along a path, h(t) = f(p(t)), as `interval_scan.py` looks at them: what is known of one, and what it tells of a
cell, an interval of time."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

# Kinds that kernels dispatch on: balls and segments (`blob_field.py`), a quadric and a path with drag (`quadric_field.py`),
# polynomials in tetrahedra (`tetrahedron_field.py`).
BLOBS, QUADRIC, TETRAHEDRA = range(3)

# What a field writes of a cell: bounds of h and of h' over it, bounds of h in its middle; how near to 0 a value says nothing
# of the side, and how near to 0 an extreme is a touch.
LOW, HIGH, STEEP_LOW, STEEP_HIGH, MIDDLE_LOW, MIDDLE_HIGH, NEAR, TOUCH = range(8)
OUT = 8


class PathField(NamedTuple):
    """A field and what of it one path comes near. `PathField` in a kernel's signature is `path_field`."""

    kind: Any
    """BLOBS, QUADRIC or TETRAHEDRA."""
    rows: Any
    """(N, columns) balls, segments, quadrics or tetrahedra."""
    values: Any
    """(N, K) control values of tetrahedra."""
    level: Any
    """The surface is where the field equals it."""
    items: Any
    """(M,) rows that the path comes near."""
    spans: Any
    """(M, 2) from when to when, in the order of the first."""
    count: Any
    """(1,) how many they are; of quadrics which row."""
    work: Any
    """Scratch."""


_f2, _f1, _i1 = types.float64[:, ::1], types.float64[::1], types.int64[::1]

PATH_FIELD = types.NamedTuple((types.int64, _f2, _f2, types.float64, _i1, _f2, _i1, _f1), PathField)
