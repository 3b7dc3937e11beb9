"""The BSP tree of a closed mesh, against exact containment and rays."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.geometry.test_contains import CORNERS_TOUCH, HOLLOW, L_SHAPE, RING
from tests.oracles import geometry as oracle
from tests.oracles.mesh_points import bumpy_sphere
from thud import geometry
from thud.bvh.mesh_bsp import IN, OUT, build_bsp
from thud.errors import InvalidInputError, InvalidShapeError

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
    assert set(bsp.children[bsp.children < 0].tolist()) == {IN, OUT}
    np.testing.assert_array_equal(bsp.contains(points), geometry.point_in_mesh(points, vertices, faces))


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


def test_errors() -> None:
    vertices, faces = bumpy_sphere(8, 10)
    with pytest.raises(InvalidInputError, match="not closed"):
        build_bsp(vertices, faces[1:])
    with pytest.raises(InvalidShapeError, match="at most"):
        build_bsp(vertices, np.concatenate([faces] * 50))
