"""Temporal coherence of two trees: the front of the last frame's walk, and how near the triangles behind it may be.

A walk of two trees opens pairs of nodes; the pairs at which it stops are its *front* (Li and Chen 1998, "Incremental 3D
collision detection with hierarchical data structures"; Ehmann and Lin 2001 keep it for distances). Here the opened pairs
are kept, in the order in which the walk opens them. Opening looks at eight children at once, so one entry stands for
eight pairs, of which those that were opened in turn follow it and the others are the front.

Beside the place, an entry keeps how near the triangles behind its part of the front may be. From frame to frame no point of B
moves farther, relative to A, than m = |dt + dR c| + |dR| rho (c, rho: centre and radius of B's root box). So with T the sum
of all m, a bound g of the time of T0 is still one of g - (T - T0), and what is kept is g + T0, to be compared with T. Where it
says enough the entry is passed over; where not, the eight boxes are tested again, and the walk goes down where they are now
near and drops what lies below those that are not (the front rises). What is asked by walks from the root (`mesh_mesh.py`,
`distance.py`) is asked here of a subset of the same triangle pairs, which holds all that can decide: the answers are equal.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel, view_device
from thud._core.simd_boxes import lowest_bit
from thud.constants import FRONT_REST, FRONT_RETESTS, FRONT_RISE, TOUCH, TREE_LEVELS
from thud.mesh.box_tree import F, U
from thud.mesh.distance import begin_nearest, comes_first, gap_frames, gaps_of_children, leaf_gap, load_obb
from thud.mesh.mesh_mesh import triangle_pair
from thud.mesh.tolerances import BOUND_ROUNDING, BOX_SLACK, FRONT_ROUNDING, GAP_ROUNDING
from thud.mesh.trees import FrontSpace

#: What a walk of the front asks for: whether any triangles meet, the nearest, or all that meet.
MEET, NEAREST, ALL_PAIRS = 0, 1, 2

#: Columns of an entry's whole numbers: slots of the two trees, entry of the parent, number of entries from this one on that
#: lie below it (with itself).
SLOT_A, SLOT_B, PARENT, SPAN = 0, 1, 2, 3

#: Columns of its bounds, both as distance + way travelled: of the children that have no entry, and of all below.
OWN, LOW = 0, 1

#: Columns of a row's state: R and t of B's tree in the frame of A's, and the way travelled, when the bounds were last made.
TRAVELLED = 12

#: Entries that wait: eight a level of both trees. Each is an entry of the old front or -1, two slots, the parent's new entry.
WAITING = 16 * TREE_LEVELS

#: In place of a number of triangle pairs: the front says too little to be of use, the walk is to begin at the root.
GAVE_UP = -1

#: In place of a parent: the root has none; the entry above was not kept.
NO_PARENT, NOT_KEPT = -1, -2


@device
def way_since(state, row, r, t, box):
    """Upper bound of the way of any point of B's root box, in the frame of A's tree, since the pose in `state`."""
    d0, d1, d2 = r[0] - state[row, 0], r[1] - state[row, 1], r[2] - state[row, 2]
    d3, d4, d5 = r[3] - state[row, 3], r[4] - state[row, 4], r[5] - state[row, 5]
    d6, d7, d8 = r[6] - state[row, 6], r[7] - state[row, 7], r[8] - state[row, 8]
    c0, c1, c2 = np.float64(box[9]), np.float64(box[10]), np.float64(box[11])
    x = t[0] - state[row, 9] + d0 * c0 + d1 * c1 + d2 * c2
    y = t[1] - state[row, 10] + d3 * c0 + d4 * c1 + d5 * c2
    z = t[2] - state[row, 11] + d6 * c0 + d7 * c1 + d8 * c2
    # The difference of two rotations has singular values s, s, 0: its norm is that of Frobenius over sqrt(2).
    turn = math.sqrt(
        (0.5 + BOUND_ROUNDING) * (d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7 + d8 * d8)
    )
    radius = math.sqrt(np.float64(box[12]) ** 2 + np.float64(box[13]) ** 2 + np.float64(box[14]) ** 2)
    return math.sqrt(x * x + y * y + z * z) + turn * radius


@device
def far_from_use(bounds, row, length, passed):
    """Whether so many entries' bounds are below `passed` that a walk from the root costs less."""
    below = 0
    for k in range(length):
        below += 1 if bounds[row, k, OWN] <= passed else 0
    return below > FRONT_RETESTS * length + 8.0


@view_device
def new_front_space(capacity):
    """For fronts of so many entries."""
    return FrontSpace(
        np.empty((capacity, 4), np.int32),
        np.empty((capacity, 2)),
        np.empty((WAITING, 4), np.int64),
        np.empty(WAITING, np.float32),
        np.empty(8, np.float32),
        np.empty(8, np.int64),
    )


@device
def lower_bound(space, entry, bound):
    """The triangles behind a new entry's part of the front may be as near as this."""
    if entry >= 0:
        space.bounds[entry, OWN] = space.bounds[entry, LOW] = min(space.bounds[entry, OWN], bound)


