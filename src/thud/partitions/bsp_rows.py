"""Walks of a BSP tree: points to their cells, segments through cells, nearest faces. Kernels.

Points are put on their side of each plane exactly.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, exact_kernel, kernel
from thud.geometry.exact_vec3 import load3
from thud.geometry.predicates import orient3d
from thud.geometry.triangle import closest_point_triangle
from thud.math.vec3 import dot, sub
from thud.partitions.tolerances import BSP_SAME

#: Cells, as children of a node, in a tree whose cells are labelled.
OUT, IN = -1, -2


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], f8[:,::1], i8[::1]")
def bsp_leaf_rows(start, stop, planes, children, points, leaf_out):
    """The leaf of each point; of points on a plane the one in front."""
    for i in range(start, stop):
        p, node = load3(points, i, 0), np.int64(0)
        while node >= 0:
            side = orient3d(load3(planes, node, 0), load3(planes, node, 3), load3(planes, node, 6), p)
            node = children[node, 0] if side >= 0.0 else children[node, 1]
        leaf_out[i] = node


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], f8[:,::1], b1[::1]")
def bsp_point_rows(start, stop, planes, children, points, inside_out):
    """Whether each point lies in a cell that is IN; on a plane both sides count."""
    stack = np.empty(planes.shape[0] + 1, np.int64)
    for i in range(start, stop):
        p = load3(points, i, 0)
        inside = False
        stack[0], depth = 0, 1
        while depth > 0 and not inside:
            depth -= 1
            node = stack[depth]
            while node >= 0:
                side = orient3d(load3(planes, node, 0), load3(planes, node, 3), load3(planes, node, 6), p)
                if side == 0.0:
                    stack[depth] = children[node, 1]
                    depth += 1
                node = children[node, 0] if side >= 0.0 else children[node, 1]
            inside = node == IN
        inside_out[i] = inside


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], f8[::1]")
def bsp_segment_rows(start, stop, planes, children, starts, ends, first_out):
    """Least parameter at which each segment is in a cell that is IN; inf for none."""
    stack, spans = np.empty(planes.shape[0] + 1, np.int64), np.empty((planes.shape[0] + 1, 2))
    for i in range(start, stop):
        p = load3(starts, i if starts.shape[0] > 1 else 0, 0)
        q = load3(ends, i if ends.shape[0] > 1 else 0, 0)
        best = np.inf
        stack[0], spans[0, 0], spans[0, 1], depth = 0, 0.0, 1.0, 1
        while depth > 0:
            depth -= 1
            node, low, high = stack[depth], spans[depth, 0], spans[depth, 1]
            while node >= 0 and low < best:
                a, b, c = load3(planes, node, 0), load3(planes, node, 3), load3(planes, node, 6)
                hp, hq = orient3d(a, b, c, p), orient3d(a, b, c, q)
                near, far = 0, 1
                if hp == 0.0 and hq == 0.0:
                    # In the plane: the whole span on both sides.
                    cut_low, cut_high = low, high
                elif (hp >= 0.0 and hq >= 0.0) or (hp <= 0.0 and hq <= 0.0):
                    # On one side, perhaps with an end on the plane, which then belongs to the other side too.
                    if hp < 0.0 or hq < 0.0:
                        near, far = 1, 0
                    if hp != 0.0 and hq != 0.0:
                        node = children[node, near]
                        continue
                    touch = 0.0 if hp == 0.0 else 1.0
                    if touch < low or touch > high:
                        node = children[node, near]
                        continue
                    stack[depth], spans[depth, 0], spans[depth, 1] = children[node, far], touch, touch
                    depth += 1
                    node = children[node, near]
                    continue
                else:
                    if hp < 0.0:
                        near, far = 1, 0
                    t = hp / (hp - hq)
                    if t > high:
                        node = children[node, near]
                        continue
                    if t < low:
                        node = children[node, far]
                        continue
                    cut_low, cut_high = t, t
                stack[depth], spans[depth, 0], spans[depth, 1] = children[node, far], cut_low, high
                depth += 1
                high = cut_high
                node = children[node, near]
            if node == IN and low < best:
                best = low
        first_out[i] = best


@exact_kernel("f8[:,::1], i8[:,::1], f8[::1], i8[::1], i8[::1]")
def bsp_walk(planes, children, point, nodes_out, sides_out):
    """The nodes on the way to a point's cell and the side of each, 0 in front, 1 behind. Returns (nodes, cell)."""
    p, node, depth = (point[0], point[1], point[2]), np.int64(0), 0
    while node >= 0:
        side = orient3d(load3(planes, node, 0), load3(planes, node, 3), load3(planes, node, 6), p)
        nodes_out[depth], sides_out[depth] = node, 0 if side >= 0.0 else 1
        node = children[node, sides_out[depth]]
        depth += 1
    return depth, node


