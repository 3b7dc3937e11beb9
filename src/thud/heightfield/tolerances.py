"""Tolerances and limits of `heightfield/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import GJK_FLOOR_CURVED, TOUCH

#: Boxes of shapes are wider by this times what their coordinates reach to: a few times TOUCH, so that no cell is left out
#: whose ground counts as touching.
FIELD_ROOM = 4.0 * TOUCH

#: A search for the nearest passes over what is farther than the best so far by bounds in float64, each off by a few roundoffs
#: of what the coordinates reach to; this times that is what they are believed to.
NEAR_ROOM = 4.0 * TOUCH

#: Ground without end is asked down to where the other shape ends and further by this many cells: deep enough that its underside
#: takes part in nothing, and not so deep that it coarsens tolerances that scale with the size of what is compared.
FLOOR_CELLS = 1.0

#: Directions that the search for a way out of the ground looks in (a count), beside the surface's own normals: 18 degrees apart
#: over the half sphere of those that lead up.
DEPTH_DIRECTIONS = 48

#: A direction is tried at this part of the best way out so far, so that only what is better is followed (a factor).
DEPTH_BETTER = 0.995

#: At last the normals of the triangles about are tried at this part of the best way: all but no worse is better, since the
#: way is then exact.
DEPTH_NO_WORSE = 1.0 - 1e-10

#: Rounds of the refinement about the best direction (a count), the angle in radians that it begins with, and by what it shrinks
#: when no direction about the best is better (a factor). At the end the angle is 1e-3, and the depth within about 1e-6 of the
#: bottom of its basin.
DEPTH_ROUNDS = 14
DEPTH_ANGLE = 0.3
DEPTH_SHRINK = 0.6

#: Rows that the search for a way out works on at once (a count): it bounds the memory of the trials.
DEPTH_BLOCK = 1024

#: A way that is known to lead out is lengthened by this part of the sizes before it is gone back along: at its end the two
#: must be apart, not touching.
CLEAR_ROOM = 1e-9

#: Casts in which the field turns, or which a half-space takes part in, end where the two are closer than this times the smaller
#: one's size, metres; what coordinates are rounded by comes on top. As for displaced surfaces.
TURN_GAP = 1e-7

#: Most steps of these, and most windows of the others (counts); they take 10 to 50, and one.
TURN_STEPS = 4096

#: A window of a cast lasts while turning moves the object's points by no more than this times the cells' length to either side
#: of where they are amid it: boxes are wider by so much.
TURN_WINDOW = 0.5

#: What a distance between windows may be too large by, in units of the sizes: ten times what GJK leaves on curved shapes.
TURN_ERROR = 10.0 * GJK_FLOOR_CURVED

#: How far turning moves a point, and how fast it is, are rounded by less than this part.
TURN_ROUNDING = 1e-9

#: A ray that starts within this part of what the coordinates reach to above or below the surface starts on it.
RAY_START = 2.0 * TOUCH

#: A ray along a line of the grid that is this near to it, in cells, is on it: what is on either side counts, and at the border
#: what is inside. Places of nodes have such roundoff where coordinates are large or spacings no powers of two.
RAY_LINE = 1e-9

#: Cells of a block that are looked at one by one without a test of the block (a count): it costs as much as some triangles do.
FEW_CELLS = 4
