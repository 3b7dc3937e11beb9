"""A step of the solver: sub-steps of joints and contacts, by a team of threads.

A step finds contacts once and divides its time into sub-steps of h seconds. Each one accelerates the bodies, applies the last
impulses again, solves joints and contacts with the push, moves the bodies, and solves both once more without the push. What
joints are off by is led back by velocities that bodies have only while they move.
Members of the team take equal parts of the bodies, and of the constraints colour by colour, and wait for each other in
between: the bytes do not depend on their number.
"""

from __future__ import annotations

from thud._core.decorators import device, kernel
from thud.dynamics.contact_solver import begin_groups, begin_patches, end_patches, restitute, solve_contacts, warm_contacts
from thud.dynamics.joint_solver import (
    lead_joints,
    leave_lead,
    place_joints,
    solve_joints,
    sum_joints,
    take_lead,
    warm_joints,
)
from thud.dynamics.solver_bodies import accelerate, begin_bodies, end_bodies, move
from thud.dynamics.solver_types import PATCH, POINT
from thud.dynamics.team import wait


@device
def part_of(start, stop, member, members):
    """The part of [start, stop) that a member has."""
    count = stop - start
    return start + count * member // members, start + count * (member + 1) // members


@kernel(inner="contact_list, i8[::1], i8[::1], i8, i8, contact_groups, i8[:,::1]")
def group_rows(patches, order, starts, colours, world_row, groups, lanes_out):
    """Which lane of which group each patch has, (P, 2): four by four in `order`, a new group for each of the colours. `starts`
    (colours + 1,): first place of each colour in `order`."""
    g, row = 0, 0
    for c in range(colours):
        groups.colours[c] = g
        for place in range(starts[c], starts[c + 1]):
            lane = (place - starts[c]) % 4
            if lane == 0 and place > starts[c]:
                g += 1
            p = order[place]
            lanes_out[p, 0], lanes_out[p, 1] = g, lane
            if lane == 0:
                # The first one of a group has the most points. Its room is made empty.
                groups.points[g], groups.first[g] = patches.rows[p, 3], row
                end = row + PATCH + POINT * patches.rows[p, 3]
                for k in range(row, end):
                    for lane_k in range(4):
                        groups.reals[k, lane_k] = 0.0
                row = end
                for k in range(4):
                    groups.rows[g, 0, k] = groups.rows[g, 1, k] = world_row
        if starts[c + 1] > starts[c]:
            g += 1
    groups.colours[colours] = g
    return g


@kernel("contact_list, i8[::1], i8[::1], i8, contact_groups, i8[:,::1]")
def group_patches(patches, order, starts, world_row, groups, lanes_out):
    """`group_rows` of one world."""
    return group_rows(patches, order, starts, starts.shape[0] - 1, world_row, groups, lanes_out)


@kernel(
    inner="solver_bodies, contact_groups, i8, contact_list, point_columns, i8[:,::1], i8, joint_rows, i8, f8[:,::1], f8, i8,"
    " f8, f8, f8, f8"
)
def solve_alone(
    bodies, groups, last, patches, points, lanes, many, joints, joined, soft, h, substeps, fastest, slop, threshold, share,
):  # fmt: skip
    """A whole step by one thread: the first `last` groups, `many` patches and `joined` joints. Groups and joints stand in the
    order of their colours, so that one thread goes through them in a row."""
    rows = bodies.reals.shape[0]
    begin_bodies(bodies, 0, rows)
    begin_patches(bodies, groups, lanes, patches, points, 0, many, soft)
    begin_groups(bodies, groups, 0, last)
    place_joints(bodies, joints, 0, joined, h)
    for _ in range(substeps):
        accelerate(bodies, 0, rows, h)
        warm_joints(bodies, joints, 0, joined)
        warm_contacts(bodies, groups, 0, last)
        solve_joints(bodies, joints, 0, joined, h, 1)
        solve_contacts(bodies, groups, 0, last, h, fastest, slop, 1)
        if joined > 0:
            lead_joints(bodies, joints, 0, joined, h)
            take_lead(bodies, 0, rows)
        move(bodies, 0, rows, h)
        place_joints(bodies, joints, 0, joined, h)
        leave_lead(bodies, joints, 0, joined)
        solve_joints(bodies, joints, 0, joined, h, 0)
        solve_contacts(bodies, groups, 0, last, h, fastest, slop, 0)
        sum_joints(bodies, joints, 0, joined)
    restitute(bodies, groups, 0, last, threshold)
    end_bodies(bodies, 0, rows)
    end_patches(groups, lanes, patches, points, 0, many, share)


