"""Rows of contact manifolds: every pair of convex parts within the margin is one patch."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import SEPARATED, UNCONVERGED
from thud.convex.convex_pair import flip, pair_signed
from thud.convex.epa import epa_ints, epa_reals
from thud.convex.gjk import center_axis
from thud.convex.manifold import pair_manifold
from thud.convex.shape_pair import next_part, part_ball, part_pose_in, shape_ball
from thud.convex.tolerances import EPA_FACES, EPA_FACES_FIRST
from thud.math.pose import compose_rotation, load_rotation, load_translation, rotate, transform
from thud.pairing.rows import placed_shapes
from thud.shapes.packed import BOUND


@device
def _longest_loop(loop_starts):
    """Corners of the largest hull face, at least those of a cap."""
    longest = 8
    for f in range(loop_starts.shape[0] - 1):
        longest = max(longest, loop_starts[f + 1] - loop_starts[f])
    return longest


@kernel("i8, i8, pair_batch, f8, i8, i8[::1], i8, i8[::1], f8[:,::1], i8[:,::1], u1[::1]")
def contact_rows(start, stop, batch, margin, limit, offset_in, fill, count_out, real_out, int_out, status_out):
    """Contacts of each row: count_out[i] of them, written from offset_in[i] on if `fill`.

    real_out rows are point, normal, depth (world frame); int_out rows are row, feature, patch.
    """
    packed, parts = batch.packed, batch.packed.parts
    corners = _longest_loop(packed.loop_starts)
    face_a, face_b = np.empty((3 * corners, 3)), np.empty((3 * corners, 3))
    spare, out = np.empty((3 * corners, 3)), np.empty((3 * corners, 5))
    few, many = np.int64(EPA_FACES_FIRST), np.int64(EPA_FACES)
    x, scratch = np.empty(epa_reals(few)), np.empty(epa_ints(few), np.int64)
    large_x, large_scratch = np.empty(0), np.empty(0, np.int64)
    for i in range(start, stop):
        shape_a, shape_b, row_a, (r, t) = placed_shapes(batch, i)
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
                axis = center_axis(parts, a, b, rp, tp)
                s, d, p, n = pair_signed(parts, a, b, rp, tp, axis, margin, few, x, scratch)
                if s == UNCONVERGED:
                    # The small polytope may have been full: once more with the large one.
                    if large_x.shape[0] == 0:
                        large_x, large_scratch = np.empty(epa_reals(many)), np.empty(epa_ints(many), np.int64)
                    s, d, p, n = pair_signed(parts, a, b, rp, tp, axis, margin, many, large_x, large_scratch)
                status = max(status, s)
                if s == SEPARATED and d > margin:
                    continue
                if d == -np.inf:
                    # Two half-spaces: an infinite contact has no points.
                    continue
                found = pair_manifold(packed, a, b, rp, tp, d, p, n, margin, limit, face_a, face_b, spare, out)
                if fill:
                    normal = rotate(out_r, n)
                    for k in range(found):
                        row = offset_in[i] + count + k
                        point = transform(out_r, out_t, (out[k, 0], out[k, 1], out[k, 2]))
                        real_out[row, 0], real_out[row, 1], real_out[row, 2] = point
                        real_out[row, 3], real_out[row, 4], real_out[row, 5] = normal
                        real_out[row, 6] = out[k, 3]
                        int_out[row, 0], int_out[row, 1], int_out[row, 2] = i, np.int64(out[k, 4]), patch
                count += found
                patch += 1
        count_out[i] = count
        status_out[i] = status
