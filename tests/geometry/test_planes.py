"""Points and spheres against planes and frusta: closed forms of [Slides]."""

import numpy as np
import pytest

from thud import geometry
from thud.errors import InvalidInputError


def test_sphere_completely_behind_a_plane():
    plane = [0, 0, 2, -4]  # z = 2, normal +z, not of unit length
    centers = [[0, 0, 0], [0, 0, 0.5], [5, 5, 1], [0, 0, 4]]
    assert geometry.sphere_plane(centers, 1.0, plane).tolist() == [True, True, False, False]
    assert geometry.sphere_plane_distance(centers, 1.0, plane).tolist() == [-3.0, -2.5, -2.0, 1.0]


def test_sphere_that_touches_from_behind_is_not_completely_behind():
    assert not geometry.sphere_plane([0, 0, -1], 1.0, [0, 0, 1, 0])[0]


def test_point_plane_is_the_signed_distance():
    rng = np.random.default_rng(2)
    points, planes = rng.normal(size=(50, 3)), rng.normal(size=(50, 4))
    expected = ((points * planes[:, :3]).sum(axis=1) + planes[:, 3]) / np.linalg.norm(planes[:, :3], axis=1)
    assert np.allclose(geometry.point_plane(points, planes), expected, rtol=1e-13, atol=1e-14)


def test_scaling_a_plane_changes_nothing():
    plane = np.array([1.0, -2.0, 3.0, 0.7])
    for scale in (1e-200, 1e-30, 1e30):
        if np.abs(plane * scale).max() <= 1e75:
            assert np.isclose(geometry.point_plane([1, 2, 3], plane * scale)[0], geometry.point_plane([1, 2, 3], plane)[0])


def test_sphere_frustum():
    # The cube |x| <= 1 as six planes whose normals point into it.
    planes = [[-1, 0, 0, 1], [1, 0, 0, 1], [0, -1, 0, 1], [0, 1, 0, 1], [0, 0, -1, 1], [0, 0, 1, 1]]
    centers = [[0, 0, 0], [1.9, 0, 0], [2, 0, 0], [2.1, 0, 0], [-5, 0, 0], [1.9, 1.9, 1.9]]
    # The last is outside, but not wholly behind any one plane: the test keeps it, as [Slides] do.
    assert geometry.sphere_frustum(centers, 1.0, planes).tolist() == [True, True, True, False, False, True]
    # One frustum per row.
    shifted = np.stack([planes, np.array(planes) + [[0, 0, 0, -0.5]] * 6])
    assert geometry.sphere_frustum([1.9, 0, 0], 1.0, shifted).tolist() == [True, False]


def test_box_frustum():
    rng = np.random.default_rng(8)
    planes = geometry.frustum_planes([0, 0, 0], [1, 0, 0], [0, 0, 1], [0.9, 0.7], 0.5, 9.0)
    center, half = rng.uniform([-3, -6, -6], [12, 6, 6], (2000, 3)), rng.uniform(0, 1, (2000, 3))
    found = geometry.box_frustum(center - half, center + half, planes)
    # All eight corners behind one plane.
    signs = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]) * 2 - 1
    corners = center[:, None] + signs * half[:, None]
    behind = (np.einsum("nci,pi->npc", corners, planes[:, :3]) + planes[:, 3, None] < 0).all(axis=2).any(axis=1)
    np.testing.assert_array_equal(found, ~behind)
    assert 0.1 < found.mean() < 0.9
    # A box that a sphere about it proves unseen is unseen.
    assert not (found & ~geometry.sphere_frustum(center, np.linalg.norm(half, axis=1), planes)).any()
    with pytest.raises(InvalidInputError, match="row 0"):
        geometry.box_frustum([1, 0, 0], [0, 1, 1], planes)
