"""Rows of contacts of a field and a half-space: corners of the ground below its plane, those of the underside too, spread out.

Everything is in the grid's frame; the normal leads from the ground to the half-space, against the plane's own."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED
from thud.bvh.height_tree import (
    BOTTOM,
    DEPTH,
    LEVELS,
    SPACING_X,
    SPACING_Y,
    TOP,
    node_code,
    node_index,
    node_of,
    node_range,
    node_rectangle,
    push_children,
    sample,
    triangle_there,
)
from thud.constants import TOUCH
from thud.convex.manifold import CORNER, FACE
from thud.heightfield.facets import sample_name
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import dot
from thud.mesh.manifolds.rows import (
    ALONG_N,
    CONTACT,
    DEEP,
    FACE_GROUND,
    FACE_OTHER,
    GROUND,
    MIDWAY,
    OTHER_SIDE,
)
from thud.mesh.manifolds.spread import FACET, HOW_DEEP, OF_GROUND, POINT, put_point, spread_points, thin_points
from thud.pairing.rows import row_of

#: Room for points before they are thinned out (a count).
_POINTS = 1024


@kernel
def triangle_at(grid, j, i):
    """Number of the first triangle that has sample [j, i] for a corner; -1 if there is none."""
    for y in range(j - 1, j + 1):
        for x in range(i - 1, i + 1):
            for k in range(2):
                # One triangle of each of two of the four cells around does not have it.
                beside = (y == j - 1 and x == i and k == 0) or (y == j and x == i - 1 and k == 1)
                if not beside and triangle_there(grid, y, x, k):
                    return 2 * (y * grid.columns + x) + k
    return np.int64(-1)


@device
def lowest_of_node(grid, n, level, j, i):
    """No more than n . x of all samples below a node; inf where all are holes."""
    low, high = node_range(grid, node_index(grid, level, j, i))
    if low > high:
        return math.inf
    i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    aside = n[0] * x * (i0 if n[0] > 0.0 else i1) + n[1] * y * (j0 if n[1] > 0.0 else j1)
    return aside + n[2] * (low if n[2] > 0.0 else high)


@kernel(inner="height_grid, vec3, f8, f8, f8, i8[::1], f8[:,::1]")
def sunk_samples(grid, n, height, reach, extent, stack, points):
    """(number of points, deepest or -inf): corners of the ground where n . x is at most `height` and `reach`."""
    thickness = grid.numbers[DEPTH]
    # How much lower than the top the underside lies along n, where there is one.
    lower = thickness * n[2] if thickness < math.inf else 0.0
    count, deepest = np.int64(0), -math.inf
    stack[0], depth = node_code(grid.levels.shape[0] - 1, 0, 0), 1
    while depth > 0:
        depth -= 1
        level, j, i = node_of(stack[depth])
        if lowest_of_node(grid, n, level, j, i) - max(lower, 0.0) > height + reach + TOUCH * extent:
            continue
        if level > 0:
            depth = push_children(grid, stack[depth], stack, depth)
            continue
        i0, i1, j0, j1 = node_rectangle(grid, level, j, i)
        # Samples between two blocks are those of the next one.
        for y in range(j0, j1 + (1 if j1 == grid.rows else 0)):
            for x in range(i0, i1 + (1 if i1 == grid.columns else 0)):
                top = (x * grid.numbers[SPACING_X], y * grid.numbers[SPACING_Y], sample(grid, y, x))
                deep = height - dot(n, top)
                if not max(deep, deep + lower) >= -reach:
                    continue
                triangle = triangle_at(grid, y, x)
                if triangle < 0:
                    continue
                for below in range(2 if thickness < math.inf else 1):
                    here = deep + (lower if below == 1 else 0.0)
                    if here >= -reach:
                        z = top[2] - (thickness if below == 1 else 0.0)
                        middle = (top[0] + 0.5 * here * n[0], top[1] + 0.5 * here * n[1], z + 0.5 * here * n[2])
                        name = CORNER + np.float64(sample_name(y * (grid.columns + 1) + x, below))
                        count = put_point(points, count, middle, here, name, FACE, triangle, 0)
                        deepest = max(deepest, here)
                if count > points.shape[0] - 2:
                    count = thin_points(points, count, n, extent)
    return count, deepest


@kernel("i8, i8, height_grid, f8[::1], f8[:,::1], f8[:,::1], f8, i8, manifold_rows")
def field_half_space_contact_rows(start, stop, grid, plane, poses_f, poses_s, margin, limit, out):
    """Contacts of each row, world frame. plane: normal and offset of the half-space in its own frame. Ground without end that
    has no way out has none."""
    stack, points = np.empty(4 * LEVELS, np.int64), np.empty((_POINTS, POINT))
    o, numbers = (grid.origin[0], grid.origin[1], grid.origin[2]), grid.numbers
    extent = numbers[SPACING_X] * grid.columns + numbers[SPACING_Y] * grid.rows + max(abs(numbers[TOP]), abs(numbers[BOTTOM]))
    reached = extent + abs(o[0]) + abs(o[1]) + abs(o[2])
    for row in range(start, stop):
        row_f, row_s = row_of(poses_f, row), row_of(poses_s, row)
        rf, tf = load_rotation(poses_f, row_f), load_translation(poses_f, row_f)
        world = rotate(load_rotation(poses_s, row_s), (plane[0], plane[1], plane[2]))
        n, ts = unrotate(rf, world), load_translation(poses_s, row_s)
        # Height of the plane over the grid's origin, the difference of the translations first.
        apart = (ts[0] - tf[0], ts[1] - tf[1], ts[2] - tf[2])
        height = plane[3] + dot(world, apart) - dot(n, o)
        touch = TOUCH * (reached + abs(height) + abs(apart[0]) + abs(apart[1]) + abs(apart[2]))
        out.needed[row], out.counts[row], out.status[row] = 0, 0, SEPARATED
        if numbers[DEPTH] == math.inf and n[2] > TOUCH:
            out.status[row] = OVERLAPPING
            continue
        count, deepest = sunk_samples(grid, n, height, max(margin, touch), extent, stack, points)
        many = spread_points(points, count, n, limit, extent)
        out.counts[row] = many
        if deepest >= -touch:
            out.status[row] = OVERLAPPING
        for k in range(min(many, out.contacts.shape[1])):
            q = transform(rf, tf, (points[k, 0] + o[0], points[k, 1] + o[1], points[k, 2] + o[2]))
            for c in range(CONTACT):
                out.contacts[row, k, c] = 0.0
            out.contacts[row, k, DEEP] = points[k, HOW_DEEP]
            for c in range(3):
                out.contacts[row, k, ALONG_N + c], out.contacts[row, k, MIDWAY + c] = -world[c], q[c]
            out.contacts[row, k, GROUND], out.contacts[row, k, OTHER_SIDE] = points[k, OF_GROUND], FACE
            out.contacts[row, k, FACE_GROUND], out.contacts[row, k, FACE_OTHER] = points[k, FACET], -1.0
