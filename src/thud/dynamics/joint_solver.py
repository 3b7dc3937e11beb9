"""Joints of rigid bodies, solved with the contacts in each sub-step.

The equations of one joint (up to six) are solved together, by Cholesky's factor of their response J M^-1 J^T; joints among
themselves and with contacts by turns (Gauss and Seidel). The first pass of a sub-step looks ahead: what the errors
would change by until its end, turns included, is taken out. The relaxing pass, at the new poses,
takes out the velocity along the equations. Both together are the method of Andersen (RATTLE, 1983): a pendulum keeps its
energy. Motor and limits act on what the equations leave free, with the equations in force.

The relaxing pass goes through the joints backward. What two passes to and fro leave of an error is a real part of it, which
falls from sub-step to sub-step, whatever hangs on what. Passes one way may turn it, and what a sub-step begins with then
amplifies it: a hub with six spokes flew apart.

A part of the errors themselves is taken out in each sub-step by velocities of their own (`lead_joints`), which bodies have
while they move. The impulses that gave them are taken back after that, and are no part of those that the next sub-step begins
with. If they were, what one pass leaves of them would come back as speed: where joints are far from light bodies, a pass
reaches little of it, and a chain of four boxes would gain energy without end.

A row of a Jacobian is (d, a, b): the relative velocity is d . (v_B - v_A) + b . w_B - a . w_A. Axes are those of A's frame of
the joint, and both bodies are pushed at B's anchor, so that angular momentum is kept.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.dynamics.joint_types import (
    AXIS_ANSWER,
    AXIS_RESPONSE,
    AXIS_ROW,
    BALL,
    DAMPING,
    DISTANCE,
    DRIVEN,
    FACTOR,
    FIXED,
    HIGH,
    HINGE,
    LEAD,
    LENGTH,
    LOCKED,
    LOW,
    LOWER,
    MOTOR,
    MOTOR_DAMPING,
    MOTOR_STIFFNESS,
    NO_MOTOR,
    RIGHT,
    SLIDER,
    SPEED,
    STIFFNESS,
    STRENGTH,
    SWING,
    SWING_ANGLE,
    SWING_ANSWER,
    SWING_RESPONSE,
    SWING_ROW,
    SWUNG,
    TARGET,
    UPPER,
)
from thud.dynamics.rotation import exp_rotation
from thud.dynamics.solver_bodies import load_inverse
from thud.dynamics.solver_types import INVERSE_MASS, TOUCHED, V, W, X
from thud.dynamics.tolerances import AHEAD, DRIFT, PIVOT, SHORTEST
from thud.math.pose import compose_rotation, load_rotation, relative_rotation, rotate, unrotate
from thud.math.vec3 import add, add_scaled, any_orthogonal, cross, dot, load3, norm, norm2, put3, scale, sub


@device
def load_frame(frames, j, column):
    """Rotation of a joint's frame."""
    f = frames[j]
    c = column
    return f[c], f[c + 1], f[c + 2], f[c + 3], f[c + 4], f[c + 5], f[c + 6], f[c + 7], f[c + 8]


@device
def placed_frame(rotation, x, frames, j, column):
    """(rotation, origin) of a joint's frame in the world."""
    turned = compose_rotation(rotation, load_frame(frames, j, column))
    return turned, add(x, rotate(rotation, load3(frames, j, column + 9)))


@device
def errors_of(kind, ra, pa, rb, pb, length):
    """Errors of a joint's equations, in the order of its rows: metres, and radians (2 tan of half the angle)."""
    d = sub(pb, pa)
    if kind == DISTANCE:
        return norm(d) - length, 0.0, 0.0, 0.0, 0.0, 0.0
    e = unrotate(ra, d)
    if kind == BALL:
        return e[0], e[1], e[2], 0.0, 0.0, 0.0
    r = relative_rotation(ra, rb)
    if kind == HINGE:
        # z_A x z_B along A's x and y.
        return e[0], e[1], e[2], -r[5], r[2], 0.0
    s = 2.0 / max(1.0 + r[0] + r[4] + r[8], 0.1)
    turn = (s * (r[7] - r[5]), s * (r[2] - r[6]), s * (r[3] - r[1]))
    if kind == SLIDER:
        return e[0], e[1], turn[0], turn[1], turn[2], 0.0
    return e[0], e[1], e[2], turn[0], turn[1], turn[2]


