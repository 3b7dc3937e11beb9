"""Bodies in the solver: inertias that turn with them, acceleration, motion."""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.dynamics.integrators import free_turn, store9
from thud.dynamics.rotation import exp_rotation, straightened
from thud.dynamics.solver_types import INVERSE_MASS, LOCKS, TOUCHED, WORLD_INVERSE, V, W, X
from thud.dynamics.tolerances import SMALL_ANGLE, TURN_ANGLE, TURN_PARTS
from thud.math.pose import compose_rotation, load_rotation, rotate, unrotate
from thud.math.vec3 import add_scaled, load3, norm2, put3, scale


@device
def load_inverse(reals, k):
    """Inverse inertia of a body, world frame."""
    c = WORLD_INVERSE
    xx, xy, xz, yy, yz, zz = reals[k, c], reals[k, c + 1], reals[k, c + 2], reals[k, c + 3], reals[k, c + 4], reals[k, c + 5]
    return xx, xy, xz, xy, yy, yz, xz, yz, zz


@device
def turn_inertia(bodies, k):
    """Inverse inertia in the world's frame, by similarity transform."""
    a, inverse = load_rotation(bodies.rotation, k), load_rotation(bodies.inverse_inertia, k)
    reals, c = bodies.reals, WORLD_INVERSE
    # Columns of A I^-1 A^T: what unit vectors become.
    x = rotate(a, rotate(inverse, unrotate(a, (1.0, 0.0, 0.0))))
    y = rotate(a, rotate(inverse, unrotate(a, (0.0, 1.0, 0.0))))
    z = rotate(a, rotate(inverse, unrotate(a, (0.0, 0.0, 1.0))))
    reals[k, c], reals[k, c + 1], reals[k, c + 2] = x
    reals[k, c + 3], reals[k, c + 4], reals[k, c + 5] = y[1], y[2], z[2]
    if reals[k, LOCKS] > 0.0:
        # About locked axes nothing turns it.
        bits = int(reals[k, LOCKS]) >> 3
        if bits & 1:
            reals[k, c] = reals[k, c + 1] = reals[k, c + 2] = 0.0
        if bits & 2:
            reals[k, c + 1] = reals[k, c + 3] = reals[k, c + 4] = 0.0
        if bits & 4:
            reals[k, c + 2] = reals[k, c + 4] = reals[k, c + 5] = 0.0


@kernel(inner="solver_bodies, i8, i8")
def begin_bodies(bodies, start, stop):
    """Inverse inertias in the world's frame, of bodies [start, stop)."""
    for k in range(start, stop):
        bodies.reals[k, TOUCHED] = 0.0
        store9(bodies.turn, k, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
        if bodies.reals[k, INVERSE_MASS] > 0.0:
            turn_inertia(bodies, k)
        else:
            for c in range(6):
                bodies.reals[k, WORLD_INVERSE + c] = 0.0


@kernel(inner="solver_bodies, i8, i8, f8")
def accelerate(bodies, start, stop, h):
    """Gravity, forces and damping over h."""
    reals = bodies.reals
    for k in range(start, stop):
        if reals[k, INVERSE_MASS] > 0.0:
            v = add_scaled(load3(reals, k, V), load3(bodies.acceleration, k, 0), h)
            w = add_scaled(load3(reals, k, W), rotate(load_inverse(reals, k), load3(bodies.acceleration, k, 3)), h)
            # Implicit: no damping, however strong, turns a velocity round.
            put3(reals, k, V, scale(v, 1.0 / (1.0 + h * bodies.damping[k, 0])))
            put3(reals, k, W, scale(w, 1.0 / (1.0 + h * bodies.damping[k, 1])))


@device
def stop_locked(reals, k):
    """No velocity along locked axes, nor about them: what other constraints left. Returns the bits of the locked turns."""
    bits = int(reals[k, LOCKS])
    for axis in range(6):
        if (bits >> axis) & 1:
            reals[k, V + axis] = 0.0
    return bits >> 3


@kernel(inner="solver_bodies, i8, i8, f8")
def move(bodies, start, stop, h):
    """Positions and rotations over h. Angular momentum is kept, and with it the angular velocity changes."""
    reals = bodies.reals
    for k in range(start, stop):
        locked = stop_locked(reals, k) if reals[k, LOCKS] > 0.0 else 0
        w = load3(reals, k, W)
        if norm2(w) == 0.0 and norm2(load3(reals, k, V)) == 0.0:
            continue
        x = add_scaled(load3(reals, k, X), load3(reals, k, V), h)
        if reals[k, TOUCHED] == 0.0:
            # Free flight is a parabola: by the mean of the velocities before and after.
            x = add_scaled(x, load3(bodies.acceleration, k, 0), -0.5 * h * h)
        put3(reals, k, X, x)
        if norm2(w) == 0.0:
            continue
        a, free = load_rotation(bodies.rotation, k), reals[k, INVERSE_MASS] > 0.0 and not locked
        momentum = rotate(a, rotate(load_rotation(bodies.inertia, k), unrotate(a, w))) if free else w
        if free and norm2(w) * h * h > SMALL_ANGLE * SMALL_ANGLE:
            parts = 1 + int(min(math.sqrt(norm2(w)) * h / TURN_ANGLE, TURN_PARTS))
            after = a
            for _ in range(parts):
                after = free_turn(after, momentum, load_rotation(bodies.axes, k), load3(bodies.moments, k, 0), h / parts)
            by = turned(after, a)
        else:
            # Driven, or bound to some axes, it turns as it is told. Slow, it turns about one axis for the while.
            by = exp_rotation(scale(w, h))
            after = compose_rotation(by, a)
        store9(bodies.turn, k, compose_rotation(by, load_rotation(bodies.turn, k)))
        store9(bodies.rotation, k, after)
        if reals[k, INVERSE_MASS] > 0.0:
            turn_inertia(bodies, k)
            if free:
                put3(reals, k, W, rotate(load_inverse(reals, k), momentum))


@device
def turned(after, before):
    """A' A^T: the turn from one rotation to another, world frame."""
    b = before
    return compose_rotation(after, (b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]))


@kernel(inner="solver_bodies, i8, i8")
def end_bodies(bodies, start, stop):
    """Rotations are rotations again."""
    for k in range(start, stop):
        if bodies.reals[k, LOCKS] > 0.0:
            stop_locked(bodies.reals, k)
        store9(bodies.rotation, k, straightened(load_rotation(bodies.rotation, k)))
