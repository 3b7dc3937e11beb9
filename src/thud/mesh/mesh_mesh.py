"""Mesh against mesh: whether their triangles meet, and which do. Two 8-wide box trees walked at once."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_meet8, lowest_bit
from thud.constants import TOUCH
from thud.mesh.box_tree import F, U, box_query, load_slot, load_triangle, pair_frames, pair_size, place_triangle, tree_pose
from thud.mesh.tolerances import BOX_SLACK
from thud.mesh.trees import new_walk_space
from thud.mesh.triangle_triangle import triangles_meet
from thud.pairing.rows import row_of


@device
def triangle_pair(corners_a, corners_b, i, j, r, t, touch):
    """Whether the triangles at tree positions i and j meet."""
    a0, a1, a2 = load_triangle(corners_a, i)
    b0, b1, b2 = place_triangle(r, t, load_triangle(corners_b, j))
    return triangles_meet(a0, a1, a2, b0, b1, b2, touch)


@kernel(inner="box_tree, box_tree, mat3, vec3, i8, walk_space, i8, i8[:,::1]")
def walk_pairs(tree_a, tree_b, r, t, all_pairs, space, filled, pairs_out):
    """(number of triangle pairs that meet, at most 1 unless `all_pairs`; how many times eight boxes were tested).

    (R, t) is B's tree in the frame of A's. Pairs of tree positions go to pairs_out from row `filled` on, as far as it reaches:
    the caller counts, grows it, and calls again if it was too small.
    """
    stack, metric = space.stack, space.lanes
    size = pair_size(tree_a, tree_b, t)
    touch, slack = TOUCH * size, F(BOX_SLACK * size)
    b_in_a, a_in_b = pair_frames(r, t)
    found, tests = np.int64(0), np.int64(0)
    i, j = U(0), U(0)
    depth = U(0)
    while True:
        down_a, down_b = tree_a.child[i], tree_b.child[j]
        if down_a < 0 and down_b < 0:
            if triangle_pair(tree_a.corners, tree_b.corners, U(-1 - down_a), U(-1 - down_b), r, t, touch):
                if filled + found < pairs_out.shape[0]:
                    pairs_out[filled + found, 0], pairs_out[filled + found, 1] = -1 - down_a, -1 - down_b
                found += 1
                if all_pairs == 0:
                    return found, tests
        else:
            tests += 1
            a, b = load_slot(tree_a.boxes, i), load_slot(tree_b.boxes, j)
            # The children of the larger of the two, against the other.
            open_a = down_b < 0 or (down_a >= 0 and a[3] + a[4] + a[5] >= b[3] + b[4] + b[5])
            if open_a:
                meet = boxes_meet8(tree_a.boxes, U(48) * U(down_a), box_query(a_in_b, b, slack), metric)
                base = U(8) * U(down_a)
            else:
                meet = boxes_meet8(tree_b.boxes, U(48) * U(down_b), box_query(b_in_a, a, slack), metric)
                base = U(8) * U(down_b)
            if meet != 0:
                # On with the child that lies deepest; the others wait.
                best = lowest_bit(meet)
                meet &= meet - np.uint32(1)
                while meet != 0:
                    lane = lowest_bit(meet)
                    meet &= meet - np.uint32(1)
                    wait = lane
                    if metric[lane] < metric[best]:
                        best, wait = lane, best
                    stack[depth], stack[depth + U(1)] = (base + wait, j) if open_a else (i, base + wait)
                    depth += U(2)
                if open_a:
                    i = base + best
                else:
                    j = base + best
                continue
        if depth == 0:
            return found, tests
        depth -= U(2)
        i, j = stack[depth], stack[depth + U(1)]


@kernel("i8, i8, box_tree, box_tree, f8[:,::1], f8[:,::1], i8[:,::1], u1[::1]")
def mesh_intersects_rows(start, stop, tree_a, tree_b, poses_a, poses_b, found_inout, hit_out):
    """Whether the surfaces meet, for each row of poses. found_inout: tree positions of two triangles that do; before the call,
    two to try first, or -1."""
    space, found = new_walk_space(), np.empty((1, 2), np.int64)
    no = np.int64(0)  # not a literal, which would be compiled for by itself
    for row in range(start, stop):
        r, t = tree_pose(poses_a, row_of(poses_a, row), poses_b, row_of(poses_b, row), tree_a.origin, tree_b.origin)
        if found_inout[row, 0] >= 0:
            touch, i, j = TOUCH * pair_size(tree_a, tree_b, t), U(found_inout[row, 0]), U(found_inout[row, 1])
            if triangle_pair(tree_a.corners, tree_b.corners, i, j, r, t, touch):
                hit_out[row] = 1
                continue
        hit_out[row], _tests = walk_pairs(tree_a, tree_b, r, t, no, space, no, found)
        if hit_out[row]:
            found_inout[row, 0], found_inout[row, 1] = found[0, 0], found[0, 1]


@kernel("i8, i8, box_tree, box_tree, f8[:,::1], f8[:,::1], i8[:,::1]")
def mesh_pairs_block(start, stop, tree_a, tree_b, poses_a, poses_b, pairs_out):
    """Pairs of tree positions that meet, as (row, position of A, position of B), of rows from `start` on as far as they fit.

    Returns (the row to continue from, pairs written, the pairs that row needs if it did not fit).
    """
    space, pairs = new_walk_space(), np.empty((pairs_out.shape[0], 2), np.int64)
    used, yes = np.int64(0), np.int64(1)
    for row in range(start, stop):
        r, t = tree_pose(poses_a, row_of(poses_a, row), poses_b, row_of(poses_b, row), tree_a.origin, tree_b.origin)
        found, _tests = walk_pairs(tree_a, tree_b, r, t, yes, space, np.int64(used), pairs)
        if used + found > pairs_out.shape[0]:
            return row, used, found
        for k in range(used, used + found):
            pairs_out[k, 0], pairs_out[k, 1], pairs_out[k, 2] = row, pairs[k, 0], pairs[k, 1]
        used += found
    return stop, used, 0
