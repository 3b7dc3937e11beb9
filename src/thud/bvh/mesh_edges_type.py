"""The Numba type of `MeshEdges`: what kernel signatures mean by `mesh_edges` (see `_core/decorators.py`)."""

from __future__ import annotations

from numba import types

from thud.bvh.mesh_edges import MeshEdges

_f, _h = types.float32[:, ::1], types.int32[:, ::1]

#: bend, beyond, side, corner, face, turned
MESH_EDGES = types.NamedTuple((_f, _h, _h, _h, types.int64[::1], types.int64[::1]), MeshEdges)
