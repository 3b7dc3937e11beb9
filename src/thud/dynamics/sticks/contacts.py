"""Contacts of a sub-step: pairs that would come closer than the kept gap, and what pushes them apart, with friction."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device
from thud.dynamics.sticks.tolerances import RECOVERY
from thud.dynamics.sticks.types import (
    APPROACH,
    BODY_GAP,
    FACE,
    FASTEST,
    FELT,
    GIVE,
    GOAL,
    GRIP,
    NORMAL,
    OWN_FRICTION,
    OWN_GAP,
    PRESS,
    RUB,
    STRUCK,
    STRUCK_TWIST,
    TWIST,
    WEIGHT,
    H,
)
from thud.math.vec3 import add, add_scaled, cross, dot, load3, norm, scale, sub


@device
def kept_gap(rules, body):
    """Between surfaces of cloth, or to bodies."""
    return rules[BODY_GAP] if body >= 0 else rules[OWN_GAP]


@device
def most_stray(by, kind, i, j, k, m):
    """How much nearer to each other two may be if each point is off by its own of `by`."""
    a, b, c, d = by[i], by[j], by[k], by[m]
    if kind == FACE:
        return a + max(b, max(c, d))
    return max(a, b) + max(c, d)


@device
def put_contact(points, room, rules, triangles, chunk, found, i, j, k, m, body, distance, n, w0, w1, w2, w3):
    """One more contact of a chunk, if something can give way and if there is room; returns how many there are. The plane
    between the two is that of the begin of the sub-step."""
    x, y, h = points.x, points.y, rules[H]
    give = w0 * w0 * points.give[i] + w1 * w1 * points.give[j] + w2 * w2 * points.give[k] + w3 * w3 * points.give[m]
    if give == 0.0:
        return found
    if found >= room.contact_body.shape[1]:
        return found + 1
    row, four = room.contact[chunk, found], room.contact_points[chunk, found]
    four[0], four[1], four[2], four[3] = i, j, k, m
    room.contact_body[chunk, found] = body
    for axis in range(3):
        row[NORMAL + axis] = n[axis]
        row[RUB + axis] = 0.0
    row[WEIGHT], row[WEIGHT + 1], row[WEIGHT + 2], row[WEIGHT + 3] = w0, w1, w2, w3
    gap = kept_gap(rules, body)
    row[GOAL] = min(gap, distance + RECOVERY * gap * h)
    row[PRESS] = 0.0
    row[GRIP] = triangles.friction[body] if body >= 0 else rules[OWN_FRICTION]
    row[GIVE] = give
    # The velocities with which they came: what a body feels of an impact is limited by them.
    u0, u1 = sub(load3(y, i, 0), load3(x, i, 0)), sub(load3(y, j, 0), load3(x, j, 0))
    u2, u3 = sub(load3(y, k, 0), load3(x, k, 0)), sub(load3(y, m, 0), load3(x, m, 0))
    row[APPROACH] = max(-(w0 * dot(n, u0) + w1 * dot(n, u1) + w2 * dot(n, u2) + w3 * dot(n, u3)) / h, 0.0)
    return found + 1


@device
def moved(y, give, index, push, part):
    """Point `index` by a push, as its mass and its part in the contact allow."""
    s = give[index] * part
    y[index, 0] += s * push[0]
    y[index, 1] += s * push[1]
    y[index, 2] += s * push[2]


@device
def solve_contacts(points, room):
    """All contacts once, one after the other: those with bodies, which are the first chunks, have the last word."""
    x, y, give = points.x, points.y, points.give
    for chunk in range(room.contact_count.shape[0] - 1, -1, -1):
        for place in range(room.contact_count[chunk]):
            row, four = room.contact[chunk, place], room.contact_points[chunk, place]
            i, j, k, m = four[0], four[1], four[2], four[3]
            n = (row[NORMAL], row[NORMAL + 1], row[NORMAL + 2])
            w0, w1, w2, w3 = row[WEIGHT], row[WEIGHT + 1], row[WEIGHT + 2], row[WEIGHT + 3]
            y0, y1, y2, y3 = load3(y, i, 0), load3(y, j, 0), load3(y, k, 0), load3(y, m, 0)
            gap = w0 * dot(n, y0) + w1 * dot(n, y1) + w2 * dot(n, y2) + w3 * dot(n, y3)
            before = row[PRESS]
            press = max(before + (row[GOAL] - gap) / row[GIVE], 0.0)
            if press == 0.0 and before == 0.0:
                continue
            row[PRESS] = press
            push = scale(n, press - before)
            if row[GRIP] > 0.0:
                # How far the two have slid past each other in this sub-step, without what this contact has done so far.
                slid = scale(sub(y0, load3(x, i, 0)), w0)
                slid = add_scaled(slid, sub(y1, load3(x, j, 0)), w1)
                slid = add_scaled(slid, sub(y2, load3(x, k, 0)), w2)
                slid = add_scaled(slid, sub(y3, load3(x, m, 0)), w3)
                slid = add_scaled(slid, n, -dot(slid, n))
                old = (row[RUB], row[RUB + 1], row[RUB + 2])
                rub = add_scaled(old, slid, -1.0 / row[GIVE])
                size, most = norm(rub), row[GRIP] * press
                if size > most:
                    rub = scale(rub, most / size)
                row[RUB], row[RUB + 1], row[RUB + 2] = rub
                push = add(push, sub(rub, old))
            moved(y, give, i, push, w0)
            moved(y, give, j, push, w1)
            moved(y, give, k, push, w2)
            moved(y, give, m, push, w3)


@device
def sum_pushes(points, room, rules, pushes):
    """What bodies feel of the contacts of a sub-step. Returns the number of contacts that press."""
    pressing = 0
    h = rules[H]
    for chunk in range(room.contact_count.shape[0]):
        for place in range(room.contact_count[chunk]):
            row, four = room.contact[chunk, place], room.contact_points[chunk, place]
            if row[PRESS] == 0.0:
                continue
            pressing += 1
            b = room.contact_body[chunk, place]
            if b < 0:
                continue
            # The closest point of the body: its corners have the weights of one sign.
            at, whole = (0.0, 0.0, 0.0), 0.0
            on_body = 0.0
            for c in range(4):
                q, w = four[c], abs(row[WEIGHT + c])
                if q >= points.velocity.shape[0]:
                    at = add_scaled(at, load3(points.y, q, 0), w)
                    whole += w
                    on_body = row[WEIGHT + c] if w > 0.0 else on_body
            if whole > 0.0:
                at = scale(at, 1.0 / whole)
            # The push on A is along n; the body is A if its weights are positive.
            s = (1.0 if on_body > 0.0 else -1.0) / h
            n = (row[NORMAL], row[NORMAL + 1], row[NORMAL + 2])
            struck = min(row[PRESS], h * row[APPROACH] / row[GIVE])
            j = scale((
                n[0] * (row[PRESS] - struck) + row[RUB], n[1] * (row[PRESS] - struck) + row[RUB + 1],
                n[2] * (row[PRESS] - struck) + row[RUB + 2],
            ), s)  # fmt: skip
            hit = scale(n, s * struck)
            twist, hit_twist = cross(at, j), cross(at, hit)
            for axis in range(3):
                pushes[b, FELT + axis] += j[axis]
                pushes[b, TWIST + axis] += twist[axis]
                pushes[b, STRUCK + axis] += hit[axis]
                pushes[b, STRUCK_TWIST + axis] += hit_twist[axis]
            pushes[b, FASTEST] = max(pushes[b, FASTEST], row[APPROACH])
    return np.int64(pressing)
