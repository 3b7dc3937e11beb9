"""Paths against convolution surfaces of segments: times by quadrature of the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from thud.errors import InvalidInputError
from thud.particles import ParticleSystem, Skeleton, impact_coordinates, surface_points


def field(skeleton: Any, p: np.ndarray) -> float:
    """f - threshold by the definition."""
    total = -skeleton.threshold
    for (a, b), r, s in zip(np.asarray(skeleton.segments), np.asarray(skeleton.radii), np.asarray(skeleton.strengths)):
        length = np.linalg.norm(b - a)
        foot = (p - a) @ (b - a) / length
        square = r**2 - ((p - a - foot / length * (b - a)) ** 2).sum()
        if square <= 0.0:
            continue
        near = np.clip([foot - np.sqrt(square), foot + np.sqrt(square)], 0.0, length)

        def kernel(x: float, a: Any = a, b: Any = b, r: float = r, length: float = length) -> float:
            return max(0.0, 1.0 - ((p - a - x / length * (b - a)) ** 2).sum() / r**2) ** 3

        total += s * 35.0 / 32.0 / r * quad(kernel, *near, epsabs=1e-13, epsrel=1e-13)[0]
    return float(total)


def some(seed: int) -> Skeleton:
    rng = np.random.default_rng(seed)
    ends = rng.normal(size=(4, 2, 3)) * [0.8, 0.8, 0.5]
    return Skeleton(ends, rng.uniform(0.4, 0.9, 4), [1.0, 1.0, 0.8, -0.6], 0.3)


@pytest.mark.parametrize("curved", [False, True])
def test_times_are_those_of_the_definition(curved: bool) -> None:
    hits = 0
    for seed in range(3):
        skeleton, rng = some(seed), np.random.default_rng(seed + 50)
        start = rng.normal(size=(12, 3)) * 3.0
        pull = rng.normal(size=(12, 3)) * (2.0 if curved else 0.0)
        velocity = rng.normal(size=(12, 3)) * 0.4 - start - 0.5 * pull
        found = ParticleSystem(start, velocity, pull, lifetime=2.0, generations=1).impacts([skeleton], 0.0, 2.0)
        first = dict(zip(found.particle.tolist(), found.time.tolist()))
        for k in range(12):

            def h(t: float, k: int = k, skeleton: Any = skeleton, at: Any = (start, velocity, pull)) -> float:
                return field(skeleton, at[0][k] + t * (at[1][k] + 0.5 * t * at[2][k]))

            # Dense samples in closed form find the bracket, the definition the time.
            t = np.linspace(0.0, 2.0, 4001)[:-1]
            value = skeleton.value(start[k] + t[:, None] * (velocity[k] + 0.5 * t[:, None] * pull[k]))
            change = np.flatnonzero(value[1:] * value[:-1] < 0.0)
            if not len(change):
                assert k not in first
                continue
            hits += 1
            truth = brentq(h, t[change[0]], t[change[0] + 1], xtol=1e-13)
            assert first[k] == pytest.approx(truth, abs=1e-9)
    assert hits > 10


def test_a_segment_cut_in_two_is_the_same_and_a_long_one_a_cylinder() -> None:
    ends = np.array([[-5.0, 0, 0], [5.0, 0, 0]])
    one, two = Skeleton([ends], 0.8), Skeleton([[ends[0], [0.3, 0, 0]], [[0.3, 0, 0], ends[1]]], 0.8)
    p = np.random.default_rng(1).normal(size=(200, 3)) * 0.6
    np.testing.assert_allclose(one.value(p), two.value(p), atol=1e-13)
    radius = 0.8 * np.sqrt(1.0 - 0.5 ** (2.0 / 7.0))
    for skeleton in (one, two):
        found = ParticleSystem([0.3, 0.0, 3.0], [0, 0, -1.0]).impacts([skeleton], 0.0, 4.0)
        assert found.time[0] == pytest.approx(3.0 - radius, abs=1e-12)
        np.testing.assert_allclose(found.normal[0], [0, 0, 1], atol=1e-12)


def test_thin_crossings_are_found_and_a_miss_is_none() -> None:
    skeleton = Skeleton([[[-5.0, 0, 0], [5.0, 0, 0]]], 0.8)
    radius = 0.8 * np.sqrt(1.0 - 0.5 ** (2.0 / 7.0))
    for off, count in ((radius - 1e-3, 1), (radius - 1e-6, 1), (radius - 1e-9, 1), (radius + 1e-9, 0), (radius + 1e-3, 0)):
        found = ParticleSystem([0.0, off, 3.0], [0, 0, -1.0], lifetime=6.0, generations=1).impacts([skeleton], 0.0, 6.0)
        assert len(found) == count


def test_places_lead_back() -> None:
    skeleton = Skeleton([[[-1.0, 0, 0], [0.5, 0, 0]], [[0.5, 0, 0], [0.5, 1, 0.5]]], 0.7)
    start = [[-0.3, 0.05, 3.0], [0.4, 0.6, 3.0]]
    found = ParticleSystem(start, [0, 0, -1.0], lifetime=6.0, generations=1).impacts([skeleton], 0.0, 6.0)
    assert len(found) == 2
    back = surface_points([skeleton], 0, impact_coordinates(found, [skeleton]))
    np.testing.assert_allclose(back, found.point, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([[0, 0, 0]], 1.0), "segments"),
        (([[[0, 0, 0], [0, 0, 0]]], 1.0), "segments: row 0"),
        (([[[0, 0, 0], [1, 0, 0]]], -1.0), "radii"),
        (([[[0, 0, 0], [1, 0, 0]]], 1.0, 0.0), "strengths"),
        (([[[0, 0, 0], [1, 0, 0]]], 1.0, 1.0, 0.0), "threshold"),
    ],
)
def test_errors_name_the_argument(arguments: Any, name: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        Skeleton(*arguments)
