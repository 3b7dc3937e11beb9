"""A BSP tree of a closed mesh ([Slides]): space cut along the planes of its triangles until each cell is all in or all out.

An auto-partition: every inner node carries the plane of one triangle; triangles that cross it are cut in two. Cells, the
leaves, are IN or OUT. A convex mesh has every triangle behind every plane, so its tree is a list: for such, and for meshes
of more than a few thousand triangles, `thud.contains` and `thud.raycast` are faster by far. The tree is for what needs
the solid as a union of convex cells.

Pieces are cut in floating point, and those thinner than BSP_THIN * size are dropped; points are then put on their side of
each plane exactly. So answers are right for points farther than that from the surface and from the triangles' planes' cuts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud import geometry
from thud._core.decorators import exact_kernel
from thud._core.threads import run_rows
from thud.bvh.tolerances import BSP_PROBES, BSP_THIN, BSP_TRIANGLES
from thud.errors import InvalidShapeError
from thud.gates import Array, as_points, broadcast_rows
from thud.geometry._gates import as_mesh, require_closed
from thud.geometry.exact_vec3 import load3
from thud.geometry.predicates import orient3d

#: Leaves, as children of a node.
OUT, IN = -1, -2

#: Triangles tried as splitter of a node, and what a cut counts against an imbalance of one.
_TRIED, _CUT = 8, 4


@dataclass(frozen=True, slots=True, eq=False)
class MeshBsp:
    """Planes and children of the tree; node 0 is the root. Made by `build_bsp`."""

    planes: Array
    """(M, 9) three corners whose plane cuts the node's cell; the front is where the normal by winding points to."""
    children: npt.NDArray[np.int64]
    """(M, 2) front and back: a node, OUT or IN."""

    def contains(self, points: npt.ArrayLike, *, threads: int | None = None) -> npt.NDArray[np.bool_]:
        """(N,) whether points (3,) or (N, 3), in the mesh's frame, lie in the solid, its surface included."""
        where = as_points(points, "points")
        inside = np.empty(len(where), dtype=np.bool_)
        run_rows(bsp_point_rows, len(where), threads, self.planes, self.children, where, inside)
        return inside

    def segments(self, starts: npt.ArrayLike, ends: npt.ArrayLike, *, threads: int | None = None) -> Array:
        """(N,) where segments first meet the solid: 0 at the start, 1 at the end, inf if nowhere. 0 for a start inside.

        A segment that only grazes an edge or a face may be found there or not.

        Parameters
        ----------
        starts, ends : (3,) or (N, 3) in the mesh's frame
        threads : how many to use; default all cores
        """
        p, q = as_points(starts, "starts"), as_points(ends, "ends")
        count = broadcast_rows("starts, ends", p, q)
        first = np.empty(count)
        run_rows(bsp_segment_rows, count, threads, self.planes, self.children, p, q, first)
        return first


def build_bsp(vertices: npt.ArrayLike, faces: npt.ArrayLike) -> MeshBsp:
    """BSP tree of a closed mesh of at most BSP_TRIANGLES triangles; named errors for others."""
    points, rows = as_mesh(vertices, faces)
    if len(rows) > BSP_TRIANGLES:
        raise InvalidShapeError(f"faces: expected at most {BSP_TRIANGLES} triangles for a BSP tree, got {len(rows)}")
    require_closed(points, rows)
    corners = points[rows]
    size = float((points.max(axis=0) - points.min(axis=0)).max())
    thin = BSP_THIN * size
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1)
    # Triangles without area bound nothing.
    kept = np.flatnonzero(length > thin * size)
    normals[kept] /= length[kept, None]
    heights = np.einsum("ij,ij->i", normals, corners[:, 0])
    planes: list[int] = []
    children: list[list[int]] = []
    leaves: list[tuple[int, int]] = []
    probes: list[tuple[Array, Array]] = []
    above_of: dict[int, tuple[int, int]] = {}
    # (node, side, pieces, owners) of the cells to be cut; the root hangs below no node.
    todo = [(-1, 0, corners[kept], kept)]
    while todo:
        parent, side, pieces, owners = todo.pop()
        chosen, heights_of = _choose(pieces, owners, normals, heights, thin)
        node = len(planes)
        planes.append(int(owners[chosen]))
        children.append([OUT, OUT])
        if parent >= 0:
            children[parent][side] = node
        (front, front_owners), (back, back_owners) = _cut(pieces, owners, heights_of, chosen, thin)
        for way, part, part_owners in ((0, front, front_owners), (1, back, back_owners)):
            if len(part):
                todo.append((node, way, part, part_owners))
            else:
                # A cell that is done: beside the piece that bounds it.
                direction = normals[owners[chosen]] * (1.0 - 2.0 * way)
                leaves.append((node, way))
                probes.append((pieces[chosen].mean(axis=0), _inner_radius(pieces[chosen]) * direction))
        if parent >= 0:
            above_of[node] = (parent, side)
    tree = np.ascontiguousarray(corners[planes].reshape(-1, 9))
    links = np.array(children, dtype=np.int64)
    inside = _label(tree, links, leaves, probes, above_of, points, rows)
    for (node, way), found in zip(leaves, inside.tolist(), strict=True):
        links[node, way] = IN if found else OUT
    return MeshBsp(tree, links)


