"""Contacts with a height field: normals of the surface, depths that clear it, points between the two surfaces."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import thud
from tests.heightfield.fields import PLACE, make, mesh_of, others, poses_about
from tests.mesh.test_manifolds import ring

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"
COUNT = 12 if SMALL else 40
OTHERS = others()
FLAT = thud.HeightField(np.zeros((33, 33)), 0.1, (-1.6, -1.6, 0.0))


@pytest.mark.parametrize("depth", [1e-3, 0.05])
@pytest.mark.parametrize(
    ("shape", "rest", "count"),
    [
        (thud.Sphere(0.3), 0.3, 1),
        (thud.Box((0.25, 0.45, 0.2)), 0.2, 4),
        (thud.Cylinder(0.3, 0.2), 0.2, 4),
        (thud.to_mesh(thud.Box((0.25, 0.45, 0.2))), 0.2, 4),
    ],
)
def test_on_flat_ground_all_points_are_alike(shape, rest, count, depth):
    """One patch, straight up, as deep as the shape was let down; internal walls of the ground show nowhere."""
    for x in (0.0, 0.03, 0.05):
        found = thud.contacts(FLAT, shape, None, thud.Pose([x, 0.02, rest - depth]))
        assert found.status.tolist() == [thud.Status.OVERLAPPING]
        assert len(found.row) >= count
        np.testing.assert_allclose(found.normal, np.tile([0.0, 0.0, 1.0], (len(found.row), 1)), atol=1e-9)
        assert found.depth.max() == pytest.approx(depth, abs=1e-8)
        assert (found.patch == 0).all()
        np.testing.assert_allclose(found.point[:, 2], -0.5 * found.depth, atol=1e-8)
    spread = np.ptp(found.point, axis=0)
    if count >= 4:
        # Four points of a disc span 70 % of it.
        assert spread[0] > 0.42
        assert spread[1] > 0.35


def test_a_half_space_touches_all_of_a_side():
    """Of many corners in a half-space those that span them: of the top, the underside, a wall. Each has an id of its own
    and the triangle that it is a corner of."""
    field = thud.HeightField(np.zeros((65, 65)), 0.5, thickness=2.0)
    for normal, offset, extent in (
        ([0.0, 0.0, 1.0], -2.0, [32.0, 32.0, 0.0]), ([0.0, 0.0, -1.0], 0.0, [32.0, 32.0, 0.0]),
        ([1.0, 0.0, 0.0], 0.0, [0.0, 32.0, 2.0]), ([0.0, -1.0, 0.0], -32.0, [32.0, 0.0, 2.0]),
    ):  # fmt: skip
        plane = thud.HalfSpace(normal, offset + 0.01)
        found = thud.contacts(field, plane)
        assert len(found.row) == len(set(found.feature.tolist())) == 4
        np.testing.assert_allclose(found.depth, 0.01, atol=1e-12)
        np.testing.assert_allclose(np.ptp(found.point, axis=0), extent, atol=1e-12)
        np.testing.assert_allclose(found.normal, np.tile(-np.array(normal), (4, 1)), atol=1e-12)
        vertices, faces, numbers = field.surface()
        for point, triangle in zip(found.point, found.triangle_a):
            corners = vertices[faces[np.flatnonzero(numbers == triangle)[0]]]
            assert np.abs(corners[:, :2] - point[:2]).max(axis=1).min() < 0.01
        swapped = thud.contacts(plane, field)
        np.testing.assert_array_equal(swapped.feature >> 32, found.feature & 0xFFFFFFFF)


@pytest.mark.parametrize("kind", ["rough", "holes", "far"])
def test_half_spaces_with_corners_of_the_ground(kind):
    """Points are corners of the ground midway to the plane, the deepest among them, that span them as four can."""
    field, plane = make(kind), thud.HalfSpace([0.3, -0.2, -1.0], 0.4)
    corners, rng = np.asarray(mesh_of(field).vertices), np.random.default_rng(5)
    turns = rng.normal(size=(COUNT, 4))
    poses = thud.Pose(field.bounding_sphere()[0] + rng.normal(size=(COUNT, 3)), turns / np.linalg.norm(turns, axis=1)[:, None])
    found, tight = thud.contacts(field, plane, None, poses), 1e-11 * np.abs(corners).max()
    for row in range(COUNT):
        turn = Rotation.from_quat(np.array(poses.quaternion)[row, [1, 2, 3, 0]])
        normal = turn.apply(np.array(plane.normal))
        deep = plane.offset - (corners - np.array(poses.position)[row]) @ normal
        own = found.row == row
        assert own.any() == (deep >= 0.0).any()
        if own.any():
            assert found.depth[own].max() == pytest.approx(deep.max(), abs=tight)
            on = found.point[own] - 0.5 * found.depth[own, None] * normal
            assert np.linalg.norm(on[:, None] - corners[deep >= -tight], axis=2).min(axis=1).max() < tight
            across = np.linalg.svd(normal[None])[2][1:].T
            if own.sum() == 4:
                # Four points can span 2 / pi of any outline, three 41 %, if they are the best; the deepest may be within.
                assert ConvexHull(on @ across).volume >= 0.35 * ConvexHull(corners[deep > tight] @ across).volume


def test_a_capsule_that_lies_has_two_ends():
    """So that it does not rock."""
    lying = thud.Pose([0.0, 0.0, 0.14], [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    found = thud.contacts(FLAT, thud.Capsule(0.15, 0.4), None, lying)
    assert found.point[:, 0].min() < -0.39
    assert found.point[:, 0].max() > 0.39
    np.testing.assert_allclose(found.depth.max(), 0.01, atol=1e-8)


def test_a_box_at_a_cliff_has_two_normals():
    """The ground it stands on and the wall it leans on are patches of their own."""
    heights = np.zeros((9, 9))
    heights[:, 5:] = 2.0
    field = thud.HeightField(heights, 0.25)
    # The wall goes up from x = 1 to x = 1.25.
    found = thud.contacts(field, thud.Box((0.2, 0.2, 0.2)), None, thud.Pose([0.81, 1.0, 0.199]))
    assert found.patch.max() == 1
    normals = {tuple(np.round(n, 6)) for n in found.normal}
    assert (0.0, 0.0, 1.0) in normals
    assert any(n[0] < -0.9 for n in normals)
    assert found.depth.max() < 0.02


def test_beside_the_border_the_way_out_is_through_the_wall():
    """Ground that is met at its end only is not left upwards."""
    for thickness in (None, 3.0):
        field = thud.HeightField(np.zeros((5, 5)), 1.0, thickness=thickness)
        found = thud.contacts(field, thud.Sphere(0.5), None, thud.Pose([-0.45, 2.0, -2.0]))
        np.testing.assert_allclose(found.normal[0], [-1.0, 0.0, 0.0], atol=1e-9)
        assert found.depth[0] == pytest.approx(0.05, abs=1e-7)
    layer = thud.HeightField(np.zeros((5, 5)), 1.0, thickness=0.5)
    found = thud.contacts(layer, thud.Sphere(0.5), None, thud.Pose([2.1, 2.0, -0.95]))
    np.testing.assert_allclose(found.normal[0], [0.0, 0.0, -1.0], atol=1e-9)
    assert found.depth[0] == pytest.approx(0.05, abs=1e-7)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(("kind", "thickness"), [("rough", None), ("smooth", 5.0), ("holes", 0.4), ("cliffs", None)])
def test_points_lie_between_the_surfaces(kind, thickness, other):
    """No point is farther from either than half its depth, and moving by the depth along the normal is no way in."""
    field, shape = make(kind, thickness=thickness), OTHERS[other]
    poses = PLACE @ poses_about(field, COUNT, seed=8, below=0.2, above=0.2)
    found = thud.contacts(field, shape, PLACE, poses)
    hit = thud.intersects(field, shape, PLACE, poses)
    np.testing.assert_array_equal(found.status == thud.Status.OVERLAPPING, hit)
    np.testing.assert_array_equal(np.unique(found.row), np.flatnonzero(hit))
    assert (found.depth > -1e-9).all()
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-9)
    ground = thud.closest_point(field, found.point, pose=PLACE, signed=True).distance
    assert (ground <= 0.5 * found.depth + 1e-6).all()
    own = found.point[:, None] if other not in ("parts", "mixed", "open mesh") else found.point[:0, None]
    for point, row, depth in zip(own[:, 0], found.row, found.depth):
        gap = thud.closest_point(shape, point, pose=poses[int(row)], signed=True).distance[0]
        assert gap <= 0.5 * depth + 1e-6
    swapped = thud.contacts(shape, field, poses, PLACE)
    np.testing.assert_array_equal(swapped.normal, 0.0 - found.normal)
    np.testing.assert_array_equal(swapped.depth, found.depth)


def _moved(poses, found, k):
    """The pose of a contact's row, moved along its normal by a hair more than its depth."""
    row, shift = int(found.row[k]), (found.depth[k] * (1.0 + 1e-6) + 1e-7) * found.normal[k]
    return thud.Pose(np.asarray(poses.position)[row] + shift, np.asarray(poses.quaternion)[row])


