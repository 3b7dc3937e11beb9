"""Tolerances and limits of `bvh/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Bins an axis of the surface-area heuristic (a count): 16 come within a few per cent of a full sweep (Wald 2007).
SAH_BINS = 16

#: Cost of a leaf of four triangles in units of that of an 8-wide node, for the collapse of the tree: measured.
WIDE_LEAF_COST = 1.0

#: Most cells of a mesh's grid for points (a count): 2 MB of states and 16 MB of offsets.
GRID_CELLS = 2**21

#: A BSP tree drops pieces of triangles that reach less than this * size of the mesh out of a plane: some hundred roundoffs
#: of a corner that was cut a few times over.
BSP_THIN = 1e-13

#: Most triangles of a mesh with a BSP tree (a count): cuts may square their number, and a convex mesh its depth.
BSP_TRIANGLES = 5000
