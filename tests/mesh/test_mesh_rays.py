"""Rays against a mesh through its tree: every answer against the exact test of every triangle."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.geometry.test_contains import CORNERS_TOUCH, HOLLOW, L_SHAPE, RING
from tests.geometry.test_ray_mesh import EXACT
from tests.oracles import geometry as oracle
from tests.oracles.mesh_points import bumpy_sphere, soup, terrain
from thud import geometry
from thud.errors import InvalidInputError

VOXELS = {"L": L_SHAPE, "ring": RING, "hollow": HOLLOW, "touching corners": CORNERS_TOUCH}
MESHES = {
    "soup": soup(np.random.default_rng(1), 400),
    "sphere": bumpy_sphere(12, 20),
    "terrain": terrain(np.random.default_rng(2), 20, 4.0),
    "one": ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
}


def rays(seed: int, count: int, reach: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-reach, reach, (count, 3)), rng.normal(size=(count, 3))


def check_first(mesh: thud.TriangleMesh, origins: np.ndarray, directions: np.ndarray, tolerance: float = 1e-11) -> thud.RayHits:
    """The same hits as by brute force; which of several triangles at one distance is the smallest row's."""
    hits = thud.raycast(mesh, origins, directions)
    expected = geometry.ray_mesh(origins, directions, mesh.vertices, mesh.faces)
    missed = np.isinf(expected.distance)
    np.testing.assert_array_equal(np.isinf(hits.distance), missed)
    np.testing.assert_array_equal(hits.triangle < 0, missed)
    np.testing.assert_allclose(hits.distance[~missed], expected.distance[~missed], rtol=tolerance, atol=tolerance)
    differ = np.flatnonzero(hits.triangle != expected.triangle)
    if len(differ):
        o, d = np.broadcast_arrays(origins, directions)
        corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)]
        other = geometry.ray_triangle(o[differ], d[differ], corners[hits.triangle[differ]])
        np.testing.assert_allclose(other.distance, expected.distance[differ], rtol=tolerance, atol=tolerance)
    assert not hits.point[missed].any()
    assert not hits.normal[missed].any()
    return hits


@pytest.mark.parametrize("name", MESHES)
def test_first_hit_is_that_of_brute_force(name: str) -> None:
    vertices, faces = MESHES[name]
    mesh = thud.TriangleMesh(vertices, faces)
    origins, directions = rays(3, 3000)
    hits = check_first(mesh, origins, directions)
    hit = hits.triangle >= 0
    assert hit.any()
    assert not hit.all()
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    np.testing.assert_allclose(hits.point[hit], (origins + hits.distance[:, None] * unit)[hit], atol=1e-12)
    a, b, c = np.moveaxis(np.asarray(mesh.vertices)[np.asarray(mesh.faces)[hits.triangle[hit]]], 1, 0)
    normal = np.cross(b - a, c - a)
    np.testing.assert_allclose(hits.normal[hit], normal / np.linalg.norm(normal, axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-25, 1e-6, 1e3, 1e7])
@pytest.mark.parametrize("shift", [0.0, 1e3, 1e7])
def test_any_size_and_place(scale: float, shift: float) -> None:
    vertices, faces = MESHES["sphere"]
    mesh = thud.TriangleMesh((vertices + shift) * scale, faces)
    origins, directions = rays(4, 400)
    check_first(mesh, (origins + shift) * scale, directions, 1e-6)


@pytest.mark.parametrize("far", [10.0, 1e3, 1e6, 1e9, 1e12, 1e18, 1e60])
def test_rays_from_afar(far: float) -> None:
    vertices, faces = MESHES["sphere"]
    mesh = thud.TriangleMesh(vertices, faces)
    targets, away = rays(5, 200, 1.3)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    origins = targets - far * away
    # Where the mesh is smaller than a roundoff of the origin, the answer is still that of brute force.
    check_first(mesh, origins, away, 1e-11)