@device
def nearest_of_node(p, node, starts, pieces, owners, normals, best2, point, face, facing):
    """The nearest piece in a node's plane, if it is nearer than the best so far; of pieces as near the one that faces the point
    more: (best2, point, face, facing)."""
    for k in range(starts[node], starts[node + 1]):
        d2, q, _region = closest_point_triangle(p, load3(pieces, k, 0), load3(pieces, k, 3), load3(pieces, k, 6))
        if d2 > best2 * (1.0 + BSP_SAME):
            continue
        n = load3(normals, owners[k], 0)
        height = dot(n, sub(p, q))
        turn = abs(height)
        if d2 < best2 * (1.0 - BSP_SAME) or turn > abs(facing):
            best2, point, face, facing = min(best2, d2), q, owners[k], height
    return best2, point, face, facing


@kernel("i8[:,::1], i8[::1], f8[:,::1], f8[:,::1]")
def subtree_boxes(children, starts, pieces, boxes_out):
    """(M, 6) boxes of the pieces of each node and of all below it; children come after their parents."""
    for node in range(children.shape[0] - 1, -1, -1):
        for c in range(3):
            low, high = np.inf, -np.inf
            for k in range(starts[node], starts[node + 1]):
                low = min(low, min(pieces[k, c], min(pieces[k, 3 + c], pieces[k, 6 + c])))
                high = max(high, max(pieces[k, c], max(pieces[k, 3 + c], pieces[k, 6 + c])))
            for side in range(2):
                child = children[node, side]
                if child >= 0:
                    low, high = min(low, boxes_out[child, c]), max(high, boxes_out[child, 3 + c])
            boxes_out[node, c], boxes_out[node, 3 + c] = low, high


@device
def box_distance2(p, boxes, node):
    """Squared distance of a point from the box of a node."""
    x = max(max(boxes[node, 0] - p[0], p[0] - boxes[node, 3]), 0.0)
    y = max(max(boxes[node, 1] - p[1], p[1] - boxes[node, 4]), 0.0)
    z = max(max(boxes[node, 2] - p[2], p[2] - boxes[node, 5]), 0.0)
    return x * x + y * y + z * z


@kernel(
    "i8, i8, f8[:,::1], i8[:,::1], i8[::1], f8[:,::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], i8[::1]"
)
def bsp_nearest_rows(
    start, stop, cuts, children, starts, pieces, owners, normals, boxes, points, height_out, point_out, face_out
):  # fmt: skip
    """The nearest face of each point: the near side of a plane first, the far side only if the box of what is there is nearer
    than what was found. cuts: (M, 4) unit normals and offsets of the nodes' planes. height: distance with the sign of the side
    that the nearest face shows, negative behind."""
    stack = np.empty(children.shape[0] + 1, np.int64)
    for i in range(start, stop):
        p = load3(points, i, 0)
        best2, point, face, facing = np.inf, (0.0, 0.0, 0.0), np.int64(-1), 0.0
        stack[0], depth = 0, 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            while node >= 0 and box_distance2(p, boxes, node) <= best2 * (1.0 + BSP_SAME):
                height = dot(load3(cuts, node, 0), p) - cuts[node, 3]
                if height * height <= best2 * (1.0 + BSP_SAME):
                    best2, point, face, facing = nearest_of_node(
                        p, node, starts, pieces, owners, normals, best2, point, face, facing
                    )
                near = 0 if height >= 0.0 else 1
                if children[node, 1 - near] >= 0:
                    stack[depth] = children[node, 1 - near]
                    depth += 1
                node = children[node, near]
        distance = math.sqrt(best2)
        height_out[i] = -distance if facing < 0.0 else distance
        face_out[i] = face
        for axis in range(3):
            point_out[i, axis] = point[axis]
