"""Rows of contact manifolds: every pair of convex parts within the margin is one patch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.box_contacts import SEARCH, box_contacts
from thud.convex.convex_pair import flip, pair_signed
from thud.convex.gjk import center_axis, touch_distance
from thud.convex.manifold import (
    DEPTH,
    FEATURE_A,
    FEATURE_B,
    is_curved_pair,
    least_gap,
    new_manifold_space,
    pair_manifold,
    squared_way_out,
)
from thud.convex.rows.work_space import epa_faces, new_epa_space
from thud.convex.shape_pair import next_part, part_ball, part_pose_in, shape_ball
from thud.convex.tolerances import EPA_FACES, EPA_FACES_FIRST
from thud.math.pose import compose_rotation, load_rotation, load_translation, rotate, transform
from thud.math.vec3 import load3
from thud.pairing.rows import pair_rows, relative_pose
from thud.shapes.packed import BOUND, KIND, P0
from thud.shapes.shape import BOX


@device
def longest_loop(loop_starts):
    """Corners of the largest hull face, at least those of a cap."""
    longest = 8
    for f in range(loop_starts.shape[0] - 1):
        longest = max(longest, loop_starts[f + 1] - loop_starts[f])
    return longest


class ContactFields(NamedTuple):
    """Where contacts are written to."""

    counts: Ints
    """(N,) contacts of each row."""
    reals: Floats
    """(M, 7) point, normal, depth, world frame."""
    ints: Ints
    """(M, 3) row, feature, patch."""
    status: npt.NDArray[np.uint8]
    """(N,)"""


@kernel(inner="f8[:,::1], i8, f8[:,::1], i8")
def relative_pose_row(poses_a, row_a, poses_b, row_b):
    """Pose of B in A's frame; compiled once, so that all who ask for contacts work with the same bits."""
    return relative_pose(poses_a, row_a, poses_b, row_b)


@kernel(inner="mat3, vec3, vec3")
def placed_point(r, t, p):
    """A point of A's frame in the world; compiled once, as above."""
    return transform(r, t, p)


@kernel(inner="mat3, vec3")
def placed_normal(r, n):
    """A direction of A's frame in the world; compiled once, as above."""
    return rotate(r, n)


@kernel(inner="packed, i8, i8, mat3, vec3, f8, i8, epa_space, manifold_space")
def part_contacts(packed, a, b, r, t, margin, limit, space, polygons):
    """Contacts of parts a and b, B's at (r, t) in A's frame: (status, how many, unit normal from A to B); the points go to
    polygons.found. -1 of them: the polytope was full, to be asked again with a larger one.

    Where the parts are apart by more than the margin the normal is an axis that most likely shows it.
    """
    parts = packed.parts
    if parts.ints[a, KIND] == BOX and parts.ints[b, KIND] == BOX:
        touch = touch_distance(parts, a, b, t)
        s, found, n = box_contacts(load3(parts.reals, a, P0), load3(parts.reals, b, P0), r, t, margin, touch, limit, polygons)
        if found != SEARCH:
            return s, found, n
    faces = epa_faces(space)
    axis = center_axis(parts, a, b, r, t)
    s, d, p, n = pair_signed(parts, a, b, r, t, axis, margin, faces, space.reals, space.ints)
    if s == UNCONVERGED and faces < EPA_FACES:
        return s, np.int64(-1), n
    if s == SEPARATED:
        d = least_gap(packed, a, b, r, t, d, n, margin)
    # Two half-spaces: an infinite contact has no points.
    if (s == SEPARATED and d > margin) or d == -np.inf:
        return s, np.int64(0), n
    if s == OVERLAPPING and is_curved_pair(packed, a, b):
        d, n = squared_way_out(packed, a, b, r, t, d, n, polygons)
    return s, pair_manifold(packed, a, b, r, t, d, p, n, margin, limit, polygons), n


@device
def point_feature(points, k):
    """Id of point k of a manifold."""
    return (np.int64(points[k, FEATURE_A]) << 32) | np.int64(points[k, FEATURE_B])


@kernel(inner="i8, i8, pair_batch, f8, i8, i8[::1], i8, contact_fields, epa_space, manifold_space")
def row_contacts(start, stop, batch, margin, limit, offset_in, fill, out, space, polygons):
    """Contacts of each row: out.counts[i] of them, written from offset_in[i] on if `fill`. Returns the row at which the
    polytope was full, or `stop`: the caller asks that one again with a larger one."""
    packed, parts = batch.packed, batch.packed.parts
    points = polygons.found
    for i in range(start, stop):
        shape_a, shape_b, row_a, row_b = pair_rows(batch, i)
        r, t = relative_pose_row(batch.poses_a, row_a, batch.poses_b, row_b)
        world_r, world_t = load_rotation(batch.poses_a, row_a), load_translation(batch.poses_a, row_a)
        rt, tt = flip(r, t)
        center_b, radius_b = shape_ball(packed, shape_b)
        center_b = transform(r, t, center_b)
        status, patch, count = SEPARATED, 0, 0
        node_a = 0
        while True:
            a, node_a = next_part(packed, shape_a, node_a, center_b, radius_b, margin)
            if a < 0:
                break
            center_a, radius_a = transform(rt, tt, part_ball(packed, shape_a, a)), parts.reals[a, BOUND]
            # From A's part to the world.
            pr, pt = load_rotation(packed.part_poses, a), load_translation(packed.part_poses, a)
            out_r, out_t = compose_rotation(world_r, pr), transform(world_r, world_t, pt)
            node_b = 0
            while True:
                b, node_b = next_part(packed, shape_b, node_b, center_a, radius_a, margin)
                if b < 0:
                    break
                rp, tp = part_pose_in(packed, a, b, r, t)
                s, found, n = part_contacts(packed, a, b, rp, tp, margin, limit, space, polygons)
                if found < 0:
                    return i
                status = max(status, s)
                if found == 0:
                    continue
                if fill:
                    normal = placed_normal(out_r, n)
                    for k in range(found):
                        row = offset_in[i] + count + k
                        point = placed_point(out_r, out_t, (points[k, 0], points[k, 1], points[k, 2]))
                        out.reals[row, 0], out.reals[row, 1], out.reals[row, 2] = point
                        out.reals[row, 3], out.reals[row, 4], out.reals[row, 5] = normal
                        out.reals[row, 6] = points[k, DEPTH]
                        out.ints[row, 0], out.ints[row, 1], out.ints[row, 2] = i, point_feature(points, k), patch
                count += found
                patch += 1
        out.counts[i] = count
        out.status[i] = status
    return stop


@kernel("i8, i8, pair_batch, f8, i8, i8[::1], i8, contact_fields")
def contact_rows(start, stop, batch, margin, limit, offset_in, fill, out):
    """`row_contacts`; what a small polytope does not hold, with a large one."""
    small, large = new_epa_space(EPA_FACES_FIRST), new_epa_space(0)
    polygons = new_manifold_space(longest_loop(batch.packed.loop_starts))
    i = row_contacts(start, stop, batch, margin, limit, offset_in, fill, out, small, polygons)
    while i < stop:
        if large.reals.shape[0] == 0:
            large = new_epa_space(EPA_FACES)
        row_contacts(i, i + 1, batch, margin, limit, offset_in, fill, out, large, polygons)
        i = row_contacts(i + 1, stop, batch, margin, limit, offset_in, fill, out, small, polygons)
