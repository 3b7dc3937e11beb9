"""Contacts make no energy: a bound on what a step may leave in bodies that touch each other.

Contacts are found at the begin of a step and hold for small turns. At hundreds of metres a second a body may turn by radians
in a sub-step; a contact then pushes where nothing is, and such steps have made energy out of nothing, more with each one. So
bodies that contacts join are taken together: their kinetic energy after the step must not exceed that before it and what
gravity and forces can have added. Where it does by much, their velocities are taken back to it: about their common centre of
mass, or, with something fixed among them, all alike.

What is driven, has a surface that moves, or is held by joints, whose motors and springs may add energy, is left alone.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.dynamics.islands import join, root_of
from thud.dynamics.solver_types import INVERSE_MASS, TOUCHED, V, W
from thud.dynamics.tolerances import ENERGY_GAIN, ENERGY_SPEED
from thud.math.pose import load_rotation, rotate, unrotate
from thud.math.vec3 import add, cross, dot, load3, norm2, scale

#: Columns of sums of joined bodies: energy allowed and there, that of slow motion, mass, momentum, whether something fixed is
#: among them, whether they are left alone.
ALLOWED, FOUND, SLOW, MASS, MOMENTUM, FIXED, ALONE = 0, 1, 2, 3, 4, 7, 8
SUMS = 9

#: Square of a turn in a step (radians) from which on free flight is looked at, too: it then is no longer exact.
FAST_TURN = 1.0


@device
def turning_energy(r, inertia, k, w):
    """Of a body that turns by w, world frame; r turns its frame to the world's."""
    u = unrotate(r, w)
    x = inertia[k, 0] * u[0] + inertia[k, 1] * u[1] + inertia[k, 2] * u[2]
    y = inertia[k, 3] * u[0] + inertia[k, 4] * u[1] + inertia[k, 5] * u[2]
    z = inertia[k, 6] * u[0] + inertia[k, 7] * u[1] + inertia[k, 8] * u[2]
    return 0.5 * (u[0] * x + u[1] * y + u[2] * z)


@device
def energies(k, poses, velocity, angular_velocity, center, solver, dt):
    """(allowed, found, of slow motion) of a free body, joules."""
    m = 1.0 / solver.reals[k, INVERSE_MASS]
    r, w = load_rotation(poses, k), load3(angular_velocity, k, 0)
    arm = load3(center, k, 0)
    arm = rotate(r, arm if not math.isnan(arm[0]) else (0.0, 0.0, 0.0))
    v = add(load3(velocity, k, 0), cross(w, arm))
    least = min(solver.moments[k, 0], min(solver.moments[k, 1], solver.moments[k, 2]))
    # Speed grows by no more than the acceleration allows, angular momentum by no more than the torque does.
    going = math.sqrt(0.5 * m * norm2(v)) + math.sqrt(0.5 * m * norm2(load3(solver.acceleration, k, 0))) * dt
    turning = math.sqrt(max(turning_energy(r, solver.inertia, k, w), 0.0))
    turning += math.sqrt(0.5 * norm2(load3(solver.acceleration, k, 3)) / least) * dt
    after, spin = load3(solver.reals, k, V), load3(solver.reals, k, W)
    found = 0.5 * m * norm2(after) + turning_energy(load_rotation(solver.rotation, k), solver.inertia, k, spin)
    return going * going + turning * turning, found, 0.5 * m * ENERGY_SPEED * ENERGY_SPEED


@device
def too_much(allowed, found, slow):
    """Whether there is more energy than the noise of a step explains; also if it is no number any more."""
    return not found <= ENERGY_GAIN * allowed + slow


@device
def free_body(solver, k):
    """Whether contacts move it."""
    return solver.reals[k, INVERSE_MASS] > 0.0


