"""What many rays walk: boxes of blocks of patches, made once.

The bounding maps are made for shapes: a volume is computed from lengths along eight directions, which costs more than it saves
a ray. For many rays each quad gets a pyramid of boxes of its blocks of 2 x 2 patches, in bytes of the quad's own box: two bytes
a sample. Blocks are counted along a Z-curve, so that eight that follow each other lie together: they are the children of a
node, and eight nodes those of a node above. Over the quads stands the surface's own tree with eight children a node. Either
way one SIMD test looks at eight boxes (`block_walk.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.bvh.tolerances import WIDE_ROUNDOFF
from thud.bvh.wide import EMPTY, NODE_STRIDE, REFERENCES, WIDTH, aligned
from thud.terrain.bounding.planes import corner
from thud.terrain.collision.tolerances import BLOCK_SLACK
from thud.terrain.sampling import node_point
from thud.terrain.surface import DisplacedSurface
from thud.terrain.surface_arrays import COUNT, FIRST, QUAD, SIDE, V3

_I = np.int64

#: Columns of `quads`: first node of the pyramid, patches a side, whether its primitives cover all of it.
FIRST_NODE, PATCHES, WHOLE = 0, 1, 2

#: Bytes a node of a pyramid: rows lo_x, lo_y, lo_z, hi_x, hi_y, hi_z of 8 lanes. Lanes without a block have lo 255 and hi 0.
BLOCK_NODE = 48


class RayBlocks(NamedTuple):
    """The tree over the quads, and the pyramids of all of them."""

    nodes: npt.NDArray[np.float32]
    """(M * 64,) of the tree, as of a mesh's wide tree (`bvh/wide.py`); a leaf is a quad."""
    references: npt.NDArray[np.int32]
    """The same memory as int32. A child: the row of a node, or ~quad."""
    frame: Floats
    """(12,) of the scaled frame of the tree, as of a wide tree."""
    quads: Ints
    """(Q, 3)"""
    frames: Floats
    """(Q, 6) lower corner of a quad's box, and a 255th of its sides."""
    boxes: npt.NDArray[np.uint8]
    """(B * 48,) nodes of pyramids, in 255ths: of a quad the finest level first."""

    @property
    def nbytes(self) -> int:
        """Of all arrays, with the memory that aligned ones are cut from."""
        nodes = self.nodes
        while isinstance(nodes.base, np.ndarray):
            nodes = nodes.base
        return nodes.nbytes + self.frame.nbytes + self.quads.nbytes + self.frames.nbytes + self.boxes.nbytes


def build_blocks(surface: DisplacedSurface) -> RayBlocks:
    """Of all quads of a surface."""
    arrays = surface.arrays
    side = arrays.quads[:, SIDE].astype(np.int64) * arrays.ratio
    kinds, kind = np.unique(side, return_inverse=True)
    counts = np.array([node_count(int(n)) for n in kinds])[kind]
    quads = np.zeros((len(side), 3), np.int64)
    quads[:, FIRST_NODE], quads[:, PATCHES] = np.cumsum(counts) - counts, side
    frames, boxes = np.empty((len(side), 6)), np.empty(int(counts.sum()) * BLOCK_NODE, np.uint8)
    run_rows(block_boxes, len(side), None, arrays, quads, frames, boxes, rows_per_chunk=16)
    return RayBlocks(*wide_quads(surface), quads, frames, boxes)


