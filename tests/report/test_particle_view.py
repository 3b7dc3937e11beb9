"""Pictures of colliders: the nearest is seen, shadows lie where they must, splats are where particles hit."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError
from thud.particles import Blobs, Disc, ImplicitPatches, Mesh, ParticleSystem, Plane, Quadric, Rectangle, Solid, scenes
from thud.report.camera import Camera
from thud.report.particle_view import SUN, Look, view
from thud.report.rain_pictures import SPLAT, paint_scene, scene_camera
from thud.report.splat_textures import some, splat_textures

CAMERA = Camera([0.0, -6.0, 4.0], [0.0, 0.0, 0.0], field=1.0, width=60, height=40)


def test_rays_go_where_points_are_seen():
    rays = CAMERA.rays()
    assert rays.shape == (2400, 3)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1.0)
    at, distance = CAMERA.see(np.asarray(CAMERA.eye) + 7.0 * rays)
    np.testing.assert_allclose(distance, 7.0)
    x, y = np.meshgrid(np.arange(60) + 0.5, np.arange(40) + 0.5)
    np.testing.assert_allclose(at, np.column_stack([x.ravel(), y.ravel()]), atol=1e-9)
    rows = np.array([5, 77])
    np.testing.assert_array_equal(CAMERA.rays(2, rows), CAMERA.rays(2)[rows])


def test_points_behind_the_eye_have_no_pixel():
    at, distance = CAMERA.see([[0.0, -12.0, 8.0]])
    assert np.isnan(at).all()
    assert distance[0] < 0.0


@pytest.mark.parametrize("target", [[0.0, -6.0, 0.0], [0.0, -6.0, 9.0]])
def test_straight_up_and_down_is_an_error(target):
    with pytest.raises(InvalidInputError, match="target"):
        Camera([0.0, -6.0, 4.0], target)


def test_the_nearest_collider_is_seen():
    sphere = Quadric.ellipsoid([0, 0, 0], 1.0)
    behind = Rectangle([-9, 3, -9], [18, 0, 0], [0, 0, 18])
    seen = view([behind, sphere], CAMERA, fine=1, sky_rays=0)
    middle = 20 * 60 + 30
    assert seen.collider[seen.pixel == middle] == [1]
    depth = seen.depth()
    # The pixel's ray passes 0.06 m beside the centre of the ball.
    np.testing.assert_allclose(depth[20, 30], np.hypot(6.0, 4.0) - 1.0, atol=0.02)
    assert seen.collider[seen.pixel == 0] == [0]
    image = seen.paint([Look((1.0, 0.0, 0.0)), Look((0.0, 0.0, 1.0))])
    assert image.shape == (40, 60, 3)
    assert image[20, 30, 2] > image[20, 30, 0]
    assert image[0, 0, 0] > image[0, 0, 2]


def test_a_disc_casts_its_shadow_along_the_sun():
    ground, disc = Plane([0, 0, 0], [0, 0, 1]), Disc([0, 0, 1.0], [0, 0, 1], 0.5)
    seen = view([ground, disc], CAMERA, fine=1, sky_rays=0)
    light = np.zeros(2400)
    light[seen.pixel] = seen.light
    shadow, _ = CAMERA.see([-SUN / SUN[2] + [0, 0, 1.0], SUN / SUN[2] + [0, 0, -1.0]])
    dark, lit = (light[int(y) * 60 + int(x)] for x, y in shadow)
    assert dark < 0.7 * lit


def test_edges_are_made_of_several_rays_and_shares_add_up():
    seen = view([Plane([0, 0, 0], [0, 0, 1]), Quadric.ellipsoid([0, 0, 1], 1.0)], CAMERA, fine=2, sky_rays=1)
    share = np.bincount(seen.pixel, seen.share, 2400)
    # Every pixel looks down: all of each is covered.
    np.testing.assert_allclose(share, 1.0)
    assert (seen.share == 0.25).any()
    assert (seen.share == 1.0).any()


def test_nothing_at_all_is_sky():
    seen = view([Disc([0, 0, -50], [0, 0, 1], 0.1)], Camera([0, 0, 0], [0, 5, 5], width=8, height=6))
    assert len(seen.pixel) == 0
    image = seen.paint([Look()])
    assert np.isfinite(image).all()
    assert np.isinf(seen.depth()).all()


def test_splats_are_seen_where_particles_hit():
    ground = Rectangle([-2, -2, 0], [4, 0, 0], [0, 4, 0])
    drops = ParticleSystem([[0.5, 0.25, 1.0], [-1.0, 0.5, 1.0]], [0, 0, -1.0])
    impacts = drops.impacts([ground], 0.0, 2.0)
    seen = view([ground], CAMERA, fine=1, sky_rays=0)
    textures = splat_textures(impacts, [ground], radius=0.3)
    plain, painted = seen.paint([Look((0.2, 0.2, 0.2))]), seen.paint([Look((0.2, 0.2, 0.2))], textures)
    at, _ = CAMERA.see([[0.5, 0.25, 0.0], [-1.0, 0.5, 0.0], [1.0, -1.0, 0.0]])
    for (x, y), hit in zip(at.astype(int), (True, True, False)):
        assert (painted[y, x, 0] > plain[y, x, 0] + 0.1) == hit
    # One of them alone.
    first = splat_textures(some(impacts, slice(0, 1)), [ground], radius=0.3)
    assert 0 < first[0].sum() < textures[0].sum()


@pytest.mark.parametrize("kind", ["mesh", "blobs", "patches", "solid"])
def test_splats_on_rays_are_round_whatever_they_lie_on(kind):
    top = np.array([[-1, -1, 0.5], [1, -1, 0.5], [1, 1, 0.5], [-1, 1, 0.5]])
    collider = {
        "mesh": Mesh(thud.TriangleMesh(top, [[0, 1, 2], [0, 2, 3]])),
        "blobs": Blobs([[0, 0, 0], [0.6, 0, 0]], 1.5),
        "patches": ImplicitPatches.from_field(lambda p: (p**2).sum(axis=1) - 1.0, [-1.1] * 3, [1.1] * 3, 0.55),
        "solid": Solid(thud.Box([1.0, 1.0, 0.5])),
    }[kind]
    camera = Camera([0.0, -1.0, 6.0], [0.0, 0.0, 0.5], field=0.4, width=120, height=80)
    impacts = ParticleSystem([0.1, 0.1, 2.0], [0, 0, -1.0]).impacts([collider], 0.0, 3.0)
    seen = view([collider], camera, fine=1, sky_rays=0)
    cover = seen.splats(impacts, radius=0.2)
    far = np.linalg.norm(seen.point - impacts.point[0], axis=1)
    assert (cover[far < 0.18] == 1.0).all()
    assert (cover[far > 0.22] == 0.0).all()
    assert (cover == 1.0).sum() > 100
    look = [Look((0.2, 0.2, 0.2))]
    assert np.abs(seen.paint(look, cover) - seen.paint(look)).max() > 0.3


def test_hail_shows_on_the_lawn():
    # Its ink was hardly brighter than grass in the sun.
    scene = scenes.house()
    seen = view(scene.colliders, scene_camera(scene, 160), fine=1, sky_rays=0)
    impacts = scene.hail(1500).impacts(scene.colliders, 0.0, 1.0)
    with_splats, without = paint_scene(scene, seen, impacts), paint_scene(scene, seen, some(impacts, slice(0, 0)))
    covered = np.zeros(with_splats.shape[:2], bool)
    near = (seen.collider == 0) & (seen.distance < 20.0) & (seen.splats(impacts, radius=SPLAT * scene.stone) > 0.99)
    covered.flat[seen.pixel[near]] = True
    assert covered.sum() > 20
    assert np.abs(with_splats - without)[covered].max(axis=1).mean() > 0.3


def test_every_kind_can_be_seen():
    cube = thud.Box([0.5, 0.5, 0.5])
    corners = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])
    mesh = Mesh(thud.TriangleMesh(corners, [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5]]))
    for collider in (cube, mesh, Blobs([[0, 0, 0]], [1.5]), Quadric.cone([0, 0, 1], 1.0, 2.0)):
        seen = view([collider], CAMERA, fine=1, sky_rays=1)
        assert len(seen.pixel) > 50
        assert (seen.light > 0.0).all()