@device
def put_row(work, j, r, d, a, b):
    """One row of the Jacobian."""
    put3(work, j, 9 * r, d)
    put3(work, j, 9 * r + 3, a)
    put3(work, j, 9 * r + 6, b)


@device
def put_pull(work, j, r, u, pb, xa, xb):
    """A row that measures the way from A to B along u, which turns with A."""
    put_row(work, j, r, u, cross(sub(pb, xa), u), cross(sub(pb, xb), u))


@device
def put_turn(work, j, r, u):
    """A row that measures the turn of B about u."""
    put_row(work, j, r, (0.0, 0.0, 0.0), u, u)


@device
def column_of(r, axis):
    """An axis of a frame."""
    return r[axis], r[3 + axis], r[6 + axis]


@device
def response_of(reals, work, j, a, b, r, s):
    """Change of the relative velocity along row r by a unit impulse along row s."""
    mass = reals[a, INVERSE_MASS] + reals[b, INVERSE_MASS]
    whole = mass * dot(load3(work, j, 9 * r), load3(work, j, 9 * s))
    whole += dot(load3(work, j, 9 * r + 3), rotate(load_inverse(reals, a), load3(work, j, 9 * s + 3)))
    return whole + dot(load3(work, j, 9 * r + 6), rotate(load_inverse(reals, b), load3(work, j, 9 * s + 6)))


@device
def factor_block(reals, work, j, a, b, count, softness):
    """Cholesky's factor of the equations' response, its diagonal as inverses. An equation that follows from those before it has
    the inverse 0, and takes no impulse."""
    for r in range(count):
        at = FACTOR + r * (r + 1) // 2
        own = response_of(reals, work, j, a, b, r, r) + softness
        left = own
        for s in range(r):
            upper = FACTOR + s * (s + 1) // 2
            value = response_of(reals, work, j, a, b, r, s)
            for k in range(s):
                value -= work[j, at + k] * work[j, upper + k]
            value *= work[j, upper + s]
            work[j, at + s] = value
            left -= value * value
        work[j, at + r] = 1.0 / math.sqrt(left) if left > PIVOT * own else 0.0


