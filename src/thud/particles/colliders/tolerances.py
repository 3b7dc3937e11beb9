"""Tolerances and limits of `particles/colliders/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: A polygon's vertices lie in one plane if they are within this part of its size of it: loose, since corners come rounded
#: to float32 from files.
PLANAR_POLYGON = 1e-6

#: Closed bounds of a collider reach this part of its size and of its distance from the origin beyond it: a path through the
#: edge between two of them hits one, whatever way its point is rounded. Boxes of elements are wider by more than that.
BOUNDS_SLACK = 1e-13
ELEMENT_BOX_SLACK = 1e-12

#: Boxes of colliders are moved outward by this part of their largest coordinate: corners are turned and moved by some ten
#: operations.
COLLIDER_BOX_SLACK = 16.0 * UNIT_ROUNDOFF

#: A 3x3 rotation of a quadric is accepted when its rows are orthonormal to this: it is used as it is, so that what is off
#: shears the surface by as much.
QUADRIC_ROTATION = 1e-9

#: A quadric's matrix is symmetric when its halves differ by less than this part of its largest entry: many times the roundoff
#: of a product of three matrices.
QUADRIC_SYMMETRY = 1e-12

#: Eigenvalues and constants of a quadric below this part of what they are made of are 0: it is a cone, a paraboloid, a cylinder
#: then. Many times their roundoff, so that a rotated cylinder stays one.
QUADRIC_ZERO = 1e-12

#: Edges span a plane when the sine of their angle is above this, and an outline encloses an area when twice that is above this
#: part of its size squared; below, the normal would have fewer than four digits.
PLANAR_SINE = 1e-12
POLYGON_AREA = 1e-12

#: Tetrahedra are flat whose volume, six times, is below this part of the cube of their longest edge: barycentric coordinates
#: would have fewer than six digits.
TETRAHEDRON_FLAT = 1e-10

#: Control values of neighbouring tetrahedra agree on their common face within this part of the largest of both: many times the
#: roundoff of making them. They are then made the same.
PATCHES_JUMP = 1e-9

#: A tetrahedron holds no surface if all its control values have one sign and are farther from 0 than this part of the largest.
#: A surface within roundoff of a face would else be taken for none on one side of it, and be passed before the side is known on
#: the other: paths are right to some 1e-10 of a tetrahedron a million times its size away from the origin.
PATCHES_CLEAR = 1e-6