@pytest.mark.parametrize("name", VOXELS)
def test_through_edges_and_vertices(name: str) -> None:
    rng = np.random.default_rng(6)
    vertices, faces = oracle.voxel_mesh(VOXELS[name], rng)
    mesh = thud.TriangleMesh(vertices, faces)
    grid = np.stack(np.meshgrid(*[np.arange(-2, 6, 0.5)] * 3), axis=-1).reshape(-1, 3)
    grid = rng.permutation(grid)[:400]
    for direction in EXACT:
        hits = thud.raycast(mesh, grid, direction)
        expected = geometry.ray_mesh(grid, direction, vertices, faces)
        np.testing.assert_allclose(hits.distance, expected.distance, rtol=1e-14)
        crossings = thud.raycast_all(mesh, grid, direction)
        all_of = geometry.ray_mesh_all(grid, direction, vertices, faces)
        np.testing.assert_array_equal(crossings.row, all_of.row)
        np.testing.assert_allclose(crossings.distance, all_of.distance, rtol=1e-14, atol=1e-14)
        # Those at one distance may change places between the two by a last bit.
        for row in np.unique(crossings.row):
            assert set(crossings.triangle[crossings.row == row]) == set(all_of.triangle[all_of.row == row])


def test_no_ray_slips_out_of_a_closed_mesh() -> None:
    rng = np.random.default_rng(7)
    vertices, faces = bumpy_sphere(30, 40)
    vertices = vertices @ oracle.random_rotations(rng, 1)[0].T + 10
    mesh = thud.TriangleMesh(vertices, faces)
    s = rng.random((len(faces), 1))
    targets = np.concatenate([vertices] + [vertices[faces[:, k]] * s + vertices[faces[:, k - 1]] * (1 - s) for k in range(3)])
    for inside in (np.full(3, 10.0), np.array([10.1, 9.8, 10.2])):
        assert np.isfinite(thud.raycast(mesh, inside, targets - inside).distance).all()
        crossings = thud.raycast_all(mesh, inside, targets - inside)
        assert (np.bincount(crossings.row, minlength=len(targets)) % 2 == 1).all()


def test_edges_of_a_flat_grid_with_rays_straight_down() -> None:
    # Every ray meets a vertex or an edge: all edge functions there are exactly 0.
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(17.0), np.arange(17.0), indexing="ij"))
    _, faces = terrain(np.random.default_rng(0), 16)
    mesh = thud.TriangleMesh(np.stack([x, y, np.zeros_like(x)], axis=1), faces)
    points = np.stack([grid.ravel() for grid in np.meshgrid(np.arange(0, 16.5, 0.5), np.arange(0, 16.5, 0.5), [3.0])], axis=1)
    hits = thud.raycast(mesh, points, [0, 0, -1])
    assert (hits.distance == 3).all()
    # The smallest row of those that meet there.
    corners = np.asarray(mesh.vertices)[faces]
    for i in range(0, len(points), 7):
        every = np.isfinite(geometry.ray_triangle(points[i], [0, 0, -1], corners).distance)
        assert hits.triangle[i] == np.flatnonzero(every)[0]


def test_all_crossings_are_those_of_brute_force() -> None:
    for name in ("soup", "sphere"):
        vertices, faces = MESHES[name]
        mesh = thud.TriangleMesh(vertices, faces)
        origins, directions = rays(8, 1500)
        ours = thud.raycast_all(mesh, origins, directions)
        theirs = geometry.ray_mesh_all(origins, directions, vertices, faces)
        np.testing.assert_array_equal(ours.row, theirs.row)
        np.testing.assert_array_equal(ours.triangle, theirs.triangle)
        np.testing.assert_allclose(ours.distance, theirs.distance, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(ours.point, theirs.point, atol=1e-11)
        near = thud.raycast_all(mesh, origins, directions, max_distance=1.5)
        np.testing.assert_array_equal(near.triangle, ours.triangle[ours.distance <= 1.5])


def test_max_distance_and_any_hit() -> None:
    mesh = thud.TriangleMesh(*MESHES["soup"])
    origins, directions = rays(9, 2000)
    full = thud.raycast(mesh, origins, directions)
    near = thud.raycast(mesh, origins, directions, max_distance=0.7)
    within = full.distance <= 0.7
    np.testing.assert_array_equal(near.triangle, np.where(within, full.triangle, -1))
    some = thud.raycast(mesh, origins, directions, any_hit=True, max_distance=0.7)
    np.testing.assert_array_equal(some.triangle >= 0, within)
    corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)][some.triangle[within]]
    again = geometry.ray_triangle(origins[within], directions[within], corners)
    np.testing.assert_allclose(some.distance[within], again.distance, rtol=1e-10, atol=1e-12)


