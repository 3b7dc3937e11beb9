"""Surface nets: a field on a grid -> one vertex a cell and sheet, one quadrilateral a grid edge that crosses the surface.

Gibson (1998), with one vertex for each sheet in a cell (as Nielson's dual marching cubes, 2004) instead of one a cell, so that
sheets that pass through the same cell stay apart. In a face whose corners alternate, the inside corners are cut off one by one;
both cells of the face see it alike. The net is a manifold but for its border.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud.errors import InvalidInputError, NoSurfaceError
from thud.terrain.making.fields import Field, evaluate
from thud.terrain.making.progress import Progress
from thud.terrain.making.tolerances import FIELD_BLOCK, NET_NODES

# Cells around a grid edge along an axis, counter-clockwise seen against it: how many cells back along the two next axes.
_AROUND = ((1, 1), (0, 1), (0, 0), (1, 0))


@dataclass(frozen=True)
class Net:
    """A mesh of quadrilaterals about the surface of a field."""

    positions: Floats
    """(V, 3) metres."""
    centers: Floats
    """(V, 3) middle of the cell in which each vertex was made."""
    cells: Ints
    """(V, 3) that cell, counted from `lower`."""
    quads: Ints
    """(Q, 4) vertices, counter-clockwise seen from outside."""
    edges: Ints
    """(Q, 3) lower node of the grid edge that each quad goes round, counted from `lower`."""
    lower: Floats
    """(3,) lowest corner of the grid."""
    cell: float
    """Metres a side of a cell."""

    def of_quads(self, chosen: Bools) -> Net:
        """The net of some of its quads."""
        used, quads = np.unique(self.quads[chosen], return_inverse=True)
        return replace(
            self,
            positions=self.positions[used],
            centers=self.centers[used],
            cells=self.cells[used],
            quads=quads.reshape(-1, 4),
            edges=self.edges[chosen],
        )


def local_edge(axis: int, back_1: int, back_2: int) -> int:
    """Which of a cell's twelve edges: along `axis`, on the far side (1) or not (0) along the next two axes."""
    return 4 * axis + 2 * back_1 + back_2


@cache
def sheets() -> tuple[Ints, npt.NDArray[np.int8], npt.NDArray[np.bool_]]:
    """(512,) how many sheets, (512, 12) which of them crosses each edge (-1: none), (256, 6) whether a sheet passes twice
    through a face (low and high along x, y, z).

    Bit x + 2 y + 4 z of a case: that corner is inside. Cases from 256 on cut off the outside corners of faces that alternate.
    """
    counts, table = np.zeros(512, dtype=np.int64), np.full((512, 12), -1, dtype=np.int8)
    twice = np.zeros((256, 6), dtype=bool)
    step = (1, 2, 4)
    edges, faces = {}, []
    for axis in range(3):
        p, q = step[(axis + 1) % 3], step[(axis + 2) % 3]
        for b, c in ((0, 0), (0, 1), (1, 0), (1, 1)):
            edges[frozenset((b * p + c * q, b * p + c * q + step[axis]))] = local_edge(axis, b, c)
        faces += [(side, side + p, side + p + q, side + q) for side in (0, step[axis])]
    around = [[edges[frozenset((face[k], face[(k + 1) % 4]))] for k in range(4)] for face in faces]
    for variant in range(512):
        case, cut = variant % 256, variant < 256
        inside = [case >> k & 1 for k in range(8)]
        crossing = {e for ends, e in edges.items() if len({inside[k] for k in ends}) == 2}
        parent = {e: e for e in crossing}
        for face, ring in zip(faces, around):
            crossed = [e for e in ring if e in crossing]
            arcs = [crossed] if len(crossed) == 2 else []
            if len(crossed) == 4:
                # Edges k - 1 and k meet at corner k.
                arcs = [[ring[k - 1], ring[k]] for k in range(4) if inside[face[k]] == cut]
            for one, two in arcs:
                parent[_root(parent, one)] = _root(parent, two)
        names = sorted({_root(parent, e) for e in crossing})
        counts[variant] = len(names)
        for e in crossing:
            table[variant, e] = names.index(_root(parent, e))
        if cut:
            for k, ring in enumerate(around):
                twice[case, k] = all(e in crossing for e in ring) and len({table[variant, e] for e in ring}) == 1
    return counts, table, twice


def _root(parent: dict[int, int], e: int) -> int:
    while parent[e] != e:
        e = parent[e]
    return e


def _unpinched(cases: npt.NDArray[np.uint8], cells: Ints, strides: Ints) -> Ints:
    """Cases, some of them with the other cut: where the sheets on both sides of a face pass through it twice, four quads would
    meet in one edge (Wenger 2013)."""
    twice = sheets()[2]
    out = cases.astype(np.int64)
    for axis in range(3):
        rows = np.flatnonzero(twice[cases, 2 * axis + 1])
        beyond = np.minimum(np.searchsorted(cells, cells[rows] + strides[axis]), len(cells) - 1)
        both = (cells[beyond] == cells[rows] + strides[axis]) & twice[cases[beyond], 2 * axis]
        for chosen in (rows[both], beyond[both]):
            out[chosen] = cases[chosen].astype(np.int64) + 256
    return out


