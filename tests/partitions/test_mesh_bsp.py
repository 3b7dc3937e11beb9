"""The BSP tree of triangles, against exact containment, rays and nearest faces."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.geometry.test_contains import CORNERS_TOUCH, HOLLOW, L_SHAPE, RING
from tests.oracles import geometry as oracle
from tests.oracles.mesh_points import bumpy_sphere
from thud import geometry
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.partitions import MeshBsp
from thud.partitions.bsp_build import build_tree


def build_bsp(vertices: np.ndarray, faces: np.ndarray) -> MeshBsp:
    return MeshBsp(thud.TriangleMesh(vertices, faces))


VOXELS = {"L": L_SHAPE, "ring": RING, "hollow": HOLLOW, "touching corners": CORNERS_TOUCH}


@pytest.mark.parametrize("name", VOXELS)
def test_coplanar_triangles_faces_edges_and_vertices(name: str) -> None:
    # Voxels: many triangles in each plane, and every grid point on some planes.
    vertices, faces = oracle.voxel_mesh(VOXELS[name], np.random.default_rng(1))
    bsp = build_bsp(vertices, faces)
    points = np.stack(np.meshgrid(*[np.arange(-0.5, 4.25, 0.25)] * 3), axis=-1).reshape(-1, 3)
    np.testing.assert_array_equal(bsp.contains(points), geometry.point_in_mesh(points, vertices, faces))


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, 100.0)])
def test_points_in_a_bumpy_mesh(scale: float, shift: float) -> None:
    vertices, faces = bumpy_sphere(12, 16)
    vertices = vertices * scale + shift
    points = np.random.default_rng(2).uniform(-1.3, 1.3, (3000, 3)) * scale + shift
    bsp = build_bsp(vertices, faces)
    assert sorted((-1 - bsp.children[bsp.children < 0]).tolist()) == list(range(bsp.cell_count))
    assert bsp.cell_inside.any()
    assert not bsp.cell_inside.all()
    np.testing.assert_array_equal(bsp.contains(points), geometry.point_in_mesh(points, vertices, faces))


@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
def test_far_from_the_origin_it_comes_to_an_end(far: float) -> None:
    # Pieces were cut again and again by planes that rounding had moved.
    vertices, faces = bumpy_sphere(8, 10)
    away = far * np.array([1.0, 0.7, -0.4])
    bsp = build_bsp(vertices + away, faces)
    assert len(bsp.planes) < 10 * len(faces)
    points = np.random.default_rng(2).uniform(-1.3, 1.3, (500, 3)) + away
    sure = thud.closest_point(bsp.mesh, points).distance > 1e-13 * far
    np.testing.assert_array_equal(bsp.contains(points)[sure], thud.contains(bsp.mesh, points)[sure])


def test_winding_does_not_matter() -> None:
    vertices, faces = bumpy_sphere(8, 10)
    some = np.random.default_rng(3).random(len(faces)) < 0.5
    mixed = np.where(some[:, None], faces, faces[:, ::-1])
    points = np.random.default_rng(4).uniform(-1.3, 1.3, (1000, 3))
    np.testing.assert_array_equal(build_bsp(vertices, mixed).contains(points), geometry.point_in_mesh(points, vertices, faces))


def test_segments_are_rays_with_an_end() -> None:
    vertices, faces = bumpy_sphere(12, 16)
    mesh, bsp = thud.TriangleMesh(vertices, faces), build_bsp(vertices, faces)
    rng = np.random.default_rng(5)
    starts, ends = rng.uniform(-1.5, 1.5, (2, 3000, 3))
    first = bsp.segments(starts, ends)
    length = np.linalg.norm(ends - starts, axis=1)
    hits = thud.raycast(mesh, starts, ends - starts).distance / length
    expected = np.where(thud.contains(mesh, starts), 0.0, np.where(hits <= 1.0, hits, np.inf))
    np.testing.assert_allclose(first, expected, rtol=1e-9, atol=1e-12)
    assert np.isfinite(first).any()
    assert np.isinf(first).any()


def test_segments_along_faces_and_through_edges() -> None:
    vertices, faces = oracle.voxel_mesh(L_SHAPE, np.random.default_rng(6))
    bsp = build_bsp(vertices, faces)
    grid = np.stack(np.meshgrid(*[np.arange(-1, 4.0, 0.5)] * 3), axis=-1).reshape(-1, 3)
    rng = np.random.default_rng(7)
    starts, ends = grid[rng.integers(0, len(grid), 2000)], grid[rng.integers(0, len(grid), 2000)]
    starts, ends = starts[(starts != ends).any(axis=1)], ends[(starts != ends).any(axis=1)]
    first = bsp.segments(starts, ends)
    length = np.linalg.norm(ends - starts, axis=1)
    hits = geometry.ray_mesh(starts, ends - starts, vertices, faces, solid=True).distance / length
    hits = np.where(hits <= 1.0 + 1e-12, hits, np.inf)
    same = np.isclose(first, hits, rtol=1e-12, atol=1e-12)
    assert same.mean() > 0.95
    # The others graze an edge or a face: none of their points lies inside before the answer.
    mesh = thud.TriangleMesh(vertices, faces)
    for i in np.flatnonzero(~same):
        s = np.linspace(0, min(first[i], 1.0), 202)[1:-1, None]
        way = starts[i] + s * (ends[i] - starts[i])
        assert thud.closest_point(mesh, way, signed=True).distance.min() > -1e-9


def test_threads_change_nothing() -> None:
    bsp = build_bsp(*bumpy_sphere(8, 10))
    starts, ends = np.random.default_rng(8).uniform(-1.5, 1.5, (2, 3000, 3))
    assert bsp.segments(starts, ends, threads=1).tobytes() == bsp.segments(starts, ends, threads=3).tobytes()
    assert bsp.contains(starts, threads=1).tobytes() == bsp.contains(starts, threads=3).tobytes()


def test_more_than_5000_triangles_do() -> None:
    # A convex mesh along its triangles alone is a list; the flat fans at the poles cut each other again and again.
    vertices, faces = bumpy_sphere(90, 120)
    bsp = build_bsp(vertices, faces)
    assert len(faces) > 20_000
    assert len(bsp.planes) < 4 * len(faces)
    assert bsp.depth() < 60
    points = np.random.default_rng(9).uniform(-1.3, 1.3, (2000, 3))
    np.testing.assert_array_equal(bsp.contains(points), thud.contains(bsp.mesh, points))
    ball = thud.to_mesh(thud.Sphere(1.0), segments=60)
    convex = MeshBsp(ball)
    assert convex.depth() < 40
    np.testing.assert_array_equal(convex.contains(points), thud.contains(ball, points))


def test_the_slides_walk_and_polygon_step() -> None:
    vertices, faces = bumpy_sphere(12, 16)
    bsp = build_bsp(vertices, faces)
    points = np.random.default_rng(10).uniform(-1.3, 1.3, (2000, 3))
    np.testing.assert_array_equal(bsp.contains(points, method="slides"), geometry.point_in_mesh(points, vertices, faces))
    cells = bsp.locate(points)
    for k in range(40):
        way = bsp.walk(points[k])
        assert way.cell == cells[k]
        assert len(way.nodes) == len(way.in_front) == len(way.planes) <= bsp.depth()
        # The planes that it visits form a convex region around the point.
        assert (way.planes[:, :3] @ points[k] + way.planes[:, 3] >= -1e-12).all()
        np.testing.assert_allclose(np.sort(bsp.cell_planes(way.cell), axis=0), np.sort(way.planes, axis=0))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_open_sets_the_side_of_the_nearest_face(seed: int) -> None:
    # Loose triangles that cross each other, and an open sheet: by brute force over all triangles.
    rng = np.random.default_rng(seed)
    if seed == 2:
        vertices, faces = bumpy_sphere(10, 14)
        faces = faces[: len(faces) // 2]
    else:
        vertices = rng.normal(size=(90, 3))
        faces = np.arange(90).reshape(-1, 3)
    mesh = thud.TriangleMesh(vertices, faces)
    bsp = MeshBsp(mesh)
    assert bsp.cell_inside is None
    points = rng.normal(size=(400, 3)) * 1.5
    corners = vertices[faces]
    n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    found = bsp.closest_point(points)
    for k, p in enumerate(points):
        near = geometry.closest_point_triangle(p, corners)
        best = near.distance.min()
        assert abs(abs(found.distance[k]) - best) <= 1e-12
        # At an edge the face that is seen less from the side.
        tied = np.flatnonzero(near.distance <= best * (1 + 1e-9))
        heights = np.einsum("ij,ij->i", n[tied], p - near.point_b[tied])
        assert bsp.contains(p)[0] == (heights[np.abs(heights).argmax()] <= 0.0)
        assert found.triangle[k] in tied


def test_cells_fill_the_box_and_the_solid() -> None:
    vertices, faces = bumpy_sphere(6, 8)
    bsp = build_bsp(vertices, faces)
    inside = total = 0.0
    for cell in range(bsp.cell_count):
        polygons = bsp.cell_polygons(cell, room=0.5)
        if not polygons:
            continue
        middle = np.concatenate(polygons).mean(axis=0)
        volume = 0.0
        for polygon in polygons:
            fan = np.cross(polygon[1:-1] - polygon[0], polygon[2:] - polygon[0]).sum(axis=0)
            volume += abs(fan @ (polygon[0] - middle)) / 6.0
        total += volume
        inside += volume if bsp.cell_inside[cell] else 0.0
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    assert total == pytest.approx(float((high - low + (high - low).max()).prod()), rel=1e-6)
    assert inside == pytest.approx(bsp.mesh.volume, rel=1e-6)


def test_errors() -> None:
    vertices, faces = bumpy_sphere(8, 10)
    open_one = MeshBsp(thud.TriangleMesh(vertices, faces[1:]))
    assert "open" in repr(open_one)
    with pytest.raises(UnsupportedQueryError, match="open"):
        open_one.segments([0, 0, 0], [1, 0, 0])
    with pytest.raises(InvalidInputError, match="TriangleMesh"):
        MeshBsp(thud.Sphere(1.0))
    with pytest.raises(InvalidInputError, match="one point"):
        open_one.walk(np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="cell"):
        open_one.cell_planes(10**6)
    with pytest.raises(InvalidInputError, match="method"):
        open_one.contains([0, 0, 0], method="guess")


def test_room_that_does_not_do_is_made_larger() -> None:
    # Crossing triangles are cut many times over: more pieces than the first room holds.
    rng = np.random.default_rng(11)
    corners = rng.normal(size=(60, 9))
    normals = np.cross(corners[:, 3:6] - corners[:, :3], corners[:, 6:] - corners[:, :3])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    built = build_tree(corners, normals, np.einsum("ij,ij->i", normals, corners[:, :3]), 1e-13)
    assert len(built.held) > 4 * 60 + 64


@pytest.mark.parametrize("size", [1e-6, 1e-8, 1e-10])
def test_a_small_part_of_a_large_mesh_is_kept(size: float) -> None:
    """Triangles were dropped by their area, so that a whole tetrahedron of 1e-7 of the mesh was lost."""
    box = thud.to_mesh(thud.Box((1, 1, 1)))
    corners = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]) + [3, 0, 0]
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]) + len(box.vertices)
    bsp = MeshBsp(thud.TriangleMesh(np.concatenate([box.vertices, corners]), np.concatenate([box.faces, faces])))
    points = np.array([3.0, 0, 0]) + size * np.array([[0.2, 0.2, 0.2], [0.6, 0.6, 0.6]])
    for method in (None, "slides"):
        np.testing.assert_array_equal(bsp.contains(points, method=method), [True, False])


@pytest.mark.parametrize("kind", ["in a plane", "on a lattice", "through each other"])
def test_triangles_that_overlap_each_other_come_to_an_end(kind: str) -> None:
    """Cells were cut across their longest side however many triangles that cut: of triangles larger than the cell both halves
    had nearly all of them, and a hundred in one plane filled the memory."""
    rng = np.random.default_rng(3)
    corners = rng.normal(size=(100, 3, 3)) if kind != "on a lattice" else rng.integers(-1, 2, (60, 3, 3)).astype(float)
    corners = corners[: 30 if kind == "through each other" else None]
    corners[..., 2] *= kind != "in a plane"
    sized = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) > 0.0
    corners = corners[sized].reshape(-1, 3)
    bsp = build_bsp(corners, np.arange(len(corners)).reshape(-1, 3))
    assert len(bsp.planes) < {"in a plane": 2, "on a lattice": 20_000, "through each other": 2000}[kind]
    points = rng.uniform(-1.5, 1.5, (200, 3))
    found = thud.closest_point(bsp.mesh, points)
    np.testing.assert_allclose(np.abs(bsp.closest_point(points).distance), found.distance, atol=1e-9)
