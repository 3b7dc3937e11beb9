"""Overlap patches: which triangles belong together, against a slow search; points, and shapes other than meshes."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh, box_mesh, placed_corners
from tests.oracles.sweeps import crossing_depth, hits_along
from thud.mesh.overlap_pair import overlap_pair
from thud.mesh.patch_mesh import patch_mesh, patch_space
from thud.mesh.patch_regions import find_patches

CUBE = thud.TriangleMesh(*box_mesh())


def comb(teeth: int) -> thud.TriangleMesh:
    """Boxes side by side, which share no vertex."""
    vertices, faces = box_mesh((0.2, 0.2, 1.0))
    places = [vertices + [x - 0.5 * (teeth - 1), 0.0, 0.0] for x in range(teeth)]
    return thud.TriangleMesh(np.concatenate(places), np.concatenate([faces + 8 * k for k in range(teeth)]))


def slow_patches(a: thud.TriangleMesh, b: thud.TriangleMesh, at: thud.Pose) -> set[tuple[frozenset[int], frozenset[int]]]:
    """Sets of faces of A and B, found by looking at all of them again and again. A is at the origin."""
    pairs = thud.triangle_pairs(a, b, None, at)
    crossing = [set(pairs.triangle_a.tolist()), set(pairs.triangle_b.tolist())]
    b_in_a = np.asarray(b.vertices) @ at.rotation.reshape(3, 3).T + at.position.reshape(3)
    a_in_b = (np.asarray(a.vertices) - at.position.reshape(3)) @ at.rotation.reshape(3, 3)
    inside = [thud.contains(b, a_in_b), thud.contains(a, b_in_a)]
    groups: list[set[tuple[int, int]]] = [{(0, i), (1, j)} for i, j in zip(pairs.triangle_a, pairs.triangle_b, strict=True)]
    for side, mesh in enumerate((a, b)):
        faces = np.asarray(mesh.faces)
        free = [f for f in range(len(faces)) if f not in crossing[side] and inside[side][faces[f]].all()]
        groups += [{(side, f)} for f in free]
        for f in free:
            for g in range(len(faces)):
                if (g in crossing[side] or g in free) and set(faces[f]) & set(faces[g]):
                    groups.append({(side, f), (side, g)})
    merged: list[set[tuple[int, int]]] = []
    for group in groups:
        touching = [other for other in merged if other & group]
        merged = [other for other in merged if not other & group] + [group.union(*touching)]
    found = [[frozenset(int(f) for s, f in group if s == side) for side in (0, 1)] for group in merged]
    return {(one, other) for one, other in found if one and other}


def fast_patches(a: thud.TriangleMesh, b: thud.TriangleMesh, at: thud.Pose) -> set[tuple[frozenset[int], frozenset[int]]]:
    pairs = thud.triangle_pairs(a, b, None, at)
    meeting = np.stack([pairs.triangle_a, pairs.triangle_b], axis=1)
    spaces, pair = (patch_space(a), patch_space(b)), overlap_pair(a, b)
    parent, patch = np.empty(8 * len(meeting), np.int32), np.empty(8 * len(meeting), np.int64)
    start = np.empty((4, len(meeting) + 1), np.int64)
    home = thud.Pose().rows.copy()
    poses = home, at.rows.copy()
    count = find_patches(patch_mesh(a), patch_mesh(b), pair.wide_a, pair.wide_b, *poses, meeting, *spaces, parent, patch, start)
    # What is 0 before is 0 afterwards.
    assert not any(field.any() for space in spaces for field in space[:5])
    lists = [[frozenset(spaces[k].listed[start[k, p] : start[k, p + 1]].tolist()) for p in range(count)] for k in (0, 1)]
    return set(zip(*lists, strict=True))


@pytest.mark.parametrize("case", range(6))
def test_the_same_patches_as_a_slow_search(case: int) -> None:
    rng = np.random.default_rng(case)
    a, b = (
        thud.TriangleMesh(*blob_mesh(7, case, 0.8)),
        comb(3) if case % 2 else thud.TriangleMesh(*blob_mesh(8, 50 + case, 0.9)),
    )
    while True:
        q, way = rng.normal(size=4), rng.normal(size=3)
        at = thud.Pose(rng.uniform(0.5, 1.3) * way / np.linalg.norm(way), q / np.linalg.norm(q))
        if len(thud.triangle_pairs(a, b, None, at).row):
            break
    assert fast_patches(a, b, at) == slow_patches(a, b, at)


def test_soup_of_triangles_hangs_together_by_places() -> None:
    # Flooding goes by places: files of triangle soup repeat vertices.
    vertices, faces = blob_mesh(8, 3, 0.6)
    whole, soup = (
        thud.TriangleMesh(vertices, faces),
        thud.TriangleMesh(vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)),
    )
    at = thud.Pose([0.9, 0.2, 0.1])
    assert fast_patches(whole, CUBE, at) == fast_patches(soup, CUBE, at)
    one, other = thud.overlap_patches(whole, CUBE, None, at), thud.overlap_patches(soup, CUBE, None, at)
    np.testing.assert_allclose(one.depth, other.depth, atol=1e-9)


def test_points_lie_midway_between_the_surfaces() -> None:
    rng = np.random.default_rng(4)
    a, b = thud.TriangleMesh(*blob_mesh(10, 1, 0.4)), thud.TriangleMesh(*blob_mesh(10, 2, 0.4))
    q, way = rng.normal(size=(5, 4)), rng.normal(size=(5, 3))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    at = thud.Pose(1.2 * way / np.linalg.norm(way, axis=1, keepdims=True), q)
    found = thud.overlap_patches(a, b, None, at)
    assert len(found.row) > 5
    assert np.bincount(found.row).max() <= 8 * (found.patch.max() + 1)
    on_a = placed_corners(a, thud.Pose().rows[0])
    for k in range(len(found.row)):
        on_b = placed_corners(b, at.rows[found.row[k]])
        # A's surface is at point + depth / 2 * normal, B's at point - depth / 2 * normal.
        for corners, sign in ((on_a, 1.0), (on_b, -1.0)):
            heights = hits_along(found.point[k][None], sign * found.normal[k], corners)
            assert np.nanmin(np.abs(heights - 0.5 * found.depth[k])) < 1e-6


def test_the_first_point_of_a_patch_is_the_deepest() -> None:
    a, b = thud.TriangleMesh(*blob_mesh(9, 3, 0.9)), thud.TriangleMesh(*blob_mesh(8, 4, 0.9))
    found = thud.overlap_patches(a, b, None, thud.Pose([1.0, 0.2, 0.1]))
    for patch in set(found.patch.tolist()):
        depths = found.depth[found.patch == patch]
        assert depths[0] == depths.max()
    few = thud.overlap_patches(a, b, None, thud.Pose([1.0, 0.2, 0.1]), max_points=1)
    assert len(few.row) == found.patch.max() + 1


def test_a_patch_is_cleared_by_its_own_translation() -> None:
    rng = np.random.default_rng(9)
    a, b = thud.TriangleMesh(*blob_mesh(8, 5, 0.7)), comb(4)
    for _ in range(5):
        q = rng.normal(size=4)
        at = thud.Pose(0.5 * rng.normal(size=3), q / np.linalg.norm(q))
        if len(thud.triangle_pairs(a, b, None, at).row) == 0:
            continue
        found = thud.overlap_patches(a, b, None, at)
        sets = sorted(fast_patches(a, b, at), key=lambda sides: min(sides[0]))
        on_a, on_b = placed_corners(a, thud.Pose().rows[0]), placed_corners(b, at.rows[0])
        features = {}
        for one, other in sets:
            features[min(one) * 2**32 + min(other)] = (sorted(one), sorted(other))
        for patch in set(found.patch.tolist()):
            chosen = found.patch == patch
            one, other = features[int(found.feature[chosen][0])]
            moved = on_b[other] + found.depth[chosen].max() * found.normal[chosen][0]
            assert crossing_depth(on_a[one], moved) < 1e-7


def test_rows_and_threads() -> None:
    rng = np.random.default_rng(2)
    a, b = thud.TriangleMesh(*blob_mesh(8, 6, 0.6)), thud.TriangleMesh(*blob_mesh(8, 7, 0.6))
    q, way = rng.normal(size=(12, 4)), rng.normal(size=(12, 3))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    at = thud.Pose(rng.uniform(0.0, 3.0, (12, 1)) * way / np.linalg.norm(way, axis=1, keepdims=True), q)
    one, two = (thud.overlap_patches(a, b, None, at, threads=n) for n in (1, 2))
    for name in ("row", "point", "normal", "depth", "feature", "patch", "status"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.status == thud.Status.OVERLAPPING, thud.intersects(a, b, None, at))
    for row in range(12):
        alone = thud.overlap_patches(a, b, None, thud.Pose(at.position[row], at.quaternion[row]))
        # The quaternion is made one of length 1 again.
        np.testing.assert_allclose(alone.depth, one.depth[one.row == row], atol=1e-12)


def test_compounds_leaf_by_leaf() -> None:
    at = thud.Pose([1.7, 0.0, 0.0])
    pair = thud.Compound([CUBE, thud.Sphere(0.5)], thud.Pose([[0.0, 0.0, 0.0], [0.0, 0.0, 5.0]]))
    alone, within = thud.overlap_patches(CUBE, CUBE, None, at), thud.overlap_patches(pair, CUBE, None, at)
    np.testing.assert_allclose(within.depth, alone.depth)
    assert set(within.patch.tolist()) == {0}


def test_shapes_without_a_mesh_have_their_contacts() -> None:
    box, at = thud.Box([1.0, 1.0, 1.0]), thud.Pose([1.7, 0.1, 0.2])
    one, other = thud.overlap_patches(box, box, None, at), thud.contacts(box, box, None, at)
    np.testing.assert_array_equal(one.depth, other.depth)
    assert len(thud.overlap_patches(box, box, None, thud.Pose([2.1, 0.0, 0.0])).row) == 0