def surface_nets(field: Field, lower: Floats, shape: Ints, cell: float, first: Ints) -> Net:
    """The net of a field over `shape` cells from cell `first` of a grid on that begins at `lower`. It ends between half a cell
    and one before the border of those cells. Places are counted in the whole grid, so that their bits do not depend on which
    of its cells are looked at."""
    nodes = np.array(shape, dtype=np.int64) + 1
    if int(np.prod(nodes, dtype=object)) > NET_NODES:
        raise InvalidInputError(
            f"cell: {cell:g} m makes a grid of {' x '.join(map(str, nodes))} nodes, more than {NET_NODES}; use larger cells"
        )
    strides = np.array([nodes[1] * nodes[2], nodes[2], 1])
    found, cells, edges = _scan(field, lower, nodes, strides, cell, first)
    if len(cells) == 0:
        raise NoSurfaceError(
            "field: the surface passes through no cell; expected negative values inside the ground and positive ones outside, "
            "within lower .. upper"
        )
    counts, table, _ = sheets()
    cases = _unpinched(found, cells, strides)
    names = np.concatenate([[0], np.cumsum(counts[cases])])
    total = np.zeros((names[-1], 3))
    number = np.zeros(names[-1])
    quads, around = [], []
    for axis, (start, rising, part) in enumerate(edges):
        place = np.stack(np.unravel_index(start, tuple(nodes)), axis=1)
        point = (place + first).astype(float)
        point[:, axis] += part
        one, two = (axis + 1) % 3, (axis + 2) % 3
        corner = np.full((len(start), 4), -1, dtype=np.int64)
        for k, (back_1, back_2) in enumerate(_AROUND):
            low = place.copy()
            low[:, one] -= back_1
            low[:, two] -= back_2
            rows = np.flatnonzero((low >= 0).all(axis=1) & (low < nodes - 1).all(axis=1))
            at = np.searchsorted(cells, low[rows] @ strides)
            vertex = names[at] + table[cases[at], local_edge(axis, back_1, back_2)]
            corner[rows, k] = vertex
            for column in range(3):
                total[:, column] += np.bincount(vertex, weights=point[rows, column], minlength=len(total))
            number += np.bincount(vertex, minlength=len(total))
        whole = (corner >= 0).all(axis=1)
        corner, up = corner[whole], rising[whole]
        quads.append(np.where(up[:, None], corner, corner[:, ::-1]))
        around.append(place[whole] + first)
    every = np.concatenate(quads)
    if len(every) == 0:
        raise NoSurfaceError("cell: the surface is smaller than a cell or only grazes the domain; use smaller cells")
    used, quad = np.unique(every, return_inverse=True)
    owner = np.repeat(cells, counts[cases])[used]
    place = np.stack(np.unravel_index(owner, tuple(nodes)), axis=1) + first
    position = total[used] / number[used, None]
    centers = lower + cell * (place + 0.5)
    return Net(lower + cell * position, centers, place, quad.reshape(-1, 4), np.concatenate(around), lower, cell)


def _scan(
    field: Field, lower: Floats, nodes: Ints, strides: Ints, cell: float, first: Ints
) -> tuple[npt.NDArray[np.uint8], Ints, list[tuple[Ints, npt.NDArray[np.bool_], Floats]]]:
    """Cases and lowest nodes of cells with a surface, and of each axis the edges that cross it: lowest node, whether from
    inside to outside, and where in 0 .. 1. Planes of x in blocks: only what is near the surface is kept."""
    y, z = np.meshgrid(first[1] + np.arange(nodes[1]), first[2] + np.arange(nodes[2]), indexing="ij")
    plane = np.stack([np.zeros(y.size), y.reshape(-1), z.reshape(-1)], axis=1) * cell + lower
    step = max(1, FIELD_BLOCK // len(plane))
    cases, cells = [], []
    edges: list[list[tuple[Ints, npt.NDArray[np.bool_], Floats]]] = [[], [], []]
    last = np.zeros((0, nodes[1], nodes[2]))
    progress = Progress("cells of the field", int(nodes[0]))
    for x in range(0, int(nodes[0]), step):
        count = min(step, int(nodes[0]) - x)
        points = np.tile(plane, (count, 1))
        points[:, 0] += cell * np.repeat(first[0] + np.arange(x, x + count), len(plane))
        fresh = evaluate(field, points).reshape(count, nodes[1], nodes[2])
        values = np.concatenate([last, fresh])
        begin = x - len(last)
        inside = values < 0.0
        # Edges along y and z of planes that are new, along x between all.
        for axis in range(3):
            own = values if axis == 0 else fresh
            own_inside = inside if axis == 0 else inside[len(last) :]
            offset = begin if axis == 0 else x
            low = [slice(None)] * 3
            high = [slice(None)] * 3
            low[axis], high[axis] = slice(None, -1), slice(1, None)
            a, b = own_inside[tuple(low)], own_inside[tuple(high)]
            where = np.stack(np.nonzero(a != b), axis=1)
            fa, fb = own[tuple(low)][tuple(where.T)], own[tuple(high)][tuple(where.T)]
            edges[axis].append((where @ strides + offset * strides[0], fa < 0.0, fa / (fa - fb)))
        case = np.zeros(tuple(np.array(values.shape) - 1), dtype=np.uint8)
        for k in range(8):
            i, j, m = k & 1, k >> 1 & 1, k >> 2
            shape = case.shape
            case |= inside[i : i + shape[0], j : j + shape[1], m : m + shape[2]].astype(np.uint8) << np.uint8(k)
        some = np.stack(np.nonzero((case > 0) & (case < 255)), axis=1)
        cases.append(case[tuple(some.T)])
        cells.append(some @ strides + begin * strides[0])
        last = fresh[-1:]
        progress.add(count)
    joined = [tuple(np.concatenate(column) for column in zip(*rows)) for rows in edges]
    return np.concatenate(cases), np.concatenate(cells), joined  # type: ignore[return-value]
