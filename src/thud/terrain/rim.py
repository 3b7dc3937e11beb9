"""Where a surface ends: edges of quads that no other quad shares. Boxes of the faces that the ground has there and below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints

if TYPE_CHECKING:
    from thud.terrain.surface import DisplacedSurface

#: Quads whose nodes are held at once: so many nodes (a count) bound the memory.
_NODES = 1 << 20

#: Odd numbers that turn the bits of a node's six coordinates into one number.
_ODD = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB],
    dtype=np.uint64,
)


def _numbers(points: Floats, directions: Floats) -> npt.NDArray[np.uint64]:
    """One number a node, the same for the same bits."""
    bits = np.ascontiguousarray(np.concatenate([points, directions], axis=-1) + 0.0).view(np.uint64)
    mixed = bits * _ODD
    mixed ^= mixed >> np.uint64(29)
    mixed *= _ODD[::-1]
    found = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=-1)
    return np.asarray(found * _ODD[0])


def rim_bits(surface: DisplacedSurface) -> npt.NDArray[np.uint8]:
    """(Q,) bits 0 to 3: at the quad's edge y = 0, x = side, y = side, x = 0 the surface ends, somewhere along it.

    Two quads share an edge between two nodes if sample and direction of both are the same, bit for bit.
    """
    quads = np.asarray(surface.quads)
    keys, owners, edges = [], [], []
    for side in np.unique(quads[:, 2]).tolist():
        rows = np.flatnonzero(quads[:, 2] == side)
        nodes = side * surface.detail_ratio + 1
        many = max(1, _NODES // (nodes * nodes))
        for start in range(0, len(rows), many):
            some = rows[start : start + many]
            found = surface.quad_samples(some)
            for side_of, at in enumerate(((slice(None), 0), (..., -1, slice(None)), (slice(None), -1), (..., 0, slice(None)))):
                number = _numbers(found.point[at], found.direction[at])
                keys.append((number[:, 1:] + number[:, :-1]).reshape(-1))
                owners.append(np.repeat(some, nodes - 1))
                edges.append(np.full(len(some) * (nodes - 1), side_of))
    key, owner, edge = np.concatenate(keys), np.concatenate(owners), np.concatenate(edges)
    _unique, group, count = np.unique(key, return_inverse=True, return_counts=True)
    alone = count[group.reshape(-1)] == 1
    bits = np.zeros(len(quads), dtype=np.uint8)
    np.bitwise_or.at(bits, owner[alone], (1 << edge[alone]).astype(np.uint8))
    return bits


def face_boxes(surface: DisplacedSurface, boxes: Floats, skip: Ints, item: Ints, rim: npt.NDArray[np.uint8]) -> Floats:
    """(K, 6) boxes of the nodes of the surface's tree over bottom and sides of the primitives' ground; `boxes` (P, 6) hold the
    sheet."""
    primitives, quads = np.asarray(surface.primitives), np.asarray(surface.quads)
    owner = surface._primitive_quads
    ways = surface.ways_down[np.where(primitives < 0, primitives[:, :1], primitives)]
    low, high = np.full((len(quads), 3), np.inf), np.full((len(quads), 3), -np.inf)
    np.minimum.at(low, owner, ways.min(axis=1))
    np.maximum.at(high, owner, ways.max(axis=1))
    low, high = low[owner], high[owner]
    ends = rim[owner][:, None] > 0
    # Sides begin at the sheet.
    leaf = np.concatenate(
        [
            boxes[:, :3] + np.where(ends, np.minimum(low, 0.0), low),
            boxes[:, 3:] + np.where(ends, np.maximum(high, 0.0), high),
        ],
        axis=1,
    )
    # The leaves below a node are a run of the leaves in order. One more row, so that a run may end behind the last.
    is_leaf = item >= 0
    before = np.concatenate([[0], np.cumsum(is_leaf)])
    ends_of = np.stack([before[:-1], before[skip]], axis=1).reshape(-1)
    rows = np.concatenate([leaf[item[is_leaf]], leaf[:1]])
    low, high = np.minimum.reduceat(rows[:, :3], ends_of)[::2], np.maximum.reduceat(rows[:, 3:], ends_of)[::2]
    return np.concatenate([low, high], axis=1)
