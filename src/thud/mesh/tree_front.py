"""Temporal coherence of two trees: the front of the last frame's walk, and how near the triangles behind it may be.

A walk of two trees opens pairs of nodes; the pairs at which it stops are its *front* (Li and Chen 1998, "Incremental 3D
collision detection with hierarchical data structures"; Ehmann and Lin 2001 keep it for distances). Here the opened pairs
are kept, in the order in which the walk opens them. Opening looks at eight children at once, so one entry stands for
eight pairs, of which those that were opened in turn follow it and the others are the front.

Beside the place, an entry keeps how near the triangles behind its part of the front may be. From frame to frame no point of B
moves farther, relative to A, than m = |dt + dR c| + |dR| rho (c, rho: centre and radius of B's root box). So with T the sum
of all m, a bound g of the time of T0 is still one of g - (T - T0), and what is kept is g + T0, to be compared with T. Where it
says enough the entry is passed over; where not, the eight boxes are tested again, and the walk goes down where they are now
near and drops what lies below those that are not (the front rises). What is asked by walks from the root (`mesh_mesh`,
`mesh_distance`) is asked here of a subset of the same triangle pairs, which holds all that can decide: the answers are equal.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import lowest_bit, obbs_gap8
from thud.constants import FRONT_REST, FRONT_RETESTS, FRONT_RISE, TOUCH, TREE_LEVELS, UNIT_ROUNDOFF
from thud.math.pose import transpose, unrotate
from thud.mesh.box_tree import U
from thud.mesh.distance import gap_query, leaf_gap, load_obb
from thud.mesh.mesh_mesh import F, single3, single9, triangle_pair
from thud.mesh.tolerances import BOX_SLACK

#: What a walk of the front asks for.
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
    turn = math.sqrt(0.5000001 * (d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7 + d8 * d8))
    radius = math.sqrt(np.float64(box[12]) ** 2 + np.float64(box[13]) ** 2 + np.float64(box[14]) ** 2)
    return math.sqrt(x * x + y * y + z * z) + turn * radius


@device
def far_from_use(bounds, row, length, passed):
    """Whether so many entries' bounds are below `passed` that a walk from the root costs less."""
    below = 0
    for k in range(length):
        below += 1 if bounds[row, k, OWN] <= passed else 0
    return below > FRONT_RETESTS * length + 8.0


@device
def keep_front(entries_out, bounds_out, length_out, row, entries, bounds, count):
    """Sum up spans and bounds from the last entry to the first, and write the new front of a row."""
    for k in range(count - 1, -1, -1):
        parent = entries[k, PARENT]
        if parent >= 0:
            entries[parent, SPAN] += entries[k, SPAN]
            bounds[parent, LOW] = min(bounds[parent, LOW], bounds[k, LOW])
        for column in range(4):
            entries_out[row, k, column] = entries[k, column]
        bounds_out[row, k, OWN], bounds_out[row, k, LOW] = bounds[k, OWN], bounds[k, LOW]
    length_out[row] = count


