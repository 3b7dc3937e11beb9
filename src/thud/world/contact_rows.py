"""Contacts of pairs of bodies, frame after frame: kernels over rows of pairs.

A record is kept of every pair whose boxes overlap: the pose of B in A's frame, the contacts found there, and an axis that parts
them or the normal. The narrow phase works in A's frame from the relative pose alone, so that a pair with the same relative
pose, to the last bit, has the same contacts, and only turns them into the world again. A pair that is apart is first looked at
along its axis.

Where the caller asks for it (`World.step` does), a pair that has hardly moved since its contacts were found keeps them too:
they follow the bodies, each point by as much as B has moved there in A's frame, until that is too much (`FOLLOW_DISTANCE`,
`FOLLOW_TURN`). What was found stays as it is in the record, so that nothing adds up."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.constants import TOUCH
from thud.convex.box_contacts import SEARCH, box_contacts
from thud.convex.gjk import touch_distance
from thud.convex.manifold import DEPTH, new_manifold_space
from thud.convex.rows.contacts import (
    longest_loop,
    part_contacts,
    placed_normal,
    placed_point,
    point_feature,
    relative_pose_row,
)
from thud.convex.rows.work_space import new_epa_space
from thud.convex.support import load_part, support
from thud.convex.tolerances import EPA_FACES, EPA_FACES_FIRST
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate, untransform
from thud.math.vec3 import add_scaled, dot, load3, norm, norm2, put3, sub
from thud.shapes.packed import BOUND, CENTER, KIND, NODE_COUNT, P0, P1, P2, PART_START, RADIUS, Packed
from thud.shapes.shape import BOX, CAPSULE, HALF_SPACE
from thud.world.body_rows import ROW_BITS
from thud.world.tolerances import FOLLOW_DISTANCE, FOLLOW_TURN

#: How the contacts of a pair were found: by the narrow phase; as in the last frame, its relative pose being the same; parted by
#: its axis; having hardly moved since; or not here, since a compound, a mesh or a surface takes part, to be asked, or as they
#: were, neither body having changed, or having hardly moved since.
ASKED, KEPT, PARTED, FOLLOWED, ELSEWHERE, ELSEWHERE_KEPT, ELSEWHERE_FOLLOWED = range(7)


class Reaches(NamedTuple):
    """How far contacts of N bodies are looked for."""

    reach: Floats
    """(N,) those of two bodies as far as the sum of theirs, at most; metres."""
    way: Floats
    """(N, 3) in a step: how far each body goes; contacts are wanted as far as both together."""
    least: Floats
    """(N,) and at least as far as the sum of theirs."""
    size: Floats
    """(N,) half the diagonal of each body's box, where contacts may follow their bodies."""

    @classmethod
    def empty(cls, count: int) -> Reaches:
        """Room for so many bodies, in a step."""
        return cls(np.empty(count), np.empty((count, 3)), np.empty(count), np.empty(count))

    @classmethod
    def alike(cls, count: int, margin: float) -> Reaches:
        """One margin for all, outside steps."""
        half = np.full(count, 0.5 * margin)
        return cls(half, np.empty((0, 3)), half, half)


class PairScene(NamedTuple):
    """The bodies as these kernels see them."""

    packed: Packed
    shape_rows: Ints
    """(S,) row of each shape index in `packed`."""
    covered: Bools
    """(S,) shapes that `packed` has only a cover of."""
    shape: Ints
    """(N,) shape index of each body."""
    poses: Floats
    """(N, 12)"""
    revision: Ints
    """(N, 2) how often shape and pose of each body have changed."""
    reach: Floats
    way: Floats
    least: Floats
    size: Floats
    """As in `Reaches`."""
    elsewhere: Floats
    """(M, 7) point, normal and depth in the world of what was found elsewhere in the last frame."""


# Columns of PairRecords.frames.
RELATIVE, AXIS, ANCHOR, MARGIN = 0, 12, 15, 27
FRAME = 28