def _label(
    planes: Array,
    children: npt.NDArray[np.int64],
    leaves: list[tuple[int, int]],
    probes: list[tuple[Array, Array]],
    above_of: dict[int, tuple[int, int]],
    points: Array,
    rows: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_]:
    """Whether each leaf is in the solid, by an exact test of one of its points.

    The point: close to the piece that bounds the leaf, if it then falls into the leaf; else the middle of the largest ball
    in its cell, by a linear program.
    """
    for number, (node, way) in enumerate(leaves):
        children[node, way] = -3 - number
    middle, step = np.array([probe[0] for probe in probes]), np.array([probe[1] for probe in probes])
    chosen, found = middle.copy(), np.zeros(len(leaves), dtype=np.bool_)
    reached = np.empty(len(leaves), dtype=np.int64)
    for part in BSP_PROBES:
        trial = middle + part * step
        run_rows(bsp_leaf_rows, len(trial), None, planes, children, trial, reached)
        fits = (reached == -3 - np.arange(len(leaves))) & ~found
        chosen[fits], found = trial[fits], found | fits
    for number in np.flatnonzero(~found).tolist():
        chosen[number] = _ball_middle(planes, leaves[number], above_of, points)
    return geometry.point_in_mesh(chosen, points, rows)


def _ball_middle(planes: Array, leaf: tuple[int, int], above_of: dict[int, tuple[int, int]], points: Array) -> Array:
    """Middle of the largest ball in a leaf's cell, within the box of the mesh and a bit more."""
    from scipy.optimize import linprog

    low, high = points.min(axis=0), points.max(axis=0)
    center, size = 0.5 * (low + high), float((high - low).max())
    limits, bounds = [np.concatenate([np.eye(3), -np.eye(3)])], [np.full(6, 1.0)]
    node, way = leaf
    while True:
        a, b, c = (planes[node].reshape(3, 3) - center) / size
        normal = np.cross(b - a, c - a)
        normal *= (1.0 if way == 1 else -1.0) / np.linalg.norm(normal)
        limits.append(normal[None])
        bounds.append(np.array([normal @ a]))
        if node not in above_of:
            break
        node, way = above_of[node]
    matrix, right = np.concatenate(limits), np.concatenate(bounds)
    # Normal . x + radius <= bound; the largest radius.
    with_radius = np.concatenate([matrix, np.ones((len(matrix), 1))], axis=1)
    answer = linprog([0, 0, 0, -1], A_ub=with_radius, b_ub=right, bounds=[(None, None)] * 3 + [(0, None)], method="highs")
    return center + size * answer.x[:3] if answer.status == 0 else center


def _inner_radius(piece: Array) -> float:
    """Radius of the circle inside a triangle."""
    edges = np.linalg.norm(piece - piece[[2, 0, 1]], axis=1)
    area2 = float(np.linalg.norm(np.cross(piece[1] - piece[0], piece[2] - piece[0])))
    return area2 / float(edges.sum()) if area2 > 0.0 else 0.0


def _choose(pieces: Array, owners: npt.NDArray[np.int64], normals: Array, heights: Array, thin: float) -> tuple[int, Array]:
    """(index of the piece whose plane cuts little and evenly, heights of all pieces' corners above it)."""
    best, chosen, kept = np.inf, 0, np.empty(0)
    for k in np.unique(np.linspace(0, len(pieces) - 1, _TRIED).astype(int)):
        above = pieces @ normals[owners[k]] - heights[owners[k]]
        front, back = (above > thin).any(axis=1), (above < -thin).any(axis=1)
        cost = _CUT * float((front & back).sum()) + abs(float(front.sum()) - float(back.sum()))
        if cost < best:
            best, chosen, kept = cost, int(k), above
    return chosen, kept


