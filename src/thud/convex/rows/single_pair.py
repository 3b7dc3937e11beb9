"""The queries of one plain pair at one pose each: the row kernels' own code, and so their bytes.

Each array argument of a compiled function costs about 80 ns to hand over from Python. So the arrays of two shapes go in
two: all integers in one, with the lengths of the pieces in front, and all reals in the other. And a pose goes in as the
caller has it, since a call of the gate's own costs as much as a small answer: its row (1, 12), seven numbers (1, 7) or its
matrix (4, 4). What is no pose has the status NO_POSE; the caller then asks the gate why.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import kernel, view_device
from thud.constants import NO_LIMIT
from thud.convex.convex_pair import pair_intersects
from thud.convex.gjk import STALLED, center_axis
from thud.convex.manifold import new_manifold_space
from thud.convex.rows.contacts import ContactFields, longest_loop, row_contacts
from thud.convex.rows.distance import hull_distances, plain_distances, signed_distances
from thud.convex.rows.work_space import new_epa_space, new_hull_slots
from thud.convex.tolerances import EPA_FACES, EPA_FACES_FIRST
from thud.math.pose_rows import pose_row
from thud.pairing.rows import DistanceFields, PairBatch, relative_pose
from thud.shapes.packed import KIND, Packed, Parts, aligned
from thud.shapes.shape import HULL

_HEADER = 12
"""Numbers in front of `ints`: columns of Parts.ints, length of link_starts, rows of links, columns of vertices, columns of
Parts.reals, planes, loop entries, edges, length of loop_starts; the others are 0, 1 (the pair) and 0."""

_SHAPES = 8
"""Numbers after them: shape_ints of the two shapes."""


NO_POSE = -1


def flat_arrays(packed: Packed) -> tuple[Ints, Floats]:
    """The two arrays of two plain shapes; the vertices come first among the reals, where they stay aligned for SIMD loads."""
    parts = packed.parts
    lengths = [parts.ints.shape[1], len(parts.link_starts), len(parts.links), parts.vertices.shape[1], parts.reals.shape[1]]
    lengths += [len(packed.planes), len(packed.loops), len(packed.edges), len(packed.loop_starts)]
    header = np.array([*lengths, 0, 1, 0], dtype=np.int64)
    whole = (packed.shape_ints, parts.ints, parts.link_starts, parts.links, packed.loop_starts, packed.loops, packed.edges)
    ints = np.concatenate([header, *(array.ravel() for array in whole)])
    reals = (parts.vertices, parts.reals, packed.planes, packed.part_poses)
    return ints, aligned(np.concatenate([array.ravel() for array in reals]))


@view_device
def flat_parts(ints, reals):
    """`Parts` of views of the two arrays."""
    columns, starts, links, vertices, real_columns = ints[0], ints[1], ints[2], ints[3], ints[4]
    first = _HEADER + _SHAPES
    a = first + 2 * columns
    b = a + starts
    c = 3 * vertices
    return Parts(
        ints[first:a].reshape((2, columns)),
        reals[c : c + 2 * real_columns].reshape((2, real_columns)),
        reals[:c].reshape((3, vertices)),
        ints[a:b],
        ints[b : b + 2 * links].reshape((links, 2)),
    )


@view_device
def flat_batch(ints, reals, pose_a, pose_b):
    """`PairBatch` of views of the two arrays."""
    planes, loops, edges = ints[5], ints[6], ints[7]
    a = _HEADER + _SHAPES + 2 * ints[0] + ints[1] + 2 * ints[2]
    b = a + ints[8]
    c = b + 2 * loops
    d = 3 * ints[3] + 2 * ints[4]
    packed = Packed(
        ints[_HEADER : _HEADER + _SHAPES].reshape((2, 4)),
        flat_parts(ints, reals),
        reals[d + 4 * planes : d + 4 * planes + 24].reshape((2, 12)),
        reals[d : d + 4 * planes].reshape((planes, 4)),
        ints[a:b],
        ints[b:c].reshape((loops, 2)),
        ints[c : c + 4 * edges].reshape((edges, 4)),
        reals[:0].reshape((0, 6)),
        ints[:0].reshape((0, 2)),
    )
    return PairBatch(packed, ints[9:11].reshape((1, 2)), pose_a, pose_b, np.int64(0))


@view_device
def one_distance(rows_out, status):
    """`DistanceFields` of views: rows_out has point_a, point_b, the normal, and the distance."""
    return DistanceFields(
        rows_out[9:10], rows_out[:3].reshape((1, 3)), rows_out[3:6].reshape((1, 3)), rows_out[6:9].reshape((1, 3)), status
    )


@kernel("i8[::1], f8[::1], f8[:,::1], f8[:,::1]")
def intersects_single(ints, reals, pose_a, pose_b):
    """Status of the pair."""
    row_a, row_b = pose_row(pose_a), pose_row(pose_b)
    if row_a.shape[0] == 0 or row_b.shape[0] == 0:
        return NO_POSE
    parts = flat_parts(ints, reals)
    r, t = relative_pose(row_a, 0, row_b, 0)
    a, b = np.int64(0), np.int64(1)  # not literals, which would be compiled for by themselves
    axis = center_axis(parts, a, b, r, t)
    return np.int64(pair_intersects(parts, a, b, r, t, axis)[0])


@kernel("i8[::1], f8[::1], f8[:,::1], f8[:,::1], f8[::1]")
def distance_single(ints, reals, pose_a, pose_b, rows_out):
    """Unsigned distance to rows_out (10), see `one_distance`. Returns the status."""
    row_a, row_b = pose_row(pose_a), pose_row(pose_b)
    if row_a.shape[0] == 0 or row_b.shape[0] == 0:
        return NO_POSE
    status = np.empty(1, np.uint8)
    batch, out, rows, axes = flat_batch(ints, reals, row_a, row_b), one_distance(rows_out, status), ints[:0], reals[:0]
    kinds, begin, end = batch.packed.parts.ints, np.int64(0), np.int64(1)
    status[0] = STALLED
    if kinds[0, KIND] == HULL and kinds[1, KIND] == HULL:
        hull_distances(begin, end, rows, batch, axes.reshape((0, 3)), NO_LIMIT, out, new_hull_slots())
    if status[0] == STALLED:
        plain_distances(begin, end, rows, batch, axes.reshape((0, 3)), NO_LIMIT, out)
    return np.int64(status[0])


@kernel("i8[::1], f8[::1], f8[:,::1], f8[:,::1], f8[::1]")
def signed_single(ints, reals, pose_a, pose_b, rows_out):
    """Signed distance to rows_out (10), see `one_distance`. Returns the status."""
    row_a, row_b = pose_row(pose_a), pose_row(pose_b)
    if row_a.shape[0] == 0 or row_b.shape[0] == 0:
        return NO_POSE
    status = np.empty(1, np.uint8)
    batch, out, rows, axes = flat_batch(ints, reals, row_a, row_b), one_distance(rows_out, status), ints[:0], reals[:0]
    begin, end, small = np.int64(0), np.int64(1), new_epa_space(EPA_FACES_FIRST)
    if signed_distances(begin, end, rows, batch, axes.reshape((0, 3)), np.inf, out, small) == 0:
        signed_distances(begin, end, rows, batch, axes.reshape((0, 3)), np.inf, out, new_epa_space(EPA_FACES))
    return np.int64(status[0])


@kernel("i8[::1], f8[::1], f8[:,::1], f8[:,::1], f8, i8, f8[:,::1], i8[:,::1]")
def contacts_single(ints, reals, pose_a, pose_b, margin, limit, reals_out, ints_out):
    """Contacts of the pair, up to `limit`: point, normal, depth and row, feature, patch. Returns their number and, 256 times
    it, the status."""
    row_a, row_b = pose_row(pose_a), pose_row(pose_b)
    if row_a.shape[0] == 0 or row_b.shape[0] == 0:
        return NO_POSE
    count, status = np.empty(1, np.int64), np.empty(1, np.uint8)
    batch, out = flat_batch(ints, reals, row_a, row_b), ContactFields(count, reals_out, ints_out, status)
    offset, begin, end, fill = ints[9:10], np.int64(0), np.int64(1), np.int64(1)
    polygons, small = new_manifold_space(longest_loop(batch.packed.loop_starts)), new_epa_space(EPA_FACES_FIRST)
    if row_contacts(begin, end, batch, margin, limit, offset, fill, out, small, polygons) == 0:
        row_contacts(begin, end, batch, margin, limit, offset, fill, out, new_epa_space(EPA_FACES), polygons)
    return count[0] + 256 * np.int64(status[0])
