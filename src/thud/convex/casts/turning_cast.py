"""Casts of convex shapes that turn while they move, by conservative advancement with a proof for each step.

Each shape moves with constant rates: its origin along a straight line, turning about it (`turning.py`). The closest points at
time s give a direction n, from A to B. A direction that begins there and turns at a constant rate of its own separates the
shapes at any time s by

    f(s) = min over B of n(s).x - max over A of n(s).x,

two support points. What the supports can do between two times is bounded by how fast and how sharply any point of theirs moves
along n (`motion_bounds`, `carried_curvature`), so that f at both ends of a step tells how much of it is free (`clear_step`).
There the closest points are asked again. The time is never later than the true first contact.

Any rate of n is valid. At rest, n serves vertices and curved surfaces; turning with the shape whose face it stands on it keeps
the face's other corners from dipping through; turning as it did over the last step it follows two edges. The one that proves
most is taken. Then a step leaves a gap of the order of the gap's square, and a few steps suffice.

A half-space has points at any distance, whose speed has no bound: against it n is the plane's normal, which turns with it.

Results are in world axes relative to the origin of A's shape, which the caller moves.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, CAST_UNCONVERGED, HIT, MISS, OVERLAPPING
from thud.constants import NO_LIMIT, TOUCH
from thud.convex.casts.linear_cast import earlier
from thud.convex.casts.turning import (
    MOVER,
    clear_step,
    core_reach,
    make_mover,
    motion_bounds,
    place,
    shift,
    spin,
    step_guess,
    turn,
    turn_rate,
)
from thud.convex.convex_pair import finite_size, half_space_pair, pair_distance
from thud.convex.gjk import center_axis
from thud.convex.shape_pair import next_part, part_ball, shape_ball
from thud.convex.support import load_part, support
from thud.convex.tolerances import CAST_GAP, CAST_GAP_CURVED, MEETING_ROUNDING, TURN_ITERATIONS
from thud.geometry.moving_sphere import moving_sphere_sphere
from thud.math.pose import load_rotation, load_translation, relative_rotation, rotate, unrotate
from thud.math.vec3 import add, cross, dot, load3, norm, sub
from thud.pairing.rows import pair_rows, row_of
from thud.shapes.packed import BOUND, KIND, P3, RADIUS
from thud.shapes.shape import CYLINDER, ELLIPSOID, HALF_SPACE

#: How the direction n turns over a step.
REST, WITH_A, WITH_B, AS_BEFORE = 0, 1, 2, 3


@device
def meeting_time(d, v, radius):
    """(begin, end) of the time in which two balls with radii that sum to `radius` may meet; begin inf for never."""
    radius += MEETING_ROUNDING * (radius + norm(d) + norm(v))
    first = moving_sphere_sphere(d, v, radius)
    last = 1.0 - moving_sphere_sphere(shift(d, v, 1.0), (-v[0], -v[1], -v[2]), radius)
    # Both are rounded; the ball is wider than needed by more than that unless the balls graze.
    return max(first - MEETING_ROUNDING, 0.0), min(last + MEETING_ROUNDING, 1.0)


@device
def cast_gap(parts, a, b, d, v, far_a, far_b, w_a, w_b):
    """Gap at which a cast ends: what the linear one allows, and the roundoff of places that turn by many radians."""
    kind_a, kind_b = parts.ints[a, KIND], parts.ints[b, KIND]
    curved = CYLINDER <= kind_a <= ELLIPSOID or CYLINDER <= kind_b <= ELLIPSOID
    gap = (CAST_GAP_CURVED if curved else CAST_GAP) * finite_size(parts, a, b)
    return gap + 4.0 * TOUCH * (abs(d[0]) + abs(d[1]) + abs(d[2]) + norm(v) + (1.0 + w_a) * far_a + (1.0 + w_b) * far_b)


@kernel(inner="parts, i8, i8, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, vec3")
def separation(parts, a, b, mover_a, mover_b, d, v, s, n):
    """(separation along n at time s, its rate for the two points it is measured at and n at rest, from A's point to B's).

    World axes.
    """
    ra, pa = place(mover_a, s)
    rb, pb = place(mover_b, s)
    x = rotate(ra, support(parts, load_part(parts, a), unrotate(ra, n)))
    y = rotate(rb, support(parts, load_part(parts, b), unrotate(rb, (-n[0], -n[1], -n[2]))))
    x, y = add(x, pa), add(y, pb)
    span = sub(add(shift(d, v, s), y), x)
    along_a, along_b = cross(n, mover_a[2]), cross(n, mover_b[2])
    rate = dot(n, v) + mover_b[3] * dot(along_b, y) - mover_a[3] * dot(along_a, x)
    return dot(n, span) - parts.reals[a, RADIUS] - parts.reals[b, RADIUS], rate, span


@device
def carried_curvature(slip, w, reach, speed, w_other, across_other):
    """Curvature of the separation along a direction n that turns with one shape, rate w, |w u x n| = slip.

    Seen from that shape only the other one's points x move. Their second derivative along n is n.(x'' - 2 w u x x' + w u x
    (w u x x)): at most |x''| + slip (2 |x'| + w |x|), |x| <= reach, |x'| <= speed.
    """
    return w_other * w_other * across_other + slip * (2.0 * speed + w * reach)


@kernel(inner="parts, i8, i8, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8")
def cast_parts(parts, a, b, mover_a, mover_b, d, v, begin, latest):
    """Parts a and b, neither a half-space, from time `begin` to `latest`: (status, time, point, normal from A to B).

    d: from the origin of A's shape to that of B's at time 0; v: B's displacement relative to A's over the step.
    """
    zero = (0.0, 0.0, 0.0)
    w_a, w_b = mover_a[3], mover_b[3]
    across_a, far_a = core_reach(parts, a, mover_a)
    across_b, far_b = core_reach(parts, b, mover_b)
    # Only while balls about the shapes' origins meet.
    first, last = meeting_time(d, v, far_a + parts.reals[a, RADIUS] + far_b + parts.reals[b, RADIUS])
    latest = min(latest, last)
    if not max(begin, first) <= latest:
        return MISS, math.inf, zero, zero
    tilt_a, roll_a = spin(parts, a, mover_a)
    tilt_b, roll_b = spin(parts, b, mover_b)
    gap = cast_gap(parts, a, b, d, v, far_a, far_b, w_a, w_b)
    slack, noise = 0.25 * gap, 0.25 * TOUCH * (finite_size(parts, a, b) + far_a + far_b + norm(d) + norm(v))
    reach = max(norm(shift(d, v, begin)), norm(shift(d, v, latest)))
    speed_a, speed_b = norm(v) + w_a * across_a, norm(v) + w_b * across_b
    s, n, n_before, s_before, favourite = max(begin, first), zero, zero, 0.0, REST
    for step in range(TURN_ITERATIONS):
        ra, pa = place(mover_a, s)
        rb, pb = place(mover_b, s)
        r = relative_rotation(ra, rb)
        t = unrotate(ra, sub(add(shift(d, v, s), pb), pa))
        axis = center_axis(parts, a, b, r, t)
        if step > 0:
            axis = unrotate(ra, (-n[0], -n[1], -n[2]))
        status, apart, p, m = pair_distance(parts, a, b, r, t, axis, NO_LIMIT)
        p = add(rotate(ra, p), pa)
        if status == OVERLAPPING:
            if s == 0.0:
                return AT_START, 0.0, p, zero
            # The last step ended within roundoff of contact; the normal is that of the step before.
            return HIT, s, p, n
        n = rotate(ra, m)
        # What the plane orthogonal to n proves, whether or not the distance converged.
        f, rate, span = separation(parts, a, b, mover_a, mover_b, d, v, s, n)
        turning_a, curvature_a = motion_bounds(n, mover_a, across_a, far_a, tilt_a, roll_a)
        turning_b, curvature_b = motion_bounds(n, mover_b, across_b, far_b, tilt_b, roll_b)
        speed, curvature = turning_a + turning_b - dot(n, v), curvature_a + curvature_b
        remaining = latest - s
        if apart <= gap:
            # Contact, unless they surely part: never closer than now, and then for good.
            h = remaining if curvature == 0.0 else min(remaining, max(rate, 0.0) / curvature)
            f1, _rate, _span = separation(parts, a, b, mover_a, mover_b, d, v, s + h, n)
            parting = f1 - f >= 0.5 * curvature * h * h - noise and (h == remaining or f1 >= 2.0 * gap)
            if not (f > 0.0 and parting):
                return HIT, s, (p[0] + 0.5 * apart * n[0], p[1] + 0.5 * apart * n[1], p[2] + 0.5 * apart * n[2]), n
        else:
            if f <= 2.0 * slack:
                return CAST_UNCONVERGED, s, zero, n
            f -= slack
            if speed * remaining < f:
                return MISS, math.inf, zero, zero
            h = f / speed
            # How n turned over the last step.
            turned = cross(n_before, n)
            u_n, w_n = turn_rate(turned)
            w_n = w_n / (s - s_before) if step > 0 and s > s_before else 0.0
            best = favourite
            for attempt in range(4):
                way = favourite
                if attempt > 0:
                    way = attempt if attempt > favourite else attempt - 1
                if way == REST:
                    u, w, c = u_n, 0.0, curvature
                elif way == WITH_A:
                    u, w = mover_a[2], w_a
                    c = carried_curvature(w * norm(cross(u, n)), w, reach + far_b, speed_b, w_b, across_b)
                elif way == WITH_B:
                    u, w = mover_b[2], w_b
                    c = carried_curvature(w * norm(cross(u, n)), w, reach + far_a, speed_a, w_a, across_a)
                else:
                    # About the point amid the origins.
                    u, w = u_n, w_n
                    c = w_a * w_a * across_a + w_b * w_b * across_b
                    c += w * (2.0 * (speed_a + w_b * across_b) + w * (reach + far_a + far_b))
                if w == 0.0 and way != REST:
                    continue
                change = rate + w * dot(cross(u, n), span)
                ask = step_guess(f, change, c, remaining)
                n1 = rotate(turn(u, w * ask), n) if w > 0.0 else n
                f1, _rate, _span = separation(parts, a, b, mover_a, mover_b, d, v, s + ask, n1)
                proved = clear_step(f, f1 - slack, ask, c)
                if proved > h:
                    h, best = proved, way
                hoped = remaining if change >= 0.0 else min(remaining, -f / change)
                if proved >= 0.7 * hoped:
                    break
            favourite = best
        if h >= remaining:
            return MISS, math.inf, zero, zero
        s_before, n_before = s, n
        s += h
    return CAST_UNCONVERGED, s, zero, n


@kernel(inner="parts, i8, i8, " + MOVER + ", " + MOVER + ", vec3, vec3, f8")
def plane_separation(parts, a, b, mover_a, mover_b, d, v, s):
    """(signed distance of part b from the half-space a at time s, its rate, point on A's plane, normal). World axes."""
    ra, pa = place(mover_a, s)
    rb, pb = place(mover_b, s)
    at = shift(d, v, s)
    f, p, n = half_space_pair(parts, a, b, relative_rotation(ra, rb), unrotate(ra, sub(add(at, pb), pa)))
    p, n = add(rotate(ra, p), pa), rotate(ra, n)
    # The point of B, from its shape's origin.
    y = sub(p, at)
    y = (y[0] + f * n[0], y[1] + f * n[1], y[2] + f * n[2])
    turned_n, turned_y = cross(mover_a[2], n), cross(mover_b[2], y)
    return f, mover_a[3] * dot(turned_n, add(at, y)) + dot(n, v) + mover_b[3] * dot(n, turned_y), p, n


@kernel(inner="parts, i8, i8, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8")
def cast_plane(parts, a, b, mover_a, mover_b, d, v, begin, latest):
    """As `cast_parts`, for a half-space a.

    n turns with A, whose own part does not move along it then.
    """
    zero = (0.0, 0.0, 0.0)
    u_a, w_a, u_b, w_b = mover_a[2], mover_a[3], mover_b[2], mover_b[3]
    reach = max(norm(d), norm(shift(d, v, 1.0)))
    across, far, tilt, roll = 0.0, 0.0, math.inf, math.inf
    two_planes = parts.ints[b, KIND] == HALF_SPACE
    if not two_planes:
        across, far = core_reach(parts, b, mover_b)
        tilt, roll = spin(parts, b, mover_b)
    gap = cast_gap(parts, a, b, d, v, reach + norm(mover_a[1]), far, w_a, w_b)
    slack = 0.25 * gap
    noise = 0.25 * TOUCH * (abs(parts.reals[a, P3]) + far + parts.reals[b, RADIUS] + norm(d) + norm(v) + norm(mover_a[1]))
    s = begin
    for _step in range(TURN_ITERATIONS):
        f, rate, p, n = plane_separation(parts, a, b, mover_a, mover_b, d, v, s)
        if f <= 4.0 * noise:
            if s == 0.0:
                # From A's plane into B, or for two planes that do not face each other a point of both.
                ra, pa = place(mover_a, s)
                rb, pb = place(mover_b, s)
                t = unrotate(ra, sub(add(d, pb), pa))
                status, _d, p, _n = pair_distance(parts, a, b, relative_rotation(ra, rb), t, (1.0, 0.0, 0.0), NO_LIMIT)
                if status == OVERLAPPING:
                    return AT_START, 0.0, add(rotate(ra, p), pa), zero
            else:
                return HIT, s, p, n
        if two_planes and (w_a > 0.0 or w_b > 0.0):
            same = w_a == w_b and u_a[0] == u_b[0] and u_a[1] == u_b[1] and u_a[2] == u_b[2]
            upright = w_a * norm(cross(u_a, n)) <= TOUCH * w_a and w_b * norm(cross(u_b, n)) <= TOUCH * w_b
            if not (same or upright):
                # No longer parallel, they meet far away, at once.
                return HIT, s, (p[0] + 0.5 * f * n[0], p[1] + 0.5 * f * n[1], p[2] + 0.5 * f * n[2]), n
        if w_a == 0.0:
            speed, curvature = motion_bounds(n, mover_b, across, far, tilt, roll)
            speed -= dot(n, v)
        else:
            slip, speed = w_a * norm(cross(u_a, n)), norm(v) + w_b * across
            curvature = carried_curvature(slip, w_a, reach + far, speed, w_b, across)
            speed += slip * (reach + far)
        remaining = latest - s
        if f <= gap:
            h = remaining if curvature == 0.0 else min(remaining, max(rate, 0.0) / curvature)
            f1, _rate, _p, _n = plane_separation(parts, a, b, mover_a, mover_b, d, v, s + h)
            parting = f1 - f >= 0.5 * curvature * h * h - noise and (h == remaining or f1 >= 2.0 * gap)
            if not (f > 0.0 and parting):
                return HIT, s, (p[0] + 0.5 * f * n[0], p[1] + 0.5 * f * n[1], p[2] + 0.5 * f * n[2]), n
        else:
            f -= slack
            if speed * remaining < f:
                return MISS, math.inf, zero, zero
            h = f / speed
            for attempt in range(2):
                ask = step_guess(f, rate, curvature, remaining) if attempt == 0 else min(remaining, 2.0 * h)
                f1, _rate, _p, _n = plane_separation(parts, a, b, mover_a, mover_b, d, v, s + ask)
                proved = clear_step(f, f1 - slack, ask, curvature)
                h = max(h, proved)
                if 4.0 * proved >= ask:
                    break
        if h >= remaining:
            return MISS, math.inf, zero, zero
        s += h
    return CAST_UNCONVERGED, s, zero, zero


@kernel(inner="parts, i8, i8, " + MOVER + ", " + MOVER + ", vec3, vec3, f8, f8")
def cast_turning(parts, a, b, mover_a, mover_b, d, v, begin, latest):
    """`cast_parts` for any parts."""
    if parts.ints[a, KIND] == HALF_SPACE:
        return cast_plane(parts, a, b, mover_a, mover_b, d, v, begin, latest)
    if parts.ints[b, KIND] == HALF_SPACE:
        # Relative to B's shape, which moves by -v past A's.
        back, away = (-d[0], -d[1], -d[2]), (-v[0], -v[1], -v[2])
        status, time, p, n = cast_plane(parts, b, a, mover_b, mover_a, back, away, begin, latest)
        if status in (HIT, AT_START):
            p = add(p, shift(d, v, time))
        return status, time, p, (0.0 - n[0], 0.0 - n[1], 0.0 - n[2])
    return cast_parts(parts, a, b, mover_a, mover_b, d, v, begin, latest)


@device
def path_ball(center, lipschitz, reach):
    """A ball about a path over [0, 1] that is at `center` at time 1/2, no faster than `lipschitz`, within `reach` of 0."""
    if 0.5 * lipschitz <= reach:
        return center, 0.5 * lipschitz
    return (0.0, 0.0, 0.0), reach


@device
def write_turned(row, status, time, p, n, t, move, out):
    """Row `row` from world axes about a shape's origin, at t at time 0 and moving by `move`, to the world."""
    out.time[row], out.status[row] = time, status
    out.normal[row, 0], out.normal[row, 1], out.normal[row, 2] = n
    for k in range(3):
        out.point[row, k] = 0.0
    if status in (HIT, AT_START):
        for k in range(3):
            out.point[row, k] = p[k] + (t[k] + time * move[k])


@kernel("i8, i8, pair_batch, f8[:,::1], f8[:,::1], impact_fields")
def turning_rows(start, stop, batch, motion_a, motion_b, out):
    """First contact of each row; motions (N, 6) are displacement and rotation vector over the step, world frame."""
    packed, parts = batch.packed, batch.packed.parts
    poses_a, poses_b = batch.poses_a, batch.poses_b
    for i in range(start, stop):
        shape_a, shape_b, row_a, row_b = pair_rows(batch, i)
        ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
        rb, tb = load_rotation(poses_b, row_b), load_translation(poses_b, row_b)
        move_a, move_b = load3(motion_a, row_of(motion_a, i), 0), load3(motion_b, row_of(motion_b, i), 0)
        u_a, w_a = turn_rate(load3(motion_a, row_of(motion_a, i), 3))
        u_b, w_b = turn_rate(load3(motion_b, row_of(motion_b, i), 3))
        d, v = sub(tb, ta), sub(move_b, move_a)
        reach = max(norm(d), norm(shift(d, v, 1.0)))
        # Half-way frames, in which the balls that prune the trees of compounds are.
        half = shift(d, v, 0.5)
        half_a, _p = place((ra, d, u_a, w_a), 0.5)
        half_b, _p = place((rb, d, u_b, w_b), 0.5)
        # Where B's origin passes in A's frame.
        center_b, radius_b = shape_ball(packed, shape_b)
        radius_b += norm(center_b)
        center_b, more = path_ball(unrotate(half_a, half), norm(v) + w_a * reach, reach)
        radius_b += more
        zero = (0.0, 0.0, 0.0)
        status, best, point, normal = MISS, math.inf, zero, zero
        node_a = 0
        while True:
            a, node_a = next_part(packed, shape_a, node_a, center_b, radius_b, 0.0)
            if a < 0:
                break
            mover_a = make_mover(ra, u_a, w_a, load_rotation(packed.part_poses, a), load_translation(packed.part_poses, a))
            # Where the middle of A's part passes in B's frame.
            c = part_ball(packed, shape_a, a)
            off = norm(c)
            center_a, more = path_ball(
                unrotate(half_b, sub(rotate(half_a, c), half)), norm(v) + w_a * off + w_b * (reach + off), reach + off
            )
            node_b = 0
            while True:
                b, node_b = next_part(packed, shape_b, node_b, center_a, parts.reals[a, BOUND] + more, 0.0)
                if b < 0:
                    break
                part_r, part_t = load_rotation(packed.part_poses, b), load_translation(packed.part_poses, b)
                mover_b = make_mover(rb, u_b, w_b, part_r, part_t)
                s, time, p, n = cast_turning(parts, a, b, mover_a, mover_b, d, v, 0.0, min(best, 1.0))
                if earlier(s, time, status, best):
                    status, best, point, normal = s, time, p, n
        write_turned(i, status, best, point, normal, ta, move_a, out)
