"""Axis-aligned boxes of bodies, in world coordinates; also of what they sweep over a step ([Yang] 2.7.3)."""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.broadphase.boxes import FARTHEST
from thud.constants import BODY_BOX
from thud.convex.support import load_part, support
from thud.math.pose import compose_rotation, load_rotation, load_translation, rotate, transform
from thud.math.vec3 import dot, load3, norm
from thud.shapes.packed import BOUND, CENTER, KIND, P0, P1, P2, P3, PART_COUNT, PART_START, RADIUS
from thud.shapes.shape import BOX, CAPSULE, HALF_SPACE, SPHERE
from thud.world.tolerances import REACH_SLACK


@device
def half_space_side(parts, p, r, t, axis):
    """(lower, upper) of a half-space along an axis: bounded on one side only where the plane is orthogonal to it, to the last
    bit. One that leans by 1e-9 is higher than any bound, far enough away."""
    n = rotate(r, (parts.reals[p, P0], parts.reals[p, P1], parts.reals[p, P2]))
    if n[(axis + 1) % 3] != 0.0 or n[(axis + 2) % 3] != 0.0:
        return -FARTHEST, FARTHEST
    offset = parts.reals[p, P3]
    blur = BODY_BOX * (abs(offset) + abs(t[axis]))
    if n[axis] > 0.0:
        return -FARTHEST, offset + t[axis] + blur
    return t[axis] - offset - blur, FARTHEST


@device
def part_side(packed, p, r, t, axis):
    """(lower, upper) of part p under (R, t) along an axis of the world."""
    parts = packed.parts
    # The axis as the part sees it.
    d = (r[3 * axis], r[3 * axis + 1], r[3 * axis + 2])
    kind, radius = parts.ints[p, KIND], parts.reals[p, RADIUS]
    if kind == HALF_SPACE:
        return half_space_side(parts, p, r, t, axis)
    if kind == SPHERE:
        half = radius
    elif kind == BOX:
        half = abs(d[0]) * parts.reals[p, P0] + abs(d[1]) * parts.reals[p, P1] + abs(d[2]) * parts.reals[p, P2] + radius
    elif kind == CAPSULE:
        half = abs(d[2]) * parts.reals[p, P1] + radius
    else:
        part = load_part(parts, p)
        low = dot(d, support(parts, part, (-d[0], -d[1], -d[2])))
        high = dot(d, support(parts, part, d))
        return t[axis] + low - radius, t[axis] + high + radius
    return t[axis] - half, t[axis] + half


@device
def at_identity(part_poses, p):
    """Whether a part stands where its shape does: always so for a shape that is no compound."""
    return (
        part_poses[p, 0] == 1.0 and part_poses[p, 4] == 1.0 and part_poses[p, 8] == 1.0
        and part_poses[p, 9] == 0.0 and part_poses[p, 10] == 0.0 and part_poses[p, 11] == 0.0
    )  # fmt: skip


@device
def norm1(v):
    """Sum of magnitudes."""
    return abs(v[0]) + abs(v[1]) + abs(v[2])


@device
def join_sides(a, b):
    """(lower, upper) of both."""
    return min(a[0], b[0]), max(a[1], b[1])


@device
def put_sides(bounds_out, i, axis, sides, far):
    """Write one axis of box i, unless unbounded wider by BODY_BOX of its coordinates and of `far`, those of the frames that it
    comes from."""
    low, high = sides
    if low > -FARTHEST and high < FARTHEST:
        blur = BODY_BOX * (abs(low) + abs(high) + far)
        low, high = low - blur, high + blur
    bounds_out[i, axis], bounds_out[i, axis + 3] = low, high


