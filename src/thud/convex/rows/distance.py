"""Rows of distances, unsigned and signed, with witness points in the world frame; a kernel for each way of answering
(`row_groups.py`).

`rows` has the batch rows that the kernel is for; none means all. `axes` has no rows, or cached normals from A to B to start
the search from. Rows beyond `reach` get inf.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import UNCONVERGED
from thud.convex.convex_pair import pair_distance, pair_signed, unsigned_outcome
from thud.convex.epa import epa_ints, epa_reals
from thud.convex.gjk import center_axis, part_size
from thud.convex.hull_stream import (
    GO_ON,
    SLOT_INTS,
    SLOT_REALS,
    SLOTS,
    STALLED,
    U,
    begin_search,
    distance_step,
    search_pair,
    search_touch,
    wave_supports,
)
from thud.convex.rows.row_groups import COMPOUND, HULLS, PLAIN
from thud.convex.rows.work_space import epa_faces, new_epa_space, new_hull_slots
from thud.convex.shape_pair import compound_distance, compound_signed
from thud.convex.tolerances import EPA_FACES, EPA_FACES_FIRST
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.pairing.rows import batch_row, first_axis, placed_parts, placed_shapes


@device
def write_distance(i, reach, status, d, p, n, poses_a, row_a, out):
    """Row i from A's frame to the world. Beyond `reach`: distance inf, points and normal 0."""
    out.status[i] = status
    if d > reach:
        out.distance[i] = math.inf
        for k in range(3):
            out.point_a[i, k] = 0.0
            out.point_b[i, k] = 0.0
            out.normal[i, k] = 0.0
        return
    ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
    p, n = transform(ra, ta, p), rotate(ra, n)
    out.distance[i] = d
    out.point_a[i, 0], out.point_a[i, 1], out.point_a[i, 2] = p
    out.normal[i, 0], out.normal[i, 1], out.normal[i, 2] = n
    if d == -math.inf:
        # Two half-spaces: no witness on B; keep the fields finite.
        out.point_b[i, 0], out.point_b[i, 1], out.point_b[i, 2] = p
    else:
        out.point_b[i, 0], out.point_b[i, 1], out.point_b[i, 2] = p[0] + d * n[0], p[1] + d * n[1], p[2] + d * n[2]


@kernel(inner="i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields")
def plain_distances(start, stop, rows, batch, axes, reach, out):
    """Unsigned distances of plain pairs, by closed forms or support mappings."""
    parts = batch.packed.parts
    for j in range(start, stop):
        i = batch_row(rows, j)
        a, b, row_a, (r, t) = placed_parts(batch, i)
        axis = first_axis(axes, i, batch.poses_a, row_a, center_axis(parts, a, b, r, t))
        status, d, p, n = pair_distance(parts, a, b, r, t, axis, reach)
        write_distance(i, reach, status, d, p, n, batch.poses_a, row_a, out)


@kernel(inner="i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields, hull_slots")
def hull_distances(start, stop, rows, batch, axes, reach, out, slots):
    """Unsigned distances of pairs of hulls, through the stream (`hull_stream.py`). A search that makes no progress leaves its
    row STALLED, for `distance_rows`."""
    parts = batch.packed.parts
    s, k, live = slots.reals, slots.ints, slots.live
    for slot in range(SLOTS):
        live[slot] = U(slot)
    count, j = 0, start
    while True:
        # Fill the free slots with the next pairs.
        while count < SLOTS and j < stop:
            i = batch_row(rows, j)
            a, b, row_a, (r, t) = placed_parts(batch, i)
            axis = first_axis(axes, i, batch.poses_a, row_a, center_axis(parts, a, b, r, t))
            begin_search(parts, a, b, r, t, axis, i, row_a, live[count], s, k)
            count += 1
            j += 1
        if count == 0:
            return
        wave_supports(parts, live, count, s, k)
        kept = 0
        for m in range(count):
            slot = live[m]
            o, q = slot * U(SLOT_REALS), slot * U(SLOT_INTS)
            row, a, b, row_a = search_pair(k, q)
            touch = search_touch(s, o)
            # Not beyond reach before they are known to be apart.
            limit = max(reach, touch)
            outcome, v, p, lower = distance_step(s, k, o, q, limit, part_size(parts, a, b))
            if outcome == GO_ON:
                # The slots in use stay in front.
                live[m], live[kept] = live[kept], slot
                kept += 1
            elif outcome == STALLED:
                out.status[row] = STALLED
            else:
                status, d, p, n = unsigned_outcome(outcome, v, p, lower, 0.0, 0.0, touch, limit)
                write_distance(row, reach, status, d, p, n, batch.poses_a, row_a, out)
        count = kept


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields")
def compound_distance_rows(start, stop, rows, batch, axes, reach, out):
    """Unsigned distances of pairs of which at least one is compound."""
    for j in range(start, stop):
        i = batch_row(rows, j)
        shape_a, shape_b, row_a, (r, t) = placed_shapes(batch, i)
        status, d, p, n = compound_distance(batch.packed, shape_a, shape_b, r, t, reach)
        write_distance(i, reach, status, d, p, n, batch.poses_a, row_a, out)


