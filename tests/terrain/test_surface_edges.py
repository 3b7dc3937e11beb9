"""Surfaces at the edges of what is allowed: half-spaces, far places, many patches."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.terrain import from_heights, surface_collision


def flat(origin=(0.0, 0.0, 0.0), size=33, spacing=1.0):
    made = from_heights(np.zeros((size, size)), spacing, samples=8).surface
    moved = np.asarray(made.positions) + origin
    return thud.terrain.DisplacedSurface(
        moved, made.directions, made.coordinates, made.primitives, made.quads, made.displacements
    )


def test_a_half_space_that_leans_a_little_is_not_missed():
    """Its box was cut off at its height over the origin for tilts of up to 1e-6."""
    surface = flat(spacing=300.0)
    deep = surface.ground_thickness * np.asarray(surface.directions)[0, 2]
    floor = thud.HalfSpace(np.array([-1e-6, 0.0, 1.0]) / np.hypot(1.0, 1e-6), -0.005 - deep)
    assert thud.intersects(surface, floor)[0]
    assert not thud.intersects(surface, thud.HalfSpace([0, 0, 1], -0.005 - deep))[0]


def test_contacts_of_a_half_space():
    surface = flat()
    # It must go back to below the bottom of the ground.
    deep = surface.ground_thickness * np.asarray(surface.directions)[0, 2]
    found = thud.contacts(surface, thud.HalfSpace([0, 0, 1], 0.1 - deep), max_points=4)
    assert found.status[0] == thud.Status.OVERLAPPING
    np.testing.assert_allclose(found.depth, 0.1, atol=1e-12)
    np.testing.assert_allclose(found.normal, np.tile([0.0, 0, -1], (len(found.row), 1)), atol=1e-15)
    near = thud.contacts(surface, thud.HalfSpace([0, 0, 1], -0.1 - deep), margin=0.2, max_points=4)
    assert near.status[0] == thud.Status.SEPARATED
    np.testing.assert_allclose(near.depth, -0.1, atol=1e-12)
    assert len(thud.contacts(surface, thud.HalfSpace([0, 0, 1], -0.1 - deep), margin=0.05).row) == 0


def test_a_half_space_has_no_vertices_to_project():
    """Its frame's origin was taken for one."""
    surface = flat((-16.0, -16.0, 0.05))
    aslant = thud.HalfSpace([0.6, 0.0, 0.8], -1000.0)
    assert not surface_collision(surface, aslant).collides
    assert not thud.intersects(surface, aslant)[0]


def test_places_out_of_range_are_named():
    surface = flat()
    with pytest.raises(thud.ThudError, match="points: row 1 is beyond"):
        thud.closest_point(surface, [[0.0, 0, 0], [1e200, 0, 0]])
    with pytest.raises(thud.ThudError, match="pose_b: row 0 is beyond"):
        thud.intersects(surface, thud.Sphere(1.0), None, thud.Pose([1e20, 0, 0]))
    with pytest.raises(thud.ThudError, match="pose: expected one pose, got 2"):
        surface_collision(surface, thud.Sphere(1.0), thud.Pose(np.zeros((2, 3))))


def test_a_turning_cast_far_from_the_origin_does_not_stop_early():
    """The distance from the frame's origin counted as size: 0.3 m above ground at northing 5e6 was a hit at once."""
    origin = np.array([5e5, 5e6, 0.0])
    surface = flat(origin)
    over = thud.Pose(origin + [16.0, 16.0, 1.3])
    hover = thud.cast(surface, thud.Sphere(1.0), None, over, 0.0, [[0.0, 0, -0.1, 0, 0, 0.1]])
    assert hover.status[0] == thud.CastStatus.MISS
    fall = thud.cast(surface, thud.Sphere(1.0), None, over, 0.0, [[0.0, 0, -1.0, 0, 0, 0.1]])
    assert fall.status[0] == thud.CastStatus.HIT
    assert fall.time[0] == pytest.approx(0.3, abs=1e-5)


@pytest.mark.parametrize(("count", "spacing", "samples"), [(17, 1.0, 16), (65, 100.0, 64), (3, 1000.0, 1)])
def test_a_turning_cast_ends_a_part_of_the_shape_above_ground_however_large_its_quads_are(count, spacing, samples):
    # It ended a millionth of the quad's edge above: 7 mm over quads of 64 samples 100 m apart.
    surface = from_heights(np.zeros((count, count)), spacing, samples=samples, thickness=1.0).surface
    box, rng, many = thud.Box([0.05, 0.04, 0.03]), np.random.default_rng(0), 50
    width = (count - 1) * spacing
    at = np.column_stack([rng.uniform(0.3 * width, 0.7 * width, (many, 2)), rng.uniform(0.5, 2, many)])
    motion = np.column_stack([rng.normal(size=(many, 2)), np.full(many, -3.0), 3.0 * rng.normal(size=(many, 3))])
    found = thud.cast(surface, box, None, thud.Pose(at), motion_b=motion)
    truth = thud.cast(thud.HalfSpace([0, 0, 1]), box, None, thud.Pose(at), motion_b=motion)
    assert (found.status == thud.CastStatus.HIT).all()
    # Never late, and early by what it takes to close the gap. The other cast is early too, also by what places are rounded by.
    late = 3.0 * (found.time - truth.time)
    size = box.bounding_sphere()[1]
    assert late.max() <= 1e-9 * size + 1e-13 * width
    assert late.min() >= -3e-7 * size


def test_turning_casts_along_steep_ground_come_to_an_end():
    # Advancing by distance over speed, more than half of them did not in 512 steps.
    corners = [[x, y, 100 * (x + y) - z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    surface, hull = from_heights([[0, 100], [100, 200]], 1.0, samples=1, thickness=1.0).surface, thud.ConvexHull(corners)
    rng, many, box = np.random.default_rng(0), 60, thud.Box([0.05, 0.04, 0.03])
    at, to = rng.uniform([-1, -1, -2], [2, 2, 201], (many, 3)), rng.uniform(0, 1, (many, 3))
    to[:, 2] = 100 * (to[:, 0] + to[:, 1]) - to[:, 2]
    motion = np.column_stack([1.2 * (to - at), rng.normal(size=(many, 3))])
    found, truth = (thud.cast(other, box, None, thud.Pose(at), motion_b=motion) for other in (surface, hull))
    np.testing.assert_array_equal(found.status, truth.status)
    np.testing.assert_allclose(found.time, truth.time, atol=1e-6)


def test_rays_from_far_away_do_not_slip_between_patches():
    surface = flat(spacing=0.01, size=65)
    rng = np.random.default_rng(0)
    nodes = rng.integers(1, 64, (500, 2)) * 0.01
    target = np.column_stack([nodes, np.zeros(500)])
    way = rng.normal(size=(500, 3))
    way[:, 2] = -np.abs(way[:, 2]) - 0.5
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    hit = thud.raycast(surface, target - 1e6 * way, way)
    assert np.isfinite(hit.distance).all()
    np.testing.assert_allclose(hit.distance, 1e6, atol=1e-8)


def test_many_patches_under_one_part():
    """They were sorted by insertion, in time that went with the square of their number."""
    surface = from_heights(np.zeros((257, 257)), 1.0, samples=16).surface
    slab = thud.Box([128.0, 128.0, 0.5])
    found = thud.contacts(surface, slab, None, thud.Pose([128.0, 128.0, 0.4]), max_points=4)
    assert len(found.row) == 4
    np.testing.assert_allclose(found.depth, 0.1, atol=1e-6)
