"""Contacts of meshes and fields that a solver can stand on: normals, extent, depth, ids, margins.

The truth is known without any query: cubes and capsules on flat ground, at penetrations from 1e-9 to 1e-1 of their size.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

import thud
from thud.errors import InvalidInputError, UnsupportedQueryError

PENETRATIONS = (0.0, 1e-9, 1e-6, 1e-3, 1e-1)


def cube_mesh(half: float = 0.5, inverted: bool = False) -> thud.TriangleMesh:
    vertices = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-half, half)], dtype=float)
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5,
        7],
         [1, 7, 3]]
    )  # fmt: skip
    return thud.TriangleMesh(vertices, faces[:, ::-1] if inverted else faces)


def flat_floor(triangles: int, extent: float = 5.0, seed: int = 0) -> thud.TriangleMesh:
    """An open mesh in the plane z = 0, triangulated at random, facing up."""
    rng = np.random.default_rng(seed)
    corners = [[-extent, -extent], [extent, -extent], [extent, extent], [-extent, extent]]
    points = np.concatenate([corners, rng.uniform(-extent, extent, (triangles // 2, 2))])
    return thud.TriangleMesh(np.c_[points, np.zeros(len(points))], Delaunay(points).simplices)


CUBE, BOX = cube_mesh(), thud.Box([0.5, 0.5, 0.5])
FLOOR = flat_floor(400)
FIELD = thud.HeightField(np.zeros((41, 41)), 0.25, origin=[-5.0, -5.0, 0.0])


def widths(points: np.ndarray, count: int = 16) -> np.ndarray:
    """Extent of points along `count` directions in the plane z = 0."""
    angle = np.linspace(0.0, np.pi, count, endpoint=False)
    return np.ptp(points[:, :2] @ np.stack([np.cos(angle), np.sin(angle)]), axis=0)


def overlap_corners(x: float, y: float, half: float = 0.5) -> np.ndarray:
    """Corners of the rectangle that two unit squares share, one of them moved by (x, y)."""
    low, high = np.maximum([-half, -half], [x - half, y - half]), np.minimum([half, half], [x + half, y + half])
    return np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])


@pytest.mark.parametrize("penetration", PENETRATIONS)
@pytest.mark.parametrize(("a", "b"), [(CUBE, CUBE), (CUBE, BOX), (BOX, CUBE), (cube_mesh(inverted=True), CUBE)])
def test_stacked_cubes(a, b, penetration):
    """One patch with the face's normal, the rectangle that they share, and the depth; whatever diagonals and sides there
    are."""
    for x, y in ((0.3, 0.2), (0.0, 0.0), (-0.25, 0.4), (0.5, 0.5), (0.0, 0.3)):
        found = thud.contacts(a, b, None, thud.Pose([x, y, 1.0 - penetration]))
        assert found.status.tolist() == [thud.Status.OVERLAPPING]
        assert set(found.patch.tolist()) == {0}
        np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (len(found.row), 1)), atol=1e-9)
        np.testing.assert_allclose(found.depth, penetration, atol=1e-12)
        np.testing.assert_allclose(widths(found.point), widths(overlap_corners(x, y)), atol=1e-9)
        assert len(set(found.feature.tolist())) == len(found.row) == 4


@pytest.mark.parametrize("gap", [1e-9, 1e-4, 0.05])
@pytest.mark.parametrize(("a", "b"), [(CUBE, CUBE), (CUBE, BOX), (FLOOR, CUBE), (FLOOR, BOX), (FIELD, CUBE), (FIELD, BOX)])
def test_apart_within_the_margin(a, b, gap):
    """A whole patch, not one point, with negative depths."""
    at = thud.Pose([0.3, 0.2, (1.0 if a is CUBE else 0.5) + gap])
    found = thud.contacts(a, b, None, at, margin=0.1)
    assert found.status.tolist() == [thud.Status.SEPARATED]
    np.testing.assert_allclose(found.depth, -gap, atol=1e-12)
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (len(found.row), 1)), atol=1e-9)
    assert len(found.row) == 4
    expected = (
        overlap_corners(0.3, 0.2)
        if a is CUBE
        else overlap_corners(0.3, 0.2, 0.5) * 0.0 + np.array([[-0.2, -0.3], [0.8, -0.3], [0.8, 0.7], [-0.2, 0.7]])
    )
    np.testing.assert_allclose(widths(found.point), widths(expected), atol=1e-9)
    assert len(thud.contacts(a, b, None, at, margin=0.5 * gap).row) == 0


@pytest.mark.parametrize("ground", [FLOOR, FIELD, CUBE], ids=["floor", "field", "cube"])
def test_a_lying_capsule_has_two_ends(ground):
    """So that it does not rock; on open and on closed meshes."""
    top = 0.5 if ground is CUBE else 0.0
    lying = thud.Pose([0.01, 0.02, top + 0.2 - 1e-4], [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    found = thud.contacts(ground, thud.Capsule(0.2, 0.3), None, lying)
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (len(found.row), 1)), atol=1e-9)
    np.testing.assert_allclose(found.depth, 1e-4, atol=1e-9)
    np.testing.assert_allclose(np.ptp(found.point[:, 0]), 0.6, atol=1e-9)


def slides(count: int, steps: int, seed: int = 1) -> np.ndarray:
    """(count * steps, 7) poses of a cube of half a metre that slides in `count` directions, each at a turn of its own."""
    rng = np.random.default_rng(seed)
    angle, turn = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False), rng.uniform(0.0, np.pi, count)
    way = np.linspace(0.0, 3.5, steps)
    place = way[None, :, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)[:, None]
    poses = np.zeros((count, steps, 7))
    poses[..., :2], poses[..., 2] = place, 0.25 - 1e-5
    poses[..., 3], poses[..., 6] = np.cos(0.5 * turn)[:, None], np.sin(0.5 * turn)[:, None]
    return poses.reshape(-1, 7)


@pytest.mark.parametrize("other", [thud.Box([0.25] * 3), cube_mesh(0.25)], ids=["box", "cube mesh"])
@pytest.mark.parametrize("ground", [flat_floor(10_000), FIELD], ids=["floor", "field"])
def test_nothing_catches_on_inner_edges(ground, other):
    """A box that slides over flat ground in 100 directions: each normal within 0.1 degree of upright, each patch whole."""
    poses = slides(100, 12)
    found = thud.contacts(ground, other, None, poses)
    assert (found.status == thud.Status.OVERLAPPING).all()
    assert np.degrees(np.arccos(np.clip(found.normal[:, 2], -1.0, 1.0))).max() < 0.1
    assert (np.bincount(found.row, minlength=len(poses)) == 4).all()
    np.testing.assert_allclose(found.depth, 1e-5, atol=1e-9)
    for row in range(0, len(poses), 37):
        square = Rotation.from_quat(poses[row, [4, 5, 6, 3]]).apply([[x, y, 0.0] for x in (-0.25, 0.25) for y in (-0.25, 0.25)])
        np.testing.assert_allclose(widths(found.point[found.row == row]), widths(square), rtol=1e-6)


def test_a_box_in_a_corner_has_a_normal_of_each_wall():
    """Floor and two walls, one open mesh, all facing inward."""
    sheet, quad = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float) * 3.0, np.array([[0, 1, 2], [0, 2, 3]])
    floor, wall_x, wall_y = sheet, sheet[:, [2, 0, 1]], sheet[:, [1, 2, 0]]
    corner = thud.TriangleMesh(np.concatenate([floor, wall_x, wall_y]), np.concatenate([quad, quad + 4, quad + 8]))
    for other in (thud.Box([0.5] * 3), cube_mesh(0.5)):
        found = thud.contacts(corner, other, None, thud.Pose([0.499, 0.498, 0.497]))
        assert sorted(map(tuple, np.round(found.normal, 9))) == sorted(
            [(1.0, 0.0, 0.0)] * 4 + [(0.0, 1.0, 0.0)] * 4 + [(0.0, 0.0, 1.0)] * 4
        )
        for axis, depth in enumerate((1e-3, 2e-3, 3e-3)):
            np.testing.assert_allclose(found.depth[found.normal[:, axis] > 0.5], depth, atol=1e-9)


def test_the_front_is_outside_of_an_open_mesh():
    """A box that has sunk through an open floor by more than its half is pushed to the front; or to where it came from."""
    low = thud.Pose([0.1, 0.2, -0.3])
    found = thud.contacts(FLOOR, BOX, None, low)
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (len(found.row), 1)), atol=1e-9)
    np.testing.assert_allclose(found.depth, 0.8, atol=1e-9)
    for other in (BOX, CUBE):
        below = thud.contacts(FLOOR, other, None, low, former_b=thud.Pose([0.1, 0.2, -0.6]))
        np.testing.assert_allclose(below.normal, np.tile([0.0, 0.0, -1.0], (len(below.row), 1)), atol=1e-9)
        np.testing.assert_allclose(below.depth, 0.2, atol=1e-9)
        turned = thud.contacts(other, FLOOR, low, None, former_a=thud.Pose([0.1, 0.2, -0.6]))
        np.testing.assert_allclose(turned.normal, -below.normal, atol=1e-12)
    with pytest.raises(UnsupportedQueryError, match="former"):
        thud.contacts(BOX, BOX, None, low, former_b=low)
    with pytest.raises(InvalidInputError, match="former_b"):
        thud.contacts(FLOOR, BOX, None, low, former_b=thud.Pose(np.zeros((3, 3))))


def fine_ball(radius: float, rows: int = 24) -> thud.TriangleMesh:
    """A closed UV ball."""
    ring = 2 * rows
    polar, around = np.linspace(0.0, np.pi, rows + 1)[1:-1], np.arange(ring) * (2.0 * np.pi / ring)
    grid = np.stack(
        [
            np.outer(np.sin(polar), np.cos(around)),
            np.outer(np.sin(polar), np.sin(around)),
            np.outer(np.cos(polar), np.ones(ring)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    vertices = radius * np.concatenate([[[0.0, 0.0, 1.0]], grid, [[0.0, 0.0, -1.0]]])
    faces = []
    for k in range(ring):
        after = (k + 1) % ring
        faces.append([0, 1 + k, 1 + after])
        for row in range(rows - 2):
            i, j = 1 + row * ring + k, 1 + row * ring + after
            faces += [[i, i + ring, j + ring], [i, j + ring, j]]
        last = 1 + (rows - 2) * ring
        faces.append([len(vertices) - 1, last + after, last + k])
    return thud.TriangleMesh(vertices, faces)


@pytest.mark.parametrize("depth", [1e-6, 1e-3, 0.02, 0.1])
def test_a_fine_ball_sinks_into_a_slab(depth):
    """What crosses is a ring; the deepest vertex lies inside the slab and meets no triangle."""
    ball, slab = fine_ball(0.5), cube_mesh(2.0)
    found = thud.contacts(slab, ball, None, thud.Pose([0.1, 0.2, 2.5 - depth]))
    deepest = int(np.argmax(found.depth))
    np.testing.assert_allclose(found.normal[deepest], [0.0, 0.0, 1.0], atol=1e-3)
    assert found.depth[deepest] == pytest.approx(depth, abs=1e-6)
    np.testing.assert_allclose(found.point[deepest, :2], [0.1, 0.2], atol=1e-3)
    balls = thud.contacts(ball, ball, None, thud.Pose([0.0, 0.0, 1.0 - depth]))
    assert balls.depth.max() == pytest.approx(depth, rel=0.05, abs=1e-6)
    assert np.degrees(np.arccos(balls.normal[int(np.argmax(balls.depth)), 2])) < 3.0


def test_ids_and_triangles():
    """Ids name what touches and stay the same under small motions; triangles are rows of faces that hold the point."""
    rng = np.random.default_rng(5)
    for a, b in ((CUBE, CUBE), (CUBE, BOX), (FLOOR, CUBE), (FLOOR, BOX), (FIELD, BOX)):
        height = (1.0 if a is CUBE else 0.5) - 1e-4
        first = thud.contacts(a, b, None, thud.Pose([0.31, 0.17, height]))
        where = dict(zip(first.feature.tolist(), first.point))
        assert len(where) == len(first.row)
        for _ in range(20):
            step = rng.normal(size=3) * [1e-4, 1e-4, 1e-6]
            turn = Rotation.from_rotvec(rng.normal(size=3) * 1e-6).as_quat()[[3, 0, 1, 2]]
            again = thud.contacts(a, b, None, thud.Pose(np.array([0.31, 0.17, height]) + step, turn))
            assert set(again.feature.tolist()) == set(where)
            for feature, point in zip(again.feature.tolist(), again.point):
                assert np.linalg.norm(point - where[feature]) < 5e-4
        swapped = thud.contacts(b, a, thud.Pose([0.31, 0.17, height]), None)
        assert {(f & 0xFFFFFFFF, f >> 32) for f in swapped.feature.tolist()} == {(f >> 32, f & 0xFFFFFFFF) for f in where}
        np.testing.assert_array_equal(np.sort(swapped.triangle_b), np.sort(first.triangle_a))
        if a is not FIELD:
            for face, point, depth in zip(first.triangle_a, first.point, first.depth):
                triangle = thud.TriangleMesh(a.vertices, a.faces[[face]])
                assert thud.closest_point(triangle, point).distance[0] <= 0.5 * depth + 1e-9
        assert (first.triangle_b == -1).all() == (b is BOX)


def test_moving_both_and_scaling_changes_nothing():
    """Rigid motion and scale, from a tenth of a millimetre to ten kilometres."""
    rng = np.random.default_rng(6)
    for scale in (1e-4, 1.0, 1e4):
        cube, box = cube_mesh(0.5 * scale), thud.Box([0.5 * scale] * 3)
        apart = thud.Pose(np.array([0.3, 0.2, 0.999]) * scale)
        for other in (box, cube):
            plain = thud.contacts(cube, other, None, apart)
            for _ in range(5):
                turn = Rotation.random(random_state=rng.integers(2**31)).as_quat()[[3, 0, 1, 2]]
                place = thud.Pose(rng.normal(size=3) * scale, turn)
                moved = thud.contacts(cube, other, place, place @ apart)
                assert len(moved.row) == len(plain.row)
                np.testing.assert_allclose(moved.depth, plain.depth, atol=1e-9 * scale)
                normal = Rotation.from_quat(turn[[1, 2, 3, 0]]).apply([0.0, 0.0, 1.0])
                np.testing.assert_allclose(moved.normal, np.tile(normal, (len(moved.row), 1)), atol=1e-8)


def test_half_space():
    """Corners below the plane, spread out; a mesh well below is all in it."""
    ground = thud.HalfSpace([0.0, 0.0, 1.0], 0.25)
    found = thud.contacts(CUBE, ground, thud.Pose([3.0, 2.0, 0.745]), None)
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, -1.0], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(found.depth, 0.005, atol=1e-12)
    np.testing.assert_allclose(np.ptp(found.point, axis=0), [1.0, 1.0, 0.0], atol=1e-12)
    near = thud.contacts(ground, CUBE, None, thud.Pose([3.0, 2.0, 0.76]), margin=0.02)
    np.testing.assert_allclose(near.normal, np.tile([0.0, 0.0, 1.0], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(near.depth, -0.01, atol=1e-12)
    assert near.status.tolist() == [thud.Status.SEPARATED]


def test_the_deepest_corner_far_from_the_frame():
    """Which corner of a mesh is the deepest does not depend on where its own frame lies."""
    vertices = np.random.default_rng(3).normal(size=(200, 3)) * [1.0, 1.0, 1e-3] + [1e5, 0.0, 0.0]
    mesh = thud.TriangleMesh(vertices, np.arange(198)[:, None] + [0, 1, 2])
    found = thud.contacts(mesh, thud.HalfSpace([0.0, 0.0, 1.0], 0.0))
    assert found.depth.max() == pytest.approx(-vertices[:, 2].min(), abs=1e-9)


def test_inside_of_a_closed_mesh():
    """What touches no triangle gets what touches at the end of its way out: all of a face, with ids as any contact."""
    big = cube_mesh(2.0)
    for other, points in ((thud.Sphere(0.3), 1), (cube_mesh(0.3), 4)):
        found = thud.contacts(big, other, None, thud.Pose([0.0, 0.0, 1.2]))
        assert found.status.tolist() == [thud.Status.OVERLAPPING]
        assert len(found.row) == len(set(found.feature.tolist())) == points
        np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (points, 1)), atol=1e-3)
        np.testing.assert_allclose(found.depth, 1.1, atol=1e-3)
        np.testing.assert_allclose(np.ptp(found.point, axis=0), 0.0 if points == 1 else [0.6, 0.6, 0.0], atol=1e-3)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_fewer_points(limit):
    """At most so many; the deepest is among them."""
    at = thud.Pose([0.3, 0.2, 0.99], [np.cos(0.005), np.sin(0.005), 0.0, 0.0])
    for other in (BOX, CUBE):
        whole = thud.contacts(CUBE, other, None, at)
        found = thud.contacts(CUBE, other, None, at, max_points=limit)
        assert len(found.row) == min(limit, len(whole.row))
        assert found.depth.max() == pytest.approx(whole.depth.max(), abs=1e-9)


def grid_cube(half: np.ndarray, cells: int) -> thud.TriangleMesh:
    """A closed box whose faces are grids of cells."""
    lines, vertices, faces = np.linspace(-1.0, 1.0, cells + 1), [], []
    at = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    low = np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:]], axis=-1).reshape(-1, 3)
    high = np.stack([at[:-1, :-1], at[1:, 1:], at[:-1, 1:]], axis=-1).reshape(-1, 3)
    quads = np.concatenate([low, high])
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = np.meshgrid(lines, lines, indexing="ij")
            face = np.zeros((u.size, 3))
            face[:, axis], face[:, (axis + 1) % 3], face[:, (axis + 2) % 3] = sign, u.ravel(), v.ravel()
            faces.append((quads if sign > 0 else quads[:, ::-1]) + sum(map(len, vertices)))
            vertices.append(face)
    return thud.TriangleMesh(np.concatenate(vertices) * half, np.concatenate(faces))


def test_no_way_out_sideways_where_up_is_short():
    """Sides of two cubes that cross have normals of their own, with centimetres to go: the way up clears them by a hair."""
    rng = np.random.default_rng(0)
    big = grid_cube(np.ones(3), 1)
    for cells in (1, 2, 4):
        small = grid_cube(np.array([1.0, 0.6, 0.5]), cells)
        for _ in range(40):
            place = np.array([*rng.uniform(-1.2, 1.2, 2).round(2), 1.5 - 1e-5])
            turn = Rotation.from_rotvec([0.0, 0.0, rng.uniform(0.0, 2.0 * np.pi)]).as_quat()[[3, 0, 1, 2]]
            found = thud.contacts(big, small, None, thud.Pose(place, turn))
            if len(found.row):
                assert (found.normal[:, 2] > 0.999).all()
                assert found.depth.max() < 2e-5


def test_no_tilted_normals_within_the_margin():
    """Above the inside of a flat floor the nearest points of a triangle beside the body are at its edge; that is no contact."""
    rng = np.random.default_rng(1)
    poses = np.zeros((60, 7))
    poses[:, :2], poses[:, 2] = rng.uniform(-2.0, 2.0, (60, 2)), 0.25 + 0.01
    turn = rng.uniform(0.0, np.pi, 60)
    poses[:, 3], poses[:, 6] = np.cos(0.5 * turn), np.sin(0.5 * turn)
    for other in (cube_mesh(0.25), grid_cube(np.full(3, 0.25), 3), thud.Box([0.25] * 3)):
        for ground in (FLOOR, FIELD):
            found = thud.contacts(ground, other, None, poses, margin=0.02)
            np.testing.assert_allclose(found.normal[:, 2], 1.0, atol=1e-9)
            np.testing.assert_allclose(found.depth, -0.01, atol=1e-9)


def test_depths_at_the_ends_of_a_patch():
    """The sides of a mesh reach as far as its top; a point on a side below the edge is not as deep as the edge."""
    plank, box = thud.to_mesh(thud.Box([1.0, 0.15, 0.3])), thud.Box([0.3, 0.9, 0.9])
    for end in (0.0, 0.0005, 0.002, 0.005, 0.01, 0.05):
        for other in (box, thud.to_mesh(box)):
            found = thud.contacts(plank, other, None, thud.Pose([1.0 - 0.3 - end, 0.0, 1.198]))
            np.testing.assert_allclose(found.depth, 0.002, atol=1e-9)
            np.testing.assert_allclose(np.ptp(found.point, axis=0), [0.6, 0.3, 0.0], atol=1e-8)


def test_each_point_has_an_id_of_its_own():
    """One feature may touch in several patches, as a sphere over a corner does."""
    rng = np.random.default_rng(2)
    for other in (thud.Sphere(0.5), thud.Box([0.4, 0.3, 0.5]), thud.Cylinder(0.4, 0.5), CUBE):
        places = rng.normal(size=(60, 3))
        places *= 0.9 / np.linalg.norm(places, axis=1, keepdims=True)
        turns = Rotation.random(60, random_state=3).as_quat()[:, [3, 0, 1, 2]]
        found = thud.contacts(CUBE, other, None, np.c_[places, turns])
        names = np.stack([found.row, found.feature], axis=1)
        assert len(np.unique(names, axis=0)) == len(names)


def test_ids_last_where_faces_coincide():
    """Equal cubes in a stack that trembles: corners are now inside of each other's faces, now outside."""
    rng = np.random.default_rng(4)
    for a, b in ((CUBE, CUBE), (CUBE, BOX), (grid_cube(np.full(3, 0.5), 3), CUBE)):
        poses = np.zeros((40, 7))
        poses[:, :3], poses[:, 3] = rng.normal(size=(40, 3)) * 1e-5 + [0.0, 0.0, 1.0 - 1e-4], 1.0
        found = thud.contacts(a, b, None, poses)
        names = [set(found.feature[found.row == row].tolist()) for row in range(40)]
        assert all(len(name) == 4 for name in names)
        assert all(name == names[0] for name in names)