@device
def set_bound(space, entry, bound):
    """How near they may be, if the entry is kept."""
    if entry >= 0:
        space.bounds[entry, OWN] = space.bounds[entry, LOW] = bound


@device
def add_entry(space, count, i, j, parent):
    """A pair of slots is opened: (its new entry, or NOT_KEPT, number of entries)."""
    if parent == NOT_KEPT or count >= space.entries.shape[0]:
        return np.int64(NOT_KEPT), count
    space.entries[count, SLOT_A], space.entries[count, SLOT_B] = i, j
    space.entries[count, PARENT], space.entries[count, SPAN] = parent, 1
    return np.int64(count), count + 1


@device
def copy_entries(fronts, row, old, parent, space, count):
    """An entry of the old front and all below it come to stand under a new parent. Returns the number of entries, which stays
    the same if there is no room."""
    span = np.int64(fronts.entries[row, old, SPAN])
    if parent == NOT_KEPT or count + span > space.entries.shape[0]:
        return count
    shift = count - old
    for k in range(old, old + span):
        n = k + shift
        space.entries[n, SLOT_A], space.entries[n, SLOT_B] = fronts.entries[row, k, SLOT_A], fronts.entries[row, k, SLOT_B]
        space.entries[n, PARENT], space.entries[n, SPAN] = fronts.entries[row, k, PARENT] + shift, 1
        space.bounds[n, OWN] = space.bounds[n, LOW] = fronts.bounds[row, k, OWN]
    space.entries[count, PARENT] = parent
    return count + span


@device
def push_known(fronts, row, old, entry, space, depth):
    """The children of an old entry wait. Returns the new depth."""
    k, end = old + 1, old + fronts.entries[row, old, SPAN]
    while k < end:
        space.waiting[depth, 0], space.waiting[depth, 3], space.gap[depth] = k, entry, F(0.0)
        space.waiting[depth, 1], space.waiting[depth, 2] = fronts.entries[row, k, SLOT_A], fronts.entries[row, k, SLOT_B]
        depth += 1
        k += fronts.entries[row, k, SPAN]
    return depth


@device
def push_near(space, entry, i, j, near, base, open_a, depth):
    """Children of a pair (i, j) wait, those of the mask `near`, the nearer on top. Returns the new depth."""
    waiting, gap = space.waiting, space.gap
    bottom = depth
    while near != 0:
        lane = np.int64(lowest_bit(near))
        near &= near - np.uint32(1)
        away = F(math.sqrt(space.lanes[lane]) * F(1.0 - BOUND_ROUNDING))
        at = depth
        while at > bottom and gap[at - 1] < away:
            gap[at] = gap[at - 1]
            for column in range(4):
                waiting[at, column] = waiting[at - 1, column]
            at -= 1
        gap[at], waiting[at, 0], waiting[at, 3] = away, space.kid[lane], entry
        waiting[at, 1], waiting[at, 2] = (base + lane, j) if open_a else (i, base + lane)
        depth += 1
    return depth


@device
def find_kids(fronts, row, old, base, open_a, kid):
    """Entries of the old front, or -1, for the eight children of a pair."""
    for lane in range(8):
        kid[lane] = -1
    if old >= 0:
        k, end = old + 1, old + fronts.entries[row, old, SPAN]
        while k < end:
            kid[fronts.entries[row, k, SLOT_A if open_a else SLOT_B] - base] = k
            k += fronts.entries[row, k, SPAN]


@device
def nearest_left_out(lanes, near):
    """How near the children that are not in the mask `near` may be."""
    far2 = F(math.inf)
    for lane in range(8):
        if (near >> np.uint32(lane)) & np.uint32(1) == 0:
            far2 = min(far2, lanes[lane])
    return math.sqrt(np.float64(far2)) * (1.0 - BOUND_ROUNDING)


@device
def keep_front(fronts, row, space, count, r, t, travelled):
    """Sum up spans and bounds from the last entry to the first, and write the new front of a row."""
    entries, bounds = space.entries, space.bounds
    for k in range(count - 1, -1, -1):
        parent = entries[k, PARENT]
        if parent >= 0:
            entries[parent, SPAN] += entries[k, SPAN]
            bounds[parent, LOW] = min(bounds[parent, LOW], bounds[k, LOW])
        for column in range(4):
            fronts.entries[row, k, column] = entries[k, column]
        fronts.bounds[row, k, OWN], fronts.bounds[row, k, LOW] = bounds[k, OWN], bounds[k, LOW]
    fronts.length[row] = count
    for k in range(9):
        fronts.state[row, k] = r[k]
    for k in range(3):
        fronts.state[row, 9 + k] = t[k]
    fronts.state[row, TRAVELLED] = travelled


