"""Bodies of a world to those of the solver and back; patches of contact: a pass each.

The table of bodies has the velocity of the origin of each body's frame, as `World.impacts` uses it; the solver has that of the
centre of mass.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.dynamics.solver_types import INVERSE_MASS, LOCKS, POINTS, TOUCHED, V, W, X
from thud.dynamics.tolerances import MARGIN_LEAST, MARGIN_SIZE
from thud.math.pose import load_rotation, load_translation, rotate, unrotate
from thud.math.vec3 import add, add_scaled, cross, load3, neg, norm, norm2, put3, scale, sub
from thud.shapes.packed import KIND, NODE_COUNT, P0, P1, P2, PART_START, RADIUS
from thud.shapes.shape import CONE, CYLINDER, ELLIPSOID

#: What the solver does with a body: nothing, let it go on by its velocity, move it.
STILL, DRIVEN, FREE = 0, 1, 2


#: How the coefficients of two bodies become that of their contact, and the numbers of these rules in kernels.
RULES = {"geometric": 0, "average": 1, "minimum": 2, "maximum": 3, "product": 4}


@device
def combined(a, b, rule):
    """Coefficients of two bodies by one of the RULES."""
    if rule == 0:
        return math.sqrt(a * b)
    if rule == 1:
        return 0.5 * (a + b)
    if rule == 2:
        return min(a, b)
    if rule == 3:
        return max(a, b)
    return a * b


@device
def known3(rows, k):
    """A vector; 0 where it is unknown."""
    x = load3(rows, k, 0)
    return x if not math.isnan(x[0]) else (0.0, 0.0, 0.0)


#: Of `load_rows`.
_LOAD = (
    "i8, i8, u1[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], i8[::1], f8[::1],"
    " solver_bodies"
)


@kernel(inner=_LOAD)
def load_rows(
    start, stop, role, poses, velocity, angular_velocity, center, mass, gravity_scale, force, torque, locked, gravity, out
):  # fmt: skip
    """Rows [start, stop) of the table. Worlds and batches of them have it from here: it is compiled once, so that both have
    the same bytes; as with all inner kernels of this file."""
    for k in range(start, stop):
        r, t, w = load_rotation(poses, k), load_translation(poses, k), load3(angular_velocity, k, 0)
        arm = rotate(r, known3(center, k))
        put3(out.reals, k, X, add(t, arm))
        out.reals[k, INVERSE_MASS] = out.reals[k, TOUCHED] = out.reals[k, LOCKS] = 0.0
        for c in range(9):
            out.rotation[k, c] = poses[k, c]
        none = (0.0, 0.0, 0.0)
        v = add(load3(velocity, k, 0), cross(w, arm))
        put3(out.reals, k, V, none if role[k] == STILL else v)
        put3(out.reals, k, W, none if role[k] == STILL else w)
        push, turn = none, none
        if role[k] == FREE:
            out.reals[k, INVERSE_MASS], out.reals[k, LOCKS] = 1.0 / mass[k], locked[k]
            push = add_scaled(scale((gravity[0], gravity[1], gravity[2]), gravity_scale[k]), load3(force, k, 0), 1.0 / mass[k])
            turn = load3(torque, k, 0)
        put3(out.acceleration, k, 0, push)
        put3(out.acceleration, k, 3, turn)


@kernel(_LOAD)
def load_bodies(
    start, stop, role, poses, velocity, angular_velocity, center, mass, gravity_scale, force, torque, locked, gravity, out
):  # fmt: skip
    """`load_rows` of one world."""
    load_rows(
        start, stop, role, poses, velocity, angular_velocity, center, mass, gravity_scale, force, torque, locked, gravity, out
    )  # fmt: skip


@kernel(inner="i8, i8, u1[::1], f8[:,::1], contact_list")
def turn_of_patches(start, stop, role, angular_velocity, patches):
    """The largest angular speed (rad/s) of what is FREE and has a contact, of patches [start, stop), where it is not round."""
    fastest = 0.0
    for k in range(start, stop):
        for side in range(2):
            body = patches.rows[k, side]
            if role[body] == FREE and patches.reals[k, 7 + side] == 0.0:
                fastest = max(fastest, norm2(load3(angular_velocity, body, 0)))
    return math.sqrt(fastest)


@kernel("u1[::1], f8[:,::1], contact_list")
def fastest_turn(role, angular_velocity, patches):
    """`turn_of_patches` of one world."""
    return turn_of_patches(0, patches.rows.shape[0], role, angular_velocity, patches)


@kernel(inner="i8, i8, u1[::1], f8[:,::1], f8[:,::1], f8[::1], f8, f8[::1], reaches")
def reaches_of_rows(start, stop, role, bounds, velocity, gravity_scale, dt, gravity, out):
    """How far contacts of the bodies [start, stop) are looked for: as far as each goes in the step, bounded by its size: what
    moves farther is looked at by itself (`continuous.py`). Returns the least side of the boxes of what is FREE; 0 if nothing
    is."""
    smallest = math.inf
    for k in range(start, stop):
        side = (bounds[k, 3] - bounds[k, 0], bounds[k, 4] - bounds[k, 1], bounds[k, 5] - bounds[k, 2])
        out.size[k] = 0.5 * norm(side)
        out.least[k] = out.reach[k] = 0.0
        way = (0.0, 0.0, 0.0)
        if role[k] != STILL:
            way = scale(load3(velocity, k, 0), dt)
        if role[k] == FREE:
            way = add_scaled(way, (gravity[0], gravity[1], gravity[2]), 0.5 * dt * dt * gravity_scale[k])
            least = min(side[0], side[1], side[2])
            smallest = min(smallest, least)
            out.least[k] = MARGIN_LEAST * least
        put3(out.way, k, 0, way)
        # With room for the factor of 2 in which margins grow.
        out.reach[k] = min(max(2.0 * norm(way), out.least[k]), MARGIN_SIZE * out.size[k])
    return smallest if smallest < math.inf else 0.0


@kernel("u1[::1], f8[:,::1], f8[:,::1], f8[::1], f8, f8[::1], reaches")
def find_reaches(role, bounds, velocity, gravity_scale, dt, gravity, out):
    """`reaches_of_rows` of one world."""
    return reaches_of_rows(0, role.shape[0], role, bounds, velocity, gravity_scale, dt, gravity, out)


@kernel(inner="i8, i8, u1[::1], f8[:,::1], solver_bodies, f8, f8[:,::1], f8[:,::1], f8[:,::1], b1[::1]")
def store_rows(start, stop, role, center, solved, farthest, poses_out, velocity_out, angular_velocity_out, lost_out):
    """The other way, of what is FREE or DRIVEN: poses, and velocities of what is FREE. What would leave the limits of poses,
    or is no number, is lost: its pose stays, and its velocity is 0."""
    for k in range(start, stop):
        lost_out[k] = False
        if role[k] == STILL:
            continue
        x, v, w = load3(solved.reals, k, X), load3(solved.reals, k, V), load3(solved.reals, k, W)
        whole = v[0] + v[1] + v[2] + w[0] + w[1] + w[2]
        for c in range(9):
            whole += solved.rotation[k, c]
        inside = abs(x[0]) <= farthest and abs(x[1]) <= farthest and abs(x[2]) <= farthest
        if not inside or not math.isfinite(whole):
            lost_out[k] = True
            put3(velocity_out, k, 0, (0.0, 0.0, 0.0))
            put3(angular_velocity_out, k, 0, (0.0, 0.0, 0.0))
            continue
        arm = rotate(load_rotation(solved.rotation, k), known3(center, k))
        for c in range(9):
            poses_out[k, c] = solved.rotation[k, c]
        put3(poses_out, k, 9, sub(x, arm))
        if role[k] == FREE:
            put3(velocity_out, k, 0, sub(v, cross(w, arm)))
            put3(angular_velocity_out, k, 0, w)


@kernel("i8, i8, u1[::1], f8[:,::1], solver_bodies, f8, f8[:,::1], f8[:,::1], f8[:,::1], b1[::1]")
def store_bodies(start, stop, role, center, solved, farthest, poses_out, velocity_out, angular_velocity_out, lost_out):
    """`store_rows` of one world."""
    store_rows(start, stop, role, center, solved, farthest, poses_out, velocity_out, angular_velocity_out, lost_out)


@kernel("i8[:,::1], i8[::1], i8[::1], b1[::1], f8[::1], f8[::1], f8[:,::1], i8, i8, b1[::1], f8[::1], f8[::1], f8[:,::1]")
def coefficients(
    rows, first, length, sensor, friction, restitution, surface_velocity, friction_rule, restitution_rule, sensor_out,
    friction_out, restitution_out, surface_out,
):  # fmt: skip
    """Of each point, from those of the bodies of its pair."""
    for q in range(rows.shape[0]):
        a, b = rows[q, 0], rows[q, 1]
        rub, bounce = (
            combined(friction[a], friction[b], friction_rule),
            combined(restitution[a], restitution[b], restitution_rule),
        )
        past = sub(load3(surface_velocity, b, 0), load3(surface_velocity, a, 0))
        for k in range(first[q], first[q] + length[q]):
            sensor_out[k], friction_out[k], restitution_out[k] = sensor[q], rub, bounce
            put3(surface_out, k, 0, past)


@kernel("i8[:,::1], i8[::1], i8[::1], b1[::1], u1[::1], f8[:,::1], b1[::1], i8[:,::1]")
def list_patches(rows, first, length, sensor, role, normal, keep, patches_out):
    """Points of pairs of which one is FREE and none a sensor, but for those not to `keep`, in patches of up to POINTS points in
    a row with one normal: (P, 4) A, B, first point, number of points. Returns P."""
    found = 0
    for q in range(rows.shape[0]):
        a, b = rows[q, 0], rows[q, 1]
        if sensor[q] or (role[a] != FREE and role[b] != FREE):
            continue
        at, end = first[q], first[q] + length[q]
        while at < end:
            if not keep[at]:
                at += 1
                continue
            count = 1
            while at + count < end and count < POINTS and keep[at + count]:
                k = at + count
                if normal[k, 0] != normal[at, 0] or normal[k, 1] != normal[at, 1] or normal[k, 2] != normal[at, 2]:
                    break
                count += 1
            patches_out[found, 0], patches_out[found, 1], patches_out[found, 2], patches_out[found, 3] = a, b, at, count
            found += 1
            at += count
    return found


@device
def curvature_radius(packed, shape, r, t, point, n):
    """Radius of curvature of a packed shape at a point of its surface with outward normal n; 0 at corners, edges, flat
    faces."""
    if packed.shape_ints[shape, NODE_COUNT] > 0:
        return 0.0
    part = packed.shape_ints[shape, PART_START]
    kind, reals = packed.parts.ints[part, KIND], packed.parts.reals
    m, p = unrotate(r, n), unrotate(r, sub(point, t))
    if kind == ELLIPSOID:
        a, b, c = reals[part, P0], reals[part, P1], reals[part, P2]
        # Of a ball with the same Gaussian curvature.
        return a * b * c / (a * a * m[0] * m[0] + b * b * m[1] * m[1] + c * c * m[2] * m[2])
    if (kind == CYLINDER and abs(m[2]) < 0.5) or (kind == CONE and m[2] > -0.5):
        return math.sqrt(p[0] * p[0] + p[1] * p[1])
    return reals[part, RADIUS]


@kernel(
    "i8, i8, packed, i8[::1], i8[::1], b1[::1], f8[:,::1], f8[:,::1], i8, i8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1],"
    " f8[:,::1], f8[:,::1]"
)
def describe_patches(
    start, stop, packed, shape_rows, shape, covered, poses, turning, rule, patches, point, normal, friction, restitution,
    surface, reals_out,
):  # fmt: skip
    """What `ContactList.reals` has of patches [start, stop): coefficients of their first points, radii of curvature of both
    bodies there."""
    for k in range(start, stop):
        first, a, b = patches[k, 2], patches[k, 0], patches[k, 1]
        reals_out[k, 0], reals_out[k, 1] = friction[first], restitution[first]
        for c in range(2):
            reals_out[k, 2 + c] = combined(turning[a, c], turning[b, c], rule)
        put3(reals_out, k, 4, load3(surface, first, 0))
        n, where = load3(normal, first, 0), load3(point, first, 0)
        for side in range(2):
            body = patches[k, side]
            index, radius = shape[body], 0.0
            if not covered[index]:
                r, t = load_rotation(poses, body), load_translation(poses, body)
                radius = curvature_radius(packed, shape_rows[index], r, t, where, n if side == 0 else neg(n))
            reals_out[k, 7 + side] = radius
