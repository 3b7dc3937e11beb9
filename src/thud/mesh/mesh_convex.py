"""Mesh against a convex shape: the tree is walked with the shape's box, each triangle it leads to is a hull of three
vertices to GJK.

Everything is in the convex shape's frame; (R, t) is the mesh's tree in it. Part 0 is the shape, part 1 the triangle, whose
vertices are written over those of a placeholder, in arrays of which each thread has its own copy.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats
from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_meet8, lowest_bit, obbs_gap8
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.convex_pair import pair_distance, pair_intersects
from thud.convex.gjk import center_axis
from thud.convex.own_parts import own_parts
from thud.gates import as_poses
from thud.math.pose import load_rotation, load_translation, rotate, transform, transpose, unrotate
from thud.math.vec3 import any_orthogonal, cross, norm2, sub
from thud.mesh.box_tree import F, U, absolute, box_query, load_triangle, push_slots, single3, single9, tree_pose
from thud.mesh.distance import gap_query
from thud.mesh.tolerances import (
    BOUND_ROUNDING,
    BOX_SLACK,
    GUESS_ROUNDING,
    HALF_SPACE_CUBE,
    LEAST_SQUARE,
    MOST_SQUARE,
)
from thud.mesh.trees import new_walk_space
from thud.pairing.rows import row_of
from thud.shapes.hull_topology import HullTopology
from thud.shapes.packed import BOUND, CENTER, KIND, P0, P1, P2, P3, RADIUS, SCAN_COUNT, VERTEX_START, Parts, pack
from thud.shapes.shape import HALF_SPACE, HULL, Part, Shape
from thud.shapes.sphere import Sphere


class PlaceholderTriangle(Sphere):
    """A hull of three vertices with two faces, to be written over; each one packed has vertices of its own."""

    def __init__(self) -> None:
        """A shape by name only: all that is asked of it is its part."""

    def parts(self) -> list[Part]:
        """One flat polytope."""
        i8 = np.int64
        corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
        topology = HullTopology(
            vertices=corners,
            triangles=np.array([[0, 1, 2], [0, 2, 1]], dtype=i8),
            planes=np.array([[0.0, 0, 1, 0], [0, 0, -1, 0]]),
            loop_starts=np.array([0, 3, 6], dtype=i8),
            loops=np.array([0, 1, 2, 0, 2, 1], dtype=i8),
            loop_edges=np.array([0, 1, 2, 2, 1, 0], dtype=i8),
            edges=np.array([[0, 1], [1, 2], [2, 0]], dtype=i8),
            edge_faces=np.array([[0, 1], [0, 1], [0, 1]], dtype=i8),
            link_starts=np.array([0, 2, 4, 6], dtype=i8),
            links=np.array([1, 2, 2, 0, 0, 1], dtype=i8),
            link_edges=np.array([0, 2, 1, 0, 2, 1], dtype=i8),
        )
        return [Part(HULL, (), 0.0, corners.mean(axis=0), 1.0, topology)]


_TRIANGLE = PlaceholderTriangle()


class ConvexQuery(NamedTuple):
    """A convex shape and a triangle as GJK reads them, and the box of the shape's core in its own frame."""

    parts: Parts
    box: Floats
    """(6,) centre and half extents, without the rounding radius; not used for a half-space."""


@lru_cache(maxsize=256)
def convex_query(shape: Shape) -> ConvexQuery:
    """Of one convex shape (a single part)."""
    packed = pack((shape, _TRIANGLE))
    lower, upper = shape._bounds(as_poses(None, "pose"))
    box = np.zeros(6)
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        radius = packed.parts.reals[0, RADIUS]
        box[:3], box[3:] = 0.5 * (lower[0] + upper[0]), np.maximum(0.5 * (upper[0] - lower[0]) - radius, 0.0)
    return ConvexQuery(packed.parts, box)


@device
def set_triangle(parts, part, corners, k):
    """Write triangle k of a mesh over a placeholder part."""
    p, q, s = load_triangle(corners, k)
    start = parts.ints[part, VERTEX_START]
    for i in range(parts.ints[part, SCAN_COUNT]):
        c = p if i == 0 else (q if i == 1 else s)
        parts.vertices[0, start + i], parts.vertices[1, start + i], parts.vertices[2, start + i] = c
    m = ((p[0] + q[0] + s[0]) / 3.0, (p[1] + q[1] + s[1]) / 3.0, (p[2] + q[2] + s[2]) / 3.0)
    parts.reals[part, CENTER], parts.reals[part, CENTER + 1], parts.reals[part, CENTER + 2] = m
    parts.reals[part, BOUND] = math.sqrt(max(norm2(sub(p, m)), max(norm2(sub(q, m)), norm2(sub(s, m)))))