class PairRecords(NamedTuple):
    """What is known of P pairs of bodies whose boxes overlap."""

    keys: npt.NDArray[np.uint64]
    """(P,) rows of both, the lower one times 2^32; sorted."""
    frames: Floats
    """(P, FRAME) as they were when the contacts were found: rotation and translation of B in A's frame; normal, or the axis
    that parted them, in A's frame; pose of A in the world; how far contacts were looked for."""
    bits: Ints
    """(P, FRAME) the same numbers as whole ones, since 0 and -0 are equal but not the same."""
    revisions: Ints
    """(P, 4) of A's shape and pose, then of B's, when the contacts were found."""
    counts: Ints
    """(P,) contacts."""
    places: Ints
    """(P,) where they begin: row of `points`, or of what was found elsewhere."""
    status: npt.NDArray[np.uint8]
    """(P,)"""
    how: npt.NDArray[np.uint8]
    """(P,) ASKED and so on."""
    points: Floats
    """(K, 4) place in A's frame and depth; with room for `limit` points a pair where they are found."""
    features: Ints
    """(K,)"""


class ContactColumns(NamedTuple):
    """The arrays of `WorldContacts`, in its order; `length` is its `count`, a name that tuples have taken."""

    handle_a: Ints
    handle_b: Ints
    point: Floats
    normal: Floats
    depth: Floats
    feature: Ints
    patch: Ints
    status: npt.NDArray[np.uint8]
    triangle_a: Ints
    triangle_b: Ints
    pairs: Ints
    rows: Ints
    start: Ints
    length: Ints
    sensor: Bools


@device
def pair_key(i, j):
    """Of rows i < j."""
    return (np.uint64(i) << np.uint64(32)) | np.uint64(j)


@device
def first_at_least(keys, key):
    """The first place in sorted keys that is not below `key`."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def axis_parts(parts, a, b, r, t, n, margin):
    """Whether parts a and b are farther apart along n, a unit vector or 0, than the margin and far more than what counts as
    touching. A's frame."""
    kind_a, kind_b = parts.ints[a, KIND], parts.ints[b, KIND]
    if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
        return False
    m = unrotate(r, n)
    size = abs(t[0]) + abs(t[1]) + abs(t[2]) + parts.reals[a, BOUND] + parts.reals[b, BOUND]
    if kind_a == BOX and kind_b == BOX:
        top = abs(n[0]) * parts.reals[a, P0] + abs(n[1]) * parts.reals[a, P1] + abs(n[2]) * parts.reals[a, P2]
        below = abs(m[0]) * parts.reals[b, P0] + abs(m[1]) * parts.reals[b, P1] + abs(m[2]) * parts.reals[b, P2]
        return dot(n, t) - top - below > margin + 8.0 * TOUCH * size
    if kind_a == HALF_SPACE or kind_b == HALF_SPACE or (kind_a <= CAPSULE and kind_b <= CAPSULE):
        # Their distances are as fast.
        return False
    p = support(parts, load_part(parts, a), n)
    q = support(parts, load_part(parts, b), (-m[0], -m[1], -m[2]))
    for c in range(3):
        size += abs(parts.reals[a, CENTER + c]) + abs(parts.reals[b, CENTER + c])
    gap = dot(n, t) + dot(m, q) - dot(n, p) - parts.reals[a, RADIUS] - parts.reals[b, RADIUS]
    return gap > margin + 8.0 * TOUCH * size


@device
def put_frame(frames, k, r, t):
    """Relative pose of record k."""
    frames[k, 0], frames[k, 1], frames[k, 2], frames[k, 3], frames[k, 4] = r[0], r[1], r[2], r[3], r[4]
    frames[k, 5], frames[k, 6], frames[k, 7], frames[k, 8] = r[5], r[6], r[7], r[8]
    put3(frames, k, 9, t)


@device
def same_pose(bits, k, old_bits, at):
    """Whether two records have the same relative pose, to the last bit."""
    different = np.int64(0)
    for c in range(12):
        different |= bits[k, c] ^ old_bits[at, c]
    return different == 0


@device
def copy_record(old, at, out, k, limit):
    """A record as it was, with its points; of one that was found elsewhere without."""
    for c in range(FRAME):
        out.frames[k, c] = old.frames[at, c]
    for c in range(4):
        out.revisions[k, c] = old.revisions[at, c]
    out.counts[k], out.places[k], out.status[k] = old.counts[at], old.places[at], old.status[at]
    if out.how[k] >= ELSEWHERE:
        return
    out.places[k] = k * limit
    for m in range(old.counts[at]):
        for c in range(4):
            out.points[k * limit + m, c] = old.points[old.places[at] + m, c]
        out.features[k * limit + m] = old.features[old.places[at] + m]


