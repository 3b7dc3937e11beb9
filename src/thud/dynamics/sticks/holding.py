"""What nothing can pass: the last word of a sub-step.

After the solver each pair must still be on both sides of its plane (`planes.py`). A pair that is not is pushed apart; what
still fails is held back, point by point, and in the end stays where it was at the begin, where all pairs were apart. So no
pair of cloth passes another, and none passes a body that stands still. Bodies that move cannot be held back: a pair that a body
moves through is pushed, and if there is no room for it, counted.
"""

from __future__ import annotations

from thud._core.decorators import device
from thud.dynamics.sticks.contacts import kept_gap, most_stray
from thud.dynamics.sticks.planes import gap_along, pair_plane, ways_apart
from thud.dynamics.sticks.tolerances import FLOOR, HOLD, HOLD_ROUNDS, PUSH_ROUNDS
from thud.dynamics.sticks.types import FACE
from thud.math.vec3 import dot, load3

#: In `Room.stamp`: a body pushes the point.
PUSHED = -2


@device
def find_fails(points, room, rules, chunk):
    """Pairs of one chunk that would pass each other, or come closer than the least gap."""
    found = 0
    x, y = points.x, points.y
    for p in range(room.pair_count[chunk]):
        kind, four = room.pair_kind[chunk, p], room.pair_points[chunk, p]
        i, j, k, m = four[0], four[1], four[2], four[3]
        least = FLOOR * kept_gap(rules, room.pair_body[chunk, p])
        if room.pair_slack[chunk, p] - most_stray(points.stray, kind, i, j, k, m) > least:
            continue
        x0, x1, x2, x3 = load3(x, i, 0), load3(x, j, 0), load3(x, k, 0), load3(x, m, 0)
        y0, y1, y2, y3 = load3(y, i, 0), load3(y, j, 0), load3(y, k, 0), load3(y, m, 0)
        if ways_apart(kind, x0, x1, x2, x3, y0, y1, y2, y3, least):
            continue
        distance, n, _w0, _w1, _w2, _w3 = pair_plane(kind, x0, x1, x2, x3)
        least = min(least, 0.5 * distance)
        if distance == 0.0 or gap_along(kind, n, y0, y1, y2, y3) >= least:
            continue
        row = room.fail[chunk, found]
        row[0], row[1], row[2], row[3] = n[0], n[1], n[2], least
        room.fail_pair[chunk, found] = p
        found += 1
    room.fail_count[chunk] = found


@device
def count_fails(room):
    """Of all chunks."""
    total = 0
    for chunk in range(room.fail_count.shape[0]):
        total += room.fail_count[chunk]
    return total


@device
def can_stay(points, room, i):
    """Whether a point may be held back: neither one of a body, nor pinned, nor pushed by a body that moves."""
    return points.give[i] > 0.0 and room.stamp[i] != PUSHED


@device
def part_two(points, room, n, least, a, b):
    """Push point a of A and point b of B apart along n to the least gap; one that a body pushes does not give way to others."""
    y, give = points.y, points.give
    lack = least - dot(n, load3(y, a, 0)) + dot(n, load3(y, b, 0))
    give_a, give_b = give[a], give[b]
    if give_a > 0.0 and give_b > 0.0 and (room.stamp[a] == PUSHED) != (room.stamp[b] == PUSHED):
        give_a, give_b = (0.0, give_b) if room.stamp[a] == PUSHED else (give_a, 0.0)
    whole = give_a + give_b
    if lack <= 0.0 or whole == 0.0:
        return
    up, down = lack * give_a / whole, lack * give_b / whole
    for axis in range(3):
        y[a, axis] += up * n[axis]
        y[b, axis] -= down * n[axis]


@device
def would_stay_clear(points, room, kind, n, least, i, j, k, m):
    """Whether the two are apart if all that can be held back stays where it was."""
    x, y = points.x, points.y
    p0 = load3(x, i, 0) if can_stay(points, room, i) else load3(y, i, 0)
    p1 = load3(x, j, 0) if can_stay(points, room, j) else load3(y, j, 0)
    p2 = load3(x, k, 0) if can_stay(points, room, k) else load3(y, k, 0)
    p3 = load3(x, m, 0) if can_stay(points, room, m) else load3(y, m, 0)
    return gap_along(kind, n, p0, p1, p2, p3) >= least


@device
def hold_back(points, room, i, turn):
    """Part of a point's way, once a round; at last nothing of it."""
    if not can_stay(points, room, i) or room.stamp[i] == turn:
        return
    room.stamp[i] = turn
    part = HOLD if turn < PUSH_ROUNDS + HOLD_ROUNDS else 0.0
    for axis in range(3):
        points.y[i, axis] = points.x[i, axis] + part * (points.y[i, axis] - points.x[i, axis])


@device
def push_ahead(points, room, i):
    """From now on a point is not held back."""
    if points.give[i] > 0.0:
        room.stamp[i] = PUSHED


@device
def keep_apart(points, room, turn):
    """One round over the pairs that fail."""
    for chunk in range(room.fail_count.shape[0]):
        for place in range(room.fail_count[chunk]):
            p, row = room.fail_pair[chunk, place], room.fail[chunk, place]
            n, least = (row[0], row[1], row[2]), row[3]
            kind, four = room.pair_kind[chunk, p], room.pair_points[chunk, p]
            i, j, k, m = four[0], four[1], four[2], four[3]
            if turn >= PUSH_ROUNDS and would_stay_clear(points, room, kind, n, least, i, j, k, m):
                hold_back(points, room, i, turn)
                hold_back(points, room, j, turn)
                hold_back(points, room, k, turn)
                hold_back(points, room, m, turn)
                continue
            if turn >= PUSH_ROUNDS and room.pair_body[chunk, p] >= 0:
                # A body moves into it: from now on what it pushes goes ahead of it, and others make room.
                push_ahead(points, room, i)
                push_ahead(points, room, j)
                push_ahead(points, room, k)
                push_ahead(points, room, m)
            # A little more than is needed: others push too.
            more = 1.5 * least
            if kind == FACE:
                part_two(points, room, n, more, i, j)
                part_two(points, room, n, more, i, k)
                part_two(points, room, n, more, i, m)
            else:
                part_two(points, room, n, more, i, k)
                part_two(points, room, n, more, i, m)
                part_two(points, room, n, more, j, k)
                part_two(points, room, n, more, j, m)