@kernel(
    inner="i8, f4[::1], i8[::1], f8[::1], f4[::1], i8[::1], f8[::1], mat3, vec3, f8, i8, i8, i8, i4[:,:,::1], f8[:,:,::1], "
    "f8[:,::1], i8[::1], i4[:,::1], f8[:,::1], i8[:,::1], f4[::1], f4[::1], i8[::1], i8, i8[:,::1]"
)
def walk_front(
    query,
    obbs_a,
    child_a,
    corners_a,
    obbs_b,
    child_b,
    corners_b,
    r,
    t,
    reach,
    guess_a,
    guess_b,
    row,
    entries_inout,
    bounds_inout,
    state_inout,
    length_inout,
    entries,
    bounds,
    waiting,
    gap,
    gap2,
    kid,
    filled,
    pairs_out,
):
    """(triangle pairs that meet, distance2, point of A, point of B, tree positions, box tests), from the front of `row`.

    query MEET: ends at the first pair that meets, whose positions it returns. NEAREST: the closest pair no farther than
    `reach`, as `walk_distance` finds it, `guess_a`, `guess_b` being one to begin with; ends with 1 if a pair meets, for
    the walk from the root to decide. ALL_PAIRS: all that meet, to pairs_out from row `filled` on as far as it reaches.
    Where it ends early the front stays as it was. One that says too little is made anew; NEAREST returns GAVE_UP instead, as a
    walk from the root that keeps nothing is faster. The arrays from `entries` to `kid` are work
    space (`gap`: of the entries that wait).
    """
    a, b = load_obb(obbs_a, U(0)), load_obb(obbs_b, U(0))
    size = 2.0 * np.float64(a[12] + a[13] + a[14] + b[12] + b[13] + b[14]) + abs(t[0]) + abs(t[1]) + abs(t[2])
    touch, slack = TOUCH * size, F(BOX_SLACK * size)
    r_ab, t_ab = single9(r), single3(t)
    r_ba = transpose(r_ab)
    back = unrotate(r, t)
    t_ba = F(-back[0]), F(-back[1]), F(-back[2])
    zero = (0.0, 0.0, 0.0)
    on_a, on_b, at_a, at_b = zero, zero, np.int64(-1), np.int64(-1)
    tests, found = np.int64(0), np.int64(0)
    best2 = 0.0
    if query == NEAREST:
        best2 = max(reach * reach * (1.0 + 1e-12), touch * touch)
        if triangle_pair(corners_a, corners_b, U(guess_a), U(guess_b), r, t, touch):
            return np.int64(1), 0.0, on_a, on_b, at_a, at_b, tests
        found2, x, y = leaf_gap(corners_a, corners_b, U(guess_a), U(guess_b), r, t, math.inf)
        if found2 < best2:
            best2, on_a, on_b, at_a, at_b = found2, x, y, np.int64(guess_a), np.int64(guess_b)
    limit = math.sqrt(best2) * (1.0 + 1e-6)
    capacity, old_length = entries.shape[0], length_inout[row]
    travelled, first = 0.0, np.int64(-1)
    if old_length > 0:
        travelled = state_inout[row, TRAVELLED] + way_since(state_inout, row, r, t, b) + 16.0 * UNIT_ROUNDOFF * size
        first = np.int64(0)
        if bounds_inout[row, 0, LOW] - travelled > limit:
            # Nothing can have come near; the front stands as it is.
            return found, best2, on_a, on_b, at_a, at_b, tests
        if far_from_use(bounds_inout, row, old_length, travelled + limit):
            if query == NEAREST:
                length_inout[row] = -FRONT_REST
                return np.int64(GAVE_UP), 0.0, on_a, on_b, at_a, at_b, tests
            travelled, first = 0.0, np.int64(-1)
    gap[0] = F(0.0)
    count, depth = np.int64(0), np.int64(1)
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = first, 0, 0, NO_PARENT
    while depth > 0:
        depth -= 1
        old, i, j, parent = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2], waiting[depth, 3]
        entry = np.int64(NOT_KEPT)
        known, apart = False, np.float64(gap[depth])
        if apart > limit:
            # A nearer pair was found since it was put here.
            if parent >= 0:
                bounds[parent, OWN] = bounds[parent, LOW] = min(bounds[parent, OWN], travelled + apart)
            continue
        if old >= 0:
            low = bounds_inout[row, old, LOW]
            span = np.int64(entries_inout[row, old, SPAN])
            if low - travelled > limit:
                # Far enough with all that is below: kept, or if there is no room cut at the parent.
                if parent != NOT_KEPT and count + span <= capacity:
                    shift = count - old
                    for k in range(old, old + span):
                        n = k + shift
                        entries[n, SLOT_A], entries[n, SLOT_B] = entries_inout[row, k, SLOT_A], entries_inout[row, k, SLOT_B]
                        entries[n, PARENT], entries[n, SPAN] = entries_inout[row, k, PARENT] + shift, 1
                        bounds[n, OWN] = bounds_inout[row, k, OWN]
                        bounds[n, LOW] = bounds_inout[row, k, OWN]
                    entries[count, PARENT] = parent
                    count += span
                elif parent >= 0:
                    bounds[parent, OWN] = min(bounds[parent, OWN], low)
                    bounds[parent, LOW] = bounds[parent, OWN]
                continue
            apart = max(apart, low - travelled)
            known = bounds_inout[row, old, OWN] - travelled > limit
        down_a, down_b = child_a[i], child_b[j]
        if parent != NOT_KEPT:
            if count < capacity:
                entry = count
                count += 1
                entries[entry, SLOT_A], entries[entry, SLOT_B] = i, j
                entries[entry, PARENT], entries[entry, SPAN] = parent, 1
            elif parent >= 0:
                bounds[parent, OWN] = bounds[parent, LOW] = min(bounds[parent, OWN], travelled)
        if down_a < 0 and down_b < 0:
            own = travelled
            if apart <= 0.0 and triangle_pair(corners_a, corners_b, U(-1 - down_a), U(-1 - down_b), r, t, touch):
                if query == ALL_PAIRS and filled + found < pairs_out.shape[0]:
                    pairs_out[filled + found, 0], pairs_out[filled + found, 1] = -1 - down_a, -1 - down_b
                found += 1
                if query != ALL_PAIRS:
                    return found, 0.0, on_a, on_b, -1 - down_a, -1 - down_b, tests
            elif entry >= 0 or query == NEAREST:
                found2, x, y = leaf_gap(corners_a, corners_b, U(-1 - down_a), U(-1 - down_b), r, t, math.inf)
                own += math.sqrt(found2) * (1.0 - 1e-9) - slack
                if query == NEAREST and (
                    found2 < best2 or (found2 == best2 and (-1 - down_a < at_a or (-1 - down_a == at_a and -1 - down_b < at_b)))
                ):
                    best2, on_a, on_b, at_a, at_b = found2, x, y, -1 - down_a, -1 - down_b
                    limit = math.sqrt(best2) * (1.0 + 1e-6)
            if entry >= 0:
                bounds[entry, OWN] = bounds[entry, LOW] = own
            continue
        if known:
            # The same children as before are near, and have entries.
            if entry >= 0:
                bounds[entry, OWN] = bounds[entry, LOW] = bounds_inout[row, old, OWN]
            k, end = old + 1, old + span
            while k < end:
                waiting[depth, 0], waiting[depth, 3], gap[depth] = k, entry, F(0.0)
                waiting[depth, 1], waiting[depth, 2] = entries_inout[row, k, SLOT_A], entries_inout[row, k, SLOT_B]
                depth += 1
                k += entries_inout[row, k, SPAN]
            continue
        tests += 1
        a, b = load_obb(obbs_a, U(i)), load_obb(obbs_b, U(j))
        limit2 = F(min(max(best2 * (1.0 + 1e-6), 1e-37), 3e38))
        extent_a, extent_b = a[12] + a[13] + a[14], b[12] + b[13] + b[14]
        open_a = down_b < 0 or (down_a >= 0 and extent_a >= extent_b)
        if open_a:
            near = obbs_gap8(obbs_a, U(120) * U(down_a), gap_query(r_ab, t_ab, b, slack), limit2, gap2)
            base = 8 * down_a
        else:
            near = obbs_gap8(obbs_b, U(120) * U(down_b), gap_query(r_ba, t_ba, a, slack), limit2, gap2)
            base = 8 * down_b
        far2 = F(math.inf)
        for lane in range(8):
            kid[lane] = -1
            if (near >> np.uint32(lane)) & np.uint32(1) == 0:
                far2 = min(far2, gap2[lane])
        if entry >= 0:
            far = math.sqrt(np.float64(far2)) * (1.0 - 1e-6)
            bounds[entry, OWN] = bounds[entry, LOW] = travelled + far
            if near == 0 and parent >= 0 and far - limit > FRONT_RISE * np.float64(extent_a if open_a else extent_b):
                # All eight are well away, so the two that were opened may be: they are tested again in the next frame.
                bounds[parent, OWN] = bounds[parent, LOW] = min(bounds[parent, OWN], travelled)
        if old >= 0:
            k, end = old + 1, old + span
            while k < end:
                kid[(entries_inout[row, k, SLOT_A] if open_a else entries_inout[row, k, SLOT_B]) - base] = k
                k += entries_inout[row, k, SPAN]
        # The nearer on top.
        bottom = depth
        while near != 0:
            lane = np.int64(lowest_bit(near))
            near &= near - np.uint32(1)
            away = F(math.sqrt(gap2[lane]) * F(1.0 - 1e-6))
            at = depth
            while at > bottom and gap[at - 1] < away:
                gap[at] = gap[at - 1]
                for column in range(4):
                    waiting[at, column] = waiting[at - 1, column]
                at -= 1
            gap[at], waiting[at, 0], waiting[at, 3] = away, kid[lane], entry
            waiting[at, 1], waiting[at, 2] = (base + lane, j) if open_a else (i, base + lane)
            depth += 1
    keep_front(entries_inout, bounds_inout, length_inout, row, entries, bounds, count)
    for k in range(9):
        state_inout[row, k] = r[k]
    for k in range(3):
        state_inout[row, 9 + k] = t[k]
    state_inout[row, TRAVELLED] = travelled
    return found, best2, on_a, on_b, at_a, at_b, tests
