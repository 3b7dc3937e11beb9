"""Sphere trees over the triangles of a tile, as [EUVE] 3.1.1 has them, built once and stored.

A tree is built over *items*: triangles, or blocks of samples. Level 0 is the sphere of the tile. A node with fewer than N
triangles, or at level M, is a leaf (4.1); any other has two to four children: its items halved along the longest side of their
box, and each half that would be no leaf halved again. Nodes are written in pre-order, so that a walk only moves forward: into
a node's children it goes to the next row, past them to the row that the node names.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_device, exact_kernel
from thud.bounds.rounding import up32
from thud.errors import InvalidInputError
from thud.terrain.tiles.tile_arrays import CHILDREN, COUNT, NEXT, OFFSET, RADIUS
from thud.terrain.tiles.tolerances import CHILDREN as MOST_CHILDREN
from thud.terrain.tiles.tolerances import LEAF_TRIANGLES, MOST_LEVELS, SPHERE_SLACK, TREE_LEVELS


class SphereTree(NamedTuple):
    """A tree, and the order of the items that its leaves mean."""

    nodes: npt.NDArray[np.int32]
    """(K, 8) rows of `TileArrays.links`, the first four the bits of float32."""
    order: Ints
    """(I,) items in the order of the leaves."""


def build_sphere_tree(
    points: Floats, first: Ints, triangles: Ints, *, leaf: int = LEAF_TRIANGLES, levels: int = TREE_LEVELS
) -> SphereTree:
    """The tree over I items.

    Parameters
    ----------
    points : (P, 3) in the tile's frame, metres; each item lies in the hull of its own
    first : (I + 1,) where the points of each item begin
    triangles : (I,) how many triangles each item has
    leaf : N, a node with fewer triangles is a leaf
    levels : M, a node at this level is a leaf
    """
    for name, value, most in (("leaf", leaf, 2**30), ("levels", levels, MOST_LEVELS)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value <= most:
            raise InvalidInputError(f"{name}: expected a whole number from 0 to {most}, got {value!r}")
    count = len(first) - 1
    order, nodes = np.arange(count, dtype=np.int64), np.empty((2 * count, 8), np.int32)
    used = build_spheres(points, first, triangles, int(leaf), int(levels), order, nodes, nodes.view(np.float32))
    return SphereTree(nodes[:used].copy(), order)


@exact_device
def _before(centers, a, b, axis):
    """Whether item a comes before b along an axis; the number decides between equal ones."""
    return centers[a, axis] < centers[b, axis] or (centers[a, axis] == centers[b, axis] and a < b)


@exact_kernel(inner="f8[:,::1], i8[::1], i8, i8")
def halve(centers, order, start, stop):
    """Order the items start .. stop so that the lower half along the longest side of their box comes first; returns where the
    upper one begins."""
    axis, longest = 0, -1.0
    for k in range(3):
        low, high = math.inf, -math.inf
        for i in range(start, stop):
            low, high = min(low, centers[order[i], k]), max(high, centers[order[i], k])
        if high - low > longest:
            axis, longest = k, high - low
    middle = (start + stop) // 2
    # Quickselect.
    low, high = start, stop - 1
    while low < high:
        pivot = order[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while _before(centers, order[i], pivot, axis):
                i += 1
            while _before(centers, pivot, order[j], axis):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    return middle


@exact_device
def _weight(triangles, order, start, stop):
    total = 0
    for i in range(start, stop):
        total += triangles[order[i]]
    return total


@exact_device
def _write_sphere(points, first, order, start, stop, sphere_out):
    """A sphere about the points of the items start .. stop: round the middle of their box, in float32, rounded up."""
    x0, y0, z0 = math.inf, math.inf, math.inf
    x1, y1, z1 = -math.inf, -math.inf, -math.inf
    for i in range(start, stop):
        for p in range(first[order[i]], first[order[i] + 1]):
            x0, y0, z0 = min(x0, points[p, 0]), min(y0, points[p, 1]), min(z0, points[p, 2])
            x1, y1, z1 = max(x1, points[p, 0]), max(y1, points[p, 1]), max(z1, points[p, 2])
    sphere_out[0], sphere_out[1], sphere_out[2] = 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (z0 + z1)
    x, y, z = np.float64(sphere_out[0]), np.float64(sphere_out[1]), np.float64(sphere_out[2])
    far2 = 0.0
    for i in range(start, stop):
        for p in range(first[order[i]], first[order[i] + 1]):
            dx, dy, dz = points[p, 0] - x, points[p, 1] - y, points[p, 2] - z
            far2 = max(far2, dx * dx + dy * dy + dz * dz)
    size = abs(x) + abs(y) + abs(z)
    sphere_out[RADIUS] = up32(math.sqrt(far2) * (1.0 + SPHERE_SLACK) + size * SPHERE_SLACK)


@exact_kernel("f8[:,::1], i8[::1], i8[::1], i8, i8, i8[::1], i4[:,::1], f4[:,::1]")
def build_spheres(points, first, triangles, leaf, levels, order, links_out, nodes_out):
    """Write the nodes in pre-order and the items in the order of the leaves; returns how many nodes. `links_out` and
    `nodes_out` are the same memory."""
    count = first.shape[0] - 1
    centers = np.empty((count, 3))
    for i in range(count):
        for k in range(3):
            low, high = math.inf, -math.inf
            for p in range(first[i], first[i + 1]):
                low, high = min(low, points[p, k]), max(high, points[p, k])
            centers[i, k] = 0.5 * (low + high)
    # Ranges to come, the next one on top; the nodes above the one at hand, whose ends are not known yet.
    stack = np.empty((MOST_CHILDREN * (MOST_LEVELS + 1), 3), np.int64)
    above = np.full(MOST_LEVELS + 1, -1, np.int64)
    cuts = np.empty(MOST_CHILDREN + 1, np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, count, 0
    depth, used = 1, 0
    while depth > 0:
        depth -= 1
        start, stop, level = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        k = used
        used += 1
        for other in range(level, MOST_LEVELS + 1):
            if above[other] >= 0:
                links_out[above[other], NEXT] = k
                above[other] = -1
        above[level] = k
        _write_sphere(points, first, order, start, stop, nodes_out[k])
        if stop - start == 1 or level >= levels or _weight(triangles, order, start, stop) < leaf:
            links_out[k, CHILDREN], links_out[k, COUNT], links_out[k, OFFSET] = 0, stop - start, start
            continue
        cuts[0], cuts[1], cuts[2] = start, halve(centers, order, start, stop), stop
        pieces = 2
        # The upper half first: cutting it moves no other cut.
        for half in range(1, -1, -1):
            begin, end = cuts[half], cuts[half + 1]
            if end - begin > 1 and _weight(triangles, order, begin, end) >= leaf:
                middle = halve(centers, order, begin, end)
                for c in range(pieces, half, -1):
                    cuts[c + 1] = cuts[c]
                cuts[half + 1] = middle
                pieces += 1
        links_out[k, CHILDREN], links_out[k, COUNT], links_out[k, OFFSET] = pieces, 0, -1
        for c in range(pieces - 1, -1, -1):
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = cuts[c], cuts[c + 1], level + 1
            depth += 1
    for level in range(MOST_LEVELS + 1):
        if above[level] >= 0:
            links_out[above[level], NEXT] = used
    return used
