"""Any list of shapes as flat arrays that kernels dispatch on.

A shape is a run of convex parts. A plain convex shape is one part at the identity; a compound has several, with a
tree over them. `Packed` is a named tuple of arrays, so that a kernel takes one argument for all shapes and reads
`packed.parts.ints[p, KIND]`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import kind_of
from thud.shapes.box import Box
from thud.shapes.compound import Compound
from thud.shapes.hull_topology import HullTopology, box_topology
from thud.shapes.shape import BOX, IDENTITY, Part, Shape
from thud.shapes.tolerances import HULL_SCAN

# Columns of shape_ints.
PART_START, PART_COUNT, NODE_START, NODE_COUNT = range(4)

# Columns of Parts.ints. KIND: see shapes/shape.py. SCAN_COUNT vertices from VERTEX_START are scanned with SIMD (a
# multiple of 8). LINK_START: row of link_starts where the part's vertices begin, -1 for a part without a hull. FACE_START: row
# of planes, LOOP_START: row of loop_starts where its faces begin; boxes have planes of their own and the loops of one cube.
KIND, VERTEX_START, SCAN_COUNT, VERTEX_COUNT, LINK_START, FACE_START, FACE_COUNT, EDGE_START, EDGE_COUNT, LOOP_START = range(10)
PART_INTS = 10

# Columns of Parts.reals. RADIUS rounds the core; P0.. are the shape's own numbers; CENTER a point inside; BOUND the
# radius of a ball about it.
RADIUS, P0, P1, P2, P3, CENTER, BOUND = 0, 1, 2, 3, 4, 5, 8
PART_REALS = 10


class Parts(NamedTuple):
    """Convex parts as GJK and EPA read them, each in its own frame."""

    ints: Ints
    """(P, PART_INTS), columns as above."""
    reals: Floats
    """(P, PART_REALS), columns as above."""
    vertices: Floats
    """(3, V) one row a coordinate; each hull padded to a multiple of 8 with copies of its first vertex."""
    link_starts: Ints
    """Absolute offsets into links, one a vertex and one more a hull."""
    links: Ints
    """Neighbour vertex ids within the hull, in pairs (vertex, edge)."""


class Packed(NamedTuple):
    """Shapes as arrays. All C-contiguous and writable (a read-only array would be another type to Numba)."""

    shape_ints: Ints
    parts: Parts
    part_poses: Floats
    """(P, 12) each part in its shape's frame."""
    planes: Floats
    """(F, 4) face planes of hulls and boxes."""
    loop_starts: Ints
    """Absolute offsets into loops, one a face of each hull and one more (faces of all hulls run on; boxes share those of a
    cube)."""
    loops: Ints
    """(L, 2) vertex id within the hull, edge id within the hull."""
    edges: Ints
    """(E, 4) tail, head, left face, right face; ids within the hull."""
    node_boxes: Floats
    """(K, 6) tree over a compound's parts, in its frame."""
    node_ints: Ints
    """(K, 2) skip and part, both counted from the shape's own start."""


@lru_cache(maxsize=256)
def pack(shapes: tuple[Shape, ...]) -> Packed:
    """Flat arrays of the shapes, in order. Cached by identity: shapes are frozen."""
    return pack_now(shapes)


