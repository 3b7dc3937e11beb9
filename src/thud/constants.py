"""Tolerances and limits that several folders share: unit, reason and how each scales with the objects. The others are in the
`tolerances.py` of their folder.

No tolerance is absolute. A kernel multiplies the relative ones by a length of the pair at hand, `size`: the sum of
the two bounding radii. A global constant is frozen into the compiled kernel; the kernel cache is keyed by the source,
so that a changed value takes effect.
"""

from __future__ import annotations

#: Unit roundoff of float64 (half the distance from 1 to the next number).
UNIT_ROUNDOFF = 2.0**-53

#: Quaternions and rotation matrices are accepted when they deviate from unit length / orthogonality by less than
#: this (dimensionless), then normalised. Single-precision input is off by 1e-7; 1e-6 lets it in, and nothing that is
#: skewed on purpose.
ROTATION_TOLERANCE = 1e-6

#: A rotation matrix that is orthogonal within this keeps the caller's numbers: a product of a few rotations in float64 is.
#: Others are replaced by a rotation close by.
ROTATION_EXACT = 1e-14

#: One in single precision is off by up to 3e-7. What the square of that adds to the rotation close by, 3e-14, is left out.
ROTATION_SINGLE = 3e-7

#: Poses are accepted up to this far from the origin (metres), shapes up to this size, and down to its inverse: sixth powers of
#: lengths, which the simplexes of GJK take, stay numbers.
FARTHEST_POSE = 1e30
LARGEST_SIZE = 1e30
LEAST_SIZE = 1e-30

#: Points and the origins of rays are accepted up to this far (metres): the exact predicates multiply three lengths.
FARTHEST_POINT = 1e75

#: Touching intersects. Two cores whose gap is below TOUCH * (size + |offset|) count as touching: the support points of
#: rotated shapes carry a few roundoffs of their coordinates each, and kissing faces must not be reported apart because
#: of them. Relative to lengths, dimensionless: 64 units of roundoff.
TOUCH = 64.0 * UNIT_ROUNDOFF

#: On curved surfaces GJK also accepts a gap of this * size between the bounds of the distance. Pressing on would bring
#: support points so close together (the square root of it) that their simplex degenerates.
GJK_FLOOR_CURVED = 1e-8

#: Most contact points of a manifold (two octagonal faces clipped): the default of `max_points`.
MANIFOLD_POINTS = 8

#: Levels of a tree at which its build stops to look for the best split and halves instead (a count). With 2^31 triangles
#: at most, no tree is deeper than TREE_SPLITS + 31 levels, which bounds the stacks of the walks.
TREE_SPLITS = 48
TREE_LEVELS = 80

#: Meshes are accepted with coordinates up to this (metres), and poses of theirs too: squared distances in float32 stay
#: finite.
MESH_COORDINATE = 1e15

#: Meshes reach over at least this (metres): below it products of float32 lengths are 0, and what moves is not seen to move.
MESH_LEAST = 1e-25

#: Fronts of two trees (`mesh/tree_front.py`); they change the work, never the answers.
#: FRONT_CAPACITY: entries a row keeps at most unless told otherwise (a count; 32 bytes each).
#: FRONT_RETESTS: share of a front's entries that have to be tested again from which a walk from the root is cheaper.
#: FRONT_REST: frames for which a row's distance is then asked from the root, before a new front is tried (a count).
#: FRONT_RISE: gap of a node's children, relative to the node's extent, from which the node itself is tested again.
FRONT_CAPACITY = 1024
FRONT_RETESTS = 0.5
FRONT_REST = 8
FRONT_RISE = 0.125

#: One step of float32 relative to the number: half of it is the error of rounding to nearest (dimensionless).
FLOAT32_STEP = 2.0**-23

#: Least normal float32: bounding volumes have no smaller half extent or radius (metres).
FLOAT32_TINY = 2.0**-126

#: Most sweeps of the Jacobi eigenvalue method on 3 x 3 matrices (a count): it converges quadratically, in 4 to 6.
JACOBI_SWEEPS = 12

#: Bounding volumes are taken this much wider in Theorem 3.2, times the two meshes' extents: the points of the planes are off
#: by less than 2 SPM_SHIFT, and normals in float32 by 2^-23 of a unit length.
SPM_SLACK = 2.0**-20

#: A body's box is wider by this times its coordinates: a few times TOUCH, so that whatever counts as touching overlaps.
BODY_BOX = 4.0 * TOUCH

#: A ray's way out of a box is lengthened by this factor, so that rounding of three operations an axis cannot make it leave
#: before it enters. Dimensionless.
RAY_BOX_SLACK = 1.0 + 8.0 * 2.0**-52

#: In place of a length or square of 0 that something is divided by: below all that counts as a length.
TINY = 1e-300

#: A reach or bound that excludes nothing, in kernels that compute with it.
NO_LIMIT = 1e308
