"""Rays against planes and solids, by search along the ray in extended precision, and by closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.geometry.strategies import steady
from tests.oracles import geometry as oracle
from thud import geometry

SOLIDS = ["sphere", "box", "capsule", "cylinder", "cone", "ellipsoid"]


def cast(solid, size, origins, directions, pose=None):
    """RayHits of rays with a solid, by its name and a row of three sizes."""
    size = np.atleast_2d(size)
    if solid == "sphere":
        center = [0, 0, 0] if pose is None else pose.position
        return geometry.ray_sphere(origins, directions, center, size[:, 0])
    if solid == "box":
        center, rotation = ([0, 0, 0], None) if pose is None else (pose.position, pose.rotation)
        return geometry.ray_obb(origins, directions, center, size, rotation)
    if solid == "ellipsoid":
        return geometry.ray_ellipsoid(origins, directions, size, pose)
    function = {"capsule": geometry.ray_capsule, "cylinder": geometry.ray_cylinder, "cone": geometry.ray_cone}[solid]
    return function(origins, directions, size[:, 0], size[:, 1], pose)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def aimed_rays(rng, count, far):
    """Origins at distances up to `far`, aimed at points around the solid, so that about half hit."""
    sizes = rng.uniform(0.3, 2.0, (count, 3))
    origins = unit(rng.normal(size=(count, 3))) * rng.uniform(0, far, (count, 1))
    return sizes, origins, unit(rng.uniform(-2.5, 2.5, (count, 3)) - origins)


@pytest.mark.parametrize("solid", SOLIDS)
@pytest.mark.parametrize("far", [3.0, 50.0, 1e6])
def test_solid_against_search(solid, far):
    rng = np.random.default_rng(10)
    sizes, origins, directions = aimed_rays(rng, 1500, far)
    hits = cast(solid, sizes, origins, directions)
    expected, least = oracle.ray_solid(solid, sizes, origins, directions)
    # Grazing rays may be decided either way within the rounding of the ray itself.
    roundoff = 1e-15 * (far + 10)
    clear = np.abs(least) > 100 * roundoff
    assert clear.mean() > 0.99
    assert (np.isfinite(hits.distance) == np.isfinite(expected))[clear].all()
    assert 100 < np.isfinite(expected).sum() < 1490
    hit = np.isfinite(hits.distance) & np.isfinite(expected) & clear
    # The distance is as uncertain as the ray's offset, magnified where it strikes at a shallow angle.
    slant = np.maximum(np.abs((hits.normal * directions).sum(axis=1)), 1e-6)
    slant[hits.distance == 0] = 1.0
    assert (np.abs(hits.distance[hit] - expected[hit]) <= 100 * roundoff / slant[hit]).all()


@pytest.mark.parametrize("solid", SOLIDS)
def test_normals_are_unit_outward_gradients(solid):
    rng = np.random.default_rng(11)
    sizes, origins, directions = aimed_rays(rng, 1500, 20.0)
    hits = cast(solid, sizes, origins, directions)
    hit = np.isfinite(hits.distance) & (hits.distance > 0)
    n, p, s = hits.normal[hit], hits.point[hit], sizes[hit]
    assert np.allclose(np.linalg.norm(n, axis=1), 1, atol=1e-14)
    # Against the gradient of the gauge by differences, but at an edge, where there is none.
    step = 1e-7
    gradient = np.stack(
        [oracle.gauge(solid, s, p + step * e) - oracle.gauge(solid, s, p - step * e) for e in np.eye(3)], axis=1
    ).astype(np.float64)
    aligned = (unit(gradient) * n).sum(axis=1)
    assert (aligned > 1 - 1e-9).mean() > 0.995
    assert ((n * directions[hit]).sum(axis=1) < 1e-9).all()
    # A miss or an origin inside has no normal.
    assert (hits.normal[~hit] == 0).all()
    assert (hits.point[~np.isfinite(hits.distance)] == 0).all()
    inside = hits.distance == 0
    assert (hits.point[inside] == origins[inside]).all()


@pytest.mark.parametrize("solid", SOLIDS)
def test_points_on_the_axes(solid):
    # Along each axis from both sides, with numbers that have no rounding.
    size = np.array([2.0, 1.0, 0.5])
    reach = {
        "sphere": [2, 2, 2, 2, 2, 2],
        "box": [2, 2, 1, 1, 0.5, 0.5],
        "capsule": [2, 2, 2, 2, 3, 3],
        "cylinder": [2, 2, 2, 2, 1, 1],
        "cone": [1, 1, 1, 1, 1, 1],
        "ellipsoid": [2, 2, 1, 1, 0.5, 0.5],
    }[solid]
    origins = np.array([s * 8 * e for e in np.eye(3) for s in (1, -1)])
    hits = cast(solid, size, origins, -3 * origins)
    assert hits.distance.tolist() == [8 - r for r in reach]
    if solid != "cone":
        assert (hits.normal == np.sign(origins)).all()
    # The other way they miss; from the centre and from the surface they are inside.
    assert np.isinf(cast(solid, size, origins, origins).distance).all()
    assert (cast(solid, size, [0, 0, 0], origins).distance == 0).all()
    assert (cast(solid, size, origins / 8 * np.array(reach)[:, None], origins).distance == 0).all()


def test_touching_rays_hit():
    # Tangents, rims and apices, exactly representable.
    assert geometry.ray_sphere([1, -5, 0], [0, 1, 0], [0, 0, 0], 1).distance[0] == pytest.approx(5, rel=1e-15)
    assert geometry.ray_cylinder([1, -5, 0], [0, 1, 0], 1, 1).distance[0] == pytest.approx(5, rel=1e-15)
    assert geometry.ray_cylinder([0, -5, 1], [0, 1, 0], 1, 1).distance[0] == 4
    assert geometry.ray_cylinder([1, 0, 5], [0, 0, -1], 1, 1).distance[0] == 4
    assert geometry.ray_capsule([1, 0, 5], [0, 0, -1], 1, 1).distance[0] == 4
    assert geometry.ray_cone([0, -5, 1], [0, 1, 0], 1, 1).distance[0] == 5
    assert geometry.ray_cone([0, 0, 5], [0, 0, -1], 1, 1).distance[0] == 4
    assert geometry.ray_cone([1, 0, -5], [0, 0, 1], 1, 1).distance[0] == 4
    assert geometry.ray_aabb([-5, 1, 1], [1, 0, 0], [-1, -1, -1], [1, 1, 1]).distance[0] == 4
    assert geometry.ray_aabb([2, 0, 0], [-1, 1, 0], [0, 0, 0], [1, 1, 1]).distance[0] == pytest.approx(np.sqrt(2))
    assert geometry.ray_ellipsoid([2, -5, 0], [0, 1, 0], [2, 1, 1]).distance[0] == pytest.approx(5, rel=1e-15)


def test_cone_seen_along_its_side():
    # Parallel to a generator (the quadratic loses its leading term), inside, outside and on it.
    along = np.array([1.0, 0.0, -2.0])  # the side of a cone of radius 1 and half length 1
    for offset, expected in ((0.25, True), (-0.25, False)):
        start = np.array([0.0, 0.0, 1.0]) - offset * np.array([1.0, 0.0, 0.0]) - 3 * along
        hit = geometry.ray_cone(start, along, 1, 1)
        assert np.isfinite(hit.distance[0]) == expected
    # From below, up along the generator on the far side: through the base.
    up = geometry.ray_cone(np.array([-0.75, 0, -1]) - 3 * np.array([1.0, 0, 2.0]), [1, 0, 2], 1, 1)
    assert up.distance[0] == pytest.approx(3 * np.sqrt(5), rel=1e-14)
    assert up.normal[0].tolist() == [0, 0, -1]


def test_no_cracks_between_side_and_caps():
    # Rays aimed at rims pass through the inside beyond, so each must hit, whatever the rounding at the rim.
    rng = np.random.default_rng(12)
    n = 4000
    angle, inner = rng.uniform(0, 2 * np.pi, n), rng.uniform(-0.5, 0.5, (n, 3)) * [1, 1, 0.8]
    rim = np.stack([np.cos(angle), np.sin(angle), np.where(rng.random(n) < 0.5, 1.0, -1.0)], axis=1)
    inner[:, 2] = np.minimum(inner[:, 2], 0.0)
    origins = inner + (rim - inner) * rng.uniform(2, 1e3, (n, 1))
    for solid in ("cylinder", "capsule"):
        assert np.isfinite(cast(solid, [1, 1, 1], origins, inner - origins).distance).all()
    rim[:, 2] = -1.0
    origins = inner * 0.5 + (rim - inner * 0.5) * rng.uniform(2, 1e3, (n, 1))
    assert np.isfinite(cast("cone", [1, 1, 1], origins, inner * 0.5 - origins).distance).all()


def test_capsule_hit_by_a_ray_that_runs_down_its_seam():
    # Enters where cylinder and cap meet, almost parallel to the axis: the cap's own quadratic has no digits there.
    rng = np.random.default_rng(13)
    tilt = 10.0 ** rng.uniform(-12, -2, 500)
    origin = np.stack([1 + tilt, np.zeros(500), np.full(500, 2.0)], axis=1)
    d = np.stack([-tilt, np.zeros(500), -np.ones(500)], axis=1)
    hits = geometry.ray_capsule(origin, d, 1.0, 1.0)
    assert np.isfinite(hits.distance).all()
    assert np.allclose(hits.point[:, 0], 1, atol=1e-2)


@steady
@given(st.sampled_from(SOLIDS), st.integers(0, 2**32 - 1), st.integers(-40, 40))
def test_rigid_motion_and_scale(solid, seed, exponent):
    from thud.pose import Pose

    rng = np.random.default_rng(seed)
    sizes, origins, directions = aimed_rays(rng, 4, 10.0)
    hits = cast(solid, sizes, origins, directions)
    _, least = oracle.ray_solid(solid, sizes, origins, directions)
    clear = np.abs(least) > 1e-9
    # Scaled by a power of two, every number scales exactly.
    scaled = cast(solid, np.ldexp(sizes, exponent), np.ldexp(origins, exponent), directions)
    assert np.allclose(scaled.distance[clear], np.ldexp(hits.distance, exponent)[clear], rtol=1e-12)
    # Moved rigidly, the distance stays.
    q = unit(rng.normal(size=4))
    pose = Pose(rng.normal(size=3), q)
    moved = cast(solid, sizes, origins @ pose.rotation.T + pose.position, directions @ pose.rotation.T, pose)
    steep = clear & (np.abs((hits.normal * directions).sum(axis=1)) > 1e-3)
    assert (np.isfinite(moved.distance) == np.isfinite(hits.distance))[clear].all()
    assert np.allclose(moved.distance[steep], hits.distance[steep], rtol=1e-10, atol=1e-10)
    assert np.allclose(moved.normal[steep], hits.normal[steep] @ pose.rotation.T, atol=1e-9)


def test_ray_aabb_against_ray_obb():
    rng = np.random.default_rng(14)
    lower = rng.uniform(-3, 0, (500, 3))
    upper = lower + rng.uniform(0, 2, (500, 3))
    origins, directions = rng.normal(size=(500, 3)) * 3, rng.normal(size=(500, 3))
    a = geometry.ray_aabb(origins, directions, lower, upper)
    b = geometry.ray_obb(origins, directions, 0.5 * (lower + upper), 0.5 * (upper - lower))
    assert np.allclose(a.distance, b.distance, rtol=1e-12)
    assert (a.normal == b.normal).all()


def test_tiny_direction_components_make_no_nan():
    # Normalised, 1e-310 has a reciprocal that overflows.
    for d in ([1, 1e-310, 0], [1, 5e-324, 5e-324], [1, 0, 0], [1e-200, 1, 1e-200], [1e200, 1, 0]):
        for solid in SOLIDS:
            for y in (0.0, 1.0, 0.5, 3.0):
                hits = cast(solid, [2, 1, 1], [-5, y, 0], d)
                assert not np.isnan(hits.distance).any()
                assert not np.isnan(hits.normal).any()
    # A flat box, seen edge on.
    assert geometry.ray_aabb([-5, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 1]).distance[0] == 5


def test_ray_plane():
    plane = [0, 0, 2, -4]
    hits = geometry.ray_plane(
        [[0, 0, 0], [0, 0, 0], [1, 1, 2], [0, 0, 5], [0, 0, 3]],
        [[0, 0, 2], [0, 0, -1], [1, 0, 0], [3, 0, -4], [1, 0, 0]],
        plane,
    )
    assert hits.distance.tolist() == [2, np.inf, 0, 3.75, np.inf]
    assert hits.point.tolist() == [[0, 0, 2], [0, 0, 0], [1, 1, 2], [2.25, 0, 2], [0, 0, 0]]
    assert hits.normal.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_ray_convex_against_box():
    rng = np.random.default_rng(15)
    half = np.array([1.0, 2.0, 0.5])
    planes = np.concatenate([np.hstack([s * np.eye(3), -half[:, None]]) for s in (1, -1)])
    origins, directions = rng.normal(size=(800, 3)) * 3, rng.normal(size=(800, 3))
    a, b = geometry.ray_convex(origins, directions, planes), geometry.ray_obb(origins, directions, [0, 0, 0], half)
    assert np.allclose(a.distance, b.distance, rtol=1e-12)
    assert (a.normal == b.normal).all()
    hit = np.isfinite(a.distance) & (a.distance > 0)
    assert (planes[a.triangle[hit], :3] == a.normal[hit]).all()
    assert (a.triangle[~hit] == -1).all()
    # An unbounded solid: one plane, hit from outside only.
    wedge = geometry.ray_convex([[0, 0, 3], [0, 0, 3], [0, 0, -3]], [[0, 0, -1], [0, 0, 1], [0, 0, 1]], [[0, 0, 1, 0]])
    assert wedge.distance.tolist() == [3, np.inf, 0]
