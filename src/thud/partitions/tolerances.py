"""Tolerances of `partitions/`, each with its unit and reason. `size` is the longest side of the box around the triangles."""

from __future__ import annotations

#: A BSP tree drops pieces of triangles that reach less than this * size out of a plane: some hundred roundoffs of a corner that
#: was cut a few times over.
BSP_THIN = 1e-13

#: The same as a part of the largest coordinate: some ten roundoffs of it. Far from the origin cuts are no better than that.
BSP_FAR = 4e-15

#: Points of a cell are looked for so far from the piece that bounds it, as parts of the piece's inner radius, the farthest
#: first: the farther, the surer is what is found there. If none falls into the cell, a linear program looks for one.
BSP_PROBES = (0.3, 1e-2, 1e-4, 1e-6)

#: Squared distances of two faces that differ by this part are the same: those of faces that share the nearest edge or vertex.
BSP_SAME = 1e-12

#: Triangles tried as plane of a node, and what a cut counts against an imbalance of one (counts).
BSP_TRIED = 8
BSP_CUT = 4.0

#: From so many pieces on a cell is cut across its longest side or by walls, not along its triangles (a count): along triangles
#: alone a convex mesh would make a list, and those around a flat vertex would cut each other again and again.
BSP_FEW = 12

#: Such a cut must leave no more than this part of the pieces on one side.
BSP_SHARE = 0.9

#: A ray enters the next cell of a grid where it leaves the one before; hits are looked for this part of a cell beyond it.
GRID_STEP = 1e-9

#: A region of an octree is divided if its parts have at most this times as many pairs of boxes: a few large boxes, which lie in
#: all eight, are no reason to leave the many small ones beside them together.
OCTREE_GROWTH = 1.1
