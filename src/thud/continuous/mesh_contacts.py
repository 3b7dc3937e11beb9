"""Contacts of meshes: patches along the curve where two surfaces cross, each with a normal, a depth and points.

A patch is a connected run of triangle pairs that meet, together with what of either surface it cuts off inside the other
solid. Its normal is the mean normal of these triangles where that clears them about as well as any direction does, else the
best direction found; its depth is how far B must move along it for the patch's triangles to be clear of each other (see
`mesh_depth.py`). Points are corners of one surface below the other, measured along the normal, and where the triangles part
last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud.constants import MANIFOLD_POINTS, PATCH_DIRECTIONS, PATCH_NORMAL
from thud.continuous.mesh_depth import clearing_translation, sphere_directions
from thud.errors import InvalidShapeError
from thud.narrowphase import dispatch, mesh_dispatch
from thud.narrowphase.mesh_dispatch import Floats, Ints, leaves, mesh_arrays, placed, some_rows
from thud.results import Contacts
from thud.shapes.box import Box
from thud.shapes.convex_hull import ConvexHull
from thud.shapes.half_space import HalfSpace
from thud.shapes.mesh_connectivity import connected_nodes, connected_parts, in_order
from thud.shapes.packed import pack
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh

_PAIR = np.array([[0, 1]], dtype=np.int64)


@dataclass
class _Side:
    """One leaf of a pair at one pose: its shape, and which of its triangles belong to the patch (a mesh only)."""

    shape: Shape
    row: Floats
    faces: Ints | None = None
    submerged: Ints | None = None
    """Vertices of the patch that lie inside the other."""

    @property
    def part(self) -> Shape:
        """What of the shape belongs to the patch."""
        if isinstance(self.shape, TriangleMesh) and self.faces is not None:
            try:
                return TriangleMesh(self.shape.vertices, np.asarray(self.shape.faces)[self.faces])
            except InvalidShapeError:
                return self.shape
        return self.shape

    def world(self, points: Floats) -> Floats:
        """Points of the shape's frame in the world."""
        return points @ self.row[0, :9].reshape(3, 3).T + self.row[0, 9:]

    def corners(self) -> Floats:
        """(F, 3, 3) the patch's triangles in the world."""
        assert isinstance(self.shape, TriangleMesh)
        return self.world(np.asarray(self.shape.vertices)[np.asarray(self.shape.faces)[self.faces]].reshape(-1, 3)).reshape(
            -1, 3, 3
        )

    def mean_normal(self) -> Floats:
        """Area-weighted sum of the patch's normals in the world, outward for a solid; 0 for a convex shape."""
        if not isinstance(self.shape, TriangleMesh):
            return np.zeros(3)
        corners = self.corners()
        total = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).sum(axis=0)
        return -total if self.shape.problems().inverted else total

    def candidates(self) -> Floats:
        """(P, 3) corners of the shape that may lie below the other's surface, in the world."""
        if isinstance(self.shape, TriangleMesh):
            chosen = np.unique(np.asarray(self.shape.faces)[self.faces]) if self.submerged is None else self.submerged
            return self.world(np.asarray(self.shape.vertices)[chosen])
        if isinstance(self.shape, ConvexHull):
            return self.world(self.shape.vertices)
        if isinstance(self.shape, Box):
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return self.world(signs * np.asarray(self.shape.half_extents))
        return np.empty((0, 3))


def contacts(
    a: Shape,
    b: Shape,
    rows_a: Floats,
    rows_b: Floats,
    count: int,
    *,
    margin: float = 0.0,
    max_points: int = MANIFOLD_POINTS,
    threads: int | None = None,
) -> Contacts:
    """Contact points of `count` rows in which a mesh takes part."""
    status = np.zeros(count, dtype=np.uint8)
    found: list[tuple[int, Floats, Floats, float, int, int]] = []
    patches = np.zeros(count, dtype=np.int64)
    for shape_a, inner_a in leaves(a):
        for shape_b, inner_b in leaves(b):
            poses = placed(rows_a, inner_a), placed(rows_b, inner_b)
            _leaf_contacts(shape_a, shape_b, *poses, count, margin, max_points, threads, status, patches, found)
    found.sort(key=lambda point: point[0])
    columns = list(zip(*found, strict=True)) or [()] * 6
    return Contacts(
        row=np.array(columns[0], dtype=np.int64),
        point=np.array(columns[1]).reshape(-1, 3),
        normal=np.array(columns[2]).reshape(-1, 3),
        depth=np.array(columns[3], dtype=np.float64),
        feature=np.array(columns[4], dtype=np.int64),
        patch=np.array(columns[5], dtype=np.int64),
        status=status,
    )


