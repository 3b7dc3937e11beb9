"""Tolerances and limits of `mesh/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import GJK_FLOOR_CURVED, TOUCH

#: Casts of meshes that turn advance by the distance of the surfaces while it is more than this times the length of a triangle;
#: then by windows of time in which points come closer by about as much.
TURN_NEAR = 2.0

#: What such a distance may be too large by, in units of the sizes: ten times what GJK leaves on curved shapes.
TURN_ERROR = 10.0 * GJK_FLOOR_CURVED

#: Most advances and windows of one cast of meshes (a count); it takes 10 to 50.
TURN_ROUNDS = 4096

#: Boxes of trees are compared in float32. Roundoff of the 15 axes' terms adds up to less than this (32 units of float32
#: roundoff) times what the coordinates reach to; boxes closer than that are not separated. Far below a leaf's size.
BOX_SLACK = 2e-6

#: Roundoff of the signed distances in Theorem 3.2, times what coordinates reach to: eight times what counts as touching.
SPM_MARGIN = 8.0 * TOUCH

#: Roundoff of the 15-axis test of two OBBs whose axes are orthonormal to float32, times the sum of all half extents: each of
#: the up to six terms of an axis is off by 2^-23 of it.
OBB_BLUR = 2.0**-19

#: Directions that the search for a clearing translation of two meshes looks in (a count): 13 degrees apart, a few basins
#: of the depth as a function of the direction each.
DEPTH_DIRECTIONS = 256

#: How much beyond the best so far a direction is looked at, since the basin's bottom may lie beside it (a factor).
DEPTH_WIDER = 1.4

#: Basins that are followed to their bottom (a count), and the angle in radians at which that ends: the depth is then within
#: about its square of the bottom's.
DEPTH_STARTS = 6
DEPTH_FINEST = 2e-3

#: Steps after which the way to the bottom of a basin is cut short (a count); it takes 10 to 20. What is reached by then is
#: valid, if a little longer than it could be.
DEPTH_STEPS = 40

#: Directions that the search for the normal of a contact patch looks in (a count).
PATCH_DIRECTIONS = 96

#: The mean normal of a patch's triangles is its normal unless another direction is this much better (a factor): the mean
#: changes little from frame to frame, the best direction may jump.
PATCH_NORMAL = 1.05

#: Rays of a batch are sorted by where they pass through the mesh, this many at a time (a count; 4 MB of work space), from
#: this many on: neighbours then find nodes and triangles in the cache. Halves the time of a million incoherent rays.
RAY_SORT_BLOCK = 2**19
RAY_SORT_LEAST = 4096

#: Rays and points that ask a mesh may come from as far as this (metres): the exact predicates multiply three lengths.
MESH_FARTHEST = 1e75

#: Winding numbers from moments, dimensionless. Most that one node's part may be off, by a proved bound, at first (least work,
#: measured); by what factor less where the sum of the bounds leaves open on which side of one half the number is; and the sum
#: from which it is taken as it is.
WINDING_NODE_ERROR = 0.006
WINDING_STEP = 0.3
WINDING_ERROR = 0.004

#: A reach, a distance of points that rounding may have made too small, is widened by this part: some thousand roundings.
REACH_ROUNDING = 1e-12

#: Half-spaces of one compound have a way out if each normal leads along their mean by at least this (a cosine): below it the
#: way would be a thousand times as long as the depth.
LEAST_WAY_OUT = 1e-3
