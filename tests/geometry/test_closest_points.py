"""Closest points, proved: both points belong to their sets, and no plane between them leaves a smaller gap.

A pair of points at distance d > 0 is the closest if the direction between them separates the sets by d (duality); a
common point proves an intersection. So each answer carries its own proof. Where rounding makes that proof too weak, the
exact distance by fractions takes over.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.geometry.strategies import points, steady, whole
from tests.oracles import geometry as oracle
from thud import geometry
from thud._core.decorators import kernel
from thud.geometry import segment, triangle

KINDS = {"point": 1, "segment": 2, "triangle": 3, "box": 8}
PAIRS = ["point-segment", "point-triangle", "point-box", "segment-segment", "segment-triangle", "segment-box"] + [
    "triangle-triangle",
    "triangle-box",
    "box-box",
]


@kernel
def _device_segments(p0, p1, q0, q1):
    return segment.closest_segment_segment(p0, p1, q0, q1)


@kernel
def _device_point_triangle(p, a, b, c):
    return triangle.closest_point_triangle(p, a, b, c)


class Things:
    """N random points, segments, triangles or boxes; corners (N, K, 3) and the arguments of the public functions."""

    def __init__(self, kind, rng, count, spread, size):
        self.kind = kind
        center = rng.normal(size=(count, 3)) * spread
        if kind == "box":
            self.center, self.half = center, rng.uniform(0.1, 1, (count, 3)) * size
            self.rotation = oracle.random_rotations(rng, count)
            self.corners = oracle.box_corners(center, self.half, self.rotation)
        else:
            self.corners = center[:, None] + rng.normal(size=(count, KINDS[kind], 3)) * size

    def arguments(self):
        if self.kind == "box":
            return [self.center, self.half, self.rotation]
        return [self.corners] if self.kind == "triangle" else [self.corners[:, k] for k in range(KINDS[self.kind])]

    def outside(self, x):
        if self.kind == "box":
            return oracle.outside_box(x, self.center, self.half, self.rotation)
        return oracle.outside_simplex(x, self.corners)


def closest(a, b):
    return getattr(geometry, f"closest_{a.kind}_{b.kind}")(*a.arguments(), *b.arguments())


def prove(result, a, b, scale, least=1e-3):
    """Assert that every row is the closest pair, to 1e-13 of the scale; pairs closer than `least` are left to fractions."""
    assert not any(np.isnan(x).any() for x in (result.distance, result.point_a, result.point_b))
    assert a.outside(result.point_a).max() < 1e-13 * scale
    assert b.outside(result.point_b).max() < 1e-13 * scale
    meet = result.distance == 0
    assert (result.point_a[meet] == result.point_b[meet]).all()
    apart = result.distance > least * scale
    assert np.abs(np.linalg.norm(result.point_b - result.point_a, axis=1) - result.distance)[apart].max() < 1e-13 * scale
    assert oracle.distance_defect(result, a.corners, b.corners)[apart].max() < 2e-13 * scale
    return meet, apart


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("spread", [0.2, 1.0, 5.0])
def test_random_pairs(pair, spread):
    rng = np.random.default_rng(30)
    a, b = (Things(kind, rng, 1500, spread, 1.0) for kind in pair.split("-"))
    meet, apart = prove(closest(a, b), a, b, 10.0, least=1e-4)
    assert (meet | apart).mean() > 0.99
    if "box" in pair and spread < 1:
        assert meet.sum() > 100


@pytest.mark.parametrize("pair", PAIRS)
def test_offset_and_scale_cost_no_digits(pair):
    rng = np.random.default_rng(31)
    a, b = (Things(kind, rng, 300, 2.0, 1.0) for kind in pair.split("-"))
    near = closest(a, b)
    # Power of two: all arithmetic scales exactly, up to the order in which the compiler sums.
    for exponent in (-60, 60):
        scaled = []
        for x in (a, b):
            y = Things.__new__(Things)
            y.kind, y.corners = x.kind, np.ldexp(x.corners, exponent)
            if x.kind == "box":
                y.center, y.half, y.rotation = np.ldexp(x.center, exponent), np.ldexp(x.half, exponent), x.rotation
            scaled.append(y)
        result = closest(*scaled)
        assert np.allclose(result.distance, np.ldexp(near.distance, exponent), rtol=1e-12, atol=np.ldexp(1e-15, exponent))
    # A shift that the coordinates can bear exactly: multiples of 2^-20 shifted by 2^20.
    if "box" not in pair:
        for x in (a, b):
            x.corners = np.round(x.corners * 2**20) / 2**20
        near = closest(a, b)
        for x in (a, b):
            x.corners = x.corners + 2.0**20
        far = closest(a, b)
        assert np.allclose(far.distance, near.distance, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("pair", ["segment-segment", "triangle-triangle", "box-box"])
def test_swap(pair):
    rng = np.random.default_rng(32)
    a, b = (Things(kind, rng, 500, 1.0, 1.0) for kind in pair.split("-"))
    forward, backward = closest(a, b), closest(b, a)
    assert np.allclose(forward.distance, backward.distance, rtol=1e-12, atol=1e-15)
    assert ((forward.distance == 0) == (backward.distance == 0)).all()


@steady
@given(points(3, 4, whole))
def test_segments_of_whole_numbers(p):
    # Crossing, touching, parallel, collinear, points: distances by fractions.
    result = geometry.closest_segment_segment(*p)
    expected = oracle.hull_distance(p[:2], p[2:])
    assert result.distance[0] == pytest.approx(expected, rel=1e-14)
    assert (result.distance[0] == 0) == (expected == 0)


@steady
@given(points(3, 5, whole))
def test_segment_and_triangle_of_whole_numbers(p):
    result = geometry.closest_segment_triangle(p[0], p[1], p[2:])
    expected = oracle.hull_distance(p[:2], p[2:])
    assert result.distance[0] == pytest.approx(expected, rel=1e-14)
    assert (result.distance[0] == 0) == (expected == 0)


@steady
@given(points(3, 6, whole))
def test_triangles_of_whole_numbers(p):
    result = geometry.closest_triangle_triangle(p[:3], p[3:])
    expected = oracle.hull_distance(p[:3], p[3:])
    assert result.distance[0] == pytest.approx(expected, rel=1e-14)
    assert (result.distance[0] == 0) == (expected == 0)


@steady
@given(points(3, 4, whole))
def test_point_and_triangle_of_whole_numbers(p):
    result = geometry.closest_point_triangle(p[0], p[1:])
    assert result.distance[0] == pytest.approx(oracle.hull_distance(p[:1], p[1:]), rel=1e-14, abs=1e-15)


@steady
@given(st.integers(0, 2**32 - 1), st.floats(-15, 0), st.floats(-12, 1))
def test_nearly_parallel_segments(seed, angle, gap):
    # The textbook's denominator cancels: at an angle of 1e-8 its parameters are noise, and with them the distance.
    rng = np.random.default_rng(seed)
    u, v, w = oracle.random_rotations(rng, 1)[0]
    p = rng.normal(size=3)
    d = u + 10**angle * v
    q = p + rng.uniform(-0.5, 0.5) * u + 10**gap * w + rng.uniform(-1, 1) * 10**angle * v
    a = [p - u, p + u * rng.uniform(0.5, 1)]
    b = [q - d, q + d * rng.uniform(0.5, 1)]
    result = geometry.closest_segment_segment(*a, *b)
    assert result.distance[0] == pytest.approx(oracle.hull_distance(a, b), abs=1e-14)


@steady
@given(st.integers(0, 2**32 - 1), st.floats(-16, 0), st.floats(-12, 1))
def test_needle_triangles(seed, width, gap):
    # The normal of a needle has no direction worth the name at a width of 1e-8, nor have barycentric weights by it.
    rng = np.random.default_rng(seed)
    u, v, w = oracle.random_rotations(rng, 1)[0]
    a = rng.normal(size=3)
    corners = [a, a + u, a + rng.uniform(0.1, 0.9) * u + 10**width * v]
    corners = [corners[k] for k in rng.permutation(3)]
    p = a + rng.uniform(-0.2, 1.2) * u + rng.uniform(-1, 1) * 10**width * v + rng.choice([0, 10**gap]) * w
    result = geometry.closest_point_triangle(p, corners)
    assert result.distance[0] == pytest.approx(oracle.hull_distance([p], corners), abs=1e-14)
    other = [p, p + rng.normal(size=3), p + rng.normal(size=3)]
    result = geometry.closest_triangle_triangle(corners, other)
    assert result.distance[0] == pytest.approx(oracle.hull_distance(corners, other), abs=1e-14)


@steady
@given(st.integers(0, 2**32 - 1), st.floats(-12, -1))
def test_pairs_that_almost_touch(seed, gap):
    # Too close for the proof by the direction between the points; fractions know.
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(3, 3))
    on = rng.dirichlet([1, 1, 1]) @ a
    n = np.cross(a[1] - a[0], a[2] - a[0])
    n /= np.linalg.norm(n)
    tip = on + 10**gap * n
    b = np.stack([tip, tip + n + rng.normal(size=3) * 0.5, tip + n + rng.normal(size=3) * 0.5])
    assert geometry.closest_triangle_triangle(a, b).distance[0] == pytest.approx(oracle.hull_distance(a, b), abs=1e-14)
    assert geometry.closest_segment_triangle(b[0], b[1], a).distance[0] == pytest.approx(
        oracle.hull_distance(b[:2], a), abs=1e-14
    )


def test_degenerate_segments_and_triangles():
    p = [1, 2, 3]
    assert geometry.closest_point_segment([4, 6, 3], p, p).distance[0] == 5
    assert geometry.closest_segment_segment(p, p, [4, 6, 3], [4, 6, 3]).distance[0] == 5
    assert geometry.closest_segment_segment(p, p, [0, 2, 3], [9, 2, 3]).distance[0] == 0
    assert geometry.closest_point_triangle([4, 6, 3], [p, p, p]).distance[0] == 5
    assert geometry.closest_segment_triangle([4, 6, 3], [4, 6, 9], [p, p, p]).distance[0] == 5
    assert geometry.closest_triangle_triangle([p, p, p], [p, p, [9, 9, 9]]).distance[0] == 0
    flat = geometry.closest_box_box(p, [0, 0, 0], None, [4, 6, 3], [0, 0, 0], None)
    assert flat.distance[0] == 5
    assert flat.point_a.tolist() == [p]


def test_boxes_that_touch_contain_and_cross():
    one = [1, 1, 1]
    cases = [
        ([2, 0, 0], one, 0),  # faces touch
        ([2, 2, 2], one, 0),  # corners touch
        ([2, 2, 0.5], one, 0),  # edges touch
        ([0.1, 0.2, 0.3], [0.2, 0.2, 0.2], 0),  # inside
        ([0, 0, 0], [3, 0.5, 0.5], 0),  # a bar through it
        ([0, 0, 0], [3, 3, 0.1], 0),  # a plate through it
        ([0, 0, 0], [5, 5, 5], 0),  # around it
        ([2.5, 0, 0], one, 0.5),
        ([2.5, 0, 0], [1.5, 9, 9], 0),
        ([5, 6, 2], one, 5),
    ]
    for center, half, expected in cases:
        result = geometry.closest_box_box([0, 0, 0], one, None, center, half, None)
        assert result.distance[0] == expected
        assert (np.abs(result.point_a) <= 1).all()
        assert (np.abs(result.point_b - center) <= np.array(half)).all()


def test_segments_and_triangles_in_a_box():
    one = [1, 1, 1]
    inside = geometry.closest_segment_box([0, 0, 0], [0.5, 0, 0], [0, 0, 0], one)
    assert inside.distance[0] == 0
    assert geometry.closest_segment_box([-5, 0.5, 0.5], [5, 0.5, 0.5], [0, 0, 0], one).distance[0] == 0
    assert geometry.closest_segment_box([-5, 1, 1], [5, 1, 1], [0, 0, 0], one).distance[0] == 0
    assert geometry.closest_segment_box([2, -5, 2], [2, 5, 2], [0, 0, 0], one).distance[0] == pytest.approx(
        np.sqrt(2), rel=1e-15
    )
    # A triangle around a box that no edge of it meets, one inside, one that a corner of the box pierces.
    around = [[-9, -9, 0], [9, -9, 0], [0, 9, 0]]
    assert geometry.closest_triangle_box(around, [0, 0, 0], one).distance[0] == 0
    assert geometry.closest_triangle_box(np.array(around) / 20, [0, 0, 0], one).distance[0] == 0
    corner = [[3, 0, 0], [0, 3, 0], [0, 0, 3]]
    assert geometry.closest_triangle_box(corner, [0, 0, 0], one).distance[0] == pytest.approx(0, abs=1e-15)
    assert geometry.closest_triangle_box(np.array(corner) * 2, [0, 0, 0], one).distance[0] == pytest.approx(
        np.sqrt(3), rel=1e-14
    )


@pytest.mark.parametrize("pair", PAIRS)
def test_rigid_motion(pair):
    rng = np.random.default_rng(33)
    a, b = (Things(kind, rng, 400, 1.5, 1.0) for kind in pair.split("-"))
    before = closest(a, b)
    r, t = oracle.random_rotations(rng, 1)[0], rng.normal(size=3)
    for x in (a, b):
        x.corners = x.corners @ r.T + t
        if x.kind == "box":
            x.center, x.rotation = x.center @ r.T + t, r[None] @ x.rotation
    after = closest(a, b)
    assert np.allclose(after.distance, before.distance, rtol=1e-12, atol=1e-13)


def test_devices_say_the_same():
    rng = np.random.default_rng(34)
    p = rng.normal(size=(100, 4, 3))
    segments = geometry.closest_segment_segment(p[:, 0], p[:, 1], p[:, 2], p[:, 3])
    triangles = geometry.closest_point_triangle(p[:, 0], p[:, 1:])
    for i, row in enumerate(p):
        q = [tuple(x) for x in row]
        distance2, x, y = _device_segments(*q)
        assert np.sqrt(distance2) == pytest.approx(segments.distance[i], rel=1e-13)
        assert np.allclose(x, segments.point_a[i])
        assert np.allclose(y, segments.point_b[i])
        distance2, x, _ = _device_point_triangle(*q)
        assert np.sqrt(distance2) == pytest.approx(triangles.distance[i], rel=1e-13)
        assert np.allclose(x, triangles.point_b[i])


def test_region_of_the_closest_point():
    a, b, c = (0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 2.0, 0.0)
    cases = [((-1, -1, 1), 0), ((4, -1, 1), 1), ((-1, 4, 1), 2), ((1, -1, 1), 3), ((2, 2, 1), 4), ((-1, 1, 1), 5)]
    for p, region in [*cases, ((0.5, 0.5, 1), 6)]:
        assert _device_point_triangle(tuple(float(x) for x in p), a, b, c)[2] == region


def test_boxes_turned_by_almost_nothing():
    # Edges almost parallel, faces almost facing: the closest points jump, the distance must not.
    rng = np.random.default_rng(35)
    a, b = Things("box", rng, 600, 2.0, 1.0), Things("box", rng, 600, 2.0, 1.0)
    axis, angle = rng.normal(size=(600, 3)), 10.0 ** rng.uniform(-15, -1, 600)
    x, y, z = (axis / np.linalg.norm(axis, axis=1, keepdims=True) * angle[:, None]).T
    zero = np.zeros(600)
    turn = np.stack([np.stack(r, axis=1) for r in ((zero, -z, y), (z, zero, -x), (-y, x, zero))], axis=1)
    u, _, v = np.linalg.svd(np.eye(3) + turn)
    b.rotation = a.rotation @ (u @ v)
    b.corners = oracle.box_corners(b.center, b.half, b.rotation)
    prove(closest(a, b), a, b, 10.0, least=1e-4)