def _leaf_contacts(
    a: Shape,
    b: Shape,
    rows_a: Floats,
    rows_b: Floats,
    count: int,
    margin: float,
    max_points: int,
    threads: int | None,
    status: npt.NDArray[np.uint8],
    patches: Ints,
    found: list[tuple[int, Floats, Floats, float, int, int]],
) -> None:
    """Append the contacts of one pair of leaves."""
    if not (isinstance(a, TriangleMesh) or isinstance(b, TriangleMesh)):
        plain = dispatch.contacts(
            pack((a, b)), _PAIR, rows_a, rows_b, False, count, margin=margin, max_points=max_points, threads=threads
        )
        for k, row in enumerate(plain.row.tolist()):
            found.append(
                (
                    row,
                    plain.point[k],
                    plain.normal[k],
                    float(plain.depth[k]),
                    int(plain.feature[k]),
                    int(plain.patch[k] + patches[row]),
                )
            )
        patches += np.bincount(plain.row, minlength=count) > 0
        np.maximum(status, plain.status, out=status)
        return
    gap = mesh_dispatch.distance(a, b, rows_a, rows_b, count, reach=margin, threads=threads)
    np.maximum(status, gap.status, out=status)
    for row in np.flatnonzero(np.isfinite(gap.distance)).tolist():
        if gap.distance[row] > 0.0:
            middle = 0.5 * (gap.point_a[row] + gap.point_b[row])
            found.append((row, middle, gap.normal[row], -float(gap.distance[row]), 0, int(patches[row])))
            patches[row] += 1
            continue
        side_a = _Side(a, some_rows(rows_a, np.array([row]), count)[:1])
        side_b = _Side(b, some_rows(rows_b, np.array([row]), count)[:1])
        for patch in _patches(side_a, side_b, threads):
            for point, normal, depth, feature in _patch_points(*patch, max_points, threads):
                found.append((row, point, normal, depth, feature, int(patches[row])))
            patches[row] += 1


# The patches of one row -----------------------------------------------------------------------------------------------


def _patches(a: _Side, b: _Side, threads: int | None) -> list[tuple[_Side, _Side]]:
    """The patches of an overlapping pair: each side with its share of the triangles."""
    if isinstance(a.shape, TriangleMesh) and isinstance(b.shape, TriangleMesh):
        pairs = mesh_dispatch.triangle_pairs(a.shape, b.shape, a.row, b.row, 1, threads)
        if len(pairs.row) == 0:
            return [(a, b)]
        return _crossing_patches(a, b, pairs.triangle_a, pairs.triangle_b, threads)
    mesh, other = (a, b) if isinstance(a.shape, TriangleMesh) else (b, a)
    assert isinstance(mesh.shape, TriangleMesh)
    triangles = _meeting(mesh, other)
    if len(triangles) == 0:
        return [(a, b)]
    welded = mesh.shape.places[np.asarray(mesh.shape.faces)[triangles]]
    label = connected_parts(welded)
    result = []
    for number in range(int(label.max()) + 1):
        part = _Side(mesh.shape, mesh.row, np.sort(triangles[label == number]))
        result.append((part, b) if mesh is a else (a, part))
    return result


def _meeting(mesh: _Side, other: _Side) -> Ints:
    """Faces of the mesh that meet a convex shape."""
    from thud.narrowphase.mesh_convex import convex_query, convex_triangles

    assert isinstance(mesh.shape, TriangleMesh)
    boxes, child, corners, origin = mesh_arrays(mesh.shape)
    query = (boxes, mesh.shape.pair_obbs, child, corners, origin, *convex_query(other.shape), other.row, mesh.row)
    positions = np.empty(256, dtype=np.int64)
    count = convex_triangles(*query, positions)
    if count > len(positions):
        positions = np.empty(count, dtype=np.int64)
        convex_triangles(*query, positions)
    return mesh.shape.tree.order[positions[:count]]


