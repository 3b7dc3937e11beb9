"""Triangles of bodies in reach of blocks of cloth, each once: kernels over meshes, grids of heights and planes."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.height_tree import SPACING_X, SPACING_Y, cell_corners, is_there
from thud.constants import TREE_LEVELS
from thud.dynamics.characters.reach import beside, box_in_frame, boxes_near, cell_range, square_corners
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.math.vec3 import dot, load3, norm
from thud.mesh.box_tree import F, U, load_triangle, single3
from thud.mesh.mesh_convex import box_extent
from thud.mesh.tolerances import BOX_SLACK


@kernel("i8, i8, f8[:,::1], f8[:,::1], i4[:,::1], f8, i8, f8[:,::1]")
def block_boxes(start, stop, low, high, items, reach, block, boxes_out):
    """Boxes about runs of `block` items (I, 3) of points in boxes (N, 3), larger by a reach."""
    for b in range(start, stop):
        for axis in range(3):
            least, most = np.inf, -np.inf
            for i in range(b * block, min((b + 1) * block, items.shape[0])):
                for k in range(3):
                    least, most = min(least, low[items[i, k], axis]), max(most, high[items[i, k], axis])
            boxes_out[b, axis], boxes_out[b, 3 + axis] = least - reach, most + reach


@device
def put_triangle(corners_out, found, a, b, c):
    """One more triangle, if there is room; returns how many there are."""
    if found < corners_out.shape[0]:
        for k in range(3):
            corners_out[found, k], corners_out[found, 3 + k], corners_out[found, 6 + k] = a[k], b[k], c[k]
    return found + 1


@kernel("box_tree, f8[:,::1], f8[:,::1], i8[::1], u1[::1], f8[:,::1], i8")
def mesh_near(tree, pose, rooms, chosen, seen, corners_out, found):
    """Of a mesh, in reach of some of the rooms (B, 6), world frame. seen: (T,) zeros. Returns how many there are, with those
    that were found before."""
    stack, lanes = np.empty(8 * TREE_LEVELS, np.uint64), np.empty(8, np.bool_)
    r = load_rotation(pose, 0)
    t = transform(r, load_translation(pose, 0), (tree.origin[0], tree.origin[1], tree.origin[2]))
    for place in range(chosen.shape[0]):
        row = chosen[place]
        lower, upper = load3(rooms, row, 0), load3(rooms, row, 3)
        middle, half = box_in_frame(r, t, lower, upper)
        size = 2.0 * box_extent(tree.boxes) + abs(middle[0]) + abs(middle[1]) + abs(middle[2]) + half[0] + half[1] + half[2]
        slack = BOX_SLACK * size
        near, far = single3(middle), (F(half[0] + slack), F(half[1] + slack), F(half[2] + slack))
        stack[0] = U(0)
        depth = U(1)
        while depth > U(0):
            depth -= U(1)
            down = tree.child[stack[depth]]
            if down >= 0:
                boxes_near(tree.boxes, U(48) * U(down), near, far, lanes)
                for lane in range(8):
                    if lanes[lane]:
                        stack[depth] = U(8) * U(down) + U(lane)
                        depth += U(1)
                continue
            triangle = -1 - down
            if seen[triangle] == 1:
                continue
            corners = load_triangle(tree.corners, U(triangle))
            a, b, c = transform(r, t, corners[0]), transform(r, t, corners[1]), transform(r, t, corners[2])
            if not beside(a, b, c, lower, upper):
                seen[triangle] = 1
                found = put_triangle(corners_out, found, a, b, c)
    return found


@kernel("height_grid, f8[:,::1], f8[:,::1], i8[::1], u1[::1], f8[:,::1], i8")
def grid_near(grid, pose, rooms, chosen, seen, corners_out, found):
    """The same of the upper side of a height field. seen: (2 cells,)."""
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    r = load_rotation(pose, 0)
    t = transform(r, load_translation(pose, 0), (grid.origin[0], grid.origin[1], grid.origin[2]))
    for place in range(chosen.shape[0]):
        row = chosen[place]
        lower, upper = load3(rooms, row, 0), load3(rooms, row, 3)
        middle, half = box_in_frame(r, t, lower, upper)
        i0, i1 = cell_range(middle[0], half[0], x, grid.columns)
        j0, j1 = cell_range(middle[1], half[1], y, grid.rows)
        for v in range(j0, j1):
            for u in range(i0, i1):
                heights = cell_corners(grid, v, u)
                h00, h10, h01, h11 = heights
                for k in range(2):
                    triangle = 2 * (v * grid.columns + u) + k
                    if seen[triangle] == 1 or not is_there(heights, k):
                        continue
                    a, d = transform(r, t, (u * x, v * y, h00)), transform(r, t, ((u + 1) * x, (v + 1) * y, h11))
                    if k == 0:
                        b, c = transform(r, t, ((u + 1) * x, v * y, h10)), d
                    else:
                        b, c = d, transform(r, t, (u * x, (v + 1) * y, h01))
                    if not beside(a, b, c, lower, upper):
                        seen[triangle] = 1
                        found = put_triangle(corners_out, found, a, b, c)
    return found


@kernel("f8[::1], f8[:,::1], f8[:,::1], i8[::1], u1[::1], f8[:,::1], i8")
def plane_near(plane, pose, rooms, chosen, seen, corners_out, found):
    """The same of a half-space: two triangles of its plane about all the rooms. plane: (4,) normal and offset."""
    lower, upper = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
    for place in range(chosen.shape[0]):
        a, b = load3(rooms, chosen[place], 0), load3(rooms, chosen[place], 3)
        lower = (min(lower[0], a[0]), min(lower[1], a[1]), min(lower[2], a[2]))
        upper = (max(upper[0], b[0]), max(upper[1], b[1]), max(upper[2], b[2]))
    middle = (0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]))
    half = (upper[0] - middle[0], upper[1] - middle[1], upper[2] - middle[2])
    r, t = load_rotation(pose, 0), load_translation(pose, 0)
    n = rotate(r, (plane[0], plane[1], plane[2]))
    height = plane[3] + dot(n, t) - dot(n, middle)
    wide = norm(half)
    if abs(height) > wide:
        return found
    foot = (middle[0] + height * n[0], middle[1] + height * n[1], middle[2] + height * n[2])
    a, b, c, d = square_corners(n, foot, 4.0 * wide)
    found = put_triangle(corners_out, found, a, b, c)
    return put_triangle(corners_out, found, a, c, d)


@kernel("i8, i8, f8[:,::1], i4[::1], f8[:,::1], f8[:,::1], u1[::1], f8[:,::1]")
def corners_before(start, stop, corners, bodies, before, after, moves, corners_out):
    """Triangles where their bodies were: before, after (B, 12) poses; moves (B,): 0 where the two are the same."""
    for i in range(start, stop):
        b = bodies[i]
        for k in range(3):
            p = load3(corners, i, 3 * k)
            if moves[b] == 1:
                r, t = load_rotation(after, b), load_translation(after, b)
                d = (p[0] - t[0], p[1] - t[1], p[2] - t[2])
                q = (
                    r[0] * d[0] + r[3] * d[1] + r[6] * d[2], r[1] * d[0] + r[4] * d[1] + r[7] * d[2],
                    r[2] * d[0] + r[5] * d[1] + r[8] * d[2],
                )  # fmt: skip
                p = transform(load_rotation(before, b), load_translation(before, b), q)
            for axis in range(3):
                corners_out[i, 3 * k + axis] = p[axis]
