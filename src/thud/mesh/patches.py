"""How deep, and along what, two bodies overlap: patches along the curve where their surfaces cross, each with a normal, a depth
and points. What the pair table calls.

A patch is a connected run of triangle pairs that meet, together with what of either surface it cuts off inside the other solid
(`mesh/patch_regions.py`). Its normal, depth and points are found in `mesh/patch_points.py`. A convex shape and a mesh:
`mesh/convex_patches.py`.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud._core.threads import run_rows
from thud.mesh.convex_patches import convex_mesh_patches
from thud.mesh.depth import mixed_directions
from thud.mesh.dispatch import convex_distance, distance, triangle_pairs
from thud.mesh.overlap_pair import overlap_pair
from thud.mesh.patch_lists import PatchPoints, contained_patch, found_patches
from thud.mesh.patch_mesh import patch_mesh, patch_space
from thud.mesh.tolerances import PATCH_DIRECTIONS
from thud.pairing.ask import ask_pair
from thud.pairing.contact_points import feature_ids
from thud.results import Contacts, Distances
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh


def overlap_patches(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, max_points: int, threads: int | None
) -> Contacts:
    """The patches of two meshes."""
    gap = distance(a, b, rows_a, rows_b, count, reach=0.0, threads=threads)
    return mesh_patches(a, b, rows_a, rows_b, count, gap, max_points, threads)


def convex_overlap_patches(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, max_points: int, threads: int | None
) -> Contacts:
    """The patches of a convex shape and a mesh."""
    gap = convex_distance(a, b, rows_a, rows_b, count, reach=0.0, threads=threads)
    return convex_mesh_patches(a, b, rows_a, rows_b, count, gap, max_points, threads)


def contact_patches(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, max_points: int, threads: int | None
) -> Contacts:
    """Of shapes without crossing curves of triangles: their contacts."""
    return ask_pair("contacts", a, b, rows_a, rows_b, count, margin=0.0, max_points=max_points, threads=threads)


def mesh_patches(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, gap: Distances, max_points: int,
    threads: int | None,
) -> Contacts:  # fmt: skip
    """Points of the patches where the two overlap; one point midway where they are apart by a finite gap."""
    return found_patches(_overlaps, a, b, rows_a, rows_b, count, gap, max_points, threads)


def _overlaps(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, max_points: int, threads: int | None
) -> list[PatchPoints]:
    """Of each row, all of which overlap."""
    from thud.mesh.patch_points import patch_contacts
    from thud.mesh.patch_regions import find_patches

    pairs = triangle_pairs(a, b, rows_a, rows_b, count, threads=threads)
    begin = np.searchsorted(pairs.row, np.arange(count + 1))
    meshes, around = (patch_mesh(a), patch_mesh(b)), mixed_directions(PATCH_DIRECTIONS)
    found: list[PatchPoints | None] = [None] * count

    def collect(start: int, stop: int) -> None:
        spaces = patch_space(a), patch_space(b)
        pair, before = overlap_pair(a, b, spaces[0].mark, spaces[1].mark), 0
        for row in range(start, stop):
            chosen = slice(begin[row], begin[row + 1])
            meeting = np.stack([pairs.triangle_a[chosen], pairs.triangle_b[chosen]], axis=1)
            if len(meeting) == 0:
                continue
            poses = [rows[[row if len(rows) > 1 else 0]] for rows in (rows_a, rows_b)]
            parent, patch = np.empty(8 * len(meeting), dtype=np.int32), np.empty(8 * len(meeting), dtype=np.int64)
            first = np.empty((4, len(meeting) + 1), dtype=np.int64)
            patches = find_patches(*meshes, pair.wide_a, pair.wide_b, *poses, meeting, *spaces, parent, patch, first)
            point, depth = np.empty((patches * max_points, 3)), np.empty(patches * max_points)
            normal, points = np.empty((patches, 3)), np.empty(patches, dtype=np.int64)
            least = np.empty((patches, 2), dtype=np.int64)
            arguments = (*meshes, *spaces, first, *poses, around, max_points, point, normal, depth, points, least)
            patch_contacts(patches, before, pair, *arguments)
            before += patches
            feature = feature_ids(least[:, 0], least[:, 1])
            found[row] = PatchPoints.of(point, normal, depth, points, feature, max_points)

    run_rows(collect, count, threads, rows_per_chunk=1)
    return [contained_patch(a, b, rows_a, rows_b, row, threads) if one is None else one for row, one in enumerate(found)]