def test_the_depth_of_a_patch_clears_its_triangles():
    """For a convex shape: moved by the deepest contact along its normal, it meets the patch's triangles no more. Away from the
    border, where walls are named by the triangles above them."""
    field, shape = make("smooth", thickness=None), OTHERS["hull"]
    poses = poses_about(field, COUNT, seed=9, below=0.1, above=0.2)
    lower, upper = (corner[0] for corner in (field.to_mesh().bounds().lower, field.to_mesh().bounds().upper))
    place = np.asarray(poses.position)[:, :2]
    poses = poses[np.flatnonzero(((place > lower[:2] + 1.0) & (place < upper[:2] - 1.0)).all(axis=1))]
    found = thud.contacts(field, shape, None, poses)
    assert len(found.row)
    vertices, faces, numbers = field.surface()
    for row in np.unique(found.row):
        for patch in np.unique(found.patch[found.row == row]):
            own = (found.row == row) & (found.patch == patch)
            deepest = np.flatnonzero(own)[np.argmax(found.depth[own])]
            chosen = np.isin(numbers, found.triangle_a[own])
            if found.triangle_a[deepest] < 0:
                # Below all triangles: the end of the way out.
                assert not thud.intersects(field, shape, None, _moved(poses, found, deepest)).any()
                continue
            sheet = thud.TriangleMesh(vertices, faces[chosen])
            assert not thud.intersects(sheet, shape, None, _moved(poses, found, deepest)).any()


