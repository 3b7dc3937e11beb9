"""Rows of boolean pair tests."""

from __future__ import annotations

from thud._jit import kernel
from thud.narrowphase.convex_pair import pair_intersects
from thud.narrowphase.gjk import center_axis, run_gjk_intersects
from thud.narrowphase.pair_table import first_axis, pair_rows, relative_pose
from thud.narrowphase.shape_pair import compound_intersects
from thud.shapes.packed import KIND, NODE_COUNT, PART_START
from thud.shapes.shape import HULL


@kernel("i8, i8, packed, i8[:,::1], f8[:,::1], f8[:,::1], i8, f8[:,::1], u1[::1]")
def intersects_rows(start, stop, packed, pairs, poses_a, poses_b, by_shape, axes, status_out):
    """Status of each row; `axes` has no rows, or cached normals from A to B to start the search from."""
    ints, reals, verts = packed.part_ints, packed.part_reals, packed.vertices
    link_starts, links = packed.link_starts, packed.links
    for i in range(start, stop):
        shape_a, shape_b, row_a, row_b = pair_rows(pairs, poses_a, poses_b, by_shape, i)
        r, t = relative_pose(poses_a, row_a, poses_b, row_b)
        if packed.shape_ints[shape_a, NODE_COUNT] + packed.shape_ints[shape_b, NODE_COUNT] > 0:
            status_out[i] = compound_intersects(packed, shape_a, shape_b, r, t)
            continue
        a, b = packed.shape_ints[shape_a, PART_START], packed.shape_ints[shape_b, PART_START]
        axis = first_axis(axes, i, poses_a, row_a, center_axis(reals, a, b, r, t))
        if ints[a, KIND] == HULL and ints[b, KIND] == HULL:
            # The short way for the most common pair: no call, no closed form to look for.
            status_out[i] = run_gjk_intersects(ints, reals, verts, link_starts, links, a, b, r, t, axis, 0.0)[0]
            continue
        status, _axis = pair_intersects(ints, reals, verts, link_starts, links, a, b, r, t, axis)
        status_out[i] = status


@kernel("i8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8[:,::1], f8[:,::1], f8[:,::1]")
def intersects_one(ints, reals, verts, link_starts, links, pose_a, pose_b):
    """Status of parts 0 and 1 at one pose each: for callers with one pair at a time."""
    r, t = relative_pose(pose_a, 0, pose_b, 0)
    axis = center_axis(reals, 0, 1, r, t)
    status, _axis = pair_intersects(ints, reals, verts, link_starts, links, 0, 1, r, t, axis)
    return status