def test_a_ball_below_an_open_floor():
    """Its lowest vertices cross nothing: they are behind the floor all the same."""
    ball = fine_ball(0.5)
    for depth in (0.01, 0.05):
        found = thud.contacts(FLOOR, ball, None, thud.Pose([0.1, 0.2, 0.5 - depth]))
        deepest = int(np.argmax(found.depth))
        assert found.depth[deepest] == pytest.approx(depth, abs=1e-6)
        np.testing.assert_allclose(found.normal[deepest], [0.0, 0.0, 1.0], atol=1e-6)


def test_the_nearest_pair_is_there_at_any_margin():
    """Also where the shape is beside one triangle, above another, and a hair below the plane of the first."""
    rng = np.random.default_rng(7)
    vertices, faces = np.asarray(CUBE.vertices), np.asarray(CUBE.faces)
    blocks = [vertices * scale + place for scale, place in (((4.0, 2.0, 0.5), (0, 0, 0)), ((0.5, 2.0, 2.0), (1.6, 0, 1.0)))]
    channel = thud.TriangleMesh(np.concatenate(blocks), np.concatenate([faces, faces + 8]))
    for other in (thud.Box([0.4, 0.3, 0.2]), cube_mesh(0.3), thud.Capsule(0.2, 0.3)):
        turns = Rotation.random(60, random_state=8).as_quat()[:, [3, 0, 1, 2]]
        poses = np.c_[rng.uniform([-2.5, -1.5, -0.5], [2.5, 1.5, 2.5], (60, 3)), turns]
        gap = thud.distance(channel, other, None, poses)
        for row in np.flatnonzero(gap.distance > 1e-3):
            for factor in (1.1, 2.0, 5.0):
                found = thud.contacts(channel, other, None, poses[row], margin=factor * gap.distance[row])
                assert found.depth.max() == pytest.approx(-gap.distance[row], abs=1e-6)


