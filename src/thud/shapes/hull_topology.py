"""Vertices, faces, edges and adjacency of a convex polytope, in the order that kernels want them.

Faces are polygons: triangles of one plane are merged. Loops run counter-clockwise seen from outside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidShapeError
from thud.shapes.tolerances import HULL_COPLANAR, HULL_SCAN


@dataclass(frozen=True, slots=True, eq=False)
class HullTopology:
    """Flat arrays of one polytope."""

    vertices: Floats
    """(V, 3); of more than HULL_SCAN vertices the first HULL_SCAN are spread well over the hull."""
    triangles: Ints
    """(T, 3) counter-clockwise from outside."""
    planes: Floats
    """(F, 4) outward unit normal and offset of each face: inside is normal . x <= offset."""
    loop_starts: Ints
    """(F + 1,) face f has the vertices loops[loop_starts[f]:loop_starts[f + 1]]."""
    loops: Ints
    """Vertex ids of all face loops."""
    loop_edges: Ints
    """Edge id of each side of a loop: loops[k] to the next vertex of the same loop."""
    edges: Ints
    """(E, 2) vertex ids, tail and head."""
    edge_faces: Ints
    """(E, 2) the face left of tail -> head seen from outside, and the one right of it."""
    link_starts: Ints
    """(V + 1,) vertex v has the neighbours links[link_starts[v]:link_starts[v + 1]]."""
    links: Ints
    """Neighbour vertex ids along edges."""
    link_edges: Ints
    """Edge id of each neighbour link."""


def hull_topology(points: Floats, name: str = "points") -> HullTopology:
    """Convex hull of (N, 3) finite points by Qhull."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 4:
        raise InvalidShapeError(f"{name}: expected at least 4 points that span a volume, got {len(points)}")
    # Qhull's tolerances are relative to the largest coordinate: shift and scale the points for its sake, and take
    # only the topology from it.
    lower, upper = points.min(axis=0), points.max(axis=0)
    extent = float((upper - lower).max())
    if extent == 0.0:
        raise InvalidShapeError(f"{name}: all points coincide; expected points that span a volume")
    scaled = (points - 0.5 * (lower + upper)) / extent
    try:
        hull = ConvexHull(scaled)
    except QhullError as error:
        reason = str(error).strip().splitlines()[0]
        raise InvalidShapeError(f"{name}: the points span no volume ({reason}); expected at least 4 that do") from None
    triangles = _oriented(hull.simplices.astype(np.int64), scaled, hull.equations)
    used = np.unique(triangles)
    renumber = np.full(len(points), -1, dtype=np.int64)
    renumber[used[_spread_order(scaled[used])]] = np.arange(len(used))
    order = np.argsort(renumber)[len(points) - len(used) :]
    return _from_triangles(points[order], renumber[triangles], hull.neighbors.astype(np.int64), hull.equations[:, :3])


def box_topology(half: Floats) -> HullTopology:
    """The 8 vertices, 6 faces and 12 edges of a box; vertex k has +x, +y, +z where bits 0, 1, 2 of k are set."""
    cube = _cube_topology()
    planes = cube.planes.copy()
    planes[:, 3] = np.repeat(half, 2)
    return replace(cube, vertices=cube.vertices * half, planes=planes)


@cache
def _cube_topology() -> HullTopology:
    """Of the cube from -1 to 1: faces -x, +x, -y, +y, -z, +z. Every box shares its arrays of indices."""
    signs = np.array([[1 if k >> axis & 1 else -1 for axis in range(3)] for k in range(8)], dtype=np.float64)
    loops = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]]
    triangles = np.array([t for a, b, c, d in loops for t in ((a, b, c), (a, c, d))], dtype=np.int64)
    return _assemble(signs, triangles, loops)


def cube_loops() -> Ints:
    """(6, 4, 2) of a box's faces -x, +x, -y, +y, -z, +z the corners in order, and the edge from each to the next."""
    cube = _cube_topology()
    return np.stack([cube.loops, cube.loop_edges], axis=1).astype(np.int64).reshape(6, 4, 2)


