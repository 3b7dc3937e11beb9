"""Corridors of what meets things in a sub-step: of points, edges and faces, and of the nodes of a tree over them.

Each point goes straight from where it is to where it is thought to be at the end, and misses that by no more than a margin. So
it stays in a corridor: along each of some axes an interval that moves (`_core/simd_corridors.py`). Two that are apart along the
same axis, on the same side, at the begin and at the end do not meet: along that axis both ends of either move straight, or
better. So cloth that falls, or is carried, costs as much as cloth that lies still.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_corridors import AXES, LANES, ROW, join_corridors
from thud.dynamics.sticks.tolerances import PARTS, SINGLE
from thud.dynamics.sticks.types import ORIGIN
from thud.math.vec3 import load3, sub

_THIRD = math.sqrt(1.0 / 3.0)


@device
def put_along(rows, i, half, axis, at, wide):
    """One interval of a row, rounded outwards."""
    low, high = at - wide, -at - wide
    rows[i, half + axis] = np.float32(low - SINGLE * abs(low))
    rows[i, half + AXES + axis] = np.float32(high - SINGLE * abs(high))


@device
def put_place(rows, i, half, p, wide):
    """A point, wider by `wide` along each axis, into one half of a row."""
    x, y, z = p
    put_along(rows, i, half, 0, x, wide)
    put_along(rows, i, half, 1, y, wide)
    put_along(rows, i, half, 2, z, wide)
    put_along(rows, i, half, 3, _THIRD * (x + y + z), wide)


@device
def point_corridor(points, rules, i, reach, least):
    """The corridor of a point: wider by a reach, at the begin by what it watches beyond that, and at the end at least by its
    margin and the least gap."""
    for half in range(2):
        at = points.x if half == 0 else points.base
        wide = max(reach, least + points.margin[i]) if half == 1 else reach + points.watch[i]
        o = (rules[ORIGIN], rules[ORIGIN + 1], rules[ORIGIN + 2])
        put_place(points.rows, i, 2 * AXES * half, sub(load3(at, i, 0), o), wide)


@device
def empty_node(nodes, k):
    """Nothing: apart from all else."""
    for c in range(ROW):
        nodes[k, c] = np.float32(np.inf)


@device
def put_lane(blocks, lane, rows, i):
    """A row into its lane of a block."""
    block, at = lane // LANES, lane % LANES
    for c in range(ROW):
        blocks[block, c * LANES + at] = rows[i, c]


@device
def put_move(moves, leaf, axis, low, high):
    """One interval of a leaf's ways, rounded outwards."""
    moves[leaf, axis] = np.float32(low - SINGLE * abs(low))
    moves[leaf, 3 + axis] = np.float32(-high - SINGLE * abs(high))


@device
def leaf_move(points, tree, leaf):
    """How the points of a leaf are thought to go, and their greatest margin."""
    most = 0.0
    for axis in range(3):
        low, high = np.inf, -np.inf
        for c in range(tree.first_corner[leaf], tree.first_corner[leaf + 1]):
            i = tree.corners[c]
            way = points.base[i, axis] - points.x[i, axis]
            low, high, most = min(low, way), max(high, way), max(most, points.margin[i])
        put_move(tree.move, leaf, axis, low, high)
    tree.stray[leaf] = np.float32(most * (1.0 + SINGLE))
    least = np.float32(np.inf)
    for c in range(tree.first_corner[leaf], tree.first_corner[leaf + 1]):
        least = min(least, points.watch[tree.corners[c]])
    tree.watch[leaf] = least


@device
def leaf_moved(points, tree, leaf):
    """How they went."""
    for axis in range(3):
        low, high = np.inf, -np.inf
        for c in range(tree.first_corner[leaf], tree.first_corner[leaf + 1]):
            i = tree.corners[c]
            way = points.y[i, axis] - points.x[i, axis]
            low, high = min(low, way), max(high, way)
        put_move(tree.moved, leaf, axis, low, high)


@device
def nearer(moves, a, b):
    """How much nearer to each other two leaves may have come, by their ways."""
    total = 0.0
    for axis in range(3):
        far = max(-moves[a, 3 + axis] - moves[b, axis], -moves[b, 3 + axis] - moves[a, axis])
        total += np.float64(far) * np.float64(far)
    return math.sqrt(total)


@device
def leaf_corridor(points, tree, leaf, everything):
    """Corridors of the faces, edges and points of a leaf, and its own; or of those alone whose points are dirty."""
    node = tree.nodes.shape[0] // 2 + leaf
    dirty = everything
    for f in range(tree.first_face[leaf], tree.first_face[leaf + 1]):
        a, b, c = tree.faces[f, 0], tree.faces[f, 1], tree.faces[f, 2]
        if a < 0:
            break
        tree.dirty_faces[f] = points.dirty[a] | points.dirty[b] | points.dirty[c]
        if everything or tree.dirty_faces[f] == 1:
            join_corridors(points.rows, a, points.rows, b, tree.face_rows, f)
            join_corridors(points.rows, c, tree.face_rows, f, tree.face_rows, f)
            put_lane(tree.face_blocks, f, tree.face_rows, f)
            dirty = True
    for e in range(tree.first_edge[leaf], tree.first_edge[leaf + 1]):
        a, b = tree.edges[e, 0], tree.edges[e, 1]
        if a < 0:
            break
        tree.dirty_edges[e] = points.dirty[a] | points.dirty[b]
        if everything or tree.dirty_edges[e] == 1:
            join_corridors(points.rows, a, points.rows, b, tree.edge_rows, e)
            put_lane(tree.edge_blocks, e, tree.edge_rows, e)
            dirty = True
    for q in range(tree.first_point[leaf], tree.first_point[leaf + 1]):
        p = tree.points[q]
        if p < 0:
            break
        if everything or points.dirty[p] == 1:
            put_lane(tree.point_blocks, q, points.rows, p)
            dirty = True
    tree.dirty_nodes[node] = 1 if dirty else 0
    if not dirty:
        return
    leaf_move(points, tree, leaf)
    empty_node(tree.nodes, node)
    for c in range(tree.first_corner[leaf], tree.first_corner[leaf + 1]):
        join_corridors(tree.nodes, node, points.rows, tree.corners[c], tree.nodes, node)


@device
def join_children(tree, k):
    """The corridor of a node over two others."""
    tree.dirty_nodes[k] = tree.dirty_nodes[2 * k] | tree.dirty_nodes[2 * k + 1]
    if tree.dirty_nodes[k] == 1:
        join_corridors(tree.nodes, 2 * k, tree.nodes, 2 * k + 1, tree.nodes, k)


@kernel(inner="stick_points, stick_tree, i8, b1")
def part_corridors(points, tree, part, everything):
    """All that is below node PARTS + part, and that itself; or what of it is dirty."""
    leaves = tree.nodes.shape[0] // 2
    width = leaves // PARTS
    for leaf in range(part * width, (part + 1) * width):
        leaf_corridor(points, tree, leaf, everything)
    while width > 1:
        width //= 2
        first = PARTS * width + part * width
        for k in range(first, first + width):
            join_children(tree, k)


@device
def triangle_corridors(points, triangles, start, stop):
    """Of triangles of bodies."""
    corner = points.x.shape[0] - 3 * triangles.body.shape[0]
    for t in range(start, stop):
        a = corner + 3 * t
        join_corridors(points.rows, a, points.rows, a + 1, triangles.rows, t)
        join_corridors(points.rows, a + 2, triangles.rows, t, triangles.rows, t)
