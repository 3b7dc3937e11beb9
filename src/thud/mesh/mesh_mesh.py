"""Mesh against mesh: whether their triangles meet, and which do. Two 8-wide box trees walked at once."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_meet8, lowest_bit
from thud.constants import TOUCH, TREE_LEVELS
from thud.math.pose import transpose, unrotate
from thud.mesh.box_tree import U, absolute, load_triangle, place_triangle, tree_pose
from thud.mesh.tolerances import BOX_SLACK
from thud.mesh.triangle_triangle import triangles_meet

#: Numbers of slots that wait: seven pairs a level of both trees at most.
STACK = 28 * TREE_LEVELS

F = np.float32


@device
def load_slot(boxes, slot):
    """The box of a slot as 6 float32: centre, half extents."""
    o = U(48) * (slot >> U(3)) + (slot & U(7))
    return boxes[o], boxes[o + U(8)], boxes[o + U(16)], boxes[o + U(24)], boxes[o + U(32)], boxes[o + U(40)]


@device
def box_query(r, s, t, box, slack):
    """One box as `boxes_meet8` wants it: (R, t) is the frame of the children in the box's own."""
    x, y, z = box[3] + slack, box[4] + slack, box[5] + slack
    return (
        r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8],
        s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8],
        t[0] - box[0], t[1] - box[1], t[2] - box[2],
        x, y, z,
        s[0] * x + s[3] * y + s[6] * z, s[1] * x + s[4] * y + s[7] * z, s[2] * x + s[5] * y + s[8] * z,
        y * s[6] + z * s[3] + slack, y * s[7] + z * s[4] + slack, y * s[8] + z * s[5] + slack,
        x * s[6] + z * s[0] + slack, x * s[7] + z * s[1] + slack, x * s[8] + z * s[2] + slack,
        x * s[3] + y * s[0] + slack, x * s[4] + y * s[1] + slack, x * s[5] + y * s[2] + slack,
    )  # fmt: skip


@device
def single9(r):
    """A 9-tuple in float32."""
    return F(r[0]), F(r[1]), F(r[2]), F(r[3]), F(r[4]), F(r[5]), F(r[6]), F(r[7]), F(r[8])


@device
def single3(p):
    """A 3-tuple in float32."""
    return F(p[0]), F(p[1]), F(p[2])


@device
def pair_size(boxes_a, boxes_b, t):
    """What the coordinates of the two meshes reach to, in A's tree frame."""
    a, b = load_slot(boxes_a, U(0)), load_slot(boxes_b, U(0))
    return np.float64(a[3] + a[4] + a[5] + b[3] + b[4] + b[5]) + abs(t[0]) + abs(t[1]) + abs(t[2])


@device
def triangle_pair(corners_a, corners_b, i, j, r, t, touch):
    """Whether the triangles at tree positions i and j meet."""
    a0, a1, a2 = load_triangle(corners_a, i)
    b0, b1, b2 = place_triangle(r, t, load_triangle(corners_b, j))
    return triangles_meet(a0, a1, a2, b0, b1, b2, touch)


