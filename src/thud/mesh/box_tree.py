"""What the walks of two box trees share: the place of one tree in the other, boxes and triangles, and slots that wait.

Everything is in the frame of A's tree: A's frame moved to the middle of its mesh (`TriangleMesh.origin`), where float32
boxes lose nothing.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device
from thud._core.simd_boxes import lowest_bit
from thud.math.pose import (
    load_rotation,
    load_translation,
    relative_rotation,
    rotate,
    transform,
    transpose,
    unrotate,
    untransform,
)

U = np.uint64
F = np.float32


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
def single9(r):
    """A 9-tuple in float32."""
    return F(r[0]), F(r[1]), F(r[2]), F(r[3]), F(r[4]), F(r[5]), F(r[6]), F(r[7]), F(r[8])


@device
def single3(p):
    """A 3-tuple in float32."""
    return F(p[0]), F(p[1]), F(p[2])


@device
def pair_frames(r, t):
    """B's tree in A's, and A's in B's, in float32; each as (R, |R|, t)."""
    r_ab, t_ab = single9(r), single3(t)
    back = unrotate(r, t)
    s_ab = absolute(r_ab)
    return (r_ab, s_ab, t_ab), (transpose(r_ab), transpose(s_ab), (F(-back[0]), F(-back[1]), F(-back[2])))


@device
def load_slot(boxes, slot):
    """The box of a slot as 6 float32: centre, half extents."""
    o = U(48) * (slot >> U(3)) + (slot & U(7))
    return boxes[o], boxes[o + U(8)], boxes[o + U(16)], boxes[o + U(24)], boxes[o + U(32)], boxes[o + U(40)]


@device
def box_query(frame, box, slack):
    """One box as `boxes_meet8` wants it; `frame`: of the children in the box's own, as (R, |R|, t)."""
    r, s, t = frame
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
def pair_size(tree_a, tree_b, t):
    """What the coordinates of the two meshes reach to, in A's tree frame."""
    a, b = load_slot(tree_a.boxes, U(0)), load_slot(tree_b.boxes, U(0))
    return np.float64(a[3] + a[4] + a[5] + b[3] + b[4] + b[5]) + abs(t[0]) + abs(t[1]) + abs(t[2])


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


@device
def push_pairs(space, depth, mask, base, i, j, open_a):
    """Children of one slot of a pair (i, j) wait with the other one: lanes of `mask`, counted from slot `base` of A (open_a) or
    B, the least of space.lanes on top. Returns the new depth."""
    stack, waiting = space.stack, space.waiting
    first = depth
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint32(1)
        key = space.lanes[lane]
        k = depth
        while k > first and waiting[k - U(1)] < key:
            waiting[k] = waiting[k - U(1)]
            stack[U(2) * k], stack[U(2) * k + U(1)] = stack[U(2) * k - U(2)], stack[U(2) * k - U(1)]
            k -= U(1)
        waiting[k] = key
        stack[U(2) * k], stack[U(2) * k + U(1)] = (base + lane, j) if open_a else (i, base + lane)
        depth += U(1)
    return depth


@device
def push_slots(space, depth, mask, base):
    """The same of one tree."""
    stack, waiting = space.stack, space.waiting
    first = depth
    while mask != 0:
        lane = lowest_bit(mask)
        mask &= mask - np.uint32(1)
        key = space.lanes[lane]
        k = depth
        while k > first and waiting[k - U(1)] < key:
            waiting[k], stack[k] = waiting[k - U(1)], stack[k - U(1)]
            k -= U(1)
        waiting[k], stack[k] = key, base + lane
        depth += U(1)
    return depth
