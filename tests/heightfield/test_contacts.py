"""Contacts with a height field: normals of the surface, depths that clear it, points between the two surfaces."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.heightfield.fields import PLACE, make, mesh_of, others, poses_about

COUNT = 12 if os.environ.get("THUD_TEST_SIZE") == "small" else 40
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


def test_the_depth_of_a_patch_clears_its_triangles():
    """For a convex shape: moved by the deepest contact along its normal, it meets the patch's triangles no more."""
    field, shape = make("smooth", thickness=None), OTHERS["hull"]
    poses = poses_about(field, COUNT, seed=9, below=0.1, above=0.2)
    found = thud.contacts(field, shape, None, poses)
    vertices, faces, numbers = field.surface()
    for row in np.unique(found.row):
        for patch in np.unique(found.patch[found.row == row]):
            own = (found.row == row) & (found.patch == patch)
            deepest = np.flatnonzero(own)[np.argmax(found.depth[own])]
            chosen = np.isin(numbers, found.triangle_a[own])
            sheet = thud.TriangleMesh(vertices, faces[chosen])
            shift = (found.depth[deepest] * (1.0 + 1e-6) + 1e-7) * found.normal[deepest]
            at = thud.Pose(np.asarray(poses.position)[row] + shift, np.asarray(poses.quaternion)[row])
            assert not thud.intersects(sheet, shape, None, at).any()


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
