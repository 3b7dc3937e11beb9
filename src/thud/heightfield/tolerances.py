"""Tolerances and limits of `heightfield/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import TOUCH

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

#: Turning casts end where the two are closer than this times the smaller one's size, metres; what coordinates are rounded by
#: comes on top. As for displaced surfaces.
TURN_GAP = 1e-7

#: Most steps of a turning cast (a count); it takes 10 to 50.
TURN_STEPS = 4096

#: Points of a contact patch lie between the two surfaces along its normal if not beyond them by more than this part of the
#: depth, and over a triangle if not beside it by more than this part of its size.
CONTACT_SPAN = 1e-9

#: Another direction than the mean normal of the triangles in contact becomes the normal of a patch if its depth is less than
#: this part of the mean's: a wall at the border, the underside of a thin layer, a flat side of the shape on a peak. The mean
#: changes least from frame to frame.
CONTACT_OTHER = 0.95

#: Neighbouring triangles belong to one patch of contact if the cosine of the angle between their normals is at least this: 26
#: degrees. So the foot of a cliff and the ground before it are two patches, each with a normal of its own.
CONTACT_BEND = 0.9

#: Triangles of a patch (a count) up to which each gives a contact point of its own; beyond, only those that are deeper than
#: what was found before are looked at.
CONTACT_ALL = 32

#: Corners round the rim of a cylinder or a cone that may be contact points (a count).
RIM_POINTS = 8

#: A ray that starts within this part of what the coordinates reach to above or below the surface starts on it.
RAY_START = 2.0 * TOUCH

#: Cells of a block that are looked at one by one without a test of the block (a count): it costs as much as some triangles do.
FEW_CELLS = 4
