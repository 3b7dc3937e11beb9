"""The Numba type of `WideTree`: what kernel signatures mean by `wide_tree` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.bvh.wide import WideTree

#: nodes, references, blocks, rows, frame
WIDE_TREE = types.NamedTuple(
    (types.float32[::1], types.int32[::1], types.float64[::1], types.int64[::1], types.float64[::1]), WideTree
)