def _crossing_patches(a: _Side, b: _Side, on_a: Ints, on_b: Ints, threads: int | None) -> list[tuple[_Side, _Side]]:
    """Patches of two meshes whose triangles on_a[k] and on_b[k] meet."""
    # One graph: crossing triangles of both, and the parts of either surface that the crossing cuts off.
    crossing, regions = [np.unique(on_a), np.unique(on_b)], []
    for side, other, chosen in ((a, b, crossing[0]), (b, a, crossing[1])):
        regions.append(_submerged(side, other, chosen, threads))
    sizes = [len(crossing[0]), len(crossing[1]), int(regions[0][1].max(initial=-1)) + 1, int(regions[1][1].max(initial=-1)) + 1]
    start = np.concatenate([[0], np.cumsum(sizes)])
    tail = [np.searchsorted(crossing[0], on_a)]
    head = [start[1] + np.searchsorted(crossing[1], on_b)]
    for k in range(2):
        touching = regions[k][2]
        tail.append(start[k] + touching[:, 0])
        head.append(start[2 + k] + touching[:, 1])
    links = np.concatenate(tail), np.concatenate(head)
    total = int(start[-1])
    label = in_order(connected_nodes(*links, total))
    result = []
    for number in range(int(label.max()) + 1):
        sides = []
        for k, side in enumerate((a, b)):
            own = crossing[k][label[start[k] : start[k + 1]] == number]
            inside = np.isin(regions[k][1], np.flatnonzero(label[start[2 + k] : start[3 + k]] == number))
            faces = np.union1d(own, regions[k][0][inside])
            assert isinstance(side.shape, TriangleMesh)
            below = np.intersect1d(np.unique(np.asarray(side.shape.faces)[faces]), regions[k][3])
            sides.append(_Side(side.shape, side.row, faces, below))
        if len(sides[0].faces) and len(sides[1].faces):  # type: ignore[arg-type]
            result.append((sides[0], sides[1]))
    return result


def _submerged(side: _Side, other: _Side, crossing: Ints, threads: int | None) -> tuple[Ints, Ints, Ints, Ints]:
    """What the crossing triangles of one mesh cut off inside the other, if that is closed.

    Returns (faces, label of the region of each, (L, 2) which crossing triangle (by index) borders on which region, vertices
    inside).
    """
    none = np.empty(0, dtype=np.int64)
    mesh, solid = side.shape, other.shape
    assert isinstance(mesh, TriangleMesh)
    assert isinstance(solid, TriangleMesh)
    if not solid.is_closed:
        return none, none, np.empty((0, 2), dtype=np.int64), none
    faces, place = np.asarray(mesh.faces), mesh.places
    corner_vertices = np.unique(faces[crossing])
    local = (side.world(np.asarray(mesh.vertices)[corner_vertices]) - other.row[0, 9:]) @ other.row[0, :9].reshape(3, 3)
    inside = corner_vertices[mesh_dispatch.mesh_contains(solid, local, threads)]
    # Grow from the inside corners over triangles that do not cross: a connected surface stays inside until it does.
    reached = np.zeros(int(place.max()) + 1, dtype=bool)
    reached[place[inside]] = True
    free = np.ones(len(faces), dtype=bool)
    free[crossing] = False
    welded = place[faces]
    taken = np.zeros(len(faces), dtype=bool)
    while True:
        fresh = free & ~taken & reached[welded].any(axis=1)
        if not fresh.any():
            break
        taken |= fresh
        reached[welded[fresh]] = True
    region = np.flatnonzero(taken)
    vertices = np.flatnonzero(reached[place])
    if len(region) == 0:
        return none, none, np.empty((0, 2), dtype=np.int64), vertices
    label = connected_parts(welded[region])
    of_place = np.full(len(reached), -1)
    of_place[welded[region]] = label[:, None]
    border = of_place[welded[crossing]]
    index, corner = np.nonzero(border >= 0)
    return region, label, np.stack([index, border[index, corner]], axis=1), vertices


# The points of one patch ----------------------------------------------------------------------------------------------


