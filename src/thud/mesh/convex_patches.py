"""The patches where a convex shape and a mesh overlap: connected runs of the mesh's triangles that meet the shape.

A patch's normal is the mean normal of its triangles where that clears them about as well as any direction does, else the best
direction found; its depth is how far B must move along it for them to be clear of the shape (see `mesh/depth.py`). Points are
corners of the shape below the triangles, or of the triangles below a half-space, measured along the normal, and where the two
separate last.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidShapeError
from thud.mesh.depth import Clearing, clearing_translation, half_spaces, sphere_directions
from thud.mesh.tolerances import NO_MEAN, PATCH_AGREE, PATCH_DIRECTIONS, PATCH_NORMAL, SPAN_ROUNDING
from thud.mesh.trees import box_tree
from thud.pairing.contact_points import feature_ids, spread_points
from thud.pairing.join import empty_contacts
from thud.pairing.leaves import some_rows
from thud.results import Contacts, Distances
from thud.shapes.mesh_connectivity import connected_parts
from thud.shapes.shape import BOX, HULL, Shape
from thud.shapes.triangle_mesh import TriangleMesh


class _Side:
    """One side of a pair at one pose."""

    def __init__(self, row: Floats) -> None:
        self.row = row

    shape: Shape
    is_solid = True
    faces: Ints | None = None
    """Triangles that belong to the patch (a mesh only)."""

    @property
    def part(self) -> Shape:
        """What of the shape belongs to the patch."""
        return self.shape

    def world(self, points: Floats) -> Floats:
        """Points of the shape's frame in the world."""
        return points @ self.row[0, :9].reshape(3, 3).T + self.row[0, 9:]

    def mean_normal(self) -> Floats:
        """Area-weighted sum of the patch's normals in the world, outward for a solid, over twice their area: so a large mesh
        does not outvote a small one. 0 for a convex shape."""
        return np.zeros(3)

    def candidates(self) -> Floats:
        """(P, 3) corners of the shape that may lie below the other's surface, in the world."""
        return np.empty((0, 3))

    def heights(self, points: Floats, direction: Floats) -> Floats | None:
        """(P,) how far along the direction each point leaves the shape, inf if it does not; None: not known."""
        return None


class _ConvexSide(_Side):
    """A convex shape."""

    def __init__(self, shape: Shape, row: Floats) -> None:
        super().__init__(row)
        self.shape = shape
        (self.convex,) = shape.parts()

    def candidates(self) -> Floats:
        """Vertices of a hull or a box."""
        if self.convex.kind == HULL:
            assert self.convex.hull is not None
            return self.world(self.convex.hull.vertices)
        if self.convex.kind == BOX:
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
            return self.world(signs * np.array(self.convex.parameters[:3]))
        return np.empty((0, 3))

    def heights(self, points: Floats, direction: Floats) -> Floats | None:
        """Below the plane of a half-space."""
        if not half_spaces(self.shape):
            return None
        plane = self.row[0, :9].reshape(3, 3) @ np.array(self.convex.parameters[:3])
        return self.convex.parameters[3] - (points - self.row[0, 9:]) @ plane


class _MeshSide(_Side):
    """A mesh, and which of its triangles belong to the patch."""

    shape: TriangleMesh

    def __init__(self, shape: TriangleMesh, row: Floats, faces: Ints | None = None) -> None:
        super().__init__(row)
        self.shape, self.faces = shape, faces
        self.is_solid = shape.is_closed

    @property
    def part(self) -> Shape:
        """The patch's triangles as a mesh, where they have an area."""
        if self.faces is None:
            return self.shape
        try:
            return TriangleMesh(self.shape.vertices, np.asarray(self.shape.faces)[self.faces])
        except InvalidShapeError:
            return self.shape

    def corners(self) -> Floats:
        """(F, 3, 3) the patch's triangles in the world."""
        return self.world(np.asarray(self.shape.vertices)[np.asarray(self.shape.faces)[self.faces]].reshape(-1, 3)).reshape(
            -1, 3, 3
        )

    def mean_normal(self) -> Floats:
        """Of the patch's triangles."""
        corners = self.corners()
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        total, area = normals.sum(axis=0), float(np.linalg.norm(normals, axis=1).sum())
        return (-total if self.shape.problems().inverted else total) / (area if area > 0.0 else 1.0)

    def candidates(self) -> Floats:
        """Of the patch's triangles."""
        chosen = np.unique(np.asarray(self.shape.faces)[self.faces])
        return self.world(np.asarray(self.shape.vertices)[chosen])

    def heights(self, points: Floats, direction: Floats) -> Floats | None:
        """To the patch's triangles."""
        return _heights(points, direction, self.corners()) if self.faces is not None and len(points) else None


def convex_mesh_patches(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, gap: Distances, max_points: int, threads: int | None
) -> Contacts:
    """Points of the patches where the two overlap; one point midway where they are apart by a finite gap."""

    def patches(row_a: Floats, row_b: Floats) -> list[tuple[_Side, _Side]]:
        return _convex_patches(_ConvexSide(a, row_a), _MeshSide(b, row_b))

    return _contacts(gap, patches, rows_a, rows_b, count, max_points, threads)


def mesh_convex_patches(
    a: TriangleMesh, b: Shape, rows_a: Floats, rows_b: Floats, count: int, gap: Distances, max_points: int, threads: int | None
) -> Contacts:
    """The other way round. Not the same turned back: the search for the shortest way out moves B."""

    def patches(row_a: Floats, row_b: Floats) -> list[tuple[_Side, _Side]]:
        return [(mesh, convex) for convex, mesh in _convex_patches(_ConvexSide(b, row_b), _MeshSide(a, row_a))]

    return _contacts(gap, patches, rows_a, rows_b, count, max_points, threads)


