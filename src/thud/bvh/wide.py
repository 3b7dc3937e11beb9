"""The 8-wide form of a mesh's tree, for rays and points: one SIMD test looks at all eight children of a node.

It is collapsed from the binary tree so that the expected cost of a ray is least (Ylitie, Karras, Laine 2017, "Efficient
incoherent ray traversal on GPUs through compressed wide BVHs", section 3.1, Eq. 1-4): which subtrees become leaves and
which binary nodes become one wide node is found by dynamic programming from the leaves up.

Boxes are float32, rounded outward, in the *scaled frame*: relative to the mesh's origin and divided by a power of two, so
that all lie in [-1, 1] whatever the size of the mesh. Triangles are float64 in the mesh's own frame, as the user gave them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud._core.decorators import device, kernel
from thud.bounds.upward import fit_upward
from thud.bvh.mesh_tree import MeshTree
from thud.bvh.tolerances import WIDE_LEAF_COST, WIDE_LEAST, WIDE_ROUNDOFF
from thud.constants import FLOAT32_STEP
from thud.gates import Array

F = np.float32

#: Children of a node, and triangles of a leaf.
WIDTH = 8
LEAF = 4

#: float32 numbers a node: rows lo_x, lo_y, lo_z, hi_x, hi_y, hi_z of 8 lanes, then 8 child references (int32), then padding
#: to four cache lines.
NODE_STRIDE = 64
REFERENCES = 48

#: float64 numbers a leaf: rows a_x, a_y, a_z, b_x, ... c_z of 4 lanes, then 4 face rows (int64), to five cache lines.
BLOCK_STRIDE = 40
ROWS = 36

#: Bounds of a lane without a child: no ray meets it, and its squared distance from a point is infinite in float32.
EMPTY = 2.0**64

#: Entries of the stack of a walk: 7 for each of up to TREE_LEVELS levels.
STACK = 640


class WideTree(NamedTuple):
    """Nodes and leaves of the 8-wide tree, as kernels take them; node 0 is the root."""

    nodes: npt.NDArray[np.float32]
    """(M * 64,) see NODE_STRIDE."""
    references: npt.NDArray[np.int32]
    """The same memory as int32. A child: the row of a node, or ~row of a leaf; 0 for none."""
    blocks: Array
    """(L * 40,) see BLOCK_STRIDE. Lanes without a triangle hold NaN."""
    rows: npt.NDArray[np.int64]
    """The same memory as int64. Face row of each triangle; -1 for none."""
    frame: Array
    """(12,) of the scaled frame: origin (3) in the mesh's, metres; scale, a power of two by which scaled lengths are metres;
    reach, the largest coordinate of a corner relative to the origin, metres; lower and upper corner of the scaled box, 16 over
    its extent."""


def aligned(count: int, dtype: type) -> npt.NDArray:
    """`count` numbers that begin at a cache line."""
    size = np.dtype(dtype).itemsize
    raw = np.empty(count * size + 64, dtype=np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip : skip + count * size].view(dtype)


def build_wide(tree: MeshTree, boxes: npt.NDArray[np.float32], vertices: Array, faces: Ints, origin: Array) -> WideTree:
    """Collapse the binary tree.

    `boxes` (K, 6) lower and upper corners relative to `origin`, rounded outward; (V, 3) vertices and (T, 3) faces of the mesh.
    """
    reach = float(np.abs(boxes[0]).max())
    scale = 2.0 ** math.ceil(math.log2(reach)) if reach > 0.0 else 1.0
    cost, choice = np.empty((len(tree.skip), WIDTH), dtype=np.float32), np.empty((len(tree.skip), WIDTH), dtype=np.uint8)
    fit_upward(plan_wide, tree.skip, boxes, np.float32(1.0 / scale), cost, choice)
    sizes = np.empty(2, dtype=np.int64)
    no_nodes, no_blocks = np.empty(0, dtype=np.float32), np.empty(0)
    arguments = (tree.skip, tree.first, tree.order, boxes, vertices, faces, choice, scale)
    fill_wide(*arguments, no_nodes, no_nodes.view(np.int32), no_blocks, no_blocks.view(np.int64), sizes)
    nodes, blocks = aligned(int(sizes[0]) * NODE_STRIDE, np.float32), aligned(int(sizes[1]) * BLOCK_STRIDE, np.float64)
    fill_wide(*arguments, nodes, nodes.view(np.int32), blocks, blocks.view(np.int64), sizes)
    box = boxes[0].astype(np.float64) / scale
    frame = np.concatenate([origin, [scale, reach], box, [16.0 / float((box[3:] - box[:3]).max())]])
    return WideTree(nodes, nodes.view(np.int32), blocks, blocks.view(np.int64), frame)


@kernel("i8, i8, i8[:,::1], i8[::1], f4[:,::1], f4, f4[:,::1], u1[:,::1]")
def plan_wide(begin, end, ranges, skip, boxes, unit, cost_out, choice_out):
    """`plan_node` for ranges of nodes (`bounds/upward.py`)."""
    for row in range(begin, end):
        for k in range(ranges[row, 1] - 1, ranges[row, 0] - 1, -1):
            plan_node(k, skip, boxes, unit, cost_out, choice_out)


@device
def plan_node(k, skip, boxes, unit, cost_out, choice_out):
    """cost_out[k, i]: least cost of the triangles below node k as at most i + 1 children of a wide node; choice_out: how.

    choice 0 in column 0: a leaf, 1: a wide node of its own. In column i: how many of the i + 1 children the left
    half gets, 0 for no more than column i - 1 has; in column 7 of the eight a wide node shares out.
    """
    x, y, z = unit * (boxes[k, 3] - boxes[k, 0]), unit * (boxes[k, 4] - boxes[k, 1]), unit * (boxes[k, 5] - boxes[k, 2])
    area = x * y + y * z + z * x
    triangles = (skip[k] - k + 1) // 2
    leaf = F(WIDE_LEAF_COST) * area if triangles <= LEAF else F(np.inf)
    if triangles == 1:
        for i in range(WIDTH):
            cost_out[k, i], choice_out[k, i] = leaf, 0
        return
    left, right = k + 1, skip[k + 1]
    # Eq. 4: the best way to share out i + 1 children.
    for i in range(1, WIDTH):
        best, share = F(np.inf), 1
        for j in range(i):
            both = cost_out[left, j] + cost_out[right, i - 1 - j]
            if both < best:
                best, share = both, j + 1
        cost_out[k, i], choice_out[k, i] = best, share
    # Eq. 2, 3: alone it is a leaf or a node with eight children.
    node = cost_out[k, WIDTH - 1] + area
    cost_out[k, 0], choice_out[k, 0] = (leaf, 0) if leaf <= node else (node, 1)
    for i in range(1, WIDTH - 1):
        if cost_out[k, i - 1] <= cost_out[k, i]:
            cost_out[k, i], choice_out[k, i] = cost_out[k, i - 1], 0


@kernel(
    "i8[::1], i8[::1], i8[::1], f4[:,::1], f8[:,::1], i8[:,::1], u1[:,::1], f8, f4[::1], i4[::1], f8[::1], i8[::1], i8[::1]"
)
def fill_wide(
    skip, first, order, boxes, vertices, faces, choice, scale, nodes_out, references_out, blocks_out, rows_out, sizes_out
):
    """Write nodes and leaves, depth first; with empty arrays only count them."""
    write = nodes_out.shape[0] > 0 or blocks_out.shape[0] > 0
    nodes, blocks = 1, 0
    # Wide nodes to do: binary node, row of the wide one.
    stack = np.empty((STACK, 2), np.int64)
    child, share = np.empty(2 * WIDTH, np.int64), np.empty(2 * WIDTH, np.int64)
    lanes = np.empty(WIDTH, np.int64)
    stack[0, 0], stack[0, 1], depth = 0, 0, 1
    while depth > 0:
        depth -= 1
        root, row = stack[depth, 0], stack[depth, 1]
        # The lanes of this node, left to right.
        count, waiting = 0, 1
        child[0], share[0] = root, WIDTH - 1
        fresh = True
        while waiting > 0:
            waiting -= 1
            k, i = child[waiting], share[waiting]
            if not (fresh and choice[k, 0] == 1):
                while i > 0 and choice[k, i] == 0:
                    i -= 1
                if i == 0:
                    lanes[count] = k
                    count += 1
                    continue
            fresh = False
            given = choice[k, i]
            child[waiting], share[waiting] = skip[k + 1], i - given
            child[waiting + 1], share[waiting + 1] = k + 1, given - 1
            waiting += 2
        base = NODE_STRIDE * row
        if write:
            for lane in range(WIDTH):
                for axis in range(3):
                    nodes_out[base + WIDTH * axis + lane] = EMPTY
                    nodes_out[base + WIDTH * (axis + 3) + lane] = -EMPTY
                references_out[base + REFERENCES + lane] = 0
            for pad in range(REFERENCES + WIDTH, NODE_STRIDE):
                nodes_out[base + pad] = 0.0
        first_node = nodes
        for lane in range(count):
            k = lanes[lane]
            if choice[k, 0] == 1:
                reference = nodes
                nodes += 1
            else:
                reference = ~blocks
                if write:
                    fill_block(skip[k] - k, first[k], order, vertices, faces, BLOCK_STRIDE * blocks, blocks_out, rows_out)
                blocks += 1
            if write:
                references_out[base + REFERENCES + lane] = reference
                for axis in range(3):
                    # Corners relative to the origin carry a roundoff of 1; float32 rounds to nearest, so one step more.
                    slack = WIDE_ROUNDOFF
                    low, high = np.float64(boxes[k, axis]) / scale - slack, np.float64(boxes[k, axis + 3]) / scale + slack
                    low32, high32 = np.float32(low), np.float32(high)
                    nodes_out[base + WIDTH * axis + lane] = (
                        low32 - np.float32(abs(low32) * FLOAT32_STEP) - np.float32(WIDE_LEAST)
                    )
                    nodes_out[base + WIDTH * (axis + 3) + lane] = (
                        high32 + np.float32(abs(high32) * FLOAT32_STEP) + np.float32(WIDE_LEAST)
                    )
        # The first child comes next in memory: last on the stack.
        reference = nodes - 1
        for lane in range(count - 1, -1, -1):
            k = lanes[lane]
            if choice[k, 0] == 1:
                stack[depth, 0], stack[depth, 1] = k, reference
                depth += 1
                reference -= 1
        assert reference == first_node - 1
    sizes_out[0], sizes_out[1] = nodes, blocks


@kernel
def fill_block(nodes, first, order, vertices, faces, base, blocks_out, rows_out):
    """A leaf of (nodes + 1) // 2 triangles from tree position `first` on."""
    for lane in range(LEAF):
        if lane < (nodes + 1) // 2:
            t = order[first + lane]
            for k in range(9):
                blocks_out[base + LEAF * k + lane] = vertices[faces[t, k // 3], k % 3]
            rows_out[base + ROWS + lane] = t
        else:
            for k in range(9):
                blocks_out[base + LEAF * k + lane] = math.nan
            rows_out[base + ROWS + lane] = -1
