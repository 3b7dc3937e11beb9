"""Tolerances and limits of `mesh/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import GJK_FLOOR_CURVED, TOUCH, UNIT_ROUNDOFF

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

#: Basins that it follows to their bottom (a count).
PATCH_STARTS = 2

#: The mean normal of a patch's triangles is its normal unless another direction is this much better (a factor): the mean
#: changes little from frame to frame, the best direction may jump.
PATCH_NORMAL = 1.05

#: Rays of a batch are sorted by where they pass through the mesh, this many at a time (a count; 4 MB of work space), from
#: this many on: neighbours then find nodes and triangles in the cache. Halves the time of a million incoherent rays.
RAY_SORT_BLOCK = 2**19
RAY_SORT_LEAST = 4096

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

#: Bounds from boxes, squared distances and times, are float32: rounded by less than this part, which is on the safe side.
BOUND_ROUNDING = 1e-6

#: Squares beyond float32 count as inf there, smaller ones as the least of full precision.
LEAST_SQUARE, MOST_SQUARE = 1e-37, 3e38

#: Distances of triangles found in different ways differ by less than this part.
GAP_ROUNDING = 1e-9

#: Of a guess from an earlier frame: what its distance may be off by, in units of the sizes, to be a bound of the others.
GUESS_ROUNDING = 1e-9

#: Two moving triangles pass each other if their shadows are this far apart, in units of what coordinates reach to: a thousand
#: times the roundoff of the projections.
PASS_TOUCH = 1e-9

#: What is slower than this, in box sizes a step, stands still: one over it is still a float32.
SLOWEST = 1e-30

#: How far rotation moves a point, and how fast it is, are rounded by less than this part.
TURN_ROUNDING = 1e-9

#: A half-space is looked at through a cube below its plane, of this part of what coordinates reach to, which `query_size` takes
#: eight times as large for it: twice what the mesh can reach.
HALF_SPACE_CUBE = 0.25

#: What adding up the ways of many frames rounds off, a frame, in units of what coordinates reach to.
FRONT_ROUNDING = 16.0 * UNIT_ROUNDOFF

#: Squared distances to boxes in float32 are off by less than this part.
FLOAT32_ROUNDING = 2.0**-20

#: Slack, in the scaled frame, with which every box is as near as any: its square is still a float32.
EVERYWHERE = 1e19

#: Heights of corners over the other surface may exceed the patch's depth, of which they are part, by this part.
SPAN_ROUNDING = 1e-9

#: Mean normals of two patches that cancel to less than this (of unit lengths) have no direction.
NO_MEAN = 1e-6

#: Two ways out of a patch count as equally long within this part of the smaller body's size.
PATCH_AGREE = 1e-6

#: A translation that clears two hulls is lengthened by this part, so that the cast back does not begin in touch; where the
#: depth is 0, or unknown, it is CLEAR_LEAST of the sizes.
CLEAR_FURTHER = 1e-7
CLEAR_LEAST = 1e-6

#: Tries to find a translation that clears, each a tenth longer than the one before (a count). Roundoff of the hulls' depth
#: needs one or two; the last one goes as far as balls about the two reach.
CLEAR_ATTEMPTS = 12

#: Contacts of moving triangles in closed form. Faces and edges count as longer by SWEEP_EDGE (a part of their length), so that
#: nothing slips between two cases: ten million roundoffs. Edges whose angle's sine squared is below SWEEP_PARALLEL count
#: as parallel; where such edges touch, a corner does too.
SWEEP_EDGE = 1e-9
SWEEP_PARALLEL = 1e-20

#: The way down to a short translation (`mesh/way_out.py`) stays this far away from touching, in units of what coordinates reach
#: to: ten million roundoffs, so that no cast begins in touch. With a convex shape it is more, since casts of curved ones end at
#: 4e-8. At its end the two are let go of at WAY_LET_GO, the gap at which casts end too.
WAY_GAP = 1e-8
WAY_GAP_CONVEX = 1e-7
WAY_LET_GO = 1e-9

#: Such a way ends where a round of it gains less than this part of its length, the last one at WAY_GAIN_LAST; and after so many
#: casts (a count): it takes 5 to 20. What is reached by then is valid.
WAY_GAIN = 1e-4
WAY_GAIN_LAST = 1e-6
WAY_STEPS = 60

#: Planes met within this times the root of the gain, in units of the way's length, hold one point of it: the length changes by
#: the square.
WAY_STILL = 0.1

#: Planes that hold the way up, of those met last (a count): three hold a point, and a few more lie near.
WAY_PLANES = 8

#: Planes whose normals' determinant is less have no common point to speak of (squared sine; volume of unit vectors).
WAY_SLOPE = 1e-9

#: Two triangles that meet are kept to be tried first, this many (a count): 32 tests take as long as a twentieth of a walk. With
#: a convex shape, where each test takes GJK, few.
WAY_KNOWN = 32
WAY_KNOWN_CONVEX = 4

#: Places where ways begin (a count), room for them, and the cosine above which two of them count as one: 18 degrees. On 280
#: scenes of bumpy, rough, flat and long bodies three ways came within 0.6 % of the best of eight from twice as many directions.
WAY_STARTS = 3
WAY_SEEDS = 8
SEED_APART = 0.95

#: In a hollow B may be free at a small part of the best length so far, and not again before it is outside. So WAY_RUNGS
#: lengths (a count), each WAY_NEARER times the last (a factor), are tried along every WAY_SPARSE-th direction (a count) and the
#: normals of two triangles that meet: down to 1/256 of the best. It takes a sixth of the search's time.
WAY_NEARER = 0.63
WAY_RUNGS = 12
WAY_SPARSE = 12

#: At the end of a way B is tried at the same length beside it: in WAY_RING directions (a count) at WAY_BESIDE radians and at
#: halves of it down to WAY_CLOSEST, for the best of all down to WAY_FINEST. The first is as far as the directions of the search
#: are apart. A way that ended at more than WAY_HOPELESS times the best so far (a factor) is not followed further.
WAY_RING = 6
WAY_BESIDE = 0.25
WAY_CLOSEST = 0.02
WAY_FINEST = 2e-3
WAY_HOPELESS = 1.3

#: Directions with less than this of the one that the way must keep a part of (a cosine) are not looked in.
WAY_TOWARD = 0.1

#: What may be nearer than the best so far, squared, is solved where it is below this times that: a rough distance is off by
#: some roundings, and the solved one alone decides.
ROUNDED = 1.0 + 1e-12
