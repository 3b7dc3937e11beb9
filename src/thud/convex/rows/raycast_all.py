"""All crossings of rays with the surface of a convex shape or of each part of a compound: where they enter and leave.

A ray crosses a convex part in one interval. Its start is the first hit; its end is the first hit of the same ray run
backward from beyond the part, so that one set of closed forms (`raycast.py`) gives both, and their normals.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Ints
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.convex.local_frame import part_to_world
from thud.convex.rows.raycast import ray_part, ray_reaches_box
from thud.gates import Array
from thud.math.pose import load_rotation, load_translation, rotate, unrotate, untransform
from thud.math.vec3 import add_scaled, dot, load3, norm, sub
from thud.pairing.rows import row_of
from thud.results import RayCrossings
from thud.shapes.packed import BOUND, CENTER, KIND, NODE_COUNT, NODE_START, P0, P1, P2, P3, PART_COUNT, PART_START, Packed
from thud.shapes.shape import HALF_SPACE


@kernel(inner="packed, i8, vec3, vec3, f8, vec3")
def part_exit(packed, part, o, d, entry, normal):
    """(t, outward normal) where the ray leaves a part that it enters at `entry`, with that normal, or starts in (entry 0,
    normal 0). The part's frame. t is inf for a half-space that it never leaves."""
    if packed.parts.ints[part, KIND] == HALF_SPACE:
        n = (packed.parts.reals[part, P0], packed.parts.reals[part, P1], packed.parts.reals[part, P2])
        speed = dot(n, d)
        if speed <= 0.0:
            return math.inf, (0.0, 0.0, 0.0)
        return max((packed.parts.reals[part, P3] - dot(n, o)) / speed, 0.0), n
    # Backward from beyond a ball about the part.
    beyond = norm(sub(load3(packed.parts.reals, part, CENTER), o)) + 2.0 * packed.parts.reals[part, BOUND]
    back, nx, ny, nz = ray_part(packed, part, add_scaled(o, d, beyond), (-d[0], -d[1], -d[2]))
    if back < math.inf:
        return max(beyond - back, entry), (nx, ny, nz)
    # It grazes the part so closely that rounding decides: out where it came in.
    return entry, normal if normal != (0.0, 0.0, 0.0) else d


@device
def insert_crossing(begin, count, t, n, part, distance_out, normal_out, part_out):
    """Put a crossing behind those that are no farther, among `count` from `begin` on; of parts the smaller first."""
    at = begin + count
    while at > begin and (distance_out[at - 1] > t or (distance_out[at - 1] == t and part_out[at - 1] > part)):
        distance_out[at], part_out[at] = distance_out[at - 1], part_out[at - 1]
        for k in range(3):
            normal_out[at, k] = normal_out[at - 1, k]
        at -= 1
    distance_out[at], part_out[at] = t, part
    normal_out[at, 0], normal_out[at, 1], normal_out[at, 2] = n


@kernel(
    "i8, i8, packed, i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, i8[::1], i8[::1], i8[::1], f8[::1], f8[:,::1], "
    "f8[:,::1], i8[::1]"
)
def raycast_all_rows(
    start, stop, packed, shapes, origins, directions, poses, max_distance, fill, count_out, begin_in, row_out, distance_out,
    point_out, normal_out, part_out,
):  # fmt: skip
    """All crossings of each ray with its row's shape, or the only one: with fill 0 their numbers, then, from begin_in[i] on,
    themselves. Directions of unit length; world frame."""
    for i in range(start, stop):
        shape = shapes[row_of(shapes, i)]
        nodes, first = packed.shape_ints[shape, NODE_COUNT], packed.shape_ints[shape, PART_START]
        base = packed.shape_ints[shape, NODE_START]
        o, d = load3(origins, row_of(origins, i), 0), load3(directions, row_of(directions, i), 0)
        row = row_of(poses, i)
        # The shape's own frame, in which the boxes of its tree are.
        r, t = load_rotation(poses, row), load_translation(poses, row)
        os, ds = untransform(r, t, o), unrotate(r, d)
        begin = begin_in[i] if fill else np.int64(0)
        count, node = np.int64(0), np.int64(0)
        steps = nodes if nodes > 0 else packed.shape_ints[shape, PART_COUNT]
        while node < steps:
            part = first + node
            if nodes > 0:
                if not ray_reaches_box(packed, base + node, os, ds, max_distance):
                    node = packed.node_ints[base + node, 0]
                    continue
                inner = packed.node_ints[base + node, 1]
                node += 1
                if inner < 0:
                    continue
                part = first + inner
            else:
                node += 1
            pr, pt = part_to_world(packed, shape, part, poses, row)
            op, dp = untransform(pr, pt, o), unrotate(pr, d)
            entry, nx, ny, nz = ray_part(packed, part, op, dp)
            if not entry < math.inf:
                continue
            leave, out = part_exit(packed, part, op, dp, entry, (nx, ny, nz))
            number = part - first if nodes > 0 else np.int64(-1)
            # From inside, where the first hit has no normal, it only leaves.
            if entry <= max_distance and (nx != 0.0 or ny != 0.0 or nz != 0.0):
                if fill:
                    insert_crossing(begin, count, entry, rotate(pr, (nx, ny, nz)), number, distance_out, normal_out, part_out)
                count += 1
            if leave <= max_distance and leave < math.inf:
                if fill:
                    insert_crossing(begin, count, leave, rotate(pr, out), number, distance_out, normal_out, part_out)
                count += 1
        count_out[i] = count
        if fill:
            for k in range(begin, begin + count):
                x = add_scaled(o, d, distance_out[k])
                row_out[k], point_out[k, 0], point_out[k, 1], point_out[k, 2] = i, x[0], x[1], x[2]


def raycast_all_convex(
    packed: Packed, which: Ints, origins: Array, directions: Array, poses: Array, count: int, max_distance: float,
    threads: int | None,
) -> RayCrossings:  # fmt: skip
    """All crossings of `count` rays, directions of unit length, with `which` of the packed shapes; all of these have one row or
    as many."""
    arrays = (packed, which, origins, directions, poses, max_distance)
    counts, begins = np.empty(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    none, nothing, nowhere = np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, 3))
    run_rows(raycast_all_rows, count, threads, *arrays, 0, counts, begins, none, nothing, nowhere, nowhere, none)
    begins[1:] = np.cumsum(counts)[:-1]
    total = int(counts.sum())
    rows, parts = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    out = RayCrossings(rows, np.empty(total), np.empty((total, 3)), np.empty((total, 3)), parts)
    run_rows(
        raycast_all_rows, count, threads, *arrays, 1, counts, begins, out.row, out.distance, out.point, out.normal, out.triangle
    )
    return out