def pack_now(shapes: tuple[Shape, ...]) -> Packed:
    """The same, not cached: for those who keep the arrays themselves."""
    # Boxes, of which there may be many, are packed at once; the others part by part.
    boxes = np.fromiter((type(shape) is Box for shape in shapes), np.bool_, len(shapes))
    counts = np.ones(len(shapes), dtype=np.int64)
    parts: list[Part] = []
    node_boxes, nodes = [np.empty((0, 6))], [np.empty((0, 2), dtype=np.int64)]
    shape_ints = np.zeros((len(shapes), 4), dtype=np.int64)
    node_count = 0
    for row in np.flatnonzero(~boxes).tolist():
        shape = shapes[row]
        own = shape.parts()
        counts[row] = len(own)
        parts += own
        if isinstance(shape, Compound):
            tree = shape.tree
            node_boxes.append(tree.boxes)
            nodes.append(np.stack([tree.skip, tree.item], axis=1))
            shape_ints[row, NODE_START], shape_ints[row, NODE_COUNT] = node_count, len(tree.skip)
            node_count += len(tree.skip)
    shape_ints[:, PART_START], shape_ints[:, PART_COUNT] = np.cumsum(counts) - counts, counts
    is_box = np.repeat(boxes, counts)
    ints, reals = np.zeros((len(is_box), PART_INTS), dtype=np.int64), np.zeros((len(is_box), PART_REALS))
    poses = np.tile(IDENTITY, (len(is_box), 1))
    hulls = _HullPool()
    for row, part in zip(np.flatnonzero(~is_box).tolist(), parts, strict=True):
        ints[row, KIND], ints[row, LINK_START] = part.kind, -1
        reals[row, RADIUS], reals[row, BOUND], poses[row] = part.radius, part.bounding_radius, part.pose
        reals[row, P0 : P0 + len(part.parameters)] = part.parameters
        reals[row, CENTER : CENTER + 3] = part.center
        if part.hull is not None:
            ints[row, VERTEX_START:] = hulls.add(part.hull)
    if boxes.any():
        half = np.array([shape.half_extents for shape, is_one in zip(shapes, boxes.tolist(), strict=True) if is_one])  # type: ignore[attr-defined]
        ints[is_box, KIND], ints[is_box, VERTEX_START:] = BOX, hulls.add_boxes(half)
        reals[is_box, P0 : P0 + 3], reals[is_box, BOUND] = half, np.sqrt((half * half).sum(axis=1))
    arrays = hulls.arrays()
    return Packed(
        shape_ints,
        Parts(ints, reals, *arrays[:3]),
        poses,
        *arrays[3:],
        np.concatenate(node_boxes),
        np.concatenate(nodes),
    )


def joined(a: Packed, b: Packed) -> Packed:
    """The shapes of both, b's after a's."""
    shape_ints = b.shape_ints.copy()
    shape_ints[:, PART_START] += len(a.parts.ints)
    shape_ints[:, NODE_START] += len(a.node_ints)
    return Packed(
        np.concatenate([a.shape_ints, shape_ints]),
        _joined_parts(a, b),
        np.concatenate([a.part_poses, b.part_poses]),
        np.concatenate([a.planes, b.planes]),
        np.concatenate([a.loop_starts, b.loop_starts[1:] + len(a.loops)]),
        np.concatenate([a.loops, b.loops]),
        np.concatenate([a.edges, b.edges]),
        np.concatenate([a.node_boxes, b.node_boxes]),
        np.concatenate([a.node_ints, b.node_ints]),
    )


def _joined_parts(a: Packed, b: Packed) -> Parts:
    ints = b.parts.ints.copy()
    ints[:, VERTEX_START] += a.parts.vertices.shape[1]
    ints[:, LINK_START] += np.where(ints[:, LINK_START] >= 0, len(a.parts.link_starts), 0)
    ints[:, FACE_START] += len(a.planes)
    ints[:, EDGE_START] += len(a.edges)
    ints[:, LOOP_START] += len(a.loop_starts) - 1
    return Parts(
        np.concatenate([a.parts.ints, ints]),
        np.concatenate([a.parts.reals, b.parts.reals]),
        aligned(np.concatenate([a.parts.vertices, b.parts.vertices], axis=1)),
        np.concatenate([a.parts.link_starts, b.parts.link_starts + len(a.parts.links)]),
        np.concatenate([a.parts.links, b.parts.links]),
    )


def as_packed(shapes: Sequence[Shape], name: str) -> Packed:
    """The gate of every shape argument."""
    for row, shape in enumerate(shapes):
        if not isinstance(shape, Shape):
            raise InvalidInputError(f"{name}: row {row}: expected a thud shape, got {kind_of(shape)}")
    if not shapes:
        raise InvalidInputError(f"{name}: expected at least one shape, got none")
    return pack(tuple(shapes))