def test_poses() -> None:
    mesh = thud.TriangleMesh(*MESHES["sphere"])
    origins, directions = rays(10, 500)
    rng = np.random.default_rng(10)
    q = rng.normal(size=(500, 4))
    poses = thud.Pose(rng.uniform(-1, 1, (500, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))
    hits = thud.raycast(mesh, origins, directions, pose=poses)
    crossings = thud.raycast_all(mesh, origins, directions, pose=poses)
    for i in range(0, 500, 25):
        moved = thud.TriangleMesh(mesh.vertices @ poses[i].rotation.T + poses[i].position, mesh.faces)
        alone = thud.raycast(moved, origins[i], directions[i])
        np.testing.assert_allclose(alone.distance[0], hits.distance[i], rtol=1e-11)
        np.testing.assert_allclose(alone.point[0], hits.point[i], atol=1e-11)
        np.testing.assert_allclose(alone.normal[0], hits.normal[i], atol=1e-11)
        every = thud.raycast_all(moved, origins[i], directions[i])
        np.testing.assert_array_equal(every.triangle, crossings.triangle[crossings.row == i])
    one = thud.raycast(mesh, origins[0], directions[0], pose=poses)
    assert one.distance.shape == (500,)


def test_duplicates_degenerate_and_inverted_triangles() -> None:
    vertices, faces = MESHES["sphere"]
    faces = np.concatenate([faces[::-1, ::-1], faces, faces[:50, [0, 0, 1]], faces[:50, [1, 1, 1]]])
    mesh = thud.TriangleMesh(vertices, faces)
    origins, directions = rays(11, 1000)
    check_first(mesh, origins, directions)
    # Of a triangle and its double the smaller row.
    twice = thud.TriangleMesh(vertices, np.concatenate([MESHES["sphere"][1]] * 2))
    hits = check_first(twice, origins, directions)
    assert hits.triangle.max() < len(MESHES["sphere"][1])


def test_start_on_the_surface() -> None:
    vertices, faces = MESHES["sphere"]
    mesh = thud.TriangleMesh(vertices, faces)
    hits = thud.raycast(mesh, vertices, vertices)
    assert (hits.distance == 0).all()
    normals = thud.raycast(mesh, vertices[faces].mean(axis=1) * 1.5, -vertices[faces].mean(axis=1)).normal
    assert (np.einsum("ij,ij->i", normals, vertices[faces].mean(axis=1)) > 0).all()


def test_the_order_of_rays_and_the_tree_change_nothing() -> None:
    vertices, faces = MESHES["soup"]
    mesh = thud.TriangleMesh(vertices, faces)
    origins, directions = rays(12, 20_000)
    hits = thud.raycast(mesh, origins, directions, threads=1)
    order = np.random.default_rng(12).permutation(len(origins))
    shuffled = thud.raycast(mesh, origins[order], directions[order], threads=1)
    assert shuffled.distance.tobytes() == hits.distance[order].tobytes()
    assert shuffled.triangle.tobytes() == hits.triangle[order].tobytes()
    many = thud.raycast(mesh, origins, directions, threads=3)
    for name in ("distance", "point", "normal", "triangle"):
        assert getattr(many, name).tobytes() == getattr(hits, name).tobytes()
    # Another tree over the same triangles: that of other vertices, refitted.
    rng = np.random.default_rng(13)
    other = thud.TriangleMesh(rng.normal(size=vertices.shape), faces).deformed(vertices)
    refitted = thud.raycast(other, origins, directions)
    assert refitted.distance.tobytes() == hits.distance.tobytes()
    assert refitted.triangle.tobytes() == hits.triangle.tobytes()
    one, three = (thud.raycast_all(mesh, origins[:3000], directions[:3000], threads=n) for n in (1, 3))
    for name in ("row", "distance", "point", "normal", "triangle"):
        assert getattr(one, name).tobytes() == getattr(three, name).tobytes()


def test_errors() -> None:
    mesh = thud.TriangleMesh(*MESHES["one"])
    with pytest.raises(InvalidInputError, match="origins: row 1"):
        thud.raycast(mesh, [[0, 0, 0], [1e80, 0, 0]], [1, 0, 0])
    with pytest.raises(InvalidInputError, match="directions: row 0 is zero"):
        thud.raycast_all(mesh, [0, 0, 0], [0, 0, 0])
    with pytest.raises(InvalidInputError, match="max_distance"):
        thud.raycast(mesh, [0, 0, 0], [1, 0, 0], max_distance=-1)
