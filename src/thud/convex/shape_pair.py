"""One pair of shapes, plain or compound: the convex pairs that matter, found by walking the compounds' trees.

A's frame; (r, t) is B in it. A ball about each part of A prunes B's tree, a ball about B prunes A's.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.convex_pair import flip, pair_distance, pair_intersects, pair_signed
from thud.convex.gjk import center_axis
from thud.math.pose import compose_rotation, load_rotation, load_translation, relative_rotation, rotate, transform, unrotate
from thud.shapes.packed import BOUND, CENTER, NODE_COUNT, NODE_START, PART_START


@device
def ball_box_gap(packed, node, c, radius):
    """Distance from the ball (c, radius) to a node's box; negative or 0 where they meet. The box's frame."""
    gap2 = 0.0
    for k in range(3):
        x = c[0] if k == 0 else (c[1] if k == 1 else c[2])
        d = max(packed.node_boxes[node, k] - x, x - packed.node_boxes[node, 3 + k], 0.0)
        gap2 += d * d
    return math.sqrt(gap2) - radius


@device
def part_ball(packed, shape, part):
    """Centre of a ball about a part, in its shape's frame (a plain shape's part is the shape)."""
    c = (packed.parts.reals[part, CENTER], packed.parts.reals[part, CENTER + 1], packed.parts.reals[part, CENTER + 2])
    if packed.shape_ints[shape, NODE_COUNT] == 0:
        return c
    return transform(load_rotation(packed.part_poses, part), load_translation(packed.part_poses, part), c)


@device
def shape_ball(packed, shape):
    """Centre and radius of a ball about the whole shape, in its frame."""
    if packed.shape_ints[shape, NODE_COUNT] == 0:
        part = packed.shape_ints[shape, PART_START]
        return part_ball(packed, shape, part), packed.parts.reals[part, BOUND]
    node = packed.shape_ints[shape, NODE_START]
    radius2, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        low, high = packed.node_boxes[node, k], packed.node_boxes[node, 3 + k]
        if low == -math.inf or high == math.inf:
            return (0.0, 0.0, 0.0), math.inf
        middle = 0.5 * (low + high)
        radius2 += (high - middle) * (high - middle)
        if k == 0:
            x = middle
        elif k == 1:
            y = middle
        else:
            z = middle
    return (x, y, z), math.sqrt(radius2)


@device
def part_pose_in(packed, part_a, part_b, r, t):
    """Pose of B's part in the frame of A's part, from B's pose in A's frame: (rotation, translation)."""
    ra, ta = load_rotation(packed.part_poses, part_a), load_translation(packed.part_poses, part_a)
    rb, tb = load_rotation(packed.part_poses, part_b), load_translation(packed.part_poses, part_b)
    placed = transform(r, t, tb)
    return (
        relative_rotation(ra, compose_rotation(r, rb)),
        unrotate(ra, (placed[0] - ta[0], placed[1] - ta[1], placed[2] - ta[2])),
    )


@device
def next_part(packed, shape, node, c, radius, reach):
    """Next part of the shape at or after tree node `node` whose box is within `reach` of the ball (c, radius).

    Returns (part, node to continue from); part -1 when there is none. A plain shape has its one part at node 0.
    """
    count = packed.shape_ints[shape, NODE_COUNT]
    start = packed.shape_ints[shape, PART_START]
    if count == 0:
        if node == 0:
            return start, 1
        return -1, 1
    first = packed.shape_ints[shape, NODE_START]
    while node < count:
        if ball_box_gap(packed, first + node, c, radius) > max(reach, 0.0):
            node = packed.node_ints[first + node, 0]
            continue
        part = packed.node_ints[first + node, 1]
        node += 1
        if part >= 0:
            return start + part, node
    return -1, node


@kernel(inner="packed, i8, i8, mat3, vec3")
def compound_intersects(packed, shape_a, shape_b, r, t):
    """Whether two shapes meet, at least one of them compound. Status as for a convex pair."""
    parts = packed.parts
    rt, tt = flip(r, t)
    center_b, radius_b = shape_ball(packed, shape_b)
    center_b = transform(r, t, center_b)
    undecided = False
    node_a = 0
    while True:
        a, node_a = next_part(packed, shape_a, node_a, center_b, radius_b, 0.0)
        if a < 0:
            break
        center_a, radius_a = transform(rt, tt, part_ball(packed, shape_a, a)), parts.reals[a, BOUND]
        node_b = 0
        while True:
            b, node_b = next_part(packed, shape_b, node_b, center_a, radius_a, 0.0)
            if b < 0:
                break
            rp, tp = part_pose_in(packed, a, b, r, t)
            axis = center_axis(parts, a, b, rp, tp)
            status, _axis = pair_intersects(parts, a, b, rp, tp, axis)
            if status == OVERLAPPING:
                return OVERLAPPING
            undecided = undecided or status == UNCONVERGED
    return UNCONVERGED if undecided else SEPARATED


@kernel(inner="packed, i8, i8, mat3, vec3, f8")
def compound_distance(packed, shape_a, shape_b, r, t, reach):
    """Unsigned distance of two shapes, at least one compound: (status, distance, point on A, normal). A's frame."""
    parts = packed.parts
    rt, tt = flip(r, t)
    center_b, radius_b = shape_ball(packed, shape_b)
    center_b = transform(r, t, center_b)
    status, best, point, normal = SEPARATED, math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    node_a = 0
    while True:
        a, node_a = next_part(packed, shape_a, node_a, center_b, radius_b, min(best, reach))
        if a < 0:
            return status, best, point, normal
        center_a, radius_a = transform(rt, tt, part_ball(packed, shape_a, a)), parts.reals[a, BOUND]
        node_b = 0
        while True:
            b, node_b = next_part(packed, shape_b, node_b, center_a, radius_a, min(best, reach))
            if b < 0:
                break
            rp, tp = part_pose_in(packed, a, b, r, t)
            axis = center_axis(parts, a, b, rp, tp)
            s, d, p, n = pair_distance(parts, a, b, rp, tp, axis, min(best, reach))
            if d < best:
                ra, ta = load_rotation(packed.part_poses, a), load_translation(packed.part_poses, a)
                best, point, normal = d, transform(ra, ta, p), rotate(ra, n)
            status = max(status, s) if s != OVERLAPPING else OVERLAPPING
            if s == OVERLAPPING:
                return OVERLAPPING, 0.0, point, normal


