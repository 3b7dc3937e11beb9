"""Contacts of rigid bodies, solved by sub-steps of soft constraints (Catto, Solver2D, 2024, as in Box2D v3).

A step finds contacts once and divides its time into sub-steps of h seconds. Each sub-step

1. accelerates the bodies by gravity and forces,
2. applies the impulses of the last one again (warm start),
3. solves every point once, a penetration being pushed out like a stiff, heavily damped spring that bears its usual load unbent,
4. moves the bodies,
5. solves every point once more without the push, so that it leaves no velocity behind (relaxing).

After the last one restitution is applied. Points that are apart (within the margin) stop bodies where they would meet: the
separation over h is how fast they may approach.

Friction is Coulomb's with a round cone: the tangential impulse of a point is a vector in its plane, changed against the sliding
velocity and cut to friction times the normal impulse without the push. What this comes to is Coulomb's law itself: on the cone
the impulse is opposite to the velocity. (With the 2 x 2 effective mass of the point it is not: the impulses of a sliding box
pull its corners apart, and a twentieth of the friction is lost.) Normal and tangents stay those of the begin of the step;
separations follow the bodies.

Turns free of torque are split about the principal axes (`integrators.free_turn`), so that spinning bodies keep energy and
momentum.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.dynamics.integrators import free_turn, store9
from thud.dynamics.rotation import exp_rotation, nearest_rotation
from thud.dynamics.solver_types import (
    APPROACH,
    ARM_A,
    ARM_B,
    BIAS_RATE,
    FRICTION,
    IMPULSE,
    IMPULSE_1,
    IMPULSE_2,
    IMPULSE_SCALE,
    INVERSE_MASS,
    LARGEST,
    LOCAL_A,
    LOCAL_B,
    MASS_SCALE,
    NORMAL,
    NORMAL_MASS,
    RESTITUTION,
    SEPARATION,
    TANGENT_1,
    TANGENT_2,
    TANGENT_MASS,
    USUAL,
    WORLD_INVERSE,
    V,
    W,
    X,
)
from thud.math.pose import compose_rotation, load_rotation, rotate, unrotate
from thud.math.vec3 import add, add_scaled, cross, dot, load3, norm2, scale, sub


@device
def put3(rows, k, column, x):
    """Write a vector."""
    rows[k, column], rows[k, column + 1], rows[k, column + 2] = x


@device
def load_inverse(reals, k):
    """Inverse inertia of a body, world frame."""
    return (
        reals[k, 10], reals[k, 11], reals[k, 12], reals[k, 13], reals[k, 14], reals[k, 15], reals[k, 16], reals[k, 17],
        reals[k, 18],
    )  # fmt: skip


@device
def turn_inertia(bodies, k):
    """Inverse inertia in the world's frame, by similarity transform."""
    a, inverse = load_rotation(bodies.rotation, k), load_rotation(bodies.inverse_inertia, k)
    for axis in range(3):
        # Column `axis` of A I^-1 A^T: what a unit vector along it becomes.
        e = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        column = rotate(a, rotate(inverse, unrotate(a, e)))
        bodies.reals[k, WORLD_INVERSE + axis] = column[0]
        bodies.reals[k, WORLD_INVERSE + 3 + axis] = column[1]
        bodies.reals[k, WORLD_INVERSE + 6 + axis] = column[2]


@device
def tangents_of(n):
    """Two unit vectors that stand on n and each other (Duff et al., Building an orthonormal basis, revisited, 2017)."""
    s = math.copysign(1.0, n[2])
    a = -1.0 / (s + n[2])
    b = n[0] * n[1] * a
    return (1.0 + s * n[0] * n[0] * a, s * b, -s * n[0]), (b, s + n[1] * n[1] * a, -n[1])


@device
def response(inverse_a, inverse_b, mass, arm_a, arm_b, d, e):
    """Change of the relative velocity along d that a unit impulse along e makes."""
    ra, rb = cross(arm_a, d), cross(arm_b, d)
    return mass * dot(d, e) + dot(ra, rotate(inverse_a, cross(arm_a, e))) + dot(rb, rotate(inverse_b, cross(arm_b, e)))


@device
def relative_velocity(reals, a, b, arm_a, arm_b):
    """Of B's point to A's."""
    va = add(load3(reals, a, V), cross(load3(reals, a, W), arm_a))
    vb = add(load3(reals, b, V), cross(load3(reals, b, W), arm_b))
    return sub(vb, va)