def test_what_fills_a_closed_mesh_is_deep_in_it():
    """A ball or a box as large as the inside touches every wall from behind, at no depth; its way out is long."""
    for other in (thud.Sphere(0.5), BOX, thud.Sphere(0.5 - 1e-9), thud.Capsule(0.3, 0.2 - 1e-9)):
        for margin in (0.0, 0.01):
            found = thud.contacts(CUBE, other, None, None, margin=margin)
            assert found.status.tolist() == [thud.Status.OVERLAPPING]
            assert found.depth.max() > 0.5


def test_a_plate_that_ends_inside_a_cube_leaves_by_its_face():
    """The end of the plate meets no triangle of the cube, and no pair of triangles that cross has the face's normal for one of
    its own: all faced the plate's top and bottom, 3 m from the ends of the cube."""
    plate = grid_cube(np.array([2.0, 2.0, 0.05]), 20)
    cube = thud.to_mesh(thud.Box((2.0, 3.0, 3.0)))
    found = thud.contacts(plate, cube, None, thud.Pose([-3.5, 0.0, 0.0]))
    np.testing.assert_allclose(found.normal, np.tile([-1.0, 0.0, 0.0], (len(found.row), 1)), atol=1e-9)
    np.testing.assert_allclose(found.depth, 0.5, atol=1e-9)
    assert len(found.row) == 4
    assert np.ptp(found.point[:, 1]) == pytest.approx(4.0)