def _contacts(
    gap: Distances, patches: Callable[[Floats, Floats], list[tuple[_Side, _Side]]], rows_a: Floats, rows_b: Floats, count: int,
    max_points: int, threads: int | None,
) -> Contacts:  # fmt: skip
    """One point midway where the two are apart by no more than the margin; where they overlap the points of their patches."""
    found: list[tuple[int, Floats, Floats, float, int, int]] = []
    for row in np.flatnonzero(np.isfinite(gap.distance)).tolist():
        if gap.distance[row] > 0.0:
            middle = 0.5 * (gap.point_a[row] + gap.point_b[row])
            found.append((row, middle, gap.normal[row], -float(gap.distance[row]), 0, 0))
            continue
        chosen = np.array([row])
        sides = patches(some_rows(rows_a, chosen, count)[:1], some_rows(rows_b, chosen, count)[:1])
        for number, patch in enumerate(sides):
            for point, normal, depth, feature in _patch_points(*patch, max_points, threads):
                found.append((row, point, normal, depth, feature, number))
    if not found:
        return empty_contacts(gap.status)
    columns = list(zip(*found, strict=True))
    return Contacts(
        row=np.array(columns[0], dtype=np.int64),
        point=np.array(columns[1]).reshape(-1, 3),
        normal=np.array(columns[2]).reshape(-1, 3),
        depth=np.array(columns[3], dtype=np.float64),
        feature=np.array(columns[4], dtype=np.int64),
        patch=np.array(columns[5], dtype=np.int64),
        status=gap.status,
    )


# The patches of one row -----------------------------------------------------------------------------------------------


def _convex_patches(a: _ConvexSide, b: _MeshSide) -> list[tuple[_Side, _Side]]:
    """The patches of a convex shape and a mesh that overlap."""
    triangles = _meeting(b, a)
    if len(triangles) == 0:
        return [(a, b)]
    label = connected_parts(b.shape.places[np.asarray(b.shape.faces)[triangles]])
    return [(a, _MeshSide(b.shape, b.row, np.sort(triangles[label == number]))) for number in range(int(label.max()) + 1)]


def _meeting(mesh: _MeshSide, other: _ConvexSide) -> Ints:
    """Faces of the mesh that meet a convex shape."""
    from thud.mesh.mesh_convex import convex_query, convex_triangles

    query = (box_tree(mesh.shape), *convex_query(other.shape), other.row, mesh.row)
    positions = np.empty(256, dtype=np.int64)
    count = convex_triangles(*query, positions)
    if count > len(positions):
        positions = np.empty(count, dtype=np.int64)
        convex_triangles(*query, positions)
    return mesh.shape.tree.order[positions[:count]]


# The points of one patch ----------------------------------------------------------------------------------------------


def _patch_points(a: _Side, b: _Side, max_points: int, threads: int | None) -> list[tuple[Floats, Floats, float, int]]:
    """(point, normal, depth, feature) of the contacts of one patch."""
    shift, point, _clears = _patch_translation(a, b, threads)
    depth = float(np.linalg.norm(shift))
    normal = shift / depth
    # The last point where they part: A's surface there, B's behind it by the depth.
    points, depths = [point - 0.5 * shift], [depth]
    for lower, upper, sign in ((b, a, 1.0), (a, b, -1.0)):
        # Corners of one, along the normal to the other's surface.
        corners = lower.candidates()
        heights = upper.heights(corners, sign * normal)
        if heights is None:
            continue
        good = np.isfinite(heights) & (heights >= 0.0) & (heights <= depth * (1.0 + SPAN_ROUNDING))
        for corner, height in zip(corners[good], heights[good], strict=True):
            points.append(corner + 0.5 * height * sign * normal)
            depths.append(float(height))
    chosen = spread_points(np.array(points), np.array(depths), normal, max_points).tolist()
    feature = _feature(a, b)
    return [(points[k], normal, depths[k], feature) for k in chosen]


def _feature(a: _Side, b: _Side) -> int:
    """A number that stays while the patch's first triangles do."""
    first_a = int(a.faces[0]) if a.faces is not None and len(a.faces) else 0
    first_b = int(b.faces[0]) if b.faces is not None and len(b.faces) else 0
    return int(feature_ids(np.array([first_a]), np.array([first_b]))[0])


def _patch_translation(a: _Side, b: _Side, threads: int | None) -> Clearing:
    """A way out of the patch for B."""
    part_a, part_b = a.part, b.part
    mean = a.mean_normal() - b.mean_normal()
    length = float(np.linalg.norm(mean))
    around = sphere_directions(PATCH_DIRECTIONS)
    arguments = (part_a, part_b, a.row, b.row, threads)
    if length < NO_MEAN or half_spaces(a.shape) or half_spaces(b.shape):
        return clearing_translation(*arguments, directions=around, starts=2)
    mean /= length
    solid = a.is_solid and b.is_solid
    if not solid:
        back = clearing_translation(*arguments, directions=around[:0], starts=0, along=-mean)
    straight = clearing_translation(*arguments, directions=around[:0], starts=0, along=mean)
    if not solid and np.linalg.norm(back.shift) < np.linalg.norm(straight.shift):
        straight, mean = back, -mean
    # Out of a solid, not through it.
    toward = mean if solid else None
    around = around[around @ mean > 0.1] if solid else around
    best = clearing_translation(*arguments, directions=around, starts=2, along=mean, toward=toward)
    size = min(part.bounding_sphere()[1] for part in (part_a, part_b))
    limit = PATCH_NORMAL * np.linalg.norm(best.shift) + PATCH_AGREE * size
    return straight if np.linalg.norm(straight.shift) <= limit else best


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
