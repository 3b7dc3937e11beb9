"""Tolerances and limits of `terrain/collision/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Where a line meets a bilinear patch: Newton's method ends when a step moves by less than this in (a, b) of the patch,
#: whose sides are 1, and gives up after so many steps. It starts within the patch or beside it and squares its error each
#: step.
PATCH_NEWTON = 1e-12
PATCH_STEPS = 16

#: A piece of a patch is cut into 2 x 2 until it leaves its tetrahedron by less than this part of the patch's size: a
#: fifth of what answers may be off by. A time of a cast is found on pieces that leave it by less than CAST_FLAT, a
#: little early; what needs the place of a touch goes on from there by distances. No piece is smaller than PATCH_LEAST of the
#: patch: even a patch that is twisted by its own size is then flat enough.
PATCH_FLAT = 2e-7
CAST_FLAT = 4e-3
PATCH_LEAST = 2.0**-12

#: A part that turns is cast onto pieces no wider than this times its radius.
PIECE_WIDEST = 4.0

#: The time of a linear cast goes on by the distance that is left over the speed along its normal, but as if that were
#: CAST_STEEP of the speed at least, until it is less than this part of the shape's size, or so many times (a count). Each step
#: is shorter by CAST_CURVED times the distance over the patch's size (a factor): patches are bent by up to about their own
#: size.
CAST_REST = 1e-8
CAST_CURVED = 4.0
CAST_STEEP = 0.05
CAST_MORE = 32

#: The cast onto a piece of a patch begins where that onto the piece around it ended, less this part of the patch's size: more
#: than what casts end early by, so that it does not begin in touch.
CAST_EARLY = 1e-2

#: A sheet that crosses a column this part of its length below its top, or less, is the column's own: at an edge the patches
#: beside it meet the column's top up to rounding.
OWN_SHEET = 1e-7

#: Boxes of blocks of patches are rounded outward by this part of their grid, a 255th of a quad: far more than the roundoff of
#: the grid, and far more than rays meet patches beyond their borders.
BLOCK_SLACK = 1e-3

#: Boxes that a ray enters beyond the best hit by less than this part of it are looked into: on an edge that patches share, hits
#: differ by roundoff, and the least of them counts whatever the order of the walk.
RAY_TIE = 1.0 + 1e-12

#: Rays, of all calls together, from which on a surface gets boxes for them, as a part of the samples: making these takes 0.05
#: us a sample, and saves 7 us a ray.
BLOCK_RAYS = 1.0 / 128.0

#: A ray meets a bilinear patch up to this far beyond its borders, in (u, v) of the patch, whose sides are 1: no ray slips
#: between two.
PATCH_RAY_EDGE = 1e-9

#: Parts of up to so many vertices (a count) are tested by them alone: the bounding planes leave few of them, and volumes cost
#: more than they save. By `python -m reproductions yang`, Section 5.2: a rock in the ground is found by its vertices in 0.6 to
#: 0.8 of the time, since one of the first is below; above the ground, where all must be looked at, volumes are 1.1, 2.7 and 7.7
#: times as fast with 60, 250 and 1,000 vertices.
PLAIN_VERTICES = 100

#: A half-space, or any shape if the surface turns, has touched a displaced surface when they are nearer than this part of the
#: smaller one's size; conservative advancement gives up after so many steps (a count): along a surface it gains little a step.
SURFACE_CAST_GAP = 1e-7
SURFACE_CAST_STEPS = 512

#: Other casts with rotation go by windows of time in which turning moves the shape's points by no more than this part of its
#: radius to either side of where they are amid it, at most so many (a count): one or two for a radian.
SURFACE_TURN_WINDOW = 0.25
SURFACE_TURN_WINDOWS = 4096

#: How far turning moves a point is rounded by less than this part.
TURN_ROUNDING = 1e-9

#: Heights of a part and of a volume along one direction are compared with this part of them to spare: above what GJK calls
#: touching.
HEIGHT_SLACK = 1e-9

#: Two crossings of a ray with patches that share an edge are one if they lie closer than this part of the surface's size and of
#: the way there: their distances differ by rounding alone.
CROSSING_GAP = 1e-9

#: Where a point has several backward projections, the next is looked for below the last one's length by this part of that
#: length and of the primitive's range of lengths: more than the error of a projection, less than what parts two of them.
GROUND_NEXT = 1e-9

#: A point whose backward projection misses a primitive by more than this, in (u, v) of the primitive, whose sides are 1, lies
#: below none of its patches: at most half a sample of a primitive that may be one sample wide.
BESIDE = 0.5

#: A point is beside columns if it is beyond what they reach to, along a direction across them, by this part of the numbers
#: compared: far above their rounding.
SLAB_ROOM = 1e-12

#: The box of a half-space ends above its plane by this part of the plane's offset and place: their sum is rounded.
HALF_SPACE_ROOM = 1e-9

#: A part is lifted off a patch by this part of its way more, and at least by this part of the sizes, so that the cast down does
#: not begin in touch. From where the cast ends it is lifted by LIFT_APART of the patch's size, to be apart, and the rest of the
#: way is their distance.
LIFT_CLEAR = 1e-3
LIFT_LEAST = 1e-6
LIFT_APART = 1e-6

#: A part that is clear of the tetrahedron of a patch is lowered by their distance until a step is below this part of the
#: patch's size, or so many times (a count): each step all but squares what is left. After a cast, where steps may lead too far
#: and are halved, more often: a thousandth of the patch is halved to LIFT_SAME in 20 steps.
LIFT_SAME = 1e-9
LIFT_STEPS = 6
LIFT_HALVES = 32

#: Normals whose cosine differs from 1 by less than this are one direction. A direction that runs along the patch, with a cosine
#: below LIFT_STEEP, says nothing of how deep a part is.
SAME_NORMAL = 1e-12
LIFT_STEEP = 0.02

#: A part that is in the ground as a whole is moved out by its own height so often (a count) if its first way is not free;
#: up its columns more often, by its radius more each time: 16 steps lead up by more than a hundred radii.
BURIED_STEPS = 4
BURIED_STEPS_UP = 16

#: Closest points of a part and a patch are exact when a step of their alternating projections moves by less than
#: NEAREST_STEP of the patch's size; so many steps (counts) are made, each of at most so many Newton steps for the point of
#: the patch, each halved so often where it does not gain, unless it promised less than FOOT_GAIN of the squared distance. Where
#: both are flat and parallel it takes as long as it likes, and any of the points will do. Second derivatives of their distance
#: are differences over NEAREST_APART of the patch, whose sides are 1, so that Newton's step leaves about that part of the
#: error: one of NEAREST_DONE or less, in (u, v), is the last.
NEAREST_STEP = 1e-12
NEAREST_APART = 1e-4
NEAREST_DONE = 1e-9
NEAREST_TURNS = 64
FOOT_STEPS = 24
FOOT_HALVES = 12
FOOT_GAIN = 1e-12

#: How near a patch is at most is asked by so many of these steps (a count): most end after two.
BOUND_TURNS = 4

#: The search for the nearest patch begins with a distance that one is within, and this part of it and of the sizes more: what
#: GJK's answers for curved shapes depend on where it begins is less.
NEARBY_ROOM = 1e-6

#: A point of a patch is on its edge if it is this near to it, in (a, b), whose sides are 1; places of one patch and another are
#: the same if they are this near, in units of the patch's size.
ON_EDGE = 1e-7

#: The closest point on an edge is that of the face beyond it if its normal leans over that face by more than this, a cosine:
#: more than what normals are off by.
EDGE_LEAN = 1e-6

#: Ways out of the ground end clear of it by this part of the shape's size and of the contacts' depths, far above what counts as
#: touching; contacts are asked for up to WAY_MARGIN of the size beyond, so that a way does not lead into the next patch. So
#: many rounds of contacts are made, so many sweeps over at most so many constraints of a row (counts).
WAY_CLEAR = 1e-6
WAY_MARGIN = 0.05
WAY_ROUNDS = 12
WAY_SWEEPS = 400
WAY_MOST = 128

#: Shorter ways are looked for along the normals of so many contacts (a count), then leaning away from the best by so much, in
#: radians, each time to eight sides. A way is taken if it is shorter by this part.
WAY_DIRECTIONS = 8
WAY_LEANS = (0.8, 0.4, 0.2, 0.1, 0.05)
WAY_GAIN = 2e-3

#: Ways that are longer than WAY_LONG of the shape's radius may be shorter through another sheet. They are looked for at these
#: parts of their length, the least first, along so many directions all around (counts): as many to an area of each sphere,
#: 5 degrees apart at the end, since a free place that is as wide is seen as well whether it is near or far.
WAY_LONG = 0.25
WAY_PARTS = (0.3, 0.45, 0.6, 0.7, 0.8, 0.88, 0.95)
WAY_AROUND = (150, 340, 600, 820, 1070, 1290, 1500)

#: Where contacts lead nowhere, free places are looked for along so many directions (a count), first as far as this part of the
#: shape's radius, then farther by this factor, so many times (a count): 2,000 radii.
WAY_FAR_AROUND = 340
WAY_FIRST = 0.25
WAY_FARTHER = 1.5
WAY_FAR_STEPS = 23

#: Of the free places that are found so, at most so many (a count) are cast back from: the first is seldom the nearest.
WAY_BACK = 32

#: So many poses are asked at once (a count): 10 MB of them.
WAY_BATCH = 100_000

#: A tetrahedron whose six-fold volume is below this part of the cube of its longest coordinate difference is flat: the planes
#: of its faces are no longer known to the precision that V-Clip's walk needs.
FLAT_TETRAHEDRON = 1e-6

#: Most primitives near a compound and the nodes of its tree above one of its parts, and most of these nodes (counts): a ship of
#: 120 parts over terrain has 20 to 50 near it. What has more is asked part by part.
LISTED = 4096
LEVELS = 64

#: Contacts of a mesh's triangles are covered by those of its vertices that lie farthest out in so many directions (a count):
#: the corners of a face that lies on the ground are among them, and three of so few are soon asked.
OUTER_CORNERS = 8
