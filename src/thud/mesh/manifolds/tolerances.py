"""Tolerances and limits of `mesh/manifolds/`, each with its reason."""

from __future__ import annotations

import math

#: A way out along a triangle's own normal is believed at once if it is shorter than this part of the other body's size: then no
#: other way can be much shorter in metres, and the normal is that of the face, whatever the edges around it.
SURE = 0.05

#: A triangle belongs to a direction that is less deep than its own and clears it by less than this part of its own way: far
#: enough for roundoff and small tilts not to decide.
CLEARLY = 0.75

#: Normals that differ by less than this cosine (one degree) make one patch.
ALIKE = math.cos(math.radians(1.0))

#: A normal from a closest pair is that of a face if it differs from it by less than this cosine (0.08 degrees): closest points
#: of parallel faces are anywhere on them, and their direction is off by roundoff over the gap.
SNAP = 1.0 - 1e-6

#: Two vectors are at right angles if their cosine is below this: a triangle seen from its edge has no inside to clip against.
EDGE_ON = 0.02

#: A normal may lean over an edge by this much (radians) more than the surface bends there: roundoff of a normal of a closest
#: pair whose gap is a millionth of the size.
LEAN = 1e-4

#: Most directions that the contacts of one row are sorted by (a count); more are joined with the nearest.
DIRECTIONS = 32

#: Most points of a patch of triangles (a count).
PATCH_POINTS = 4

#: Points of a patch whose distances differ by less than this part are as far: then the first by their ids is kept.
AS_FAR = 1e-6

#: A depth is greater than another if by more than this part of the sizes.
DEEPER = 1e-7

#: Neighbouring triangles whose normals differ by less than this cosine (30 degrees) belong to one smooth piece of a surface,
#: which has one normal where it is in contact: the mean one.
SMOOTH = math.cos(math.radians(30.0))

#: A triangle is so thin that it has no normal if the square of twice its area is below this times the fourth power of its
#: longest edge: its height is a billionth of that, as its roundoff. Its neighbours stand for it.
THIN = 1e-18

#: A piece of a surface has a mean normal if its area vectors add up to at least this part of its area.
LEAST_MEAN = 0.2

#: A piece is even if its area vectors add up to this part of its area at least: normals within some 0.01 degrees.
FLAT = 1.0 - 1e-8

#: Bodies this close, in units of what coordinates reach to, touch: contacts are asked for so far at least. A hundred times what
#: counts as touching in booleans, as a depth comes from a chain of clipped points.
TOUCHING = 1e-12

#: A direction parts two triangles as well as their closest points do if it does by all but this part of the distance.
NEARLY = 1e-3

#: A part that is cast back onto a facet starts clear of it by this part of its size and way.
CLEAR_ROOM = 1e-3

#: A triangle that others are clipped by is larger than it is by this part: far above roundoff, far below what a user sees.
HAIR = 1e-10

#: Triangles that lie behind each other are looked for up to this part beyond the greatest depth, where no more pairs than
#: this (a count) touch: of few large triangles each says much of the patch, of many small ones those around its border are
#: enough.
BEHIND = 1e-6
FEW_PAIRS = 256

#: Of more pairs than that the nearest of each triangle are used, and then all that are apart by no more than the depth that
#: these show and this part of it: two that lie behind each other are no farther apart than they are deep, and what the first
#: ones miss of a depth is of the second order of a triangle's size.
AMPLE = 0.5

#: Depths of overlaps found within a margin and without are the same if they differ by less than this part: what is near may
#: turn a mean normal a little.
OFF = 0.1

#: In a step of a world depths up to this part of the margin are not compared: a body at rest is less deep.
SURE_OF = 0.1

#: In a step of a world so many pairs of triangles within the margin of two meshes are enough (a count): where there are more
#: the margin is made smaller, by this factor but not below the nearest found so far. Fine meshes that fall fast have tens of
#: thousands, and the nearest of them stop the two. ALL_PAIRS: no such limit.
ENOUGH_PAIRS = 192
CLOSER = 0.4
ALL_PAIRS = 1 << 62

#: Points this near, in units of the smaller body, stand for an overlap: searches on curved shapes may call a gap of 1e-8 one.
SHOWN = 1e-6

#: Contacts deeper than this part of the size are looked at again, with what lies above the shape along its way out but beside
#: it: less deep ones hide no more of their patch than that. Those whose deepest place is beside the facets that show them too.
LOOK_AGAIN = 0.01

#: Of more points of a patch than this (a count) only those farthest out along this many lines across the normal are looked at
#: further: what they span is at least 99.5 % as wide as all of them.
FEW_POINTS = 64
LINES = 16

#: The four points of a patch that are kept are exchanged for others while that makes their area larger by this part.
MORE_AREA = 1e-3

#: Corners take the place of crossings of edges while the four points keep all but this part of their area: with a corner cut
#: off by so much a quadrangle is still 96 % as wide in every direction.
LESS_AREA = 0.02

#: A closest point is at a corner or on an edge if it is this near, in units of the size: far above what searches are off by.
ON_FEATURE = 1e-6

#: A contact point is named by a corner or an edge that it is nearer to than this part of the smaller body's size, as points
#: of two convex shapes are: faces that all but coincide are clipped another way with every breath.
NEAR_FEATURE = 4e-3
