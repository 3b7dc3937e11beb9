"""`MeshBsp`: a BSP tree of any triangles that one can hold and walk ([Slides], "Point-BSP triangle set test").

Space is cut by planes until no cell holds a piece of a triangle. The planes on the way to a point's cell make a convex region
around it. Of a closed mesh each cell is all in the solid or all out of it; of an open set the side of the nearest face counts.

Pieces are cut in floating point, and those thinner than BSP_THIN * size are dropped; points are then put on their side of each
plane exactly. So answers are right for points farther than that from the surface.

For points and rays of a mesh alone `thud.contains` and `thud.raycast` are faster. The tree is for what needs cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.gates import as_points, as_positive, broadcast_rows
from thud.mesh.contains import contains as mesh_contains
from thud.partitions.bsp_build import BuiltTree, build_tree
from thud.partitions.bsp_rows import (
    IN,
    OUT,
    bsp_leaf_rows,
    bsp_nearest_rows,
    bsp_point_rows,
    bsp_segment_rows,
    bsp_walk,
    subtree_boxes,
)
from thud.partitions.numbers import as_number
from thud.partitions.tolerances import BSP_FAR, BSP_PROBES, BSP_THIN
from thud.results import ClosestPoints
from thud.shapes.shape import IDENTITY
from thud.shapes.triangle_mesh import TriangleMesh


@dataclass(frozen=True, slots=True, repr=False)
class BspWalk:
    """The way of a point to its cell."""

    nodes: Ints
    """(D,) nodes, the root first."""
    in_front: Bools
    """(D,) whether the point is in front of the node's plane, or on it."""
    planes: Floats
    """(D, 4) [A B C D] of the planes, turned so that the cell is where A x + B y + C z + D >= 0: the convex region."""
    cell: int

    def __repr__(self) -> str:
        return f"BspWalk({len(self.nodes)} nodes to cell {self.cell})"


