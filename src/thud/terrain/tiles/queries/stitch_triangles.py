"""Triangle tiles as one mesh: what they share lies in the same place to the last bit, so that edges at borders are inner."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.convex.manifold import CORNER, FACE, SIDE
from thud.errors import InvalidShapeError
from thud.mesh.manifolds.rows import AGAIN
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.tiles.ground_tile import GroundTile, open_mesh, triangles_in
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.queries.names import TILE_STRIDE, Names, mixed, tile_number
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.tolerances import MESH_BYTES

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain


def stitch_triangles(
    terrain: Terrain, keys: list[TileKey], low: Floats, high: Floats
) -> tuple[TriangleMesh | None, Names, int] | None:
    """The triangles of tiles that reach into a block, and those beside them."""
    tiles = [terrain.ground(key) for key in keys]
    # What lies beyond an edge of a triangle in the block counts too: it is no farther away than an edge is long.
    room = max(ground.longest_edge for ground in tiles)
    corners, numbers = [], []
    for ground in tiles:
        found, rows = triangles_in(ground, low - room, high + room)
        corners.append(found)
        numbers.append(tile_number(terrain.manifest, ground) * TILE_STRIDE + rows)
    every, number = np.concatenate(corners), np.concatenate(numbers)
    if len(every) == 0:
        return None, Names(lambda triangle: triangle, lambda feature, _where: feature), 0
    try:
        mesh = open_mesh(TriangleMesh(every.reshape(-1, 3), np.arange(3 * len(every)).reshape(-1, 3)))
    except InvalidShapeError:
        # No triangle with an area.
        return None, Names(lambda triangle: triangle, lambda feature, _where: feature), 0
    names = Names(lambda row: np.where(row >= 0, number[np.maximum(row, 0)], row), _features(mesh, number))
    return mesh, names, MESH_BYTES * len(every)


def _features(mesh: TriangleMesh, number: Ints) -> Callable[[Ints, Floats], Ints]:
    """Numbers are those of `mesh/manifolds`: of a vertex its row, of an edge 3 t + k by the tree, of a face its row."""
    again, side, face, corner = int(AGAIN), int(SIDE), int(FACE), int(CORNER)
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)

    def place(vertex: Ints) -> Ints:
        x, y, z = (vertices[vertex] + 0.0).view(np.int64).T
        return mixed(x, y, z)

    def features(feature: Ints, _where: Floats) -> Ints:
        twice, plain = feature // again, feature % again
        out = np.zeros(feature.shape, dtype=np.int64)
        at = np.flatnonzero((plain >= corner) & (plain < side))
        if len(at):
            out[at] = mixed(place(np.minimum(plain[at] - corner, len(vertices) - 1)), 1)
        at = np.flatnonzero((plain >= side) & (plain < face))
        if len(at):
            half = np.minimum(plain[at] - side, 3 * len(faces) - 1)
            own, k = faces[mesh.tree.order[half // 3]], half % 3
            rows = np.arange(len(half))
            ends = np.stack([place(own[rows, k]), place(own[rows, (k + 1) % 3])])
            out[at] = mixed(ends.min(axis=0), ends.max(axis=0))
        at = np.flatnonzero(plain >= face)
        if len(at):
            out[at] = mixed(number[np.minimum(plain[at] - face, len(faces) - 1)], 2)
        return np.where(twice > 0, mixed(out, twice), out) if twice.any() else out

    return features


def triangle_tile_features(manifest: Manifest, ground: GroundTile) -> Callable[[Ints, Floats], Ints]:
    """Of one tile."""
    first = tile_number(manifest, ground) * TILE_STRIDE
    return _features(ground.shape, first + np.arange(len(ground.tile.arrays.corners)))
