"""Mesh against mesh: the distance of their surfaces with the closest points. Branch and bound over two 8-wide trees."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import lowest_bit, obbs_gap8
from thud.constants import TOUCH
from thud.geometry.triangle import closest_triangle_triangle
from thud.math.pose import load_rotation, load_translation, rotate, transform, transpose, unrotate
from thud.math.vec3 import norm2, sub
from thud.mesh.box_tree import U, load_triangle, place_triangle, tree_pose
from thud.mesh.mesh_mesh import STACK, F, single3, single9, triangle_pair
from thud.mesh.tolerances import BOX_SLACK
from thud.mesh.triangle_distance import triangle_gap


@device
def load_obb(obbs, slot):
    """The oriented box of a slot as 15 float32: three axes, centre, half extents."""
    o = U(120) * (slot >> U(3)) + (slot & U(7))
    return (
        obbs[o], obbs[o + U(8)], obbs[o + U(16)], obbs[o + U(24)], obbs[o + U(32)], obbs[o + U(40)], obbs[o + U(48)],
        obbs[o + U(56)], obbs[o + U(64)], obbs[o + U(72)], obbs[o + U(80)], obbs[o + U(88)], obbs[o + U(96)],
        obbs[o + U(104)], obbs[o + U(112)],
    )  # fmt: skip


@device
def gap_query(r, t, box, slack):
    """The oriented box in the frame that (R, t) leads to, and the slack, as `obbs_gap8` wants them."""
    u = rotate(r, (box[0], box[1], box[2]))
    v = rotate(r, (box[3], box[4], box[5]))
    w = rotate(r, (box[6], box[7], box[8]))
    c = transform(r, t, (box[9], box[10], box[11]))
    return (
        u[0], u[1], u[2], v[0], v[1], v[2], w[0], w[1], w[2], c[0], c[1], c[2], box[12], box[13], box[14], slack,
    )  # fmt: skip


@kernel(inner="f8[::1], f8[::1], u8, u8, mat3, vec3, f8")
def leaf_gap(corners_a, corners_b, i, j, r, t, best2):
    """(distance2, point of A, point of B) of the triangles at tree positions i and j, which do not meet; no better than
    best2 if they are farther. Compiled by itself, so that every walk gets the same bits."""
    a0, a1, a2 = load_triangle(corners_a, i)
    b0, b1, b2 = place_triangle(r, t, load_triangle(corners_b, j))
    return triangle_gap(a0, a1, a2, b0, b1, b2, best2)


@kernel(inner="f4[::1], i8[::1], f8[::1], f4[::1], i8[::1], f8[::1], mat3, vec3, f8, i8, i8, u8[::1], f4[::1], f4[::1]")
def walk_distance(obbs_a, child_a, corners_a, obbs_b, child_b, corners_b, r, t, reach, guess_a, guess_b, stack, waiting, gap2):
    """(distance2, point of A, point of B, tree positions of their triangles) of two surfaces, in the frame of A's tree.

    Last of all it returns how many times it tested eight boxes. Looks no farther than `reach`: positions -1 if nothing is
    that near. Of pairs at the same distance that with the least positions counts, so the answer does not depend on the order
    of the walk. (R, t) is B's tree in the frame of A's. `guess_a`, `guess_b`: positions of two triangles to begin with, or -1.
    `stack`, `waiting` (their bounds) and gap2 (8) are work space.
    """
    a, b = load_obb(obbs_a, U(0)), load_obb(obbs_b, U(0))
    size = 2.0 * np.float64(a[12] + a[13] + a[14] + b[12] + b[13] + b[14]) + abs(t[0]) + abs(t[1]) + abs(t[2])
    touch, slack = TOUCH * size, F(BOX_SLACK * size)
    r_ab, t_ab = single9(r), single3(t)
    r_ba = transpose(r_ab)
    back = unrotate(r, t)
    t_ba = F(-back[0]), F(-back[1]), F(-back[2])
    # What touches is found whatever the reach.
    best2 = max(reach * reach * (1.0 + 1e-12), touch * touch)
    zero = (0.0, 0.0, 0.0)
    on_a, on_b, at_a, at_b = zero, zero, np.int64(-1), np.int64(-1)
    tests = np.int64(0)
    if guess_a >= 0:
        if triangle_pair(corners_a, corners_b, U(guess_a), U(guess_b), r, t, touch):
            # Which pair that meets comes first is left to the walk.
            best2 = touch * touch
        else:
            found2, x, y = leaf_gap(corners_a, corners_b, U(guess_a), U(guess_b), r, t, math.inf)
            if found2 < best2:
                best2, on_a, on_b, at_a, at_b = found2, x, y, np.int64(guess_a), np.int64(guess_b)
    i, j, bound = U(0), U(0), F(0.0)
    depth = U(0)
    while True:
        down_a, down_b = child_a[i], child_b[j]
        if down_a < 0 and down_b < 0:
            here_a, here_b = -1 - down_a, -1 - down_b
            if bound == F(0.0) and triangle_pair(corners_a, corners_b, U(here_a), U(here_b), r, t, touch):
                a0, a1, a2 = load_triangle(corners_a, U(here_a))
                b0, b1, b2 = place_triangle(r, t, load_triangle(corners_b, U(here_b)))
                _gap2, x, y = closest_triangle_triangle(a0, a1, a2, b0, b1, b2)
                return 0.0, x, y, here_a, here_b, tests
            found2, x, y = leaf_gap(corners_a, corners_b, U(here_a), U(here_b), r, t, best2 * (1.0 + 1e-9))
            if found2 < best2 or (found2 == best2 and (here_a < at_a or (here_a == at_a and here_b < at_b))):
                best2, on_a, on_b, at_a, at_b = found2, x, y, here_a, here_b
        else:
            tests += 1
            a, b = load_obb(obbs_a, i), load_obb(obbs_b, j)
            # In the range of float32: larger squares count as inf there, smaller ones as this.
            limit = F(min(max(best2 * (1.0 + 1e-6), 1e-37), 3e38))
            open_a = down_b < 0 or (down_a >= 0 and a[12] + a[13] + a[14] >= b[12] + b[13] + b[14])
            if open_a:
                near = obbs_gap8(obbs_a, U(120) * U(down_a), gap_query(r_ab, t_ab, b, slack), limit, gap2)
                base = U(8) * U(down_a)
            else:
                near = obbs_gap8(obbs_b, U(120) * U(down_b), gap_query(r_ba, t_ba, a, slack), limit, gap2)
                base = U(8) * U(down_b)
            if near != 0:
                # On with the nearest child; the others wait, the nearer on top.
                first = depth
                while near != 0:
                    lane = lowest_bit(near)
                    near &= near - np.uint32(1)
                    key = gap2[lane]
                    slot_a, slot_b = (base + lane, j) if open_a else (i, base + lane)
                    at = depth
                    while at > first and waiting[at - U(1)] < key:
                        waiting[at] = waiting[at - U(1)]
                        stack[U(2) * at], stack[U(2) * at + U(1)] = stack[U(2) * at - U(2)], stack[U(2) * at - U(1)]
                        at -= U(1)
                    waiting[at], stack[U(2) * at], stack[U(2) * at + U(1)] = key, slot_a, slot_b
                    depth += U(1)
        while True:
            if depth == U(0):
                return best2, on_a, on_b, at_a, at_b, tests
            depth -= U(1)
            bound = waiting[depth]
            # The bound's square is rounded too: a part in a million is on the safe side.
            if bound * (1.0 - 1e-6) < best2:
                break
        i, j = stack[U(2) * depth], stack[U(2) * depth + U(1)]


@kernel(
    inner="i8, i8, f8[:,::1], f8[::1], f8, vec3, vec3, i8, f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], u1[::1]",
)
def write_distance(
    row, row_a, poses_a, origin_a, d2, x, y, at_a, distance_out, point_a_out, point_b_out, normal_out, status_out
):
    """The answer of one row, from what a walk found in the frame of A's tree (at_a: -1 for nothing), in the world."""
    for k in range(3):
        point_a_out[row, k], point_b_out[row, k], normal_out[row, k] = 0.0, 0.0, 0.0
    if at_a < 0:
        distance_out[row], status_out[row] = math.inf, 0
        return
    ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
    # In the tree's frame: far from the world's origin the two points may round to one.
    n = sub(y, x)
    x = transform(ra, ta, (x[0] + origin_a[0], x[1] + origin_a[1], x[2] + origin_a[2]))
    d = math.sqrt(d2)
    distance_out[row], status_out[row] = d, 1 if d == 0.0 else 0
    point_a_out[row, 0], point_a_out[row, 1], point_a_out[row, 2] = x
    if d == 0.0:
        point_b_out[row, 0], point_b_out[row, 1], point_b_out[row, 2] = x
        return
    y = transform(ra, ta, (y[0] + origin_a[0], y[1] + origin_a[1], y[2] + origin_a[2]))
    n, length = rotate(ra, n), math.sqrt(norm2(n))
    point_b_out[row, 0], point_b_out[row, 1], point_b_out[row, 2] = y
    normal_out[row, 0], normal_out[row, 1], normal_out[row, 2] = n[0] / length, n[1] / length, n[2] / length


