"""Rows of boolean pair tests, a kernel for each way of answering (`row_groups.py`).

`rows` has the batch rows that the kernel is for; none means all. `axes` has no rows, or cached normals from A to B to start
the search from. A search that makes no progress leaves its row STALLED, for `careful_rows`.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel
from thud.convex.convex_pair import closed_intersects, pair_intersects
from thud.convex.gjk import center_axis, gjk_search
from thud.convex.hull_stream import (
    GO_ON,
    SLOT_INTS,
    SLOT_REALS,
    SLOTS,
    U,
    begin_search,
    intersects_step,
    search_pair,
    wave_supports,
)
from thud.convex.rows.row_groups import CLOSED, COMPOUND, HULLS, SUPPORT
from thud.convex.shape_pair import compound_intersects
from thud.pairing.rows import batch_row, first_axis, placed_parts, placed_shapes
from thud.shapes.packed import RADIUS


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], u1[::1]")
def closed_rows(start, stop, rows, batch, axes, status_out):
    """Status of pairs that have a closed form."""
    parts = batch.packed.parts
    for j in range(start, stop):
        i = batch_row(rows, j)
        a, b, _row, (r, t) = placed_parts(batch, i)
        axis = center_axis(parts, a, b, r, t)
        status_out[i] = closed_intersects(parts, a, b, r, t, axis)[1]


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], u1[::1]")
def support_rows(start, stop, rows, batch, axes, status_out):
    """Status of pairs by their support mappings."""
    parts = batch.packed.parts
    for j in range(start, stop):
        i = batch_row(rows, j)
        a, b, row_a, (r, t) = placed_parts(batch, i)
        axis = first_axis(axes, i, batch.poses_a, row_a, center_axis(parts, a, b, r, t))
        radius = parts.reals[a, RADIUS] + parts.reals[b, RADIUS]
        status_out[i] = gjk_search(parts, a, b, r, t, axis, radius)[0]


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], u1[::1]")
def hull_rows(start, stop, rows, batch, axes, status_out):
    """Status of pairs of hulls, through the stream (`hull_stream.py`)."""
    parts = batch.packed.parts
    s, k = np.empty(SLOTS * SLOT_REALS), np.empty(SLOTS * SLOT_INTS, np.int64)
    live = np.arange(SLOTS).astype(np.uint64)
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
            outcome = intersects_step(s, k, o, q)
            if outcome == GO_ON:
                # The slots in use stay in front.
                live[m], live[kept] = live[kept], slot
                kept += 1
            else:
                status_out[search_pair(k, q)[0]] = outcome
        count = kept


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], u1[::1]")
def compound_rows(start, stop, rows, batch, axes, status_out):
    """Status of pairs of which at least one is compound."""
    for j in range(start, stop):
        i = batch_row(rows, j)
        shape_a, shape_b, _row, (r, t) = placed_shapes(batch, i)
        status_out[i] = compound_intersects(batch.packed, shape_a, shape_b, r, t)


@kernel("i8, i8, i8[::1], pair_batch, f8[:,::1], u1[::1]")
def careful_rows(start, stop, rows, batch, axes, status_out):
    """Status of pairs whose quick search has come to a halt, with all the care there is."""
    parts = batch.packed.parts
    for j in range(start, stop):
        i = batch_row(rows, j)
        a, b, row_a, (r, t) = placed_parts(batch, i)
        axis = first_axis(axes, i, batch.poses_a, row_a, center_axis(parts, a, b, r, t))
        status_out[i] = pair_intersects(parts, a, b, r, t, axis)[0]


BY_WAY = {CLOSED: closed_rows, SUPPORT: support_rows, HULLS: hull_rows, COMPOUND: compound_rows}