@kernel(
    inner="f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], i8, f8[:,::1], i8[:,::1], i8, solver_bodies, f8, i8[::1],"
    " f8[:,::1]"
)
def bound_energies(
    poses, velocity, angular_velocity, center, rows, patches, reals, ends, joints, solver, dt, root, sums
):  # fmt: skip
    """Take velocities of `solver`, after a step of dt seconds, back to the energy of those in the table, before it. rows and
    reals: the first `patches` of contact; ends: those of the first `joints`. root: (N,), sums: (N, SUMS) work space."""
    count = root.shape[0]
    calm = True
    for k in range(count):
        if free_body(solver, k) and (solver.reals[k, TOUCHED] > 0.0 or norm2(load3(solver.reals, k, W)) * dt * dt > FAST_TURN):
            allowed, found, slow = energies(k, poses, velocity, angular_velocity, center, solver, dt)
            calm = calm and not too_much(allowed, found, slow)
    if calm:
        return
    for k in range(count):
        root[k] = k
        for c in range(SUMS):
            sums[k, c] = 0.0
    for p in range(patches):
        a, b = rows[p, 0], rows[p, 1]
        free_a, free_b = a < count and free_body(solver, a), b < count and free_body(solver, b)
        if free_a and free_b:
            join(root, a, b)
    for p in range(patches):
        a, b = rows[p, 0], rows[p, 1]
        free_a, free_b = a < count and free_body(solver, a), b < count and free_body(solver, b)
        if free_a or free_b:
            own, other = (a, b) if free_a else (b, a)
            top = root_of(root, own)
            if reals[p, 4] != 0.0 or reals[p, 5] != 0.0 or reals[p, 6] != 0.0:
                sums[top, ALONE] = 1.0
            if not (free_a and free_b):
                sums[top, FIXED] = 1.0
                if norm2(load3(solver.reals, other, V)) + norm2(load3(solver.reals, other, W)) > 0.0:
                    sums[top, ALONE] = 1.0
    for j in range(joints):
        for side in range(2):
            k = ends[j, side]
            if k < count and free_body(solver, k):
                sums[root_of(root, k), ALONE] = 1.0
    for k in range(count):
        if free_body(solver, k):
            top, m = root_of(root, k), 1.0 / solver.reals[k, INVERSE_MASS]
            allowed, found, slow = energies(k, poses, velocity, angular_velocity, center, solver, dt)
            sums[top, ALLOWED] += allowed
            sums[top, FOUND] += found
            sums[top, SLOW] += slow
            sums[top, MASS] += m
            for c in range(3):
                sums[top, MOMENTUM + c] += m * solver.reals[k, V + c]
    for k in range(count):
        if not free_body(solver, k):
            continue
        top = root_of(root, k)
        allowed, found = sums[top, ALLOWED], sums[top, FOUND]
        if sums[top, ALONE] != 0.0 or not too_much(allowed, found, sums[top, SLOW]):
            continue
        mean = (0.0, 0.0, 0.0)
        if sums[top, FIXED] == 0.0:
            mean = scale(load3(sums, top, MOMENTUM), 1.0 / sums[top, MASS])
            together = 0.5 * sums[top, MASS] * dot(mean, mean)
            allowed, found = max(allowed - together, 0.0), found - together
        part = math.sqrt(allowed / found) if found > allowed else (1.0 if found <= allowed else 0.0)
        for c in range(3):
            solver.reals[k, V + c] = mean[c] + part * (solver.reals[k, V + c] - mean[c])
            solver.reals[k, W + c] *= part


@kernel("f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], contact_list, i8[:,::1], solver_bodies, f8, i8[::1], f8[:,::1]")
def bound_energy(poses, velocity, angular_velocity, center, patches, ends, solver, dt, root, sums):
    """`bound_energies` of one world."""
    bound_energies(
        poses, velocity, angular_velocity, center, patches.rows, patches.rows.shape[0], patches.reals, ends, ends.shape[0],
        solver, dt, root, sums,
    )  # fmt: skip
