"""Segments, triangles, rectangles and moving spheres: exact decisions against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thud
from tests.geometry.strategies import points, steady, whole
from tests.oracles import geometry as oracle
from thud import geometry
from thud.errors import InvalidInputError


def on_both(result, a, b, size=4.0):
    """Start and end lie on both sets, to rounding."""
    for p in (result.start, result.end):
        assert oracle.outside_simplex(p, np.array([a]))[0] < 1e-14 * size
        assert oracle.outside_simplex(p, np.array([b]))[0] < 1e-14 * size


@steady
@given(st.one_of(points(3, 4, whole), points(3, 4)))
def test_segments_in_space(p):
    result = geometry.segment_segment(*p)
    assert result.intersects[0] == oracle.hulls_intersect(p[:2], p[2:])
    if result.intersects[0]:
        on_both(result, p[:2], p[2:])
        assert result.coplanar[0] == (result.start != result.end).any()
    else:
        assert not result.start.any()
    swapped = geometry.segment_segment(*p[2:], *p[:2])
    assert swapped.intersects[0] == result.intersects[0]


@steady
@given(st.one_of(points(2, 4, whole), points(2, 4)))
def test_segments_in_the_plane(p):
    result = geometry.segment_segment(*p)
    assert result.start.shape == (1, 2)
    assert result.intersects[0] == oracle.hulls_intersect(p[:2], p[2:])


def test_segments_that_overlap_on_a_line():
    result = geometry.segment_segment([0, 0, 0], [4, 4, 4], [6, 6, 6], [2, 2, 2])
    assert result.coplanar[0]
    assert sorted([result.start[0].tolist(), result.end[0].tolist()]) == [[2, 2, 2], [4, 4, 4]]
    # End to end they share a point, apart nothing.
    assert not geometry.segment_segment([0, 0, 0], [1, 1, 1], [1, 1, 1], [2, 2, 2]).coplanar[0]
    assert not geometry.segment_segment([0, 0, 0], [1, 1, 1], [1.5, 1.5, 1.5], [2, 2, 2]).intersects[0]


def test_crossing_point_is_accurate_at_small_angles():
    for angle in (1e-3, 1e-6, 1e-9):
        result = geometry.segment_segment([-1, 0, 0], [1, 0, 0], [-1, -angle, 0], [1, angle * 3, 0])
        assert result.start[0, 0] == pytest.approx(-0.5, rel=1e-9)


@steady
@given(st.one_of(points(3, 5, whole), points(3, 5)))
def test_segment_and_triangle(p):
    result = geometry.segment_triangle(p[0], p[1], p[2:])
    assert result.intersects[0] == oracle.hulls_intersect(p[:2], p[2:])
    if result.intersects[0]:
        on_both(result, p[:2], p[2:])


@steady
@given(st.one_of(points(3, 6, whole), points(3, 6)))
def test_triangles(p):
    result = geometry.triangle_triangle(p[:3], p[3:])
    assert result.intersects[0] == oracle.hulls_intersect(p[:3], p[3:])
    assert geometry.triangle_triangle(p[3:], p[:3]).intersects[0] == result.intersects[0]
    # Scaled by a power of two, every sign stays.
    assert geometry.triangle_triangle(np.ldexp(p[:3], 30), np.ldexp(p[3:], 30)).intersects[0] == result.intersects[0]
    if result.intersects[0]:
        on_both(result, p[:3], p[3:])


@steady
@given(points(2, 6, whole), st.integers(-2, 2), st.integers(-2, 2))
def test_coplanar_triangles(p, slope_x, slope_y):
    # In a tilted plane: z = slope_x x + slope_y y + 1, all numbers whole.
    lifted = [(x, y, slope_x * x + slope_y * y + 1) for x, y in p]
    result = geometry.triangle_triangle(lifted[:3], lifted[3:])
    assert result.intersects[0] == oracle.hulls_intersect(p[:3], p[3:])
    if oracle.orient2d(*p[:3]) != 0 or oracle.orient2d(*p[3:]) != 0:
        assert result.coplanar[0]
    if result.intersects[0]:
        on_both(result, lifted[:3], lifted[3:], 20)


def test_intersection_segment():
    # Two triangles that cross like a plus: the common segment is known.
    a = [[-1, 0, 0], [1, 0, 0], [0, 2, 0]]
    b = [[0, 1, -1], [0, 1, 1], [0, -2, 0]]
    result = geometry.triangle_triangle(a, b)
    assert sorted([result.start[0].tolist(), result.end[0].tolist()]) == [[0, 0, 0], [0, 1, 0]]
    assert not result.coplanar[0]
    # Touching in a corner: a point.
    tip = geometry.triangle_triangle(a, [[0, 2, 0], [0, 3, 1], [0, 3, -1]])
    assert tip.intersects[0]
    assert tip.start.tolist() == tip.end.tolist() == [[0, 2, 0]]


def test_intersection_segment_on_random_triangles():
    # Its ends are where edges pierce triangles: on the boundary of one, inside the other, and all between is common.
    rng = np.random.default_rng(40)
    a, b = rng.normal(size=(2, 4000, 3, 3))
    result = geometry.triangle_triangle(a, b)
    meets = result.intersects
    assert 300 < meets.sum() < 3700
    for p in (result.start, result.end, 0.5 * (result.start + result.end)):
        assert oracle.outside_simplex(p[meets], a[meets]).max() < 1e-12
        assert oracle.outside_simplex(p[meets], b[meets]).max() < 1e-12
    # No longer segment: beyond either end the line leaves one of the triangles.
    length = np.linalg.norm(result.end - result.start, axis=1)
    long = meets & (length > 1e-2)
    beyond = result.end + 1e-6 * (result.end - result.start)
    out = np.maximum(oracle.outside_simplex(beyond[long], a[long]), oracle.outside_simplex(beyond[long], b[long]))
    assert (out > 1e-10).mean() > 0.99
    assert (meets == (geometry.closest_triangle_triangle(a, b).distance == 0)).all()


rectangle = st.tuples(whole, whole, whole, whole).map(
    lambda r: ((min(r[0], r[2]), min(r[1], r[3])), (max(r[0], r[2]), max(r[1], r[3])))
)


@steady
@given(rectangle, st.one_of(points(2, 3, whole), points(2, 3)))
def test_rectangle_and_triangle(r, corners):
    lower, upper = r
    expected = oracle.hulls_intersect([lower, upper, (lower[0], upper[1]), (upper[0], lower[1])], corners)
    assert geometry.rectangle_triangle(lower, upper, corners)[0] == expected
    assert geometry.rectangle_triangle(lower, upper, corners, method="sat")[0] == expected


def test_rectangle_and_triangle_methods_agree():
    # The six relations of [Yang] Table 3.1 and all their borders, on a grid where touching is common.
    rng = np.random.default_rng(41)
    lower = rng.integers(-3, 3, (20000, 2)) / 2
    upper = lower + rng.integers(0, 5, (20000, 2)) / 2
    triangles = rng.integers(-6, 7, (20000, 3, 2)) / 2
    yang = geometry.rectangle_triangle(lower, upper, triangles, method="yang")
    assert (yang == geometry.rectangle_triangle(lower, upper, triangles, method="sat")).all()
    assert 1000 < yang.sum() < 19000


def test_rectangle_types_of_table_3_1():
    triangle = [(0, 0), (6, 0), (0, 6)]
    types = [
        ((-1, -1), (1, 1)),  # 1: a vertex of the triangle in the rectangle
        ((-1, 1), (7, 2)),  # 2: edges alone
        ((1, 1), (2, 2)),  # 3: the rectangle inside
        ((7, 7), (8, 8)),  # 4: apart
        ((-1, -1), (9, 9)),  # 5: the triangle inside
        ((-1, -1), (2, 2)),  # 6: both
    ]
    for method in ("yang", "sat"):
        met = [geometry.rectangle_triangle(low, high, triangle, method=method)[0] for low, high in types]
        assert met == [True, True, True, False, True, True]
    # In the box of the triangle, beyond its slanted edge, and touching it in a point.
    assert not geometry.rectangle_triangle([4, 4], [5, 5], triangle)[0]
    assert geometry.rectangle_triangle([3, 3], [5, 5], triangle)[0]
    with pytest.raises(InvalidInputError, match='method: expected "yang" or "sat", got \'gjk\''):
        geometry.rectangle_triangle([0, 0], [1, 1], triangle, method="gjk")


def test_moving_spheres():
    still = [0, 0, 0]
    time = geometry.moving_sphere_sphere(
        [[-5, 0, 0], [-5, 2, 0], [-5, 3, 0], [-1, 0, 0], [-5, 0, 0], [-5, 0, 0]],
        1,
        still,
        1,
        [[10, 0, 0], [10, 0, 0], [10, 0, 0], [10, 0, 0], [2.9, 0, 0], [3, 0, 0]],
    ).time
    # Head on, in passing (they touch), past, at the start, too slow, just in time.
    assert time == pytest.approx([0.3, 0.5, np.inf, 0, np.inf, 1], rel=1e-15)


def test_the_printed_inequality_alone_reports_spheres_that_part():
    # [Slides]: (dpos . dv)^2 > (|dpos|^2 - (r1 + r2)^2) |dv|^2 holds for spheres that move apart, and for contacts
    # after the step, as well: squared, it knows no sign and no time.
    for motion in ([10.0, 0, 0], [-2.0, 0, 0]):
        dpos, dv = np.array([5.0, 0, 0]), np.array(motion)
        assert (dpos @ dv) ** 2 > (dpos @ dpos - 4) * (dv @ dv)
        assert geometry.moving_sphere_sphere([0, 0, 0], 1, dpos, 1, 0.0, dv).time[0] == np.inf


@steady
@given(points(3, 4), st.floats(0, 2), st.floats(0, 2))
def test_moving_spheres_by_fractions(p, radius_a, radius_b):
    a, ma, b, mb = (oracle.rational(x) for x in p)
    offset, motion = oracle.sub(b, a), oracle.sub(mb, ma)
    reach = Fraction(radius_a) + Fraction(radius_b)
    # |offset + t motion|^2 - reach^2 at its least point in [0, 1].
    speed2 = oracle.dot(motion, motion)
    least = Fraction(0) if speed2 == 0 else min(max(-oracle.dot(offset, motion) / speed2, 0), 1)
    gap = (
        oracle.dot([x + least * y for x, y in zip(offset, motion)], [x + least * y for x, y in zip(offset, motion)]) - reach**2
    )
    time = geometry.moving_sphere_sphere(p[0], radius_a, p[2], radius_b, p[1], p[3]).time[0]
    if abs(gap) > 1e-12:
        assert np.isfinite(time) == (gap < 0)
    if np.isfinite(time):
        assert 0 <= time <= 1
        t = Fraction(time)
        at = [x + t * y for x, y in zip(offset, motion)]
        distance = oracle.sqrt_fraction(oracle.dot(at, at))
        assert distance <= float(reach) + 1e-12 if time == 0 else abs(distance - float(reach)) < 1e-7
    # From the other's point of view nothing changes.
    assert geometry.moving_sphere_sphere(p[2], radius_b, p[0], radius_a, p[3], p[1]).time[0] == time


def test_moving_spheres_are_those_of_continuous():
    rng = np.random.default_rng(2)
    a, b, ma, mb = (rng.normal(size=(300, 3)) * 3 for _ in range(4))
    ra, rb = rng.uniform(0, 1.5, (2, 300))
    for rows in ((a, ra, b, rb, ma, mb), (a, ra, b, rb, ma), (a[0], 0.5, a[0], 0.7, ma), (a[:1], 1.0, b, 0.0, 0.0, mb)):
        one, other = geometry.moving_sphere_sphere(*rows), thud.continuous.sphere_sphere(*rows)
        assert one.time.tobytes() == other.time.tobytes()
        assert (one.status == other.status).all()
        np.testing.assert_allclose(one.point, other.point, atol=1e-12)
        np.testing.assert_allclose(one.normal, other.normal, atol=1e-12)
        np.testing.assert_array_equal(one.depth, other.depth)


def test_camera_rays_are_those_of_the_frustum():
    position, direction, up, angles = [1.0, 2.0, 3.0], [1.0, 0.5, -0.2], [0.0, 0.0, 1.0], [1.2, 0.8]
    origins, rays = geometry.camera_rays(position, direction, up, angles, 40, 30)
    assert origins.shape == rays.shape == (1200, 3)
    np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 1.0)
    np.testing.assert_array_equal(origins, np.tile(position, (1200, 1)))
    planes = geometry.frustum_planes(position, direction, up, angles, 0.1, 10.0)
    # All are in the view; those beyond the border by half a pixel are not: corners of a picture of one pixel more.
    ahead = origins + 5.0 * rays
    assert (ahead @ planes[:, :3].T + planes[:, 3] >= 0.0).all()
    picture = rays.reshape(30, 40, 3)
    assert (picture[0] @ [0, 0, 1] > picture[-1] @ [0, 0, 1]).all()
    right = np.cross(direction, up)
    assert (picture[:, -1] @ right > picture[:, 0] @ right).all()
    # The middle of an odd picture looks along the direction; one angle has square pixels.
    _, odd = geometry.camera_rays(position, direction, up, 0.9, 31, 21)
    np.testing.assert_allclose(odd[15 + 31 * 10], np.array(direction) / np.linalg.norm(direction), atol=1e-12)
    plane = odd / (odd @ (np.array(direction) / np.linalg.norm(direction)))[:, None]
    across = np.linalg.norm(plane[1] - plane[0])
    assert across == pytest.approx(np.linalg.norm(plane[31] - plane[0]))
    assert 31 * across == pytest.approx(2 * np.tan(0.45))
    for wrong, name in (
        ({"width": 0}, "width"),
        ({"width": 10**6, "height": 10**6}, "parts of the picture"),
        ({"height": 1.5}, "height"),
        ({"angles": 4.0}, "angles"),
        ({"up": direction}, "up"),
    ):
        view = {"position": position, "direction": direction, "up": up, "angles": 1.0, "width": 4, "height": 3}
        with pytest.raises(InvalidInputError, match=name):
            geometry.camera_rays(**view | wrong)
