"""Crossings of polynomials against all roots with 50 digits, and the corner cases."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from tests.oracles.particle_paths import DIGITS, real_roots
from thud.particles.crossings.roots import crossings


def as_pairs(c) -> tuple:
    return tuple((float(x), 0.0) for x in [*c, *[0.0] * (5 - len(c))])


def found(c, to: float = math.inf) -> list[float]:
    count, roots = crossings(as_pairs(c), to)
    assert list(roots[:count]) == sorted(roots[:count])
    return list(roots[:count])


@pytest.mark.parametrize("kind", ["plain", "scales", "close"])
def test_random_polynomials(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(120):
        degree = int(rng.integers(1, 5))
        c = rng.normal(size=degree + 1)
        if kind == "scales":
            c *= 10.0 ** rng.uniform(-8, 8, size=degree + 1)
        elif kind == "close":
            roots = rng.uniform(0, 3, size=degree)
            roots[1:2] = roots[0] + 10.0 ** rng.uniform(-12, -2)
            c = np.poly(roots)[::-1] * rng.normal()
        to = float(rng.choice([1.0, 10.0, 1e3, math.inf]))
        got = found(c, to)
        with mp.workdps(DIGITS):
            want = [r for r in real_roots([mp.mpf(float(x)) for x in c]) if 0 < r < to]
            assert len(got) == len(want), (c, to)
            for x, y in zip(got, want):
                assert abs(x - y) <= 1e-15 * abs(y)


def test_double_roots_are_no_crossings_and_triple_ones_are() -> None:
    assert found([1.0, -2.0, 1.0]) == []
    assert found([-1.0, 3.0, -3.0, 1.0]) == pytest.approx([1.0], rel=1e-15)
    assert found([4.0, -12.0, 13.0, -6.0, 1.0]) == []  # (t - 1)^2 (t - 2)^2
    assert found([-6.0, 17.0, -17.0, 7.0, -1.0]) == pytest.approx([2.0, 3.0], abs=1e-15)  # -(t-1)^2 (t-2)(t-3)
    assert found([1.0, -4.0, 6.0, -4.0, 1.0]) == []  # (t - 1)^4


def test_two_crossings_a_hair_apart_are_told_from_a_touch() -> None:
    # (t - 1)^2 - 2^-100: the value at its extreme is 1e-30 of its terms in floats, but the coefficients say it exactly.
    below = ((1.0, -(2.0**-90)), (-2.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    above = ((1.0, 2.0**-90), (-2.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    count, roots = crossings(below, math.inf)
    assert count == 2
    assert roots[0] <= 1.0 <= roots[1]
    assert crossings(above, math.inf)[0] == 0


def test_a_root_at_the_start_does_not_count() -> None:
    assert found([0.0, 1.0]) == []
    assert found([0.0, -1.0, 1.0]) == [1.0]
    assert found([0.0, 0.0, -1.0, 1.0]) == [1.0]
    assert found([0.0, 6.0, -11.0, 6.0, -1.0]) == pytest.approx([1.0, 2.0, 3.0], rel=1e-15)


def test_the_end_is_open_and_nothing_crosses_a_constant() -> None:
    assert found([-1.0, 1.0], 1.0) == []
    assert found([-1.0, 1.0], math.nextafter(1.0, 2.0)) == [1.0]
    assert found([3.0]) == []
    assert found([0.0]) == []
    assert found([-1.0, 1.0], 0.0) == []


@pytest.mark.parametrize("scale", [1e-70, 1e-20, 1e20, 1e70])
def test_huge_and_tiny_times_and_values(scale: float) -> None:
    c = np.poly([1.0, 2.0, 3.0, 4.0])[::-1]
    assert found(c * scale) == pytest.approx([1.0, 2.0, 3.0, 4.0], rel=1e-15)
    if 1e-30 < scale < 1e30:
        stretched = c / scale ** np.arange(5)
        assert found(stretched) == pytest.approx(list(scale * np.array([1.0, 2.0, 3.0, 4.0])), rel=1e-14)