@kernel("i8, i8, packed, i8[::1], i8[::1], f8[:,::1], i8[::1], f8[:,::1]")
def body_boxes(start, stop, packed, shape_rows, shape, poses, rows, bounds_out):
    """Boxes of the bodies in `rows`, wider by BODY_BOX of what their coordinates reach to, so that what touches overlaps."""
    for k in range(start, stop):
        i = rows[k]
        body_r, body_t = load_rotation(poses, i), load_translation(poses, i)
        s = shape_rows[shape[i]]
        first, count = packed.shape_ints[s, PART_START], packed.shape_ints[s, PART_COUNT]
        if count == 1 and packed.parts.ints[first, KIND] == BOX and at_identity(packed.part_poses, first):
            # The most common body of all.
            far = norm1(body_t)
            put_sides(bounds_out, i, 0, part_side(packed, first, body_r, body_t, 0), far)
            put_sides(bounds_out, i, 1, part_side(packed, first, body_r, body_t, 1), far)
            put_sides(bounds_out, i, 2, part_side(packed, first, body_r, body_t, 2), far)
            continue
        x, y, z, far = (math.inf, -math.inf), (math.inf, -math.inf), (math.inf, -math.inf), 0.0
        for p in range(first, first + count):
            r = compose_rotation(body_r, load_rotation(packed.part_poses, p))
            t = transform(body_r, body_t, load_translation(packed.part_poses, p))
            far = max(
                far, norm1(body_t) + norm1(load_translation(packed.part_poses, p)) + norm1(load3(packed.parts.reals, p, CENTER))
            )
            x = join_sides(x, part_side(packed, p, r, t, 0))
            y = join_sides(y, part_side(packed, p, r, t, 1))
            z = join_sides(z, part_side(packed, p, r, t, 2))
        put_sides(bounds_out, i, 0, x, far)
        put_sides(bounds_out, i, 1, y, far)
        put_sides(bounds_out, i, 2, z, far)


@kernel("i8, i8, packed, i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, f8[:,::1], i8[::1], f8[:,::1]")
def swept_boxes(start, stop, packed, shape_rows, shape, poses, velocity, angular, dt, bounds, rows, swept_out):
    """Boxes of all that the bodies in `rows` sweep in a time dt, made from their boxes at its start.

    One that turns by an angle w moves no point farther than w times the point's distance from the origin of the body's frame,
    about which it turns.
    """
    for k in range(start, stop):
        i = rows[k]
        turn = dt * norm(load3(angular, i, 0))
        more = 0.0
        if turn > 0.0:
            reach = 0.0
            s = shape_rows[shape[i]]
            for p in range(
                packed.shape_ints[s, PART_START], packed.shape_ints[s, PART_START] + packed.shape_ints[s, PART_COUNT]
            ):
                center = transform(
                    load_rotation(packed.part_poses, p),
                    load_translation(packed.part_poses, p),
                    load3(packed.parts.reals, p, CENTER),
                )
                reach = max(reach, norm(center) + packed.parts.reals[p, BOUND])
            # No chord is longer than the diameter of the ball.
            more = min(turn, 2.0) * reach
        for axis in range(3):
            step = dt * velocity[i, axis]
            swept_out[i, axis] = max(bounds[i, axis] + min(step, 0.0) - more, -FARTHEST)
            swept_out[i, axis + 3] = min(bounds[i, axis + 3] + max(step, 0.0) + more, FARTHEST)


@kernel("f8[:,::1], b1[::1], b1[::1], f8[::1], f8[:,::1]")
def grown_boxes(bounds, alive, enabled, reach, bounds_out):
    """Boxes of the bodies that are there, wider by a reach on each side: one of all, or one of each."""
    for i in range(bounds_out.shape[0]):
        more = reach[min(i, reach.shape[0] - 1)] * REACH_SLACK
        here = alive[i] and enabled[i]
        for axis in range(3):
            lower, upper = bounds[i, axis], bounds[i, 3 + axis]
            bounds_out[i, axis] = max(lower - more, -FARTHEST) if here else lower
            bounds_out[i, 3 + axis] = min(upper + more, FARTHEST) if here else upper
