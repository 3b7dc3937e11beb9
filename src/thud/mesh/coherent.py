"""Mesh against mesh frame after frame: the queries of `mesh_mesh.py` and `distance.py`, begun where the last frame ended.

A row is asked from the root the first time, and in boolean queries again after a frame in which it collided: there the
triangles that met are tried first, and which others may meet now is found sooner from the root, deepest boxes first.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel
from thud.constants import TOUCH
from thud.mesh.box_tree import U, pair_size, tree_pose
from thud.mesh.distance import walk_distance, write_distance
from thud.mesh.mesh_mesh import triangle_pair, walk_pairs
from thud.mesh.tree_front import ALL_PAIRS, MEET, NEAREST, new_front_space, walk_front
from thud.mesh.trees import new_walk_space
from thud.pairing.rows import row_of


@kernel(
    "i8, i8, box_tree, obb_tree, box_tree, obb_tree, f8[:,::1], f8[:,::1], i8[::1], i8[:,::1], tree_fronts, i8[::1], u1[::1]"
)
def coherent_intersects_rows(
    start, stop, tree_a, obbs_a, tree_b, obbs_b, poses_a, poses_b, kept_rows, found_inout, fronts_inout, tests_out, hit_out
):
    """Whether the surfaces meet, for each row of poses. kept_rows: the row of what was kept, for each. found_inout: tree
    positions of two triangles that met in the last frame, -1 if none did. tests_out: times that eight boxes were tested."""
    space, front_space = new_walk_space(), new_front_space(fronts_inout.entries.shape[1])
    pair, length = np.empty((1, 2), np.int64), fronts_inout.length
    no, meet, nowhere = np.int64(0), np.int64(MEET), (np.int64(-1), np.int64(-1))
    for row in range(start, stop):
        kept = kept_rows[row]
        r, t = tree_pose(poses_a, row_of(poses_a, row), poses_b, row_of(poses_b, row), tree_a.origin, tree_b.origin)
        met = found_inout[kept, 0] >= 0
        tests_out[row] = 0
        if met:
            touch, i, j = TOUCH * pair_size(tree_a, tree_b, t), U(found_inout[kept, 0]), U(found_inout[kept, 1])
            if triangle_pair(tree_a.corners, tree_b.corners, i, j, r, t, touch):
                hit_out[row] = 1
                continue
        if not met and length[kept] >= 0:
            hit, _d2, _x, _y, at_a, at_b, tests_out[row] = walk_front(
                meet, obbs_a, obbs_b, r, t, 0.0, nowhere, kept, fronts_inout, front_space, no, pair
            )
        else:
            hit, tests_out[row] = walk_pairs(tree_a, tree_b, r, t, no, space, no, pair)
            at_a, at_b = pair[0, 0], pair[0, 1]
            length[kept] = max(length[kept], 0)
        hit_out[row] = hit
        found_inout[kept, 0], found_inout[kept, 1] = (at_a, at_b) if hit else nowhere


@kernel("i8, i8, obb_tree, obb_tree, f8[:,::1], f8[:,::1], f8, i8[:,::1], distance_fields, tree_fronts, i8[::1]")
def coherent_distance_rows(start, stop, tree_a, tree_b, poses_a, poses_b, reach, triangles_inout, out, fronts_inout, tests_out):
    """As `mesh_distance_rows`, from the fronts of the last frame."""
    space, front_space = new_walk_space(), new_front_space(fronts_inout.entries.shape[1])
    pair, length = np.empty((1, 2), np.int64), fronts_inout.length
    nearest, no = np.int64(NEAREST), np.int64(0)
    for row in range(start, stop):
        r, t = tree_pose(poses_a, row_of(poses_a, row), poses_b, row_of(poses_b, row), tree_a.origin, tree_b.origin)
        guess = (triangles_inout[row, 0], triangles_inout[row, 1])
        from_root, tests = True, np.int64(0)
        d2, x, y, at_a, at_b = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), np.int64(-1), np.int64(-1)
        if guess[0] >= 0 and length[row] >= 0:
            meets, d2, x, y, at_a, at_b, tests = walk_front(
                nearest, tree_a, tree_b, r, t, reach, guess, np.int64(row), fronts_inout, front_space, no, pair
            )
            from_root = meets != 0
        if from_root:
            d2, x, y, at_a, at_b, more = walk_distance(tree_a, tree_b, r, t, reach, guess, space)
            tests += more
            # A front of pairs that meet would end at once: after a collision the next frame is asked from the root too.
            length[row] = -1 if d2 == 0.0 else length[row] + (1 if length[row] < 0 else 0)
        tests_out[row] = tests
        triangles_inout[row, 0], triangles_inout[row, 1] = at_a, at_b
        write_distance(np.int64(row), poses_a, tree_a.origin, d2, x, y, at_a, out)


@kernel("i8, i8, box_tree, obb_tree, box_tree, obb_tree, f8[:,::1], f8[:,::1], tree_fronts, i8[::1], i8[:,::1]")
def coherent_pairs_block(start, stop, tree_a, obbs_a, tree_b, obbs_b, poses_a, poses_b, fronts_inout, tests_out, pairs_out):
    """As `mesh_pairs_block`, from the fronts of the last frame; the pairs of a row may come in another order."""
    space, front_space = new_walk_space(), new_front_space(fronts_inout.entries.shape[1])
    pairs, length = np.empty((pairs_out.shape[0], 2), np.int64), fronts_inout.length
    used, yes, everything, nowhere = np.int64(0), np.int64(1), np.int64(ALL_PAIRS), (np.int64(-1), np.int64(-1))
    for row in range(start, stop):
        r, t = tree_pose(poses_a, row_of(poses_a, row), poses_b, row_of(poses_b, row), tree_a.origin, tree_b.origin)
        if length[row] >= 0:
            found, _d2, _x, _y, _at_a, _at_b, tests_out[row] = walk_front(
                everything, obbs_a, obbs_b, r, t, 0.0, nowhere, np.int64(row), fronts_inout, front_space, np.int64(used), pairs
            )
        else:
            found, tests_out[row] = walk_pairs(tree_a, tree_b, r, t, yes, space, np.int64(used), pairs)
        if used + found > pairs_out.shape[0]:
            return row, used, found
        length[row] = max(length[row], 0)
        for k in range(used, used + found):
            pairs_out[k, 0], pairs_out[k, 1], pairs_out[k, 2] = row, pairs[k, 0], pairs[k, 1]
        used += found
    return stop, used, 0