@device
def load_anchor(frames, k):
    """Pose of A in the world when contacts were found."""
    c = ANCHOR
    return (
        frames[k, c], frames[k, c + 1], frames[k, c + 2], frames[k, c + 3], frames[k, c + 4], frames[k, c + 5],
        frames[k, c + 6], frames[k, c + 7], frames[k, c + 8],
    ), load3(frames, k, c + 9)  # fmt: skip


@device
def followed(r0, t0, r, t, p):
    """How far B's point p has moved, all in A's frame, since B's pose was (r0, t0)."""
    return sub(transform(r, t, unrotate(r0, sub(p, t0))), p)


@device
def wanted_margin(scene, i, j, follow, elsewhere):
    """How far contacts of two bodies are wanted. In a step it grows by a factor of 2, so that it is the same for a while."""
    most = scene.reach[i] + scene.reach[j]
    if not follow:
        return most
    way_i, way_j = load3(scene.way, i, 0), load3(scene.way, j, 0)
    # Whatever else stops or hits them; where triangles within reach would cost too much, as they go now.
    way = norm(sub(way_j, way_i)) if elsewhere else norm(way_i) + norm(way_j)
    margin = scene.least[i] + scene.least[j]
    while margin < way and 0.0 < margin < most:
        margin *= 2.0
    return min(margin, most)


@device
def follows(scene, i, j, r, t, wanted, old, at, elsewhere):
    """Whether contacts that were found may follow their bodies to a relative pose: neither has turned nor moved much, and they
    were looked for as far as is wanted now and they have moved."""
    turned = 0.0
    for c in range(9):
        d = r[c] - old.frames[at, RELATIVE + c]
        turned += d * d
    most = FOLLOW_DISTANCE * min(scene.size[i], scene.size[j])
    room = old.frames[at, MARGIN] - wanted
    # The norm of the difference of two rotations is the root of 2 times the angle.
    if turned > 2.0 * FOLLOW_TURN * FOLLOW_TURN or room < 0.0:
        return False
    most = min(most, room)
    r0, t0 = load_rotation(old.frames, at), load3(old.frames, at, RELATIVE + 9)
    anchor_r, anchor_t = load_anchor(old.frames, at)
    for m in range(old.places[at], old.places[at] + old.counts[at]):
        if elsewhere:
            p = untransform(anchor_r, anchor_t, load3(scene.elsewhere, m, 0))
        else:
            p = load3(old.points, m, 0)
        if norm2(followed(r0, t0, r, t, p)) > most * most:
            return False
    return True


