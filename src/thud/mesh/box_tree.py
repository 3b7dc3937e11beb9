"""What the walks of two box trees share: the place of B's tree in A's, and a leaf's triangle.

Everything is in the frame of A's tree: A's frame moved to the middle of its mesh (`TriangleMesh.origin`), where float32
boxes lose nothing.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device
from thud.math.pose import load_rotation, load_translation, relative_rotation, rotate, transform, untransform

U = np.uint64


@device
def tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b):
    """(R, t): the frame of B's tree in that of A's; origins are (3,) arrays."""
    ra, rb = load_rotation(poses_a, row_a), load_rotation(poses_b, row_b)
    ta, tb = load_translation(poses_a, row_a), load_translation(poses_b, row_b)
    shift = rotate(rb, (origin_b[0], origin_b[1], origin_b[2]))
    # The difference of the translations first: a common offset of both bodies costs no digits.
    p = untransform(ra, (0.0, 0.0, 0.0), (tb[0] - ta[0] + shift[0], tb[1] - ta[1] + shift[1], tb[2] - ta[2] + shift[2]))
    return relative_rotation(ra, rb), (p[0] - origin_a[0], p[1] - origin_a[1], p[2] - origin_a[2])


@device
def absolute(r):
    """|R| element by element."""
    return abs(r[0]), abs(r[1]), abs(r[2]), abs(r[3]), abs(r[4]), abs(r[5]), abs(r[6]), abs(r[7]), abs(r[8])


@device
def load_triangle(corners, k):
    """The three corners of triangle k of a flat array."""
    o = U(9) * U(k)
    return (
        (corners[o], corners[o + U(1)], corners[o + U(2)]),
        (corners[o + U(3)], corners[o + U(4)], corners[o + U(5)]),
        (corners[o + U(6)], corners[o + U(7)], corners[o + U(8)]),
    )


@device
def place_triangle(r, t, triangle):
    """The corners in the outer frame."""
    return transform(r, t, triangle[0]), transform(r, t, triangle[1]), transform(r, t, triangle[2])
