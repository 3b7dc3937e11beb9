"""Pictures: what is in front hides what is behind, and files are written."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from reproductions.terrains import sphere_field
from reproductions.yang.pictures import body_triangles, primitive_triangles, surface_picture
from reproductions.yang.render import Camera, render
from thud.terrain import from_field


def test_the_nearer_triangle_is_seen_and_the_rest_is_white():
    corners = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])
    triangles = np.stack([corners, corners * 0.5 + [0.2, 0.2, 1.0]])
    colors = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    image = render(triangles, colors, Camera.around(triangles.reshape(-1, 3), (90.0, -90.0)), columns=40)
    assert image.shape == (40, 40, 3)
    # Seen from above with x to the right and y up: the small blue one lies over the red one at its lower left.
    assert image[30, 10, 2] > image[30, 10, 0]
    assert image[37, 25, 0] > image[37, 25, 2]
    np.testing.assert_array_equal(image[2, 38], 1.0)


@pytest.mark.parametrize("four", [False, True])
def test_surface_picture_is_written(tmp_path, four):
    surface = from_field(sphere_field(3.0), [-4.0] * 3, [4.0] * 3, 2.0, samples=4, quadrilaterals=four).surface
    base, lines = primitive_triangles(surface)
    assert len(base) == 2 * len(surface.quads)
    assert lines.sum() == (4 if four else 6) * len(surface.quads)
    path = surface_picture(surface, tmp_path / "surface.png", columns=60)
    assert path.stat().st_size > 1000


def test_triangles_of_a_body_run_outward():
    box = thud.ConvexHull(np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)]))
    triangles = body_triangles(thud.Compound([box, box], [thud.Pose([0.0, 0, 0]), thud.Pose([5.0, 0, 0])]))
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0 == pytest.approx(12.0)