@kernel(inner="packed, i8, i8, mat3, vec3, f8, i8, f8[::1], i8[::1]")
def compound_signed(packed, shape_a, shape_b, r, t, reach, faces, x, i):
    """Signed distance of two shapes, at least one compound: the least over their convex pairs. A's frame.

    In an overlap this is the deepest pair of parts, not the translation that frees the whole compound.
    """
    parts = packed.parts
    rt, tt = flip(r, t)
    center_b, radius_b = shape_ball(packed, shape_b)
    center_b = transform(r, t, center_b)
    undecided = False
    best, point, normal = math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    best_status = SEPARATED
    node_a = 0
    while True:
        a, node_a = next_part(packed, shape_a, node_a, center_b, radius_b, min(best, reach))
        if a < 0:
            break
        center_a, radius_a = transform(rt, tt, part_ball(packed, shape_a, a)), parts.reals[a, BOUND]
        node_b = 0
        while True:
            b, node_b = next_part(packed, shape_b, node_b, center_a, radius_a, min(best, reach))
            if b < 0:
                break
            rp, tp = part_pose_in(packed, a, b, r, t)
            axis = center_axis(parts, a, b, rp, tp)
            s, d, p, n = pair_signed(parts, a, b, rp, tp, axis, max(min(best, reach), 0.0), faces, x, i)
            undecided = undecided or s == UNCONVERGED
            if d < best:
                ra, ta = load_rotation(packed.part_poses, a), load_translation(packed.part_poses, a)
                best, point, normal, best_status = d, transform(ra, ta, p), rotate(ra, n), s
    return UNCONVERGED if undecided else best_status, best, point, normal
