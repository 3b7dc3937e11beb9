"""The references themselves, against closed forms and against each other."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.fuzz.poses import random_directions, random_rotations, tilts
from tests.oracles import convex
from tests.oracles.convex import parts_of, signed_distance

RNG = np.random.default_rng(11)


def poses(count: int, spread: float, rotations: np.ndarray | None = None) -> np.ndarray:
    """Pose rows of 12."""
    rotations = random_rotations(count, RNG) if rotations is None else rotations
    return np.concatenate([rotations.reshape(count, 9), RNG.uniform(-spread, spread, (count, 3))], axis=1)


def identity(count: int) -> np.ndarray:
    return np.tile([1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0, 0, 0, 0], (count, 1))


def separating_axes(half_a: np.ndarray, half_b: np.ndarray, rotation: np.ndarray, translation: np.ndarray) -> float:
    """Largest separation of two boxes over the 15 axes: negative depth in an overlap."""
    axes = [*np.eye(3), *rotation.T]
    for u in np.eye(3):
        for w in rotation.T:
            n = np.cross(u, w)
            if np.linalg.norm(n) > 1e-12:
                n = n / np.linalg.norm(n)
                axes.append(n - (n @ u) * u)
    gaps = []
    for n in axes:
        n = n / np.linalg.norm(n)
        gaps.append(abs(n @ translation) - half_a @ np.abs(n) - half_b @ np.abs(rotation.T @ n))
    return max(gaps)


def test_depth_of_boxes_is_that_of_the_separating_axes() -> None:
    half_a, half_b = np.array([1.0, 0.5, 0.02]), np.array([0.3, 0.6, 0.9])
    for rotations in (random_rotations(100, RNG), tilts(100, RNG)):
        rows = poses(100, 0.6, rotations)
        found = signed_distance(thud.Box(half_a), thud.Box(half_b), identity(100), rows)
        for row, distance in zip(rows, found, strict=True):
            truth = separating_axes(half_a, half_b, row[:9].reshape(3, 3), row[9:])
            if truth <= 0:
                np.testing.assert_allclose(distance, truth, atol=1e-13)
            else:
                assert distance >= truth - 1e-13  # along an axis they are closer than they are
        assert (found < 0).any()


def test_polytopes_by_features_and_by_the_sweep() -> None:
    hull, box = thud.ConvexHull(RNG.normal(size=(20, 3))), thud.Box([0.5, 1.0, 0.8])
    rows = poses(40, 2.5)
    rotations, translations = convex.relative_poses(identity(40), rows)
    by_features = signed_distance(hull, box, identity(40), rows)
    by_sweep = convex.sweep_distance(parts_of(hull)[0], parts_of(box)[0], rotations, translations)
    np.testing.assert_allclose(by_sweep, by_features, atol=1e-7)
    assert (by_features < 0).any()
    assert (by_features > 0).any()


def test_aligned_cylinders_have_a_closed_form() -> None:
    a, b = thud.Cylinder(0.7, 0.4), thud.Cylinder(0.3, 1.1)
    rows = identity(60)
    rows[:, 9:] = RNG.uniform(-1.5, 1.5, (60, 3))
    over = np.stack([np.hypot(rows[:, 9], rows[:, 10]) - 1.0, np.abs(rows[:, 11]) - 1.5], axis=1)
    truth = np.linalg.norm(np.maximum(over, 0), axis=1) + np.minimum(over.max(axis=1), 0)
    np.testing.assert_allclose(signed_distance(a, b, identity(60), rows), truth, atol=1e-8)
    assert (truth < 0).any()
    assert (truth > 0).any()


def test_capsules_are_rounded_segments() -> None:
    a, b = thud.Capsule(0.2, 1.0), thud.Capsule(0.3, 0.7)
    rows = poses(30, 1.0)
    s = np.linspace(-1, 1, 401)
    found = signed_distance(a, b, identity(30), rows)
    for row, distance in zip(rows, found, strict=True):
        first = s[:, None] * [0, 0, 1.0]
        second = 0.7 * s[:, None] * row[[2, 5, 8]] + row[9:]
        sampled = np.linalg.norm(first[:, None] - second[None], axis=2).min() - 0.5
        assert sampled - 6e-3 <= distance <= sampled + 1e-12


@pytest.mark.parametrize(
    "shape",
    [
        thud.Sphere(0.7),
        thud.Capsule(0.3, 0.8),
        thud.Box([0.5, 0.2, 1.0]),
        thud.Cylinder(0.6, 0.9),
        thud.Cone(0.6, 0.9),
        thud.Ellipsoid([0.3, 1.2, 0.7]),
        thud.ConvexHull(np.random.default_rng(0).normal(size=(12, 3))),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_point_distance_is_what_planes_and_support_points_show(shape: thud.shapes.Shape) -> None:
    (part,) = parts_of(shape)
    n = random_directions(20_000, RNG)
    points = RNG.uniform(-1.5, 1.5, (300, 3))
    distance = part.point_distance(points)
    # No plane shows a point farther away than it is, and the best of many shows nearly as much, inside as outside.
    shown = (points @ n.T - part.heights(n)).max(axis=1)
    assert (shown <= distance + 1e-12).all()
    np.testing.assert_allclose(shown, distance, atol=0.05)
    # A support point is on the surface; beyond it along the normal the distance grows evenly.
    on_surface = part.support(n[:300])
    np.testing.assert_allclose(part.point_distance(on_surface), 0.0, atol=1e-12)
    np.testing.assert_allclose(part.point_distance(on_surface + 0.25 * n[:300]), 0.25, atol=1e-12)
    np.testing.assert_allclose(np.einsum("ni,ni->n", on_surface, n[:300]), part.heights(n[:300]), atol=1e-12)
    assert (distance < 0).any()


def test_ellipsoid_from_its_planes_of_symmetry() -> None:
    radii = np.array([0.3, 1.2, 0.7])
    (part,) = parts_of(thud.Ellipsoid(radii))
    np.testing.assert_allclose(part.point_distance(np.zeros((1, 3))), -0.3)
    np.testing.assert_allclose(part.point_distance(np.diag(radii)), 0.0, atol=1e-15)
    # On the long axis near the centre the closest point is off the axis: x = (r0^2 and the rest by the equation).
    y = 0.5
    x = np.array([0.0, radii[1] ** 2 * y / (radii[1] ** 2 - radii[0] ** 2), 0.0])
    x[0] = radii[0] * np.sqrt(1 - (x[1] / radii[1]) ** 2)
    np.testing.assert_allclose(part.point_distance(np.array([[0.0, y, 0.0]])), -np.linalg.norm(x - [0, y, 0]), rtol=1e-12)


def test_half_spaces() -> None:
    ground, box = thud.HalfSpace([0, 0, 2.0], 0.5), thud.Box([1, 1, 1])
    rows = identity(2)
    rows[:, 11] = 4.0, 1.0
    np.testing.assert_allclose(signed_distance(ground, box, identity(2), rows), [2.5, -0.5])
    np.testing.assert_allclose(signed_distance(box, ground, rows, identity(2)), [2.5, -0.5])
    upside_down = np.array([[1.0, 0, 0, 0, -1, 0, 0, 0, -1, 0, 0, 3]])
    np.testing.assert_allclose(signed_distance(ground, ground, identity(1), upside_down), 2.0)
    assert signed_distance(ground, ground, identity(2), poses(2, 1.0)).tolist() == [-np.inf] * 2


def test_compounds_are_as_close_as_their_closest_parts() -> None:
    inner = thud.Compound([thud.Sphere(0.5), thud.Cone(0.3, 0.4)], thud.Pose([[0, 0, 1], [0, 0, -1]]))
    outer = thud.Compound([inner, thud.Box([0.1, 0.2, 0.3])], thud.Pose([[1, 0, 0], [0, 2, 0]]))
    rows = poses(20, 2.0)
    whole = signed_distance(outer, thud.Ellipsoid([0.5, 0.7, 0.9]), identity(20), rows)
    shifted = [(thud.Sphere(0.5), [1, 0, 1]), (thud.Cone(0.3, 0.4), [1, 0, -1]), (thud.Box([0.1, 0.2, 0.3]), [0, 2, 0])]
    parts = []
    for shape, place in shifted:
        there = identity(20)
        there[:, 9:] = place
        parts.append(signed_distance(shape, thud.Ellipsoid([0.5, 0.7, 0.9]), there, rows))
    np.testing.assert_allclose(whole, np.min(parts, axis=0), atol=1e-7)
