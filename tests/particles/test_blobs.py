"""Paths against blobs: dense sampling, 50-digit roots, thin crossings, starts on the surface, limits."""

from __future__ import annotations

import os
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from tests.oracles.paths import DIGITS, blob_value, first_sign_change, new_rows
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.particles.colliders.blobs import Blobs
from thud.particles.crossings.field_path import field_rows

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"


def look(blobs: Blobs, paths: Any, end: Any = np.inf, index: int = 0, threads: int = 1, **start: Any) -> tuple:
    """(time, hit, normal, status)."""
    rows = new_rows(np.asarray(paths, dtype=float), end, **start)
    status = np.zeros(len(rows[0]), dtype=np.uint8)
    run_rows(field_rows, len(rows[0]), threads, *blobs.arrays, index, *rows, status, rows_per_chunk=16)
    return (*rows[3:], status)


def some_blobs(seed: int, count: int = 9, scale: float = 1.0) -> Blobs:
    rng = np.random.default_rng(seed)
    strengths = rng.choice([1.0, 0.8, -0.7, 1.4], size=count)
    return Blobs(rng.normal(size=(count, 3)) * scale, rng.uniform(0.4, 1.3, count) * scale, strengths, 0.35)


def some_paths(seed: int, count: int, curved: bool, spread: float = 3.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    paths = np.zeros((count, 9))
    paths[:, :3], goal = rng.normal(size=(count, 3)) * spread, rng.normal(size=(count, 3)) * 0.8
    paths[:, 6:] = rng.normal(size=(count, 3)) * (4.0 if curved else 0.0)
    paths[:, 3:6] = goal - paths[:, :3] - 0.5 * paths[:, 6:]
    return paths


def along(blobs: Blobs, path: np.ndarray) -> Any:
    return lambda t: blobs.value(path[:3] + t[:, None] * (path[3:6] + 0.5 * t[:, None] * path[6:]))


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("spread", [3.0, 0.7])
def test_first_crossings_are_those_of_dense_samples(curved: bool, spread: float) -> None:
    hits = 0
    for seed in range(2 if SMALL else 4):
        blobs, paths = some_blobs(seed), some_paths(seed, 12 if SMALL else 25, curved, spread)
        time, hit, normal, status = look(blobs, paths, 2.5)
        assert not status.any()
        for k, path in enumerate(paths):
            h = along(blobs, path)
            truth = first_sign_change(h, 2.5)
            if np.isinf(truth):
                # Samples may miss what the kernel finds.
                if hit[k, 0] == 0:
                    step = 1e-9
                    assert np.prod(np.sign(h(np.array([time[k] - step, time[k] + step])))) < 0
                continue
            hits += 1
            assert hit[k, 0] == 0
            assert time[k] <= truth + 1e-9
            if abs(time[k] - truth) > 1e-9:
                # An earlier one that samples missed.
                step = 1e-9
                assert np.prod(np.sign(h(np.array([time[k] - step, time[k] + step])))) < 0
            # The normal points down f.
            p = path[:3] + time[k] * (path[3:6] + 0.5 * time[k] * path[6:])
            step = 1e-6
            slope = [(blobs.value(p + step * e)[0] - blobs.value(p - step * e)[0]) / (2 * step) for e in np.eye(3)]
            np.testing.assert_allclose(normal[k], -np.array(slope) / np.linalg.norm(slope), atol=1e-5)
    assert hits > (5 if SMALL else 20)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-12, 0.0), (1e12, 0.0), (1.0, 3e4)])
def test_times_are_those_of_50_digits(scale: float, offset: float) -> None:
    blobs, paths = some_blobs(3, 5), some_paths(4, 15 if SMALL else 50, True)
    paths[::2, 6:] = 0.0
    paths, centers = paths * scale, blobs._values[0] * scale
    paths[:, :3], centers = paths[:, :3] + offset, centers + offset
    blobs = Blobs(centers, blobs._values[1] * scale, blobs._values[2], blobs.threshold)
    time, hit, _normal, status = look(blobs, paths, 2.5)
    assert not status.any()
    assert (hit[:, 0] == 0).sum() > len(paths) // 8
    with mp.workdps(DIGITS):
        for k in np.flatnonzero(hit[:, 0] == 0):

            def h(t: mp.mpf, k: int = k) -> mp.mpf:
                return blob_value(*blobs._values, blobs.threshold, paths[k], t)

            t, step = mp.mpf(float(time[k])), mp.mpf(10) ** -12
            assert h(t - step) * h(t + step) < 0
            slope = (h(t + step) - h(t - step)) / (2 * step)
            assert abs(h(t) / slope) <= 1e-15


