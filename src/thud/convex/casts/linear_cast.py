"""Linear casts by conservative advancement: when do two shapes first touch while they move along straight lines?

In A's frame only B moves, by the relative displacement m over time [0, 1]. The closest points at time s give a plane
with normal n that separates the shapes by d. B approaches it at the speed c = -m.n, so nothing can touch before
s + d / c; if c <= 0 nothing ever does. Stepping to that time and asking again converges to the first contact from
below: the time reported is never later than the true one.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, CAST_UNCONVERGED, HIT, MISS, OVERLAPPING
from thud.constants import NO_LIMIT, TOUCH
from thud.convex.convex_pair import finite_size, flip, pair_distance
from thud.convex.gjk import center_axis, difference_support
from thud.convex.shape_pair import next_part, part_ball, part_pose_in, shape_ball
from thud.convex.support import load_part
from thud.convex.tolerances import CAST_GAP, CAST_GAP_CURVED, CAST_ITERATIONS
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import dot, load3, norm, sub
from thud.pairing.rows import pair_rows, relative_pose, row_of
from thud.shapes.packed import BOUND, KIND, RADIUS
from thud.shapes.shape import CYLINDER, ELLIPSOID, HALF_SPACE


@kernel(inner="parts, i8, i8, mat3, vec3, vec3, f8")
def cast_pair(parts, a, b, r, t, m, latest):
    """Parts a and b, B moving by m over [0, 1], up to time `latest`: (status, time, point, normal from A to B). A's frame."""
    zero = (0.0, 0.0, 0.0)
    kind_a, kind_b = parts.ints[a, KIND], parts.ints[b, KIND]
    radius = parts.reals[a, RADIUS] + parts.reals[b, RADIUS]
    curved = CYLINDER <= kind_a <= ELLIPSOID or CYLINDER <= kind_b <= ELLIPSOID
    gap = (CAST_GAP_CURVED if curved else CAST_GAP) * finite_size(parts, a, b)
    gap += 4.0 * TOUCH * (abs(t[0]) + abs(t[1]) + abs(t[2]) + norm(m))
    axis = center_axis(parts, a, b, r, t)
    s = 0.0
    for step in range(CAST_ITERATIONS):
        at = (t[0] + s * m[0], t[1] + s * m[1], t[2] + s * m[2])
        status, d, p, n = pair_distance(parts, a, b, r, at, axis, NO_LIMIT)
        if status == OVERLAPPING:
            if step == 0:
                return AT_START, 0.0, p, zero
            # The last step ended within roundoff of contact; the normal is that of the step before.
            return HIT, s, p, (-axis[0], -axis[1], -axis[2])
        # What the plane orthogonal to n proves, whether or not the distance converged.
        apart = d
        if kind_a != HALF_SPACE and kind_b != HALF_SPACE:
            part_a, part_b = load_part(parts, a), load_part(parts, b)
            w, _pa = difference_support(parts, part_a, part_b, r, at, (-n[0], -n[1], -n[2]))
            apart = -dot(n, w) - radius
        approach = -dot(m, n)
        if approach <= 0.0 and apart > 0.0:
            return MISS, math.inf, zero, zero
        if d <= gap:
            return HIT, s, (p[0] + 0.5 * d * n[0], p[1] + 0.5 * d * n[1], p[2] + 0.5 * d * n[2]), n
        if apart <= 0.5 * gap:
            return CAST_UNCONVERGED, s, zero, n
        s += (apart - 0.25 * gap) / approach
        if s > latest:
            return MISS, math.inf, zero, zero
        axis = (-n[0], -n[1], -n[2])
    return CAST_UNCONVERGED, s, zero, (-axis[0], -axis[1], -axis[2])


@device
def earlier(status, time, best_status, best):
    """Whether a part pair's outcome beats the best so far."""
    return status != MISS and (time < best or (time == best and status > best_status))


@kernel("i8, i8, pair_batch, f8[:,::1], f8[:,::1], impact_fields")
def cast_rows(start, stop, batch, motion_a, motion_b, out):
    """First contact of each row; motions are displacements over the step, world frame."""
    packed, parts = batch.packed, batch.packed.parts
    poses_a, poses_b = batch.poses_a, batch.poses_b
    for i in range(start, stop):
        shape_a, shape_b, row_a, row_b = pair_rows(batch, i)
        r, t = relative_pose(poses_a, row_a, poses_b, row_b)
        world_r, world_t = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
        move_a, move_b = load3(motion_a, row_of(motion_a, i), 0), load3(motion_b, row_of(motion_b, i), 0)
        m = unrotate(world_r, sub(move_b, move_a))
        half = 0.5 * norm(m)
        rt, tt = flip(r, t)
        # A ball about all that B sweeps prunes A's tree; a ball about all that a part of A sweeps (in B's frame, where
        # A moves by -m) prunes B's.
        center_b, radius_b = shape_ball(packed, shape_b)
        center_b = transform(r, t, center_b)
        center_b = (center_b[0] + 0.5 * m[0], center_b[1] + 0.5 * m[1], center_b[2] + 0.5 * m[2])
        back = rotate(rt, m)
        status, best, point, normal = MISS, math.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        node_a = 0
        while True:
            a, node_a = next_part(packed, shape_a, node_a, center_b, radius_b + half, 0.0)
            if a < 0:
                break
            center_a, radius_a = transform(rt, tt, part_ball(packed, shape_a, a)), parts.reals[a, BOUND]
            center_a = (center_a[0] - 0.5 * back[0], center_a[1] - 0.5 * back[1], center_a[2] - 0.5 * back[2])
            pr, pt = load_rotation(packed.part_poses, a), load_translation(packed.part_poses, a)
            m_part = unrotate(pr, m)
            node_b = 0
            while True:
                b, node_b = next_part(packed, shape_b, node_b, center_a, radius_a + half, 0.0)
                if b < 0:
                    break
                rp, tp = part_pose_in(packed, a, b, r, t)
                s, time, p, n = cast_pair(parts, a, b, rp, tp, m_part, min(best, 1.0))
                if earlier(s, time, status, best):
                    status, best, point, normal = s, time, transform(pr, pt, p), rotate(pr, n)
        out.time[i] = best
        out.status[i] = status
        # At the time of contact A has moved too.
        moved = min(best, 1.0)
        world = transform(world_r, world_t, point)
        n = rotate(world_r, normal)
        for k in range(3):
            out.point[i, k] = 0.0
        if status in (HIT, AT_START):
            out.point[i, 0] = world[0] + moved * move_a[0]
            out.point[i, 1] = world[1] + moved * move_a[1]
            out.point[i, 2] = world[2] + moved * move_a[2]
        out.normal[i, 0], out.normal[i, 1], out.normal[i, 2] = n