def wide_quads(surface: DisplacedSurface) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32], Floats]:
    """(nodes, references, frame) of the tree over the quads."""
    arrays = surface.arrays
    most = len(arrays.node_ints)
    member, reference = np.full((most, WIDTH), -1, np.int64), np.zeros((most, WIDTH), np.int32)
    count = collapse_quads(arrays, member, reference)
    member, reference = member[:count], reference[:count]
    low, high = (arrays.node_boxes[0, k : k + 3].astype(np.float64) for k in (0, 3))
    origin = 0.5 * (low + high)
    reach = float(max(np.abs(low - origin).max(), np.abs(high - origin).max()))
    scale = 2.0 ** math.ceil(math.log2(reach)) if reach > 0.0 else 1.0
    boxes = arrays.node_boxes[member].astype(np.float64)
    lower = np.nextafter(((boxes[..., :3] - origin) / scale - WIDE_ROUNDOFF).astype(np.float32), np.float32(-np.inf))
    upper = np.nextafter(((boxes[..., 3:] - origin) / scale + WIDE_ROUNDOFF).astype(np.float32), np.float32(np.inf))
    nodes = aligned(count * NODE_STRIDE, np.float32)
    table = nodes.reshape(count, NODE_STRIDE)
    table[:] = 0.0
    none = (member < 0)[..., None]
    corners = np.concatenate([np.where(none, np.float32(EMPTY), lower), np.where(none, np.float32(-EMPTY), upper)], axis=2)
    table[:, :REFERENCES] = corners.transpose(0, 2, 1).reshape(count, REFERENCES)
    table.view(np.int32)[:, REFERENCES : REFERENCES + WIDTH] = reference
    bounds = np.concatenate([(low - origin) / scale, (high - origin) / scale])
    frame = np.concatenate([origin, [scale, reach], bounds, [16.0 / max(float((bounds[3:] - bounds[:3]).max()), 1e-300)]])
    return nodes, nodes.view(np.int32), frame


@exact_kernel("surface, i8[:,::1], i4[:,::1]")
def collapse_quads(surface, member_out, reference_out):
    """Collapse the tree over primitives to eight children a node, the largest opened first; what holds one quad alone is a
    leaf. member_out: the node of the tree that a lane stands for, reference_out: row of a node or ~quad. Returns the number of
    nodes."""
    tree, boxes = surface.node_ints, surface.node_boxes
    most = tree.shape[0]
    # The quad of all primitives below a node; -1 for several.
    only = np.empty(most, np.int64)
    for k in range(most - 1, -1, -1):
        if tree[k, 1] >= 0:
            only[k] = surface.primitives[tree[k, 1], QUAD]
        else:
            one = only[k + 1]
            only[k] = one if one == only[tree[k + 1, 0]] else -1
    waiting, row_of = np.empty(most, np.int64), np.empty(most, np.int64)
    waiting[0], row_of[0], depth, count = 0, 0, 1, 1
    lanes, area = np.empty(WIDTH, np.int64), np.empty(WIDTH)
    while depth > 0:
        depth -= 1
        row, used = row_of[depth], 1
        lanes[0] = waiting[depth]
        while used < WIDTH:
            widest, at = -1.0, -1
            for lane in range(used):
                k = lanes[lane]
                if only[k] < 0:
                    x, y, z = boxes[k, 3] - boxes[k, 0], boxes[k, 4] - boxes[k, 1], boxes[k, 5] - boxes[k, 2]
                    area[lane] = x * y + y * z + z * x
                    if area[lane] > widest:
                        widest, at = area[lane], lane
            if at < 0:
                break
            left = lanes[at] + 1
            lanes[at], lanes[used] = left, tree[left, 0]
            used += 1
        for lane in range(used):
            k = lanes[lane]
            member_out[row, lane] = k
            if only[k] >= 0:
                reference_out[row, lane] = ~only[k]
            else:
                reference_out[row, lane] = count
                waiting[depth], row_of[depth] = k, count
                depth, count = depth + 1, count + 1
    return count


# A pyramid -------------------------------------------------------------------------------------------------------------------


