"""What a sphere tree must be before a walk sees it, and what it must hold to be right.

Whoever wrote a record may have written its checksum too. A tree that passes `check_tree` is walked in so many steps as it has
nodes, and never beyond its arrays. One that passes `check_spheres` misses no triangle.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_device, exact_kernel
from thud.errors import DamagedStoreError
from thud.terrain.tiles.tile_arrays import CHILDREN, COUNT, NEXT, OFFSET, RADIUS
from thud.terrain.tiles.tolerances import CHILDREN as MOST_CHILDREN
from thud.terrain.tiles.tolerances import MOST_LEVELS

#: What is wrong, by the number that the kernel returns.
_FAULTS = (
    "",
    "a sphere is not finite or has no radius",
    "the next node of one does not lie ahead of it, inside its parent",
    "a node has too many children, or another number than it says",
    "a leaf's items do not follow those of the leaf before, or an inner node has some",
    "the leaves do not hold all items",
    "there are too many levels",
)


def check_tree(nodes: npt.NDArray[np.int32], items: int) -> None:
    """Named error unless these nodes are a tree over so many items."""
    if len(nodes) == 0 or items == 0:
        raise DamagedStoreError(f"a sphere tree of {len(nodes)} nodes over {items} triangles or blocks")
    fault, row = tree_fault(nodes, nodes.view(np.float32), items)
    if fault:
        raise DamagedStoreError(f"sphere tree, node {row}: {_FAULTS[fault]}")


@exact_kernel("i4[:,::1], f4[:,::1], i8")
def tree_fault(links, nodes, items):
    """(number of the fault or 0, node)."""
    count = np.int64(links.shape[0])
    # Ends of the nodes above the one at hand, and how many of their children are yet to come.
    end, left = np.empty(MOST_LEVELS + 1, np.int64), np.empty(MOST_LEVELS + 1, np.int64)
    end[0], left[0] = count, 1
    level, used = 0, np.int64(0)
    for k in range(count):
        # Back to the node whose subtree goes on here.
        while level > 0 and end[level] == k:
            if left[level] != 0:
                return 3, k
            level -= 1
        if left[level] == 0:
            return 3, k
        left[level] -= 1
        for axis in range(RADIUS + 1):
            if not math.isfinite(nodes[k, axis]):
                return 1, k
        if not nodes[k, RADIUS] > 0.0:
            return 1, k
        children, following = links[k, CHILDREN], np.int64(links[k, NEXT])
        if following <= k or following > end[level]:
            return 2, k
        if children == 0:
            if following != k + 1:
                return 2, k
            if links[k, COUNT] < 1 or np.int64(links[k, OFFSET]) != used:
                return 4, k
            used += np.int64(links[k, COUNT])
            if used > items:
                return 5, k
            continue
        if children < 2 or children > MOST_CHILDREN:
            return 3, k
        if links[k, COUNT] != 0 or links[k, OFFSET] != -1:
            return 4, k
        if following == k + 1:
            return 2, k
        level += 1
        if level > MOST_LEVELS:
            return 6, k
        end[level], left[level] = following, children
    while level >= 0:
        if left[level] != 0 or end[level] != count:
            return 3, count
        level -= 1
    return (0, count) if used == items else (5, count)


@exact_device
def _outside(nodes, k, x, y, z):
    dx, dy, dz = x - nodes[k, 0], y - nodes[k, 1], z - nodes[k, 2]
    return not dx * dx + dy * dy + dz * dz <= np.float64(nodes[k, RADIUS]) * np.float64(nodes[k, RADIUS])


@exact_kernel("i4[:,::1], f4[:,::1], f8[:,::1], i8[::1]")
def sphere_fault(links, nodes, points, first):
    """The first node whose sphere does not hold a point of its items, or -1. Of a tree that passed `check_tree`; item i has the
    points first[i] .. first[i + 1]."""
    path = np.empty(MOST_LEVELS + 2, np.int64)
    depth = 0
    for k in range(links.shape[0]):
        while depth > 0 and np.int64(links[path[depth - 1], NEXT]) <= k:
            depth -= 1
        path[depth] = k
        depth += 1
        if links[k, CHILDREN] > 0:
            continue
        begin = np.int64(links[k, OFFSET])
        for p in range(first[begin], first[begin + np.int64(links[k, COUNT])]):
            for level in range(depth):
                if _outside(nodes, path[level], points[p, 0], points[p, 1], points[p, 2]):
                    return path[level]
    return np.int64(-1)
