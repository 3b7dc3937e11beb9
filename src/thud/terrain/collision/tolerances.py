"""Tolerances and limits of `terrain/collision/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Where a line meets a bilinear patch: Newton's method ends when a step moves by less than this in (a, b) of the patch,
#: whose sides are 1, and gives up after so many steps. It starts within the patch or beside it and squares its error each
#: step.
PATCH_NEWTON = 1e-12
PATCH_STEPS = 16

#: A patch is cut into 2 x 2 this often (a count) to tell whether something touches it: its pieces leave their bounding
#: tetrahedra by at most 1/64 of what the patch does. A piece that leaves it by less than PATCH_FLAT of the patch's size
#: is not cut.
PATCH_CUTS = 3
PATCH_FLAT = 1e-5

#: A ray meets a bilinear patch up to this far beyond its borders, in (u, v) of the patch, whose sides are 1: no ray slips
#: between two.
PATCH_RAY_EDGE = 1e-9

#: Parts of up to so many vertices (a count) are tested by them alone: the bounding planes leave few of them, and volumes cost
#: more than they save. By `python -m reproductions yang`, Section 5.2: a rock in the ground is found by its vertices in 0.6 to
#: 0.8 of the time, since one of the first is below; above the ground, where all must be looked at, volumes are 1.1, 2.7 and 7.7
#: times as fast with 60, 250 and 1,000 vertices.
PLAIN_VERTICES = 100

#: A shape that turns has touched a displaced surface when they are nearer than this part of the smaller one's size;
#: conservative advancement gives up after so many steps (a count): along a surface it gains little a step.
SURFACE_CAST_GAP = 1e-7
SURFACE_CAST_STEPS = 512

#: Heights of a part and of a volume along one direction are compared with this part of them to spare: above what GJK calls
#: touching.
HEIGHT_SLACK = 1e-9

#: Two crossings of a ray with patches that share an edge are one if they lie closer than this part of the surface's size and of
#: the way there: their distances differ by rounding alone.
CROSSING_GAP = 1e-9

#: Where a point has several backward projections, the next is looked for below the last one's length by this part of that
#: length and of the primitive's range of lengths: more than the error of a projection, less than what parts two of them.
GROUND_NEXT = 1e-9

#: The box of a half-space ends above its plane by this part of the plane's offset and place: their sum is rounded.
HALF_SPACE_ROOM = 1e-9

#: A part is lifted off a patch by this part of its way more, and at least by this part of the sizes, so that the cast down does
#: not begin in touch.
LIFT_CLEAR = 1e-3
LIFT_LEAST = 1e-6

#: Normals whose cosine differs from 1 by less than this are one direction.
SAME_NORMAL = 1e-12

#: A tetrahedron whose six-fold volume is below this part of the cube of its longest coordinate difference is flat: the planes
#: of its faces are no longer known to the precision that V-Clip's walk needs.
FLAT_TETRAHEDRON = 1e-6