@kernel(inner="i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields, epa_space")
def signed_distances(start, stop, rows, batch, axes, reach, out, space):
    """Signed distances of plain pairs: negative penetration depth in an overlap. Returns the row at which the polytope was
    full, or `stop`: the caller asks that one again with a larger one."""
    parts = batch.packed.parts
    faces = epa_faces(space)
    for j in range(start, stop):
        i = batch_row(rows, j)
        a, b, row_a, (r, t) = placed_parts(batch, i)
        axis = first_axis(axes, i, batch.poses_a, row_a, center_axis(parts, a, b, r, t))
        status, d, p, n = pair_signed(parts, a, b, r, t, axis, reach, faces, space.reals, space.ints)
        if status == UNCONVERGED and faces < EPA_FACES:
            return j
        write_distance(i, reach, status, d, p, n, batch.poses_a, row_a, out)
    return stop


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields")
def compound_signed_rows(start, stop, rows, batch, axes, reach, out):
    """Signed distances of pairs of which at least one is compound."""
    faces = np.int64(EPA_FACES_FIRST)
    small_x, small_k = np.empty(epa_reals(faces)), np.empty(epa_ints(faces), np.int64)
    large_x, large_k = np.empty(0), np.empty(0, np.int64)
    x, k = small_x, small_k
    j = start
    while j < stop:
        i = batch_row(rows, j)
        shape_a, shape_b, row_a, (r, t) = placed_shapes(batch, i)
        status, d, p, n = compound_signed(batch.packed, shape_a, shape_b, r, t, reach, faces, x, k)
        if status == UNCONVERGED and faces < EPA_FACES:
            # The small polytope may have been full: once more with the large one.
            faces = np.int64(EPA_FACES)
            if large_x.shape[0] == 0:
                large_x, large_k = np.empty(epa_reals(faces)), np.empty(epa_ints(faces), np.int64)
            x, k = large_x, large_k
            continue
        faces, x, k = np.int64(EPA_FACES_FIRST), small_x, small_k
        write_distance(i, reach, status, d, p, n, batch.poses_a, row_a, out)
        j += 1


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields")
def distance_rows(start, stop, rows, batch, axes, reach, out):
    """`plain_distances`."""
    plain_distances(start, stop, rows, batch, axes, reach, out)


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields")
def hull_distance_rows(start, stop, rows, batch, axes, reach, out):
    """`hull_distances`."""
    hull_distances(start, stop, rows, batch, axes, reach, out, new_hull_slots())


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], f8, distance_fields")
def signed_rows(start, stop, rows, batch, axes, reach, out):
    """`signed_distances`; what a small polytope does not hold, with a large one."""
    small, large = new_epa_space(EPA_FACES_FIRST), new_epa_space(0)
    j = signed_distances(start, stop, rows, batch, axes, reach, out, small)
    while j < stop:
        if large.reals.shape[0] == 0:
            large = new_epa_space(EPA_FACES)
        signed_distances(j, j + 1, rows, batch, axes, reach, out, large)
        j = signed_distances(j + 1, stop, rows, batch, axes, reach, out, small)


UNSIGNED_BY_WAY = {PLAIN: distance_rows, HULLS: hull_distance_rows, COMPOUND: compound_distance_rows}
SIGNED_BY_WAY = {PLAIN: signed_rows, COMPOUND: compound_signed_rows}
