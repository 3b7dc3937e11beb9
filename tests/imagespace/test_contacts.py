"""Contacts measured in images, against closed forms and the exact queries."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.imagespace.agreement import torus_mesh
from tests.oracles.convex import signed_distance
from tests.oracles.meshes import box_mesh
from thud.imagespace import contacts, interference, piercings

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"

BOX = thud.TriangleMesh(*box_mesh((1.0, 0.75, 0.5)))


def on_surfaces(meshes: list[thud.TriangleMesh], poses: thud.Pose, got: thud.imagespace.ImageContacts) -> None:
    """A's surface lies at point + depth/2 normal, B's at point - depth/2 normal, on the triangles that are named."""
    np.testing.assert_allclose(np.linalg.norm(got.normal, axis=1), 1.0, rtol=1e-12)
    for row in got:
        for number, face, sign in ((row.object_a, row.triangle_a, 0.5), (row.object_b, row.triangle_b, -0.5)):
            corners = np.asarray(meshes[number].vertices)[np.asarray(meshes[number].faces)[face]]
            pose = poses.rows[number]
            a, b, c = corners @ pose[:9].reshape(3, 3).T + pose[9:]
            normal = np.cross(b - a, c - a)
            place = row.point + sign * row.depth * row.normal
            # Beside the triangle by up to 1/180 pixel, where a pixel's centre is on its side.
            assert abs((place - a) @ normal) / np.linalg.norm(normal) <= 1e-9 + row.pixel / 180
            away = thud.closest_point(meshes[number], place, pose=thud.Pose.from_rows(pose)).distance[0]
            assert away <= 1e-9 + row.pixel / 180


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("deep", [0.2, 1e-2, 1e-4])
def test_boxes_of_a_known_overlap(deep: float, turned: bool) -> None:
    """The normal is the face's and the depth exact, however thin the overlap; four points spread over it."""
    turn = np.array([0.9, 0.1, -0.3, 0.2]) / np.linalg.norm([0.9, 0.1, -0.3, 0.2]) if turned else np.array([1.0, 0, 0, 0])
    frame = thud.Pose([0.3, -0.2, 0.5], turn)
    places = frame.apply(np.array([[0, 0, 0], [0.4, 0.3, 1.0 - deep]]))
    poses = thud.Pose(places, [turn, turn])
    got = contacts([BOX, BOX], poses)
    assert got.count.tolist() == [4]
    np.testing.assert_allclose(got.normal, np.tile(frame.rows[0, [2, 5, 8]], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(got.depth, deep, atol=1e-12)
    on_surfaces([BOX, BOX], poses, got)
    # They reach over most of the common rectangle, 1.6 by 1.2 m, and lie in its plane.
    reach = np.ptp((got.point - frame.rows[0, 9:]) @ frame.rows[0, :9].reshape(3, 3), axis=0)
    assert (reach[:2] > [1.2, 0.9]).all()
    assert reach[2] < 1e-12


def test_balls() -> None:
    """Balls of 4,000 triangles: the depth is r + r - distance, less what flat triangles lie below the round."""
    ball = thud.Sphere(0.5).to_mesh(48)
    sag = 0.5 - np.linalg.norm(np.asarray(ball.vertices)[np.asarray(ball.faces)].mean(axis=1), axis=1).min()
    for k, away in enumerate(([0.9, 0, 0], [0.4, 0.5, 0.3], [0.1, 0.6, -0.5])):
        poses = thud.Pose([[0, 0, 0], away])
        got = contacts([ball, ball], poses, [[0, 1]])
        far = float(np.linalg.norm(away))
        assert 1.0 - far - 2.0 * sag - 1e-6 <= got.depth[0] <= 1.0 - far + 1e-6, k
        assert np.degrees(np.arccos(min(1.0, got.normal[0] @ away / far))) < 6.0
        on_surfaces([ball, ball], poses, got)


def test_random_hulls() -> None:
    """Against the faces of the Minkowski difference. Along its normal a depth is right to a pixel's slope, unless it ends in a
    tip thinner than a pixel of the first image; with all views no shorter way is left out."""
    rng = np.random.default_rng(4)
    off = []
    for _ in range(4 if SMALL else 14):
        hulls = [thud.ConvexHull(rng.normal(size=(int(rng.choice([4, 8, 30])), 3))) for _ in range(2)]
        meshes = [thud.TriangleMesh(hull.topology.vertices, hull.topology.triangles) for hull in hulls]
        turn = rng.normal(size=(2, 4))
        poses = thud.Pose(rng.uniform(-0.6, 0.6, (2, 3)), turn / np.linalg.norm(turn, axis=1, keepdims=True))
        depth = -float(signed_distance(*hulls, poses.rows[:1], poses.rows[1:])[0])
        if depth < 1e-3:
            continue
        got = contacts(meshes, poses, [[0, 1]], views=9)
        on_surfaces(meshes, poses, got)
        off.append((got.depth[0] - depth) / depth)
        # From A to B: moved along it by the depth and a little, the hulls are apart.
        moved = thud.Pose(poses.position[1] + (1.0 + 2e-2) * got.depth[0] * got.normal[0], poses.quaternion[1])
        assert not thud.intersects(hulls[0], hulls[1], thud.Pose.from_rows(poses.rows[0]), moved)[0]
    assert len(off) >= 3
    assert np.abs(off).max() < 1e-2
    assert np.median(np.abs(off)) < 1e-4


def test_inside_and_in_one_place() -> None:
    small = thud.TriangleMesh(*box_mesh(0.125))
    poses = thud.Pose([[0, 0, 0], [0.2, -0.5, 0.1], [9, 0, 0], [9, 0, 0]])
    meshes = [BOX, small, BOX, BOX]
    got = contacts(meshes, poses)
    assert got.pairs.tolist() == [[0, 1], [2, 3]]
    # Out through the nearest wall, at y = -0.75: 0.25 to it and half the small one's width.
    assert got.of_pair(0).depth[0] == pytest.approx(0.375, abs=1e-12)
    np.testing.assert_allclose(got.of_pair(0).normal[0], [0, -1, 0], atol=1e-12)
    # Equal boxes: the least of their widths.
    assert got.of_pair(1).depth[0] == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(np.abs(got.of_pair(1).normal[0]), [0, 0, 1], atol=1e-12)
    assert got.count.sum() == len(got)
    on_surfaces(meshes, poses, got)
    picked = got[got.depth > 0.5]
    assert picked.count.tolist() == [0, len(picked)]


def test_walls_that_cross_have_no_short_way() -> None:
    """Two tall walls that cross at 20 degrees: on the rays through their common part a short move seems to do, but B then meets
    A on other rays. Their way out is up, or along one of them."""
    wall = thud.TriangleMesh(*box_mesh((2.0, 0.05, 0.5)))
    half = np.radians(10.0)
    poses = thud.Pose(np.zeros((2, 3)), [[1, 0, 0, 0], [np.cos(half), 0, 0, np.sin(half)]])
    got = contacts([wall, wall], poses)
    away = thud.Pose.from_rows(poses.rows[0]), thud.Pose.from_rows(poses.rows[1])
    want = -float(signed_distance(thud.Box((2.0, 0.05, 0.5)), thud.Box((2.0, 0.05, 0.5)), away[0].rows, away[1].rows)[0])
    assert got.depth[0] == pytest.approx(want, rel=1e-4)
    assert want > 0.75


def test_a_ring_on_a_rod() -> None:
    """A rod through a ring, two of its edges in the inner wall: the way out is back into the hole, not past the ring. No face
    has the normal of the shortest way, between the two edges; that which is found is a face's, up to half as long again."""
    ring, rod = thud.TriangleMesh(*torus_mesh(24, 12, 0.3)), thud.TriangleMesh(*box_mesh((0.2, 0.2, 2.0)))
    poses = thud.Pose([[0, 0, 0], [0.55, 0, 0]])
    got = contacts([ring, rod], poses)
    least = -float(thud.distance(ring, rod, None, thud.Pose(poses.position[1:]), signed=True).distance[0])
    assert (1.0 - 1e-3) * least < got.depth[0] < 1.5 * least
    assert got.normal[0, 0] < -0.8
    moved = thud.Pose(poses.position[1] + (1.0 + 1e-3) * got.depth[0] * got.normal[0])
    assert not thud.intersects(ring, rod, None, moved)[0]
    on_surfaces([ring, rod], poses, got)


def test_either_backend_threads_and_the_other_way_round() -> None:
    poses = thud.Pose([[0, 0, 0], [1.2, 0.6, 0.3], [0.5, -1.0, 0.1]], [[1, 0, 0, 0], [0.6, 0.0, 0.8, 0], [0.8, 0.6, 0, 0]])
    meshes = [BOX, BOX, BOX]
    one = contacts(meshes, poses, threads=1)
    for other in (contacts(meshes, poses, threads=3), contacts(meshes, poses, backend="gl")):
        for name in ("pair", "point", "normal", "depth", "triangle_a", "triangle_b", "pixel", "pairs", "count"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    back = contacts(meshes[::-1], thud.Pose.from_rows(poses.rows[::-1].copy()))
    first = {tuple(pair): one.of_pair(k)[0] for k, pair in enumerate(one.pairs.tolist())}
    for k, (a, b) in enumerate(back.pairs.tolist()):
        row, was = back.of_pair(k)[0], first[2 - b, 2 - a]
        assert row.depth == pytest.approx(was.depth, rel=1e-4)
        np.testing.assert_allclose(row.normal, -was.normal, atol=1e-4)


def test_pairs_that_share_nothing_have_none() -> None:
    """Seen, but apart by less than the offset: no ray is inside both."""
    cube = thud.TriangleMesh(*box_mesh(1.0))
    poses = thud.Pose([[0, 0, 0], [2.0 + 1e-6, 0.5, 0.5]])
    got = contacts([cube, cube], poses, [[0, 1]])
    assert (len(got), got.count.tolist(), got.pairs.tolist()) == (0, [0], [[0, 1]])
    assert len(contacts([], None)) == len(contacts([cube], None)) == 0
    seen = interference([cube, cube], poses)
    assert len(contacts([cube, cube], poses, seen)) == 0
    with pytest.raises(thud.errors.InvalidInputError, match="views"):
        contacts([cube, cube], poses, views=0)
    with pytest.raises(thud.errors.InvalidInputError, match="backend"):
        contacts([cube, cube], poses, backend="vulkan")


def test_they_can_be_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    poses = thud.Pose([[0, 0, 0], [0.5, 0.4, 0.85]])
    touch = contacts([BOX, BOX], poses)
    where = piercings([BOX, BOX], poses, touch.pairs)
    bare, axes = thud.plot((BOX, poses)), thud.plot((BOX, poses), touch, where)
    # Points and arrows of each.
    assert len(axes.collections) >= len(bare.collections) + 4