def test_many_points_are_thinned_out_without_loss_of_width():
    """Two cubes of 1,600 triangles a side have more points than there is room for: what is dropped on the way lies inside."""
    fine = grid_cube(np.full(3, 0.5), 28)
    turn = np.pi / 12.0
    found = thud.contacts(fine, fine, None, thud.Pose([0.013, 0.007, 0.999], [np.cos(turn), 0.0, 0.0, np.sin(turn)]))
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (len(found.row), 1)), atol=1e-9)
    np.testing.assert_allclose(found.depth, 1e-3, atol=1e-9)
    # The common octagon is about 1 m wide, and 1.08 m across.
    for angle in np.linspace(0.0, np.pi, 12, endpoint=False):
        assert np.ptp(found.point @ [np.cos(angle), np.sin(angle), 0.0]) > 0.7


def test_a_spike_is_deepest_below_a_triangle_that_it_does_not_meet():
    """A cone goes in through one triangle of a floor, slantwise, and ends below the next: its way out is that of the tip."""
    floor = grid_cube(np.array([2.0, 2.0, 0.5]), 8)
    cone = thud.Cone(0.1, 0.5)
    lean = np.radians(70.0)
    turn = [np.cos(0.5 * (np.pi - lean)), 0.0, np.sin(0.5 * (np.pi - lean)), 0.0]
    for x in np.linspace(0.0, 0.5, 11):
        tip = np.array([x, 0.1, 0.4])
        axis = np.array([np.sin(lean), 0.0, -np.cos(lean)])
        found = thud.contacts(floor, cone, None, thud.Pose(tip - 0.5 * axis, turn))
        up = found.normal[:, 2] > 1.0 - 1e-9
        assert up.all()
        assert found.depth.max() == pytest.approx(0.1, abs=1e-7)


