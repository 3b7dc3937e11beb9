"""Small kernels as plain functions: under NUMBA_DISABLE_JIT=1 the same source runs interpreted, so that a fault of the
formula and a fault of the compiler can be told apart. CI runs these both ways."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thud.convex.box_box import depth_box_box, intersects_box_box
from thud.convex.capsule_capsule import contact_capsule_capsule
from thud.convex.point_distance import point_ball, point_box, point_capsule, point_cone, point_cylinder, point_ellipsoid
from thud.convex.simplex import closest_on_segment, closest_on_tetrahedron, closest_on_triangle

pytestmark = pytest.mark.interpreted

RNG = np.random.default_rng(3)


def rotation() -> np.ndarray:
    q = RNG.normal(size=4)
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def tuple3(v: np.ndarray) -> tuple[float, float, float]:
    return float(v[0]), float(v[1]), float(v[2])


def closest_weights(points: np.ndarray) -> np.ndarray:
    """Closest point of a simplex to the origin by trying every subset of its vertices."""
    best = np.full(3, np.inf)
    for mask in range(1, 2 ** len(points)):
        chosen = points[[k for k in range(len(points)) if mask >> k & 1]]
        edges = chosen[1:] - chosen[0]
        if len(edges):
            weights = np.linalg.lstsq(edges @ edges.T, -edges @ chosen[0], rcond=None)[0]
            weights = np.append(1 - weights.sum(), weights)
        else:
            weights = np.ones(1)
        foot = weights @ chosen
        if (weights >= -1e-12).all() and foot @ foot < best @ best:
            best = foot
    return best


def test_simplex_solvers_find_the_closest_point() -> None:
    for _ in range(100):
        points = RNG.normal(size=(4, 3)) + RNG.normal(size=3)
        a, b, c = (tuple3(p) for p in points[:3])
        v, t = closest_on_segment(a, b)
        np.testing.assert_allclose(v, closest_weights(points[:2]), atol=1e-12)
        assert 0.0 <= t <= 1.0
        v, xa, xb, xc = closest_on_triangle(a, b, c)
        np.testing.assert_allclose(v, closest_weights(points[:3]), atol=1e-12)
        np.testing.assert_allclose(np.array([xa, xb, xc]) @ points[:3], v, atol=1e-12)
    # The solver for a tetrahedron relies on d being the newest vertex: it lies beyond the closest point of abc.
    met = 0
    for _ in range(400):
        points = RNG.normal(size=(4, 3))
        v = closest_weights(points[:3])
        if points[3] @ v >= v @ v:
            continue
        inside, u, *weights = closest_on_tetrahedron(*(tuple3(p) for p in points))
        expected = closest_weights(points)
        if expected @ expected < 1e-20:
            assert inside
        else:
            met += 1
            assert not inside
            assert np.linalg.norm(u) <= np.linalg.norm(v) + 1e-12
            np.testing.assert_allclose(np.array(weights) @ points, u, atol=1e-12)
    assert met > 50


def test_box_box_by_all_axes() -> None:
    for _ in range(60):
        a, b, t = RNG.uniform(0.2, 1.0, 3), RNG.uniform(0.2, 1.0, 3), RNG.normal(size=3)
        r = rotation()
        axes = [*np.eye(3), *r.T]
        axes += [np.cross(u, w) / np.linalg.norm(np.cross(u, w)) for u in np.eye(3) for w in r.T]
        overlaps = [a @ np.abs(n) + b @ np.abs(r.T @ n) - abs(n @ t) for n in axes]
        depth, normal = depth_box_box(*a, *b, tuple(r.ravel()), tuple3(t), np.inf)
        np.testing.assert_allclose(depth, min(overlaps), atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(normal), 1.0)
        assert intersects_box_box(*a, *b, tuple(r.ravel()), tuple3(t), 0.0) == (min(overlaps) >= 0)


def test_segments_by_dense_sampling() -> None:
    for _ in range(30):
        half_a, half_b = RNG.uniform(0.1, 2.0, 2)
        r, t = rotation(), RNG.normal(size=3)
        distance, point, normal = contact_capsule_capsule(half_a, half_b, tuple(r.ravel()), tuple3(t))
        s, u = np.linspace(-half_a, half_a, 401), np.linspace(-half_b, half_b, 401)
        gaps = np.linalg.norm(np.stack([0 * s, 0 * s, s], 1)[:, None] - (t + u[:, None] * r[:, 2])[None], axis=2)
        assert distance <= gaps.min() + 1e-12
        assert distance >= gaps.min() - 0.01 * (half_a + half_b)
        end = np.array(point) + distance * np.array(normal)
        assert abs(np.array(point)[2]) <= half_a + 1e-12
        assert np.linalg.norm(np.cross(end - t, r[:, 2])) < 1e-9


@pytest.mark.parametrize(
    ("solid", "inside"),
    [
        (lambda p: point_ball(p, 0.8), lambda p: np.linalg.norm(p) <= 0.8),
        (lambda p: point_capsule(p, 0.4, 0.6), lambda p: np.linalg.norm(p - [0, 0, np.clip(p[2], -0.6, 0.6)]) <= 0.4),
        (lambda p: point_box(p, 0.5, 0.6, 0.9), lambda p: (np.abs(p) <= [0.5, 0.6, 0.9]).all()),
        (lambda p: point_cylinder(p, 0.5, 0.7), lambda p: math.hypot(p[0], p[1]) <= 0.5 and abs(p[2]) <= 0.7),
        (lambda p: point_cone(p, 0.8, 0.7), lambda p: abs(p[2]) <= 0.7 and math.hypot(p[0], p[1]) <= 0.8 * (0.7 - p[2]) / 1.4),
        (lambda p: point_ellipsoid(p, 0.4, 0.7, 1.0), lambda p: ((p / [0.4, 0.7, 1.0]) ** 2).sum() <= 1.0),
    ],
    ids=["ball", "capsule", "box", "cylinder", "cone", "ellipsoid"],
)
def test_signed_distance_of_a_point(solid, inside) -> None:  # type: ignore[no-untyped-def]
    for _ in range(150):
        p = RNG.normal(size=3) * 0.8
        d, closest, normal = solid(tuple3(p))
        assert (d <= 0) == inside(p)
        np.testing.assert_allclose(np.array(closest) + d * np.array(normal), p, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(normal), 1.0)
        np.testing.assert_allclose(solid(tuple3(np.array(closest)))[0], 0.0, atol=1e-12)
        # A distance function: nothing nearer in any direction (steps of the distance's length stay on one side).
        for step in RNG.normal(size=(10, 3)):
            moved = p + 0.999 * abs(d) * step / np.linalg.norm(step)
            assert inside(moved) == inside(p) or abs(d) < 1e-9
