"""Tolerances and limits of `particles/crossings/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: Crossings of a path and a collider (`crossings/roots.py`). A polynomial whose value at an extreme is below this part of its
#: terms' magnitudes only touches zero: double-double values are right to some 1e-31 of them, and an extreme that is off by
#: roundoff shows by its square.
ROOT_TOUCH = 1e-29

#: A path is at the apex of a cone, or on the line of two planes, where grad f is below this part of the magnitudes in it: a
#: double root says so to the square root of ROOT_TOUCH, 3e-15, and the point is evaluated by some ten operations.
SINGULAR_NEAR = 1e-13

#: The matrix of such a quadric is rounded, and so has an apex no longer: what goes through it there has an extreme of h within
#: this part of its terms' magnitudes, many times the roundoff of a product of three matrices, and comes as near as its root.
ROOT_NEAR = 1e-13
SINGULAR_PASS = 1e-6

#: The sign of a polynomial in floats is believed above this part of its terms' magnitudes: eight operations and roundings of
#: five coefficients lose no more. A search for a root continues with double-doubles from ROOT_PRECISE on: it needs digits, not
#: only a sign.
ROOT_SIGN = 16.0 * UNIT_ROUNDOFF
ROOT_PRECISE = 64.0 * UNIT_ROUNDOFF

#: Most steps of a bracketed root (a count): Newton's method takes about six, halving alone some hundred. The farthest root
#: that is looked for, in seconds, when a particle lives for ever: its fourth power is still a number.
ROOT_STEPS = 400
ROOT_FARTHEST = 1e75

#: Paths of particles and boxes (`crossings/path_box.py`). Boxes are widened by this times the sum of the magnitudes in a
#: coordinate of the path, start, pose and collider included: it is evaluated by some ten operations, and the time at which it
#: comes to a bound by as many.
PATH_SLACK = 64.0 * UNIT_ROUNDOFF

#: Roundoff of one place on a path, times the sum of the magnitudes in a coordinate of it: two products and two sums.
PATH_ROUNDOFF = 4.0 * UNIT_ROUNDOFF

#: The end of the search lies where a path has left the box of the collider, widened by this part of it, for good: many times
#: the roundoff.
PATH_MARGIN = 1e-9

#: START_ROUNDOFF for the collider that a particle has just left: its place was computed by a flight that may have come from
#: far away.
START_SAME = 2.0**-40

#: Velocities run along a surface when they leave it by less than this sine; then a particle on it does not pass through.
START_SLOPE = 64.0 * UNIT_ROUNDOFF

#: A path meets a triangle up to this far beyond its edges, times the magnitudes in a coordinate of the path: more than the
#: roundoff of the point where it meets the plane, so that it never slips between two triangles.
TRIANGLE_EDGE = 32.0 * UNIT_ROUNDOFF

#: And the side of an edge on which a point lies is right to this, times its distance from a corner along each axis: two
#: differences, two products and their difference.
TRIANGLE_SIDE = 4.0 * UNIT_ROUNDOFF

#: A triangle whose normal is shorter than this part of the product of its two edges has no area; double-doubles would make one
#: of their roundoff.
TRIANGLE_FLAT = 2.0**-96

#: Fields along paths (`crossings/interval_scan.py`). Cells of time are halved down to this part of the time that a path spends
#: within reach of blobs or segments, or in a tetrahedron: two crossings closer to each other than that may be taken for none.
#: With drag, whose search may have no end, down to this part of their own time.
FIELD_RESOLUTION = 2.0**-40
DRAG_RESOLUTION = 2.0**-44

#: Nor shorter than this part of the time at which they end, some roundoffs: their ends would be the same.
FIELD_SHORTEST = 8.0 * UNIT_ROUNDOFF

#: Nor are cells halved further over which h changes by no more than this many times the roundoff of one value: halves would
#: tell no more. Values with 32 digits are right to the other part, of blobs; of tetrahedra to this part of floats' roundoff.
FIELD_NOISE = 4.0
BLOB_EXACT = 1e-29
TETRAHEDRON_EXACT = 64.0 * UNIT_ROUNDOFF

#: Fields of segments are right to this part: an extreme nearer to 0 is a touch.
SEGMENT_EXACT = 1e-12

#: Most cells of one search (a count): a generic one takes ten to fifty, a touch some hundred. Then the answer is a lower bound.
FIELD_CELLS = 8192

#: A path goes on from one tetrahedron to the next without a gap if it is in the next one within this part of the time: roots of
#: paths with drag are right to FILTER_ERROR.
TETRAHEDRON_JOIN = 1e-12

#: The float64 filter of elementary colliders. Roundoff of a coefficient of h, times the sum of its terms' magnitudes: up to
#: sixteen operations. Times this close to each other, relatively, are not separated by it. A crossing whose error is proven
#: below FILTER_ERROR of it needs no more digits: a tenth of the accuracy that is promised.
FILTER_ROUNDOFF = 16.0 * UNIT_ROUNDOFF
FILTER_CLOSE = 1e-9
FILTER_ERROR = 1e-13

#: Most steps of the filter's search for the first root of a quartic (a count): a simple one takes four to eight.
FILTER_STEPS = 16

#: Paths and bilinear patches (`crossings/patch_path.py`). A path meets a patch up to this far beyond its borders, in (a, b) of
#: the patch, whose sides are 1: many times the roundoff of a and b, so that no path slips between two.
PATH_PATCH_EDGE = 1e-11

#: Cells smaller than this part of the patch and of the way past it are not halved: Newton's method decides.
PATCH_RESOLUTION = 2.0**-36

#: The root that it finds there may lie this part of the patch beside the cell: roundoff where path and patch meet flat.
PATCH_NEAR = 1e-9

#: Below this sine between path and patch a cell is halved, not shrunk: the inverse of the Jacobian is no help.
PATCH_TOUCH = 1e-9

#: A cell that shrank to less than this fraction along any side is looked at again; else it is halved.
PATCH_GAIN = 0.7

#: Most cells of one search (a count): a generic crossing takes two or three, a touch some hundred. Then the answer is a lower
#: bound.
PATCH_CELLS = 4096

#: Newton's method in floats has found a crossing with a patch when a step is below this part of the patch: the next would be
#: its square, less than roundoff.
PATCH_STEP = 1e-9

#: Times of the whole search are widened by this part of its end: the roundoff of where it begins and ends.
PATCH_TIME = 4.0 * UNIT_ROUNDOFF

#: Roundoff of F, a part of the magnitudes that are added up in it.
PATCH_NOISE = 32.0 * UNIT_ROUNDOFF

#: Linear drag (`crossings/drag_time.py`). psi is summed as a series up to this rate times time: fifteen terms are right to
#: roundoff. With 32 digits nineteen terms are up to the other.
DRAG_SERIES = 0.5
DRAG_SERIES_EXACT = 0.125

#: Below this rate times time there is no drag within roundoff; the product may have lost its digits.
DRAG_NONE = 1e-20

#: Beyond this rate times time what is left of the exponential is less than the 32nd digit.
DRAG_ENDED = 75.0

#: From this rate times time on a path is straight within roundoff: exp(-44) is 8e-20. What comes after is looked at by itself.
DRAG_STRAIGHT = 44.0

#: Roundoff of a place or a velocity on a path with drag, times the sum of the magnitudes in it: some five operations each. A
#: last velocity no larger than that is none.
DRAG_NOISE = 8.0 * UNIT_ROUNDOFF

#: The last time that is looked at along a path with drag of a particle that lives for ever, s: no query asks for later ones.
DRAG_FARTHEST = 4e30

#: Most steps along tangents or chords to where a coordinate leaves a box for good (a count), and the part of the time below
#: which a further one gains nothing: any of them is late enough.
DRAG_STEPS = 128
DRAG_CLOSE = 1e-3

#: The box of a quadric is widened by this part of it, where its side is told from roundoff.
DRAG_BOX = 1e-6
