"""Bounding lengths: NLopt's MMA against the batched solver, on quads with skewed directions. One thread."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from thud.terrain.bounding.batch import CONVERGED, INFEASIBLE, bounding_lengths
from thud.terrain.bounding.mma import mma_lengths
from thud.terrain.bounding.problem import BoundingProblem


@dataclass(frozen=True)
class BoundingRace:
    """Times of one quad, upper and lower together, and how the objectives compare."""

    count: int
    side: int
    step: int
    mma_seconds: float
    """Median over quads."""
    batched_seconds: float
    """Mean over a batch of 20 times as many quads."""
    mma_converged: int
    """Of 2 * count problems."""
    batched_infeasible: int
    """Of 2 * 20 * count problems."""
    ratios: np.ndarray
    """Our objective over MMA's, where MMA converged."""

    @property
    def speedup(self) -> float:
        return self.mma_seconds / self.batched_seconds


def random_quads(count: int, side: int, skew: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quads 16 m wide of two triangles, directions off by `skew` of their length, waves of some metres with noise."""
    rng = np.random.default_rng([seed, side])
    s, t = np.meshgrid(np.linspace(0, 1, side + 1), np.linspace(0, 1, side + 1))

    def interpolate(corners: np.ndarray) -> np.ndarray:
        c = corners[:, :, None, None]
        x, y = s[..., None], t[..., None]
        below = c[:, 0] + (c[:, 1] - c[:, 0]) * x + (c[:, 3] - c[:, 1]) * y
        above = c[:, 0] + (c[:, 2] - c[:, 0]) * y + (c[:, 3] - c[:, 2]) * x
        return np.where(x >= y, below, above)

    square = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]) * 16.0
    p = interpolate(square + rng.normal(size=(count, 4, 3)) * 0.8)
    r = interpolate(np.array([0.0, 0.0, 1.0]) + rng.normal(size=(count, 4, 3)) * skew)
    k, phase = rng.normal(size=(count, 3, 2, 1, 1)) * 6, rng.uniform(0, 6, (count, 3, 1, 1))
    weight = 1.0 / np.arange(1, 4)[None, :, None, None]
    waves = (np.sin(k[:, :, 0] * s + k[:, :, 1] * t + phase) * weight).sum(axis=1)
    return p, r, waves + rng.normal(size=waves.shape) * 0.1


def bounding_maps_race(count: int, side: int, step: int, *, skew: float = 0.1, time_limit: float = 5.0) -> BoundingRace:
    """Race over `count` quads with a bounding point every `step` nodes; MMA gives up after `time_limit` seconds a problem."""
    p, r, length = random_quads(20 * count, side, skew)
    bounding_lengths(p[:1], r[:1], length[:1], step, threads=1)
    begin = time.perf_counter()
    ours = bounding_lengths(p, r, length, step, threads=1)
    batched = (time.perf_counter() - begin) / len(p)
    times, ratios, converged = [], [], 0
    for i in range(count):
        begin = time.perf_counter()
        for upper in (True, False):
            problem = BoundingProblem(p[i], r[i], length[i], step, upper=upper)
            found = mma_lengths(problem, time_limit=time_limit)
            if found.status == CONVERGED:
                converged += 1
                ratios.append(problem.objective((ours.upper if upper else ours.lower)[i].astype(float)) / found.objective)
        times.append(time.perf_counter() - begin)
    infeasible = int((ours.status == INFEASIBLE).sum())
    return BoundingRace(count, side, step, float(np.median(times)), batched, converged, infeasible, np.array(ratios))