def _patch_points(a: _Side, b: _Side, max_points: int, threads: int | None) -> list[tuple[Floats, Floats, float, int]]:
    """(point, normal, depth, feature) of the contacts of one patch."""
    shift, point = _patch_translation(a, b, threads)
    depth = float(np.linalg.norm(shift))
    normal = shift / depth
    # The last point where they part: A's surface there, B's behind it by the depth.
    points, depths = [point - 0.5 * shift], [depth]
    for lower, upper, sign in ((b, a, 1.0), (a, b, -1.0)):
        # Corners of one, along the normal to the other's surface.
        corners = lower.candidates()
        if isinstance(upper.shape, TriangleMesh) and upper.faces is not None and len(corners):
            heights = _heights(corners, sign * normal, upper.corners())
        elif isinstance(upper.shape, HalfSpace):
            plane = upper.row[0, :9].reshape(3, 3) @ np.asarray(upper.shape.normal)
            heights = upper.shape.offset - (corners - upper.row[0, 9:]) @ plane
        else:
            continue
        good = np.isfinite(heights) & (heights >= 0.0) & (heights <= depth * (1.0 + 1e-9))
        for corner, height in zip(corners[good], heights[good], strict=True):
            points.append(corner + 0.5 * height * sign * normal)
            depths.append(float(height))
    chosen = _spread(np.array(points), np.array(depths), normal, max_points)
    feature = _feature(a, b)
    return [(points[k], normal, depths[k], feature) for k in chosen]


def _feature(a: _Side, b: _Side) -> int:
    """A number that stays while the patch's first triangles do."""
    first_a = int(a.faces[0]) if a.faces is not None and len(a.faces) else 0
    first_b = int(b.faces[0]) if b.faces is not None and len(b.faces) else 0
    return first_a * 2**31 + first_b


def _patch_translation(a: _Side, b: _Side, threads: int | None) -> tuple[Floats, Floats]:
    """(translation of B that clears the patch, point of A where they part)."""
    part_a, part_b = a.part, b.part
    mean = a.mean_normal() / _area_scale(a) - b.mean_normal() / _area_scale(b)
    length = float(np.linalg.norm(mean))
    around = sphere_directions(PATCH_DIRECTIONS)
    arguments = (part_a, part_b, a.row, b.row, threads)
    if length < 1e-6 or isinstance(a.shape, HalfSpace) or isinstance(b.shape, HalfSpace):
        return clearing_translation(*arguments, directions=around, starts=2)
    mean /= length
    solid = all(not isinstance(side.shape, TriangleMesh) or side.shape.is_closed for side in (a, b))
    if not solid:
        back = clearing_translation(*arguments, directions=around[:0], starts=0, along=-mean)
    straight = clearing_translation(*arguments, directions=around[:0], starts=0, along=mean)
    if not solid and np.linalg.norm(back[0]) < np.linalg.norm(straight[0]):
        straight, mean = back, -mean
    # Out of a solid, not through it.
    toward = mean if solid else None
    around = around[around @ mean > 0.1] if solid else around
    best = clearing_translation(*arguments, directions=around, starts=2, along=mean, toward=toward)
    size = min(part.bounding_sphere()[1] for part in (part_a, part_b))
    limit = PATCH_NORMAL * np.linalg.norm(best[0]) + 1e-6 * size
    return straight if np.linalg.norm(straight[0]) <= limit else best


def _area_scale(side: _Side) -> float:
    """Twice the area of the patch's triangles, so that a large mesh does not outvote a small one; 1 for a convex shape."""
    if not isinstance(side.shape, TriangleMesh):
        return 1.0
    corners = side.corners()
    total = float(np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum())
    return total if total > 0.0 else 1.0


def _heights(points: Floats, normal: Floats, corners: Floats) -> Floats:
    """(P,) how far along the normal each point meets one of the triangles (T, 3, 3) first; inf if it does not."""
    from thud.geometry import ray_triangle

    best = np.full(len(points), np.inf)
    for block in range(0, len(points), 64):
        chosen = points[block : block + 64]
        origins = np.repeat(chosen, len(corners), axis=0)
        triangles = np.tile(corners, (len(chosen), 1, 1))
        found = ray_triangle(origins, normal, triangles).distance
        best[block : block + 64] = found.reshape(len(chosen), -1).min(axis=1)
    return best


def _spread(points: Floats, depths: Floats, normal: Floats, limit: int) -> list[int]:
    """At most `limit` of the points: the deepest, then whichever is farthest, across the normal, from those taken."""
    flat = points - np.outer(points @ normal, normal)
    chosen = [int(np.argmax(depths))]
    distance = np.linalg.norm(flat - flat[chosen[0]], axis=1)
    size = float(distance.max(initial=0.0))
    while len(chosen) < limit:
        k = int(np.argmax(distance))
        if not distance[k] > 1e-6 * size or distance[k] == 0.0:
            break
        chosen.append(k)
        distance = np.minimum(distance, np.linalg.norm(flat - flat[k], axis=1))
    return chosen
