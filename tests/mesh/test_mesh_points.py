"""Points against a mesh: closest point and containment, against every triangle tried."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.geometry.test_contains import CORNERS_TOUCH, HOLLOW, L_SHAPE, RING
from tests.oracles import geometry as oracle
from tests.oracles.mesh_points import bumpy_sphere, soup, terrain, winding_number
from tests.oracles.meshes import blob_mesh
from thud import geometry
from thud.errors import InvalidInputError, UnsupportedQueryError

VOXELS = {"L": L_SHAPE, "ring": RING, "hollow": HOLLOW, "touching corners": CORNERS_TOUCH}
EXACT_METHODS = ("ray", "grid")


def brute_closest(mesh: thud.TriangleMesh, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)]
    distance = np.stack([geometry.closest_point_triangle(p, corners).distance for p in points])
    return distance.min(axis=1), distance


@pytest.mark.parametrize("name", ["soup", "sphere", "terrain", "one"])
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-10, 0.0), (1e9, 0.0), (1.0, 1e5)])
def test_closest_point_is_that_of_brute_force(name: str, scale: float, shift: float) -> None:
    vertices, faces = {
        "soup": lambda: soup(np.random.default_rng(1), 300),
        "sphere": lambda: bumpy_sphere(10, 14),
        "terrain": lambda: terrain(np.random.default_rng(2), 10, 2.0),
        "one": lambda: (np.eye(3), np.array([[0, 1, 2]])),
    }[name]()
    mesh = thud.TriangleMesh(vertices * scale + shift, faces)
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.uniform(-1.5, 1.5, (150, 3)), rng.normal(scale=100, size=(20, 3)), vertices[:30]])
    last = min(30, len(vertices))
    points = points * scale + shift
    found = thud.closest_point(mesh, points)
    best, every = brute_closest(mesh, points)
    size = scale * 200 + shift
    np.testing.assert_allclose(found.distance, best, rtol=1e-12, atol=1e-15 * size)
    np.testing.assert_allclose(every[np.arange(len(points)), found.triangle], best, rtol=1e-12, atol=1e-15 * size)
    np.testing.assert_allclose(np.linalg.norm(found.point - points, axis=1), best, rtol=1e-12, atol=1e-14 * size)
    if shift == 0.0:
        # A vertex is its own closest point; of the triangles about it the smallest row.
        assert (found.distance[-last:] == 0).all()
        np.testing.assert_array_equal(found.point[-last:], points[-last:])
        np.testing.assert_array_equal(found.triangle[-last:], (every[-last:] == 0).argmax(axis=1))


@pytest.mark.parametrize("far", [1e6, 1e11, 1e14, 1e40])
def test_closest_point_from_afar(far: float) -> None:
    mesh = thud.TriangleMesh(*bumpy_sphere(8, 10))
    points = np.random.default_rng(4).normal(size=(30, 3)) * far
    best, _ = brute_closest(mesh, points)
    np.testing.assert_allclose(thud.closest_point(mesh, points).distance, best, rtol=1e-14)


def test_signed_distance_and_poses() -> None:
    mesh = thud.TriangleMesh(*bumpy_sphere(16, 24))
    rng = np.random.default_rng(5)
    points, q = rng.uniform(-1.5, 1.5, (300, 3)), rng.normal(size=(300, 4))
    poses = thud.Pose(rng.uniform(-0.5, 0.5, (300, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))
    signed = thud.closest_point(mesh, points, pose=poses, signed=True)
    plain = thud.closest_point(mesh, points, pose=poses)
    inside = thud.contains(mesh, points, pose=poses)
    np.testing.assert_array_equal(np.abs(signed.distance), plain.distance)
    np.testing.assert_array_equal(signed.distance < 0, inside)
    assert inside.any()
    assert not inside.all()
    local = np.stack([poses[i].rotation.T @ (points[i] - poses[i].position) for i in range(300)])
    np.testing.assert_allclose(thud.closest_point(mesh, local).distance, plain.distance, atol=1e-13)
    np.testing.assert_array_equal(thud.contains(mesh, local), inside)


@pytest.mark.parametrize("method", EXACT_METHODS)
@pytest.mark.parametrize("name", VOXELS)
def test_contains_on_faces_edges_and_vertices(name: str, method: str) -> None:
    cells = VOXELS[name]
    vertices, faces = oracle.voxel_mesh(cells, np.random.default_rng(6))
    mesh = thud.TriangleMesh(vertices, faces)
    points = np.stack(np.meshgrid(*[np.arange(-0.5, 4.25, 0.25)] * 3), axis=-1).reshape(-1, 3)
    expected = geometry.point_in_mesh(points, vertices, faces)
    np.testing.assert_array_equal(thud.contains(mesh, points, method=method), expected)
    # Off the surface the winding number says so too.
    off = thud.closest_point(mesh, points).distance > 0.01
    if name != "touching corners":
        np.testing.assert_array_equal(thud.contains(mesh, points[off], method="winding"), expected[off])


@pytest.mark.parametrize("method", EXACT_METHODS)
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-8, 0.0), (1e8, 0.0), (1.0, 1e4)])
def test_contains_is_that_of_brute_force(method: str, scale: float, shift: float) -> None:
    rng = np.random.default_rng(7)
    vertices, faces = bumpy_sphere(14, 18)
    vertices = (vertices @ oracle.random_rotations(rng, 1)[0].T) * scale + shift
    mesh = thud.TriangleMesh(vertices, faces)
    s = rng.random((len(faces), 1))
    edges = vertices[faces[:, 0]] * s + vertices[faces[:, 1]] * (1 - s)
    near = vertices[faces].mean(axis=1) + rng.normal(scale=1e-15 * (scale + shift), size=(len(faces), 3))
    points = np.concatenate([rng.uniform(-1.4, 1.4, (2000, 3)) * scale + shift, vertices, edges, near])
    # Points that see a vertex exactly along +x.
    points = np.concatenate([points, vertices - [0.7 * scale, 0, 0]])
    expected = geometry.point_in_mesh(points, vertices, faces)
    np.testing.assert_array_equal(thud.contains(mesh, points, method=method), expected)
    assert expected[2000 : 2000 + len(vertices)].all()
    far = np.abs(thud.closest_point(mesh, points).distance) > 1e-6 * scale
    np.testing.assert_array_equal(thud.contains(mesh, points[far], method="winding"), expected[far])


def test_winding_number_of_open_and_doubled_meshes() -> None:
    vertices, faces = bumpy_sphere(14, 18)
    rng = np.random.default_rng(8)
    points = rng.uniform(-1.4, 1.4, (1500, 3))
    for some in (faces[len(faces) // 5 :], np.concatenate([faces, faces]), faces[:, ::-1], faces[::3]):
        mesh = thud.TriangleMesh(vertices, some)
        number = winding_number(points, vertices, some)
        clear = np.abs(number - 0.5) > 5e-3
        np.testing.assert_array_equal(thud.contains(mesh, points, method="winding")[clear], (number > 0.5)[clear])


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e6])
def test_the_bound_of_the_winding_number_holds(scale: float) -> None:
    from thud.mesh.contains import winding_number as fast

    for vertices, faces in (soup(np.random.default_rng(9), 500), bumpy_sphere(14, 18)):
        mesh = thud.TriangleMesh(scale * vertices, faces)
        points = scale * np.random.default_rng(10).uniform(-3, 3, (200, 3))
        exact = winding_number(points, mesh.vertices, faces)
        for share in (1.0, 0.05, 1e-3, 1e-6):
            for p, w in zip(points, exact, strict=True):
                number, error = fast(
                    tuple(p - mesh.origin), mesh.tree.skip, mesh.tree.first, mesh.corners, mesh.winding_moments, share
                )
                assert abs(number - w) <= error + 1e-9
        assert error < 1e-3


def test_the_bound_of_one_node_is_nearly_reached() -> None:
    # One tiny triangle at the end of a node's radius, facing the point: the worst that the bound allows for.
    from thud.mesh.contains import winding_number as fast

    small = 1e-3 * np.array([[0.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    vertices = np.concatenate([small + [1.0, 0, 0], small - [1.0, 0, 0]])
    faces = np.array([[0, 1, 2], [3, 4, 5]])
    mesh = thud.TriangleMesh(vertices, faces)
    for d in (1.5, 2.0, 4.0):
        p = np.array([[d, 0.0, 0.0]])
        number, error = fast(
            tuple(p[0] - mesh.origin), mesh.tree.skip, mesh.tree.first, mesh.corners, mesh.winding_moments, np.inf
        )
        off = abs(number - winding_number(p, vertices, faces)[0])
        assert 0.2 * error < off <= error


def test_grid_states() -> None:
    from thud.bvh.mesh_grid import IN, OUT, UNKNOWN

    vertices, faces = bumpy_sphere(20, 30)
    grid = thud.TriangleMesh(vertices, faces).grid
    assert set(np.unique(grid.state)) == {IN, OUT, UNKNOWN}
    count = len(grid.state)
    number = np.arange(count)
    nx, ny = grid.shape[0], grid.shape[1]
    middle = grid.frame[:3] + (np.stack([number % nx, number // nx % ny, number // (nx * ny)], axis=1) + 0.5) * grid.frame[3]
    known = grid.state != UNKNOWN
    np.testing.assert_array_equal(geometry.point_in_mesh(middle[known], vertices, faces), grid.state[known] == IN)
    # The erratum: every cell that a triangle crosses lists it, not only that of the barycentre.
    rng = np.random.default_rng(11)
    weights = rng.dirichlet([1, 1, 1], (len(faces), 20))
    samples = np.einsum("fsk,fki->fsi", weights, vertices[faces])
    place = np.floor((samples - grid.frame[:3]) / grid.frame[3]).astype(int)
    cells = (place[..., 2] * ny + place[..., 1]) * nx + place[..., 0]
    for t in range(len(faces)):
        for cell in np.unique(cells[t]):
            assert t in grid.listed[grid.start[cell] : grid.start[cell + 1]]


def test_threads_change_nothing() -> None:
    mesh = thud.TriangleMesh(*bumpy_sphere(14, 18))
    points = np.random.default_rng(12).uniform(-1.4, 1.4, (4000, 3))
    for method in ("ray", "winding", "grid"):
        one, three = (thud.contains(mesh, points, method=method, threads=n) for n in (1, 3))
        assert one.tobytes() == three.tobytes()
    one, three = (thud.closest_point(mesh, points, threads=n, signed=True) for n in (1, 3))
    assert one.distance.tobytes() == three.distance.tobytes()
    assert one.point.tobytes() == three.point.tobytes()


def test_errors() -> None:
    mesh = thud.TriangleMesh(np.eye(3), [[0, 1, 2]])
    for method in ("ray", "grid", "parts"):
        with pytest.raises(UnsupportedQueryError, match="needs a closed mesh"):
            thud.contains(mesh, [0, 0, 0], method=method)
    with pytest.raises(UnsupportedQueryError, match="closed mesh"):
        thud.closest_point(mesh, [0, 0, 0], signed=True)
    with pytest.raises(UnsupportedQueryError, match="method 'magic'"):
        thud.contains(mesh, [0, 0, 0], method="magic")
    with pytest.raises(UnsupportedQueryError, match="for TriangleMesh"):
        thud.contains(thud.Sphere(1.0), [0, 0, 0], method="ray")
    with pytest.raises(InvalidInputError, match="points: row 0 is beyond the limit"):
        thud.closest_point(mesh, [1e80, 0, 0])
    assert thud.contains(thud.Compound([thud.Sphere(1.0)], thud.Pose()), [0, 0, 0], method="parts").all()


def test_compound_with_a_mesh() -> None:
    mesh = thud.TriangleMesh(*blob_mesh(8, 3))
    both = thud.Compound([mesh, thud.Sphere(0.5)], thud.Pose([[0.0, 0, 0], [2.5, 0, 0]]))
    at = thud.Pose([0.1, 0.2, 0.3])
    ball_at, rng = at @ thud.Pose([2.5, 0.0, 0.0]), np.random.default_rng(4)
    points = rng.uniform(-1.5, 3.5, (300, 3))
    inside = thud.contains(mesh, points, pose=at) | thud.contains(thud.Sphere(0.5), points, pose=ball_at)
    np.testing.assert_array_equal(thud.contains(both, points, pose=at), inside)
    one, two = (
        thud.closest_point(shape, points, pose=where, signed=True) for shape, where in ((mesh, at), (thud.Sphere(0.5), ball_at))
    )
    found = thud.closest_point(both, points, pose=at, signed=True)
    np.testing.assert_array_equal(found.distance, np.minimum(one.distance, two.distance))
    np.testing.assert_array_equal(found.triangle, (two.distance < one.distance).astype(int))
    plain = thud.closest_point(both, points, pose=at)
    np.testing.assert_array_equal(plain.distance, np.abs(found.distance))
    rays = rng.normal(size=(300, 3))
    hits = thud.raycast(both, points, rays, pose=at)
    parts = [thud.raycast(shape, points, rays, pose=where) for shape, where in ((mesh, at), (thud.Sphere(0.5), ball_at))]
    np.testing.assert_array_equal(hits.distance, np.minimum(parts[0].distance, parts[1].distance))
    assert set(hits.triangle.tolist()) == {-1, 0, 1}


def test_sorted_points_keep_their_rows() -> None:
    # Batches are sorted by place inside; a flat one, a far point and copies are no trouble.
    from thud.bvh.point_order import spatial_order

    vertices, faces = bumpy_sphere(14, 18)
    mesh = thud.TriangleMesh(vertices, faces)
    points = np.random.default_rng(12).uniform(-1.4, 1.4, (3000, 3))
    points[:500, 2] = 0.0
    points[500:510] = points[0]
    points[700] = 1e12
    np.testing.assert_array_equal(np.sort(spatial_order(points)), np.arange(3000))
    np.testing.assert_array_equal(np.sort(spatial_order(np.zeros((5, 3)))), np.arange(5))
    few = np.concatenate([thud.contains(mesh, points[k : k + 500], method="winding") for k in range(0, 3000, 500)])
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(thud.contains(mesh, points, method="winding", threads=threads), few)