@device
def solve_block(work, j, count):
    """Solve by the factor, in place of the right side."""
    for r in range(count):
        at = FACTOR + r * (r + 1) // 2
        value = work[j, RIGHT + r]
        for k in range(r):
            value -= work[j, at + k] * work[j, RIGHT + k]
        work[j, RIGHT + r] = value * work[j, at + r]
    for q in range(count):
        r = count - 1 - q
        value = work[j, RIGHT + r]
        for k in range(r + 1, count):
            value -= work[j, FACTOR + k * (k + 1) // 2 + r] * work[j, RIGHT + k]
        work[j, RIGHT + r] = value * work[j, FACTOR + r * (r + 1) // 2 + r]


@device
def project_row(reals, work, j, a, b, count, row, column):
    """What the equations answer to a unit impulse along a row that they leave free, in columns [column, column + 6); returns
    the row's response with them in force."""
    for r in range(count):
        work[j, RIGHT + r] = response_of(reals, work, j, a, b, r, row)
    own = response_of(reals, work, j, a, b, row, row)
    left = own
    for r in range(count):
        work[j, column + r] = work[j, RIGHT + r]
    solve_block(work, j, count)
    for r in range(count):
        left -= work[j, column + r] * work[j, RIGHT + r]
        work[j, column + r] = work[j, RIGHT + r]
    return left if left > PIVOT * own else 0.0


@device
def speed_along(reals, work, j, r, a, b):
    """Relative velocity along a row."""
    at = 9 * r
    linear = dot(load3(work, j, at), sub(load3(reals, b, V), load3(reals, a, V)))
    return linear + dot(load3(work, j, at + 6), load3(reals, b, W)) - dot(load3(work, j, at + 3), load3(reals, a, W))


@device
def change_along(reals, out, work, j, r, a, b, impulse):
    """What an impulse along a row does, added to the velocities `out`."""
    at = 9 * r
    if reals[a, INVERSE_MASS] > 0.0:
        put3(out, a, V, add_scaled(load3(out, a, V), load3(work, j, at), -impulse * reals[a, INVERSE_MASS]))
        turn = rotate(load_inverse(reals, a), load3(work, j, at + 3))
        put3(out, a, W, add_scaled(load3(out, a, W), turn, -impulse))
    if reals[b, INVERSE_MASS] > 0.0:
        put3(out, b, V, add_scaled(load3(out, b, V), load3(work, j, at), impulse * reals[b, INVERSE_MASS]))
        turn = rotate(load_inverse(reals, b), load3(work, j, at + 6))
        put3(out, b, W, add_scaled(load3(out, b, W), turn, impulse))


@device
def push_along(reals, work, j, r, a, b, impulse):
    """An impulse along a row."""
    change_along(reals, reals, work, j, r, a, b, impulse)


@device
def push_free(reals, joints, j, a, b, row, column, impulse):
    """An impulse along a row that the equations leave free, with what they answer."""
    push_along(reals, joints.work, j, row, a, b, impulse)
    for r in range(joints.kind[j, 1]):
        answer = -impulse * joints.work[j, column + r]
        joints.impulses[j, r] += answer
        push_along(reals, joints.work, j, r, a, b, answer)


@device
def spring_numbers(stiffness, damping, h):
    """(softness, rate): a spring as a soft equation, v + rate * error + softness * impulse = 0, over h (Catto 2011)."""
    whole = h * (damping + h * stiffness)
    return (1.0 / whole, h * stiffness / whole) if whole > 0.0 else (0.0, 0.0)


@device
def place_axis(joints, j, kind, ra, pa, rb, pb, xa, xb):
    """Row and value of what a joint is free to do, and of a ball's swing."""
    work, value = joints.work, joints.value
    if kind == DISTANCE:
        d = sub(pb, pa)
        length = norm(d)
        u = scale(d, 1.0 / length) if length > SHORTEST else (0.0, 0.0, 1.0)
        put_pull(work, j, AXIS_ROW, u, pb, xa, xb)
        value[j] = length
    elif kind == SLIDER:
        z = column_of(ra, 2)
        put_pull(work, j, AXIS_ROW, z, pb, xa, xb)
        value[j] = dot(z, sub(pb, pa))
    elif kind != FIXED:
        r = relative_rotation(ra, rb)
        za, zb = column_of(ra, 2), column_of(rb, 2)
        if kind == HINGE:
            put_turn(work, j, AXIS_ROW, za)
            angle = math.atan2(r[3], r[0])
        else:
            put_turn(work, j, AXIS_ROW, scale(add(za, zb), 1.0 / max(1.0 + r[8], SHORTEST)))
            angle = math.atan2(r[3] - r[1], r[0] + r[4])
            side = cross(za, zb)
            s = norm(side)
            put_turn(work, j, SWING_ROW, scale(side, 1.0 / s) if s > SHORTEST else any_orthogonal(za))
            work[j, SWING_ANGLE] = math.atan2(s, r[8])
        turns = math.floor((value[j] - angle) / (2.0 * math.pi) + 0.5)
        value[j] = angle + 2.0 * math.pi * turns


@device
def unit_vector(axis):
    """Along an axis of the world."""
    return 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0


@device
def place_locks(joints, j):
    """Rows of locked axes, through the body's centre of mass."""
    bits, r = int(joints.reals[j, LENGTH]), 0
    for axis in range(3):
        if (bits >> axis) & 1:
            none = (0.0, 0.0, 0.0)
            put_row(joints.work, j, r, unit_vector(axis), none, none)
            r += 1


@device
def errors_of_locks(bodies, joints, j, b):
    """How far a body is from where its locked axes hold it, in the order of the rows."""
    bits, r, e, f, g = int(joints.reals[j, LENGTH]), 0, 0.0, 0.0, 0.0
    for axis in range(3):
        if (bits >> axis) & 1:
            off = bodies.reals[b, X + axis] - joints.frames[j, 9 + axis]
            e, f, g = (off, f, g) if r == 0 else (e, off, g) if r == 1 else (e, f, off)
            r += 1
    return e, f, g, 0.0, 0.0, 0.0


@kernel(inner="solver_bodies, joint_rows, i8, i8, f8")
def place_joints(bodies, joints, start, stop, h):
    """Rows, factors and values at the present poses, of joints [start, stop)."""
    reals, work = bodies.reals, joints.work
    for j in range(start, stop):
        a, b, kind, count = joints.rows[j, 0], joints.rows[j, 1], joints.kind[j, 0], joints.kind[j, 1]
        xa, xb = load3(reals, a, X), load3(reals, b, X)
        ra, pa = placed_frame(load_rotation(bodies.rotation, a), xa, joints.frames, j, 0)
        rb, pb = placed_frame(load_rotation(bodies.rotation, b), xb, joints.frames, j, 12)
        if kind == LOCKED:
            place_locks(joints, j)
            factor_block(reals, work, j, a, b, count, 0.0)
            continue
        place_axis(joints, j, kind, ra, pa, rb, pb, xa, xb)
        if kind == DISTANCE:
            for c in range(9):
                work[j, c] = work[j, 9 * AXIS_ROW + c]
        else:
            lines = 2 if kind == SLIDER else 3
            for axis in range(lines):
                put_pull(work, j, axis, column_of(ra, axis), pb, xa, xb)
            for axis in range(count - lines):
                put_turn(work, j, lines + axis, column_of(ra, axis))
        soft = 0.0
        if joints.reals[j, STIFFNESS] > 0.0 or joints.reals[j, DAMPING] > 0.0:
            soft = spring_numbers(joints.reals[j, STIFFNESS], joints.reals[j, DAMPING], h)[0]
        factor_block(reals, work, j, a, b, count, soft)
        if kind != FIXED:
            work[j, AXIS_RESPONSE] = project_row(reals, work, j, a, b, count, AXIS_ROW, AXIS_ANSWER)
        if kind == BALL:
            work[j, SWING_RESPONSE] = project_row(reals, work, j, a, b, count, SWING_ROW, SWING_ANSWER)


@device
def axis_impulse(joints, j):
    """Of motor and limits together, along the free axis."""
    return joints.impulses[j, LOW] - joints.impulses[j, HIGH] + joints.impulses[j, DRIVEN]


@kernel(inner="solver_bodies, joint_rows, i8, i8")
def warm_joints(bodies, joints, start, stop):
    """Impulses of the last sub-step again."""
    for j in range(start, stop):
        a, b = joints.rows[j, 0], joints.rows[j, 1]
        bodies.reals[a, TOUCHED] = bodies.reals[b, TOUCHED] = 1.0
        for r in range(joints.kind[j, 1]):
            push_along(bodies.reals, joints.work, j, r, a, b, joints.impulses[j, r])
        if joints.kind[j, 0] < FIXED:
            push_along(bodies.reals, joints.work, j, AXIS_ROW, a, b, axis_impulse(joints, j))
        if joints.kind[j, 0] == BALL:
            push_along(bodies.reals, joints.work, j, SWING_ROW, a, b, -joints.impulses[j, SWUNG])


@device
def drive(bodies, joints, j, a, b, h, biased):
    """The motor: to its speed, or like a spring to its position, with no more than its force."""
    work, own = joints.work, joints.reals
    speed, before = speed_along(bodies.reals, work, j, AXIS_ROW, a, b), joints.impulses[j, DRIVEN]
    soft, error = 0.0, speed - own[j, TARGET]
    if own[j, MOTOR] != SPEED:
        if not biased:
            # A spring pushes once: the relaxing pass has the poses after it, where its bias would count again.
            return
        soft, rate = spring_numbers(own[j, MOTOR_STIFFNESS], own[j, MOTOR_DAMPING], h)
        error = speed + rate * (joints.value[j] - own[j, TARGET]) + soft * before
    whole = work[j, AXIS_RESPONSE] + soft
    most = own[j, STRENGTH] * h
    after = min(max(before - error / whole, -most), most) if whole > 0.0 else 0.0
    joints.impulses[j, DRIVEN] = after
    push_free(bodies.reals, joints, j, a, b, AXIS_ROW, AXIS_ANSWER, after - before)


@device
def hold(bodies, joints, j, a, b, row, response, side, gap, column, h):
    """A limit that is `gap` away: no faster towards it than to reach it at the end of the sub-step. `side`: 1 for a lower
    limit, -1 for an upper one."""
    speed = side * speed_along(bodies.reals, joints.work, j, row, a, b)
    before = joints.impulses[j, column]
    after = max(before - (speed + max(gap, 0.0) / h) / response, 0.0) if response > 0.0 else 0.0
    joints.impulses[j, column] = after
    answer = SWING_ANSWER if row == SWING_ROW else AXIS_ANSWER
    push_free(bodies.reals, joints, j, a, b, row, answer, side * (after - before))


@device
def errors_ahead(bodies, joints, j, a, b, kind, h):
    """Errors of the equations if the bodies go on for h as they do now."""
    reals = bodies.reals
    xa, xb = add_scaled(load3(reals, a, X), load3(reals, a, V), h), add_scaled(load3(reals, b, X), load3(reals, b, V), h)
    turn_a = compose_rotation(exp_rotation(scale(load3(reals, a, W), h)), load_rotation(bodies.rotation, a))
    turn_b = compose_rotation(exp_rotation(scale(load3(reals, b, W), h)), load_rotation(bodies.rotation, b))
    ra, pa = placed_frame(turn_a, xa, joints.frames, j, 0)
    rb, pb = placed_frame(turn_b, xb, joints.frames, j, 12)
    return errors_of(kind, ra, pa, rb, pb, joints.reals[j, LENGTH])


@device
def errors_now(bodies, joints, j, a, b, kind):
    """Errors of the equations."""
    ra, pa = placed_frame(load_rotation(bodies.rotation, a), load3(bodies.reals, a, X), joints.frames, j, 0)
    rb, pb = placed_frame(load_rotation(bodies.rotation, b), load3(bodies.reals, b, X), joints.frames, j, 12)
    return errors_of(kind, ra, pa, rb, pb, joints.reals[j, LENGTH])


@device
def nth(e, r):
    """An entry of six."""
    return e[0] if r == 0 else e[1] if r == 1 else e[2] if r == 2 else e[3] if r == 3 else e[4] if r == 4 else e[5]


@kernel(inner="solver_bodies, joint_rows, i8, i8, f8, i8")
def solve_joints(bodies, joints, start, stop, h, biased):
    """One pass over the joints [start, stop), backward in the relaxing pass: the equations together, then motor and limits with
    the equations in force."""
    reals, work, own = bodies.reals, joints.work, joints.reals
    for at in range(start, stop):
        j = at if biased else start + stop - 1 - at
        a, b, kind, count = joints.rows[j, 0], joints.rows[j, 1], joints.kind[j, 0], joints.kind[j, 1]
        spring = own[j, STIFFNESS] > 0.0 or own[j, DAMPING] > 0.0
        if spring and biased:
            soft, rate = spring_numbers(own[j, STIFFNESS], own[j, DAMPING], h)
            e = errors_now(bodies, joints, j, a, b, kind)
            for r in range(count):
                speed = speed_along(reals, work, j, r, a, b)
                work[j, RIGHT + r] = speed + rate * nth(e, r) + soft * joints.impulses[j, r]
        elif not spring:
            spin2 = max(norm2(load3(reals, a, W)), norm2(load3(reals, b, W)))
            if biased and kind != LOCKED and spin2 * h * h < AHEAD * AHEAD:
                now = errors_now(bodies, joints, j, a, b, kind)
                ahead = errors_ahead(bodies, joints, j, a, b, kind, h)
                for r in range(count):
                    work[j, RIGHT + r] = (nth(ahead, r) - nth(now, r)) / h
            else:
                for r in range(count):
                    work[j, RIGHT + r] = speed_along(reals, work, j, r, a, b)
        # A spring pushes once: the relaxing pass has the poses after it, where its bias would count again.
        if biased or not spring:
            solve_block(work, j, count)
            for r in range(count):
                joints.impulses[j, r] -= work[j, RIGHT + r]
                push_along(reals, work, j, r, a, b, -work[j, RIGHT + r])
        if kind < FIXED:
            if own[j, MOTOR] != NO_MOTOR:
                drive(bodies, joints, j, a, b, h, biased)
            response = work[j, AXIS_RESPONSE]
            if own[j, LOWER] > -math.inf:
                gap = joints.value[j] - own[j, LOWER]
                hold(bodies, joints, j, a, b, AXIS_ROW, response, 1.0, gap, LOW, h)
            if own[j, UPPER] < math.inf:
                gap = own[j, UPPER] - joints.value[j]
                hold(bodies, joints, j, a, b, AXIS_ROW, response, -1.0, gap, HIGH, h)
        if kind == BALL and own[j, SWING] < math.inf:
            gap = own[j, SWING] - work[j, SWING_ANGLE]
            hold(bodies, joints, j, a, b, SWING_ROW, work[j, SWING_RESPONSE], -1.0, gap, SWUNG, h)


@device
def lead_back(bodies, joints, j, a, b, row, response, side, gap, column, h):
    """A part of the way back from beyond a limit, with the equations in force."""
    if gap >= 0.0 or response <= 0.0:
        return
    speed = side * speed_along(bodies.lead, joints.work, j, row, a, b)
    impulse = side * max(-(speed + DRIFT * gap / h) / response, 0.0)
    joints.work[j, LEAD + row] += impulse
    change_along(bodies.reals, bodies.lead, joints.work, j, row, a, b, impulse)
    for r in range(joints.kind[j, 1]):
        answer = -impulse * joints.work[j, column + r]
        joints.work[j, LEAD + r] += answer
        change_along(bodies.reals, bodies.lead, joints.work, j, r, a, b, answer)


@kernel(inner="solver_bodies, joint_rows, i8, i8, f8")
def lead_joints(bodies, joints, start, stop, h):
    """One pass over the joints [start, stop): velocities that take a part of their errors out, to `bodies.lead`."""
    work, own = joints.work, joints.reals
    for j in range(start, stop):
        a, b, kind, count = joints.rows[j, 0], joints.rows[j, 1], joints.kind[j, 0], joints.kind[j, 1]
        for r in range(SWING_ROW + 1):
            work[j, LEAD + r] = 0.0
        if own[j, STIFFNESS] == 0.0 and own[j, DAMPING] == 0.0:
            e = errors_of_locks(bodies, joints, j, b) if kind == LOCKED else errors_now(bodies, joints, j, a, b, kind)
            for r in range(count):
                work[j, RIGHT + r] = speed_along(bodies.lead, work, j, r, a, b) + DRIFT * nth(e, r) / h
            solve_block(work, j, count)
            for r in range(count):
                work[j, LEAD + r] = -work[j, RIGHT + r]
                change_along(bodies.reals, bodies.lead, work, j, r, a, b, -work[j, RIGHT + r])
        if kind < FIXED:
            response, value = work[j, AXIS_RESPONSE], joints.value[j]
            if own[j, LOWER] > -math.inf:
                lead_back(bodies, joints, j, a, b, AXIS_ROW, response, 1.0, value - own[j, LOWER], AXIS_ANSWER, h)
            if own[j, UPPER] < math.inf:
                lead_back(bodies, joints, j, a, b, AXIS_ROW, response, -1.0, own[j, UPPER] - value, AXIS_ANSWER, h)
        if kind == BALL and own[j, SWING] < math.inf:
            gap = own[j, SWING] - work[j, SWING_ANGLE]
            lead_back(bodies, joints, j, a, b, SWING_ROW, work[j, SWING_RESPONSE], -1.0, gap, SWING_ANSWER, h)


@kernel(inner="solver_bodies, i8, i8")
def take_lead(bodies, start, stop):
    """Let bodies [start, stop) go by what `lead_joints` found."""
    for k in range(start, stop):
        put3(bodies.reals, k, V, add(load3(bodies.reals, k, V), load3(bodies.lead, k, V)))
        put3(bodies.reals, k, W, add(load3(bodies.reals, k, W), load3(bodies.lead, k, W)))
        put3(bodies.lead, k, V, (0.0, 0.0, 0.0))
        put3(bodies.lead, k, W, (0.0, 0.0, 0.0))


@kernel(inner="solver_bodies, joint_rows, i8, i8")
def leave_lead(bodies, joints, start, stop):
    """Take the impulses of `lead_joints` back, of joints [start, stop), where bodies are now: both are pushed at one place."""
    for j in range(start, stop):
        for r in range(SWING_ROW + 1):
            impulse = joints.work[j, LEAD + r]
            if impulse != 0.0:
                push_along(bodies.reals, joints.work, j, r, joints.rows[j, 0], joints.rows[j, 1], -impulse)


@kernel(inner="solver_bodies, joint_rows, i8, i8")
def sum_joints(bodies, joints, start, stop):
    """Add a sub-step's impulses to what the joints did to B, about B's anchor."""
    work = joints.work
    for j in range(start, stop):
        b = joints.rows[j, 1]
        xb = load3(bodies.reals, b, X)
        arm = sub(placed_frame(load_rotation(bodies.rotation, b), xb, joints.frames, j, 12)[1], xb)
        pull, turn = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for r in range(SWING_ROW + 1):
            impulse = joints.impulses[j, r] if r < joints.kind[j, 1] else 0.0
            if r == AXIS_ROW and joints.kind[j, 0] < FIXED:
                impulse = axis_impulse(joints, j)
            elif r == SWING_ROW and joints.kind[j, 0] == BALL:
                impulse = -joints.impulses[j, SWUNG]
            if impulse != 0.0:
                d = load3(work, j, 9 * r)
                pull = add_scaled(pull, d, impulse)
                turn = add_scaled(turn, sub(load3(work, j, 9 * r + 6), cross(arm, d)), impulse)
        put3(joints.wrench, j, 0, add(load3(joints.wrench, j, 0), pull))
        put3(joints.wrench, j, 3, add(load3(joints.wrench, j, 3), turn))
