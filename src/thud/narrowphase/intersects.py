"""Rows of boolean pair tests."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel
from thud.narrowphase.convex_pair import pair_intersects
from thud.narrowphase.gjk import careful_status, center_axis
from thud.narrowphase.hull_stream import (
    GO_ON,
    SLOT_INTS,
    SLOT_REALS,
    SLOTS,
    STALLED,
    U,
    begin_search,
    intersects_step,
    search_axis,
    search_pair,
    search_pose,
    wave_supports,
)
from thud.narrowphase.pair_table import first_axis, pair_rows, relative_pose
from thud.narrowphase.shape_pair import compound_intersects
from thud.shapes.packed import KIND, NODE_COUNT, PART_START
from thud.shapes.shape import HULL


@kernel("i8, i8, packed, i8[:,::1], f8[:,::1], f8[:,::1], i8, f8[:,::1], u1[::1]")
def intersects_rows(start, stop, packed, pairs, poses_a, poses_b, by_shape, axes, status_out):
    """Status of each row; `axes` has no rows, or cached normals from A to B to start the search from.

    Pairs of hulls go through the stream (`hull_stream.py`), everything else is answered on the spot.
    """
    ints, reals, verts = packed.part_ints, packed.part_reals, packed.vertices
    link_starts, links = packed.link_starts, packed.links
    s, k = np.empty(SLOTS * SLOT_REALS), np.empty(SLOTS * SLOT_INTS, np.int64)
    live = np.arange(SLOTS).astype(np.uint64)
    count, i = 0, start
    while True:
        # Fill the free slots with the next pairs of hulls.
        while count < SLOTS and i < stop:
            shape_a, shape_b, row_a, row_b = pair_rows(pairs, poses_a, poses_b, by_shape, i)
            r, t = relative_pose(poses_a, row_a, poses_b, row_b)
            if packed.shape_ints[shape_a, NODE_COUNT] + packed.shape_ints[shape_b, NODE_COUNT] > 0:
                status_out[i] = compound_intersects(packed, shape_a, shape_b, r, t)
            else:
                a, b = packed.shape_ints[shape_a, PART_START], packed.shape_ints[shape_b, PART_START]
                axis = first_axis(axes, i, poses_a, row_a, center_axis(reals, a, b, r, t))
                if ints[a, KIND] == HULL and ints[b, KIND] == HULL:
                    begin_search(ints, reals, a, b, r, t, axis, i, row_a, live[count], s, k)
                    count += 1
                else:
                    status_out[i] = pair_intersects(ints, reals, verts, link_starts, links, a, b, r, t, axis)[0]
            i += 1
        if count == 0:
            return
        wave_supports(verts, link_starts, links, live, count, s, k)
        kept = 0
        for j in range(count):
            slot = live[j]
            o, q = slot * U(SLOT_REALS), slot * U(SLOT_INTS)
            outcome = intersects_step(s, k, o, q)
            if outcome == GO_ON:
                # The slots in use stay in front.
                live[j], live[kept] = live[kept], slot
                kept += 1
                continue
            row, a, b, _row_a = search_pair(k, q)
            if outcome == STALLED:
                r, t = search_pose(s, o)
                axis = search_axis(s, o)
                status_out[row] = careful_status(ints, reals, verts, link_starts, links, a, b, r, t, axis, 0.0)
            else:
                status_out[row] = outcome
        count = kept
