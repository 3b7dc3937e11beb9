"""Tolerances and limits of `terrain/making/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Points at which a field is asked at once when a surface is made from it (a count; 6 MB of coordinates).
FIELD_BLOCK = 2**18

#: Most nodes of the grid over which a field is searched for its surface (a count: some minutes for a simple field), and most
#: samples of the map of one made surface (4 GB).
NET_NODES = 2**30
MADE_SAMPLES = 2**30

#: Tracing from the base to the original: steps a cell by which the surface is bracketed, cells that are searched, and the
#: tolerance of a length as a part of the cell: below the float32 resolution of lengths up to a cell.
TRACE_STEPS = 16
TRACE_REACH = 1.0
TRACE_TOLERANCE = 1e-8

#: Cosines between directions and the normals of primitives at their vertex, when a surface is made. Directions below the goal
#: are turned; where even the least cannot be had, the base mesh is smoothed. Lengths grow as 1 / cosine.
FACING_GOAL = 0.3
FACING_LEAST = 0.05