def test_thin_crossings_are_not_missed() -> None:
    # A ball of which the path cuts off less and less: crossings ever closer, down to a touch.
    ball = Blobs([[0.0, 0.0, 0.0]], 1.0, 1.0, 0.5)
    radius = np.sqrt(1.0 - 0.5 ** (1.0 / 3.0))
    for depth in 10.0 ** np.arange(-1, -15, -1.0):
        off = radius * (1.0 - depth)
        time, hit, _normal, status = look(ball, [-3.0, off, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 10.0)
        assert hit[0, 0] == 0
        assert time[0] == pytest.approx(3.0 - np.sqrt(radius**2 - off**2), abs=1e-6)
        assert not status.any()
        # A parabola whose peak comes as far into the ball from below.
        peak = -radius * (1.0 - depth)
        time, hit, _normal, status = look(ball, [0.0, 0.0, peak - 4.5, 0.0, 0.0, 3.0, 0.0, 0.0, -1.0], 10.0)
        assert hit[0, 0] == 0
        assert time[0] == pytest.approx(3.0 - np.sqrt(2.0 * radius * depth), abs=1e-6)
    for off in (radius * (1.0 + 1e-14), radius + 1e-9):
        assert look(ball, [-3.0, off, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 10.0)[1][0, 0] == -1
    # A sliver of a gap between two that a path must find from inside.
    pair = Blobs([[-0.9, 0.0, 0.0], [0.9, 0.0, 0.0]], 1.0, 1.0, 0.5)
    middle = 2.0 * (1.0 - 0.81) ** 3
    pair = Blobs([[-0.9, 0.0, 0.0], [0.9, 0.0, 0.0]], 1.0, 1.0, middle + 1e-11)
    time, hit, _normal, _status = look(pair, [-0.9, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0], 5.0)
    assert hit[0, 0] == 0
    assert time[0] == pytest.approx(1.0, abs=1e-4)


def test_starts_on_the_surface() -> None:
    ball = Blobs([[2.0, 3.0, 4.0]], 1.0, 1.0, 0.5, restitution=0.9)
    radius = np.sqrt(1.0 - 0.5 ** (1.0 / 3.0))
    rng = np.random.default_rng(0)
    n = rng.normal(size=(100, 3))
    n[:, 2] = np.abs(n[:, 2]) + 1.0
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    paths = np.zeros((100, 9))
    paths[:, :3] = [2.0, 3.0, 4.0] + radius * n
    away = rng.normal(size=(100, 3)) * 0.1 + n
    away *= 10.0 ** rng.uniform(-3, 0, size=(100, 1))
    paths[:, 3:6], paths[:, 8] = away, -9.81
    came = away - 2.0 * (away * n).sum(axis=1, keepdims=True) * n
    for start in ({}, {"came": came, "last": [0, 0]}, {"came": came, "last": [5, 0]}):
        time, hit, _normal, status = look(ball, paths, 3.0, **start)
        assert not status.any()
        for k, path in enumerate(paths):
            truth = first_sign_change(along(ball, path), 3.0, begin=1e-7)
            if np.isinf(truth):
                assert hit[k, 0] == -1
            else:
                assert time[k] == pytest.approx(truth, abs=1e-8)
    # It goes on into the ball: an impact at once, unless that is where it has just been, or was born.
    inward = paths.copy()
    inward[:, 3:6], inward[:, 6:] = -away, 0.0
    time, hit, normal, _status = look(ball, inward, 3.0, came=-away, last=[5, 0])
    assert (time == 0.0).all()
    np.testing.assert_allclose(normal, n, atol=1e-12)
    for start in ({}, {"came": -away, "last": [0, 0]}):
        time, hit, _normal, _status = look(ball, inward, 1e4, **start)
        # Out at the other side.
        chord = 2.0 * radius * (away * n).sum(axis=1) / (away * away).sum(axis=1)
        np.testing.assert_allclose(time, chord, rtol=1e-6)


def test_earliest_wins_and_odd_paths() -> None:
    ball = Blobs([[0.0, 0.0, 0.0]], 2.0, 1.0, 0.5)
    path = np.array([0.0, 0.0, 5.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    first = look(ball, path)[0][0]
    assert first == pytest.approx(5.0 - 2.0 * np.sqrt(1.0 - 0.5 ** (1.0 / 3.0)), abs=1e-14)
    for before, index, takes in ((first + 1, 4, True), (first, 4, False), (first, 2, True), (first - 1, 2, False)):
        rows = new_rows(path, before)
        rows[4][:] = [3, 7]
        field_rows(0, 1, *ball.arrays, index, *rows, np.zeros(1, dtype=np.uint8))
        assert (rows[4][0, 0] == index) == takes
    assert look(ball, path, first)[1][0, 0] == -1
    # At rest outside, inside and on the surface; out of reach; away from it.
    still = np.zeros((5, 9))
    still[0, 2], still[2, 2], still[3, :3], still[4, :6] = 5.0, 5.0 - first, [9, 9, 9], [0, 0, 5, 0, 0, 1]
    still[3, 3] = 1.0
    assert (look(ball, still)[1][:, 0] == -1).all()
    # From rest outside; from inside.
    assert look(ball, [0, 0, 5, 0, 0, 0, 0, 0, -2.0], 9.0)[0][0] == pytest.approx(np.sqrt(first), abs=1e-14)
    assert look(ball, [0, 0, 0, 0, 0, 1.0, 0, 0, 0], 9.0)[0][0] == pytest.approx(5.0 - first, abs=1e-14)
    # Strengths and threshold below 0: the same surface.
    turned = Blobs([[0.0, 0.0, 0.0]], 2.0, -1.0, -0.5)
    assert look(turned, path)[0][0] == pytest.approx(first, abs=1e-15)
    # Carved away altogether.
    gone = Blobs([[0.0, 0.0, 0.0]] * 2, 2.0, [1.0, -1.0], 0.5)
    assert look(gone, path)[1][0, 0] == -1
    assert look(ball, np.zeros((0, 9)))[0].shape == (0,)


def test_a_search_without_end_says_so() -> None:
    count = 3000
    centers = np.zeros((count, 3))
    centers[:, 0] = 2.0 * np.arange(count)
    # Each has its greatest value, 1, at its centre: a touch of the level 1 that is told from a crossing by halving cells
    # down to roundoff, thousands of times.
    row = Blobs(centers, 0.9, 1.0, 1.0)
    time, hit, _normal, status = look(row, [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1e5)
    assert status[0] == 1
    assert hit[0, 0] == 0
    assert 0.0 < time[0] <= 2.0 * count
    # A few are told from crossings.
    few = Blobs(centers[:20], 0.9, 1.0, 1.0)
    time, hit, _normal, status = look(few, [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1e5)
    assert status[0] == 0
    assert hit[0, 0] == -1


def test_threads_and_specialisation() -> None:
    blobs, paths = some_blobs(2), some_paths(2, 200, True)
    one, two = (look(blobs, paths, 3.0, threads=n) for n in (1, 2))
    for a, b in zip(one, two):
        assert a.tobytes() == b.tobytes()
    assert len(field_rows.signatures) == 1


def test_errors_and_box() -> None:
    with pytest.raises(InvalidInputError, match="radii: row 1 is 0, not positive"):
        Blobs(np.zeros((2, 3)), [1.0, 0.0])
    with pytest.raises(InvalidInputError, match="radii: expected one number or one a ball"):
        Blobs(np.zeros((2, 3)), [1.0, 1.0, 1.0])
    with pytest.raises(InvalidInputError, match="strengths: row 0 is 0"):
        Blobs(np.zeros((2, 3)), 1.0, [0.0, 1.0])
    with pytest.raises(InvalidInputError, match="threshold"):
        Blobs(np.zeros((2, 3)), 1.0, 1.0, 0.0)
    with pytest.raises(InvalidInputError, match="centers"):
        Blobs([[np.nan, 0, 0]], 1.0)
    with pytest.raises(InvalidInputError, match="centers"):
        Blobs(np.zeros((0, 3)), 1.0)
    np.testing.assert_allclose(Blobs([[1, 2, 3], [0, 0, 0]], [1.0, 2.0]).box(), [-2, -2, -2, 2, 3, 4], atol=1e-13)
