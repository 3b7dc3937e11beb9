"""The 8-wide form of the tree for walks of two trees: boxes of eight children side by side, for SIMD.

A slot is 8 * node + lane. Slot 0 is the root; a slot's child is the wide node below it, or -1 - position for a triangle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud._core.decorators import exact_kernel, kernel
from thud._core.threads import run_rows
from thud.bvh.mesh_tree import MeshTree
from thud.constants import TREE_LEVELS

LANES = 8

#: Half extents of an empty lane, which meets nothing.
_EMPTY = np.float32(-1e30)
_TINY, _INFINITE = np.finfo(np.float32).tiny, np.float32(np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class PairTree:
    """W wide nodes; node 0 holds the root alone."""

    boxes: npt.NDArray[np.float32]
    """(48 W,) rows centre x, y, z, half x, y, z of 8 lanes; an empty lane has half extents of -1e30 and meets nothing."""
    child: Ints
    """(8 W,) by slot."""
    node: npt.NDArray[np.int32]
    """(8 W,) the node of the binary tree in a slot; -1 for an empty lane. Only building reads it."""


def build_pair_tree(tree: MeshTree, boxes: npt.NDArray[np.float32]) -> PairTree:
    """Collapse the binary tree: of a node's descendants the one with the largest surface is opened until there are 8.

    boxes : (K, 6) lower and upper corners, rounded outward
    """
    nodes = len(tree.order) + 1
    # Room for the worst case, of which the system gives out no more than is written to; the rest is given back.
    child, node = np.empty(LANES * nodes, dtype=np.int64), np.empty(LANES * nodes, dtype=np.int32)
    count = collapse(tree.skip, tree.first, boxes, child, node)
    child.resize(LANES * count, refcheck=False)
    node.resize(LANES * count, refcheck=False)
    lanes = np.empty(6 * len(node), dtype=np.float32)
    run_rows(fill_boxes, len(node), None, node, boxes, lanes, rows_per_chunk=65536)
    return PairTree(lanes, child, node)


@exact_kernel("i8, i8, i4[::1], f4[:,::1], f4[::1]")
def fill_boxes(start, stop, node, boxes, out):
    """Centre and half extents in float32 that hold each slot's box, 6 rows of 8 lanes a wide node."""
    for slot in range(start, stop):
        k, base = node[slot], slot // LANES * LANES * 6 + slot % LANES
        for axis in range(3):
            if k < 0:
                out[base + axis * LANES], out[base + (3 + axis) * LANES] = np.float32(0.0), _EMPTY
                continue
            lower, upper = np.float64(boxes[k, axis]), np.float64(boxes[k, 3 + axis])
            center = np.float32(0.5 * (lower + upper))
            wide = np.float64(center)
            half = np.float32(max(upper - wide, wide - lower))
            out[base + axis * LANES] = center
            # One step up in float32 is more than the roundoff of the difference above.
            out[base + (3 + axis) * LANES] = np.nextafter(max(half, _TINY), _INFINITE)


@kernel("i8[::1], i8[::1], f4[:,::1], i8[::1], i4[::1]")
def collapse(skip, first, boxes, child_out, node_out):
    """Fill the wide nodes in depth-first order; returns how many."""
    lanes = np.empty(LANES, np.int64)
    # Binary nodes that wait, and the slot that each belongs to.
    stack = np.empty((LANES * TREE_LEVELS, 2), np.int64)
    for lane in range(LANES):
        child_out[lane], node_out[lane] = -1, -1
    node_out[0] = 0
    if skip[0] == 1:
        return 1
    stack[0, 0], stack[0, 1] = 0, 0
    depth, count = 1, 1
    while depth > 0:
        depth -= 1
        child_out[stack[depth, 1]] = count
        lanes[0], used = stack[depth, 0], 1
        while used < LANES:
            best, area = -1, np.float32(-1.0)
            for lane in range(used):
                k = lanes[lane]
                if skip[k] != k + 1:
                    x, y, z = boxes[k, 3] - boxes[k, 0], boxes[k, 4] - boxes[k, 1], boxes[k, 5] - boxes[k, 2]
                    surface = x * y + y * z + z * x
                    if surface > area:
                        best, area = lane, surface
            if best < 0:
                break
            k = lanes[best]
            lanes[best], lanes[used] = k + 1, skip[k + 1]
            used += 1
        for lane in range(LANES):
            slot = LANES * count + lane
            child_out[slot] = -1 - first[lanes[lane]] if lane < used else -1
            node_out[slot] = lanes[lane] if lane < used else -1
        for lane in range(used - 1, -1, -1):
            if skip[lanes[lane]] != lanes[lane] + 1:
                stack[depth, 0], stack[depth, 1] = lanes[lane], LANES * count + lane
                depth += 1
        count += 1
    return count


class SlotLinks(NamedTuple):
    """The way up in a `PairTree`."""

    face_slot: Ints
    """(T,) the slot of each face."""
    up: Ints
    """(W,) the slot that stands for a wide node; 0 for node 0, which holds the root alone."""


def slot_links(tree: PairTree, order: Ints) -> SlotLinks:
    """Of a tree whose triangles are the faces `order`."""
    links = SlotLinks(np.empty(len(order), dtype=np.int64), np.zeros(len(tree.child) // LANES, dtype=np.int64))
    link_slots(tree.child, tree.node, order, *links)
    return links


@kernel("i8[::1], i4[::1], i8[::1], i8[::1], i8[::1]")
def link_slots(child, node, order, face_slot_out, up_out):
    """Fill `SlotLinks`."""
    for slot in range(child.shape[0]):
        if node[slot] < 0:
            continue
        if child[slot] >= 0:
            up_out[child[slot]] = slot
        else:
            face_slot_out[order[-1 - child[slot]]] = slot
