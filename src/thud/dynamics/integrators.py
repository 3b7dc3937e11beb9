"""One time step of free rigid bodies, in the slides' way and in better ones.

State: r, v, A, L. Force F and torque tau are given in the world's frame, about the centre of mass, and are constant over the
step. Auxiliary: I^-1 = A Ibody^-1 A^T (similarity transform), omega = I^-1 L.

- `slides_step`: explicit Euler as the slides give it, and A made a rotation again.
- `semi_implicit_step`: velocity and momentum first, then position and rotation with the new ones. A turn free of torque is
  split into turns about the principal axes, each of which is solved exactly (Dullweber, Leimkuhler and McLachlan, J. Chem.
  Phys. 107, 1997): symplectic as the step of r and v is, so that energy stays within a bound and angular momentum is kept to
  roundoff. With the angular velocity of the beginning or the end of the step, energy runs away as in the slides' step.
- `rk4_step`: classical Runge-Kutta on r, v, A, L.
- `implicit_gyroscopic_step`: the equation I domega/dt = tau - omega x I omega, implicit in the body's frame (Catto, Numerical
  methods, GDC 2015), by Newton's method. It never gains energy; it does not keep angular momentum.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.dynamics.integrator_names import IMPLICIT_GYROSCOPIC, RK4, SEMI_IMPLICIT, SLIDES
from thud.dynamics.rotation import add_matrix, exp_rotation, inverse_transpose, nearest_rotation, skew_times
from thud.dynamics.tolerances import GYRO_CHANGE, GYRO_STEPS
from thud.math.pose import compose_rotation, load_rotation, rotate, transpose, unrotate
from thud.math.vec3 import add, add_scaled, cross, dot, load3, norm2, scale, sub


@device
def store3(rows, k, x):
    """Write a vector."""
    rows[k, 0], rows[k, 1], rows[k, 2] = x


@device
def store9(rows, k, x):
    """Write a matrix."""
    for c in range(9):
        rows[k, c] = x[c]


@device
def angular_velocity(a, inverse_inertia, momentum):
    """omega = A Ibody^-1 A^T L."""
    return rotate(a, rotate(inverse_inertia, unrotate(a, momentum)))


@device
def slides_step(r, v, a, momentum, mass, inverse_inertia, force, torque, h):
    """r' = r + h v; v' = v + h F / M; A' = A + h omega~ A, made a rotation; L' = L + h tau."""
    omega = angular_velocity(a, inverse_inertia, momentum)
    turned = nearest_rotation(add_matrix(a, skew_times(omega, a), h))
    return add_scaled(r, v, h), add_scaled(v, force, h / mass), turned, add_scaled(momentum, torque, h)


@device
def turn_x(b, p, angle):
    """B turned about its own x axis, and a vector that stays where it is as the turned frame sees it."""
    s, c = math.sin(angle), math.cos(angle)
    b = (
        b[0], c * b[1] + s * b[2], c * b[2] - s * b[1], b[3], c * b[4] + s * b[5], c * b[5] - s * b[4],
        b[6], c * b[7] + s * b[8], c * b[8] - s * b[7],
    )  # fmt: skip
    return b, (p[0], c * p[1] + s * p[2], c * p[2] - s * p[1])


@device
def turn_y(b, p, angle):
    """Likewise about y."""
    s, c = math.sin(angle), math.cos(angle)
    b = (
        c * b[0] - s * b[2], b[1], c * b[2] + s * b[0], c * b[3] - s * b[5], b[4], c * b[5] + s * b[3],
        c * b[6] - s * b[8], b[7], c * b[8] + s * b[6],
    )  # fmt: skip
    return b, (c * p[0] - s * p[2], p[1], c * p[2] + s * p[0])


@device
def turn_z(b, p, angle):
    """Likewise about z."""
    s, c = math.sin(angle), math.cos(angle)
    b = (
        c * b[0] + s * b[1], c * b[1] - s * b[0], b[2], c * b[3] + s * b[4], c * b[4] - s * b[3], b[5],
        c * b[6] + s * b[7], c * b[7] - s * b[6], b[8],
    )  # fmt: skip
    return b, (c * p[0] + s * p[1], c * p[1] - s * p[0], p[2])


@device
def free_turn(a, momentum, axes, moments, h):
    """A after h seconds free of torque: turns about the principal axes x, y, z, y, x, by halves but for z. Of second order."""
    b = compose_rotation(a, axes)
    p = unrotate(b, momentum)
    b, p = turn_x(b, p, 0.5 * h * p[0] / moments[0])
    b, p = turn_y(b, p, 0.5 * h * p[1] / moments[1])
    b, p = turn_z(b, p, h * p[2] / moments[2])
    b, p = turn_y(b, p, 0.5 * h * p[1] / moments[1])
    b, p = turn_x(b, p, 0.5 * h * p[0] / moments[0])
    return compose_rotation(b, transpose(axes))


@device
def semi_implicit_step(r, v, a, momentum, mass, axes, moments, force, torque, h):
    """v' and L' first; r' = r + h v'; A turns free of torque with L'."""
    v, momentum = add_scaled(v, force, h / mass), add_scaled(momentum, torque, h)
    return add_scaled(r, v, h), v, free_turn(a, momentum, axes, moments, h), momentum


