"""The closest point of a mesh's surface, through its 8-wide tree: nearest boxes first, eight at once in float32 with a slack
that covers the rounding, triangles in float64."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, kernel
from thud._core.simd import point_box8, trailing_zeros
from thud._core.threads import run_rows
from thud.bvh.wide import BLOCK_STRIDE, LEAF, NODE_STRIDE, REFERENCES, ROWS, STACK
from thud.constants import UNIT_ROUNDOFF
from thud.errors import UnsupportedQueryError
from thud.gates import Array
from thud.geometry.triangle import closest_point_triangle
from thud.math.pose import load_rotation, load_translation, transform, untransform
from thud.math.vec3 import load3
from thud.mesh.raycast import corner, row_of
from thud.mesh.tolerances import EVERYWHERE, FLOAT32_ROUNDING, MOST_SQUARE
from thud.results import ClosestPoints
from thud.shapes.triangle_mesh import TriangleMesh

#: No face row is as large.
_NO_ROW = 2**62

#: From farther than this, in sizes of the mesh, all boxes are equally near in float32.
_FAR = 2.0**40


@exact_device
def box_reach(best2, slack, scale):
    """Squared distance in the scaled frame within which every box lies that may hold a point as near as sqrt(best2) metres."""
    reach = math.sqrt(best2) / scale * (1.0 + FLOAT32_ROUNDING) + slack
    return np.float32(min(reach * reach * (1.0 + FLOAT32_ROUNDING), MOST_SQUARE))


@kernel(inner="vec3, wide_tree, i8[::1], f4[::1], f4[::1]")
def closest_in_mesh(p, wide, stack, stack_d, d_box):
    """(squared distance, leaf slot): the triangle closest to p, of equal ones that of the smallest face row. Mesh's frame."""
    nodes, references, blocks, rows, frame = wide.nodes, wide.references, wide.blocks, wide.rows, wide.frame
    px, py, pz = (p[0] - frame[0]) / frame[3], (p[1] - frame[1]) / frame[3], (p[2] - frame[2]) / frame[3]
    size = max(abs(px), max(abs(py), abs(pz)))
    slack = FLOAT32_ROUNDING * (1.0 + size) + 16.0 * UNIT_ROUNDOFF * size
    if size > _FAR:
        px, py, pz, slack = 0.0, 0.0, 0.0, EVERYWHERE
    x, y, z = np.float32(px), np.float32(py), np.float32(pz)
    best2, best_slot, best_row = math.inf, np.int64(-1), np.int64(_NO_ROW)
    limit = np.float32(MOST_SQUARE)
    depth, reference = np.int64(0), np.int64(0)
    while True:
        if reference >= 0:
            base = reference * NODE_STRIDE
            mask = point_box8(nodes, base, x, y, z, limit, d_box)
            if mask != 0:
                lane = trailing_zeros(mask)
                mask &= mask - np.uint32(1)
                child, d_child = np.int64(references[base + REFERENCES + lane]), d_box[lane]
                bottom = depth
                # The rest sorted in, the nearest on top.
                while mask != 0:
                    lane = trailing_zeros(mask)
                    mask &= mask - np.uint32(1)
                    other, d_other = np.int64(references[base + REFERENCES + lane]), d_box[lane]
                    if d_other < d_child:
                        child, d_child, other, d_other = other, d_other, child, d_child
                    k = depth
                    while k > bottom and stack_d[k - 1] < d_other:
                        stack[k], stack_d[k] = stack[k - 1], stack_d[k - 1]
                        k -= 1
                    stack[k], stack_d[k] = other, d_other
                    depth += 1
                reference = child
                continue
        else:
            base = ~reference * BLOCK_STRIDE
            for lane in range(LEAF):
                row = rows[base + ROWS + lane]
                if row < 0:
                    break
                at = base + lane
                d2, _q, _region = closest_point_triangle(p, corner(blocks, at, 0), corner(blocks, at, 1), corner(blocks, at, 2))
                if d2 < best2 or (d2 == best2 and row < best_row):
                    best2, best_slot, best_row = d2, at, row
            limit = box_reach(best2, slack, frame[3])
        while depth > 0 and stack_d[depth - 1] > limit:
            depth -= 1
        if depth == 0:
            break
        depth -= 1
        reference = stack[depth]
    return best2, best_slot


@kernel("i8, i8, wide_tree, f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], i8[::1]")
def closest_rows(start, stop, wide, points, poses, distance_out, point_out, triangle_out):
    """Closest point of the surface to each point; world frame."""
    blocks, rows = wide.blocks, wide.rows
    stack, stack_d, d_box = np.empty(STACK, np.int64), np.empty(STACK, np.float32), np.empty(8, np.float32)
    for i in range(start, stop):
        row = row_of(poses, i)
        r, t = load_rotation(poses, row), load_translation(poses, row)
        world = load3(points, row_of(points, i), 0)
        p = untransform(r, t, world)
        _d2, slot = closest_in_mesh(p, wide, stack, stack_d, d_box)
        d2, q, _region = closest_point_triangle(p, corner(blocks, slot, 0), corner(blocks, slot, 1), corner(blocks, slot, 2))
        distance_out[i], triangle_out[i] = math.sqrt(d2), rows[slot + ROWS]
        # A point of the surface is its own closest point, to the last bit.
        q = transform(r, t, q) if d2 > 0.0 else world
        point_out[i, 0], point_out[i, 1], point_out[i, 2] = q


def closest_point(
    mesh: TriangleMesh, points: Array, poses: Array, count: int, *, signed: bool, threads: int | None
) -> ClosestPoints:
    """Closest surface points to `count` points; points and poses have one row or as many."""
    if signed and not mesh.is_closed:
        raise UnsupportedQueryError(f"closest_point: signed=True needs a closed mesh, and this one is open ({mesh.problems()})")
    wide = mesh.wide
    out = ClosestPoints(np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64))
    arrays = (wide, points, poses)
    run_rows(closest_rows, count, threads, *arrays, out.distance, out.point, out.triangle)
    if signed:
        from thud.mesh.contains import contains

        inside = contains(mesh, points, poses, count, threads=threads)
        np.negative(out.distance, out=out.distance, where=inside)
        out.distance[out.distance == 0.0] = 0.0
    return out