@kernel(
    "i8, i8, f4[::1], i8[::1], f8[::1], f8[::1], f4[::1], i8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], f8, "
    "f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], u1[::1], i8[:,::1]"
)
def mesh_distance_rows(
    start,
    stop,
    obbs_a,
    child_a,
    corners_a,
    origin_a,
    obbs_b,
    child_b,
    corners_b,
    origin_b,
    poses_a,
    poses_b,
    reach,
    distance_out,
    point_a_out,
    point_b_out,
    normal_out,
    status_out,
    triangles_inout,
):
    """Unsigned distances of the surfaces, world frame; rows beyond `reach` get inf. triangles_inout: tree positions of the
    closest triangles, before the call those of an earlier frame to start from, or -1."""
    stack, waiting, gap2 = np.empty(2 * STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32)
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, origin_a, origin_b)
        d2, x, y, at_a, at_b, _tests = walk_distance(
            obbs_a,
            child_a,
            corners_a,
            obbs_b,
            child_b,
            corners_b,
            r,
            t,
            reach,
            triangles_inout[row, 0],
            triangles_inout[row, 1],
            stack,
            waiting,
            gap2,
        )
        triangles_inout[row, 0], triangles_inout[row, 1] = at_a, at_b
        write_distance(
            row, row_a, poses_a, origin_a, d2, x, y, at_a, distance_out, point_a_out, point_b_out, normal_out, status_out
        )