def _oriented(triangles: Ints, points: Floats, equations: Floats) -> Ints:
    """Triangles turned counter-clockwise as seen from outside."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), equations[:, :3]) < 0
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    return triangles


def _spread_order(points: Floats) -> Ints:
    """Order in which the first HULL_SCAN points are spread well: each is the farthest from those before it."""
    if len(points) <= HULL_SCAN:
        return np.arange(len(points))
    chosen = [0]
    distance = np.linalg.norm(points - points[0], axis=1)
    for _ in range(HULL_SCAN - 1):
        farthest = int(distance.argmax())
        chosen.append(farthest)
        distance = np.minimum(distance, np.linalg.norm(points - points[farthest], axis=1))
    rest = np.setdiff1d(np.arange(len(points)), chosen)
    return np.concatenate([np.array(chosen, dtype=np.int64), rest])


def _from_triangles(vertices: Floats, triangles: Ints, neighbors: Ints, normals: Floats) -> HullTopology:
    """Merge triangles of one plane into polygons, by flooding over neighbours with the same normal."""
    # All of a flood are within HULL_COPLANAR of its first, and so neighbours within twice that of each other.
    alike = np.abs(normals[neighbors] - normals[:, None]).max(axis=2) < 2.0 * HULL_COPLANAR
    alone = ~alike.any(axis=1)
    loops: list[list[int]] = triangles.tolist()
    if not alone.all():
        grouped = alone.copy()
        loops = []
        for seed, corners in enumerate(triangles.tolist()):
            if alone[seed]:
                loops.append(corners)
            elif not grouped[seed]:
                members = _flood(seed, neighbors, normals, grouped)
                loop = _boundary_loop(triangles[members])
                loops.extend(triangles[members].tolist() if loop is None else [loop])
    return _assemble(vertices, triangles, loops)


def _flood(seed: int, neighbors: Ints, normals: Floats, grouped: npt.NDArray[np.bool_]) -> list[int]:
    """Triangles with the normal of the seed that are reached from it; they are marked as grouped."""
    grouped[seed], stack, members = True, [seed], []
    while stack:
        triangle = stack.pop()
        members.append(triangle)
        for other in neighbors[triangle]:
            if not grouped[other] and np.abs(normals[other] - normals[seed]).max() < HULL_COPLANAR:
                grouped[other] = True
                stack.append(int(other))
    return members


def _boundary_loop(triangles: Ints) -> list[int] | None:
    """The one closed boundary of a set of triangles, or None if it is not a simple loop."""
    if len(triangles) == 1:
        return [int(v) for v in triangles[0]]
    sides = {(int(t[k]), int(t[(k + 1) % 3])) for t in triangles for k in range(3)}
    follow = {}
    for tail, head in sides:
        if (head, tail) not in sides:
            if tail in follow:
                return None
            follow[tail] = head
    start = min(follow)
    loop, vertex = [start], follow[start]
    while vertex != start:
        loop.append(vertex)
        if vertex not in follow or len(loop) > len(follow):
            return None
        vertex = follow[vertex]
    return loop if len(loop) == len(follow) else None


def _assemble(vertices: Floats, triangles: Ints, loops: list[list[int]]) -> HullTopology:
    sizes = np.array([len(loop) for loop in loops])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tail = np.fromiter(chain.from_iterable(loops), np.int64, int(starts[-1]))
    follow = np.arange(1, len(tail) + 1)
    follow[starts[1:] - 1] = starts[:-1]
    head, face = tail[follow], np.repeat(np.arange(len(loops)), sizes)
    # Edges in the order in which they first appear; the second time they must run the other way.
    _, first, which, uses = np.unique(
        np.minimum(tail, head) * len(vertices) + np.maximum(tail, head),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    loop_edges, side = rank[which.reshape(-1)], first[order]
    other = np.full(len(order), -1)
    later = np.ones(len(tail), np.bool_)
    later[side] = False
    other[loop_edges[later]] = np.flatnonzero(later)
    edges = np.column_stack([tail[side], head[side]])
    if (uses != 2).any() or (tail[other] != edges[:, 1]).any() or len(vertices) - len(edges) + len(loops) != 2:
        if len(loops) == len(triangles):
            raise InvalidShapeError("points: their hull has no consistent faces; they may span almost no volume")
        return _assemble(vertices, triangles, triangles.tolist())
    ends = edges.ravel()
    by_vertex = np.argsort(ends, kind="stable")
    return HullTopology(
        vertices=np.ascontiguousarray(vertices),
        triangles=triangles,
        planes=_loop_planes(vertices[tail], starts, follow, face),
        loop_starts=starts,
        loops=tail,
        loop_edges=loop_edges,
        edges=edges,
        edge_faces=np.column_stack([face[side], face[other]]),
        link_starts=np.searchsorted(ends[by_vertex], np.arange(len(vertices) + 1)),
        links=edges[:, ::-1].ravel()[by_vertex],
        link_edges=by_vertex // 2,
    )


def _loop_planes(corners: Floats, starts: Ints, follow: Ints, face: Ints) -> Floats:
    """Of each loop: unit normal by Newell's sum, and the offset that leaves all corners inside."""
    middle = np.add.reduceat(corners, starts[:-1]) / np.diff(starts)[:, None]
    spokes = corners - middle[face]
    normal = np.add.reduceat(np.cross(spokes, spokes[follow]), starts[:-1])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    if (length == 0.0).any():
        raise InvalidShapeError("points: a face of their hull has no area; they may span almost no volume")
    normal /= length
    return np.column_stack([normal, np.maximum.reduceat(np.einsum("ij,ij->i", corners, normal[face]), starts[:-1])])