@kernel(
    inner="i8, obb_tree, obb_tree, mat3, vec3, f8, UniTuple(i8, 2), i8, tree_fronts, front_space, i8, i8[:,::1]",
)
def walk_front(query, tree_a, tree_b, r, t, reach, guess, row, fronts, space, filled, pairs_out):
    """(triangle pairs that meet, distance2, point of A, point of B, tree positions, box tests), from the front of `row`.

    query MEET: ends at the first pair that meets, whose positions it returns. NEAREST: the closest pair no farther than
    `reach`, as `walk_distance` finds it, `guess` being one to begin with; ends with 1 if a pair meets, for the walk from the
    root to decide. ALL_PAIRS: all that meet, to pairs_out from row `filled` on as far as it reaches. Where it ends early the
    front stays as it was. One that says too little is made anew; NEAREST returns GAVE_UP instead, as a walk from the root that
    keeps nothing is faster.
    """
    corners_a, corners_b, waiting, gap = tree_a.corners, tree_b.corners, space.waiting, space.gap
    size, frames = gap_frames(tree_a, tree_b, r, t)
    touch, slack = TOUCH * size, F(BOX_SLACK * size)
    zero = (0.0, 0.0, 0.0)
    best2, on_a, on_b, at_a, at_b = 0.0, zero, zero, np.int64(-1), np.int64(-1)
    tests, found = np.int64(0), np.int64(0)
    if query == NEAREST:
        meets, best2, on_a, on_b, at_a, at_b = begin_nearest(tree_a, tree_b, guess, r, t, reach, touch)
        if meets:
            return np.int64(1), 0.0, on_a, on_b, at_a, at_b, tests
    limit = math.sqrt(best2) * (1.0 + BOUND_ROUNDING)
    travelled, first = 0.0, np.int64(-1)
    if fronts.length[row] > 0:
        moved = way_since(fronts.state, row, r, t, load_obb(tree_b.obbs, U(0)))
        travelled, first = fronts.state[row, TRAVELLED] + moved + FRONT_ROUNDING * size, np.int64(0)
        if fronts.bounds[row, 0, LOW] - travelled > limit:
            # Nothing can have come near; the front stands as it is.
            return found, best2, on_a, on_b, at_a, at_b, tests
        if far_from_use(fronts.bounds, row, fronts.length[row], travelled + limit):
            if query == NEAREST:
                fronts.length[row] = -FRONT_REST
                return np.int64(GAVE_UP), 0.0, on_a, on_b, at_a, at_b, tests
            travelled, first = 0.0, np.int64(-1)
    gap[0] = F(0.0)
    count, depth = np.int64(0), np.int64(1)
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = first, 0, 0, NO_PARENT
    while depth > 0:
        depth -= 1
        old, i, j, parent = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2], waiting[depth, 3]
        known, apart = False, np.float64(gap[depth])
        if apart > limit:
            # A nearer pair was found since it was put here.
            lower_bound(space, parent, travelled + apart)
            continue
        if old >= 0:
            low = fronts.bounds[row, old, LOW]
            if low - travelled > limit:
                # Far enough with all that is below: kept, or if there is no room cut at the parent.
                more = copy_entries(fronts, row, old, parent, space, count)
                if more == count:
                    lower_bound(space, parent, low)
                count = more
                continue
            apart = max(apart, low - travelled)
            known = fronts.bounds[row, old, OWN] - travelled > limit
        down_a, down_b = tree_a.child[i], tree_b.child[j]
        entry, count = add_entry(space, count, i, j, parent)
        if entry < 0:
            lower_bound(space, parent, travelled)
        if down_a < 0 and down_b < 0:
            here_a, here_b, own = -1 - down_a, -1 - down_b, travelled
            if apart <= 0.0 and triangle_pair(corners_a, corners_b, U(here_a), U(here_b), r, t, touch):
                if query != ALL_PAIRS:
                    return found + 1, 0.0, on_a, on_b, here_a, here_b, tests
                if filled + found < pairs_out.shape[0]:
                    pairs_out[filled + found, 0], pairs_out[filled + found, 1] = here_a, here_b
                found += 1
            elif entry >= 0 or query == NEAREST:
                found2, x, y = leaf_gap(corners_a, corners_b, U(here_a), U(here_b), r, t, math.inf)
                own += math.sqrt(found2) * (1.0 - GAP_ROUNDING) - slack
                if query == NEAREST and comes_first(found2, here_a, here_b, best2, at_a, at_b):
                    best2, on_a, on_b, at_a, at_b = found2, x, y, here_a, here_b
                    limit = math.sqrt(best2) * (1.0 + BOUND_ROUNDING)
            set_bound(space, entry, own)
            continue
        if known:
            # The same children as before are near, and have entries.
            set_bound(space, entry, fronts.bounds[row, old, OWN])
            depth = push_known(fronts, row, old, entry, space, depth)
            continue
        tests += 1
        near, base, open_a, extent = gaps_of_children(tree_a, tree_b, U(i), U(j), frames, best2, space.lanes)
        if entry >= 0:
            far = nearest_left_out(space.lanes, near)
            set_bound(space, entry, travelled + far)
            if near == 0 and far - limit > FRONT_RISE * np.float64(extent):
                # All eight are well away, so the two that were opened may be: they are tested again in the next frame.
                lower_bound(space, parent, travelled)
        find_kids(fronts, row, old, np.int64(base), open_a, space.kid)
        depth = push_near(space, entry, i, j, near, np.int64(base), open_a, depth)
    keep_front(fronts, row, space, count, r, t, travelled)
    return found, best2, on_a, on_b, at_a, at_b, tests
