"""Tolerances and limits of `bvh/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: Bins an axis of the surface-area heuristic (a count): 16 come within a few per cent of a full sweep (Wald 2007).
SAH_BINS = 16

#: Places over the extent are taken times this before they are counted into bins: the last one, at 1, falls into the last bin.
SAH_END = 1.0 - 1e-6

#: So few triangles are sorted and cut at the best place, instead of counted into bins (a count).
SAH_FEW = 16

#: Cost of a leaf of four triangles in units of that of an 8-wide node, for the collapse of the tree: measured.
WIDE_LEAF_COST = 1.0

#: Boxes of the 8-wide tree are widened, in the scaled frame whose coordinates reach 1, by the roundoff of corners taken
#: relative to its origin; and, once they are float32, by WIDE_LEAST beside a step of their own: a bound of 0 has no step.
WIDE_ROUNDOFF = 4.0 * UNIT_ROUNDOFF
WIDE_LEAST = 2.0**-60

#: Most cells of a mesh's grid for points (a count): 2 MB of states and 16 MB of offsets.
GRID_CELLS = 2**21

#: A flat mesh is taken to be this part of its largest extent thick when cells are sized: without a volume they would have no
#: size. Nor are they smaller than GRID_LEAST of the largest coordinate, which leaves 2^23 places in a cell.
GRID_FLAT = 1e-3
GRID_LEAST = 2.0**-30

#: Radii of nodes for winding numbers are taken times this: the roundoff of a square root and of nine operations, many times
#: over.
WINDING_RADIUS = 1.0 + 1e-12

#: Cells are listed with this slack, in units of a cell: more than the roundoff of a cell number, below GRID_CELLS.
GRID_SLACK = 1e-7