def node_count(patches: int) -> int:
    """Nodes of the pyramid of a quad of so many patches a side."""
    level = -(-(4 ** math.ceil(math.log2(-(-patches // 2)))) // WIDTH)
    total = level
    while level > 1:
        level = -(-level // WIDTH)
        total += level
    return total


@exact_device
def finest_nodes(patches):
    """Nodes of the finest level: a square of blocks whose side is a power of two, eight blocks each."""
    side = _I(1)
    while side < (patches + 1) // 2:
        side *= 2
    return (side * side + WIDTH - 1) // WIDTH


@exact_device
def spread_bits(x):
    """The lower 16 bits, each followed by a 0."""
    x = (x | (x << 8)) & 0x00FF00FF
    x = (x | (x << 4)) & 0x0F0F0F0F
    x = (x | (x << 2)) & 0x33333333
    return (x | (x << 1)) & 0x55555555


@exact_device
def gather_bits(x):
    """Every second of the lower 32 bits: `spread_bits` undone."""
    x = x & 0x55555555
    x = (x | (x >> 1)) & 0x33333333
    x = (x | (x >> 2)) & 0x0F0F0F0F
    x = (x | (x >> 4)) & 0x00FF00FF
    return (x | (x >> 8)) & 0x0000FFFF


@exact_device
def covers_all(surface, quad, patches):
    """Whether the primitives of a quad have its whole area."""
    area = _I(0)
    for k in range(surface.quads[quad, FIRST], surface.quads[quad, FIRST] + surface.quads[quad, COUNT]):
        ax, ay = corner(surface, k, 0, quad)
        bx, by = corner(surface, k, 1, quad)
        cx, cy = corner(surface, k, 2, quad)
        twice = abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
        area += twice if surface.primitives[k, V3] < 0 else 2 * twice
    return area == 2 * patches * patches


@exact_kernel("i8, i8, surface, i8[:,::1], f8[:,::1], u1[::1]")
def block_boxes(start, stop, surface, quads, frames_out, boxes_out):
    """Frames and pyramids of quads [start, stop)."""
    most = 0
    for quad in range(start, stop):
        most = max(most, quads[quad, PATCHES])
    points = np.empty((most + 1, most + 1, 3))
    for quad in range(start, stop):
        n, first = quads[quad, PATCHES], quads[quad, FIRST_NODE]
        quads[quad, WHOLE] = 1 if covers_all(surface, quad, n) else 0
        for c in range(3):
            frames_out[quad, c], frames_out[quad, 3 + c] = np.inf, -np.inf
        for y in range(n + 1):
            for x in range(n + 1):
                p = node_point(surface, quad, x, y)
                for c in range(3):
                    points[y, x, c] = p[c]
                    frames_out[quad, c] = min(frames_out[quad, c], p[c])
                    frames_out[quad, 3 + c] = max(frames_out[quad, 3 + c], p[c])
        for c in range(3):
            wide = frames_out[quad, 3 + c] - frames_out[quad, c]
            far = max(abs(frames_out[quad, 3 + c]), abs(frames_out[quad, c]))
            frames_out[quad, 3 + c] = max(wide, 1e-12 * far + 1e-300) * (1.0 + BLOCK_SLACK) / 255.0
        nodes = finest_nodes(n)
        clear_nodes(boxes_out, first, nodes)
        m = (n + 1) // 2
        for by in range(m):
            for bx in range(m):
                code = spread_bits(bx) | (spread_bits(by) << 1)
                at = (first + code // WIDTH) * BLOCK_NODE + code % WIDTH
                for c in range(3):
                    low, high = np.inf, -np.inf
                    for y in range(2 * by, min(2 * by + 2, n) + 1):
                        for x in range(2 * bx, min(2 * bx + 2, n) + 1):
                            low, high = min(low, points[y, x, c]), max(high, points[y, x, c])
                    step, origin = frames_out[quad, 3 + c], frames_out[quad, c]
                    boxes_out[at + WIDTH * c] = np.uint8(max(math.floor((low - origin) / step - BLOCK_SLACK), 0.0))
                    boxes_out[at + WIDTH * (c + 3)] = np.uint8(min(math.ceil((high - origin) / step + BLOCK_SLACK), 255.0))
        while nodes > 1:
            above, next_nodes = first + nodes, (nodes + WIDTH - 1) // WIDTH
            clear_nodes(boxes_out, above, next_nodes)
            for k in range(nodes):
                at = (above + k // WIDTH) * BLOCK_NODE + k % WIDTH
                for c in range(3):
                    low, high = np.uint8(255), np.uint8(0)
                    for lane in range(WIDTH):
                        low = min(low, boxes_out[(first + k) * BLOCK_NODE + WIDTH * c + lane])
                        high = max(high, boxes_out[(first + k) * BLOCK_NODE + WIDTH * (c + 3) + lane])
                    boxes_out[at + WIDTH * c], boxes_out[at + WIDTH * (c + 3)] = low, high
            first, nodes = above, next_nodes


@exact_device
def clear_nodes(boxes_out, first, count):
    """Nodes without any block."""
    for k in range(first * BLOCK_NODE, (first + count) * BLOCK_NODE):
        boxes_out[k] = 255 if k % BLOCK_NODE < BLOCK_NODE // 2 else 0
