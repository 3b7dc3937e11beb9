"""A step: sub-steps of points, sticks and contacts, by a team of threads.

Members take equal parts of the points, of the sticks colour by colour and of the chunks of pairs, and wait for each other in
between. Contacts are solved by one of them, in order. So the bytes do not depend on their number.

Near pairs are looked for in each sub-step, about where points are and are thought to be at its end. What sticks and contacts
then push farther off than a point's margin is looked at again: pairs of those points alone.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.dynamics.step_solver import part_of
from thud.dynamics.sticks.contacts import solve_contacts, sum_pushes
from thud.dynamics.sticks.corridors import leaf_moved, part_corridors, point_corridor, triangle_corridors
from thud.dynamics.sticks.holding import count_fails, find_fails, keep_apart
from thud.dynamics.sticks.relaxing import pull_springs, relax_sticks, slack_stick, solve_sticks
from thud.dynamics.sticks.search import look_at_bodies, look_within, new_desk
from thud.dynamics.sticks.tolerances import ALL_ROUNDS, FLOOR, PARTS, PUSH_ROUNDS, PUSHED_PART, SINGLE, SLACK, STRAY
from thud.dynamics.sticks.types import (
    BODY_GAP,
    CALM,
    CONTACTS,
    CROSSED,
    DONE,
    DRIFT,
    FADE,
    HELD,
    LOOKS,
    MOST,
    NEED,
    OUTSIDE,
    OWN_GAP,
    PULL,
    PUSHES,
    WATCH,
    H,
)
from thud.dynamics.team import take, wait
from thud.math.vec3 import load3, sub


@device
def moves_freely(points, i):
    """Whether a point is one of the sticks and not pinned."""
    return i < points.velocity.shape[0] and points.give[i] > 0.0


@device
def predict(points, rules, start, stop, along):
    """Where points would be at the end of a sub-step if nothing but gravity acted, their margins and corridors; how many leave
    their rooms. `along`: part of the step that is over then."""
    h, outside = rules[H], 0
    reach, least = 0.5 * (1.0 + SLACK) * rules[OWN_GAP], 0.5 * FLOOR * rules[OWN_GAP]
    for i in range(start, stop):
        free = moves_freely(points, i)
        out = False
        for axis in range(3):
            if free:
                speed = rules[FADE] * points.velocity[i, axis] + h * rules[PULL + axis]
                points.y[i, axis] = points.x[i, axis] + h * speed
                out |= points.y[i, axis] < points.low[i, axis] or points.y[i, axis] > points.high[i, axis]
            else:
                points.y[i, axis] = points.before[i, axis] + along * (points.after[i, axis] - points.before[i, axis])
            points.base[i, axis] = points.y[i, axis]
        outside += 1 if out else 0
        points.margin[i] = min(max(rules[DRIFT], STRAY * points.drift[i]), rules[MOST]) if free else 0.0
        points.stray[i], points.dirty[i] = np.float32(0.0), 0
        own = i < points.velocity.shape[0]
        # Where neighbours go different ways in each sub-step, what is known of their distances is soon out of date.
        points.watch[i] = np.float32(rules[WATCH]) if own and points.drift[i] < rules[CALM] else np.float32(0.0)
        if own:
            point_corridor(points, rules, i, reach, least)
        else:
            point_corridor(points, rules, i, max(0.0, (1.0 + SLACK) * rules[BODY_GAP] - reach), 0.0)
    return outside


@device
def stay_in_room(points, start, stop):
    """Points that something pushes stay where triangles of bodies are known."""
    for i in range(start, min(stop, points.velocity.shape[0])):
        if points.give[i] > 0.0:
            for axis in range(3):
                points.y[i, axis] = min(max(points.y[i, axis], points.low[i, axis]), points.high[i, axis])


@device
def note_strays(points, start, stop):
    """By how much points are off where they were thought to be; how many by more than their margins."""
    off = 0
    for i in range(start, min(stop, points.velocity.shape[0])):
        points.dirty[i] = 0
        if points.give[i] > 0.0:
            d = sub(load3(points.y, i, 0), load3(points.base, i, 0))
            far = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * (1.0 + SINGLE)
            points.stray[i] = np.float32(far * (1.0 + SINGLE))
            if far > points.margin[i]:
                points.dirty[i] = 1
                off += 1
    return off


@device
def think_again(points, rules, start, stop):
    """Points that are off go to where they are now, give or take a push."""
    gap = rules[OWN_GAP]
    for i in range(start, min(stop, points.velocity.shape[0])):
        if points.dirty[i] == 1:
            for axis in range(3):
                points.base[i, axis] = points.y[i, axis]
            points.margin[i], points.stray[i] = PUSHED_PART * gap, np.float32(0.0)
            point_corridor(points, rules, i, 0.0, 0.5 * FLOOR * gap)


@device
def sum_of(votes, members):
    """Of what all members have found."""
    total = 0
    for k in range(members):
        total += votes[k]
    return total


@device
def look(member, members, meeting, points, tree, room, desk, rules, triangles, itself, first):
    """Look for near pairs, of all that meets things if it is the `first` look of a sub-step, else of what is dirty. Returns the
    pairs or contacts of the fullest chunk if there was no room, else 0. Members must have met."""
    for part in range(member, PARTS, members):
        part_corridors(points, tree, part, first)
    if first:
        start, stop = part_of(0, triangles.body.shape[0], member, members)
        triangle_corridors(points, triangles, start, stop)
    wait(meeting, members)
    if member == 0:
        room.turn[0] = 0
    wait(meeting, members)
    bodies = PARTS if triangles.body.shape[0] > 0 else 0
    while True:
        chunk = take(room.turn)
        if chunk >= 2 * PARTS:
            break
        if first:
            room.pair_count[chunk], room.contact_count[chunk] = 0, 0
        if chunk < PARTS:
            if bodies > 0:
                look_at_bodies(points, tree, room, desk, rules, triangles, chunk, chunk, first)
        elif itself == 1:
            look_within(points, tree, room, desk, rules, triangles, chunk, chunk - PARTS, first)
    wait(meeting, members)
    most = 0
    for chunk in range(2 * PARTS):
        most = max(most, max(room.pair_count[chunk], room.contact_count[chunk]))
    return most if most > room.pair_kind.shape[1] else 0


@device
def finish(points, start, stop, h):
    """Velocities from the ways; the end is the next begin."""
    for i in range(start, stop):
        for axis in range(3):
            if i < points.velocity.shape[0]:
                points.velocity[i, axis] = (points.y[i, axis] - points.x[i, axis]) / h
            points.x[i, axis] = points.y[i, axis]


@device
def note_drifts(points, rules, start, stop):
    """How far points are from where they would be if nothing but gravity had acted."""
    h = rules[H]
    for i in range(start, min(stop, points.velocity.shape[0])):
        far2 = 0.0
        for axis in range(3):
            speed = rules[FADE] * points.velocity[i, axis] + h * rules[PULL + axis]
            off = points.y[i, axis] - points.x[i, axis] - h * speed
            far2 += off * off
        points.drift[i] = math.sqrt(far2)


@kernel(
    "i8, i8, i4[::1], stick_points, stick_net, stick_tree, stick_room, stick_triangles, f8[::1], i8, i8, i8, i8, i8[::1],"
    " i8[::1]"
)
def step_sticks(
    member, members, meeting, points, net, tree, room, triangles, rules, slides, itself, substeps, iterations, votes, counts,
):  # fmt: skip
    """Sub-steps from counts[DONE] to the last, by one member of a team; ends early where points leave their rooms, or where
    there is no room for what is found."""
    h, desk = rules[H], new_desk()
    low, high = part_of(0, points.x.shape[0], member, members)
    first_stick, last_stick = part_of(0, net.rest.shape[0], member, members)
    colours = net.colours.shape[0] - 1
    meets = itself == 1 or triangles.body.shape[0] > 0
    begin = counts[DONE]
    for s in range(begin, substeps):
        votes[member] = predict(points, rules, low, high, np.float64(s + 1) / np.float64(substeps))
        for k in range(first_stick, last_stick):
            net.tension[k] = 0.0
        wait(meeting, members)
        outside = sum_of(votes, members)
        wait(meeting, members)
        if outside > 0 and s > begin:
            if member == 0:
                counts[OUTSIDE] += outside
            return
        need = look(member, members, meeting, points, tree, room, desk, rules, triangles, itself, True) if meets else 0
        if need > 0:
            if member == 0:
                counts[NEED] = need
            return
        if slides == 1:
            for c in range(colours):
                start, stop = part_of(net.colours[c], net.colours[c + 1], member, members)
                pull_springs(points, net, start, stop, h)
                wait(meeting, members)
        for _ in range(iterations):
            for c in range(colours):
                start, stop = part_of(net.colours[c], net.colours[c + 1], member, members)
                if slides == 1:
                    relax_sticks(points, net, start, stop)
                else:
                    solve_sticks(points, net, start, stop, h)
                wait(meeting, members)
            if meets:
                if member == 0:
                    solve_contacts(points, room)
                wait(meeting, members)
        looks, held, pushes, crossed = 1, 0, 0, 0
        for turn in range(ALL_ROUNDS + 1):
            if not meets:
                break
            stay_in_room(points, low, high)
            votes[member] = note_strays(points, low, high)
            wait(meeting, members)
            off = sum_of(votes, members)
            wait(meeting, members)
            if off > 0:
                think_again(points, rules, low, high)
                wait(meeting, members)
                looks += 1
                need = look(member, members, meeting, points, tree, room, desk, rules, triangles, itself, False)
                if need > 0:
                    if member == 0:
                        counts[NEED] = need
                    return
            for chunk in range(member, 2 * PARTS, members):
                find_fails(points, room, rules, chunk)
            wait(meeting, members)
            fails = count_fails(room)
            if fails == 0:
                break
            pushes += 1
            if turn == PUSH_ROUNDS:
                held += fails
            if turn == ALL_ROUNDS:
                crossed += fails
            elif member == 0:
                if turn == 0:
                    room.stamp[:] = -1
                keep_apart(points, room, turn)
            wait(meeting, members)
        note_drifts(points, rules, low, high)
        if itself == 1:
            first_leaf, last_leaf = part_of(0, tree.move.shape[0], member, members)
            for leaf in range(first_leaf, last_leaf):
                leaf_moved(points, tree, leaf)
            wait(meeting, members)
        finish(points, low, high, h)
        if member == 0:
            counts[LOOKS] += looks
            counts[HELD] += held
            counts[PUSHES] += pushes
            counts[CROSSED] += crossed
            if meets:
                counts[CONTACTS] = sum_pushes(points, room, rules, triangles.pushes)
            counts[DONE] = s + 1
            tree.now[0] += 1
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
