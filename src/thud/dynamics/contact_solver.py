"""Contacts of rigid bodies as soft constraints (Catto, Solver2D, 2024, as in Box2D v3), four patches at once.

In each sub-step (`step_solver.py`) the impulses of the last one are applied again (warm start); every point is solved once, a
penetration being pushed out like a stiff, heavily damped spring that bears its usual load unbent; the bodies move; every
point is solved once more without the push, so that it leaves no velocity behind (relaxing). After the last sub-step
restitution is applied. Points that are apart (within the margin) stop bodies where they would meet: the separation over h is
how fast they may approach.

Friction is Coulomb's with a round cone: the tangential impulse of a point is a vector in its plane, changed against the sliding
velocity and cut to friction times the normal impulse without the push. What this comes to is Coulomb's law itself: on the cone
the impulse is opposite to the velocity. (With the 2 x 2 effective mass of the point it is not: the impulses of a sliding box
pull its corners apart, and a twentieth of the friction is lost.) Torsional and rolling friction are the same for angular
impulses of a patch, about its normal and about its tangents. Normal and tangents stay those of the begin of the step;
separations follow the bodies. Both bodies are pushed at one place, so that angular momentum is kept.

The patches of a group share no body that moves (`colouring.py`); lanes without a patch have the world for both bodies, which
nothing moves.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.lanes import any_above, gather, gather_four, greater, least, load, pick, scatter_four, splat, store
from thud.dynamics.solver_types import (
    APPROACH,
    ARM,
    ARM_A,
    ARM_B,
    BETWEEN,
    BIAS_RATE,
    FRICTION,
    GAP,
    IMPULSE,
    IMPULSE_1,
    IMPULSE_2,
    IMPULSE_SCALE,
    INVERSE_MASS,
    LARGEST,
    MASS_SCALE,
    NORMAL,
    NORMAL_MASS,
    PATCH,
    POINT,
    PRESSED,
    PULL,
    RESTITUTION,
    ROLL_1,
    ROLL_2,
    ROLL_MASS,
    ROLLING,
    ROUND_A,
    ROUND_B,
    RUBBED,
    SEPARATION,
    SHARE,
    SUM,
    SUM_1,
    SUM_2,
    SURFACE_1,
    SURFACE_2,
    TANGENT,
    TANGENT_MASS,
    TURNED,
    TWIST,
    TWIST_MASS,
    TWISTING,
    USUAL,
    USUALLY,
    WORLD_INVERSE,
    V,
    X,
)
from thud.dynamics.tolerances import USUAL_FALL
from thud.math.pose import rotate
from thud.math.vec3 import add, add_scaled, cross, dot, load3, scale, sub


@device
def tangents_of(n):
    """Two unit vectors that stand on n and each other, the second n x the first (Duff et al., Building an orthonormal basis,
    revisited, 2017)."""
    s = math.copysign(1.0, n[2])
    a = -1.0 / (s + n[2])
    b = n[0] * n[1] * a
    t = (1.0 + s * n[0] * n[0] * a, s * b, -s * n[0])
    return t, cross(n, t)


@device
def larger_principal(k11, k12, k22):
    """The larger eigenvalue of a symmetric 2 x 2 matrix."""
    return 0.5 * (k11 + k22) + math.sqrt(0.25 * (k11 - k22) * (k11 - k22) + k12 * k12)


@device
def put_lane(out, row, lane, x):
    """Write a vector to a lane."""
    out[row, lane], out[row + 1, lane], out[row + 2, lane] = x


@kernel(inner="solver_bodies, contact_groups, i8[:,::1], contact_list, point_columns, i8, i8, f8[:,::1]")
def begin_patches(bodies, groups, lanes, patches, points, start, stop, soft):
    """`begin_patch` of patches [start, stop). (Handing over so many arrays costs more than a patch.)"""
    for p in range(start, stop):
        begin_patch(bodies, groups, lanes[p, 0], lanes[p, 1], patches, points, p, soft)


@kernel(inner="contact_groups, i8[:,::1], contact_list, point_columns, i8, i8, f8")
def end_patches(groups, lanes, patches, points, start, stop, share):
    """`end_patch` of patches [start, stop)."""
    for p in range(start, stop):
        end_patch(groups, lanes[p, 0], lanes[p, 1], patches, points, p, share)


@device
def begin_patch(bodies, groups, i, lane, patches, points, p, soft):
    """What is known of a patch, to its lane, which is 0 before. `soft`: (2, 3) bias rate, mass scale and impulse scale of
    contacts between moving bodies, and of those with one that does not respond."""
    reals, out, g = bodies.reals, groups.reals, groups.first[i]
    a, b, first, count = patches.rows[p, 0], patches.rows[p, 1], patches.rows[p, 2], patches.rows[p, 3]
    groups.rows[i, 0, lane], groups.rows[i, 1, lane] = a, b
    n = load3(points.normal, first, 0)
    t1, t2 = tangents_of(n)
    xa, xb = load3(reals, a, X), load3(reals, b, X)
    put_lane(out, g + NORMAL, lane, n)
    put_lane(out, g + TANGENT, lane, t1)
    put_lane(out, g + BETWEEN, lane, sub(xb, xa))
    out[g + FRICTION, lane], out[g + RESTITUTION, lane] = patches.reals[p, 0], patches.reals[p, 1]
    row = 0 if reals[a, INVERSE_MASS] > 0.0 and reals[b, INVERSE_MASS] > 0.0 else 1
    out[g + BIAS_RATE, lane], out[g + MASS_SCALE, lane], out[g + IMPULSE_SCALE, lane] = soft[row, 0], soft[row, 1], soft[row, 2]
    out[g + PULL, lane] = dot(n, sub(load3(bodies.acceleration, b, 0), load3(bodies.acceleration, a, 0)))
    surface = load3(patches.reals, p, 4)
    out[g + SURFACE_1, lane], out[g + SURFACE_2, lane] = dot(t1, surface), dot(t2, surface)
    out[g + TWISTING, lane], out[g + ROLLING, lane] = patches.reals[p, 2], patches.reals[p, 3]
    round_a, round_b = patches.reals[p, 7], patches.reals[p, 8]
    out[g + ROUND_A, lane], out[g + ROUND_B, lane] = round_a, round_b
    # The contact goes with what slides or rolls on what is still, and with what is round on what is flat.
    if reals[a, INVERSE_MASS] == 0.0 or reals[b, INVERSE_MASS] == 0.0:
        out[g + SHARE, lane] = 1.0 if reals[a, INVERSE_MASS] == 0.0 else 0.0
    else:
        out[g + SHARE, lane] = 0.5 if (round_a > 0.0) == (round_b > 0.0) else 1.0 if round_b > 0.0 else 0.0
    turned = load3(points.kept, first, TURNED)
    out[g + TWIST, lane], out[g + ROLL_1, lane], out[g + ROLL_2, lane] = dot(n, turned), dot(t1, turned), dot(t2, turned)
    for q in range(count):
        k, at = first + q, PATCH + POINT * q
        where = load3(points.point, k, 0)
        put_lane(out, g + at + ARM, lane, sub(where, xa))
        put_lane(out, g + at + ARM_B, lane, sub(where, xb))
        out[g + at + SEPARATION, lane] = -points.depth[k]
        rub = load3(points.kept, k, RUBBED)
        out[g + at + IMPULSE, lane] = points.kept[k, PRESSED]
        out[g + at + IMPULSE_1, lane], out[g + at + IMPULSE_2, lane] = dot(rub, t1), dot(rub, t2)
        out[g + at + USUAL, lane] = points.kept[k, USUALLY]
        # Points that are there have an effective mass; those that are not stay without.
        out[g + at + NORMAL_MASS, lane] = 1.0


@device
def end_patch(groups, i, lane, patches, points, p, share):
    """Impulses of a patch, for the next step and for who asks. `share`: how much the last one counts in the usual load."""
    out, g = groups.reals, groups.first[i]
    n = (out[g + NORMAL, lane], out[g + NORMAL + 1, lane], out[g + NORMAL + 2, lane])
    t1 = (out[g + TANGENT, lane], out[g + TANGENT + 1, lane], out[g + TANGENT + 2, lane])
    t2 = cross(n, t1)
    for q in range(patches.rows[p, 3]):
        k, at = patches.rows[p, 2] + q, PATCH + POINT * q
        impulse, usual = out[g + at + IMPULSE, lane], out[g + at + USUAL, lane]
        points.kept[k, PRESSED] = impulse
        rub = add_scaled(scale(t1, out[g + at + IMPULSE_1, lane]), t2, out[g + at + IMPULSE_2, lane])
        for c in range(3):
            points.kept[k, RUBBED + c] = rub[c]
        whole = add_scaled(scale(n, out[g + at + SUM, lane]), t1, out[g + at + SUM_1, lane])
        whole = add_scaled(whole, t2, out[g + at + SUM_2, lane])
        for c in range(3):
            points.impulse[k, c] += whole[c]
        # Of a new point the first load is the usual one; if it was that of an impact, it is soon forgotten.
        rate = 1.0 if usual == 0.0 else share if impulse > usual else min(1.0, USUAL_FALL * share)
        points.kept[k, USUALLY] = usual + rate * (impulse - usual)
        if q == 0 and (out[g + TWISTING, lane] > 0.0 or out[g + ROLLING, lane] > 0.0):
            turned = add_scaled(scale(n, out[g + TWIST, lane]), t1, out[g + ROLL_1, lane])
            turned = add_scaled(turned, t2, out[g + ROLL_2, lane])
            for c in range(3):
                points.kept[k, TURNED + c] = turned[c]


# From here on four patches at a time.


@device
def lanes3(out, row):
    """A vector of a group."""
    return load(out, row), load(out, row + 1), load(out, row + 2)


@device
def keep3(out, row, x):
    """Write a vector of a group."""
    store(out, row, x[0])
    store(out, row + 1, x[1])
    store(out, row + 2, x[2])


@device
def motions(reals, rows):
    """Velocities, inverse mass and whether something pushes them, of four bodies."""
    v1, v2, v3, w1 = gather_four(reals, rows, V)
    w2, w3, mass, touched = gather_four(reals, rows, V + 4)
    return (v1, v2, v3), (w1, w2, w3), mass, touched


@device
def put_motions(reals, rows, v, w, mass, touched):
    """The other way."""
    scatter_four(reals, rows, V, (v[0], v[1], v[2], w[0]))
    scatter_four(reals, rows, V + 4, (w[1], w[2], mass, touched))


@device
def inverses(reals, rows):
    """Inverse inertia of four bodies."""
    xx, xy, xz, yy = gather_four(reals, rows, WORLD_INVERSE)
    yz, zz, _, _ = gather_four(reals, rows, WORLD_INVERSE + 4)
    return xx, xy, xz, xy, yy, yz, xz, yz, zz


@device
def centers(reals, rows):
    """Centres of mass of four bodies."""
    x, y, z, _ = gather_four(reals, rows, X)
    return x, y, z


@device
def turns_of(matrices, rows):
    """A rotation of four bodies."""
    a, b, c, d = gather_four(matrices, rows, 0)
    e, f, g, h = gather_four(matrices, rows, 4)
    return a, b, c, d, e, f, g, h, gather(matrices, rows, 8)


@device
def rows_of(groups, i, side):
    """Bodies of four lanes."""
    r = groups.rows
    return r[i, side, 0], r[i, side, 1], r[i, side, 2], r[i, side, 3]


@device
def speed_of(v, w, arm):
    """Of a point of four bodies."""
    return add(v, cross(w, arm))


@device
def inverse_of(x):
    """1 / x, 0 where x is not positive."""
    return pick(x, 0.0, 1.0 / x, 0.0)


@kernel(inner="solver_bodies, contact_groups, i8, i8")
def begin_groups(bodies, groups, start, stop):
    """Arms, effective masses and approach speeds of groups [start, stop)."""
    reals, out = bodies.reals, groups.reals
    for i in range(start, stop):
        g = groups.first[i]
        a, b = rows_of(groups, i, 0), rows_of(groups, i, 1)
        n, t1 = lanes3(out, g + NORMAL), lanes3(out, g + TANGENT)
        t2 = cross(n, t1)
        va, wa, ma, _ = motions(reals, a)
        vb, wb, mb, _ = motions(reals, b)
        ia, ib = inverses(reals, a), inverses(reals, b)
        if any_above(load(out, g + TWISTING) + load(out, g + ROLLING), 0.0):
            about = add(rotate(ia, n), rotate(ib, n))
            store(out, g + TWIST_MASS, inverse_of(dot(n, about)))
            s1, s2 = add(rotate(ia, t1), rotate(ib, t1)), add(rotate(ia, t2), rotate(ib, t2))
            store(out, g + ROLL_MASS, inverse_of(larger_principal(dot(t1, s1), dot(t1, s2), dot(t2, s2))))
        for q in range(groups.points[i]):
            at = PATCH + POINT * q
            arm_a, arm_b, there = lanes3(out, g + at + ARM), lanes3(out, g + at + ARM_B), load(out, g + at + NORMAL_MASS)
            keep3(out, g + at + ARM_A, arm_a)
            store(out, g + at + GAP, load(out, g + at + SEPARATION))
            na, nb, ra1, rb1 = cross(arm_a, n), cross(arm_b, n), cross(arm_a, t1), cross(arm_b, t1)
            ra2, rb2 = cross(arm_a, t2), cross(arm_b, t2)
            turn_a2, turn_b2 = rotate(ia, ra2), rotate(ib, rb2)
            along = ma + mb + dot(na, rotate(ia, na)) + dot(nb, rotate(ib, nb))
            k11 = ma + mb + dot(ra1, rotate(ia, ra1)) + dot(rb1, rotate(ib, rb1))
            k22 = ma + mb + dot(ra2, turn_a2) + dot(rb2, turn_b2)
            k12 = dot(ra1, turn_a2) + dot(rb1, turn_b2)
            store(out, g + at + NORMAL_MASS, there * inverse_of(along))
            # The larger principal value: whichever way they rub, no more than what stops them.
            store(out, g + at + TANGENT_MASS, there * inverse_of(larger_principal(k11, k12, k22)))
            store(out, g + at + APPROACH, dot(n, sub(speed_of(vb, wb, arm_b), speed_of(va, wa, arm_a))))


@kernel(inner="solver_bodies, contact_groups, i8, i8")
def warm_contacts(bodies, groups, start, stop):
    """Impulses of the last sub-step again, of groups [start, stop)."""
    reals, out = bodies.reals, groups.reals
    for i in range(start, stop):
        g = groups.first[i]
        a, b = rows_of(groups, i, 0), rows_of(groups, i, 1)
        n, t1 = lanes3(out, g + NORMAL), lanes3(out, g + TANGENT)
        t2 = cross(n, t1)
        zero = splat(0.0)
        whole, turn_a, turn_b = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
        for q in range(groups.points[i]):
            at = PATCH + POINT * q
            p = add_scaled(scale(n, load(out, g + at + IMPULSE)), t1, load(out, g + at + IMPULSE_1))
            p = add_scaled(p, t2, load(out, g + at + IMPULSE_2))
            whole = add(whole, p)
            turn_a = add(turn_a, cross(lanes3(out, g + at + ARM_A), p))
            turn_b = add(turn_b, cross(lanes3(out, g + at + ARM_B), p))
        if any_above(load(out, g + TWISTING) + load(out, g + ROLLING), 0.0):
            turned = add_scaled(scale(n, load(out, g + TWIST)), t1, load(out, g + ROLL_1))
            turned = add_scaled(turned, t2, load(out, g + ROLL_2))
            turn_a, turn_b = add(turn_a, turned), add(turn_b, turned)
        va, wa, ma, touched_a = motions(reals, a)
        vb, wb, mb, touched_b = motions(reals, b)
        wa, wb = sub(wa, rotate(inverses(reals, a), turn_a)), add(wb, rotate(inverses(reals, b), turn_b))
        put_motions(reals, a, add_scaled(va, whole, -ma), wa, ma, touched_a)
        put_motions(reals, b, add_scaled(vb, whole, mb), wb, mb, touched_b)


@device
def rub(out, g, at, t1, t2, friction, va, wa, vb, wb, arm_a, arm_b, ma, mb, ia, ib):
    """Friction of a point: stop it along the tangents, as far as the cone of its normal impulse allows. Returns velocities."""
    speed = sub(speed_of(vb, wb, arm_b), speed_of(va, wa, arm_a))
    mass, was_1, was_2 = load(out, g + at + TANGENT_MASS), load(out, g + at + IMPULSE_1), load(out, g + at + IMPULSE_2)
    j1 = was_1 - mass * (dot(t1, speed) + load(out, g + SURFACE_1))
    j2 = was_2 - mass * (dot(t2, speed) + load(out, g + SURFACE_2))
    most, length = friction * load(out, g + at + IMPULSE), math.sqrt(j1 * j1 + j2 * j2)
    cut = pick(length, most, most / length, 1.0)
    j1, j2 = j1 * cut, j2 * cut
    store(out, g + at + IMPULSE_1, j1)
    store(out, g + at + IMPULSE_2, j2)
    return pushed(va, wa, vb, wb, arm_a, arm_b, ma, mb, ia, ib, add_scaled(scale(t1, j1 - was_1), t2, j2 - was_2))


@device
def pushed(va, wa, vb, wb, arm_a, arm_b, ma, mb, ia, ib, p):
    """Velocities after an impulse p on B and -p on A at their arms."""
    return (
        add_scaled(va, p, -ma), sub(wa, rotate(ia, cross(arm_a, p))),
        add_scaled(vb, p, mb), add(wb, rotate(ib, cross(arm_b, p))),
    )  # fmt: skip


@device
def resist_turns(out, g, n, t1, t2, pressed, wa, wb, ia, ib):
    """Torsional and rolling friction of a patch, cut by the sum of its normal impulses."""
    w = sub(wb, wa)
    was, was_1, was_2 = load(out, g + TWIST), load(out, g + ROLL_1), load(out, g + ROLL_2)
    most = load(out, g + TWISTING) * pressed
    twist = greater(least(was - load(out, g + TWIST_MASS) * dot(n, w), most), -most)
    mass = load(out, g + ROLL_MASS)
    j1, j2 = was_1 - mass * dot(t1, w), was_2 - mass * dot(t2, w)
    most, length = load(out, g + ROLLING) * pressed, math.sqrt(j1 * j1 + j2 * j2)
    cut = pick(length, most, most / length, 1.0)
    j1, j2 = j1 * cut, j2 * cut
    store(out, g + TWIST, twist)
    store(out, g + ROLL_1, j1)
    store(out, g + ROLL_2, j2)
    turned = add_scaled(add_scaled(scale(n, twist - was), t1, j1 - was_1), t2, j2 - was_2)
    return sub(wa, rotate(ia, turned)), add(wb, rotate(ib, turned))


@kernel(inner="solver_bodies, contact_groups, i8, i8, f8, f8, f8, i8")
def solve_contacts(bodies, groups, start, stop, h, fastest, slop, biased):
    """One pass over groups [start, stop). `biased`: push penetrations beyond `slop` out, no faster than `fastest` m/s; else the
    bodies have moved, and where they are by now is found first."""
    reals, out = bodies.reals, groups.reals
    inverse_h = 1.0 / h
    for i in range(start, stop):
        g = groups.first[i]
        a, b = rows_of(groups, i, 0), rows_of(groups, i, 1)
        n, t1, friction = lanes3(out, g + NORMAL), lanes3(out, g + TANGENT), load(out, g + FRICTION)
        t2 = cross(n, t1)
        va, wa, ma, touched_a = motions(reals, a)
        vb, wb, mb, touched_b = motions(reals, b)
        ia, ib = inverses(reals, a), inverses(reals, b)
        pull, pressed, bounces = load(out, g + PULL), splat(0.0), any_above(load(out, g + RESTITUTION), 0.0)
        if not biased:
            turn_a, turn_b, between = turns_of(bodies.turn, a), turns_of(bodies.turn, b), lanes3(out, g + BETWEEN)
            way, share = sub(centers(reals, b), centers(reals, a)), load(out, g + SHARE)
            # What is round rolls: the centre of its curvature turns with the body, and the point stays below it.
            inner_a, inner_b = scale(n, load(out, g + ROUND_A)), scale(n, load(out, g + ROUND_B))
            for q in range(groups.points[i]):
                at = PATCH + POINT * q
                arm = lanes3(out, g + at + ARM)
                arm_a = add(rotate(turn_a, sub(arm, inner_a)), inner_a)
                arm_b = sub(rotate(turn_b, add(sub(arm, between), inner_b)), inner_b)
                # From A's point to B's, which were one at the begin.
                apart = sub(add(way, arm_b), arm_a)
                # Both at one place. Where that is farther off than half the arm the effective masses hold no more: the arms of
                # two moving bodies grow, and what stops them falls with the square.
                keep3(out, g + at + ARM_A, add_scaled(arm_a, apart, share))
                keep3(out, g + at + ARM_B, add_scaled(arm_b, apart, share - 1.0))
                off, far = dot(apart, apart), 0.25 * dot(arm, arm)
                if any_above(off, far):
                    part = pick(ma, 0.0, pick(mb, 0.0, pick(off, far, far / off, 1.0), 1.0), 1.0)
                    store(out, g + at + NORMAL_MASS, part * load(out, g + at + NORMAL_MASS))
                    store(out, g + at + TANGENT_MASS, part * load(out, g + at + TANGENT_MASS))
                store(out, g + at + GAP, load(out, g + at + SEPARATION) + dot(n, apart))
        turns = any_above(load(out, g + TWISTING) + load(out, g + ROLLING), 0.0)
        if turns:
            for q in range(groups.points[i]):
                pressed = pressed + load(out, g + PATCH + POINT * q + IMPULSE)
            if biased:
                wa, wb = resist_turns(out, g, n, t1, t2, pressed, wa, wb, ia, ib)
        pressed = splat(0.0)
        for q in range(groups.points[i]):
            at = PATCH + POINT * q
            arm_a, arm_b, gap = lanes3(out, g + at + ARM_A), lanes3(out, g + at + ARM_B), load(out, g + at + GAP)
            # In both passes friction has the cone of a normal impulse that was found without the push: that of the last
            # sub-step, then that of this one.
            if biased:
                va, wa, vb, wb = rub(out, g, at, t1, t2, friction, va, wa, vb, wb, arm_a, arm_b, ma, mb, ia, ib)
            before, mass = load(out, g + at + IMPULSE), load(out, g + at + NORMAL_MASS)
            along = dot(n, sub(speed_of(vb, wb, arm_b), speed_of(va, wa, arm_a)))
            if biased:
                bias = pick(gap, 0.0, gap * inverse_h, greater(load(out, g + BIAS_RATE) * (gap + slop), -fastest))
                mass = mass * pick(gap, 0.0, 1.0, load(out, g + MASS_SCALE))
                soft = pick(gap, 0.0, 0.0, load(out, g + IMPULSE_SCALE))
                change = -mass * (along + bias) - soft * (before - load(out, g + at + USUAL))
            else:
                change = -mass * (along + pick(gap, 0.0, gap * inverse_h, 0.0))
            after = greater(before + change, 0.0)
            if not biased:
                # Points that are apart by now meet in the next sub-step, not in this one.
                after = pick(gap, 0.0, least(after, before), after)
            if bounces:
                # They meet: before all of this sub-step's acceleration has acted, or with a part of the next one's.
                largest = load(out, g + at + LARGEST)
                fresh = pick(before + largest, 0.0, 0.0, after)
                part = least(greater(-gap / (along * h), 0.0), 1.0)
                if biased:
                    part = part - 1.0
                store(out, g + at + APPROACH, pick(fresh, 0.0, along + part * h * pull, load(out, g + at + APPROACH)))
                store(out, g + at + LARGEST, greater(largest, after))
            pressed = pressed + after
            store(out, g + at + IMPULSE, after)
            va, wa, vb, wb = pushed(va, wa, vb, wb, arm_a, arm_b, ma, mb, ia, ib, scale(n, after - before))
            if not biased:
                store(out, g + at + SUM, load(out, g + at + SUM) + after)
                va, wa, vb, wb = rub(out, g, at, t1, t2, friction, va, wa, vb, wb, arm_a, arm_b, ma, mb, ia, ib)
            if not biased:
                store(out, g + at + SUM_1, load(out, g + at + SUM_1) + load(out, g + at + IMPULSE_1))
                store(out, g + at + SUM_2, load(out, g + at + SUM_2) + load(out, g + at + IMPULSE_2))
        if turns and not biased:
            wa, wb = resist_turns(out, g, n, t1, t2, pressed, wa, wb, ia, ib)
        if biased:
            touched_a, touched_b = pick(pressed, 0.0, 1.0, touched_a), pick(pressed, 0.0, 1.0, touched_b)
        put_motions(reals, a, va, wa, ma, touched_a)
        put_motions(reals, b, vb, wb, mb, touched_b)


@kernel(inner="solver_bodies, contact_groups, i8, i8, f8")
def restitute(bodies, groups, start, stop, threshold):
    """Points that met faster than `threshold` m/s and were pressed leave at restitution times that speed."""
    reals, out = bodies.reals, groups.reals
    for i in range(start, stop):
        g = groups.first[i]
        bounce = load(out, g + RESTITUTION)
        if not any_above(bounce, 0.0):
            continue
        a, b, n = rows_of(groups, i, 0), rows_of(groups, i, 1), lanes3(out, g + NORMAL)
        va, wa, ma, touched_a = motions(reals, a)
        vb, wb, mb, touched_b = motions(reals, b)
        ia, ib = inverses(reals, a), inverses(reals, b)
        for q in range(groups.points[i]):
            at = PATCH + POINT * q
            arm_a, arm_b, approach = lanes3(out, g + at + ARM_A), lanes3(out, g + at + ARM_B), load(out, g + at + APPROACH)
            before, largest = load(out, g + at + IMPULSE), load(out, g + at + LARGEST)
            along = dot(n, sub(speed_of(vb, wb, arm_b), speed_of(va, wa, arm_a)))
            after = greater(before - load(out, g + at + NORMAL_MASS) * (along + bounce * approach), 0.0)
            # Newton's law, but no more than Poisson's: with friction, or several points, the first may make energy.
            after = least(after, before + bounce * load(out, g + at + SUM))
            after = pick(bounce, 0.0, pick(largest, 0.0, pick(-approach, threshold, after, before), before), before)
            store(out, g + at + IMPULSE, after)
            store(out, g + at + LARGEST, greater(largest, after))
            store(out, g + at + SUM, load(out, g + at + SUM) + (after - before))
            va, wa, vb, wb = pushed(va, wa, vb, wb, arm_a, arm_b, ma, mb, ia, ib, scale(n, after - before))
        put_motions(reals, a, va, wa, ma, touched_a)
        put_motions(reals, b, vb, wb, mb, touched_b)