class MeshBsp:
    """The tree; node 0 is the root. The mesh's frame, metres.

    Attributes
    ----------
    planes : (M, 9) three corners whose plane cuts a node's cell; in front is where the normal by winding points to
    children : (M, 2) in front and behind: a node, or -1 - cell
    cell_inside : (C,) whether a cell is in the solid; None for an open mesh
    """

    def __init__(self, mesh: TriangleMesh) -> None:
        """Of a closed or open mesh; time and memory grow with the cuts, some 5 to 20 pieces a triangle."""
        if not isinstance(mesh, TriangleMesh):
            raise InvalidInputError(f"mesh: expected a thud.TriangleMesh, got {type(mesh).__name__}")
        self.mesh = mesh
        points, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
        corners = np.ascontiguousarray(points[faces].reshape(-1, 9))
        used = points[np.unique(faces)]
        self._low, self._high = used.min(axis=0), used.max(axis=0)
        size = float((self._high - self._low).max())
        normals = np.cross(corners[:, 3:6] - corners[:, :3], corners[:, 6:] - corners[:, :3])
        length = np.linalg.norm(normals, axis=1)
        thin = BSP_THIN * size + BSP_FAR * float(np.abs(used).max())
        # Triangles without area bound nothing. Small ones do: what counts is the height above the longest side.
        edges = corners.reshape(-1, 3, 3) - np.roll(corners.reshape(-1, 3, 3), 1, axis=1)
        kept = np.flatnonzero(length > thin * np.linalg.norm(edges, axis=2).max(axis=1))
        self._normals = np.where(length[:, None] > 0.0, normals / np.where(length > 0.0, length, 1.0)[:, None], 0.0)
        heights = np.einsum("ij,ij->i", self._normals, corners[:, :3])
        built = build_tree(corners[kept], self._normals[kept].copy(), heights[kept].copy(), thin)
        self.planes = built.planes
        self.children = built.children
        self._cuts = _cuts(built)
        # Pieces by nodes, for the nearest face.
        order = np.argsort(built.held_node, kind="stable")
        self._starts = np.searchsorted(built.held_node[order], np.arange(len(built.face) + 1)).astype(np.int64)
        self._pieces, self._owners = np.ascontiguousarray(built.held[order]), kept[built.held_face[order]]
        self._boxes = np.empty((len(built.face), 6))
        subtree_boxes(self.children, self._starts, self._pieces, self._boxes)
        self._hangs = built.cells
        self._above = np.full((len(built.face), 2), -1, np.int64)
        for way in range(2):
            parents = np.flatnonzero(built.children[:, way] >= 0)
            self._above[built.children[parents, way], 0], self._above[built.children[parents, way], 1] = parents, way
        self._behind = self._behind_last(built.face)
        self.cell_inside: Bools | None = None
        self._labelled = self.children
        if mesh.is_closed:
            inside = mesh_contains(mesh, self._cell_points(built), IDENTITY[None].copy(), self.cell_count, threads=None)
            self.cell_inside = inside
            self._labelled = np.where(
                self.children < 0, np.where(inside[np.maximum(-1 - self.children, 0)], IN, OUT), self.children
            )

    def __repr__(self) -> str:
        kind = f"{int(self.cell_inside.sum())} inside" if self.cell_inside is not None else "open"
        return (
            f"MeshBsp({len(np.asarray(self.mesh.faces))} triangles, {len(self.planes)} planes, {self.cell_count} cells, {kind})"
        )

    @property
    def cell_count(self) -> int:
        """Of all cells."""
        return len(self._hangs)

    def depth(self) -> int:
        """Most planes on the way to a cell."""
        level = np.zeros(len(self.planes), np.int64)
        for node in range(1, len(level)):
            level[node] = level[self._above[node, 0]] + 1
        return int(level.max()) + 1

    # Points

    def locate(self, points: npt.ArrayLike, *, threads: int | None = None) -> Ints:
        """(N,) the cell of each point (3,) or (N, 3); of points on a plane the one in front."""
        where = as_points(points, "points")
        found = np.empty(len(where), np.int64)
        run_rows(bsp_leaf_rows, len(where), threads, self.planes, self.children, where, found)
        return -1 - found

    def walk(self, point: npt.ArrayLike) -> BspWalk:
        """The slides' node walk of one point: the planes that it visits make a convex region around it."""
        where = as_points(point, "point")
        if len(where) != 1:
            raise InvalidInputError(f"point: expected one point, (3,), got {len(where)} rows")
        room = len(self.planes) + 1
        nodes, sides = np.empty(room, np.int64), np.empty(room, np.int64)
        depth, cell = bsp_walk(self.planes, self.children, where[0], nodes, sides)
        nodes, front = nodes[:depth].copy(), sides[:depth] == 0
        planes = np.column_stack([self._cuts[nodes, :3], -self._cuts[nodes, 3]]) * np.where(front, 1.0, -1.0)[:, None]
        return BspWalk(nodes, front, planes, int(-1 - cell))

    def contains(self, points: npt.ArrayLike, *, method: str | None = None, threads: int | None = None) -> Bools:
        """(N,) whether points (3,) or (N, 3) lie in the solid, its surface included but for rounding; of an open mesh,
        whether they lie behind the nearest face, or on it.

        Parameters
        ----------
        method : None; or "slides": the node walk, then the polygons in the last plane that has some, which bound the point's
            cell: it must lie behind them, or on them. The same for a closed mesh that is wound outward and lies on itself
            nowhere; of an open one the nearest face need not be one that bounds the cell.
        """
        where = as_points(points, "points")
        if method not in (None, "slides"):
            raise InvalidInputError(f'method: expected None or "slides", got {method!r}')
        if method is None and self.cell_inside is not None:
            inside = np.empty(len(where), np.bool_)
            run_rows(bsp_point_rows, len(where), threads, self.planes, self._labelled, where, inside)
            return inside
        if method == "slides":
            # Cells hang below a node whose pieces bound them; of the few that do not, the next above.
            return self._behind[self.locate(where, threads=threads)]
        return np.asarray(self._nearest(where, threads)[0] <= 0.0)

    def closest_point(self, points: npt.ArrayLike, *, threads: int | None = None) -> ClosestPoints:
        """The nearest face of each point (3,) or (N, 3): near sides of planes first, far ones only where the box of what is
        there is nearer than the best face so far. Distances are negative behind the face; at an edge the face that is seen less
        from the side decides. Triangles without area have no side and are left out."""
        return ClosestPoints(*self._nearest(as_points(points, "points"), threads))

    def _nearest(self, points: Floats, threads: int | None) -> tuple[Floats, Floats, Ints]:
        height, place, face = np.empty(len(points)), np.empty((len(points), 3)), np.empty(len(points), np.int64)
        run_rows(
            bsp_nearest_rows, len(points), threads, self._cuts, self.children, self._starts, self._pieces, self._owners,
            self._normals, self._boxes, points, height, place, face,
        )  # fmt: skip
        return height, place, face

    def segments(self, starts: npt.ArrayLike, ends: npt.ArrayLike, *, threads: int | None = None) -> Floats:
        """(N,) where segments first meet the solid: 0 at the start, 1 at the end, inf if nowhere. 0 for a start inside.

        A segment that only grazes an edge or a face may be found there or not.

        Parameters
        ----------
        starts, ends : (3,) or (N, 3) in the mesh's frame
        threads : how many to use; default all cores
        """
        if self.cell_inside is None:
            raise UnsupportedQueryError("segments: the mesh is open, so no cell is inside; use thud.raycast")
        p, q = as_points(starts, "starts"), as_points(ends, "ends")
        count = broadcast_rows("starts, ends", p, q)
        first = np.empty(count)
        run_rows(bsp_segment_rows, count, threads, self.planes, self._labelled, p, q, first)
        return first

    # Cells

    def cell_planes(self, cell: int) -> Floats:
        """(D, 4) [A B C D]: the cell is where A x + B y + C z + D >= 0 for all of them."""
        cell = as_number(cell, "cell", self.cell_count)
        node, way = self._hangs[cell].tolist()
        found = []
        while node >= 0:
            n = self._cuts[node]
            found.append(np.append(n[:3], -n[3]) * (1.0 if way == 0 else -1.0))
            node, way = self._above[node].tolist()
        return np.array(found)

    def cell_polygons(self, cell: int, *, room: float = 0.1) -> list[Floats]:
        """The faces of a cell as (K, 3) polygons, within the box of the mesh and `room` of its size more on each side."""
        more = as_positive(room, "room", zero=True) * float((self._high - self._low).max())
        low, high = self._low - more, self._high + more
        box = np.concatenate([np.column_stack([np.eye(3), -low]), np.column_stack([-np.eye(3), high])])
        planes = np.concatenate([self.cell_planes(cell), box])
        return _polygons(planes, 0.5 * (low + high), 2.0 * float(np.linalg.norm(high - low)))

    def _behind_last(self, face: Ints) -> Bools:
        """(C,) whether a cell lies behind the last plane of a triangle on the way to it."""
        behind = np.zeros(self.cell_count, np.bool_)
        for cell, (node, way) in enumerate(self._hangs.tolist()):
            while face[node] < 0 and self._above[node, 0] >= 0:
                node, way = self._above[node].tolist()
            behind[cell] = way == 1
        return behind

    def _cell_points(self, built: BuiltTree) -> Floats:
        """(C, 3) a point of each cell: close to the piece that bounds it, if it then falls into the cell; else the middle of
        the largest ball in it, by a linear program."""
        count, way = self.cell_count, 1.0 - 2.0 * built.cells[:, 1]
        middle = built.probes[:, :3]
        step = (way * built.probes[:, 3])[:, None] * self._cuts[built.cells[:, 0], :3]
        chosen, found = middle.copy(), np.zeros(count, np.bool_)
        for part in BSP_PROBES:
            trial = middle + part * step
            fits = (self.locate(trial) == np.arange(count)) & ~found & (built.probes[:, 3] > 0.0)
            chosen[fits], found = trial[fits], found | fits
        for cell in np.flatnonzero(~found).tolist():
            chosen[cell] = self._ball_middle(cell)
        return chosen

    def _ball_middle(self, cell: int) -> Floats:
        """Middle of the largest ball in a cell, within the box of the mesh and a bit more."""
        from scipy.optimize import linprog

        center, size = 0.5 * (self._low + self._high), float((self._high - self._low).max())
        planes = self.cell_planes(cell)
        matrix = np.concatenate([np.eye(3), -np.eye(3), -planes[:, :3]])
        right = np.concatenate([np.ones(6), (planes[:, 3] + planes[:, :3] @ center) / size])
        # Normal . x + radius <= bound; the largest radius.
        with_radius = np.concatenate([matrix, np.ones((len(matrix), 1))], axis=1)
        answer = linprog([0, 0, 0, -1], A_ub=with_radius, b_ub=right, bounds=[(None, None)] * 3 + [(0, None)], method="highs")
        return center + size * answer.x[:3] if answer.status == 0 else center


