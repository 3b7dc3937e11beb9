"""Which row kernel answers a convex pair: each way of answering is a kernel of its own, compiled when it is first needed.

The kinds of the two parts decide. Rows of one way go to its kernel together; each row is computed alone, so the bytes do not
depend on how rows are grouped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud.shapes.packed import KIND, NODE_COUNT, PART_START, Packed
from thud.shapes.shape import BOX, CAPSULE, HALF_SPACE, HULL, KIND_NAMES, SPHERE

Table = npt.NDArray[np.uint8]

#: A closed form; support mappings; either, as it comes; two hulls, several at once; trees of compounds.
CLOSED, SUPPORT, PLAIN, HULLS, COMPOUND = range(5)

#: What a quick search writes for a row in which it makes no progress: never an answer, another kernel takes over. As `gjk.py`.
STALLED = 3

#: Stands for every row of a batch.
ALL_ROWS = np.empty(0, dtype=np.int64)


def _ways(closed: int, support: int, hulls: int) -> Table:
    """(kind of A, kind of B) -> way, from the ways for the three sorts of pairs."""
    table = np.full((len(KIND_NAMES), len(KIND_NAMES)), support, dtype=np.uint8)
    table[: CAPSULE + 1, : CAPSULE + 1] = closed
    table[SPHERE, :] = table[:, SPHERE] = closed
    table[SPHERE, HULL] = table[HULL, SPHERE] = support
    table[BOX, BOX] = closed
    table[HULL, HULL] = hulls
    table[HALF_SPACE, :] = table[:, HALF_SPACE] = closed
    return table


BOOLEAN_WAYS = _ways(CLOSED, SUPPORT, HULLS)
DISTANCE_WAYS = _ways(PLAIN, PLAIN, HULLS)
SIGNED_WAYS = _ways(PLAIN, PLAIN, PLAIN)


def stalled_rows(status: Table) -> Ints:
    """Rows that a quick search left without an answer."""
    # Most often none; bytes are looked through faster than arrays.
    return np.flatnonzero(status == STALLED) if STALLED in status.tobytes() else ALL_ROWS


def row_groups(packed: Packed, pairs: Ints, ways: Table, count: int) -> list[tuple[int, Ints]]:
    """(way, rows) of a batch of `count` rows, `ALL_ROWS` where all of them go the same way. More rows than pairs are further
    configurations of these."""
    if len(pairs) == 1:
        # A call for one pose waits for this: `item` is the fastest way to a number.
        shape, part = packed.shape_ints.item, packed.parts.ints.item
        a, b = pairs.item(0, 0), pairs.item(0, 1)
        if shape(a, NODE_COUNT) or shape(b, NODE_COUNT):
            return [(COMPOUND, ALL_ROWS)]
        return [(ways.item(part(shape(a, PART_START), KIND), part(shape(b, PART_START), KIND)), ALL_ROWS)]
    kinds = packed.parts.ints[packed.shape_ints[:, PART_START], KIND]
    compound = packed.shape_ints[:, NODE_COUNT] > 0
    way = ways[kinds[pairs[:, 0]], kinds[pairs[:, 1]]]
    way[compound[pairs[:, 0]] | compound[pairs[:, 1]]] = COMPOUND
    present = np.flatnonzero(np.bincount(way, minlength=5)).tolist()
    if len(present) == 1:
        return [(present[0], ALL_ROWS)]
    shifts = np.arange(0, count, len(pairs))[:, None]
    return [(k, (shifts + np.flatnonzero(way == k)).ravel()) for k in present]
