"""Moving spheres against spheres and triangles: closed forms, the general cast, and samples of the motion."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.continuous import sphere_sphere, sphere_triangle
from thud.errors import InvalidInputError

MISS, HIT, AT_START = 0, 1, 2
TRIANGLE = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])


def test_two_spheres_by_hand() -> None:
    # Head on: 10 m apart, radii 1 and 2, both moving: the gap of 7 closes at 10.
    one = sphere_sphere((0, 0, 0), 1.0, (10, 0, 0), 2.0, (4, 0, 0), (-6, 0, 0))
    assert one.status[0] == HIT
    assert one.time[0] == pytest.approx(0.7, abs=1e-15)
    np.testing.assert_allclose(one.point, [[3.8, 0, 0]], atol=1e-14)
    np.testing.assert_allclose(one.normal, [[1, 0, 0]], atol=1e-15)


@pytest.mark.parametrize(
    ("b", "motion", "status", "time"),
    [
        ((10.0, 3, 0), (20.0, 0, 0), HIT, 0.5),  # grazing, exactly
        ((10.0, 3.0000001, 0), (20.0, 0, 0), MISS, np.inf),
        ((10.0, 0, 0), (-20.0, 0, 0), MISS, np.inf),  # parting: the slides' inequality holds
        ((10.0, 0, 0), (6.9999, 0, 0), MISS, np.inf),  # too short: it holds, too
        ((10.0, 0, 0), (7.0, 0, 0), HIT, 1.0),
        ((3.0, 0, 0), (-5.0, 0, 0), AT_START, 0.0),  # touching
        ((2.0, 0, 0), (0.0, 0, 0), AT_START, 0.0),
        ((0.0, 0, 0), (1.0, 0, 0), AT_START, 0.0),  # concentric
        ((3.1, 0, 0), (0.0, 0, 0), MISS, np.inf),  # at rest
    ],
)
def test_two_spheres_at_the_edges(b: tuple, motion: tuple, status: int, time: float) -> None:
    one = sphere_sphere((0, 0, 0), 1.0, b, 2.0, motion)
    assert one.status[0] == status
    assert one.time[0] == pytest.approx(time, abs=1e-15)
    assert np.isfinite(one.point).all()
    assert np.linalg.norm(one.normal) == pytest.approx(0.0 if status == MISS else 1.0, abs=1e-15)
    if status == AT_START:
        # Moved out, B touches A.
        assert np.linalg.norm(b + one.depth[0] * one.normal[0]) == pytest.approx(3.0)
        assert np.linalg.norm(one.point[0]) <= 1.0 + 1e-15
        assert np.linalg.norm(one.point[0] - b) <= 2.0 + 1e-15


def test_two_spheres_agree_with_the_cast() -> None:
    rng = np.random.default_rng(3)
    n = 2000
    a, b = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)) * 3
    ma = rng.normal(size=(n, 3)) * 3
    mb = ma + (a - b) * rng.uniform(0.0, 2.0, (n, 1)) + rng.normal(size=(n, 3))
    one = sphere_sphere(a, 0.5, b, 0.8, ma, mb)
    two = thud.cast(thud.Sphere(0.5), thud.Sphere(0.8), thud.Pose(a), thud.Pose(b), ma, mb)
    np.testing.assert_array_equal(one.status, two.status)
    assert (one.status == HIT).sum() > 300
    hit = one.status == HIT
    assert (two.time[hit] <= one.time[hit] + 1e-12).all()
    moved = np.linalg.norm((b - a)[hit] + (mb - ma)[hit] * two.time[hit, None], axis=1)
    assert (np.abs(moved - 1.3) < 1e-8).all()
    exact = np.linalg.norm((b - a)[hit] + (mb - ma)[hit] * one.time[hit, None], axis=1)
    assert (np.abs(exact - 1.3) < 1e-13).all()


@pytest.mark.parametrize(
    ("center", "motion", "time", "point"),
    [
        ((1.0, 1, 5), (0.0, 0, -8), 0.5, (1.0, 1, 0)),  # face
        ((1.0, 1, -5), (0.0, 0, 8), 0.5, (1.0, 1, 0)),  # its back
        ((1.0, -5, 0), (0.0, 8, 0), 0.5, (1.0, 0, 0)),  # edge, in the plane
        ((-5.0, 0, 0), (8.0, 0, 0), 0.5, (0.0, 0, 0)),  # vertex
        ((9.0, 0, 0), (-8.0, 0, 0), 0.5, (4.0, 0, 0)),
        ((-4.0, 2, 1), (8.0, 0, 0), 0.5, (0.0, 2, 0)),  # grazes the edge x = 0 and slides over the face
        ((1.0, 1, 5), (0.0, 0, -4), 1.0, (1.0, 1, 0)),  # at the end of the step
    ],
)
def test_sphere_and_triangle_by_hand(center: tuple, motion: tuple, time: float, point: tuple) -> None:
    one = sphere_triangle(center, 1.0, TRIANGLE, motion)
    assert one.status[0] == HIT
    assert one.time[0] == pytest.approx(time, abs=1e-15)
    np.testing.assert_allclose(one.point[0], point, atol=1e-14)
    where = np.array(center) + time * np.array(motion)
    np.testing.assert_allclose(one.normal[0], np.array(point) - where, atol=1e-14)
    # The triangle moves instead.
    other = sphere_triangle(center, 1.0, TRIANGLE, 0.0, -np.array(motion))
    assert other.time[0] == pytest.approx(time, abs=1e-15)
    np.testing.assert_allclose(other.point[0], np.array(point) - time * np.array(motion), atol=1e-14)


@pytest.mark.parametrize(
    ("center", "motion", "status"),
    [
        ((1.0, 1, 5), (0.0, 0, 8), MISS),  # parting
        ((1.0, 1, 5), (0.0, 0, -3.99), MISS),  # too short
        ((1.0, 1, 5), (8.0, 0, 0), MISS),  # along the plane
        ((1.0, 1, 5), (0.0, 0, 0), MISS),  # at rest
        ((1.0, 1, 1), (0.0, 0, 8), AT_START),  # touching, though parting
        ((1.0, 1, 0.5), (0.0, 0, 0), AT_START),
        ((-4.0, 2, 1.0000001), (8.0, 0, 0), MISS),  # just above
    ],
)
def test_sphere_and_triangle_without_impact(center: tuple, motion: tuple, status: int) -> None:
    one = sphere_triangle(center, 1.0, TRIANGLE, motion)
    assert one.status[0] == status
    assert one.time[0] == (np.inf if status == MISS else 0.0)
    assert (one.normal == 0.0).all()


@pytest.mark.parametrize("flat", [False, True])
def test_sphere_and_triangle_agree_with_the_cast(flat: bool) -> None:
    rng = np.random.default_rng(5)
    n = 3000
    triangles, centers = rng.normal(size=(n, 3, 3)), rng.normal(size=(n, 3)) * 2
    if flat:
        # Needles, and triangles that are points.
        triangles[::2, 2] = 0.25 * triangles[::2, 0] + 0.75 * triangles[::2, 1]
        triangles[::5] = triangles[::5, :1]
    other = rng.normal(size=(n, 3))
    # Aimed at a point of the triangle or near it.
    aim = np.einsum("nk,nkj->nj", rng.dirichlet([0.5] * 3, n), triangles) + 0.3 * rng.normal(size=(n, 3))
    motion = (aim - centers) * rng.uniform(0.5, 2.0, (n, 1)) + other
    one = sphere_triangle(centers, 0.3, triangles, motion, other)
    hit = one.status == HIT
    assert hit.sum() > 600
    distance = thud.geometry.closest_point_triangle
    # At the time given they touch; before it, and all the time in a miss, they do not.
    last = np.where(hit, one.time, 1.0)
    for k in range(61):
        t = (last * k / 60)[:, None]
        away = distance(centers + t * motion, triangles + t[:, None] * other[:, None]).distance
        assert (away[one.status != AT_START] >= 0.3 - 1e-12).all()
        if k == 0:
            np.testing.assert_array_equal(away <= 0.3, one.status == AT_START)
    assert (np.abs(away[hit] - 0.3) < 1e-12).all()
    if not flat:
        for k in range(0, n, 50):
            mesh = thud.TriangleMesh(triangles[k], [[0, 1, 2]])
            cast = thud.cast(thud.Sphere(0.3), mesh, thud.Pose(centers[k]), None, motion[k], other[k])
            assert cast.status[0] == one.status[k]
            if hit[k]:
                assert cast.time[0] == pytest.approx(one.time[k], abs=1e-7)
                np.testing.assert_allclose(cast.normal[0], one.normal[k], atol=1e-6)


def test_scale_does_not_matter() -> None:
    rng = np.random.default_rng(9)
    triangles, centers, motion = rng.normal(size=(500, 3, 3)), rng.normal(size=(500, 3)) * 2, rng.normal(size=(500, 3)) * 3
    one = sphere_triangle(centers, 0.3, triangles, motion)
    for scale in (2.0**-200, 2.0**200):
        two = sphere_triangle(centers * scale, 0.3 * scale, triangles * scale, motion * scale)
        np.testing.assert_array_equal(one.status, two.status)
        np.testing.assert_allclose(two.time, one.time, rtol=1e-12)


def test_same_bytes_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    n = 3000
    points = [rng.normal(size=(n, 3)) * 2 for _ in range(4)]
    triangles = rng.normal(size=(n, 3, 3))
    for query in (
        lambda k: sphere_sphere(points[0], 0.4, points[1], 0.3, points[2], points[3], threads=k),
        lambda k: sphere_triangle(points[0], 0.4, triangles, points[2], points[3], threads=k),
    ):
        one, two = query(1), query(2)
        for name in ("time", "point", "normal", "status"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


NAN_ROW = [[0, 0, 0], [0, np.nan, 0]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sphere_sphere(NAN_ROW, 1.0, (0, 0, 0), 1.0, (0, 0, 0)), ["center_a", "row 1"]),
        (lambda: sphere_sphere((0, 0, 0), -1.0, (0, 0, 0), 1.0, (0, 0, 0)), ["radius_a"]),
        (lambda: sphere_sphere((0, 0), 1.0, (0, 0, 0), 1.0, (0, 0, 0)), ["center_a", "shape"]),
        (lambda: sphere_sphere(np.ones((2, 3)), 1.0, np.ones((3, 3)), 1.0, (0, 0, 0)), ["center_a", "center_b"]),
        (lambda: sphere_triangle((0, 0, 0), 0.0, TRIANGLE, (0, 0, 0)), ["radius"]),
        (lambda: sphere_triangle((0, 0, 0), 1.0, TRIANGLE[:2], (0, 0, 0)), ["triangle", "shape"]),
        (lambda: sphere_triangle((0, 0, 0), 1.0, TRIANGLE, NAN_ROW), ["motion", "row 1"]),
    ],
)
def test_hostile_input(call: object, words: list[str]) -> None:
    with pytest.raises(InvalidInputError) as error:
        call()  # type: ignore[operator]
    for word in words:
        assert word in str(error.value)
