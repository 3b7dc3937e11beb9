"""Spheres, oriented boxes, k-DOPs: they hold their triangles, they are tight, they follow a deformation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import thud
from tests.bounds.meshes import blob, odd_mesh, odd_meshes, soup
from thud.bounds.kdop import cones, directions
from thud.bounds.validate import validate_volumes
from thud.bvh.mesh_tree import validate_tree

BOUNDINGS = ("aabb", "sphere", "obb", "kdop")


@pytest.mark.parametrize("name", odd_meshes())
@pytest.mark.parametrize("build", ["sah", "slides"])
def test_every_volume_holds_its_triangles(name: str, build: str) -> None:
    for k, weights in zip((6, 14, 18, 26), ("vertices", "area", "vertices", "area")):
        mesh = odd_mesh(name, build=build, kdop_k=k, obb_weights=weights)
        validate_tree(mesh.tree)
        for bounding in BOUNDINGS:
            validate_volumes(mesh, bounding)


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_the_check_sees_a_volume_that_is_a_step_too_small(bounding: str) -> None:
    mesh = thud.TriangleMesh(*soup(40, 5))
    attribute = {"aabb": "boxes", "sphere": "spheres", "obb": "obbs", "kdop": "kdops"}[bounding]
    volumes = getattr(mesh, attribute).copy()
    # An upper bound or radius; of a box the longest side (a triangle has no thickness to take from).
    last = 12 if bounding == "obb" else volumes.shape[1] - 1
    for node in (0, 7, len(volumes) - 1):
        shrunk = volumes.copy()
        shrunk[node, last] -= 4e-6 * abs(shrunk[node, last])
        mesh.__dict__[attribute] = shrunk
        with pytest.raises(thud.errors.InvalidInputError, match=f"node {node} does not hold"):
            validate_volumes(mesh, bounding)


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_a_deformed_mesh_has_volumes_of_its_own(bounding: str) -> None:
    vertices, faces = blob(6, 1)
    mesh = thud.TriangleMesh(vertices, faces)
    validate_volumes(mesh, bounding)
    moved = mesh.deformed(vertices * [2.0, 0.5, 1.0] + np.sin(5 * vertices[:, ::-1]))
    assert moved.tree is mesh.tree
    validate_volumes(moved, bounding)


def smallest_radius(points: np.ndarray) -> float:
    """Of all spheres through 2, 3 or 4 of the points, the smallest that holds them all."""
    best = np.inf
    for size in (2, 3, 4):
        for chosen in itertools.combinations(range(len(points)), size):
            p = points[list(chosen)]
            edges = p[1:] - p[0]
            # The centre is p0 + edges^T x with equal distances: edges edges^T x = |edges|^2 / 2.
            gram = edges @ edges.T
            if abs(np.linalg.det(gram)) < 1e-12 * np.prod(np.diag(gram)):
                continue
            center = p[0] + edges.T @ np.linalg.solve(gram, np.diag(gram) / 2)
            radius = np.linalg.norm(p[0] - center)
            if radius < best and (np.linalg.norm(points - center, axis=1) <= radius * (1 + 1e-9)).all():
                best = radius
    return float(best)


def test_spheres_are_the_smallest() -> None:
    mesh = thud.TriangleMesh(*soup(24, 6))
    points = mesh.corners.reshape(-1, 3)
    checked = 0
    for node in range(len(mesh.tree.skip)):
        count = (mesh.tree.skip[node] - node + 1) // 2
        if count > 5:
            continue
        below = points[3 * mesh.tree.first[node] : 3 * (mesh.tree.first[node] + count)]
        assert mesh.spheres[node, 3] == pytest.approx(smallest_radius(below), rel=1e-6)
        checked += 1
    assert checked > 30


def test_root_sphere_beats_centroid_and_farthest_vertex() -> None:
    mesh = thud.TriangleMesh(*blob(12, 3))
    points = mesh.corners.reshape(-1, 3)
    crude = np.linalg.norm(points - points.mean(axis=0), axis=1).max()
    assert mesh.spheres[0, 3] < 0.99 * crude
    # No smaller sphere about: the points that touch it do not lie in one open half-space about the centre.
    v = points - mesh.spheres[0, :3]
    touching = v[np.linalg.norm(v, axis=1) > mesh.spheres[0, 3] * (1 - 1e-6)]
    assert len(np.unique(touching.round(6), axis=0)) >= 2
    directions = np.random.default_rng(0).normal(size=(2000, 3))
    assert ((directions @ touching.T).max(axis=1) > -1e-5).all()


def test_eigenvectors_against_lapack() -> None:
    from thud.math.eigen3 import eigenvectors

    rng = np.random.default_rng(7)
    for _ in range(300):
        scale = 10.0 ** rng.uniform(-3, 0, 3)
        points = rng.normal(size=(9, 3)) * scale @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        c = np.cov(points.T)
        axes, values = eigenvectors(c[0, 0], c[1, 1], c[2, 2], c[0, 1], c[0, 2], c[1, 2])
        a = np.reshape(axes, (3, 3))
        np.testing.assert_allclose(a @ a.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(a) == pytest.approx(1.0)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(c)[::-1], atol=1e-14 * np.trace(c))
        np.testing.assert_allclose(a @ c @ a.T, np.diag(values), atol=1e-13 * np.trace(c))


@pytest.mark.parametrize("matrix", [(0, 0, 0, 0, 0, 0), (1, 1, 1, 0, 0, 0), (2, 1, 1, 0, 0, 0), (1, 1, 0, 1, 0, 0)])
def test_eigenvectors_of_degenerate_matrices_are_a_frame(matrix: tuple[float, ...]) -> None:
    from thud.math.eigen3 import eigenvectors

    xx, yy, zz, xy, xz, yz = map(float, matrix)
    axes, values = eigenvectors(xx, yy, zz, xy, xz, yz)
    a = np.reshape(axes, (3, 3))
    np.testing.assert_allclose(a @ a.T, np.eye(3), atol=1e-14)
    c = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    np.testing.assert_allclose(a @ c @ a.T, np.diag(values), atol=1e-14)


def test_obb_axes_are_those_of_the_slides_covariance() -> None:
    mesh = thud.TriangleMesh(*soup(30, 8))
    points = mesh.corners.reshape(-1, 3)
    # Mean = 1/3n sum (p + q + r) and C_jk = 1/3n sum of the products: the covariance of the 3 n corners.
    c = np.cov(points.T, bias=True)
    a = mesh.obbs[0, :9].reshape(3, 3).astype(float)
    np.testing.assert_allclose(a @ c @ a.T, np.diag(np.linalg.eigvalsh(c)[::-1]), atol=1e-6)
    # Tight along the axes.
    along = (points - mesh.obbs[0, 9:12]) @ a.T
    np.testing.assert_allclose(along.max(axis=0), mesh.obbs[0, 12:], rtol=2e-6)
    np.testing.assert_allclose(-along.min(axis=0), mesh.obbs[0, 12:], rtol=2e-6)


def test_area_weights_ignore_how_a_surface_is_cut() -> None:
    # A bar whose one end is cut into many triangles: its corners' covariance is drawn to that end, its surface's is not.
    x = np.concatenate([[0.0], np.linspace(3.0, 4.0, 40)])
    low = np.stack([x, 0 * x, 0.2 * x], axis=1)
    vertices = np.concatenate([low, low + [0, 1, 0]])
    n = len(x)
    faces = np.array([f for i in range(n - 1) for f in ((i, i + 1, n + i + 1), (i, n + i + 1, n + i))])
    coarse = thud.TriangleMesh(vertices[[0, n - 1, n, 2 * n - 1]], [[0, 1, 3], [0, 3, 2]], obb_weights="area")
    by_area, by_vertices = (thud.TriangleMesh(vertices, faces, obb_weights=w) for w in ("area", "vertices"))
    np.testing.assert_allclose(np.abs(by_area.obbs[0, :9]), np.abs(coarse.obbs[0, :9]), atol=1e-6)
    assert np.abs(np.abs(by_vertices.obbs[0, :9]) - np.abs(coarse.obbs[0, :9])).max() > 0.1


@pytest.mark.parametrize("k", [6, 14, 18, 26])
def test_kdop_directions_and_cones(k: int) -> None:
    assert directions(k).shape == (k // 2, 3)
    signed = np.concatenate([directions(k), -directions(k)])
    assert len(np.unique(signed, axis=0)) == k
    triples, matrices = cones(k)
    assert len(triples) == 2 * k - 4
    # Every direction is a combination of its cone's three, with weights >= 0.
    v = np.random.default_rng(1).normal(size=(500, 3))
    weights = np.einsum("cij,nj->nci", matrices.reshape(-1, 3, 3), v)
    cone = np.argmax(weights.min(axis=2), axis=1)
    chosen = weights[np.arange(500), cone]
    assert (chosen >= -1e-12).all()
    np.testing.assert_allclose(np.einsum("ni,nij->nj", chosen, signed[triples[cone]]), v, atol=1e-12)


def test_kdop_bounds_are_tight() -> None:
    mesh = thud.TriangleMesh(*soup(30, 9), kdop_k=26)
    along = mesh.corners.reshape(-1, 3) @ directions(26).T
    np.testing.assert_allclose(mesh.kdops[0, :13], along.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(mesh.kdops[0, 13:], along.max(axis=0), atol=1e-6)


def test_same_bytes_for_any_number_of_threads() -> None:
    from thud.bounds.obb import node_obbs
    from thud.bounds.sphere import node_spheres

    mesh = thud.TriangleMesh(*blob(24, 4))
    arguments = mesh.tree.skip, mesh.tree.first, mesh.corners
    assert len(mesh.tree.skip) > 2 * 512
    np.testing.assert_array_equal(node_spheres(*arguments, threads=1), node_spheres(*arguments, threads=2))
    np.testing.assert_array_equal(node_obbs(*arguments, threads=1), node_obbs(*arguments, threads=2))


def test_options_are_checked() -> None:
    vertices, faces = soup(3, 1)
    with pytest.raises(thud.errors.InvalidInputError, match="kdop_k: expected one of"):
        thud.TriangleMesh(vertices, faces, kdop_k=8)
    with pytest.raises(thud.errors.InvalidInputError, match="obb_weights"):
        thud.TriangleMesh(vertices, faces, obb_weights="mass")
    with pytest.raises(thud.errors.InvalidInputError, match="bounding"):
        validate_volumes(thud.TriangleMesh(vertices, faces), "cone")


def test_slides_build_splits_across_the_longest_axis() -> None:
    # A row of triangles along x: the first split separates left from right.
    base = np.array([[0.0, 0, 0], [0.3, 0.1, 0], [0.1, 0.3, 0.1]])
    vertices = np.concatenate([base + [i, 0, 0] for i in range(8)])
    mesh = thud.TriangleMesh(vertices, np.arange(24).reshape(-1, 3), build="slides")
    left = set(mesh.tree.order[:4].tolist())
    assert left in ({0, 1, 2, 3}, {4, 5, 6, 7})
    assert mesh.tree.levels.max() == 3
