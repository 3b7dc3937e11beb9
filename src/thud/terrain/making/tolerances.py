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

#: A domain that is this part of a cell larger than whole cells gets no further cell.
CELL_ROUNDING = 1e-9

#: Step, in cells, of the differences by which a field's slope is measured at the middles of patches.
MIDDLE_STEP = 1e-3

#: Patches a side that share one such slope: it takes four values of the field, and changes little over a quarter of a quad.
SLOPE_PATCHES = 4

#: Barycentric weights below this count as 0: the point is on the opposite edge. WEIGHT_EDGE: how far outside of a triangle a
#: sample on its edge may seem to lie.
EDGE_WEIGHT = 1e-9
WEIGHT_EDGE = 1e-12

#: Share of the former direction in that of a vertex whose neighbours' normals cancel.
KEEP_GOAL = 1e-9

#: Two ways to split a quad differ if by more than this, of its diagonal or in cosines: on flat ground roundoff must not choose.
SPLIT_TIE = 1e-6

#: Heights are whole multiples of a quantum; by default it is this part of the largest power of two in the spacing: finer than
#: any survey, and coarse enough that slopes up to 8 fit a quad of 16 samples.
HEIGHT_STEP = 2.0**-16

#: Quanta that heights may have, so that products with parts of 1 / 64 and sums of three are exact in float64 (53 bits).
HEIGHT_BITS = 52
HEIGHT_QUANTA = 2.0**HEIGHT_BITS

#: Quanta that a length may have, so that it is exact in float32 (24 bits); and by how many the heights of a quad may differ:
#: half of that, since beside larger quads the base may be off by as much again.
LENGTH_QUANTA = 2.0**24
RELIEF_QUANTA = 2.0**23

#: Significant bits that the spacing of a height map keeps, so that products with 2^17 places are exact.
SPACING_BITS = 36
