"""Projection directions of a net's vertices: along the field's gradient, smooth, and to the upper side of every primitive."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.constants import TINY
from thud.errors import InvalidShapeError
from thud.terrain.making.fields import Field, evaluate, gradient
from thud.terrain.making.surface_nets import Net
from thud.terrain.making.tolerances import FACING_GOAL, FACING_LEAST, KEEP_GOAL, SPLIT_TIE

# Differences for gradients, of a cell: directions belong to the coarse shape.
_STEP = 0.25
# How far from the middle of its cell a vertex may go, of a cell.
_ROOM = 0.45
# Rounds of turning directions, and of moving vertices where that does not suffice.
_TURNS, _MOVES = 200, 40
# Rings of quads about a vertex without a direction within which vertices may move for its sake.
SPREAD = 4
# The two ways to split a quad a, b, c, d into triangles.
_SPLITS = np.array([[[0, 1, 2], [0, 2, 3]], [[0, 1, 3], [1, 2, 3]]])


class Neighbours:
    """Means over the vertices that an edge leads to; on the border, over those along the border."""

    def __init__(self, quads: Ints, count: int) -> None:
        ends = np.sort(np.stack([quads, np.roll(quads, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
        edges, used = np.unique(ends, axis=0, return_counts=True)
        self.border = np.zeros(count, dtype=bool)
        self.border[edges[used == 1].reshape(-1)] = True
        keep = (used == 1)[:, None] | ~self.border[edges]
        # An edge counts at its first end, at its second.
        self._at = np.concatenate([edges[keep[:, 0], 0], edges[keep[:, 1], 1]])
        self._to = np.concatenate([edges[keep[:, 0], 1], edges[keep[:, 1], 0]])
        self._number = np.maximum(np.bincount(self._at, minlength=count), 1)
        self.count = count

    def mean(self, values: Floats) -> Floats:
        """(V, 3)"""
        columns = [np.bincount(self._at, weights=values[self._to, k], minlength=self.count) for k in range(3)]
        return np.stack(columns, axis=1) / self._number[:, None]

    def around(self, chosen: Bools) -> Bools:
        """The chosen vertices and those next to them."""
        out = chosen.copy()
        out[self._to[chosen[self._at]]] = True
        out[self._at[chosen[self._to]]] = True
        return out


def rings(chosen: Bools, quads: Ints, count: int) -> Bools:
    """The chosen vertices and, `count` times over, those that share a quad with them."""
    out = chosen.copy()
    for _ in range(count):
        out[quads[out[quads].any(axis=1)]] = True
    return out


def relaxed(field: Field, net: Net, rounds: int) -> Net:
    """Vertices spread evenly along the surface, each within its cell; the border stays."""
    neighbours = Neighbours(net.quads, len(net.positions))
    position = net.positions
    for k in range(rounds + 1):
        slope = gradient(field, position, _STEP * net.cell)
        squared = np.maximum(np.einsum("ij,ij->i", slope, slope), TINY)[:, None]
        step = -evaluate(field, position)[:, None] * slope / squared
        longest = np.linalg.norm(step, axis=1, keepdims=True)
        step *= np.minimum(1.0, _STEP * net.cell / np.maximum(longest, TINY))
        if k < rounds:
            away = neighbours.mean(position) - position
            away -= np.einsum("ij,ij->i", away, slope)[:, None] * slope / squared
            step += np.where(neighbours.border[:, None], 0.0, 0.5 * away)
        position = np.clip(position + step, net.centers - _ROOM * net.cell, net.centers + _ROOM * net.cell)
    return replace(net, positions=position)


def gradient_directions(field: Field, net: Net, rounds: int) -> Floats:
    """(V, 3) unit directions out of the ground, `rounds` times averaged with their neighbours."""
    direction = unit(gradient(field, net.positions, _STEP * net.cell))
    lost = ~direction.any(axis=1)
    if lost.any():
        direction[lost] = unit(vertex_normals(net.positions, net.quads))[lost]
    neighbours = Neighbours(net.quads, len(net.positions))
    for _ in range(rounds):
        direction = unit(direction + neighbours.mean(direction))
    return direction


@dataclass(frozen=True)
class Facing:
    """A net whose directions face their primitives."""

    net: Net
    directions: Floats
    """(V, 3) unit."""
    primitives: Ints
    """(P, 4)"""
    moved: Bools
    """(V,) vertices that may have moved."""

    def of_quads(self, chosen: Bools) -> Facing:
        """That of some of the net's quads."""
        used = np.unique(self.net.quads[chosen])
        name = np.full(len(self.directions) + 1, -1)
        name[used] = np.arange(len(used))
        # Those of a quad follow one another; a triangle's fourth vertex is -1, and stays.
        rows = self.primitives.reshape(len(chosen), -1, 4)[chosen].reshape(-1, 4)
        return Facing(self.net.of_quads(chosen), self.directions[used], name[rows], self.moved[used])