@device
def shape_box(parts, box, reach):
    """(axes, centre, half extents) of the core's box; of a half-space, a cube below its plane that reaches `reach` far."""
    if parts.ints[0, KIND] == HALF_SPACE:
        n = (parts.reals[0, P0], parts.reals[0, P1], parts.reals[0, P2])
        u = any_orthogonal(n)
        length = math.sqrt(norm2(u))
        u = (u[0] / length, u[1] / length, u[2] / length)
        v = cross(n, u)
        height = parts.reals[0, P3] - reach
        return (u[0], u[1], u[2], v[0], v[1], v[2], n[0], n[1], n[2]), (height * n[0], height * n[1], height * n[2]), (
            reach, reach, reach,
        )  # fmt: skip
    return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (box[0], box[1], box[2]), (box[3], box[4], box[5])


@device
def shape_query(parts, box, r, t, size, slack):
    """(axes of the shape's box, rotation of the mesh's tree in its frame, the box rounded off as `boxes_meet8` wants it)."""
    axes, center, half = shape_box(parts, box, HALF_SPACE_CUBE * size)
    rotation, place = in_box_frame(axes, center, r, t)
    radius = parts.reals[0, RADIUS]
    rounded = (F(0.0), F(0.0), F(0.0), F(half[0] + radius), F(half[1] + radius), F(half[2] + radius))
    rotation32 = single9(rotation)
    return axes, rotation, box_query((rotation32, absolute(rotation32), single3(place)), rounded, slack)


@device
def box_extent(boxes):
    """Sum of the half extents of a mesh's box."""
    return np.float64(boxes[U(24)] + boxes[U(32)] + boxes[U(40)])


@device
def obb_extent(obbs):
    """The same of its oriented box."""
    return np.float64(obbs[U(96)] + obbs[U(104)] + obbs[U(112)])


@device
def query_size(parts, box, extent, t):
    """What the coordinates of shape and mesh reach to."""
    size = 2.0 * extent + abs(t[0]) + abs(t[1]) + abs(t[2]) + parts.reals[0, RADIUS]
    if parts.ints[0, KIND] == HALF_SPACE:
        return 8.0 * (size + abs(parts.reals[0, P3]))
    for k in range(6):
        size += abs(box[k])
    return size


@device
def in_box_frame(axes, center, r, t):
    """(R, t) of the mesh's tree in the frame of the shape's box, whose axes are the rows of `axes`."""
    d = sub(t, center)
    x, y, z = rotate(r, (1.0, 0.0, 0.0)), rotate(r, (0.0, 1.0, 0.0)), rotate(r, (0.0, 0.0, 1.0))
    x, y, z = rotate(axes, x), rotate(axes, y), rotate(axes, z)
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), rotate(axes, d)


@kernel(inner="box_tree, parts, f8[::1], mat3, vec3, walk_space, i8, i8[::1]")
def walk_convex(tree, parts, box, r, t, space, all_hits, found_out):
    """(status, number of triangles found that meet the shape): SEPARATED and 0, OVERLAPPING, or UNCONVERGED if none is known to
    and some could not be decided. Stops at the first unless `all_hits`; tree positions go to found_out as far as it reaches."""
    a, b = np.int64(0), np.int64(1)
    stack, metric = space.stack, space.lanes
    size = query_size(parts, box, box_extent(tree.boxes), t)
    _axes, _rotation, query = shape_query(parts, box, r, t, size, F(BOX_SLACK * size))
    status, found = SEPARATED, 0
    stack[0], depth = U(0), U(1)
    while depth > U(0):
        depth -= U(1)
        down = tree.child[stack[depth]]
        if down < 0:
            set_triangle(parts, b, tree.corners, U(-1 - down))
            axis = center_axis(parts, a, b, r, t)
            outcome = pair_intersects(parts, a, b, r, t, axis)[0]
            if outcome != SEPARATED:
                if found < found_out.shape[0]:
                    found_out[found] = -1 - down
                found += 1
                status = outcome if status != OVERLAPPING else status
                if all_hits == 0 and status == OVERLAPPING:
                    return status, found
            continue
        meet = boxes_meet8(tree.boxes, U(48) * U(down), query, metric)
        first = depth
        while meet != 0:
            # The deepest child on top.
            lane = lowest_bit(meet)
            meet &= meet - np.uint32(1)
            k = depth
            while k > first and metric[stack[k - U(1)] & U(7)] < metric[lane]:
                stack[k] = stack[k - U(1)]
                k -= U(1)
            stack[k] = U(8) * U(down) + lane
            depth += U(1)
    return status, found


