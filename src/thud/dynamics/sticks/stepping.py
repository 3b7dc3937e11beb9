"""A step: sub-steps of points, sticks and contacts, by a team of threads.

Members take equal parts of the points, of the sticks colour by colour and of the pairs chunk by chunk, and wait for each other
in between. Contacts are solved by one of them, in order. So the bytes do not depend on their number.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.dynamics.step_solver import part_of
from thud.dynamics.sticks.contacts import find_contacts, solve_contacts, sum_pushes
from thud.dynamics.sticks.holding import count_fails, find_fails, into_corridor, keep_apart
from thud.dynamics.sticks.relaxing import pull_springs, relax_sticks, slack_stick, solve_sticks
from thud.dynamics.sticks.tolerances import ALL_ROUNDS, PUSH_ROUNDS, SINGLE
from thud.dynamics.sticks.types import CONTACTS, CROSSED, DONE, FADE, HELD, OUTSIDE, PULL, PUSHES, H
from thud.dynamics.team import wait
from thud.math.vec3 import load3, sub


@device
def predict(points, rules, start, stop, along, passed):
    """Where points would be at the end of a sub-step if nothing but gravity acted, and how many leave their corridors. `along`,
    `passed`: parts of the step and of the corridors that are over then."""
    h, own, outside = rules[H], points.velocity.shape[0], 0
    for i in range(start, stop):
        for axis in range(3):
            if points.give[i] > 0.0 and i < own:
                speed = rules[FADE] * points.velocity[i, axis] + h * rules[PULL + axis]
                points.y[i, axis] = points.x[i, axis] + h * speed
            else:
                points.y[i, axis] = points.before[i, axis] + along * (points.after[i, axis] - points.before[i, axis])
        out, far2 = False, 0.0
        for axis in range(3):
            off = points.y[i, axis] - points.ref[i, axis] - passed * points.way[i, axis]
            out |= abs(off) > points.margin[i]
            far2 += off * off
        if i < own and points.give[i] > 0.0:
            outside += 1 if out else 0
            points.stray[i] = max(points.stray[i], np.float32(math.sqrt(far2) * (1.0 + SINGLE)))
    return outside


@device
def stay_in_corridors(points, start, stop, passed):
    """Points that something pushes stay where the pairs are good for."""
    for i in range(start, min(stop, points.velocity.shape[0])):
        if points.give[i] > 0.0:
            into_corridor(points, i, passed)
            note_stray(points, i, passed)


@device
def note_stray(points, i, passed):
    """By what a point is off its way at the end of a sub-step, if that is more than at its begin."""
    far2 = 0.0
    for axis in range(3):
        off = points.y[i, axis] - points.ref[i, axis] - passed * points.way[i, axis]
        far2 += off * off
    points.stray[i] = max(points.stray[i], np.float32(math.sqrt(far2) * (1.0 + SINGLE)))


@device
def note_strays(points, start, stop, passed):
    """The same after points were pushed."""
    for i in range(start, min(stop, points.velocity.shape[0])):
        if points.give[i] > 0.0:
            note_stray(points, i, passed)


@device
def finish(points, start, stop, h, passed):
    """Velocities from the ways; the end is the next begin."""
    for i in range(start, stop):
        points.stray[i] = np.float32(0.0)
        if i < points.velocity.shape[0] and points.give[i] > 0.0:
            note_stray(points, i, passed)
        for axis in range(3):
            if i < points.velocity.shape[0]:
                points.velocity[i, axis] = (points.y[i, axis] - points.x[i, axis]) / h
            points.x[i, axis] = points.y[i, axis]


@kernel(
    "i8, i8, i4[::1], stick_points, stick_net, stick_pairs, stick_room, f8[::1], f8[::1], i8, i8, i8, i8, f8[:,::1],"
    " i8[::1], i8[::1]"
)
def step_sticks(
    member, members, meeting, points, net, pairs, room, rules, friction, slides, substeps, until, iterations, pushes, votes,
    counts,
):  # fmt: skip
    """Sub-steps from counts[DONE] to `until`, by one member of a team; ends early where points leave their corridors."""
    h = rules[H]
    low, high = part_of(0, points.x.shape[0], member, members)
    first_stick, last_stick = part_of(0, net.rest.shape[0], member, members)
    first_chunk, last_chunk = part_of(0, room.contact_count.shape[0], member, members)
    colours = net.colours.shape[0] - 1
    begin = counts[DONE]
    for s in range(begin, until):
        passed = np.float64(s + 1 - begin) / np.float64(until - begin)
        votes[member] = predict(points, rules, low, high, np.float64(s + 1) / np.float64(substeps), passed)
        for k in range(first_stick, last_stick):
            net.tension[k] = 0.0
        wait(meeting, members)
        outside = 0
        for k in range(members):
            outside += votes[k]
        wait(meeting, members)
        if outside > 0 and s > begin:
            if member == 0:
                counts[OUTSIDE] += outside
            return
        if slides == 1:
            for c in range(colours):
                start, stop = part_of(net.colours[c], net.colours[c + 1], member, members)
                pull_springs(points, net, start, stop, h)
                wait(meeting, members)
        for chunk in range(first_chunk, last_chunk):
            find_contacts(points, pairs, room, rules, friction, chunk)
        wait(meeting, members)
        for _ in range(iterations):
            for c in range(colours):
                start, stop = part_of(net.colours[c], net.colours[c + 1], member, members)
                if slides == 1:
                    relax_sticks(points, net, start, stop)
                else:
                    solve_sticks(points, net, start, stop, h)
                wait(meeting, members)
            if member == 0:
                solve_contacts(points, pairs, room)
            wait(meeting, members)
        stay_in_corridors(points, low, high, passed)
        wait(meeting, members)
        if member == 0:
            counts[CONTACTS] = sum_pushes(points, pairs, room, rules, pushes)
        for turn in range(ALL_ROUNDS + 1):
            for chunk in range(first_chunk, last_chunk):
                find_fails(points, pairs, room, rules, chunk)
            wait(meeting, members)
            fails = count_fails(room)
            if fails == 0:
                break
            if member == 0:
                counts[PUSHES] += 1
                if turn == PUSH_ROUNDS:
                    counts[HELD] += fails
                if turn == 0:
                    room.stamp[:] = -1
                if turn == ALL_ROUNDS:
                    counts[CROSSED] += fails
                else:
                    keep_apart(points, pairs, room, turn, passed)
            wait(meeting, members)
            note_strays(points, low, high, passed)
            wait(meeting, members)
        finish(points, low, high, h, passed)
        if member == 0:
            counts[DONE] = s + 1
        wait(meeting, members)


@kernel("stick_points, stick_net, i8, f8, f8[::1], f8[::1]")
def stick_errors(points, net, slides, h, tear, error_out):
    """What sticks miss of their lengths, in rest lengths: (3,) greatest, mean, and the stick of the greatest. Those that are
    stretched beyond `tear` (K,) break; returns how many."""
    torn, worst, total, where, alive = 0, 0.0, 0.0, -1, 0
    for k in range(net.rest.shape[0]):
        if net.alive[k] == 0:
            continue
        d = sub(load3(points.x, net.ends[k, 1], 0), load3(points.x, net.ends[k, 0], 0))
        excess = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) - net.rest[k]
        if excess > tear[k] * net.rest[k]:
            net.alive[k] = 0
            torn += 1
            continue
        alive += 1
        if slack_stick(net.mode[k], excess) or (slides == 1 and net.compliance[k] > 0.0):
            continue
        error = abs(excess + net.compliance[k] / (h * h) * net.tension[k]) / net.rest[k]
        total += error
        if error > worst:
            worst, where = error, k
    error_out[0], error_out[1], error_out[2] = worst, total / max(alive, 1), np.float64(where)
    return torn