def test_margin_gives_what_is_near():
    """Apart by less than the margin: negative depths, the nearest among them."""
    for kind in ("flat", "rough", "holes"):
        field = make(kind)
        poses = poses_about(field, COUNT, seed=10)
        for other in ("box", "sphere", "hull", "mesh"):
            gap = thud.distance(field, OTHERS[other], None, poses)
            found = thud.contacts(field, OTHERS[other], None, poses, margin=0.25)
            near = np.flatnonzero(gap.distance <= 0.25)
            np.testing.assert_array_equal(np.unique(found.row), near)
            for row in near[gap.distance[near] > 0.0]:
                depth = found.depth[found.row == row]
                assert depth.max() == pytest.approx(-gap.distance[row], abs=1e-6)
                assert depth.min() >= -0.25 - 1e-9
    above = thud.contacts(FLAT, thud.Box((0.3, 0.3, 0.3)), None, thud.Pose([0.0, 0.0, 0.301]), margin=0.01)
    assert len(above.row) >= 4
    np.testing.assert_allclose(above.depth, -1e-3, atol=1e-9)


def test_many_triangles_and_few_points():
    """A plate over a whole field, and no more points a patch than asked for."""
    field = thud.HeightField(0.01 * np.random.default_rng(1).normal(size=(60, 60)), 0.05)
    plate = thud.Box((2.0, 2.0, 0.1))
    found = thud.contacts(field, plate, None, thud.Pose([1.5, 1.5, 0.1]), max_points=4)
    assert np.bincount(found.patch).max() <= 4
    assert found.depth.max() == pytest.approx(float(np.asarray(field.heights).max()), abs=2e-3)


def test_contacts_are_those_of_the_mesh_where_both_are_plain():
    """A box on smooth ground: nearly the normal and depth that the mesh's contacts have."""
    y, x = np.mgrid[:40, :40] * 0.2
    field = thud.HeightField(0.3 * np.sin(0.5 * x) + 0.2 * np.cos(0.6 * y), 0.2)
    mesh, box = mesh_of(field, 5.0), thud.Box((0.1, 0.1, 0.1))
    for x, y in ((2.03, 3.07), (5.11, 1.94), (4.47, 6.53)):
        z = 0.3 * np.sin(0.5 * x) + 0.2 * np.cos(0.6 * y)
        pose = thud.Pose([x, y, z + 0.08])
        found, known = thud.contacts(field, box, None, pose), thud.contacts(mesh, box, None, pose)
        assert found.normal[0] @ known.normal[0] > 0.98
        assert found.depth.max() == pytest.approx(known.depth.max(), rel=0.25, abs=5e-3)


