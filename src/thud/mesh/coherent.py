"""Mesh against mesh frame after frame: the queries of `mesh_mesh` and `mesh_distance`, begun where the last frame ended.

A row is asked from the root the first time, and in boolean queries again after a frame in which it collided: there the
triangles that met are tried first, and which others may meet now is found sooner from the root, deepest boxes first.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel
from thud.constants import TOUCH
from thud.mesh.box_tree import U, tree_pose
from thud.mesh.distance import walk_distance, write_distance
from thud.mesh.mesh_mesh import STACK, pair_size, triangle_pair, walk_pairs
from thud.mesh.tree_front import ALL_PAIRS, MEET, NEAREST, WAITING, walk_front


@kernel(
    "i8, i8, f4[::1], f4[::1], i8[::1], f8[::1], f8[::1], f4[::1], f4[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], "
    "i8[::1], i8[:,::1], i4[:,:,::1], f8[:,:,::1], f8[:,::1], i8[::1], i8[::1], u1[::1]"
)
def coherent_intersects_rows(
    start,
    stop,
    boxes_a,
    obbs_a,
    child_a,
    corners_a,
    origin_a,
    boxes_b,
    obbs_b,
    child_b,
    corners_b,
    origin_b,
    poses_a,
    poses_b,
    kept_rows,
    found_inout,
    entries_inout,
    bounds_inout,
    state_inout,
    length_inout,
    tests_out,
    hit_out,
):
    """Whether the surfaces meet, for each row of poses. kept_rows: the row of what was kept, for each. found_inout: tree
    positions of two triangles that met in the last frame, -1 if none did. tests_out: times that eight boxes were tested."""
    stack, metric, pair = np.empty(STACK, np.uint64), np.empty(8, np.float32), np.empty((1, 2), np.int64)
    capacity = entries_inout.shape[1]
    entries, bounds = np.empty((capacity, 4), np.int32), np.empty((capacity, 2))
    waiting, gap, kid = np.empty((WAITING, 4), np.int64), np.empty(WAITING, np.float32), np.empty(8, np.int64)
    no, meet = np.int64(0), np.int64(MEET)
    for row in range(start, stop):
        kept = kept_rows[row]
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b)
        met = found_inout[kept, 0] >= 0
        tests_out[row] = 0
        if met:
            touch = TOUCH * pair_size(boxes_a, boxes_b, t)
            if triangle_pair(corners_a, corners_b, U(found_inout[kept, 0]), U(found_inout[kept, 1]), r, t, touch):
                hit_out[row] = 1
                continue
        if not met and length_inout[kept] >= 0:
            hit, _d2, _x, _y, at_a, at_b, tests_out[row] = walk_front(
                meet, obbs_a, child_a, corners_a, obbs_b, child_b, corners_b, r, t, 0.0, no, no, kept, entries_inout,
                bounds_inout, state_inout, length_inout, entries, bounds, waiting, gap, metric, kid, no, pair,
            )  # fmt: skip
        else:
            hit, tests_out[row] = walk_pairs(
                boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, r, t, no, stack, metric, no, pair
            )
            at_a, at_b = pair[0, 0], pair[0, 1]
            length_inout[kept] = max(length_inout[kept], 0)
        hit_out[row] = hit
        found_inout[kept, 0], found_inout[kept, 1] = (at_a, at_b) if hit else (np.int64(-1), np.int64(-1))


@kernel(
    "i8, i8, f4[::1], i8[::1], f8[::1], f8[::1], f4[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], f8, "
    "f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], u1[::1], i8[:,::1], "
    "i4[:,:,::1], f8[:,:,::1], f8[:,::1], i8[::1], i8[::1]"
)
def coherent_distance_rows(
    start,
    stop,
    obbs_a,
    child_a,
    corners_a,
    origin_a,
    obbs_b,
    child_b,
    corners_b,
    origin_b,
    poses_a,
    poses_b,
    reach,
    distance_out,
    point_a_out,
    point_b_out,
    normal_out,
    status_out,
    triangles_inout,
    entries_inout,
    bounds_inout,
    state_inout,
    length_inout,
    tests_out,
):
    """As `mesh_distance_rows`, from the fronts of the last frame."""
    stack, sorted_gaps, gap2 = np.empty(2 * STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32)
    capacity = entries_inout.shape[1]
    entries, bounds = np.empty((capacity, 4), np.int32), np.empty((capacity, 2))
    waiting, gap, kid = np.empty((WAITING, 4), np.int64), np.empty(WAITING, np.float32), np.empty(8, np.int64)
    pair = np.empty((1, 2), np.int64)
    nearest, no = np.int64(NEAREST), np.int64(0)
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b)
        guess_a, guess_b = triangles_inout[row, 0], triangles_inout[row, 1]
        from_root, tests = True, np.int64(0)
        d2, x, y, at_a, at_b = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), np.int64(-1), np.int64(-1)
        if guess_a >= 0 and length_inout[row] >= 0:
            meets, d2, x, y, at_a, at_b, tests = walk_front(
                nearest, obbs_a, child_a, corners_a, obbs_b, child_b, corners_b, r, t, reach, guess_a, guess_b, np.int64(row),
                entries_inout, bounds_inout, state_inout, length_inout, entries, bounds, waiting, gap, gap2, kid, no, pair,
            )  # fmt: skip
            from_root = meets != 0
        if from_root:
            d2, x, y, at_a, at_b, more = walk_distance(
                obbs_a, child_a, corners_a, obbs_b, child_b, corners_b, r, t, reach, guess_a, guess_b, stack, sorted_gaps, gap2
            )
            tests += more
            # A front of pairs that meet would end at once: after a collision the next frame is asked from the root too.
            length_inout[row] = -1 if d2 == 0.0 else length_inout[row] + (1 if length_inout[row] < 0 else 0)
        tests_out[row] = tests
        triangles_inout[row, 0], triangles_inout[row, 1] = at_a, at_b
        write_distance(
            row, row_a, poses_a, origin_a, d2, x, y, at_a, distance_out, point_a_out, point_b_out, normal_out, status_out
        )


@kernel(
    "i8, i8, f4[::1], f4[::1], i8[::1], f8[::1], f8[::1], f4[::1], f4[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], "
    "i4[:,:,::1], f8[:,:,::1], f8[:,::1], i8[::1], i8[::1], i8[:,::1]"
)
def coherent_pairs_block(
    start,
    stop,
    boxes_a,
    obbs_a,
    child_a,
    corners_a,
    origin_a,
    boxes_b,
    obbs_b,
    child_b,
    corners_b,
    origin_b,
    poses_a,
    poses_b,
    entries_inout,
    bounds_inout,
    state_inout,
    length_inout,
    tests_out,
    pairs_out,
):
    """As `mesh_pairs_block`, from the fronts of the last frame; the pairs of a row may come in another order."""
    stack, metric = np.empty(STACK, np.uint64), np.empty(8, np.float32)
    capacity = entries_inout.shape[1]
    entries, bounds = np.empty((capacity, 4), np.int32), np.empty((capacity, 2))
    waiting, gap, kid = np.empty((WAITING, 4), np.int64), np.empty(WAITING, np.float32), np.empty(8, np.int64)
    pairs = np.empty((pairs_out.shape[0], 2), np.int64)
    used, no, yes, everything = np.int64(0), np.int64(0), np.int64(1), np.int64(ALL_PAIRS)
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b)
        if length_inout[row] >= 0:
            found, _d2, _x, _y, _at_a, _at_b, tests_out[row] = walk_front(
                everything, obbs_a, child_a, corners_a, obbs_b, child_b, corners_b, r, t, 0.0, no, no, np.int64(row),
                entries_inout, bounds_inout, state_inout, length_inout, entries, bounds, waiting, gap, metric, kid,
                np.int64(used), pairs,
            )  # fmt: skip
        else:
            found, tests_out[row] = walk_pairs(
                boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, r, t, yes, stack, metric, np.int64(used), pairs
            )
        if used + found > pairs_out.shape[0]:
            return row, used, found
        length_inout[row] = max(length_inout[row], 0)
        for k in range(used, used + found):
            pairs_out[k, 0], pairs_out[k, 1], pairs_out[k, 2] = row, pairs[k, 0], pairs[k, 1]
        used += found
    return stop, used, 0
