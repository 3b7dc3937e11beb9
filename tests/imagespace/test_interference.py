"""Pairs that overlap, found in images, against the exact mesh test."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.imagespace import interference


def box_mesh(half: float = 1.0) -> thud.TriangleMesh:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    hull = thud.ConvexHull(corners).topology
    return thud.TriangleMesh(hull.vertices, hull.triangles)


def random_poses(rng: np.random.Generator, count: int, spread: float) -> thud.Pose:
    q = rng.normal(size=(count, 4))
    return thud.Pose(rng.uniform(-spread, spread, size=(count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))


def exact_pairs(mesh: thud.TriangleMesh, poses: thud.Pose) -> set[tuple[int, int]]:
    i, j = np.triu_indices(len(poses.rows), 1)
    hit = thud.intersects(mesh, mesh, thud.Pose.from_rows(poses.rows[i]), thud.Pose.from_rows(poses.rows[j]))
    return set(zip(i[hit].tolist(), j[hit].tolist()))


@pytest.mark.parametrize("seed", range(4))
def test_boxes(seed: int) -> None:
    mesh, poses = box_mesh(), random_poses(np.random.default_rng(seed), 40, 7.0)
    want = exact_pairs(mesh, poses)
    assert want
    got = interference([mesh] * 40, poses, views=3, layers=None)
    found = set(map(tuple, got.pairs.tolist()))
    assert want <= found
    for a, b in found - want:
        apart = thud.distance(mesh, mesh, thud.Pose.from_rows(poses.rows[a]), thud.Pose.from_rows(poses.rows[b]))
        assert apart.distance[0] <= got.offset
    assert set(map(tuple, interference([mesh] * 40, poses, views=3, exact=True).pairs.tolist())) == want
    assert len(got.self_intersecting) == 0
    assert len(got.not_closed) == 0
    # Every point lies on its edge, and in or near the object that holds it.
    for k in range(0, len(got.points), 37):
        a, b = got.pairs[got.point_pair[k]]
        holder = b if got.edge_object[k] == a else a
        pose = thud.Pose.from_rows(poses.rows[holder])
        assert thud.closest_point(mesh, got.points[k], pose=pose, signed=True).distance[0] <= got.offset
        ends = poses.rows[got.edge_object[k]][:9].reshape(3, 3) @ np.asarray(mesh.vertices)[got.edge[k]].T
        ends = ends.T + poses.rows[got.edge_object[k]][9:]
        along = np.clip((got.points[k] - ends[0]) @ (ends[1] - ends[0]) / ((ends[1] - ends[0]) ** 2).sum(), 0, 1)
        assert np.linalg.norm(ends[0] + along * (ends[1] - ends[0]) - got.points[k]) <= 2.0 * got.offset


def test_one_inside_the_other_and_apart() -> None:
    small, large = box_mesh(0.3), box_mesh(1.0)
    assert interference([small, large]).pairs.tolist() == [[0, 1]]
    far = thud.Pose([[0, 0, 0], [5.0, 0, 0]])
    assert len(interference([small, large], far).pairs) == 0
    assert len(interference([large], None).pairs) == 0
    assert len(interference([], None).pairs) == 0


def test_named_errors() -> None:
    mesh = box_mesh()
    opened = thud.TriangleMesh(mesh.vertices, np.asarray(mesh.faces)[:-1])
    with pytest.raises(thud.errors.InvalidInputError, match="row 1 is not closed"):
        interference([mesh, opened])
    with pytest.raises(thud.errors.InvalidInputError, match="poses"):
        interference([mesh, mesh], thud.Pose(np.zeros((3, 3))))
    with pytest.raises(thud.errors.InvalidInputError, match="views"):
        interference([mesh, mesh], views=0)
    with pytest.raises(thud.errors.InvalidInputError, match="backend"):
        interference([mesh, mesh], backend="vulkan")


def test_meshes_in_the_same_place() -> None:
    """Edges drawn outside of both see nothing; a closer look draws them inside, too."""
    mesh = box_mesh()
    turned = random_poses(np.random.default_rng(1), 1, 0.0)
    rows = np.repeat(turned.rows, 3, axis=0)
    got = interference([mesh] * 3, thud.Pose.from_rows(rows), precision=0.1, resolution=128)
    assert got.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert len(got.self_intersecting) == 0
