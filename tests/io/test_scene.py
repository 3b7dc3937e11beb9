"""Scenes made by programs, joined scenes, robots, names, repairs and scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thud
from thud.errors import InvalidInputError
from thud.io import Joint, Note, Part, Robot, Scene, SceneLimits
from thud.io.scene.build import rigid_part
from thud.io.scene.names import UniqueNames, path_name
from thud.io.scene.readers import primitives
from thud.io.scene.readers.polygons import triangulated
from thud.io.scene.repair import repair_mesh
from thud.io.scene.scene import Shared
from thud.io.scene.self_crossing import self_crossings
from thud.io.scene.text import printable


def box(size=(1.0, 1.0, 1.0)):
    return thud.TriangleMesh(*primitives.box(size))


def test_from_parts_shares_meshes_and_makes_names_unique():
    scene = Scene.from_parts(["a/bolt", "a/bolt", "", "c"], [box(), box(), box((1, 2, 3)), box()], thud.Pose(np.eye(4, 3)))
    assert scene.names == ("a/bolt", "a/bolt#2", "part", "c")
    assert [part.mesh for part in scene] == [0, 0, 1, 0]
    assert [part.parent for part in scene] == ["a", "a", "", ""]
    assert scene.triangle_count == 48
    assert repr(scene) == "Scene(4 parts, 2 meshes, 48 triangles, metre, 0 notes)"
    np.testing.assert_allclose(scene.poses().position, np.eye(4, 3))
    np.testing.assert_allclose(scene.bounds(), [(-0.5, -1.0, -0.5), (1.5, 1.5, 2.5)], atol=1e-12)
    assert scene.index("c") == 3
    assert scene.part("c").mesh == 0
    with pytest.raises(InvalidInputError, match="no part is named"):
        scene.index("d")
    with pytest.raises(InvalidInputError, match="as many names"):
        Scene.from_parts(["a"], [])
    with pytest.raises(InvalidInputError, match="row 0 is a Box"):
        Scene.from_parts(["a"], [thud.Box([1, 1, 1])])
    with pytest.raises(InvalidInputError, match="mesh 3"):
        Scene((Part("a", 3, thud.Pose()),), (box(),))


def test_joined():
    one = Scene.from_parts(["a", "b"], [box(), box((2, 2, 2))])
    two = Scene((Part("a", 0, thud.Pose()),), (box((2, 2, 2)),), "inch", (Note("a", "left", "open"),))
    both = one.joined(two, thud.Pose([0.0, 0.0, 5.0]))
    assert both.names == ("a", "b", "a#2")
    assert len(both.meshes) == 2
    assert both.notes[0].part == "a#2"
    assert both.units == "metre; inch"
    np.testing.assert_allclose(both.parts[2].pose.position, (0, 0, 5))
    assert len(both.joined(both)) == 6


def arm(count):
    """A chain of `count` links along x, a metre each, that turn about z."""
    links = tuple(f"l{k}" for k in range(count + 1))
    joints = tuple(
        Joint(f"j{k}", "revolute", links[k], links[k + 1], thud.Pose([1.0, 0, 0]), (0.0, 0.0, 1.0), -1.0, 2.0)
        for k in range(count)
    )
    still = thud.Pose.from_matrix(np.broadcast_to(np.eye(4), (count + 1, 4, 4)).copy())
    return Robot("arm", links, joints, np.arange(count + 1), still, still)


def test_robots_in_joined_scenes():
    robot = arm(3)
    names = [f"p{k}" for k in range(4)]
    scene = Scene(tuple(Part(name, 0, thud.Pose()) for name in names), (box(),), robot=robot)
    both = scene.joined(Scene.from_parts(["floor"], [box()], thud.Pose([0.0, 0, -1]))).joined(scene, thud.Pose([0.0, 0, 7]))
    assert both.robot.part_count == 9
    assert [joint.name for joint in both.robot.joints] == ["j0", "j1", "j2", "j0#2", "j1#2", "j2#2"]
    values = np.array([[0.3, -0.2, 0.5, 1.0, 0.1, -0.4]])
    poses = both.robot.poses(values)[0]
    for begin, height, columns in ((0, 0.0, values[0, :3]), (5, 7.0, values[0, 3:])):
        place, angle = np.zeros(3), 0.0
        place[2] = height
        for k in range(4):
            np.testing.assert_allclose(poses[begin + k, :3], place, atol=1e-12)
            np.testing.assert_allclose(poses[begin + k, 3:], (np.cos(angle / 2), 0, 0, np.sin(angle / 2)), atol=1e-12)
            if k < 3:
                place = place + (np.cos(angle), np.sin(angle), 0)
                angle += columns[k]
    np.testing.assert_allclose(poses[4], (0, 0, -1, 1, 0, 0, 0), atol=1e-12)
    with pytest.raises(InvalidInputError, match=r"\(C, 6\)"):
        both.robot.poses([[0.0]])
    assert both.robot.rest.tolist() == [0.0] * 6


def test_names():
    unique = UniqueNames()
    assert [unique.take(name) for name in ("a", "a", "a#2", "a", "b")] == ["a", "a#2", "a#2#2", "a#3", "b"]
    assert path_name("", " ") == "part"
    assert path_name("a", "b/c") == "a/b\u2215c"
    assert printable("a\x1b[31m\u202eb\ud800\nc" + "x" * 500, 10) == "a [31m b \u2026"
    assert printable(b"\xff\xfe", 10).isprintable()


@given(st.lists(st.floats(-3, 3), min_size=9, max_size=9))
def test_rigid_part(numbers):
    matrix = np.array(numbers).reshape(3, 3)
    rotation, stretch = rigid_part(matrix)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    np.testing.assert_allclose(stretch, stretch.T, atol=1e-9)
    np.testing.assert_allclose(rotation @ stretch, matrix, atol=1e-9 * max(1.0, np.abs(matrix).max()))


@given(st.floats(-4, 4), st.floats(-4, 4), st.floats(-4, 4), st.sampled_from([0.001, 0.0254, 1.0, 7.0]))
def test_instances_that_are_turned_share_their_stretch(x, y, z, scale):
    turn = thud.Pose.from_rotation_vector([0, 0, 0], [x, y, z]).matrix[:3, :3]
    _, stretch = rigid_part(turn @ np.diag([scale, scale, scale]))
    assert np.array_equal(stretch, np.diag([scale, scale, scale]))


def repaired(vertices, faces):
    mesh = repair_mesh(np.asarray(vertices, dtype=np.float64), np.asarray(faces, dtype=np.int64))
    return mesh, [severity for severity, _ in mesh.notes], " ".join(text for _, text in mesh.notes)


def test_repairs():
    vertices, faces = primitives.box((1, 2, 3))
    mesh, severities, _ = repaired(vertices, faces)
    assert severities == []
    # Soup: each triangle with corners of its own.
    mesh, severities, _ = repaired(vertices[faces].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert (len(mesh.vertices), severities) == (8, [])
    mesh, severities, text = repaired(vertices, faces[:, ::-1])
    assert severities == ["repaired"]
    assert "outside out" in text
    assert thud.TriangleMesh(mesh.vertices, mesh.faces).problems().inverted is False
    mesh, severities, text = repaired(vertices, np.concatenate([faces, faces[3:5]]))
    assert (len(mesh.faces), severities) == (12, ["repaired"])
    mesh, severities, text = repaired(vertices, np.concatenate([faces, [[0, 0, 1], [2, 2, 2]]]))
    assert (len(mesh.faces), severities) == (12, ["repaired"])
    mesh, severities, text = repaired(vertices, faces[1:])
    assert severities == ["left"]
    assert "3 open edges" in text
    mixed = faces.copy()
    mixed[0] = mixed[0, ::-1]
    mesh, severities, text = repaired(vertices, mixed)
    assert severities == ["left"]
    assert "orientation flips" in text
    # A sheet that is there twice is closed by the number of triangles at its edges, and a sheet all the same.
    mesh, severities, text = repaired(vertices, np.concatenate([faces[:2], faces[:2]]))
    assert len(mesh.faces) == 2
    mesh, _, _ = repaired(vertices, [[0, 0, 1]])
    assert mesh.empty


def test_a_repair_that_would_open_a_solid_is_left_out():
    # A box of which one face has a corner in the middle of an edge: a triangle without area closes the gap.
    vertices, faces = primitives.box((2, 2, 2))
    edge = faces[0][:2]
    middle = len(vertices)
    vertices = np.concatenate([vertices, [vertices[edge].mean(axis=0)]])
    a, b, c = faces[0]
    split = np.concatenate([faces[1:], [[a, middle, c], [middle, b, c], [a, b, middle]]])
    mesh, severities, text = repaired(vertices, split)
    assert thud.TriangleMesh(mesh.vertices, mesh.faces).is_closed
    assert len(mesh.faces) == 14
    assert severities == ["left"]
    assert "without area" in text


@pytest.mark.parametrize(
    ("made", "volume"),
    [
        (primitives.box((1, 2, 3)), 6.0),
        (primitives.cylinder(1.0, 2.0), 2 * np.pi),
        (primitives.cone(1.0, 3.0), np.pi),
        (primitives.sphere(1.0), 4 / 3 * np.pi),
        (primitives.capsule(1.0, 2.0), 4 / 3 * np.pi + 2 * np.pi),
    ],
)
def test_primitives(made, volume):
    mesh = thud.TriangleMesh(*made)
    assert str(mesh.problems()) == "no problems"
    assert 0.97 * volume < mesh.volume <= volume * (1 + 1e-12)


def test_polygons():
    star = np.array([(0, 3), (0.6, 0.8), (3, 0), (0.6, -0.8), (0, -3), (-0.6, -0.8), (-3, 0), (-0.6, 0.8)])
    points = np.column_stack([star, np.zeros(8)])
    for order in (np.arange(8), np.arange(8)[::-1], np.roll(np.arange(8), 3)):
        faces = triangulated(points, np.array([8]), order)
        assert len(faces) == 6
        a, b, c = (points[faces[:, k], :2] for k in range(3))
        areas = 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
        x, y = points[order, :2].T
        whole = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
        # No triangle is turned round, and together they are the polygon.
        assert (np.sign(areas) == np.sign(whole)).all()
        assert areas.sum() == pytest.approx(whole)


def test_limits():
    with pytest.raises(InvalidInputError, match="parts is 0"):
        SceneLimits(parts=0)
    raised = SceneLimits(parts=10, seconds=2.0).times(2.5)
    assert (raised.parts, raised.seconds, raised.name_length) == (25, 5.0, 200)
    with pytest.raises(InvalidInputError, match="factor"):
        raised.times(-1)


def test_self_crossings():
    vertices, faces = primitives.box((1, 1, 1))
    assert self_crossings(vertices, faces) == 0
    # Two boxes in one mesh: each of the three edges of one that pierce faces of the other crosses some triangles.
    both = np.concatenate([vertices, vertices + 0.4])
    assert self_crossings(both, np.concatenate([faces, faces + 8])) > 0
    # Side by side they touch in a whole face, and do not cross; nor does a corner on an edge.
    beside = np.concatenate([vertices, vertices + (1.0, 0.0, 0.0)])
    assert self_crossings(beside, np.concatenate([faces, faces + 8])) == 0
    beside = np.concatenate([vertices, vertices + (1.0, 0.25, 0.25)])
    assert self_crossings(beside, np.concatenate([faces, faces + 8])) == 0
    # All in one place: not looked at, rather than the square of it.
    heap = np.random.default_rng(0).normal(size=(3000, 3))
    assert self_crossings(heap, np.arange(3000).reshape(-1, 3)) is None


def test_meshes_that_are_gone_lend_their_address_to_no_other():
    # A mesh that equals one that is there is dropped, and the next one may get its place in memory: it is another mesh.
    shared = Shared()
    sizes = np.tile([1.0, 1.0, 2.0, 1.0, 3.0], 40) * np.repeat(np.arange(1, 41), 5)
    rows = [shared.row(box((2.0 * size,) * 3)) for size in sizes]
    assert [shared.meshes[row].vertices.max() for row in rows] == sizes.tolist()
    assert len(shared.meshes) == len(np.unique(sizes))
