"""Kernels over the copies of a crowd. Each copy is computed alone, from its own rows, by the very kernels that compute a world
that is alone (inner kernels are compiled once): so it has the same bytes, however many copies and threads there are."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.dynamics.colouring import colour_rows, order_by_colour
from thud.dynamics.energy_bound import SUMS, bound_energies
from thud.dynamics.joint_types import IMPULSES, LENGTH, LOCKED, LOWER, REALS, UPPER, WORK, JointRows
from thud.dynamics.solver_types import (
    BODY,
    INVERSE_MASS,
    PATCH,
    POINT,
    POINTS,
    TOUCHED,
    ContactGroups,
    ContactList,
    SolverBodies,
)
from thud.dynamics.step_solver import group_rows, solve_alone
from thud.world.step_rows import FREE, load_rows, reaches_of_rows, store_rows, turn_of_patches


@device
def boxes_overlap(bounds, i, j):
    """Whether two boxes overlap; touching counts."""
    return (
        bounds[i, 0] <= bounds[j, 3] and bounds[j, 0] <= bounds[i, 3]
        and bounds[i, 1] <= bounds[j, 4] and bounds[j, 1] <= bounds[i, 4]
        and bounds[i, 2] <= bounds[j, 5] and bounds[j, 2] <= bounds[i, 5]
    )  # fmt: skip


@kernel("i8, i8, f8[:,::1], f8[::1], f8, f8[:,::1]")
def widen_boxes(start, stop, bounds, more, farthest, bounds_out):
    """Boxes [start, stop) wider by `more` on all sides, up to `farthest`. What is not there, from inf to -inf, stays so."""
    for k in range(start, stop):
        for c in range(3):
            low, high = bounds[k, c], bounds[k, 3 + c]
            bounds_out[k, c] = max(low - more[k], -farthest) if low < math.inf else low
            bounds_out[k, 3 + c] = min(high + more[k], farthest) if high > -math.inf else high


@kernel("i8, i8, i8, f8[:,::1], i8[:,::1], b1[:,::1], i8, i8[::1], i8[:,::1]")
def pairs_of_copies(start, stop, size, bounds, candidates, parted, fill, starts, pairs_out):
    """Pairs of rows whose boxes overlap, of copies [start, stop), each in the order of `candidates` (C, 2), pairs that the
    rules allow. `parted` (N or 1, C): kept from colliding by a joint. Without `fill`, starts[k + 1] is how many copy k has;
    with it they are written from starts[k] on."""
    for k in range(start, stop):
        found, own = 0, k if parted.shape[0] > 1 else 0
        for c in range(candidates.shape[0]):
            if parted[own, c]:
                continue
            i, j = k * size + candidates[c, 0], k * size + candidates[c, 1]
            if boxes_overlap(bounds, i, j):
                if fill:
                    pairs_out[starts[k] + found, 0], pairs_out[starts[k] + found, 1] = i, j
                found += 1
        if not fill:
            starts[k + 1] = found


@kernel("i8, i8, i8, u1[::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8[::1], reaches, f8[::1]")
def reaches_of_copies(start, stop, size, role, bounds, velocity, gravity_scale, dt, gravity, out, smallest_out):
    """How far contacts of copies [start, stop) are looked for in steps of dt (N,) seconds, and the least side of each copy."""
    for k in range(start, stop):
        smallest_out[k] = reaches_of_rows(
            k * size, (k + 1) * size, role, bounds, velocity, gravity_scale, dt[k], gravity, out
        )  # fmt: skip


@kernel("i8, i8, u1[::1], f8[:,::1], contact_list, i8[::1], f8[::1]")
def turns_of_copies(start, stop, role, angular_velocity, patches, starts, fastest_out):
    """Of copies [start, stop) the largest angular speed that counts (`turn_of_patches`)."""
    for k in range(start, stop):
        fastest_out[k] = turn_of_patches(starts[k], starts[k + 1], role, angular_velocity, patches)


@device
def bits_of(bits):
    """How many of three bits are set."""
    return (bits & 1) + ((bits >> 1) & 1) + ((bits >> 2) & 1)


@device
def known(center, row, c):
    """A number of a centre of mass; 0 where it is unknown."""
    return 0.0 if math.isnan(center[row, c]) else center[row, c]


@device
def list_joints(table, joints, first, last, lo, size, moves, ends_out, source_out):
    """Joints of a copy of which something moves, then its bodies of which axes are locked: ends, and the row of the joint or -1
    - the body. Returns how many."""
    count = 0
    for j in range(first, last):
        a, b = joints.ends[j, 0], joints.ends[j, 1]
        if moves[a] > 0.0 or moves[b] > 0.0:
            ends_out[count, 0], ends_out[count, 1], source_out[count] = a, b, j
            count += 1
    for i in range(size):
        if table.role[lo + i] == FREE and table.locked[lo + i] & 7 != 0:
            ends_out[count, 0], ends_out[count, 1], source_out[count] = size, i, -1 - i
            count += 1
    return count


@device
def put_joint(table, joints, j, lo, size, out, at):
    """Row j of the table as the solver has it: frames from the centres of mass."""
    for side in range(2):
        out.kind[at, side] = joints.kind[j, side]
        end = joints.ends[j, side]
        for c in range(9):
            out.frames[at, 12 * side + c] = joints.frames[j, 12 * side + c]
        for c in range(3):
            off = known(table.center, lo + end, c) if end < size else 0.0
            out.frames[at, 12 * side + 9 + c] = joints.frames[j, 12 * side + 9 + c] - off
    for c in range(REALS):
        out.reals[at, c] = joints.reals[j, c]
    for c in range(IMPULSES):
        out.impulses[at, c] = joints.impulses[j, c]
    out.value[at] = joints.value[j]


@device
def put_lock(table, row, out, at):
    """Locked axes of a body as the solver has them."""
    bits = table.locked[row] & 7
    out.kind[at, 0], out.kind[at, 1] = LOCKED, bits_of(bits)
    for c in range(24):
        out.frames[at, c] = 1.0 if (c < 9 and c % 4 == 0) or (12 <= c < 21 and (c - 12) % 4 == 0) else 0.0
    for c in range(3):
        out.frames[at, 9 + c] = table.held[row, c]
    for c in range(REALS):
        out.reals[at, c] = 0.0
    out.reals[at, LENGTH], out.reals[at, LOWER], out.reals[at, UPPER] = bits, -math.inf, math.inf
    for c in range(IMPULSES):
        out.impulses[at, c] = 0.0
    out.value[at] = 0.0


@kernel("i8, i8, i8, crowd_bodies, crowd_joints, crowd_plan, contact_list, point_columns, f8[::1], f8, f8, f8, crowd_after")
def solve_copies(start, stop, size, table, joints, plan, patches, points, gravity, fastest, threshold, farthest, out):
    """A step of copies [start, stop): poses to `out`, velocities and the impulses of points and joints in place."""
    most, joined = 1, 1
    for k in range(start, stop):
        most = max(most, plan.start[k + 1] - plan.start[k])
        joined = max(joined, joints.start[k + 1] - joints.start[k] + size)
    # Room for one copy, which stays in the cache.
    reals, rotation, turn = np.zeros((size + 1, BODY)), np.zeros((size + 1, 9)), np.empty((size + 1, 9))
    push, damping, moves = np.zeros((size + 1, 6)), np.zeros((size + 1, 2)), np.empty(size + 1)
    lead = np.zeros((size + 1, 6))
    rotation[size, 0] = rotation[size, 4] = rotation[size, 8] = 1.0
    marks = np.empty(size + 1, np.uint64)
    root, sums = np.empty(size, np.int64), np.empty((size, SUMS))
    rows, lanes, weight = np.empty((most, 4), np.int64), np.empty((most, 2), np.int64), np.empty(most, np.int64)
    longest = max(most, joined)
    colour, order, starts = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest + 1, np.int64)
    room = np.empty(longest * (POINTS + 1) + 1, np.int64)
    groups = ContactGroups(
        np.empty((most * (PATCH + POINTS * POINT), 4)), np.empty(most, np.int64), np.empty((most, 2, 4), np.int64),
        np.empty(most, np.int64), np.empty(most + 1, np.int64),
    )  # fmt: skip
    ends, source, alike = np.empty((joined, 2), np.int64), np.empty(joined, np.int64), np.zeros(joined, np.int64)
    joint_rows = JointRows(
        np.empty((joined, 2), np.int64), np.empty((joined, 2), np.int64), np.empty((joined, 24)), np.empty((joined, REALS)),
        np.empty((joined, IMPULSES)), np.empty(joined), np.empty((joined, 6)), np.empty((joined, WORK)),
    )  # fmt: skip
    for k in range(start, stop):
        lo, hi = k * size, (k + 1) * size
        bodies = SolverBodies(
            reals, rotation, turn, table.inertia[lo:hi], table.inverse_inertia[lo:hi], table.axes[lo:hi], table.moments[lo:hi],
            push, damping, lead,
        )  # fmt: skip
        load_rows(
            0, size, table.role[lo:hi], table.poses[lo:hi], table.velocity[lo:hi], table.angular_velocity[lo:hi],
            table.center[lo:hi], table.mass[lo:hi], table.gravity_scale[lo:hi], table.force[lo:hi], table.torque[lo:hi],
            table.locked[lo:hi], gravity, bodies,
        )  # fmt: skip
        for c in range(BODY):
            reals[size, c] = 0.0
        for i in range(size):
            moves[i] = reals[i, INVERSE_MASS]
            damping[i, 0], damping[i, 1] = table.damping[lo + i, 0], table.damping[lo + i, 1]
        moves[size] = 0.0
        first, count = plan.start[k], plan.start[k + 1] - plan.start[k]
        for q in range(count):
            rows[q, 0], rows[q, 1] = patches.rows[first + q, 0] - lo, patches.rows[first + q, 1] - lo
            rows[q, 2], rows[q, 3] = patches.rows[first + q, 2], patches.rows[first + q, 3]
            weight[q] = rows[q, 3]
        colours = colour_rows(rows, count, moves, marks, colour)
        order_by_colour(count, colour, weight, colours, POINTS + 1, room, order, starts)
        own = ContactList(rows, patches.reals[first : first + count])
        last = group_rows(own, order, starts, colours, size, groups, lanes)
        many = list_joints(table, joints, joints.start[k], joints.start[k + 1], lo, size, moves, ends, source)
        if many:
            colours = colour_rows(ends, many, moves, marks, colour)
            order_by_colour(many, colour, alike, colours, 1, room, order, starts)
            for at in range(many):
                j = source[order[at]]
                joint_rows.rows[at, 0], joint_rows.rows[at, 1] = ends[order[at], 0], ends[order[at], 1]
                for c in range(6):
                    joint_rows.wrench[at, c] = 0.0
                if j >= 0:
                    put_joint(table, joints, j, lo, size, joint_rows, at)
                else:
                    put_lock(table, lo - 1 - j, joint_rows, at)
        solve_alone(
            bodies, groups, last, own, points, lanes, count, joint_rows, many, plan.soft[k], plan.h[k], plan.substeps[k],
            fastest, plan.slop[k], threshold, plan.share[k],
        )  # fmt: skip
        for at in range(many):
            j = source[order[at]]
            if j >= 0:
                for c in range(IMPULSES):
                    joints.impulses[j, c] = joint_rows.impulses[at, c]
                for c in range(6):
                    joints.wrench[j, c] = joint_rows.wrench[at, c]
                joints.value[j] = joint_rows.value[at]
        bound_energies(
            table.poses[lo:hi], table.velocity[lo:hi], table.angular_velocity[lo:hi], table.center[lo:hi], rows, count,
            own.reals, joint_rows.rows, many, bodies, plan.h[k] * plan.substeps[k], root, sums,
        )  # fmt: skip
        store_rows(
            0, size, table.role[lo:hi], table.center[lo:hi], bodies, farthest, out.poses[lo:hi], table.velocity[lo:hi],
            table.angular_velocity[lo:hi], out.lost[lo:hi],
        )  # fmt: skip
        for i in range(size):
            out.touched[lo + i] = reals[i, TOUCHED]
            for c in range(3):
                out.acceleration[lo + i, c] = push[i, c]
