"""The patches where a convex shape and a mesh overlap: connected runs of the mesh's triangles that meet the shape.

Normal, depth and points as in `mesh/patch_points.py`; the points are corners of the shape below the triangles. Out of a
half-space its normal leads, and the points are corners of the triangles below its plane.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.mesh.depth import half_spaces, mixed_directions
from thud.mesh.overlap_pair import convex_overlap_pair
from thud.mesh.patch_lists import PatchPoints, contained_patch, found_patches
from thud.mesh.patch_mesh import patch_mesh, patch_space
from thud.mesh.tolerances import PATCH_DIRECTIONS
from thud.mesh.trees import box_tree
from thud.pairing.contact_points import feature_ids, spread_points
from thud.results import Contacts, Distances
from thud.shapes.mesh_connectivity import connected_parts
from thud.shapes.shape import BOX, HULL, Shape
from thud.shapes.triangle_mesh import TriangleMesh


def convex_mesh_patches(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, gap: Distances, max_points: int, threads: int | None
) -> Contacts:
    """Points of the patches where the two overlap; one point midway where they are apart by a finite gap."""
    return found_patches(_overlaps, a, b, rows_a, rows_b, count, gap, max_points, threads)


def _overlaps(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, max_points: int, threads: int | None
) -> list[PatchPoints]:
    """Of each row, all of which overlap."""
    from thud.mesh.patch_points import convex_patch_contacts

    plane, mesh, around = half_spaces(a), patch_mesh(b), mixed_directions(PATCH_DIRECTIONS)
    corners, welded = _corners(a), b.welded
    found: list[PatchPoints | None] = [None] * count

    def collect(start: int, stop: int) -> None:
        space, before = patch_space(b), 0
        pair = None if plane else convex_overlap_pair(a, b, space.mark)
        for row in range(start, stop):
            pose_a, pose_b = (rows[[row if len(rows) > 1 else 0]] for rows in (rows_a, rows_b))
            triangles = _meeting(a, b, pose_a, pose_b)
            if len(triangles) == 0:
                continue
            label = connected_parts(welded[triangles])
            order = np.lexsort((triangles, label))
            triangles, patches = triangles[order], int(label.max()) + 1
            first = np.searchsorted(label[order], np.arange(patches + 1))
            feature = feature_ids(np.zeros(patches, dtype=np.int64), triangles[first[:-1]])
            if plane:
                found[row] = _above_plane(b, plane[0], pose_a[0], pose_b[0], triangles, first, feature, max_points)
                continue
            space.listed[: len(triangles)] = triangles
            point, depth = np.empty((patches * max_points, 3)), np.empty(patches * max_points)
            normal, points = np.empty((patches, 3)), np.empty(patches, dtype=np.int64)
            arguments = (mesh, space, first, pose_a, pose_b, corners, around, max_points, point, normal, depth, points)
            convex_patch_contacts(patches, before, pair, *arguments)
            before += patches
            found[row] = PatchPoints.of(point, normal, depth, points, feature, max_points)

    run_rows(collect, count, threads, rows_per_chunk=1)
    return [contained_patch(a, b, rows_a, rows_b, row, threads) if one is None else one for row, one in enumerate(found)]


def _corners(shape: Shape) -> Floats:
    """(K, 3) corners of a hull or a box, in its frame; other shapes have none."""
    (part,) = shape.parts()
    if part.kind == HULL:
        assert part.hull is not None
        return np.array(part.hull.vertices)
    if part.kind == BOX:
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return signs * np.array(part.parameters[:3])
    return np.empty((0, 3))


def _meeting(a: Shape, b: TriangleMesh, pose_a: Floats, pose_b: Floats) -> Ints:
    """Faces of the mesh that meet a convex shape."""
    from thud.mesh.mesh_convex import convex_query, convex_triangles

    query = (box_tree(b), *convex_query(a), pose_a, pose_b)
    positions = np.empty(256, dtype=np.int64)
    count = convex_triangles(*query, positions)
    if count > len(positions):
        positions = np.empty(count, dtype=np.int64)
        convex_triangles(*query, positions)
    return b.tree.order[positions[:count]]


def _above_plane(
    mesh: TriangleMesh, plane: tuple[Floats, float], pose_a: Floats, pose_b: Floats, triangles: Ints, first: Ints,
    feature: Ints, max_points: int,
) -> PatchPoints:  # fmt: skip
    """The patches of a mesh below the plane of a half-space: corners by their height below it."""
    normal = pose_a[:9].reshape(3, 3) @ plane[0]
    found = []
    for patch in range(len(feature)):
        chosen = np.unique(np.asarray(mesh.faces)[triangles[first[patch] : first[patch + 1]]])
        corners = np.asarray(mesh.vertices)[chosen] @ pose_b[:9].reshape(3, 3).T + pose_b[9:]
        heights = plane[1] - (corners - pose_a[9:]) @ normal
        # What touches, to a roundoff, may have none below.
        below = heights >= min(0.0, float(heights.max()))
        corners, heights = corners[below], np.maximum(heights[below], 0.0)
        points = corners + 0.5 * heights[:, None] * normal
        kept = spread_points(points, heights, normal, max_points)
        found.append((points[kept], heights[kept], np.full(len(kept), patch)))
    point, depth, number = (np.concatenate(column) for column in zip(*found, strict=True))
    return PatchPoints(point, np.repeat(normal[None], len(depth), axis=0), depth, feature[number], number)