@kernel("i8, i8, pair_scene, i8[:,::1], pair_records, i8, i8, i8, pair_records")
def find_records(start, stop, scene, pairs, old, same, follow, limit, out):
    """Records of the sorted pairs of bodies; `old` are those of the last frame, whose contacts are of use if `same`: for the
    same limit. `follow`: contacts may follow their bodies."""
    packed, parts = scene.packed, scene.packed.parts
    small, large = new_epa_space(EPA_FACES_FIRST), new_epa_space(0)
    polygons = new_manifold_space(longest_loop(packed.loop_starts))
    points = polygons.found
    at = first_at_least(old.keys, pair_key(pairs[start, 0], pairs[start, 1]))
    for k in range(start, stop):
        i, j = pairs[k, 0], pairs[k, 1]
        key = pair_key(i, j)
        while at < old.keys.shape[0] and old.keys[at] < key:
            at += 1
        known = at < old.keys.shape[0] and old.keys[at] == key
        known = known and old.revisions[at, 0] == scene.revision[i, 0] and old.revisions[at, 2] == scene.revision[j, 0]
        usable = known and same
        out.keys[k] = key
        out.revisions[k, 0], out.revisions[k, 1] = scene.revision[i, 0], scene.revision[i, 1]
        out.revisions[k, 2], out.revisions[k, 3] = scene.revision[j, 0], scene.revision[j, 1]
        shape_a, shape_b = scene.shape_rows[scene.shape[i]], scene.shape_rows[scene.shape[j]]
        compound = packed.shape_ints[shape_a, NODE_COUNT] > 0 or packed.shape_ints[shape_b, NODE_COUNT] > 0
        elsewhere = compound or scene.covered[scene.shape[i]] or scene.covered[scene.shape[j]]
        margin = wanted_margin(scene, i, j, follow, elsewhere)
        r, t = relative_pose_row(scene.poses, i, scene.poses, j)
        if follow and usable and old.counts[at] > 0 and follows(scene, i, j, r, t, margin, old, at, elsewhere):
            out.how[k] = ELSEWHERE_FOLLOWED if elsewhere else FOLLOWED
            copy_record(old, at, out, k, limit)
            continue
        if follow:
            # So that they can follow.
            margin += FOLLOW_DISTANCE * min(scene.size[i], scene.size[j])
        usable = usable and old.frames[at, MARGIN] == margin
        if elsewhere:
            out.how[k], out.counts[k] = ELSEWHERE, 0
            still = known and old.revisions[at, 1] == scene.revision[i, 1] and old.revisions[at, 3] == scene.revision[j, 1]
            if still and usable:
                out.how[k] = ELSEWHERE_KEPT
                copy_record(old, at, out, k, limit)
                continue
            for c in range(12):
                out.frames[k, ANCHOR + c] = scene.poses[i, c]
        put_frame(out.frames, k, r, t)
        out.frames[k, MARGIN] = margin
        if elsewhere:
            continue
        out.places[k] = k * limit
        if usable and same_pose(out.bits, k, old.bits, at):
            out.how[k] = KEPT
            copy_record(old, at, out, k, limit)
            continue
        a, b = packed.shape_ints[shape_a, PART_START], packed.shape_ints[shape_b, PART_START]
        if known:
            n = load3(old.frames, at, AXIS)
            if axis_parts(parts, a, b, r, t, n, margin):
                out.how[k], out.counts[k], out.status[k] = PARTED, 0, SEPARATED
                put3(out.frames, k, AXIS, n)
                continue
        status, found, n = SEPARATED, np.int64(SEARCH), (0.0, 0.0, 0.0)
        if parts.ints[a, KIND] == BOX and parts.ints[b, KIND] == BOX:
            # What `part_contacts` begins with, at half the cost of a call that is handed all arrays of all shapes.
            half_a, half_b = load3(parts.reals, a, P0), load3(parts.reals, b, P0)
            touch = touch_distance(parts, a, b, t)
            status, found, n = box_contacts(half_a, half_b, r, t, margin, touch, limit, polygons)
        if found == SEARCH:
            status, found, n = part_contacts(packed, a, b, r, t, margin, limit, small, polygons)
        if found < 0:
            if large.reals.shape[0] == 0:
                large = new_epa_space(EPA_FACES)
            status, found, n = part_contacts(packed, a, b, r, t, margin, limit, large, polygons)
        out.how[k], out.counts[k], out.status[k] = ASKED, found, status
        put3(out.frames, k, AXIS, n)
        for m in range(found):
            row = k * limit + m
            out.points[row, 0], out.points[row, 1], out.points[row, 2] = points[m, 0], points[m, 1], points[m, 2]
            out.points[row, 3] = points[m, DEPTH]
            out.features[row] = point_feature(points, m)


@kernel("pair_records, i8, f8[:,::1], i8[::1]")
def pack_points(records, first, points_out, features_out):
    """The points of these records without the room between them; their places count from `first` on. Returns how many."""
    total = 0
    for k in range(records.keys.shape[0]):
        if records.how[k] >= ELSEWHERE:
            continue
        for m in range(records.counts[k]):
            for c in range(4):
                points_out[total + m, c] = records.points[records.places[k] + m, c]
            features_out[total + m] = records.features[records.places[k] + m]
        records.places[k] = first + total
        total += records.counts[k]
    return total


@kernel("i8[::1], i8[::1], i8[::1]")
def list_touching(counts, which_out, start_out):
    """The records that have contacts, and where the contacts of each begin among all; behind the last one, how many there are.
    Returns how many records."""
    found, total = 0, 0
    for k in range(counts.shape[0]):
        if counts[k] > 0:
            which_out[found], start_out[found] = k, total
            found += 1
            total += counts[k]
    start_out[found] = total
    return found


@device
def put_common(out, row, handle_a, handle_b, status):
    """What all contacts of a pair share."""
    out.handle_a[row], out.handle_b[row], out.status[row] = handle_a, handle_b, status


