"""Mesh against mesh: the distance of their surfaces with the closest points. Branch and bound over two 8-wide trees."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import obbs_gap8
from thud.constants import TOUCH
from thud.geometry.triangle import closest_triangle_triangle
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.math.vec3 import norm2, sub
from thud.mesh.box_tree import F, U, load_triangle, pair_frames, place_triangle, push_pairs, tree_pose
from thud.mesh.mesh_mesh import triangle_pair
from thud.mesh.tolerances import BOUND_ROUNDING, BOX_SLACK, GAP_ROUNDING, LEAST_SQUARE, MOST_SQUARE, REACH_ROUNDING
from thud.mesh.trees import new_walk_space
from thud.mesh.triangle_distance import triangle_gap
from thud.pairing.rows import row_of


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


@device
def gap_frames(tree_a, tree_b, r, t):
    """(what the coordinates reach to, what the walks of two trees of oriented boxes need of it and of (R, t))."""
    a, b = load_obb(tree_a.obbs, U(0)), load_obb(tree_b.obbs, U(0))
    size = 2.0 * np.float64(a[12] + a[13] + a[14] + b[12] + b[13] + b[14]) + abs(t[0]) + abs(t[1]) + abs(t[2])
    b_in_a, a_in_b = pair_frames(r, t)
    return size, ((b_in_a[0], b_in_a[2]), (a_in_b[0], a_in_b[2]), F(BOX_SLACK * size))


@device
def gaps_of_children(tree_a, tree_b, i, j, frames, best2, lanes):
    """Opens the larger of two slots. Returns (mask of its children that are nearer to the other one than best2, first of their
    slots, whether they are A's, the extent of what was opened); their squared distances go to `lanes`."""
    b_in_a, a_in_b, slack = frames
    down_a, down_b = tree_a.child[i], tree_b.child[j]
    a, b = load_obb(tree_a.obbs, i), load_obb(tree_b.obbs, j)
    limit = F(min(max(best2 * (1.0 + BOUND_ROUNDING), LEAST_SQUARE), MOST_SQUARE))
    extent_a, extent_b = a[12] + a[13] + a[14], b[12] + b[13] + b[14]
    open_a = down_b < 0 or (down_a >= 0 and extent_a >= extent_b)
    if open_a:
        near = obbs_gap8(tree_a.obbs, U(120) * U(down_a), gap_query(b_in_a[0], b_in_a[1], b, slack), limit, lanes)
        return near, U(8) * U(down_a), open_a, extent_a
    near = obbs_gap8(tree_b.obbs, U(120) * U(down_b), gap_query(a_in_b[0], a_in_b[1], a, slack), limit, lanes)
    return near, U(8) * U(down_b), open_a, extent_b


@kernel(inner="f8[::1], f8[::1], u8, u8, mat3, vec3, f8")
def leaf_gap(corners_a, corners_b, i, j, r, t, best2):
    """(distance2, point of A, point of B) of the triangles at tree positions i and j, which do not meet; no better than
    best2 if they are farther. Compiled by itself, so that every walk gets the same bits."""
    a0, a1, a2 = load_triangle(corners_a, i)
    b0, b1, b2 = place_triangle(r, t, load_triangle(corners_b, j))
    return triangle_gap(a0, a1, a2, b0, b1, b2, best2)


@device
def comes_first(found2, here_a, here_b, best2, at_a, at_b):
    """Whether a pair is the nearer one; of equals that with the least tree positions, whatever the order of the walk."""
    return found2 < best2 or (found2 == best2 and (here_a < at_a or (here_a == at_a and here_b < at_b)))


@device
def begin_nearest(tree_a, tree_b, guess, r, t, reach, touch):
    """(whether the two triangles of a guess meet, distance2 to look within, points, tree positions): what to begin with. Which
    pair that meets comes first is left to the walk; guess -1: none."""
    zero, none = (0.0, 0.0, 0.0), np.int64(-1)
    # What touches is found whatever the reach.
    best2 = max(reach * reach * (1.0 + REACH_ROUNDING), touch * touch)
    if guess[0] < 0:
        return False, best2, zero, zero, none, none
    i, j = U(guess[0]), U(guess[1])
    if triangle_pair(tree_a.corners, tree_b.corners, i, j, r, t, touch):
        return True, touch * touch, zero, zero, none, none
    found2, x, y = leaf_gap(tree_a.corners, tree_b.corners, i, j, r, t, math.inf)
    if found2 < best2:
        return False, found2, x, y, np.int64(guess[0]), np.int64(guess[1])
    return False, best2, zero, zero, none, none


@kernel(inner="obb_tree, obb_tree, mat3, vec3, f8, UniTuple(i8, 2), walk_space")
def walk_distance(tree_a, tree_b, r, t, reach, guess, space):
    """(distance2, point of A, point of B, tree positions of their triangles) of two surfaces, in the frame of A's tree.

    Last of all it returns how many times it tested eight boxes. Looks no farther than `reach`: positions -1 if nothing is
    that near. Of pairs at the same distance that with the least positions counts, so the answer does not depend on the order
    of the walk. (R, t) is B's tree in the frame of A's. `guess`: positions of two triangles to begin with, or -1.
    """
    stack, waiting = space.stack, space.waiting
    corners_a, corners_b = tree_a.corners, tree_b.corners
    size, frames = gap_frames(tree_a, tree_b, r, t)
    touch = TOUCH * size
    _meets, best2, on_a, on_b, at_a, at_b = begin_nearest(tree_a, tree_b, guess, r, t, reach, touch)
    tests = np.int64(0)
    i, j, bound = U(0), U(0), F(0.0)
    depth = U(0)
    while True:
        down_a, down_b = tree_a.child[i], tree_b.child[j]
        if down_a < 0 and down_b < 0:
            here_a, here_b = -1 - down_a, -1 - down_b
            if bound == F(0.0) and triangle_pair(corners_a, corners_b, U(here_a), U(here_b), r, t, touch):
                a0, a1, a2 = load_triangle(corners_a, U(here_a))
                b0, b1, b2 = place_triangle(r, t, load_triangle(corners_b, U(here_b)))
                _gap2, x, y = closest_triangle_triangle(a0, a1, a2, b0, b1, b2)
                return 0.0, x, y, here_a, here_b, tests
            found2, x, y = leaf_gap(corners_a, corners_b, U(here_a), U(here_b), r, t, best2 * (1.0 + GAP_ROUNDING))
            if comes_first(found2, here_a, here_b, best2, at_a, at_b):
                best2, on_a, on_b, at_a, at_b = found2, x, y, here_a, here_b
        else:
            tests += 1
            near, base, open_a, _extent = gaps_of_children(tree_a, tree_b, i, j, frames, best2, space.lanes)
            depth = push_pairs(space, depth, near, base, i, j, open_a)
        while True:
            if depth == U(0):
                return best2, on_a, on_b, at_a, at_b, tests
            depth -= U(1)
            bound = waiting[depth]
            if bound * (1.0 - BOUND_ROUNDING) < best2:
                break
        i, j = stack[U(2) * depth], stack[U(2) * depth + U(1)]


@kernel(inner="i8, f8[:,::1], f8[::1], f8, vec3, vec3, i8, distance_fields")
def write_distance(row, poses_a, origin_a, d2, x, y, at_a, out):
    """The answer of one row, from what a walk found in the frame of A's tree (at_a: -1 for nothing), in the world."""
    for k in range(3):
        out.point_a[row, k], out.point_b[row, k], out.normal[row, k] = 0.0, 0.0, 0.0
    if at_a < 0:
        out.distance[row], out.status[row] = math.inf, 0
        return
    row_a = row_of(poses_a, row)
    ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
    # In the tree's frame: far from the world's origin the two points may round to one.
    n = sub(y, x)
    x = transform(ra, ta, (x[0] + origin_a[0], x[1] + origin_a[1], x[2] + origin_a[2]))
    d = math.sqrt(d2)
    out.distance[row], out.status[row] = d, 1 if d == 0.0 else 0
    out.point_a[row, 0], out.point_a[row, 1], out.point_a[row, 2] = x
    if d == 0.0:
        out.point_b[row, 0], out.point_b[row, 1], out.point_b[row, 2] = x
        return
    y = transform(ra, ta, (y[0] + origin_a[0], y[1] + origin_a[1], y[2] + origin_a[2]))
    n, length = rotate(ra, n), math.sqrt(norm2(n))
    out.point_b[row, 0], out.point_b[row, 1], out.point_b[row, 2] = y
    out.normal[row, 0], out.normal[row, 1], out.normal[row, 2] = n[0] / length, n[1] / length, n[2] / length


@kernel("i8, i8, obb_tree, obb_tree, f8[:,::1], f8[:,::1], f8, i8[:,::1], distance_fields")
def mesh_distance_rows(start, stop, tree_a, tree_b, poses_a, poses_b, reach, triangles_inout, out):
    """Unsigned distances of the surfaces, world frame; rows beyond `reach` get inf. triangles_inout: tree positions of the
    closest triangles, before the call those of an earlier frame to start from, or -1."""
    space = new_walk_space()
    for row in range(start, stop):
        r, t = tree_pose(poses_a, row_of(poses_a, row), poses_b, row_of(poses_b, row), tree_a.origin, tree_b.origin)
        guess = (triangles_inout[row, 0], triangles_inout[row, 1])
        d2, x, y, at_a, at_b, _tests = walk_distance(tree_a, tree_b, r, t, reach, guess, space)
        triangles_inout[row, 0], triangles_inout[row, 1] = at_a, at_b
        write_distance(row, poses_a, tree_a.origin, d2, x, y, at_a, out)
