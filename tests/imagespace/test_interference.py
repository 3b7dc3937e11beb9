"""Pairs that overlap, found in images, against the exact mesh test."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh
from thud.imagespace import interference
from thud.imagespace.scene import make_scene


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


def blob(rings: int, seed: int) -> thud.TriangleMesh:
    return thud.TriangleMesh(*blob_mesh(rings, seed))


def test_coarse_models_reject() -> None:
    rng = np.random.default_rng(6)
    fine = blob(16, 1)
    # A ball of few triangles around it.
    way = rng.normal(size=(60, 3))
    ball = thud.ConvexHull(way / np.linalg.norm(way, axis=1, keepdims=True)).topology
    reach = np.linalg.norm(fine.vertices, axis=1).max() / ball.planes[:, 3].min()
    coarse = thud.TriangleMesh(reach * ball.vertices, ball.triangles)
    assert thud.contains(coarse, fine.vertices).all()
    assert len(coarse.faces) < 0.2 * len(fine.faces)
    for _ in range(6):
        poses = random_poses(rng, 20, 4.0)
        options = {"views": 2, "resolution": 700}
        whole = interference([fine] * 20, poses, **options)
        tried = interference([fine] * 20, poses, coarse=[coarse] * 20, **options)
        want = exact_pairs(fine, poses)
        assert want & set(map(tuple, whole.pairs.tolist())) <= set(map(tuple, tried.pairs.tolist()))
        # Looking at the coarse models is work, too.
        assert tried.views == whole.views + 2
        assert tried.polygons > 2 * 2 * len(coarse.faces)
    # Two thin ones side by side, askew: their boxes overlap and they do not; the fine ones are not drawn at all.
    thin, around = (thud.TriangleMesh(mesh.vertices * [3.0, 0.1, 0.1], mesh.faces) for mesh in (fine, coarse))
    turn = (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8))
    sides = thud.Pose([[0.0, 0.0, 0.0], [0.7, -0.7, 0.0]], [turn, turn])
    apart = interference([thin, thin], sides, **options)
    quick = interference([thin, thin], sides, coarse=[around, around], **options)
    assert len(apart.pairs) == len(quick.pairs) == 0
    assert 0 < quick.polygons < 0.5 * apart.polygons
    with pytest.raises(thud.errors.InvalidInputError, match="coarse"):
        interference([fine, fine], coarse=[coarse])
    # The argument of the caller is named, not that of the function that makes the model.
    for wrong in (15, True):
        with pytest.raises(thud.errors.InvalidInputError, match="coarse: expected models, or one of 6, 14, 18, 26 planes"):
            interference([fine, fine], coarse=wrong)
    for ask in (thud.imagespace.contacts, thud.imagespace.piercings):
        with pytest.raises(thud.errors.InvalidInputError, match=r"seen: expected .M, 2. whole numbers"):
            ask([fine, fine], None, 3)  # type: ignore[operator]


def test_edges_that_reach_no_other_box_hide_nothing() -> None:
    # Only those that reach into the box of a neighbour are drawn.
    rng = np.random.default_rng(7)
    scene = make_scene([box_mesh()] * 5, random_poses(rng, 5, 1.5))
    pairs = np.array([[0, 1], [1, 2], [3, 4]])
    kept = scene.reaching_edges(pairs)
    for k in range(5):
        others = [b for a, b in [*pairs.tolist(), *pairs[:, ::-1].tolist()] if a == k]
        edges = scene.edges[scene.edge_starts[k] : scene.edge_starts[k + 1]]
        want = [
            edge.tolist()
            for edge in edges
            if any(
                (scene.vertices[edge].min(axis=0) <= scene.boxes[b, 3:]).all()
                and (scene.vertices[edge].max(axis=0) >= scene.boxes[b, :3]).all()
                for b in others
            )
        ]
        assert kept.edges[kept.edge_starts[k] : kept.edge_starts[k + 1]].tolist() == want
    assert 0 < len(kept.edges) < len(scene.edges)
    for thread_count in (1, 3):
        np.testing.assert_array_equal(scene.reaching_edges(pairs, thread_count).edges, kept.edges)


@pytest.mark.parametrize("overlap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_boxes_that_overlap_hardly(overlap: float) -> None:
    # The view is tight around the overlap; what sticks out of it by far is counted all the same.
    mesh = box_mesh()
    poses = thud.Pose([[0, 0, 0], [2.0 - overlap] * 3])
    for options in ({"views": 1}, {"views": 3}, {"views": 3, "exact": True}, {"views": 3, "leaves": 4}, {"coarse": 6}):
        got = interference([mesh, mesh], poses, **options)
        assert got.pairs.tolist() == [[0, 1]], options
        assert len(got.not_closed) == len(got.self_intersecting) == 0
        assert got.offset < 1e-2
        assert got.pixels[0] > 0 or len(got.points) > 0 or options.get("exact")
        # Points are where the overlap is, to the offset.
        assert np.abs(got.points - 1.0).max(initial=0.0) <= overlap + 2.0 * got.offset
    # Apart by a centimetre: beyond the offset.
    apart = thud.Pose([[0, 0, 0], [2.0 + 1e-2] * 3])
    assert len(interference([mesh, mesh], apart, views=3).pairs) == 0
    # A million times as large, far from the origin, where places are rounded to 1e-7 m: what touches there is found.
    large = box_mesh(1e6)
    far = thud.Pose(1e6 * poses.rows[:, 9:] + [1e9, -1e9, 0])
    got = interference([large, large], far, views=3)
    assert len(got.not_closed) == len(got.self_intersecting) == 0
    touch = thud.intersects(large, large, thud.Pose.from_rows(far.rows[0]), thud.Pose.from_rows(far.rows[1]))[0]
    assert touch or overlap < 1e-11
    assert got.pairs.tolist() == [[0, 1]] or not touch


def test_precision_that_is_too_fine() -> None:
    mesh = box_mesh()
    poses = thud.Pose([[0, 0, 0], [1.9, 1.9, 1.9]])
    assert interference([mesh, mesh], poses, precision=1e-4).pairs.tolist() == [[0, 1]]
    with pytest.raises(thud.errors.InvalidInputError, match=r"objects 0 and 1 are 6.75\d* m across; expected at least 1.3e-05"):
        interference([mesh, mesh], poses, precision=1e-6)