@kernel("i8, i8, f8[:,::1], i8[::1], b1[::1], pair_records, i8[::1], i8[::1], contact_columns")
def place_records(start, stop, poses, generation, sensor, records, which, starts, out):
    """Pairs that touch, and their contacts in the world, each where it belongs; of those found elsewhere all but the points."""
    for q in range(start, stop):
        k = which[q]
        i, j = np.int64(records.keys[k] >> np.uint64(32)), np.int64(records.keys[k] & np.uint64(0xFFFFFFFF))
        first, count = starts[q], records.counts[k]
        handle_a, handle_b = (generation[i] << ROW_BITS) | i, (generation[j] << ROW_BITS) | j
        out.pairs[q, 0], out.pairs[q, 1], out.rows[q, 0], out.rows[q, 1] = handle_a, handle_b, i, j
        out.start[q], out.length[q], out.sensor[q] = first, count, sensor[i] or sensor[j]
        if records.how[k] >= ELSEWHERE:
            for m in range(count):
                put_common(out, first + m, handle_a, handle_b, records.status[k])
            continue
        r, t = load_rotation(poses, i), load_translation(poses, i)
        along = load3(records.frames, k, AXIS)
        n, moves = placed_normal(r, along), records.how[k] == FOLLOWED
        r0, t0 = load_rotation(records.frames, k), load3(records.frames, k, RELATIVE + 9)
        r1, t1 = relative_pose_row(poses, i, poses, j) if moves else (r0, t0)
        deepest = -math.inf
        for m in range(count):
            row, source = first + m, records.places[k] + m
            put_common(out, row, handle_a, handle_b, records.status[k])
            p, depth = load3(records.points, source, 0), records.points[source, 3]
            if moves:
                d = followed(r0, t0, r1, t1, p)
                p, depth = add_scaled(p, d, 0.5), depth - dot(along, d)
            put3(out.point, row, 0, placed_point(r, t, p))
            put3(out.normal, row, 0, n)
            out.depth[row], out.feature[row], out.patch[row] = depth, records.features[source], 0
            out.triangle_a[row] = out.triangle_b[row] = -1
            deepest = max(deepest, depth)
        if moves:
            put_status(out, first, count, deepest)


@device
def put_status(out, first, count, deepest):
    """Of contacts that followed their bodies: whether these still overlap."""
    for row in range(first, first + count):
        if out.status[row] != UNCONVERGED:
            out.status[row] = OVERLAPPING if deepest >= 0.0 else SEPARATED


@kernel("f8[:,::1], pair_records, i8[::1], i8[::1], i8, f8[:,::1], i8[:,::1], contact_columns")
def place_elsewhere(poses, records, which, starts, touching, reals, ints, out):
    """Points of contacts that were found elsewhere: reals (M, 7) point, normal and depth in the world, ints (M, 4) feature,
    patch and triangles."""
    for q in range(touching):
        k = which[q]
        if records.how[k] < ELSEWHERE:
            continue
        moves, deepest = records.how[k] == ELSEWHERE_FOLLOWED, -math.inf
        i, j = out.rows[q, 0], out.rows[q, 1]
        for m in range(records.counts[k]):
            row, source = starts[q] + m, records.places[k] + m
            p, n, depth = load3(reals, source, 0), load3(reals, source, 3), reals[source, 6]
            if moves:
                p, n, depth = moved_contact(poses, i, j, records.frames, k, p, n, depth)
            put3(out.point, row, 0, p)
            put3(out.normal, row, 0, n)
            out.depth[row] = depth
            out.feature[row], out.patch[row] = ints[source, 0], ints[source, 1]
            out.triangle_a[row], out.triangle_b[row] = ints[source, 2], ints[source, 3]
            deepest = max(deepest, depth)
        if moves:
            put_status(out, starts[q], records.counts[k], deepest)


@device
def moved_contact(poses, i, j, frames, k, p, n, depth):
    """A contact, world frame, from where it was found to where the bodies are."""
    r, t = load_rotation(poses, i), load_translation(poses, i)
    anchor_r, anchor_t = load_anchor(frames, k)
    p, n = untransform(anchor_r, anchor_t, p), unrotate(anchor_r, n)
    r1, t1 = relative_pose_row(poses, i, poses, j)
    d = followed(load_rotation(frames, k), load3(frames, k, RELATIVE + 9), r1, t1, p)
    return transform(r, t, add_scaled(p, d, 0.5)), rotate(r, n), depth - dot(n, d)
