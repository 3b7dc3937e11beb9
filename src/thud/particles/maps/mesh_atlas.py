"""The atlas of a mesh: a place in the unit square for each of its faces, neighbours side by side.

Faces grow into charts from the largest on: neighbours over an edge whose normals lie within 45 degrees of the first one's. A
chart is projected along that normal, so that lengths shrink to 0.7 at most; a face that would lie over another one there begins
a chart of its own. Charts are turned to their longest border, sorted by height and laid on shelves, a gap between them. All
share one scale: u and v are metres over the side of the square. The same mesh gives the same atlas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.particles.maps.tolerances import ATLAS_GAP, CHART_BEND, CHART_GAP, FLAT_OVERLAP


@dataclass(frozen=True, eq=False)
class MeshAtlas:
    """Faces in the unit square."""

    flat: Floats
    """(F, 3, 2) coordinates of the corners of faces; none lies over another."""
    chart: Ints
    """(F,) chart of each face; -1: it has no area."""
    first: Ints
    """(side^2 + 1,) where the faces of each cell of a grid begin in `listed`."""
    listed: Ints
    side: int

    def find(self, uv: Floats, reach: tuple[float, float] = (FLAT_OVERLAP, FLAT_OVERLAP)) -> tuple[Ints, Floats]:
        """(M,) face at (M, 2) coordinates, -1 where there is none within reach, and (M, 2) its place there: parts of the edges
        from its first corner."""
        from thud.particles.maps.atlas_rows import find_faces

        face, part = np.full(len(uv), -1, np.int64), np.zeros((len(uv), 2))
        places = np.ascontiguousarray(uv)
        run_rows(find_faces, len(uv), None, self.flat, self.first, self.listed, self.side, places, *reach, face, part)
        return face, part


def mesh_atlas(corners: Floats) -> MeshAtlas:
    """An atlas of faces, (F, 3, 3) corners in metres; faces whose corners are the same points are neighbours."""
    from thud.particles.maps.atlas_rows import grow_charts

    corners = np.ascontiguousarray(corners, dtype=np.float64)
    vertex = np.unique(corners.reshape(-1, 3) + 0.0, axis=0, return_inverse=True)[1].reshape(-1, 3)
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = 0.5 * np.linalg.norm(cross, axis=1)
    fine = area > 0.0
    normals = np.where(fine[:, None], cross / np.where(fine, 2.0 * area, 1.0)[:, None], 0.0)
    first, neighbour = _neighbours(vertex, fine)
    seeds = np.argsort(-area, kind="stable")[: int(fine.sum())]
    chart, axis = np.empty(len(corners), np.int64), np.empty((len(corners), 3))
    count = grow_charts(corners, normals, first, neighbour, seeds, CHART_BEND, chart, axis)
    flat, sizes = _projected(corners, vertex, chart, axis[:count])
    flat = _packed(flat, sizes, chart)
    return _listed(flat, chart)


def given_atlas(flat: Floats) -> MeshAtlas:
    """An atlas of texture coordinates (F, 3, 2) that a mesh brings; an error if faces lie over one another there."""
    from thud.particles.maps.atlas_rows import apart_rows

    flat = np.ascontiguousarray(flat)
    e, g = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    rows = np.flatnonzero(e[:, 0] * g[:, 1] - e[:, 1] * g[:, 0])
    kept = np.ones(len(flat), np.bool_)
    apart_rows(flat, rows, kept)
    if not kept.all():
        raise InvalidInputError(
            f"texture_coordinates: row {int(np.argmin(kept))} lies over another face in the unit square; a place would have "
            "two meanings. Leave them out, and the mesh has charts of neighbouring faces"
        )
    chart = np.full(len(flat), -1, np.int64)
    chart[rows] = 0
    return _listed(flat, chart)


def _neighbours(vertex: Ints, fine: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Faces that share an edge with each: (F + 1,) where they begin, and their rows in ascending order."""
    faces = len(vertex)
    edges = np.sort(np.stack([vertex, np.roll(vertex, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    owner = np.repeat(np.arange(faces), 3)
    use = fine[owner]
    edges, owner = edges[use], owner[use]
    key = edges[:, 0] * (int(vertex.max()) + 1) + edges[:, 1]
    order = np.argsort(key, kind="stable")
    key, owner = key[order], owner[order]
    pairs = []
    # Of an edge of many faces each is a neighbour of the next three.
    for step in (1, 2, 3):
        same = np.flatnonzero(key[step:] == key[:-step])
        pairs.append(np.column_stack([owner[same], owner[same + step]]))
    both = np.concatenate(pairs)
    both = np.concatenate([both, both[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    first = np.searchsorted(both[:, 0], np.arange(faces + 1))
    return first.astype(np.int64), np.ascontiguousarray(both[:, 1], dtype=np.int64)


def _projected(corners: Floats, vertex: Ints, chart: Ints, axis: Floats) -> tuple[Floats, Floats]:
    """(F, 3, 2) corners in their charts' planes, metres from the chart's lowest, and (C, 2) sizes; wider than high."""
    fine = np.flatnonzero(chart >= 0)
    # Edges that one face of a chart has alone are its border.
    owner = np.repeat(chart[fine], 3)
    ends = np.stack([vertex[fine], np.roll(vertex[fine], -1, axis=1)], axis=2).reshape(-1, 2)
    runs = (np.roll(corners[fine], -1, axis=1) - corners[fine]).reshape(-1, 3)
    key = np.column_stack([owner, np.sort(ends, axis=1)])
    _, place, times = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    border = times[place.reshape(-1)] == 1
    length = np.linalg.norm(runs, axis=1)
    # The longest border of each chart, else its longest edge.
    order = np.lexsort((np.arange(len(owner)), -length, ~border, owner))
    lead = order[np.searchsorted(owner[order], np.arange(len(axis)))]
    u = runs[lead] - np.einsum("ck,ck->c", runs[lead], axis)[:, None] * axis
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    v = np.cross(axis, u)
    flat = np.zeros((len(corners), 3, 2))
    seed = np.zeros((len(axis), 3))
    seed[chart[fine][::-1]] = corners[fine][::-1, 0]
    d = corners[fine] - seed[chart[fine]][:, None]
    flat[fine, :, 0] = np.einsum("fik,fk->fi", d, u[chart[fine]])
    flat[fine, :, 1] = np.einsum("fik,fk->fi", d, v[chart[fine]])
    low, high = np.full((len(axis), 2), np.inf), np.full((len(axis), 2), -np.inf)
    np.minimum.at(low, chart[fine], flat[fine].min(axis=1))
    np.maximum.at(high, chart[fine], flat[fine].max(axis=1))
    flat[fine] -= low[chart[fine]][:, None]
    sizes = high - low
    # A tall one lies down.
    tall = sizes[:, 1] > sizes[:, 0]
    turn = fine[tall[chart[fine]]]
    flat[turn] = np.stack([sizes[chart[turn], 1][:, None] - flat[turn, :, 1], flat[turn, :, 0]], axis=2)
    sizes[tall] = sizes[tall][:, ::-1]
    return flat, np.ascontiguousarray(sizes)


def _packed(flat: Floats, sizes: Floats, chart: Ints) -> Floats:
    """Corners in the unit square, from those in their charts' planes."""
    from thud.particles.maps.atlas_rows import pack_shelves

    order = np.argsort(-sizes[:, 1], kind="stable")
    corner, best, side = np.empty((len(sizes), 2)), np.empty((len(sizes), 2)), np.inf
    root = float(np.sqrt(sizes.prod(axis=1).sum()))
    gap = min(ATLAS_GAP * root, CHART_GAP * float(np.sqrt(sizes.prod(axis=1)).mean()))
    least = float(sizes[:, 0].max()) + 2.0 * gap
    for stretch in np.linspace(1.0, 2.0, 21):
        wide = max(least, root * float(stretch))
        high = pack_shelves(sizes, order, gap, wide, corner)
        if max(wide, high) < side:
            side, best = max(wide, high), corner.copy()
    fine = chart >= 0
    flat[fine] += best[chart[fine]][:, None]
    return np.clip(flat / side, 0.0, 1.0)


def _listed(flat: Floats, chart: Ints) -> MeshAtlas:
    """An atlas with the grid that finds faces."""
    fine = np.flatnonzero(chart >= 0)
    side = int(np.clip(np.ceil(np.sqrt(len(fine))), 1, 2048))
    low = np.minimum((flat[fine].min(axis=1) * side).astype(np.int64), side - 1)
    span = np.minimum((flat[fine].max(axis=1) * side).astype(np.int64), side - 1) - low + 1
    count = span.prod(axis=1)
    start = np.cumsum(count) - count
    face = np.repeat(np.arange(len(fine)), count)
    inner = np.arange(int(count.sum())) - start[face]
    cell = (low[face, 1] + inner // span[face, 0]) * side + low[face, 0] + inner % span[face, 0]
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(side * side + 1)).astype(np.int64)
    return MeshAtlas(np.ascontiguousarray(flat), chart, first, np.ascontiguousarray(fine[face[order]]), side)
