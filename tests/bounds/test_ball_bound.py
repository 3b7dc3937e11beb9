"""The least of n_2 . x over the part of a ball behind a plane, in closed form, against its dual and against points."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from thud.bounds.ball_bound import ball_gap

CASES, MARGIN = 200, 1e-12


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


def least_by_duality(c: np.ndarray, r: float, n_own: np.ndarray, h_own: float, n_other: np.ndarray) -> float:
    """max over s >= 0 of the least over the whole ball of n_other . x + s (n_own . x - h_own): there is no gap of duality."""

    def below(angle: float) -> float:
        # s = tan(angle), the whole times cos(angle), is concave in s; the search is over s itself, up to a million.
        s = np.tan(angle)
        mixed = n_other + s * n_own
        return -(mixed @ c - s * h_own - r * np.linalg.norm(mixed))

    tried = np.concatenate([[0.0], np.linspace(0.0, np.pi / 2 - 1e-6, 160)])
    start = min(tried, key=below)
    low, high = max(start - 0.02, 0.0), min(start + 0.02, np.pi / 2 - 1e-6)
    found = minimize_scalar(below, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return -min(found.fun, below(start))


def test_the_closed_form_is_the_least_over_ball_and_half_space() -> None:
    rng = np.random.default_rng(1)
    cut = whole = 0
    for _ in range(CASES):
        c, r = rng.normal(size=3), float(10.0 ** rng.uniform(-1, 0.5))
        n_own = unit(rng.normal(size=3))
        n_other = unit(-n_own + rng.normal(size=3) * rng.choice([0.0, 1e-3, 0.1, 1.0, 3.0]))
        # The plane cuts the ball.
        h_own = float(n_own @ c + r * rng.uniform(-0.99, 0.99))
        least = least_by_duality(c, r, n_own, h_own, n_other)
        found = ball_gap(float(n_own @ c - h_own), float(n_other @ c), r, float(n_own @ n_other), MARGIN)
        assert found <= least + 1e-9 * (1 + abs(least))
        assert found >= least - 1e-5 * r
        cut, whole = cut + (least > n_other @ c - r + 1e-9), whole + (abs(least - (n_other @ c - r)) < 1e-9)
    assert min(cut, whole) > CASES // 10


def test_no_point_of_ball_and_half_space_is_below_it() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        n_own, n_other, r = unit(rng.normal(size=3)), unit(rng.normal(size=3)), float(rng.uniform(0.5, 2.0))
        h_own = float(rng.uniform(-r, r))
        found = ball_gap(-h_own, 0.0, r, float(n_own @ n_other), MARGIN)
        points = rng.normal(size=(3000, 3))
        points *= r * rng.uniform(0.9, 1.0, (3000, 1)) / np.linalg.norm(points, axis=1)[:, None]
        inside = points[points @ n_own <= h_own]
        assert (inside @ n_other >= found).all()


def test_opposite_planes_give_the_gap_between_them() -> None:
    # The plane x = 0.5 of O_1, and O_2 beyond x = 0.8, n_2 = (-1, 0, 0): the ball's centre is at the origin.
    np.testing.assert_allclose(ball_gap(-0.5, 0.8, 1.0, -1.0, 0.0), 0.3, atol=1e-6)
    # Which must hold by a little less than it seems: under the root a roundoff of the cosine counts.
    assert ball_gap(-0.5, 0.8, 1.0, -1.0, 0.0) < 0.3
    # The own plane just touches the ball, or even misses it by rounding: its one point is all there is.
    assert abs(ball_gap(1.0, 0.3, 1.0, -0.5, 0.0) - 0.8) < 1e-6
    assert abs(ball_gap(1.0 + 1e-13, 0.3, 1.0, -0.5, 1e-12) - 0.8) < 1e-5
