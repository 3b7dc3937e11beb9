"""The queries of one plain pair at one pose each.

Each array argument of a compiled function costs about 80 ns to hand over from Python. So the arrays that GJK reads go in
two: all integers in one, with the lengths of the pieces in front, and all reals in the other.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import kernel, view_device
from thud.constants import NO_LIMIT
from thud.convex.convex_pair import pair_distance, pair_intersects
from thud.convex.gjk import center_axis
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.pairing.rows import relative_pose
from thud.shapes.packed import Parts, aligned

_HEADER = 8
"""Items in front of `ints`: columns of Parts.ints, length of link_starts, shapes of links and vertices, columns of
Parts.reals, and one that is free."""


def flat_arrays(parts: Parts) -> tuple[Ints, Floats]:
    """The two arrays; the vertices come first among the reals, where they stay aligned for SIMD loads."""
    lengths = [parts.ints.shape[1], len(parts.link_starts), *parts.links.shape, *parts.vertices.shape, parts.reals.shape[1]]
    header = np.array([*lengths, 0], dtype=np.int64)
    ints = np.concatenate([header, parts.ints.ravel(), parts.link_starts, parts.links.ravel()])
    return ints, aligned(np.concatenate([parts.vertices.ravel(), parts.reals.ravel()]))


@view_device
def unflatten(ints, reals):
    """`Parts` of views of the two arrays."""
    columns, starts, rows, width, axes, vertices, real_columns = ints[0], ints[1], ints[2], ints[3], ints[4], ints[5], ints[6]
    a = _HEADER + 2 * columns
    b = a + starts
    c = axes * vertices
    return Parts(
        ints[_HEADER:a].reshape((2, columns)),
        reals[c : c + 2 * real_columns].reshape((2, real_columns)),
        reals[:c].reshape((axes, vertices)),
        ints[a:b],
        ints[b : b + rows * width].reshape((rows, width)),
    )


@kernel("i8[::1], f8[::1], f8[:,::1], f8[:,::1]")
def intersects_single(ints, reals, pose_a, pose_b):
    """Status of the pair."""
    parts = unflatten(ints, reals)
    r, t = relative_pose(pose_a, 0, pose_b, 0)
    a, b = np.int64(0), np.int64(1)  # not literals, which would be compiled for by themselves
    axis = center_axis(parts, a, b, r, t)
    return pair_intersects(parts, a, b, r, t, axis)[0]


@kernel("i8[::1], f8[::1], f8[:,::1], f8[:,::1], f8[:,:,::1]")
def distance_single(ints, reals, pose_a, pose_b, rows_out):
    """Unsigned distance; rows_out has point_a, point_b, the normal, and a row that starts with the distance. Returns the
    status."""
    parts = unflatten(ints, reals)
    r, t = relative_pose(pose_a, 0, pose_b, 0)
    a, b = np.int64(0), np.int64(1)
    axis = center_axis(parts, a, b, r, t)
    status, d, p, n = pair_distance(parts, a, b, r, t, axis, NO_LIMIT)
    ra, ta = load_rotation(pose_a, 0), load_translation(pose_a, 0)
    p, n = transform(ra, ta, p), rotate(ra, n)
    rows_out[0, 0, 0], rows_out[0, 0, 1], rows_out[0, 0, 2] = p
    rows_out[1, 0, 0], rows_out[1, 0, 1], rows_out[1, 0, 2] = p[0] + d * n[0], p[1] + d * n[1], p[2] + d * n[2]
    rows_out[2, 0, 0], rows_out[2, 0, 1], rows_out[2, 0, 2] = n
    rows_out[3, 0, 0] = d
    return status
