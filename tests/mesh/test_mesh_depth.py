"""Penetration of meshes: signed distance against a search of 20,000 directions, and what contact patches promise.

THUD_TEST_SIZE=full tries 200 cases instead of a few.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh, box_mesh
from thud.mesh.depth import sphere_directions

SIZE = os.environ.get("THUD_TEST_SIZE", "ci")
CASES, DIRECTIONS = {"small": (1, 500), "ci": (4, 4_000), "full": (200, 20_000)}[SIZE]

CUBE = thud.TriangleMesh(*box_mesh())
GROUND = thud.TriangleMesh(*box_mesh((5.0, 5.0, 1.0)))


def pose(rng: np.random.Generator, nearest: float, farthest: float) -> thud.Pose:
    q, way = rng.normal(size=4), rng.normal(size=3)
    return thud.Pose(rng.uniform(nearest, farthest) * way / np.linalg.norm(way), q / np.linalg.norm(q))


def moved(at: thud.Pose, shift: np.ndarray) -> thud.Pose:
    return thud.Pose(at.position + shift, at.quaternion)


@pytest.mark.parametrize("case", range(CASES))
def test_signed_distance_is_about_the_shortest_way_out(case: int) -> None:
    rng = np.random.default_rng(100 + case)
    a = thud.TriangleMesh(*blob_mesh(int(rng.integers(6, 12)), case, rng.uniform(0.2, 0.9)))
    b = thud.TriangleMesh(*blob_mesh(int(rng.integers(6, 12)), case + 1000, rng.uniform(0.2, 0.9)))
    at = pose(rng, 0.1, 1.4)
    found = thud.distance(a, b, None, at, signed=True)
    if not thud.intersects(a, b, None, at)[0]:
        assert found.distance[0] > 0
        return
    depth, normal = -found.distance[0], found.normal[0]
    assert depth > 0
    assert found.status[0] == thud.Status.OVERLAPPING
    np.testing.assert_allclose(found.point_b, found.point_a - depth * found.normal, atol=1e-9)
    # Disjoint afterwards, and no longer than the hulls' depth.
    assert not thud.intersects(a, b, None, moved(at, depth * normal))[0]
    assert depth <= -thud.distance(a.hull, b.hull, None, at, signed=True).distance[0] * (1 + 1e-6)
    # Within 10 % of the best of all directions, each from far outside back to the first contact.
    directions, far = sphere_directions(DIRECTIONS), 6.0
    q = np.repeat(at.quaternion[None] if at.quaternion.ndim == 1 else at.quaternion, DIRECTIONS, axis=0)
    back = thud.cast(a, b, None, thud.Pose(at.position + far * directions, q), 0, -far * directions)
    assert depth <= 1.1 * far * (1.0 - np.minimum(back.time, 1.0)).min()


@pytest.mark.parametrize("turn", [[1.0, 0, 0, 0], [0.8, 0.36, 0.48, 0]])
@pytest.mark.skipif(SIZE == "small", reason="40,000 triangles")
def test_concentric_balls_of_many_triangles(turn: list[float]) -> None:
    # Their hulls' depth is all but the same in every direction. Its search ended undecided, and the way out began at a
    # millionth of the size instead, grew to 0.0006 and was called an answer without a look at whether it led out.
    rows, columns = 100, 200
    u = np.linspace(0, np.pi, rows + 1)[1:-1, None]
    v = np.linspace(0, 2 * np.pi, columns, endpoint=False)[None]
    rings = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.broadcast_to(np.cos(u), (rows - 1, columns))], axis=-1)
    points = np.concatenate([rings.reshape(-1, 3), [[0, 0, 1.0], [0, 0, -1.0]]])
    at = np.arange((rows - 1) * columns).reshape(rows - 1, columns)
    beside = np.roll(at, -1, axis=1)
    strips = [[at[:-1], at[1:], beside[:-1]], [beside[:-1], at[1:], beside[1:]]]
    faces = [np.stack([corner.ravel() for corner in strip], axis=1) for strip in strips]
    poles = np.full(columns, len(points) - 2), np.full(columns, len(points) - 1)
    faces += [np.stack([poles[0], at[0], beside[0]], axis=1), np.stack([poles[1], beside[-1], at[-1]], axis=1)]
    a, b = (thud.TriangleMesh(points, np.concatenate(faces)) for _ in range(2))
    found = thud.distance(a, b, None, thud.Pose([0, 0, 0], turn), signed=True)
    assert found.status[0] == thud.Status.OVERLAPPING
    assert -2.0 <= found.distance[0] < -1.999
    clear = -found.distance[0] * (1 + 1e-6) * found.normal[0]
    assert not thud.intersects(a, b, None, thud.Pose(clear, turn))[0]


def test_sign_agrees_with_contains() -> None:
    # A mesh so small that it is all but a point.
    speck = thud.TriangleMesh(1e-7 * np.asarray(CUBE.vertices), CUBE.faces)
    blob = thud.TriangleMesh(*blob_mesh(8, 5, 0.8))
    points = np.random.default_rng(6).uniform(-1.2, 1.2, (12, 3))
    inside = thud.geometry.point_in_mesh(points, blob.vertices, blob.faces)
    found = thud.distance(blob, speck, None, thud.Pose(points), signed=True)
    np.testing.assert_array_equal(found.distance < 0, inside)


def test_cavity() -> None:
    # A hollow box: into the hollow is nearer than out of it all.
    inner = 0.8 * np.asarray(CUBE.vertices)
    shell = thud.TriangleMesh(
        np.concatenate([CUBE.vertices, inner]), np.concatenate([CUBE.faces, np.asarray(CUBE.faces)[:, ::-1] + 8])
    )
    ball = thud.Sphere(0.2)
    assert shell.is_closed
    assert not thud.intersects(shell, ball)[0]
    found = thud.distance(shell, ball, None, thud.Pose([0.65, 0.0, 0.0]), signed=True)
    assert found.distance[0] == pytest.approx(-0.05, abs=1e-5)
    np.testing.assert_allclose(found.normal[0], [-1.0, 0.0, 0.0], atol=1e-3)


@pytest.mark.parametrize("shape", [CUBE, thud.Box((1.0, 1.0, 1.0))], ids=["mesh", "box"])
def test_box_on_the_ground(shape: thud.shapes.Shape) -> None:
    at = thud.Pose([0.3, 0.2, 1.9])
    found = thud.overlap_patches(GROUND, shape, None, at)
    np.testing.assert_allclose(found.normal, [[0.0, 0.0, 1.0]] * len(found.row), atol=1e-9)
    np.testing.assert_allclose(found.depth, 0.1, atol=1e-6)
    np.testing.assert_allclose(found.point[:, 2], 0.95, atol=1e-6)
    corners = found.point[:, :2]
    for corner in ([-0.7, -0.8], [1.3, -0.8], [-0.7, 1.2], [1.3, 1.2]):
        assert np.abs(corners - corner).max(axis=1).min() < 1e-9
    swapped = thud.overlap_patches(shape, GROUND, at, None)
    np.testing.assert_allclose(swapped.normal, [[0.0, 0.0, -1.0]] * len(swapped.row), atol=1e-9)
    touching = thud.overlap_patches(GROUND, shape, None, thud.Pose([0.3, 0.2, 2.0]))
    assert len(touching.row) >= 3
    np.testing.assert_allclose(touching.normal[:, 2], 1.0, atol=1e-6)
    assert touching.depth.max() < 1e-5
    assert touching.status[0] == thud.Status.OVERLAPPING
    assert len(thud.overlap_patches(GROUND, shape, None, thud.Pose([0.3, 0.2, 2.1])).row) == 0
    near = thud.contacts(GROUND, shape, None, thud.Pose([0.3, 0.2, 2.05]), margin=0.1)
    assert near.depth[0] == pytest.approx(-0.05)


def test_curved_shapes_and_half_space() -> None:
    found = thud.overlap_patches(GROUND, thud.Sphere(1.0), None, thud.Pose([0.3, 0.2, 1.9]))
    np.testing.assert_allclose(found.point, [[0.3, 0.2, 0.95]], atol=1e-5)
    assert found.depth[0] == pytest.approx(0.1, abs=1e-6)
    ground = thud.overlap_patches(thud.HalfSpace((0.0, 0.0, 1.0), 0.0), CUBE, None, thud.Pose([0.0, 0.0, 0.9]))
    assert len(ground.row) == 4
    np.testing.assert_allclose(ground.depth, 0.1, atol=1e-6)


def test_contained_mesh_has_one_patch_that_leads_out() -> None:
    small = thud.TriangleMesh(0.1 * np.asarray(CUBE.vertices), CUBE.faces)
    at = thud.Pose([0.3, 0.0, 0.0])
    found = thud.overlap_patches(CUBE, small, None, at)
    assert set(found.patch.tolist()) == {0}
    assert found.depth.max() == pytest.approx(0.8, abs=1e-5)
    assert not thud.intersects(CUBE, small, None, moved(at, found.depth.max() * found.normal[0]))[0]


def test_each_patch_is_cleared_by_its_own_translation() -> None:
    # Two bumps of one body press into a plate: two patches.
    vertices, faces = box_mesh(0.3)
    feet = thud.TriangleMesh(
        np.concatenate([vertices + [-1.0, 0, 0], vertices + [1.0, 0, 0.1]]), np.concatenate([faces, faces + 8])
    )
    at = thud.Pose([0.0, 0.0, 1.15])
    found = thud.overlap_patches(GROUND, feet, None, at)
    assert set(found.patch.tolist()) == {0, 1}
    depth = {patch: found.depth[found.patch == patch].max() for patch in (0, 1)}
    assert sorted(depth.values()) == pytest.approx([0.05, 0.15], abs=1e-5)
    for patch, number in ((0, None), (1, None)):
        del number
        chosen = found.patch == patch
        shift = depth[patch] * (1 + 1e-6) * found.normal[chosen][0]
        pairs = thud.triangle_pairs(GROUND, feet, None, moved(at, shift))
        side = found.point[chosen][0, 0] > 0
        assert not ((pairs.triangle_b >= 12) == side).any()
    assert len(thud.overlap_patches(GROUND, feet, None, at, max_points=1).row) == 2


def test_patches_of_blobs_are_cleared() -> None:
    rng = np.random.default_rng(8)
    a, b = thud.TriangleMesh(*blob_mesh(9, 3, 0.9)), thud.TriangleMesh(*blob_mesh(8, 4, 0.9))
    for _ in range(CASES if SIZE != "full" else 20):
        at = pose(rng, 0.9, 1.6)
        found = thud.overlap_patches(a, b, None, at)
        before = thud.triangle_pairs(a, b, None, at)
        assert (len(found.row) > 0) == bool(thud.intersects(a, b, None, at)[0])
        single = len(set(found.patch.tolist())) == 1
        for patch in set(found.patch.tolist()):
            chosen = found.patch == patch
            np.testing.assert_allclose(np.linalg.norm(found.normal[chosen], axis=1), 1.0)
            assert (found.depth[chosen] >= 0).all()
            after = thud.triangle_pairs(a, b, None, moved(at, found.depth[chosen].max() * (1 + 1e-6) * found.normal[chosen][0]))
            if single:
                # All crossing triangles are the patch's own: none of these pairs is left.
                old = set(zip(before.triangle_a.tolist(), before.triangle_b.tolist(), strict=True))
                assert not old & set(zip(after.triangle_a.tolist(), after.triangle_b.tolist(), strict=True))


def test_open_meshes_are_surfaces() -> None:
    sheet = thud.TriangleMesh([[-2.0, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    at = thud.Pose([0.1, 0.2, 0.9])
    found = thud.distance(sheet, CUBE, None, at, signed=True)
    assert found.distance[0] == pytest.approx(-0.1, abs=1e-5)
    contact = thud.overlap_patches(sheet, CUBE, None, at)
    assert contact.depth.max() == pytest.approx(0.1, abs=1e-5)
    np.testing.assert_allclose(contact.normal[0], [0.0, 0.0, 1.0], atol=1e-6)