@kernel(inner="f4[::1], i8[::1], f8[::1], f4[::1], i8[::1], f8[::1], mat3, vec3, i8, u8[::1], f4[::1], i8, i8[:,::1]")
def walk_pairs(boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, r, t, all_pairs, stack, metric, filled, pairs_out):
    """(number of triangle pairs that meet, at most 1 unless `all_pairs`; how many times eight boxes were tested).

    (R, t) is B's tree in the frame of A's. Pairs of tree positions go to pairs_out from row `filled` on, as far as it reaches:
    the caller counts, grows it, and calls again if it was too small. `stack` and `metric` (8) are work space.
    """
    size = pair_size(boxes_a, boxes_b, t)
    touch, slack = TOUCH * size, F(BOX_SLACK * size)
    # B's tree in A's frame, and A's in B's.
    r_ab, t_ab = single9(r), single3(t)
    r_ba = transpose(r_ab)
    back = unrotate(r, t)
    t_ba = F(-back[0]), F(-back[1]), F(-back[2])
    s_ab = absolute(r_ab)
    s_ba = transpose(s_ab)
    found, tests = np.int64(0), np.int64(0)
    i, j = U(0), U(0)
    depth = U(0)
    while True:
        down_a, down_b = child_a[i], child_b[j]
        if down_a < 0 and down_b < 0:
            if triangle_pair(corners_a, corners_b, U(-1 - down_a), U(-1 - down_b), r, t, touch):
                if filled + found < pairs_out.shape[0]:
                    pairs_out[filled + found, 0], pairs_out[filled + found, 1] = -1 - down_a, -1 - down_b
                found += 1
                if all_pairs == 0:
                    return found, tests
        else:
            tests += 1
            a, b = load_slot(boxes_a, i), load_slot(boxes_b, j)
            # The children of the larger of the two, against the other.
            open_a = down_b < 0 or (down_a >= 0 and a[3] + a[4] + a[5] >= b[3] + b[4] + b[5])
            if open_a:
                meet = boxes_meet8(boxes_a, U(48) * U(down_a), box_query(r_ba, s_ba, t_ba, b, slack), metric)
                base = U(8) * U(down_a)
            else:
                meet = boxes_meet8(boxes_b, U(48) * U(down_b), box_query(r_ab, s_ab, t_ab, a, slack), metric)
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


@kernel(
    "i8, i8, f4[::1], i8[::1], f8[::1], f8[::1], f4[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], i8[:,::1], u1[::1]"
)
def mesh_intersects_rows(
    start,
    stop,
    boxes_a,
    child_a,
    corners_a,
    origin_a,
    boxes_b,
    child_b,
    corners_b,
    origin_b,
    poses_a,
    poses_b,
    found_inout,
    hit_out,
):
    """Whether the surfaces meet, for each row of poses. found_inout: tree positions of two triangles that do; before the call,
    two to try first, or -1."""
    stack, metric, found = np.empty(STACK, np.uint64), np.empty(8, np.float32), np.empty((1, 2), np.int64)
    no = np.int64(0)  # not a literal, which would be compiled for by itself
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b)
        if found_inout[row, 0] >= 0:
            touch = TOUCH * pair_size(boxes_a, boxes_b, t)
            if triangle_pair(corners_a, corners_b, U(found_inout[row, 0]), U(found_inout[row, 1]), r, t, touch):
                hit_out[row] = 1
                continue
        hit_out[row], _tests = walk_pairs(
            boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, r, t, no, stack, metric, no, found
        )
        if hit_out[row]:
            found_inout[row, 0], found_inout[row, 1] = found[0, 0], found[0, 1]


@kernel("i8, i8, f4[::1], i8[::1], f8[::1], f8[::1], f4[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], i8[:,::1]")
def mesh_pairs_block(
    start, stop, boxes_a, child_a, corners_a, origin_a, boxes_b, child_b, corners_b, origin_b, poses_a, poses_b, pairs_out
):
    """Pairs of tree positions that meet, as (row, position of A, position of B), of rows from `start` on as far as they fit.

    Returns (the row to go on from, pairs written, the pairs that row needs if it did not fit).
    """
    stack, metric = np.empty(STACK, np.uint64), np.empty(8, np.float32)
    pairs = np.empty((pairs_out.shape[0], 2), np.int64)
    used, yes = np.int64(0), np.int64(1)
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b)
        found, _tests = walk_pairs(
            boxes_a, child_a, corners_a, boxes_b, child_b, corners_b, r, t, yes, stack, metric, np.int64(used), pairs
        )
        if used + found > pairs_out.shape[0]:
            return row, used, found
        for k in range(used, used + found):
            pairs_out[k, 0], pairs_out[k, 1], pairs_out[k, 2] = row, pairs[k, 0], pairs[k, 1]
        used += found
    return stop, used, 0