@kernel(
    "i8, i8, i4[::1], solver_bodies, contact_groups, contact_list, point_columns, i8[:,::1], joint_rows, i8[::1], f8[:,::1],"
    " f8, i8, f8, f8, f8, f8"
)
def solve_step(
    member, members, meeting, bodies, groups, patches, points, lanes, joints, joint_colours, soft, h, substeps, fastest, slop,
    threshold, share,
):  # fmt: skip
    """A whole step, in place, by one member of a team: bodies, and the impulses of points and joints. `h`: seconds of a
    sub-step."""
    if members == 1:
        last = groups.colours[groups.colours.shape[0] - 1]
        solve_alone(
            bodies, groups, last, patches, points, lanes, lanes.shape[0], joints, joints.rows.shape[0], soft, h, substeps,
            fastest, slop, threshold, share,
        )  # fmt: skip
        return
    first, last = part_of(0, bodies.reals.shape[0], member, members)
    begin_bodies(bodies, first, last)
    wait(meeting, members)
    low, high = part_of(0, lanes.shape[0], member, members)
    begin_patches(bodies, groups, lanes, patches, points, low, high, soft)
    wait(meeting, members)
    low, high = part_of(0, groups.colours[groups.colours.shape[0] - 1], member, members)
    begin_groups(bodies, groups, low, high)
    low, high = part_of(0, joints.rows.shape[0], member, members)
    place_joints(bodies, joints, low, high, h)
    wait(meeting, members)
    colours, joint_many = groups.colours, joint_colours.shape[0] - 1
    many = colours.shape[0] - 1
    for _ in range(substeps):
        accelerate(bodies, first, last, h)
        wait(meeting, members)
        for c in range(joint_many):
            start, stop = part_of(joint_colours[c], joint_colours[c + 1], member, members)
            warm_joints(bodies, joints, start, stop)
            wait(meeting, members)
        for c in range(many):
            start, stop = part_of(colours[c], colours[c + 1], member, members)
            warm_contacts(bodies, groups, start, stop)
            wait(meeting, members)
        for c in range(joint_many):
            start, stop = part_of(joint_colours[c], joint_colours[c + 1], member, members)
            solve_joints(bodies, joints, start, stop, h, 1)
            wait(meeting, members)
        for c in range(many):
            start, stop = part_of(colours[c], colours[c + 1], member, members)
            solve_contacts(bodies, groups, start, stop, h, fastest, slop, 1)
            wait(meeting, members)
        for c in range(joint_many):
            start, stop = part_of(joint_colours[c], joint_colours[c + 1], member, members)
            lead_joints(bodies, joints, start, stop, h)
            wait(meeting, members)
        if joint_many > 0:
            take_lead(bodies, first, last)
        move(bodies, first, last, h)
        wait(meeting, members)
        start, stop = part_of(0, joints.rows.shape[0], member, members)
        place_joints(bodies, joints, start, stop, h)
        wait(meeting, members)
        for c in range(joint_many):
            start, stop = part_of(joint_colours[c], joint_colours[c + 1], member, members)
            leave_lead(bodies, joints, start, stop)
            wait(meeting, members)
        for k in range(joint_many):
            c = joint_many - 1 - k
            start, stop = part_of(joint_colours[c], joint_colours[c + 1], member, members)
            solve_joints(bodies, joints, start, stop, h, 0)
            wait(meeting, members)
        for c in range(many):
            start, stop = part_of(colours[c], colours[c + 1], member, members)
            solve_contacts(bodies, groups, start, stop, h, fastest, slop, 0)
            wait(meeting, members)
        start, stop = part_of(0, joints.rows.shape[0], member, members)
        sum_joints(bodies, joints, start, stop)
    for c in range(many):
        start, stop = part_of(colours[c], colours[c + 1], member, members)
        restitute(bodies, groups, start, stop, threshold)
        wait(meeting, members)
    wait(meeting, members)
    end_bodies(bodies, first, last)
    low, high = part_of(0, lanes.shape[0], member, members)
    end_patches(groups, lanes, patches, points, low, high, share)