def facing(field: Field, net: Net, directions: Floats, quadrilaterals: bool, needed: Bools) -> Facing:
    """Net, directions and primitives such that each direction points to the upper side of all primitives at its vertex.

    Where the given direction does not, it is turned towards the normal it is farthest from, again and again, which finds a
    direction that faces all of them if there is one. If there is none, the vertex and those within SPREAD rings of it move
    towards the middle of their neighbours. Only the vertices that are `needed` (V,) must come out well.
    """
    neighbours = Neighbours(net.quads, len(net.positions))
    position = net.positions
    goal = unit(directions)
    middles = 0.5 * (position[net.quads[:, :2]] + position[net.quads[:, 2:]])
    off = np.abs(evaluate(field, middles.reshape(-1, 3))).reshape(-1, 2)
    zone = np.zeros(len(position), dtype=bool)
    for k in range(_MOVES):
        primitives = net.quads if quadrilaterals else split(position, goal, net.quads, off)
        normal = unit(primitive_normals(position, primitives))
        turned, least = turn(goal, normal, primitives)
        bad = least < FACING_LEAST
        if not bad.any() or k == _MOVES - 1:
            break
        if k == 0:
            zone = rings(bad, net.quads, SPREAD)
        moving = neighbours.around(bad) & zone
        # Border vertices too: there may be nothing else that can give way.
        position = np.where(moving[:, None], position + 0.5 * (neighbours.mean(position) - position), position)
        goal = np.where(moving[:, None], unit(vertex_normals(position, net.quads) + KEEP_GOAL * goal), goal)
    if (bad & needed).any():
        row = int(np.argmin(np.where(needed, least, np.inf)))
        place = ", ".join(f"{x:g}" for x in net.centers[row])
        raise InvalidShapeError(
            f"cell: the base mesh folds in the cell at ({place}), so that no direction faces all primitives there; use a "
            f"smaller cell than {net.cell:g} m or a smoother field"
        )
    return Facing(replace(net, positions=position), turned, padded(primitives), zone)


def turn(directions: Floats, normal: Floats, primitives: Ints) -> tuple[Floats, Floats]:
    """Unit directions turned until they face the primitives, and the least cosine that is left."""
    vertex = primitives.reshape(-1)
    face = np.repeat(np.arange(len(primitives)), primitives.shape[1])
    used = vertex >= 0
    vertex, face = vertex[used], face[used]
    order = np.argsort(vertex, kind="stable")
    vertex, face = vertex[order], face[order]
    direction, least = directions.copy(), np.full(len(directions), np.inf)
    best = directions.copy()
    for k in range(_TURNS):
        first = np.flatnonzero(np.concatenate([[True], vertex[1:] != vertex[:-1]]))
        cosine = np.einsum("ij,ij->i", normal[face], direction[vertex])
        low = np.minimum.reduceat(cosine, first)
        rows = vertex[first]
        better = low > np.where(np.isinf(least[rows]), -np.inf, least[rows])
        least[rows[better]] = low[better]
        best[rows[better]] = direction[rows[better]]
        open_rows = low < FACING_GOAL
        if not open_rows.any():
            break
        # Only what is not there yet goes on.
        keep = np.repeat(open_rows, np.diff(np.concatenate([first, [len(vertex)]])))
        size = np.diff(np.concatenate([first, [len(vertex)]]))[open_rows]
        vertex, face, cosine = vertex[keep], face[keep], cosine[keep]
        first = np.concatenate([[0], np.cumsum(size)[:-1]])
        worst = np.flatnonzero(cosine == np.repeat(low[open_rows], size))
        # The first of equals.
        _, one = np.unique(vertex[worst], return_index=True)
        at = worst[one]
        direction[vertex[at]] = unit(direction[vertex[at]] + normal[face[at]] / (2.0 + 0.1 * k))
    return best, least


def split(position: Floats, direction: Floats, quads: Ints, off: Floats) -> Ints:
    """(2 Q, 3) two triangles a quad, by the diagonal whose triangles face the directions better; where both do well, by the
    one whose middle is nearer to the surface (`off`: (Q, 2) of diagonals a-c, b-d)."""
    worst = []
    for pair in _SPLITS:
        low = np.full(len(quads), np.inf)
        for corners in pair:
            rows = quads[:, corners]
            normal = unit(primitive_normals(position, rows))
            low = np.minimum(low, np.einsum("ijk,ik->ij", direction[rows], normal).min(axis=1))
        worst.append(low)
    both = np.minimum(*worst) > 0.5
    # On flat ground roundoff must not choose.
    least = SPLIT_TIE * np.linalg.norm(position[quads[:, 2]] - position[quads[:, 0]], axis=1)
    second = np.where(both, off[:, 1] < off[:, 0] - least, worst[1] > worst[0] + SPLIT_TIE)
    chosen = _SPLITS[second.astype(int)]
    return np.take_along_axis(quads[:, None, :], chosen, axis=2).reshape(-1, 3)


def primitive_normals(position: Floats, primitives: Ints) -> Floats:
    """Of triangles (P, 3) or quadrilaterals (P, 4); twice the area long."""
    a, b, c = (position[primitives[:, k]] for k in range(3))
    if primitives.shape[1] == 3:
        return np.cross(b - a, c - a)
    return np.cross(c - a, position[primitives[:, 3]] - b)


def vertex_normals(position: Floats, quads: Ints) -> Floats:
    """Area-weighted."""
    normal = primitive_normals(position, quads)
    out = np.zeros_like(position)
    for k in range(4):
        for column in range(3):
            out[:, column] += np.bincount(quads[:, k], weights=normal[:, column], minlength=len(position))
    return out


def padded(primitives: Ints) -> Ints:
    """Rows of four; triangles end with -1."""
    if primitives.shape[1] == 4:
        return primitives
    return np.column_stack([primitives, np.full(len(primitives), -1)])


def unit(vectors: Floats) -> Floats:
    """Of length 1; a zero stays."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