@device
def push_bodies(reals, a, b, arm_a, arm_b, p):
    """Apply impulse p to B and -p to A at their arms."""
    if reals[a, INVERSE_MASS] > 0.0:
        put3(reals, a, V, add_scaled(load3(reals, a, V), p, -reals[a, INVERSE_MASS]))
        put3(reals, a, W, sub(load3(reals, a, W), rotate(load_inverse(reals, a), cross(arm_a, p))))
    if reals[b, INVERSE_MASS] > 0.0:
        put3(reals, b, V, add_scaled(load3(reals, b, V), p, reals[b, INVERSE_MASS]))
        put3(reals, b, W, add(load3(reals, b, W), rotate(load_inverse(reals, b), cross(arm_b, p))))


@kernel(inner="solver_bodies")
def begin_bodies(bodies):
    """Inverse inertias in the world's frame."""
    for k in range(bodies.reals.shape[0]):
        bodies.touched[k] = 0
        if bodies.reals[k, INVERSE_MASS] > 0.0:
            turn_inertia(bodies, k)
        else:
            for c in range(9):
                bodies.reals[k, WORLD_INVERSE + c] = 0.0


@kernel(inner="solver_bodies, contact_points, f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1]")
def begin_contacts(bodies, points, where, normal, depth, former, soft):
    """Arms, effective masses, approach speeds. `former`: (M, 5) normal impulse, friction impulse (world frame) and usual normal
    impulse of the same point in the last step. `soft`: (2, 3) bias rate, mass scale and impulse scale of contacts between
    moving bodies, and of those with one that does not respond."""
    reals = bodies.reals
    for k in range(points.rows.shape[0]):
        a, b = points.rows[k, 0], points.rows[k, 1]
        n, p = load3(normal, k, 0), load3(where, k, 0)
        t1, t2 = tangents_of(n)
        arm_a, arm_b = sub(p, load3(reals, a, X)), sub(p, load3(reals, b, X))
        inverse_a, inverse_b = load_inverse(reals, a), load_inverse(reals, b)
        mass = reals[a, INVERSE_MASS] + reals[b, INVERSE_MASS]
        out = points.reals
        put3(out, k, NORMAL, n)
        put3(out, k, TANGENT_1, t1)
        put3(out, k, TANGENT_2, t2)
        put3(out, k, ARM_A, arm_a)
        put3(out, k, ARM_B, arm_b)
        put3(out, k, LOCAL_A, unrotate(load_rotation(bodies.rotation, a), arm_a))
        put3(out, k, LOCAL_B, unrotate(load_rotation(bodies.rotation, b), arm_b))
        # Both arms end midway: what they measure is the change of the separation.
        between = sub(load3(reals, b, X), load3(reals, a, X))
        out[k, SEPARATION] = -depth[k] - dot(n, add(between, sub(arm_b, arm_a)))
        along = response(inverse_a, inverse_b, mass, arm_a, arm_b, n, n)
        out[k, NORMAL_MASS] = 1.0 / along if along > 0.0 else 0.0
        k11 = response(inverse_a, inverse_b, mass, arm_a, arm_b, t1, t1)
        k12 = response(inverse_a, inverse_b, mass, arm_a, arm_b, t1, t2)
        k22 = response(inverse_a, inverse_b, mass, arm_a, arm_b, t2, t2)
        # The larger principal value: whichever way they rub, no more than what stops them.
        across = 0.5 * (k11 + k22) + math.sqrt(0.25 * (k11 - k22) * (k11 - k22) + k12 * k12)
        out[k, TANGENT_MASS] = 1.0 / across if across > 0.0 else 0.0
        out[k, APPROACH] = dot(n, relative_velocity(reals, a, b, arm_a, arm_b))
        rub = load3(former, k, 1)
        out[k, IMPULSE], out[k, IMPULSE_1], out[k, IMPULSE_2] = former[k, 0], dot(rub, t1), dot(rub, t2)
        out[k, LARGEST], out[k, USUAL] = 0.0, former[k, 4]
        row = 0 if reals[a, INVERSE_MASS] > 0.0 and reals[b, INVERSE_MASS] > 0.0 else 1
        out[k, BIAS_RATE], out[k, MASS_SCALE], out[k, IMPULSE_SCALE] = soft[row, 0], soft[row, 1], soft[row, 2]