@device
def rk4_step(r, v, a, momentum, mass, inverse_inertia, force, torque, h):
    """Four slopes of A at L + c h tau; r and v under a constant force are exact."""
    half, end = add_scaled(momentum, torque, 0.5 * h), add_scaled(momentum, torque, h)
    k1 = skew_times(angular_velocity(a, inverse_inertia, momentum), a)
    b = add_matrix(a, k1, 0.5 * h)
    k2 = skew_times(angular_velocity(b, inverse_inertia, half), b)
    b = add_matrix(a, k2, 0.5 * h)
    k3 = skew_times(angular_velocity(b, inverse_inertia, half), b)
    b = add_matrix(a, k3, h)
    k4 = skew_times(angular_velocity(b, inverse_inertia, end), b)
    a = add_matrix(add_matrix(add_matrix(add_matrix(a, k1, h / 6.0), k2, h / 3.0), k3, h / 3.0), k4, h / 6.0)
    moved = add_scaled(add_scaled(r, v, h), force, 0.5 * h * h / mass)
    return moved, add_scaled(v, force, h / mass), nearest_rotation(a), end


@device
def solve3(m, b):
    """x of M x = b."""
    t = inverse_transpose(m)
    return unrotate(t, b)


@device
def implicit_gyroscopic_step(r, v, a, momentum, mass, inertia, inverse_inertia, force, torque, h):
    """I (omega' - omega) + h omega' x I omega' = h tau in the body's frame; then as `semi_implicit_step`."""
    start = rotate(inverse_inertia, unrotate(a, momentum))
    push = scale(unrotate(a, torque), h)
    w = start
    for _ in range(GYRO_STEPS):
        spin = rotate(inertia, w)
        f = sub(add_scaled(rotate(inertia, sub(w, start)), cross(w, spin), h), push)
        # Jacobian: I + h (w~ I - (I w)~).
        jacobian = add_matrix(inertia, skew_times(w, inertia), h)
        x, y, z = scale(spin, h)
        jacobian = add_matrix(jacobian, (0.0, -z, y, z, 0.0, -x, -y, x, 0.0), -1.0)
        change = solve3(jacobian, f)
        w = sub(w, change)
        if norm2(change) <= GYRO_CHANGE * GYRO_CHANGE * norm2(w):
            break
    v = add_scaled(v, force, h / mass)
    turned = compose_rotation(a, exp_rotation(scale(w, h)))
    return add_scaled(r, v, h), v, turned, rotate(turned, rotate(inertia, w))


@kernel("i8, i8, rigid_state, f8[:,::1], f8[:,::1], f8, i8, i8")
def integrate_rows(start, stop, state, forces, torques, h, steps, integrator):
    """So many steps of the bodies [start, stop), in place."""
    for k in range(start, stop):
        r, v, a, momentum = load3(state.r, k, 0), load3(state.v, k, 0), load_rotation(state.A, k), load3(state.L, k, 0)
        mass, inertia, inverse = state.mass[k], load_rotation(state.inertia, k), load_rotation(state.inverse_inertia, k)
        axes, moments = load_rotation(state.axes, k), load3(state.moments, k, 0)
        force, torque = load3(forces, k if forces.shape[0] > 1 else 0, 0), load3(torques, k if torques.shape[0] > 1 else 0, 0)
        for _ in range(steps):
            if integrator == SLIDES:
                r, v, a, momentum = slides_step(r, v, a, momentum, mass, inverse, force, torque, h)
            elif integrator == SEMI_IMPLICIT:
                r, v, a, momentum = semi_implicit_step(r, v, a, momentum, mass, axes, moments, force, torque, h)
            elif integrator == RK4:
                r, v, a, momentum = rk4_step(r, v, a, momentum, mass, inverse, force, torque, h)
            elif integrator == IMPLICIT_GYROSCOPIC:
                r, v, a, momentum = implicit_gyroscopic_step(r, v, a, momentum, mass, inertia, inverse, force, torque, h)
        store3(state.r, k, r)
        store3(state.v, k, v)
        # Products of rotations lose orthogonality by a roundoff a step.
        store9(state.A, k, nearest_rotation(a))
        store3(state.L, k, momentum)


@kernel("i8, i8, rigid_state, f8[:,::1]")
def omega_rows(start, stop, state, omega_out):
    """Angular velocities, world frame."""
    for k in range(start, stop):
        store3(
            omega_out,
            k,
            angular_velocity(load_rotation(state.A, k), load_rotation(state.inverse_inertia, k), load3(state.L, k, 0)),
        )


@kernel("i8, i8, rigid_state, i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1]")
def point_rows(start, stop, state, body, points, forces, torques, velocity_out, acceleration_out):
    """Velocity and acceleration of points of bodies, given in the bodies' frames from their centres of mass:
    b' = v + omega x r, b'' = F / M + alpha x r + omega x (omega x r), alpha = I^-1 (tau - omega x L)."""
    for i in range(start, stop):
        k = body[i]
        a, inverse, momentum = load_rotation(state.A, k), load_rotation(state.inverse_inertia, k), load3(state.L, k, 0)
        omega = angular_velocity(a, inverse, momentum)
        r = rotate(a, load3(points, i, 0))
        force = load3(forces, k if forces.shape[0] > 1 else 0, 0)
        torque = load3(torques, k if torques.shape[0] > 1 else 0, 0)
        alpha = angular_velocity(a, inverse, sub(torque, cross(omega, momentum)))
        around = cross(omega, r)
        store3(velocity_out, i, add(load3(state.v, k, 0), around))
        out = add(cross(alpha, r), cross(omega, around))
        store3(acceleration_out, i, add_scaled(out, force, 1.0 / state.mass[k]))


@kernel("rigid_state, f8[::1]")
def energy_rows(state, energy_out):
    """Kinetic energy of each body: m v^2 / 2 + omega . L / 2."""
    for k in range(state.mass.shape[0]):
        v, momentum = load3(state.v, k, 0), load3(state.L, k, 0)
        omega = angular_velocity(load_rotation(state.A, k), load_rotation(state.inverse_inertia, k), momentum)
        energy_out[k] = 0.5 * state.mass[k] * norm2(v) + 0.5 * dot(omega, momentum)
