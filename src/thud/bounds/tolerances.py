"""Tolerances and limits of `bounds/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: The smallest sphere about points is found when none is outside by more than this fraction of the squared radius: well above
#: the roundoff of a circumcentre, well below float32, in which the sphere is stored.
SPHERE_GAP = 1e-10

#: Most points that the search for the smallest sphere takes in one after the other (a count): usually 5 to 10.
SPHERE_PIVOTS = 48

#: Support points of a sphere span no triangle or tetrahedron when the square of its area or volume is below this fraction of
#: its edges' squares: their circumcentre would be lost in roundoff.
SPHERE_SLIVER = 1e-20

#: An OBB's axes in float32 are orthonormal to 2^-23: dot products of two of them are off by at most sqrt(3) 2^-24 each. The
#: half extents grow by this fraction of their sum, twice that error.
OBB_SKEW = 2.0**-22

#: A triangle lower than this times its longest side has no normal to speak of: the roundoff of the cross product, 2^-53 of the
#: side's square, would turn it by more than float32 shows.
OBB_FLAT = 1e-7

#: Centre of the oriented box of an empty lane, each coordinate (metres): its squared distance is infinite in float32.
OBB_NOWHERE = 2e19

#: Points of support planes are moved outward by this fraction of the mesh's extent (largest coordinate about its middle):
#: rounding to float32 moves them by sqrt(3) 2^-25 of it at most along the normal.
SPM_SHIFT = 2.0**-22

#: Most samples of all nodes of a mesh together (a count): several GB while they are made, and far fewer than an int32 counts.
SPM_ENTRIES = 2**28

#: Support planes whose normals have a squared sine below this have no line in common that is worth calculating: its points
#: would be off by margin / sine, which SPM_SLACK must cover. Only k-DOPs ask.
SPM_PARALLEL = 1e-6

#: Points are flat or on a line when their second or third spread is below this fraction of the first; normals leave a
#: direction open when they miss surrounding it by less. Well above roundoff, well below any face that bounds.
SPM_FLAT = 1e-9

#: Extents of k-DOPs are widened by this times the sum of the magnitudes of a corner's terms along a direction: two additions
#: lose two roundoffs of it at most.
KDOP_ROUNDOFF = 4.0 * UNIT_ROUNDOFF

#: When volumes are checked (`validate.py`), points are taken this much farther out than they are found: what rounding may have
#: taken off must not hide that one is outside. A difference; a norm of three of them; a product with a matrix or its inverse
#: (of the sum of magnitudes); a dot product (of the sum of its terms' magnitudes).
CHECK_BOX = 1.0 + 2.0 * UNIT_ROUNDOFF
CHECK_SPHERE = 1.0 + 8.0 * UNIT_ROUNDOFF
CHECK_OBB = 16.0 * UNIT_ROUNDOFF
CHECK_KDOP = 3.0 * UNIT_ROUNDOFF

#: Fitted spheres and oriented boxes are wider by this part of the coordinates: a few times the roundoff of the products that
#: tell whether a point is inside.
FIT_ROUNDOFF = 1e-15

#: Normals of a hull's faces whose coordinates differ by less than this are one, and points are on a line if they are nearer
#: to it than this part of its length. Boxes are tried on so many faces at most (a count): those of a finer hull differ little.
TIGHT_SAME = 1e-9
TIGHT_FACES = 2000

#: Added to the cosines of the axes of two oriented boxes, and as a part of the numbers compared where a k-DOP takes part: above
#: their roundoff, so that what touches is never told apart.
OVERLAP_ROUNDOFF = 1e-14

#: Added to 1 - k^2, the squared sine of the angle between two planes' normals: k is right to the few
#: hundred roundoffs that rotations are orthogonal to (ROTATION_EXACT). Costs 3e-7 of a ball's radius where planes are parallel.
BALL_SINE = 512.0 * UNIT_ROUNDOFF
