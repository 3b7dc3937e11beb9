"""Support-plane mappings: Definitions 2.1 and 2.2, the grid of samples, fully bounding, nothing stored twice."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.bounds.meshes import blob, odd_mesh, odd_meshes
from thud.bounds.support_plane_map import sample_of, support_plane
from thud.bounds.support_planes import (
    discretised_faces,
    first_levels,
    hull_normals,
    open_direction,
    sample_directions,
    support_planes,
    validate_support_planes,
)


def mapping_of(mesh: thud.TriangleMesh, kind: str, levels: int = 3, samples: int = 8, exact: bool = False):
    return support_planes(mesh.tree.skip, mesh.tree.first, mesh.corners, kind, levels, samples, exact=exact)


@pytest.mark.parametrize("name", odd_meshes())
@pytest.mark.parametrize("kind", ["vertex", "face"])
@pytest.mark.parametrize("samples", [4, 9])
def test_planes_support_their_nodes_and_bound_them_fully(name: str, kind: str, samples: int) -> None:
    mesh = odd_mesh(name)
    mapping = mapping_of(mesh, kind, samples=samples)
    validate_support_planes(mapping, mesh.tree.skip, mesh.tree.first, mesh.corners)
    assert (mapping.slot >= 0).sum() == len(first_levels(mesh.tree.skip, 3))
    assert mapping.samples.shape == ((mapping.slot >= 0).sum(), samples * samples)


@pytest.mark.parametrize("name", odd_meshes())
def test_exact_face_planes_are_support_planes(name: str) -> None:
    mesh = odd_mesh(name)
    mapping = mapping_of(mesh, "face", exact=True)
    validate_support_planes(mapping, mesh.tree.skip, mesh.tree.first, mesh.corners)


def test_validation_sees_a_plane_that_cuts_and_one_that_floats() -> None:
    mesh = odd_mesh("blob")
    mapping = mapping_of(mesh, "vertex")
    for shift, message in ((-1e-4, "cuts"), (1e-4, "does not touch")):
        planes = mapping.planes.copy()
        mapping.planes[5, :3] += shift * mapping.planes[5, 3:]
        with pytest.raises(thud.errors.InvalidInputError, match=f"plane 5 of node 0 {message}"):
            validate_support_planes(mapping, mesh.tree.skip, mesh.tree.first, mesh.corners)
        mapping.planes[:] = planes


def test_the_first_levels_are_those_of_the_tree() -> None:
    mesh = odd_mesh("blob")
    for levels in range(7):
        nodes = first_levels(mesh.tree.skip, levels)
        np.testing.assert_array_equal(np.sort(nodes), np.flatnonzero(mesh.tree.levels < levels))


@pytest.mark.parametrize("n", [4, 7, 32])
def test_each_sample_is_found_by_its_direction(n: int) -> None:
    directions = sample_directions(n)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    assert [sample_of(n, tuple(3.0 * v)) for v in directions] == list(range(n * n))


def test_a_direction_falls_to_the_sample_of_its_cell() -> None:
    n = 16
    v = np.random.default_rng(3).normal(size=(500, 3))
    phi = np.arctan2(v[:, 1], v[:, 0]) % (2 * np.pi)
    theta = np.arccos(v[:, 2] / np.linalg.norm(v, axis=1))
    # Angles are found to 7e-4 rad, so next to a border the neighbour may answer.
    cells = np.stack([phi / (2 * np.pi) * n, theta / np.pi * n], axis=1)
    clear = (np.abs(cells - np.round(cells)) > 7e-4 * n / np.pi).all(axis=1)
    assert clear.mean() > 0.95
    expected = cells.astype(int) @ (n, 1)
    found = np.array([sample_of(n, tuple(row)) for row in v])
    np.testing.assert_array_equal(found[clear], expected[clear])
    # The ends of the ranges, and what is no direction.
    for odd in ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, -0.0, 0.0), (-1.0, 0.0, 0.0), (1.0, -1e-300, 0.0), (np.nan,) * 3):
        assert 0 <= sample_of(n, odd) < n * n


def test_exact_vertex_mapping_is_the_support_mapping() -> None:
    mesh = odd_mesh("blob")
    arrays = mapping_of(mesh, "vertex", exact=True).arrays()
    points = mesh.corners.reshape(-1, 3)
    for v in np.random.default_rng(4).normal(size=(50, 3)):
        p, n = support_plane(arrays, 0, tuple(v))
        np.testing.assert_allclose(n, v / np.linalg.norm(v))
        assert np.dot(p, n) == pytest.approx((points @ n).max())
        assert (np.abs(points - p).sum(axis=1) == 0).any()


def test_exact_face_mapping_has_the_most_parallel_normal() -> None:
    mesh = odd_mesh("blob")
    mapping = mapping_of(mesh, "face", exact=True)
    normals = mapping.planes[: mapping.plane_starts[1], 3:].astype(float)
    for v in np.random.default_rng(5).normal(size=(50, 3)):
        _, n = support_plane(mapping.arrays(), 0, tuple(v))
        # Definition 2.2.
        assert np.dot(v, n) == pytest.approx((normals @ v).max(), rel=1e-6)


@pytest.mark.parametrize("kind", ["vertex", "face"])
def test_at_its_samples_the_discretised_mapping_is_the_exact_one(kind: str) -> None:
    mesh = odd_mesh("blob")
    table, exact = mapping_of(mesh, kind), mapping_of(mesh, kind, exact=True)
    for slot in (0, 2, 6):
        for v in sample_directions(8):
            p, n = support_plane(table.arrays(), slot, tuple(v))
            q, m = support_plane(exact.arrays(), slot, tuple(v))
            np.testing.assert_allclose(n, m, atol=2e-7)
            assert np.dot(n, p) == pytest.approx(np.dot(m, q), abs=2e-6)


def test_face_planes_are_stored_once_and_vertex_planes_depend_on_the_grid_alone() -> None:
    meshes = [thud.TriangleMesh(*blob(10, seed)) for seed in (1, 2)]
    faces = [mapping_of(mesh, "face", 4, 32) for mesh in meshes]
    vertices = [mapping_of(mesh, "vertex", 4, 32) for mesh in meshes]
    assert vertices[0].nbytes == vertices[1].nbytes == 15 * 1024 * (24 + 4)
    for mesh, mapping in zip(meshes, faces):
        assert mapping.nbytes < vertices[0].nbytes / 2
        planes = mapping.planes[: mapping.plane_starts[1]]
        assert len(np.unique(planes, axis=0)) == len(planes) <= len(hull_normals(mesh.corners.reshape(-1, 3)))
        assert set(mapping.samples[0]) == set(range(len(planes)))


def test_an_open_intersection_is_closed_by_further_faces() -> None:
    # A pyramid over a wide base, standing askew, and two samples only: the faces that they hit leave a side open.
    points = np.array([[-9.0, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0], [0, 0, 1]])
    normals = hull_normals(points)
    samples = np.array([[0, 0.1, 1.0], [0.1, 0.0, -1.0]])
    hit = np.unique([np.argmax(normals @ v) for v in samples])
    out = open_direction(normals[hit])
    assert out is not None
    assert (normals[hit] @ out <= 1e-9).all()
    kept, table = discretised_faces(normals, samples)
    assert open_direction(kept) is None
    assert len(kept) > len(hit)
    np.testing.assert_array_equal(kept[table], normals[[np.argmax(normals @ v) for v in samples]])


@pytest.mark.parametrize(
    ("normals", "bounded"),
    [
        (np.vstack([np.eye(3), -np.eye(3)]), True),
        (np.vstack([np.eye(3), [[-1, -1, -1]]]), True),
        (np.vstack([np.eye(3), -np.eye(3)[:2]]), False),
        (np.eye(3), False),
        (np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]), False),
        (np.array([[1.0, 0, 0.1], [-1, 0, 0.1], [0, 1, 0.1], [0, -1, 0.1]]), False),
        (np.array([[0.0, 0, 1]]), False),
    ],
)
def test_boundedness_of_half_spaces(normals: np.ndarray, bounded: bool) -> None:
    out = open_direction(normals / np.linalg.norm(normals, axis=1)[:, None])
    assert (out is None) == bounded
    if out is not None:
        assert (normals @ out <= 1e-9).all()


def test_a_mesh_makes_its_mappings_once_and_follows_a_deformation() -> None:
    vertices, faces = blob(8, 5)
    mesh = thud.TriangleMesh(vertices, faces, spm="face", spm_levels=2, spm_samples=8)
    assert mesh.support_planes is mesh.support_planes
    moved = mesh.deformed(1.5 * vertices)
    validate_support_planes(moved.support_planes, moved.tree.skip, moved.tree.first, moved.corners)
    assert thud.TriangleMesh(vertices, faces).support_planes.nbytes == 0
    with pytest.raises(thud.errors.InvalidInputError, match="kind"):
        mapping_of(mesh, "edge")
