"""The sphere tree of a tile with boxes in place of its spheres, and our mesh's own tree of boxes: walked about the same points,
to the same triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import kernel
from thud.geometry.triangle import point_triangle_called
from thud.terrain.tiles.sphere_walk import collect_in_reach, rows_in_reach
from thud.terrain.tiles.tile import Tile
from thud.terrain.tiles.tile_arrays import CHILDREN, COUNT, NEXT, OFFSET


@kernel("tile_arrays, f8[:,::1], f8[::1], i8[::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1]")
def sphere_rows(tile, points, reach, number, corners, planes, found_out, visited_out):
    """Triangles in reach of each point, by the spheres."""
    patch, o = np.empty((4, 3)), tile.origin
    for row in range(points.shape[0]):
        p = (points[row, 0] - o[0], points[row, 1] - o[1], points[row, 2] - o[2])
        found_out[row] = collect_in_reach(tile, p, reach[row], patch, 0, number, corners, planes, visited_out)


@kernel("tile_arrays, f4[:,::1], f8[:,::1], f8[::1], i8[::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1]")
def box_rows(tile, boxes, points, reach, number, corners, planes, found_out, visited_out):
    """The same tree with boxes (K, 6), lower and upper corner in the tile's frame."""
    o = tile.origin
    count = np.int64(tile.links.shape[0])
    for row in range(points.shape[0]):
        p = (points[row, 0] - o[0], points[row, 1] - o[1], points[row, 2] - o[2])
        far2 = reach[row] * reach[row] * (1.0 + 2.0**-20)
        k, found = np.int64(0), np.int64(0)
        while k < count:
            visited_out[0] += 1
            dx = max(max(boxes[k, 0] - p[0], p[0] - boxes[k, 3]), 0.0)
            dy = max(max(boxes[k, 1] - p[1], p[1] - boxes[k, 4]), 0.0)
            dz = max(max(boxes[k, 2] - p[2], p[2] - boxes[k, 5]), 0.0)
            if dx * dx + dy * dy + dz * dz > far2:
                k = np.int64(tile.links[k, NEXT])
            elif tile.links[k, CHILDREN] > 0:
                k += 1
            else:
                visited_out[1] += 1
                begin = np.int64(tile.links[k, OFFSET])
                end = begin + np.int64(tile.links[k, COUNT])
                found = rows_in_reach(tile.corners, tile.planes, begin, end, p, reach[row], found, number, corners, planes)
                k = np.int64(tile.links[k, NEXT])
        found_out[row] = found


@kernel("i8[::1], f4[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[::1], i8[::1], i8[::1]")
def mesh_tree_rows(skip, boxes, triangles, origin, points, reach, found_out, visited_out):
    """Our mesh's tree: one triangle a leaf, boxes (K, 6) as centre and half extents, triangles (T, 9) in its order."""
    count = np.int64(skip.shape[0])
    for row in range(points.shape[0]):
        p = (points[row, 0] - origin[0], points[row, 1] - origin[1], points[row, 2] - origin[2])
        far2 = reach[row] * reach[row] * (1.0 + 2.0**-20)
        k, found, leaf = np.int64(0), np.int64(0), np.int64(0)
        while k < count:
            visited_out[0] += 1
            dx = max(abs(boxes[k, 0] - p[0]) - boxes[k, 3], 0.0)
            dy = max(abs(boxes[k, 1] - p[1]) - boxes[k, 4], 0.0)
            dz = max(abs(boxes[k, 2] - p[2]) - boxes[k, 5], 0.0)
            if dx * dx + dy * dy + dz * dz > far2:
                # Leaves below: a binary tree of n nodes has (n + 1) / 2.
                leaf += (skip[k] - k + 1) // 2
                k = skip[k]
            elif skip[k] > k + 1:
                k += 1
            else:
                visited_out[1] += 1
                a = (triangles[leaf, 0], triangles[leaf, 1], triangles[leaf, 2])
                b = (triangles[leaf, 3], triangles[leaf, 4], triangles[leaf, 5])
                c = (triangles[leaf, 6], triangles[leaf, 7], triangles[leaf, 8])
                d2, _ = point_triangle_called(p, a, b, c)
                if d2 <= reach[row] * reach[row]:
                    found += 1
                leaf += 1
                k += 1
        found_out[row] = found


def node_boxes(tile: Tile) -> npt.NDArray[np.float32]:
    """(K, 6) boxes of the nodes of a tile's sphere tree, rounded outward."""
    arrays = tile.arrays
    links, corners = arrays.links, arrays.corners.reshape(-1, 3, 3)
    low, high = corners.min(axis=1), corners.max(axis=1)
    first = np.full(len(links), -1, dtype=np.int64)
    # Triangles of a node are a run: from its first leaf's to its last leaf's.
    leaves = np.flatnonzero(links[:, CHILDREN] == 0)
    begin = np.searchsorted(leaves, np.arange(len(links)))
    end = np.searchsorted(leaves, links[:, NEXT]) - 1
    first = links[leaves[begin], 6].astype(np.int64)
    last = (links[leaves[end], 6] + links[leaves[end], 5]).astype(np.int64)
    out = np.empty((len(links), 6), dtype=np.float32)
    for k in range(len(links)):
        out[k, :3], out[k, 3:] = low[first[k] : last[k]].min(axis=0), high[first[k] : last[k]].max(axis=0)
    return out


class Walks:
    """The walks of one tile about some points."""

    def __init__(self, tile: Tile, points: Floats, reach: Floats, mesh: Any) -> None:
        self.tile, self.points, self.reach, self.mesh = tile, np.ascontiguousarray(points), np.ascontiguousarray(reach), mesh
        self.boxes = node_boxes(tile)
        self.room = np.empty(65536, np.int64), np.empty((65536, 9)), np.empty((65536, 4))
        self.found: Ints = np.zeros(len(points), np.int64)

    def spheres(self) -> Ints:
        """(nodes, leaves) visited."""
        visited = np.zeros(2, np.int64)
        sphere_rows(self.tile.arrays, self.points, self.reach, *self.room, self.found, visited)
        return visited

    def same_tree_boxes(self) -> Ints:
        """The same with boxes."""
        visited = np.zeros(2, np.int64)
        box_rows(self.tile.arrays, self.boxes, self.points, self.reach, *self.room, self.found, visited)
        return visited

    def mesh_tree(self) -> Ints:
        """Our mesh's tree."""
        visited, mesh = np.zeros(2, np.int64), self.mesh
        skip = np.ascontiguousarray(mesh.tree.skip, dtype=np.int64)
        mesh_tree_rows(skip, mesh.boxes, mesh.corners, mesh.origin, self.points, self.reach, self.found, visited)
        return visited