@kernel(inner="obb_tree, parts, f8[::1], mat3, vec3, f8, i8, walk_space")
def walk_convex_distance(tree, parts, box, r, t, reach, guess, space):
    """(status, distance, point on the shape, unit normal from it to the mesh, tree position), looking no farther than
    `reach`; position -1 if nothing is that near. `guess`: position of a triangle whose distance bounds the answer, or -1."""
    a, b = np.int64(0), np.int64(1)
    stack, waiting = space.stack, space.waiting
    size = query_size(parts, box, obb_extent(tree.obbs), t)
    axes, center, half = shape_box(parts, box, HALF_SPACE_CUBE * size)
    # The box in the mesh's tree.
    back = transpose(r)
    away = unrotate(r, t)
    query = gap_query(
        single9(back),
        (F(-away[0]), F(-away[1]), F(-away[2])),
        (
            F(axes[0]), F(axes[1]), F(axes[2]), F(axes[3]), F(axes[4]), F(axes[5]), F(axes[6]), F(axes[7]), F(axes[8]),
            F(center[0]), F(center[1]), F(center[2]), F(half[0]), F(half[1]), F(half[2]),
        ),
        F(BOX_SLACK * size),
    )  # fmt: skip
    radius = parts.reals[0, RADIUS]
    zero = (0.0, 0.0, 0.0)
    best, p, n, at, status = reach, zero, zero, np.int64(-1), SEPARATED
    if guess >= 0:
        # A bound and no more: the walk finds the triangle again, so that the answer is the same as without a guess.
        set_triangle(parts, b, tree.corners, U(guess))
        axis = center_axis(parts, a, b, r, t)
        outcome, d, _p, _n = pair_distance(parts, a, b, r, t, axis, best)
        if outcome != UNCONVERGED:
            best = min(best, d + GUESS_ROUNDING * size)
    stack[0], waiting[0], depth = U(0), F(0.0), U(1)
    while depth > U(0):
        depth -= U(1)
        # Bounds are of the core: what is rounded off comes on top.
        far = best + radius
        if not waiting[depth] * (1.0 - BOUND_ROUNDING) <= far * far:
            continue
        down = tree.child[stack[depth]]
        if down < 0:
            set_triangle(parts, b, tree.corners, U(-1 - down))
            axis = center_axis(parts, a, b, r, t)
            outcome, d, x, y = pair_distance(parts, a, b, r, t, axis, best)
            if outcome == OVERLAPPING:
                return outcome, 0.0, x, zero, -1 - down
            if d < best or (d == best and at < 0):
                best, p, n, at, status = d, x, y, -1 - down, outcome
            continue
        limit = F(min(far * far * (1.0 + BOUND_ROUNDING) + LEAST_SQUARE, MOST_SQUARE))
        near = obbs_gap8(tree.obbs, U(120) * U(down), query, limit, space.lanes)
        depth = push_slots(space, depth, near, U(8) * U(down))
    return status, best, p, n, at


@kernel("i8, i8, box_tree, parts, f8[::1], f8[:,::1], f8[:,::1], u1[::1]")
def convex_intersects_rows(start, stop, tree, parts, box, poses_shape, poses_mesh, status_out):
    """Status of shape and surface for each row of poses."""
    parts, space, zero, none = own_parts(parts), new_walk_space(), np.zeros(3), np.empty(0, np.int64)
    for row in range(start, stop):
        r, t = tree_pose(poses_shape, row_of(poses_shape, row), poses_mesh, row_of(poses_mesh, row), zero, tree.origin)
        status_out[row] = walk_convex(tree, parts, box, r, t, space, np.int64(0), none)[0]


@kernel("box_tree, parts, f8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def convex_triangles(tree, parts, box, pose_shape, pose_mesh, found_out):
    """Number of triangles that meet the shape at one pose each; their tree positions go to found_out, as far as it reaches."""
    parts, space, zero = own_parts(parts), new_walk_space(), np.zeros(3)
    r, t = tree_pose(pose_shape, 0, pose_mesh, 0, zero, tree.origin)
    return walk_convex(tree, parts, box, r, t, space, np.int64(1), found_out)[1]


@kernel("i8, i8, obb_tree, parts, f8[::1], f8[:,::1], f8[:,::1], f8, i8[::1], distance_fields")
def convex_distance_rows(start, stop, tree, parts, box, poses_shape, poses_mesh, reach, position_inout, out):
    """Unsigned distances of shape and surface, world frame, normal from the shape to the mesh; rows beyond `reach` get
    inf. position_inout: tree position of the closest triangle, before the call that of an earlier frame, or -1."""
    parts, space, zero = own_parts(parts), new_walk_space(), np.zeros(3)
    for row in range(start, stop):
        row_s, row_m = row_of(poses_shape, row), row_of(poses_mesh, row)
        r, t = tree_pose(poses_shape, row_s, poses_mesh, row_m, zero, tree.origin)
        status, d, p, n, at = walk_convex_distance(tree, parts, box, r, t, reach, position_inout[row], space)
        position_inout[row] = at
        if at < 0 or d > reach:
            out.distance[row], out.status[row] = math.inf, SEPARATED
            for k in range(3):
                out.point_a[row, k], out.point_b[row, k], out.normal[row, k] = 0.0, 0.0, 0.0
            continue
        rs, ts = load_rotation(poses_shape, row_s), load_translation(poses_shape, row_s)
        p, n = transform(rs, ts, p), rotate(rs, n)
        out.distance[row], out.status[row] = d, status
        for k in range(3):
            out.point_a[row, k], out.point_b[row, k], out.normal[row, k] = p[k], p[k] + d * n[k], n[k]
