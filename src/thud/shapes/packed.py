"""Any list of shapes as flat arrays that kernels dispatch on.

A shape is a run of convex parts. A plain convex shape is one part at the identity; a compound has several, with a
tree over them. `Packed` is a named tuple of arrays, so that a kernel takes one argument for all shapes and reads
`packed.parts.ints[p, KIND]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.shapes.compound import Compound
from thud.shapes.hull_topology import HullTopology
from thud.shapes.shape import Part, Shape
from thud.shapes.tolerances import HULL_SCAN

# Columns of shape_ints.
PART_START, PART_COUNT, NODE_START, NODE_COUNT = range(4)

# Columns of Parts.ints. KIND: see shapes/shape.py. SCAN_COUNT vertices from VERTEX_START are scanned with SIMD (a
# multiple of 8). LINK_START: row of link_starts where the part's vertices begin, -1 unless it is climbed.
KIND, VERTEX_START, SCAN_COUNT, VERTEX_COUNT, LINK_START, FACE_START, FACE_COUNT, EDGE_START, EDGE_COUNT = range(9)
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
    """(F + 1,) absolute offsets into loops (faces of all hulls run on)."""
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
    shape_ints = np.zeros((len(shapes), 4), dtype=np.int64)
    parts: list[Part] = []
    boxes, nodes = [np.empty((0, 6))], [np.empty((0, 2), dtype=np.int64)]
    node_count = 0
    for row, shape in enumerate(shapes):
        own = shape.parts()
        shape_ints[row] = len(parts), len(own), node_count, 0
        parts += own
        if isinstance(shape, Compound):
            tree = shape.tree
            boxes.append(tree.boxes)
            nodes.append(np.stack([tree.skip, tree.item], axis=1))
            shape_ints[row, NODE_COUNT] = len(tree.skip)
            node_count += len(tree.skip)
    part_ints = np.zeros((len(parts), PART_INTS), dtype=np.int64)
    part_reals = np.zeros((len(parts), PART_REALS))
    part_poses = np.array([part.pose for part in parts]).reshape(-1, 12)
    hulls = _HullPool()
    for row, part in enumerate(parts):
        part_ints[row, KIND] = part.kind
        part_ints[row, LINK_START] = -1
        part_reals[row, RADIUS] = part.radius
        part_reals[row, P0 : P0 + len(part.parameters)] = part.parameters
        part_reals[row, CENTER : CENTER + 3] = part.center
        part_reals[row, BOUND] = part.bounding_radius
        if part.hull is not None:
            part_ints[row, VERTEX_START : EDGE_COUNT + 1] = hulls.add(part.hull)
    arrays = hulls.arrays()
    return Packed(
        shape_ints,
        Parts(part_ints, part_reals, *arrays[:3]),
        part_poses,
        *arrays[3:],
        np.concatenate(boxes),
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
            raise InvalidInputError(f"{name}: row {row} is a {type(shape).__name__}; expected a thud shape")
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
        self.counts = {"vertices": 0, "link_starts": 0, "links": 0, "faces": 0, "loops": 0, "edges": 0}

    def add(self, hull: HullTopology) -> list[int]:
        """Values of Parts.ints from VERTEX_START to EDGE_COUNT."""
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
        count["loops"] += len(hull.loops)
        count["edges"] += len(hull.edges)
        self.rows[id(hull)] = row
        return row

    def arrays(self) -> tuple[Floats, Ints, Ints, Floats, Ints, Ints, Ints]:
        """vertices, link_starts and links of `Parts`, then planes to edges of `Packed`."""
        link_starts = np.concatenate([*self.link_starts, np.zeros(0, dtype=np.int64)])
        return (
            aligned(np.concatenate(self.vertices, axis=1)),
            link_starts,
            np.concatenate(self.links),
            np.concatenate(self.planes),
            np.concatenate(self.loop_starts),
            np.concatenate(self.loops),
            np.concatenate(self.edges),
        )


def aligned(array: Floats) -> Floats:
    """A copy that starts at a multiple of 64 bytes: a SIMD load that straddles two cache lines costs twice."""
    buffer = np.empty(array.size + 8)
    first = -buffer.ctypes.data % 64 // 8
    copy = buffer[first : first + array.size].reshape(array.shape)
    copy[:] = array
    return copy