@device
def load_point(reals, k):
    """(normal, tangents, arms) of a point."""
    return (
        load3(reals, k, NORMAL), load3(reals, k, TANGENT_1), load3(reals, k, TANGENT_2), load3(reals, k, ARM_A),
        load3(reals, k, ARM_B),
    )  # fmt: skip


@device
def meet(bodies, out, k, a, b):
    """How far apart the two are by now, and their arms: both act at one place, midway, so that angular momentum is kept."""
    reals = bodies.reals
    xa, xb = load3(reals, a, X), load3(reals, b, X)
    pa = add(xa, rotate(load_rotation(bodies.rotation, a), load3(out, k, LOCAL_A)))
    pb = add(xb, rotate(load_rotation(bodies.rotation, b), load3(out, k, LOCAL_B)))
    middle = scale(add(pa, pb), 0.5)
    arm_a, arm_b = sub(middle, xa), sub(middle, xb)
    put3(out, k, ARM_A, arm_a)
    put3(out, k, ARM_B, arm_b)
    return out[k, SEPARATION] + dot(load3(out, k, NORMAL), sub(pb, pa)), arm_a, arm_b


@kernel(inner="solver_bodies, contact_points")
def warm_start(bodies, points):
    """Impulses of the last sub-step again."""
    out = points.reals
    for k in range(points.rows.shape[0]):
        a, b = points.rows[k, 0], points.rows[k, 1]
        meet(bodies, out, k, a, b)
        n, t1, t2, arm_a, arm_b = load_point(out, k)
        p = add_scaled(add_scaled(scale(n, out[k, IMPULSE]), t1, out[k, IMPULSE_1]), t2, out[k, IMPULSE_2])
        push_bodies(bodies.reals, a, b, arm_a, arm_b, p)


@device
def rub(reals, out, k, a, b):
    """Friction of a point: stop it along the tangents, as far as the cone of its normal impulse allows."""
    _n, t1, t2, arm_a, arm_b = load_point(out, k)
    speed = relative_velocity(reals, a, b, arm_a, arm_b)
    s1, s2 = dot(t1, speed), dot(t2, speed)
    j1, j2 = out[k, IMPULSE_1] - out[k, TANGENT_MASS] * s1, out[k, IMPULSE_2] - out[k, TANGENT_MASS] * s2
    most, length = out[k, FRICTION] * out[k, IMPULSE], math.sqrt(j1 * j1 + j2 * j2)
    if length > most:
        j1, j2 = j1 * most / length, j2 * most / length
    p = add_scaled(scale(t1, j1 - out[k, IMPULSE_1]), t2, j2 - out[k, IMPULSE_2])
    out[k, IMPULSE_1], out[k, IMPULSE_2] = j1, j2
    push_bodies(reals, a, b, arm_a, arm_b, p)


@kernel(inner="solver_bodies, contact_points, f8, f8, f8, i8")
def solve_contacts(bodies, points, h, fastest, slop, biased):
    """One pass over all points, in order. `biased`: push penetrations beyond `slop` out, no faster than `fastest` m/s."""
    reals, out = bodies.reals, points.reals
    for k in range(points.rows.shape[0]):
        a, b = points.rows[k, 0], points.rows[k, 1]
        n = load3(out, k, NORMAL)
        gap, arm_a, arm_b = meet(bodies, out, k, a, b)
        bias, mass_scale, impulse_scale = 0.0, 1.0, 0.0
        if gap > 0.0:
            bias = gap / h
        elif biased:
            bias = max(out[k, BIAS_RATE] * (gap + slop), -fastest)
            mass_scale, impulse_scale = out[k, MASS_SCALE], out[k, IMPULSE_SCALE]
        # In both passes friction has the cone of a normal impulse that was found without the push: that of the last sub-step,
        # then that of this one.
        if biased:
            rub(reals, out, k, a, b)
        before = out[k, IMPULSE]
        along = dot(n, relative_velocity(reals, a, b, arm_a, arm_b))
        change = -out[k, NORMAL_MASS] * mass_scale * (along + bias) - impulse_scale * (before - out[k, USUAL])
        after = max(before + change, 0.0)
        if out[k, LARGEST] == 0.0 and before == 0.0 and after > 0.0:
            # They meet: before all of this sub-step's acceleration has acted, or with a part of the next one's.
            pull = dot(n, sub(load3(bodies.acceleration, b, 0), load3(bodies.acceleration, a, 0)))
            part = min(max(-gap / (along * h), 0.0), 1.0)
            out[k, APPROACH] = along + (part - 1.0 if biased else part) * h * pull
        if after > 0.0:
            bodies.touched[a] = bodies.touched[b] = 1
        out[k, IMPULSE], out[k, LARGEST] = after, max(out[k, LARGEST], after)
        push_bodies(reals, a, b, arm_a, arm_b, scale(n, after - before))
        if not biased:
            rub(reals, out, k, a, b)