def test_a_margin_changes_no_depth_of_finely_meshed_balls():
    # Within a margin of many triangles' size there are thousands of pairs, of which the nearest of each triangle are used:
    # without those that lie behind each other a depth of 2 mm came out up to 0.4 mm too small.
    ball = thud.to_mesh(thud.Sphere(1.0), segments=120)
    rng = np.random.default_rng(8)
    poses = np.zeros((12, 7))
    poses[:, 3:] = rng.normal(size=(12, 4))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1)[:, None]
    poses[:, :3] = rng.normal(size=(12, 3))
    poses[:, :3] *= (1.998 / np.linalg.norm(poses[:, :3], axis=1))[:, None]
    deepest = []
    for margin in (0.0, 0.0156, 0.05):
        found = thud.contacts(ball, ball, None, poses, margin=margin)
        deepest.append([found.depth[found.row == row].max(initial=0.0) for row in range(12)])
    assert np.min(deepest[0]) > 1e-4
    assert np.abs(np.array(deepest[1:]) - deepest[0]).max() < 2e-6


def ring(sides: int = 12, inner: float = 0.3, outer: float = 0.5, half: float = 0.1) -> thud.TriangleMesh:
    """A closed ring of blocks about the z axis."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    corners = [(inner, -half), (outer, -half), (outer, half), (inner, half)]
    points = np.array([[r * np.cos(a), r * np.sin(a), z] for a in angle for r, z in corners])
    faces = []
    for k in range(sides):
        for i in range(4):
            a, b = 4 * k + i, 4 * k + (i + 1) % 4
            c, d = (a + 4) % len(points), (b + 4) % len(points)
            faces += [[a, c, b], [b, c, d]]
    return thud.TriangleMesh(points, np.array(faces))


@pytest.mark.parametrize(
    ("pose", "margin"),
    [
        ([0.298465, 0.137181, 0.297851, 0.273035, 0.684654, -0.669468, -0.092268], 0.01171875),
        ([0.29797, 0.137848, 0.298561, 0.273804, 0.68509, -0.668773, -0.091792], 0.01171875),
        ([0.335279, 0.482499, 0.180828, 0.324892, 0.189742, 0.68439, 0.624543], 0.0078125),
    ],
)
def test_a_margin_takes_no_overlap_away(pose, margin):
    # Triangles that cross were given to the direction of a near pair that is apart, since along it they clear each other by a
    # shorter way; but it pushes nothing out. So the row overlapped and had no contact that did.
    pose = np.array(pose)
    pose[3:] /= np.linalg.norm(pose[3:])
    body = ring()
    alone, found = thud.contacts(body, body, None, pose), thud.contacts(body, body, None, pose, margin=margin)
    assert found.depth.max() == pytest.approx(alone.depth.max(), rel=1e-3)
    # What is apart within the margin is told too.
    assert (found.depth < 0.0).any()


def shallow_overlaps(body: thud.TriangleMesh, count: int, seed: int) -> np.ndarray:
    """Poses (N, 7) of a body in which it overlaps itself by 0.01 to 5 mm."""
    rng = np.random.default_rng(seed)
    poses = np.concatenate([rng.uniform(-0.8, 0.8, (count, 3)), rng.normal(size=(count, 4))], axis=1)
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1)[:, None]
    found, depth = thud.distance(body, body, None, poses, signed=True), rng.choice([1e-5, 1e-4, 1e-3, 5e-3], count)
    poses[:, :3] -= (found.distance + depth)[:, None] * found.normal
    moved = thud.distance(body, body, None, poses, signed=True).distance
    return poses[np.abs(moved + depth) < 1e-3 * depth]


def test_a_margin_changes_no_depth_of_rings():
    # Corners inside the other body were given to the normal of a near pair that is apart, along which the way out is long:
    # 0.6 m for an overlap of 2 mm. One row in forty was deeper by a fifth or more within a margin of 3 cm, and rings
    # that rested on each other were kicked.
    from thud.mesh.manifolds.contacts import mesh_mesh_contacts

    body = ring()
    poses = shallow_overlaps(body, 1500, 0)
    many, first = len(poses), np.array([0.232565, 0.106352, 0.200874, 0.006832, 0.308094, -0.951331, 0.000296])
    poses = np.concatenate([poses, [first / np.r_[np.ones(3), np.full(4, np.linalg.norm(first[3:]))]]])
    assert many > 1200

    def deepest(found: thud.Contacts) -> np.ndarray:
        depth = np.full(many + 1, -np.inf)
        np.maximum.at(depth, found.row, found.depth)
        return depth

    alone = deepest(thud.contacts(body, body, None, poses))
    rows = thud.Pose([0.0, 0.0, 0.0]).rows, thud.Pose.from_array(poses).rows
    for margin in (0.01, 0.03):
        within = deepest(thud.contacts(body, body, None, poses, margin=margin))
        assert (np.abs(within - alone) <= 0.5 * alone + 1e-5).all()
        # In a step of a world depths up to a tenth of the margin are not looked at again.
        found = mesh_mesh_contacts(body, body, *rows, many + 1, margin=margin, max_points=4, nearest=True, threads=1)
        assert (np.abs(deepest(found) - alone) <= 0.5 * alone + 0.1 * margin).all()


def test_of_very_many_pairs_the_nearest_are_kept():
    # In a step of a world: the margin of two balls of 28,000 triangles that fall fast holds ten thousand pairs. Its shrinking
    # must not go below the nearest pair, or nothing would stop them.
    from thud.mesh.manifolds.contacts import mesh_mesh_contacts

    ball = thud.to_mesh(thud.Sphere(1.0), segments=120)
    way = np.random.default_rng(4).normal(size=(20, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    for apart in (1e-6, 0.01, 0.1, 0.19):
        poses = thud.Pose((2.0 + apart) * way)
        gap = thud.distance(ball, ball, None, poses).distance
        rows = thud.Pose([0.0, 0.0, 0.0]).rows, poses.rows
        found = mesh_mesh_contacts(ball, ball, *rows, 20, margin=0.2, max_points=4, nearest=True, threads=1)
        nearest = np.full(20, -np.inf)
        np.maximum.at(nearest, found.row, found.depth)
        np.testing.assert_allclose(nearest, -gap, atol=1e-6)