def _slide(field, shape, places, normal, depth):
    """Contacts at each place are flat on the ground: one normal, the depth that the shape was let down by, ids of their own."""
    found = thud.contacts(field, shape, None, thud.Pose(places))
    assert len(np.unique(found.row)) == len(places)
    np.testing.assert_allclose(found.normal, np.tile(normal, (len(found.row), 1)), atol=1e-9)
    np.testing.assert_allclose(found.depth, depth, atol=1e-9)
    assert len(set(zip(found.row.tolist(), found.feature.tolist()))) == len(found.row)
    return found


@pytest.mark.parametrize("thickness", [None, 6.0])
@pytest.mark.parametrize("as_mesh", [False, True])
def test_nothing_catches_on_the_edges_of_a_wall(thickness, as_mesh):
    """Upright edges, diagonals and the line where a wall of ground without end is cut off bend by nothing: they have no normal
    of their own. Tops are rough, so that they have other normals, but none is near."""
    rng = np.random.default_rng(3)
    field = thud.HeightField(rng.uniform(2.0, 3.0, (24, 24)), (0.3, 0.2), thickness=thickness)
    box = thud.Box((0.3, 0.25, 0.35))
    shape = thud.to_mesh(box) if as_mesh else box
    y = rng.uniform(1.0, 3.6, COUNT)
    z = rng.uniform(-0.5, 0.5, COUNT)
    low, high = np.full(COUNT, -0.299), np.full(COUNT, 23 * 0.3 + 0.299)
    found = _slide(field, shape, np.stack([low, y, z], axis=1), [-1.0, 0.0, 0.0], 1e-3)
    assert (np.bincount(found.row) == 4).all()
    _slide(field, shape, np.stack([high, y, z], axis=1), [1.0, 0.0, 0.0], 1e-3)


@pytest.mark.parametrize("as_mesh", [False, True])
def test_nothing_catches_on_the_edges_of_an_underside(as_mesh):
    """The same below a flat layer with a rough copy of it elsewhere."""
    rng = np.random.default_rng(4)
    field = thud.HeightField(np.zeros((24, 24)), (0.3, 0.2), thickness=0.5)
    box = thud.Box((0.3, 0.25, 0.35))
    places = np.stack([rng.uniform(1.0, 5.0, COUNT), rng.uniform(1.0, 3.6, COUNT), np.full(COUNT, -0.5 - 0.349)], axis=1)
    found = _slide(field, thud.to_mesh(box) if as_mesh else box, places, [0.0, 0.0, -1.0], 1e-3)
    assert (np.bincount(found.row) == 4).all()