@kernel(inner="solver_bodies, contact_points, f8")
def restitute(bodies, points, threshold):
    """Points that met faster than `threshold` m/s and were pressed leave at restitution times that speed."""
    reals, out = bodies.reals, points.reals
    for k in range(points.rows.shape[0]):
        if out[k, RESTITUTION] == 0.0 or out[k, APPROACH] > -threshold or out[k, LARGEST] == 0.0:
            continue
        a, b = points.rows[k, 0], points.rows[k, 1]
        n, arm_a, arm_b = load3(out, k, NORMAL), load3(out, k, ARM_A), load3(out, k, ARM_B)
        speed = dot(n, relative_velocity(reals, a, b, arm_a, arm_b))
        before = out[k, IMPULSE]
        after = max(before - out[k, NORMAL_MASS] * (speed + out[k, RESTITUTION] * out[k, APPROACH]), 0.0)
        out[k, IMPULSE], out[k, LARGEST] = after, max(out[k, LARGEST], after)
        push_bodies(reals, a, b, arm_a, arm_b, scale(n, after - before))


@kernel(inner="solver_bodies, f8")
def accelerate(bodies, h):
    """Gravity, forces and damping over h."""
    reals = bodies.reals
    for k in range(reals.shape[0]):
        if reals[k, INVERSE_MASS] > 0.0:
            v = add_scaled(load3(reals, k, V), load3(bodies.acceleration, k, 0), h)
            w = add_scaled(load3(reals, k, W), rotate(load_inverse(reals, k), load3(bodies.acceleration, k, 3)), h)
            # Implicit: no damping, however strong, turns a velocity round.
            put3(reals, k, V, scale(v, 1.0 / (1.0 + h * bodies.damping[k, 0])))
            put3(reals, k, W, scale(w, 1.0 / (1.0 + h * bodies.damping[k, 1])))


@kernel(inner="solver_bodies, f8")
def move(bodies, h):
    """Positions and rotations over h. Angular momentum is kept, and with it the angular velocity changes."""
    reals = bodies.reals
    for k in range(reals.shape[0]):
        w = load3(reals, k, W)
        if norm2(w) == 0.0 and norm2(load3(reals, k, V)) == 0.0:
            continue
        x = add_scaled(load3(reals, k, X), load3(reals, k, V), h)
        if not bodies.touched[k]:
            # Free flight is a parabola: by the mean of the velocities before and after.
            x = add_scaled(x, load3(bodies.acceleration, k, 0), -0.5 * h * h)
        put3(reals, k, X, x)
        if norm2(w) == 0.0:
            continue
        a = load_rotation(bodies.rotation, k)
        if reals[k, INVERSE_MASS] > 0.0:
            momentum = rotate(a, rotate(load_rotation(bodies.inertia, k), unrotate(a, w)))
            a = free_turn(a, momentum, load_rotation(bodies.axes, k), load3(bodies.moments, k, 0), h)
            store9(bodies.rotation, k, a)
            turn_inertia(bodies, k)
            put3(reals, k, W, rotate(load_inverse(reals, k), momentum))
        else:
            # Driven: it turns as it is told.
            store9(bodies.rotation, k, compose_rotation(exp_rotation(scale(w, h)), a))


@kernel("solver_bodies, contact_points, f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], f8, i8, f8, f8, f8")
def solve_step(bodies, points, where, normal, depth, former, soft, dt, substeps, fastest, slop, threshold):
    """A whole step, in place: bodies, and the impulses of the points."""
    h = dt / np.float64(substeps)
    begin_bodies(bodies)
    begin_contacts(bodies, points, where, normal, depth, former, soft)
    for _ in range(substeps):
        accelerate(bodies, h)
        warm_start(bodies, points)
        solve_contacts(bodies, points, h, fastest, slop, np.int64(1))
        move(bodies, h)
        solve_contacts(bodies, points, h, fastest, slop, np.int64(0))
    restitute(bodies, points, threshold)
    for k in range(bodies.rotation.shape[0]):
        store9(bodies.rotation, k, nearest_rotation(load_rotation(bodies.rotation, k)))
