"""Rows of distances, unsigned and signed, with witness points in the world frame."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.constants import EPA_FACES, EPA_FACES_FIRST
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.narrowphase.convex_pair import pair_distance, pair_signed, unsigned_outcome
from thud.narrowphase.epa import epa_ints, epa_reals
from thud.narrowphase.gjk import center_axis, gjk_careful, part_size
from thud.narrowphase.hull_stream import (
    GO_ON,
    SLOT_INTS,
    SLOT_REALS,
    SLOTS,
    STALLED,
    U,
    begin_search,
    distance_step,
    search_pair,
    search_pose,
    search_touch,
    wave_supports,
)
from thud.narrowphase.pair_table import first_axis, pair_rows, relative_pose
from thud.narrowphase.shape_pair import compound_distance, compound_signed
from thud.shapes.packed import KIND, NODE_COUNT, PART_START
from thud.shapes.shape import HULL

SEPARATED, OVERLAPPING, UNCONVERGED = 0, 1, 2


@device
def write_distance(i, reach, status, d, p, n, poses_a, row_a, distance_out, point_a_out, point_b_out, normal_out, status_out):
    """Row i from A's frame to the world. Beyond `reach`: distance inf, points and normal 0."""
    status_out[i] = status
    if d > reach:
        distance_out[i] = math.inf
        for k in range(3):
            point_a_out[i, k] = 0.0
            point_b_out[i, k] = 0.0
            normal_out[i, k] = 0.0
        return
    ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
    p, n = transform(ra, ta, p), rotate(ra, n)
    distance_out[i] = d
    point_a_out[i, 0], point_a_out[i, 1], point_a_out[i, 2] = p
    normal_out[i, 0], normal_out[i, 1], normal_out[i, 2] = n
    if d == -math.inf:
        # Two half-spaces: no witness on B; keep the fields finite.
        point_b_out[i, 0], point_b_out[i, 1], point_b_out[i, 2] = p
    else:
        point_b_out[i, 0], point_b_out[i, 1], point_b_out[i, 2] = p[0] + d * n[0], p[1] + d * n[1], p[2] + d * n[2]


@kernel("i8, i8, packed, i8[:,::1], f8[:,::1], f8[:,::1], i8, f8[:,::1], f8, f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], u1[::1]")
def distance_rows(
    start,
    stop,
    packed,
    pairs,
    poses_a,
    poses_b,
    by_shape,
    axes,
    reach,
    distance_out,
    point_a_out,
    point_b_out,
    normal_out,
    status_out,
):
    """Unsigned distances; rows beyond `reach` get inf.

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
            compound = packed.shape_ints[shape_a, NODE_COUNT] + packed.shape_ints[shape_b, NODE_COUNT] > 0
            a, b = packed.shape_ints[shape_a, PART_START], packed.shape_ints[shape_b, PART_START]
            axis = first_axis(axes, i, poses_a, row_a, center_axis(reals, a, b, r, t))
            if not compound and ints[a, KIND] == HULL and ints[b, KIND] == HULL:
                begin_search(ints, reals, a, b, r, t, axis, i, row_a, live[count], s, k)
                count += 1
            else:
                if compound:
                    status, d, p, n = compound_distance(packed, shape_a, shape_b, r, t, reach)
                else:
                    status, d, p, n = pair_distance(ints, reals, verts, link_starts, links, a, b, r, t, axis, reach)
                write_distance(
                    i, reach, status, d, p, n, poses_a, row_a, distance_out, point_a_out, point_b_out, normal_out, status_out
                )
            i += 1
        if count == 0:
            return
        wave_supports(verts, link_starts, links, live, count, s, k)
        kept = 0
        for j in range(count):
            slot = live[j]
            o, q = slot * U(SLOT_REALS), slot * U(SLOT_INTS)
            row, a, b, row_a = search_pair(k, q)
            touch = search_touch(s, o)
            # Not beyond reach before they are known to be apart.
            limit = max(reach, touch)
            outcome, v, p, lower = distance_step(s, k, o, q, limit, part_size(reals, a, b))
            if outcome == GO_ON:
                # The slots in use stay in front.
                live[j], live[kept] = live[kept], slot
                kept += 1
                continue
            if outcome == STALLED:
                r, t = search_pose(s, o)
                outcome, v, p, lower = gjk_careful(ints, reals, verts, link_starts, links, a, b, r, t, v, limit)
            status, d, p, n = unsigned_outcome(outcome, v, p, lower, 0.0, 0.0, touch, limit)
            write_distance(
                row, reach, status, d, p, n, poses_a, row_a, distance_out, point_a_out, point_b_out, normal_out, status_out
            )
        count = kept


@kernel("i8, i8, packed, i8[:,::1], f8[:,::1], f8[:,::1], i8, f8[:,::1], f8, f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], u1[::1]")
def signed_rows(
    start,
    stop,
    packed,
    pairs,
    poses_a,
    poses_b,
    by_shape,
    axes,
    reach,
    distance_out,
    point_a_out,
    point_b_out,
    normal_out,
    status_out,
):
    """Signed distances: negative penetration depth in an overlap; rows beyond `reach` get inf."""
    ints, reals, verts = packed.part_ints, packed.part_reals, packed.vertices
    link_starts, links = packed.link_starts, packed.links
    faces = np.int64(EPA_FACES_FIRST)
    x, k = np.empty(epa_reals(faces)), np.empty(epa_ints(faces), np.int64)
    i = start
    while i < stop:
        shape_a, shape_b, row_a, row_b = pair_rows(pairs, poses_a, poses_b, by_shape, i)
        r, t = relative_pose(poses_a, row_a, poses_b, row_b)
        if packed.shape_ints[shape_a, NODE_COUNT] + packed.shape_ints[shape_b, NODE_COUNT] > 0:
            status, d, p, n = compound_signed(packed, shape_a, shape_b, r, t, reach, faces, x, k)
        else:
            a, b = packed.shape_ints[shape_a, PART_START], packed.shape_ints[shape_b, PART_START]
            axis = first_axis(axes, i, poses_a, row_a, center_axis(reals, a, b, r, t))
            status, d, p, n = pair_signed(ints, reals, verts, link_starts, links, a, b, r, t, axis, reach, faces, x, k)
        if status == UNCONVERGED and faces < EPA_FACES:
            # The small polytope may have been full: once more with the large one.
            faces = np.int64(EPA_FACES)
            x, k = np.empty(epa_reals(faces)), np.empty(epa_ints(faces), np.int64)
            continue
        write_distance(
            i, reach, status, d, p, n, poses_a, row_a, distance_out, point_a_out, point_b_out, normal_out, status_out
        )
        i += 1
