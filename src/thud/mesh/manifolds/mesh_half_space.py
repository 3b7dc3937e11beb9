"""Rows of contacts of a mesh and a half-space: corners of the mesh below its plane, spread out. Everything is in the mesh's
frame; the normal leads from the mesh to the half-space, against the plane's own."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel
from thud._core.status import OVERLAPPING, SEPARATED
from thud.constants import TOUCH
from thud.convex.manifold import CORNER, FACE
from thud.math.pose import load_rotation, load_translation, rotate, transform, unrotate
from thud.math.vec3 import dot
from thud.mesh.box_tree import U, load_slot, load_triangle
from thud.mesh.manifolds.rows import (
    ALONG_N,
    CONTACT,
    DEEP,
    FACE_GROUND,
    FACE_OTHER,
    GROUND,
    MIDWAY,
    OTHER_SIDE,
    PATCH,
)
from thud.mesh.manifolds.spread import HOW_DEEP, OF_GROUND, POINT, put_point, spread_points
from thud.mesh.trees import new_walk_space
from thud.pairing.rows import row_of

_POINTS = 1024


@kernel("i8, i8, box_tree, mesh_edges, f8[::1], f8[:,::1], f8[:,::1], f8, i8, manifold_rows")
def mesh_half_space_contact_rows(start, stop, tree, edges, plane, poses_m, poses_s, margin, limit, out):
    """Contacts of each row, world frame. plane: normal and offset of the half-space in its own frame."""
    walk, points = new_walk_space(), np.empty((_POINTS, POINT))
    stack = walk.stack
    o = (tree.origin[0], tree.origin[1], tree.origin[2])
    root = load_slot(tree.boxes, U(0))
    extent = np.float64(root[3] + root[4] + root[5])
    reached = extent + abs(o[0]) + abs(o[1]) + abs(o[2])
    for row in range(start, stop):
        row_m, row_s = row_of(poses_m, row), row_of(poses_s, row)
        rm, tm = load_rotation(poses_m, row_m), load_translation(poses_m, row_m)
        rs, ts = load_rotation(poses_s, row_s), load_translation(poses_s, row_s)
        world = rotate(rs, (plane[0], plane[1], plane[2]))
        n = unrotate(rm, world)
        # Height of the plane over the tree's origin, the difference of the translations first.
        apart = (ts[0] - tm[0], ts[1] - tm[1], ts[2] - tm[2])
        height = plane[3] + dot(world, apart) - dot(n, o)
        touch = TOUCH * (reached + abs(height) + abs(apart[0]) + abs(apart[1]) + abs(apart[2]))
        reach = max(margin, touch)
        out.needed[row], out.status[row] = 0, SEPARATED
        count, deepest = np.int64(0), -np.inf
        stack[0], depth = U(0), U(1)
        while depth > U(0):
            depth -= U(1)
            down = tree.child[stack[depth]]
            if down < 0:
                position = np.int64(-1 - down)
                for c in range(3):
                    corner = load_triangle(tree.corners, U(position))
                    p = corner[0] if c == 0 else (corner[1] if c == 1 else corner[2])
                    deep = height - dot(n, p)
                    if deep >= -reach:
                        deepest = max(deepest, deep)
                        middle = (p[0] + 0.5 * deep * n[0], p[1] + 0.5 * deep * n[1], p[2] + 0.5 * deep * n[2])
                        vertex = CORNER + np.float64(edges.corner[position, c])
                        count = put_point(points, count, middle, deep, vertex, FACE, position, 0)
                        if count == _POINTS:
                            count = spread_points(points, count, n, np.int64(4), extent)
                continue
            for lane in range(8):
                slot = U(8) * U(down) + U(lane)
                b = load_slot(tree.boxes, slot)
                # Empty slots have no extent to speak of: their half extents are negative.
                if b[3] < 0.0:
                    continue
                low = n[0] * b[0] + n[1] * b[1] + n[2] * b[2] - abs(n[0]) * b[3] - abs(n[1]) * b[4] - abs(n[2]) * b[5]
                if low <= height + reach + 1e-6 * reached:
                    stack[depth] = slot
                    depth += U(1)
        many = spread_points(points, count, n, limit, extent)
        out.counts[row] = many
        if deepest >= -touch:
            out.status[row] = OVERLAPPING
        for k in range(min(many, out.contacts.shape[1])):
            q = transform(rm, tm, (points[k, 0] + o[0], points[k, 1] + o[1], points[k, 2] + o[2]))
            for c in range(CONTACT):
                out.contacts[row, k, c] = 0.0
            out.contacts[row, k, DEEP], out.contacts[row, k, PATCH] = points[k, HOW_DEEP], 0.0
            for c in range(3):
                out.contacts[row, k, ALONG_N + c], out.contacts[row, k, MIDWAY + c] = -world[c], q[c]
            out.contacts[row, k, GROUND], out.contacts[row, k, OTHER_SIDE] = points[k, OF_GROUND], FACE
            out.contacts[row, k, FACE_GROUND] = np.float64(edges.face[np.int64(points[k, 6])])
            out.contacts[row, k, FACE_OTHER] = -1.0