def _cuts(built: BuiltTree) -> Floats:
    """(M, 4) unit normals and offsets of the nodes' planes."""
    a, b, c = built.planes[:, :3], built.planes[:, 3:6], built.planes[:, 6:]
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return np.column_stack([normal, np.einsum("ij,ij->i", normal, a)])


def _polygons(planes: Floats, center: Floats, far: float) -> list[Floats]:
    """The faces of the region A x + B y + C z + D >= 0: in each plane a large square, cut by all others."""
    found = []
    for k, (n, d) in enumerate(zip(planes[:, :3], planes[:, 3], strict=True)):
        foot = center - (n @ center + d) * n
        u = np.cross(n, np.eye(3)[np.abs(n).argmin()])
        u /= np.linalg.norm(u)
        v = np.cross(n, u)
        polygon = np.array([foot + far * (a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
        for j, other in enumerate(planes):
            if j != k and len(polygon):
                polygon = _clipped(polygon, polygon @ other[:3] + other[3], 1e-9 * far)
        if len(polygon) > 2:
            found.append(polygon)
    return found


def _clipped(polygon: Floats, height: Floats, slack: float) -> Floats:
    """The part of a convex polygon at height >= -slack."""
    kept = []
    for k in range(len(polygon)):
        p, q, hp, hq = polygon[k], polygon[(k + 1) % len(polygon)], height[k], height[(k + 1) % len(polygon)]
        if hp >= -slack:
            kept.append(p)
        if (hp > slack and hq < -slack) or (hp < -slack and hq > slack):
            kept.append(p + (q - p) * (hp / (hp - hq)))
    return np.array(kept).reshape(-1, 3)
