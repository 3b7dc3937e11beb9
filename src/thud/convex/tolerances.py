"""Tolerances and limits of `convex/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import GJK_FLOOR_CURVED, UNIT_ROUNDOFF

#: GJK stops when the squared upper bound |v|^2 and the lower bound v.w of the distance agree to this fraction.
#: 1e-12 in the square keeps the distance right to 1e-12; the support scan itself is exact to 1e-16.
GJK_GAP = 1e-12

#: The same for shapes with curved surfaces, where the witness point is approached and never met exactly: 2e-9 of the
#: squared distance, three orders better than the 1e-6 * size that curved shapes promise.
GJK_GAP_CURVED = 2e-9

#: Roundoff of v.w in units of |v| * size: gaps below this cannot be measured, so GJK accepts them.
GJK_ROUNDOFF = 8.0 * UNIT_ROUNDOFF

#: Most GJK steps in a row that do not shorten v measurably (a count). Where one vertex of the simplex is far away, a
#: step may turn v without shortening it, and only the next one gains.
GJK_STALLS = 4

#: A search that has come to a halt is still called SEPARATED when its bounds differ by less than this * size: a tenth of
#: the 1e-9 * size that polytopes promise, and of the 1e-6 * size that curved shapes do.
GJK_SLACK = 1e-10
GJK_SLACK_CURVED = 1e-7

#: GJK's iteration limits. Polytopes of 30-60 vertices take 4 to 8; curved needles up to a few dozen. Past the limit
#: the status is UNCONVERGED, never SEPARATED.
GJK_ITERATIONS = 64
GJK_ITERATIONS_CURVED = 512

#: EPA stops when the depth's upper and lower bounds differ by less than this times `size`. On curved surfaces, half of
#: the 1e-6 * size that they promise: the number of faces grows with the inverse of it.
EPA_GAP = 1e-12
EPA_GAP_CURVED = 5e-7

#: EPA treats a new support point within this * size of a face's plane as lying in the plane, and merges the face into
#: what the point sees. Larger than the roundoff of a plane through three points of a well-shaped face, smaller than
#: EPA_GAP so that it never hides a gain.
EPA_COPLANAR = 4e-14

#: On curved shapes EPA trusts no face that is lower than this * size: a roundoff of 1e-16 * size at its corners turns its
#: normal by up to 1e-7, which moves its plane by less than EPA_GAP_CURVED.
EPA_THIN = 1e-9

#: Largest number of living faces of EPA's polytope. A generic pair needs under 200; two coaxial cylinders, whose depth is
#: the same all around, up to 20,000 (some milliseconds, 5 MB); two concentric balls of 40,000 vertices, turned against each
#: other, 150,000 (half a second, 40 MB).
EPA_FACES = 262144

#: Faces of the first try; its scratch memory is small enough to be had for nothing. A search that does not converge is repeated
#: with EPA_FACES. Every pair begins with the first try: one that converges just as its scratch is full has other last bits than
#: with more room, so what came before it must not decide.
EPA_FACES_FIRST = 256

#: Two directions count as parallel for a contact face when the sine of their angle is below this. 1e-2 is 0.6
#: degrees: a box tilted by less than that rests on a face, as a user expects, with depths that show the tilt.
MANIFOLD_PARALLEL = 1e-2

#: A manifold whose deepest point is shallower than the penetration depth by more than this * size also gets the witness
#: points of the depth itself.
MANIFOLD_SLACK = 1e-7

#: Two points of a manifold are as far from those kept, when it is reduced, if their squared distances differ by less than this
#: fraction: then the first by their ids is kept. (One is as deep as another within MANIFOLD_SLACK of the extent.)
MANIFOLD_ALIKE = 1e-2

#: A cap of a cylinder or cone becomes a polygon of this many sides in a contact manifold.
MANIFOLD_CAP_SIDES = 8

#: A linear cast stops when the remaining gap is below this * size; the time it reports is before contact, never after.
#: For curved shapes four times what GJK resolves, so that each step gains at least twice its tolerance.
CAST_GAP = 1e-9
CAST_GAP_CURVED = 4.0 * GJK_FLOOR_CURVED

#: Most steps of conservative advancement; a grazing motion needs a few dozen.
CAST_ITERATIONS = 256

#: The same for shapes that turn (a count). One that turns w radians at a distance x * size from another takes about
#: w / sqrt(8 x) steps; contacts take 5 to 10 more.
TURN_ITERATIONS = 1024

#: Most reflections of one Chung-Wang search (a count); then each direction comes from the simplex alone. Most searches
#: that end apart do so within 4; a search in overlap gains nothing from more.
CHUNG_WANG_REFLECTIONS = 16

#: Most steps of a Chung-Wang search (a count) that bring its simplex no closer: two for each new face of a tetrahedron.
CHUNG_WANG_STALLS = 6

#: Error of a triple product in units of the sum of its six terms' magnitudes; below it Chung-Wang does not trust its sign.
CHUNG_WANG_VOLUME = 16.0 * UNIT_ROUNDOFF

#: V-Clip prefers the higher feature when a point lies within V_CLIP_TIE * (size + |offset|) of a Voronoi plane, and leaves
#: a feature for a lower one only V_CLIP_LEAVE * (size + |offset|) past it. A point in A's frame carries about 4 roundoffs of
#: these lengths. A violation of x lets the distance d shrink by x^2 / 2d at most: at the touch distance, the least d that is
#: ever reported, 24 roundoffs are worth 4.5. Three times the tie, so that a point near three planes at once stays put.
V_CLIP_TIE = 8.0 * UNIT_ROUNDOFF
V_CLIP_LEAVE = 24.0 * UNIT_ROUNDOFF

#: V-Clip takes its closest points as proved when the lower bound of the distance is within this * (size + |offset|): half of
#: the 1e-9 * size that polytopes promise. Only faces that HULL_COPLANAR merged out of plane come near it.
V_CLIP_GAP = 5e-10

#: V-Clip's most steps (a count). A cold start on hulls of 60 vertices takes 4 to 10, a coherent one 1 to 3; a stale start
#: crosses a hull of V vertices in about 2 sqrt(V).
V_CLIP_ITERATIONS = 512

#: Two boxes: what an edge axis shows may be off by this * the lengths that it is made of, six products and their sum.
BOX_ROUNDOFF = 8.0 * UNIT_ROUNDOFF

#: Axes of two capsules count as parallel when the sine of their angle is below this: it is then a few roundoffs of their
#: rotation, and the foot of the common perpendicular is anywhere.
CAPSULE_PARALLEL = 1e-15

#: Segments of two capsules meet when their distance is below this * the lengths it is made of, about four roundoffs: its
#: direction is then noise.
CAPSULE_TOUCH = 4e-16

#: A point and an ellipsoid: a coordinate of 0 along the smallest radius is moved out by this * radius, which picks one of the
#: two mirrored solutions and changes no digit of it. Newton's method ends when a step is below ELLIPSOID_STEP of its variable,
#: about four roundoffs: what the values it comes from are right to.
ELLIPSOID_NUDGE = 1e-30
ELLIPSOID_STEP = 4e-16

#: EPA: a face whose doubled area is below this * size^2 has no normal; differences of its corners are off by some 1e-16 * size.
EPA_AREA = 1e-15

#: The witness points of a depth are found with the shapes moved apart by this * size: GJK's direction is off by up to a
#: millionth of a radian, a hundredth of it.
WITNESS_GAP = 1e-4

#: Two contact faces are as square to the normal when their cosines differ by less than this, far above roundoff: A is then the
#: reference, whichever rounding favours.
MANIFOLD_TIE = 1e-9

#: A rotation vector shorter than this (radians) has no axis: its square would underflow.
TURN_LEAST = 1e-290

#: The times at which two balls may meet are widened by this, in radii and in parts of the step: more than rounding unless the
#: balls graze.
MEETING_ROUNDING = 1e-9

#: A ray reaches the box of a compound's node within this part of its distance: the part's own test decides.
BOX_RAY_SLACK = 1e-12

#: Relative error of a triple product, in units of the product of the three lengths.
SIMPLEX_VOLUME = 16.0 * UNIT_ROUNDOFF

#: A squared length that is smaller than another by less than this factor may be so by roundoff.
SIMPLEX_CLEARLY = 1.0 - 1e-12

#: A foot on a triangle's plane is on its border where an area coordinate is below this fraction of the whole: their roundoff.
SIMPLEX_BORDER = 1e-14

#: The square of SIMPLEX_VOLUME.
SIMPLEX_VOLUME2 = SIMPLEX_VOLUME**2

#: An edge axis is used only when its overlap is smaller than the best face's by this fraction: parallel edges give
#: the same axes as faces, only worse conditioned.
BOX_FACE_FIRST = 1e-12

#: Cross products of edges shorter than this (sine of the angle) repeat a face axis: the separations along the two differ by
#: this fraction of the extents at most. A longer one is as good an axis as any, once it has unit length.
BOX_PARALLEL = 1e-15

#: The same for edges of hulls, whose ways are differences of vertices: a cross product that is shorter is all roundoff.
SAT_PARALLEL = 1e-14

#: Two boxes apart within the margin: a point above a face is as far away as the face's axis says when the two differ by less
#: than this * size, some ten thousand roundoffs. Then the distance is known as well as GJK would.
BOX_ABOVE = 1e-12

#: Two edges of boxes cross where, with the overlap taken back, they come this * size close: the axis is off by a roundoff over
#: the sine of their angle.
BOX_EDGES_CROSS = 1e-9

#: Two sides of contact faces cross at a small angle where its sine is below this: a motion moves their crossing by more than
#: ten times as far. Their ids then have cells of this * the smaller bounding radius along the sides, a few thousandths of the
#: size.
MANIFOLD_SLIDE = 0.05
MANIFOLD_CELL = 5e-3

#: A point of a manifold within this * the smaller bounding radius of a corner is named by it: some thousandths of the size, so
#: that a corner that is now inside and now outside moves its point by less than a hundredth.
MANIFOLD_CORNER = 4e-3