def test_walls_have_triangles_and_ids_of_their_own():
    """A box in the corner of a hole touches two walls: two patches, the triangles above them, and no id twice, though the same
    corners of the box touch both."""
    heights = np.ones((9, 9))
    heights[3:6, 3:6] = np.nan
    field = thud.HeightField(heights, 1.0)
    # The hole reaches from 2 to 6; its corner at (2, 2) is square, as both triangles of that cell have a hole for a corner.
    found = thud.contacts(field, thud.Box((0.5, 0.5, 0.5)), None, thud.Pose([2.499, 2.4985, 0.0]))
    assert found.patch.max() == 1
    for axis, depth in ((0, 1e-3), (1, 1.5e-3)):
        own = found.normal[:, axis] > 0.5
        np.testing.assert_allclose(found.normal[own], np.tile(np.eye(3)[axis], (own.sum(), 1)), atol=1e-9)
        np.testing.assert_allclose(found.depth[own], depth, atol=1e-9)
        assert own.sum() == 4
        cells = found.triangle_a[own] // 2
        # Of the cells before the hole.
        assert set((cells % 8 if axis == 0 else cells // 8).tolist()) == {1}
    assert len(set(found.feature.tolist())) == 8


@pytest.mark.parametrize("thickness", [None, 4.0])
def test_what_is_deep_gets_the_way_out(thickness):
    """A ball that shows at no facet, deep in the ground near its border, is led out through the wall."""
    field = thud.HeightField(np.zeros((21, 21)), 0.1, thickness=thickness)
    found = thud.contacts(field, thud.Sphere(0.2), None, thud.Pose([0.3, 1.03, -1.5]))
    assert found.status.tolist() == [thud.Status.OVERLAPPING]
    assert found.depth.tolist() == [pytest.approx(0.5, abs=1e-6)]
    np.testing.assert_allclose(found.normal, [[-1.0, 0.0, 0.0]], atol=1e-3)


def test_a_fine_mesh_deep_in_a_wall():
    """Triangles of the mesh that are farther in than a cell meet no prism at the border: rays along the normal tell their
    depth. And a thin layer that ends inside of a mesh, whose prisms there meet no triangle of it."""
    field = thud.HeightField(np.zeros((41, 41)), 0.1)
    ball = thud.to_mesh(thud.Sphere(0.6), segments=48)
    found = thud.contacts(field, ball, None, thud.Pose([-0.2, 2.0, -3.0]))
    assert found.depth.max() == pytest.approx(0.4, abs=5e-3)
    np.testing.assert_allclose(found.normal[np.argmax(found.depth)], [-1.0, 0.0, 0.0], atol=0.02)
    layer = thud.HeightField(np.zeros((41, 41)), 0.1, thickness=0.1)
    box = thud.to_mesh(thud.Box((2.0, 3.0, 3.0)))
    found = thud.contacts(layer, box, None, thud.Pose([-1.5, 2.0, 0.0]))
    assert found.depth.max() == pytest.approx(0.5, abs=1e-9)
    np.testing.assert_allclose(found.normal[np.argmax(found.depth)], [-1.0, 0.0, 0.0], atol=1e-9)


LAYERS = ("flat", "rough", "holes", "islands", "cliffs", "two by two", "narrow")


def _deepest(found, count):
    """(N,) greatest depth of each row, -inf of none."""
    deepest = np.full(count, -np.inf)
    np.maximum.at(deepest, found.row, found.depth)
    return deepest


@pytest.mark.parametrize("other", ["sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "hull"])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_is_the_closed_mesh_of_it(kind, other):
    """The same ground, made by the tests, as a closed mesh: the same depths, at walls, at the underside and inside."""
    field, shape = make(kind, thickness=0.4), OTHERS[other]
    poses = poses_about(field, COUNT, seed=12, below=0.5, above=0.1)
    found, known = thud.contacts(field, shape, PLACE, PLACE @ poses), thud.contacts(mesh_of(field), shape, PLACE, PLACE @ poses)
    np.testing.assert_array_equal(found.status, known.status)
    own, true = _deepest(found, COUNT), _deepest(known, COUNT)
    np.testing.assert_array_equal(np.isfinite(own), np.isfinite(true))
    met = np.isfinite(own)
    # Where two ways are as short, roundoff decides.
    assert (np.abs(own[met] - true[met]) <= 1e-6).mean() > 0.9


@pytest.mark.parametrize("kind", LAYERS)
def test_a_mesh_in_a_layer_is_about_as_deep_as_its_way_out(kind):
    """Walls and undersides included; of the same ground as a closed mesh."""
    field, shape = make(kind, thickness=0.4), OTHERS["mesh"]
    poses = poses_about(field, 12 * COUNT, seed=12, below=0.9, above=0.4)
    way = -thud.distance(mesh_of(field), shape, PLACE, PLACE @ poses, signed=True).distance
    rows = np.flatnonzero((way > 0.0) & (way < 0.03))
    own = _deepest(thud.contacts(field, shape, PLACE, PLACE @ poses[rows]), len(rows))
    assert len(rows) >= 5 or COUNT < 40
    assert (own > 0.6 * way[rows]).mean() >= 0.9
    assert (own < 1.5 * way[rows]).mean() >= 0.85


def test_a_margin_changes_no_depth_of_a_ring_on_rough_ground():
    # Corners in the ground were given to the normal of a facet near by that is apart from the ring, along which the way out is
    # long. What is left of them has no contact of its own without a margin.
    rng, count = np.random.default_rng(0), 300 if SMALL else 1500
    field = thud.HeightField(0.3 * rng.normal(size=(17, 17)), 0.35, (-2.8, -2.8, 0.0), thickness=2.0)
    at = rng.uniform([-1.5, -1.5, -0.5], [1.5, 1.5, 1.5], (count, 3))
    poses = np.column_stack([at, Rotation.random(count, random_state=1).as_quat()])
    found, depth = thud.distance(field, ring(), None, poses, signed=True), rng.choice([1e-5, 1e-4, 1e-3, 5e-3], count)
    poses[:, :3] -= (found.distance + depth)[:, None] * found.normal
    poses = poses[np.abs(thud.distance(field, ring(), None, poses, signed=True).distance + depth) < 1e-3 * depth]
    assert len(poses) > count / 4
    alone = _deepest(thud.contacts(field, ring(), None, poses), len(poses))
    within = _deepest(thud.contacts(field, ring(), None, poses, margin=0.03), len(poses))
    assert (within < 0.7 * alone).mean() < 0.003
    assert (within > 1.3 * alone + 1e-6).mean() < 0.01
