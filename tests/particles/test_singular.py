"""Apexes of cones and lines of two planes: a double root of h where a path passes through the surface is an impact."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.particles.scenes import random_rotation
from thud import particles as p
from thud.rotations import rotation_from_quaternion

APEX = np.array([0.3, -0.2, 1.7])


def turned(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A quaternion and its matrix; the first is that of no rotation."""
    q = np.array([1.0, 0, 0, 0]) if seed == 0 else random_rotation(np.random.default_rng(seed))
    return q, rotation_from_quaternion(q[None], "q")[0].reshape(3, 3)


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_enters_a_closed_cone_through_its_apex(seed: int, curved: bool) -> None:
    # h is negative in both nappes: along the axis it has a double root at the apex, which was taken for a touch.
    q, turn = turned(seed)
    up, half = turn[:, 2], 0.8
    cone = p.Solid(thud.Cone(0.5, half), thud.Pose(APEX - half * up, q))
    lean = np.random.default_rng(seed).uniform(-0.15, 0.15, size=(5, 2)) * [[0.0], [1.0], [1.0], [1.0], [1.0]]
    way = up + lean @ turn[:, :2].T
    a = -3.0 * way if curved else np.zeros((5, 3))
    # At the apex after 1 s.
    v = -way * 2.0
    x = APEX - v - 0.5 * a
    got = p.ParticleSystem(x, v, a, lifetime=5.0).impacts([cone], 0.0, 5.0)
    assert sorted(got.particle.tolist()) == list(range(5))
    np.testing.assert_allclose(got.time, 1.0, atol=1e-9)
    np.testing.assert_allclose(got.point, np.tile(APEX, (5, 1)), atol=1e-9)
    # On the side that it comes from, of unit length: it bounces back.
    assert ((got.normal * got.velocity).sum(axis=1) < 0.0).all()
    np.testing.assert_allclose(np.linalg.norm(got.normal, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_bounce_off_an_apex_leaves_it(seed: int) -> None:
    q, turn = turned(seed)
    up = turn[:, 2]
    cone = p.Solid(thud.Cone(0.5, 0.8), thud.Pose(APEX - 0.8 * up, q), restitution=0.5)
    system = p.ParticleSystem(APEX + 2.0 * up, -up, -2.0 * up, lifetime=20.0, response="bounce", bounces=6)
    got = system.impacts([cone], 0.0, 20.0)
    assert len(got) == 7
    speed = 3.0 * 0.5 ** np.arange(7)
    np.testing.assert_allclose(got.speed, speed, rtol=1e-6)
    np.testing.assert_allclose(np.diff(got.time), speed[1:] * 2.0 / 2.0, rtol=1e-6)


def test_a_path_past_an_apex_from_outside_only_touches_it() -> None:
    cone = p.Solid(thud.Cone(0.5, 0.8), thud.Pose(APEX - [0, 0, 0.8]))
    x = APEX - [2.0, 0, 0]
    assert len(p.ParticleSystem(x, [1.0, 0, 0], lifetime=5.0).impacts([cone], 0.0, 5.0)) == 0
    # Turns round in the apex: it comes there and goes back.
    up = np.array([0, 0, 1.0])
    assert len(p.ParticleSystem(APEX + up, -2.0 * up, 2.0 * up, lifetime=5.0).impacts([cone], 0.0, 5.0)) == 0
    # A parabola that touches the wall from inside of the open cone, away from the apex.
    wall = p.Quadric.cone([0, 0, 0], 1.0)
    path = p.ParticleSystem([-1.0, 0.0, -2.0], [2.0, 0, 0], [-2.0, 0, 0], lifetime=1.9)
    assert len(path.impacts([wall], 0.0, 1.9)) == 0


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_two_planes_are_crossed_at_their_line(seed: int, curved: bool) -> None:
    rng = np.random.default_rng(seed)
    _q, turn = turned(seed)
    n, m = turn[:, 0], turn[:, 0] * 0.3 + turn[:, 1]
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = 0.5 * (np.outer(n, m) + np.outer(m, n))
    pair = p.Quadric(matrix, APEX, restitution=0.5)
    at = APEX + turn[:, 2] * 0.7
    v, a = rng.normal(size=3), (rng.normal(size=3) if curved else np.zeros(3))
    got = p.ParticleSystem(at - v - 0.5 * a, v, a, lifetime=1.5).impacts([pair], 0.0, 1.5)
    assert len(got) == 1
    # The matrix is rounded: its two planes may part by the root of that at their line. A parabola may cross one before.
    assert curved or abs(got.time[0] - 1.0) < 1e-6
    if abs(got.time[0] - 1.0) < 1e-12:
        np.testing.assert_allclose(got.point[0], at, atol=1e-9)
        assert abs(got.normal[0] @ turn[:, 2]) < 1e-9
        w = v + a
        across = w - (w @ turn[:, 2]) * turn[:, 2]
        np.testing.assert_allclose(got.normal[0], -across / np.linalg.norm(across), atol=1e-9)


def test_a_double_plane_is_crossed() -> None:
    matrix = np.zeros((4, 4))
    matrix[2, 2] = 1.0
    got = p.ParticleSystem([0, 0, 2.0], [1.0, 0, -1.0], lifetime=5.0).impacts([p.Quadric(matrix)], 0.0, 5.0)
    assert got.time.tolist() == [2.0]
    assert got.normal.tolist() == [[0.0, 0.0, 1.0]]
    # But two parallel ones that are apart are two crossings, and a parabola may touch it.
    path = p.ParticleSystem([0, 0, 1.0], [0, 0, -2.0], [0, 0, 2.0], lifetime=5.0)
    assert len(path.impacts([p.Quadric(matrix)], 0.0, 5.0)) == 0