def _cut(
    pieces: Array, owners: npt.NDArray[np.int64], above: Array, chosen: int, thin: float
) -> tuple[tuple[Array, npt.NDArray[np.int64]], tuple[Array, npt.NDArray[np.int64]]]:
    """Pieces in front of and behind the plane; those in it are dropped, those across it cut."""
    front, back = (above > thin).any(axis=1), (above < -thin).any(axis=1)
    others = np.arange(len(pieces)) != chosen
    front, back = front & others, back & others
    across = front & back
    sides = []
    for some, sign in ((front, 1.0), (back, -1.0)):
        parts, names = [pieces[some & ~across]], [owners[some & ~across]]
        for k in np.flatnonzero(across):
            fan = _clip(pieces[k], sign * above[k])
            fan = fan[[_inner_radius(piece) > thin for piece in fan]]
            parts.append(fan)
            names.append(np.full(len(fan), owners[k]))
        sides.append((np.concatenate(parts), np.concatenate(names)))
    return sides[0], sides[1]


def _clip(piece: Array, above: Array) -> Array:
    """(K, 3, 3) the part of a triangle at above >= 0, as triangles."""
    polygon = []
    for k in range(3):
        p, q, hp, hq = piece[k], piece[(k + 1) % 3], above[k], above[(k + 1) % 3]
        if hp >= 0.0:
            polygon.append(p)
        if (hp > 0.0 and hq < 0.0) or (hp < 0.0 and hq > 0.0):
            polygon.append(p + (q - p) * (hp / (hp - hq)))
    return np.array([[polygon[0], polygon[k], polygon[k + 1]] for k in range(1, len(polygon) - 1)]).reshape(-1, 3, 3)


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], f8[:,::1], i8[::1]")
def bsp_leaf_rows(start, stop, planes, children, points, leaf_out):
    """The leaf of each point; of points on a plane the one in front."""
    for i in range(start, stop):
        p, node = load3(points, i, 0), np.int64(0)
        while node >= 0:
            side = orient3d(load3(planes, node, 0), load3(planes, node, 3), load3(planes, node, 6), p)
            node = children[node, 0] if side >= 0.0 else children[node, 1]
        leaf_out[i] = node


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], f8[:,::1], b1[::1]")
def bsp_point_rows(start, stop, planes, children, points, inside_out):
    """Whether each point lies in a cell that is IN; on a plane both sides count."""
    stack = np.empty(planes.shape[0] + 1, np.int64)
    for i in range(start, stop):
        p = load3(points, i, 0)
        inside = False
        stack[0], depth = 0, 1
        while depth > 0 and not inside:
            depth -= 1
            node = stack[depth]
            while node >= 0:
                side = orient3d(load3(planes, node, 0), load3(planes, node, 3), load3(planes, node, 6), p)
                if side == 0.0:
                    stack[depth] = children[node, 1]
                    depth += 1
                node = children[node, 0] if side >= 0.0 else children[node, 1]
            inside = node == IN
        inside_out[i] = inside


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], f8[::1]")
def bsp_segment_rows(start, stop, planes, children, starts, ends, first_out):
    """Least parameter at which each segment is in a cell that is IN; inf for none."""
    stack, spans = np.empty(planes.shape[0] + 1, np.int64), np.empty((planes.shape[0] + 1, 2))
    for i in range(start, stop):
        p = load3(starts, i if starts.shape[0] > 1 else 0, 0)
        q = load3(ends, i if ends.shape[0] > 1 else 0, 0)
        best = np.inf
        stack[0], spans[0, 0], spans[0, 1], depth = 0, 0.0, 1.0, 1
        while depth > 0:
            depth -= 1
            node, low, high = stack[depth], spans[depth, 0], spans[depth, 1]
            while node >= 0 and low < best:
                a, b, c = load3(planes, node, 0), load3(planes, node, 3), load3(planes, node, 6)
                hp, hq = orient3d(a, b, c, p), orient3d(a, b, c, q)
                near, far = 0, 1
                if hp == 0.0 and hq == 0.0:
                    # In the plane: the whole span on both sides.
                    cut_low, cut_high = low, high
                elif (hp >= 0.0 and hq >= 0.0) or (hp <= 0.0 and hq <= 0.0):
                    # On one side, perhaps with an end on the plane, which then belongs to the other side too.
                    if hp < 0.0 or hq < 0.0:
                        near, far = 1, 0
                    if hp != 0.0 and hq != 0.0:
                        node = children[node, near]
                        continue
                    touch = 0.0 if hp == 0.0 else 1.0
                    if touch < low or touch > high:
                        node = children[node, near]
                        continue
                    stack[depth], spans[depth, 0], spans[depth, 1] = children[node, far], touch, touch
                    depth += 1
                    node = children[node, near]
                    continue
                else:
                    if hp < 0.0:
                        near, far = 1, 0
                    t = hp / (hp - hq)
                    if t > high:
                        node = children[node, near]
                        continue
                    if t < low:
                        node = children[node, far]
                        continue
                    cut_low, cut_high = t, t
                stack[depth], spans[depth, 0], spans[depth, 1] = children[node, far], cut_low, high
                depth += 1
                high = cut_high
                node = children[node, near]
            if node == IN and low < best:
                best = low
        first_out[i] = best