class _HullPool:
    """Concatenates hulls; one that several parts share is stored once."""

    def __init__(self) -> None:
        self.rows: dict[int, list[int]] = {}
        self.vertices: list[Floats] = [np.empty((3, 0))]
        self.link_starts: list[Ints] = []
        self.links: list[Ints] = [np.empty((0, 2), dtype=np.int64)]
        self.planes: list[Floats] = [np.empty((0, 4))]
        self.loop_starts: list[Ints] = [np.zeros(1, dtype=np.int64)]
        self.loops: list[Ints] = [np.empty((0, 2), dtype=np.int64)]
        self.edges: list[Ints] = [np.empty((0, 4), dtype=np.int64)]
        self.counts = {"vertices": 0, "link_starts": 0, "links": 0, "faces": 0, "loop_starts": 0, "loops": 0, "edges": 0}

    def add(self, hull: HullTopology) -> list[int]:
        """Values of Parts.ints from VERTEX_START on."""
        if id(hull) in self.rows:
            return self.rows[id(hull)]
        n, count = len(hull.vertices), self.counts
        padding = -n % 16
        columns = np.concatenate([hull.vertices, np.repeat(hull.vertices[:1], padding, axis=0)]).T
        row = [
            count["vertices"],
            HULL_SCAN if n > HULL_SCAN else n + padding,
            n,
            count["link_starts"],
            count["faces"],
            len(hull.planes),
            count["edges"],
            len(hull.edges),
            count["loop_starts"],
        ]
        self.vertices.append(columns)
        self.link_starts.append(hull.link_starts + count["links"])
        self.links.append(np.stack([hull.links, hull.link_edges], axis=1))
        self.planes.append(hull.planes)
        self.loop_starts.append(hull.loop_starts[1:] + count["loops"])
        self.loops.append(np.stack([hull.loops, hull.loop_edges], axis=1))
        self.edges.append(np.concatenate([hull.edges, hull.edge_faces], axis=1))
        count["vertices"] += n + padding
        count["link_starts"] += len(hull.link_starts)
        count["links"] += len(hull.links)
        count["faces"] += len(hull.planes)
        count["loop_starts"] += len(hull.planes)
        count["loops"] += len(hull.loops)
        count["edges"] += len(hull.edges)
        self.rows[id(hull)] = row
        return row

    def add_boxes(self, half: Floats) -> Ints:
        """(K, 9) the same of K boxes by their half extents: vertices and planes of their own, the rest that of a cube."""
        cube = box_topology(np.ones(3))
        rows = np.tile(self.add(cube), (len(half), 1))
        vertices, planes = self.vertices[-1], self.planes[-1]
        width, faces = vertices.shape[1], len(planes)
        # The cube's own make way for those of the boxes, which are in its place and after it.
        own = aligned_empty((3, len(half) * width))
        np.multiply(half.T[:, :, None], vertices[:, None, :], out=own.reshape(3, len(half), width))
        self.vertices[-1] = own
        own = np.empty((len(half), faces, 4))
        own[:, :, :3], own[:, :, 3] = planes[:, :3], np.repeat(half, 2, axis=1)
        self.planes[-1] = own.reshape(-1, 4)
        at = np.arange(len(half))
        rows[:, 0] += width * at
        rows[:, FACE_START - VERTEX_START] += faces * at
        self.counts["vertices"] += width * (len(half) - 1)
        self.counts["faces"] += faces * (len(half) - 1)
        return rows

    def arrays(self) -> tuple[Floats, Ints, Ints, Floats, Ints, Ints, Ints]:
        """vertices, link_starts and links of `Parts`, then planes to edges of `Packed`."""
        link_starts = np.concatenate([*self.link_starts, np.zeros(0, dtype=np.int64)])
        # What is there once is taken as it is: a million boxes are 600 MB.
        vertices = self.vertices[1:]
        if len(vertices) == 1 and vertices[0].flags.carray and vertices[0].ctypes.data % 64 == 0:
            joined_vertices = vertices[0]
        else:
            joined_vertices = aligned_empty((3, self.counts["vertices"]))
            np.concatenate(self.vertices, axis=1, out=joined_vertices)
        return (
            joined_vertices,
            link_starts,
            np.concatenate(self.links),
            self.planes[1] if len(self.planes) == 2 and self.planes[1].flags.carray else np.concatenate(self.planes),
            np.concatenate(self.loop_starts),
            np.concatenate(self.loops),
            np.concatenate(self.edges),
        )


def aligned(array: Floats) -> Floats:
    """A copy that starts at a multiple of 64 bytes: a SIMD load that straddles two cache lines costs twice."""
    copy = aligned_empty(array.shape)
    copy[:] = array
    return copy


def aligned_empty(shape: tuple[int, ...]) -> Floats:
    """Likewise, not filled."""
    size = math.prod(shape)
    buffer = np.empty(size + 8)
    first = -buffer.ctypes.data % 64 // 8
    return buffer[first : first + size].reshape(shape)
