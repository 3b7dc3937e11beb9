"""Which pairs meet, with and without trees."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.report.clash.test_check import random_scene
from thud.io.scene.scene import Scene
from thud.report.clash import pairs
from thud.report.clash.candidates import place
from thud.report.clash.pairs import find_pairs

BOX = thud.Box([0.5, 0.5, 0.5]).to_mesh()


@pytest.mark.parametrize("local", [0, 200])
@pytest.mark.parametrize("seed", range(4))
def test_pairs_are_those_of_the_queries(seed: int, local: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # No pairs of triangles at all: every pair by trees.
    monkeypatch.setattr(pairs, "LOCAL_PAIRS", local)
    scene = random_scene(seed, 60)
    found = find_pairs(scene, place(scene), 0.1)
    shapes, poses = scene.shapes(), scene.poses()
    np.testing.assert_array_equal(found.meets, thud.intersects_pairs(shapes, found.pairs, poses))
    for (a, b), surfaces in zip(found.pairs, found.surfaces):
        assert surfaces == (len(thud.triangle_pairs(shapes[a], shapes[b], poses[int(a)], poses[int(b)]).row) > 0)
    # And no others.
    index = np.stack(np.triu_indices(len(shapes), 1), axis=1)
    hits = index[thud.intersects_pairs(shapes, index, poses)]
    assert {tuple(pair) for pair in hits.tolist()} == {tuple(pair) for pair in found.pairs[found.meets].tolist()}


def test_one_of_many_pieces_inside() -> None:
    # A mesh of two pieces, of which the second is in the box and the first is far away.
    ball = thud.Sphere(0.1).to_mesh(8)
    vertices, faces = np.asarray(ball.vertices), np.asarray(ball.faces)
    far = thud.TriangleMesh(np.concatenate([vertices + [9.0, 0, 0], vertices]), np.concatenate([faces, faces + len(vertices)]))
    for meshes in ([BOX, far], [far, BOX]):
        scene = Scene.from_parts(["a", "b"], meshes)
        found = find_pairs(scene, place(scene))
        assert found.meets.tolist() == [True]
        assert found.surfaces.tolist() == [False]
    away = Scene.from_parts(["a", "b"], [BOX, far], thud.Pose([[4.0, 0, 0], [0, 0, 0]]))
    assert not find_pairs(away, place(away)).meets.any()


@pytest.mark.parametrize("shift", [[1.0, 0, 0], [1.0, 1.0, 0], [1.0, 1.0, 1.0], [0.3, 0.2, 1.0]])
def test_touching_faces_edges_and_corners_meet(shift: list[float]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = rng.normal(size=4)
        turn = thud.Pose(rng.normal(size=3), q / np.linalg.norm(q))
        poses = [turn.matrix, (turn @ thud.Pose(shift)).matrix]
        scene = Scene.from_parts(["a", "b"], [BOX, BOX], np.array(poses))
        found = find_pairs(scene, place(scene), 1e-9)
        assert found.surfaces.tolist() == [True]


def test_boxes_about_parts_are_those_of_the_shapes() -> None:
    scene = random_scene(5, 30)
    at = place(scene)
    for row, part in enumerate(scene.parts):
        box = scene.mesh_of(part).bounds(part.pose)
        np.testing.assert_allclose(at.lower[row], box.lower[0], atol=1e-12)
        np.testing.assert_allclose(at.upper[row], box.upper[0], atol=1e-12)
    # A vertex that no triangle has does not count.
    loose = thud.TriangleMesh(np.concatenate([np.asarray(BOX.vertices), [[9.0, 9, 9]]]), BOX.faces)
    assert place(Scene.from_parts(["a"], [loose])).upper.max() == 0.5
