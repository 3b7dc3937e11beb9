"""Contacts of two boxes: the axis of least overlap, then their faces clipped along it. No search comes before.

Where the boxes overlap, the least of the 15 axes is depth and normal. Where they are apart within the margin, a face's axis is
the normal if a point of the other box lies right above that face, as far away as the axis says: then nothing is closer. Else
GJK has to find the closest points.

A's frame throughout; (r, t) is B in it. Boxes are given by their half extents alone: a call with all arrays of all shapes takes
as long as the test of the axes."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED
from thud.convex.box_box import depth_box_box
from thud.convex.manifold import BOX_LOOPS, SIDE, box_contact_points, put_witness, reduce_manifold, side_cell
from thud.convex.tolerances import BOX_ABOVE, BOX_EDGES_CROSS, MANIFOLD_CELL, MANIFOLD_SLACK, MANIFOLD_SLIDE
from thud.geometry.segment import closest_segment_segment
from thud.math.pose import rotate, unrotate
from thud.math.vec3 import cross, norm, norm2, sub

#: How many contacts there are if only a search can say.
SEARCH = -2


@device
def _along(n):
    """The axis of a box along which an edge runs that is highest along n."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x <= y and x <= z:
        return np.int64(0)
    return np.int64(1) if y <= z else np.int64(2)


@device
def _corner(half, n, axis, end):
    """The corner of a box highest along n, but at the lower (-1) or upper (1) end of the edge along `axis`: (number, place)."""
    x = end if axis == 0 else math.copysign(1.0, n[0])
    y = end if axis == 1 else math.copysign(1.0, n[1])
    z = end if axis == 2 else math.copysign(1.0, n[2])
    number = np.int64(x > 0.0) + 2 * np.int64(y > 0.0) + 4 * np.int64(z > 0.0)
    return number, (x * half[0], y * half[1], z * half[2])


@device
def _edge_number(axis, lower, upper):
    """Number of the edge between two corners of a box, along `axis`."""
    # A face beside it: of the next axis, on the side where the corners are.
    beside = (axis + 1) % 3
    face = 2 * beside + ((lower >> beside) & 1)
    for k in range(4):
        tail, head = BOX_LOOPS[face, k, 0], BOX_LOOPS[face, (k + 1) % 4, 0]
        if (tail == lower and head == upper) or (tail == upper and head == lower):
            return BOX_LOOPS[face, k, 1]
    return np.int64(0)


@kernel(inner="vec3, vec3, mat3, vec3, f8, vec3")
def crossing_edges(half_a, half_b, r, t, depth, n):
    """The edge of A that is highest along n and the one of B that is lowest, `depth` past each other, and where they cross.

    Returns (gap that is left once B is moved out by the depth, point on A, feature of A, feature of B).
    """
    m = unrotate(r, (-n[0], -n[1], -n[2]))
    i, j = _along(n), _along(m)
    low_a, p0 = _corner(half_a, n, i, -1.0)
    high_a, p1 = _corner(half_a, n, i, 1.0)
    low_b, q0 = _corner(half_b, m, j, -1.0)
    high_b, q1 = _corner(half_b, m, j, 1.0)
    x, y, z = t[0] + depth * n[0], t[1] + depth * n[1], t[2] + depth * n[2]
    q0, q1 = rotate(r, q0), rotate(r, q1)
    gap2, p, _q = closest_segment_segment(
        p0, p1, (q0[0] + x, q0[1] + y, q0[2] + z), (q1[0] + x, q1[1] + y, q1[2] + z)
    )  # fmt: skip
    feature_a, feature_b = SIDE + _edge_number(i, low_a, high_a), SIDE + _edge_number(j, low_b, high_b)
    along_a, along_b = sub(p1, p0), sub(q1, q0)
    if norm2(cross(along_a, along_b)) < MANIFOLD_SLIDE * MANIFOLD_SLIDE * norm2(along_a) * norm2(along_b):
        cell = MANIFOLD_CELL * min(norm(half_a), norm(half_b))
        feature_a += side_cell(p, (0.0, 0.0, 0.0), along_a, cell)
        feature_b += side_cell(p, (x, y, z), along_b, cell)
    return math.sqrt(gap2), p, feature_a, feature_b


@kernel(inner="vec3, vec3, mat3, vec3, f8, f8, i8, manifold_space")
def box_contacts(half_a, half_b, r, t, margin, touch, limit, space):
    """Contacts of two boxes: (status, how many, unit normal from A to B); the points go to space.found. A gap of at most
    `touch` counts as touching. SEARCH of them: nothing is known but that the boxes may be within the margin.

    Where they are apart by more than the margin the normal is an axis that shows it.
    """
    reach = max(margin, touch)
    overlap, n = depth_box_box(half_a[0], half_a[1], half_a[2], half_b[0], half_b[1], half_b[2], r, t, reach)
    if overlap < -reach:
        return SEPARATED, np.int64(0), n
    # What touches has points, even if rounding says that they are apart.
    kept, deepest = box_contact_points(half_a, half_b, r, t, n, reach, space)
    size = norm(half_a) + norm(half_b)
    if overlap < -touch:
        if kept > 0 and deepest >= overlap - BOX_ABOVE * size:
            return SEPARATED, reduce_manifold(space.found, kept, limit), n
        # Two edges that pass each other, as far apart as the axis says: then nothing is nearer.
        gap, p, feature_a, feature_b = crossing_edges(half_a, half_b, r, t, overlap, n)
        if not gap <= BOX_EDGES_CROSS * size:
            return SEPARATED, np.int64(SEARCH), n
        put_witness(space.found, kept, p, -overlap, n, feature_a, feature_b)
        return SEPARATED, reduce_manifold(space.found, kept + 1, limit), n
    if deepest < overlap - MANIFOLD_SLACK * norm(half_a):
        # Two edges that cross; or faces that touch in so little that rounding hides it.
        gap, p, feature_a, feature_b = crossing_edges(half_a, half_b, r, t, overlap, n)
        if not gap <= BOX_EDGES_CROSS * size:
            return OVERLAPPING, np.int64(SEARCH), n
        put_witness(space.found, kept, p, -overlap, n, feature_a, feature_b)
        kept += 1
    return OVERLAPPING, reduce_manifold(space.found, kept, limit), n
