"""Where and when a box that falls on rough ground touches it, by a formula: the highest ground below it is at a corner of the
box or of a patch, or where their edges cross."""

from __future__ import annotations

import numpy as np

import thud

HALF, FALL = np.array([0.7, 0.4, 0.3]), 12.0


def test_a_box_lands_on_rough_ground() -> None:
    rng = np.random.default_rng(11)
    quantum = 2.0**-16
    heights = quantum * np.round((0.6 * rng.normal(size=(33, 33)) + 2.0 * np.sin(0.3 * np.arange(33))) / quantum)
    ground = thud.terrain.from_heights(heights, 1.0, samples=16, thickness=8.0).surface

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        i, j = np.floor(y).astype(int), np.floor(x).astype(int)
        u, v = x - j, y - i
        low = heights[i, j] * (1 - u) + heights[i, j + 1] * u
        return low * (1 - v) + (heights[i + 1, j] * (1 - u) + heights[i + 1, j + 1] * u) * v

    def highest(x: float, y: float) -> float:
        across, along = (
            np.unique([at - half, at + half, *np.arange(np.ceil(at - half), np.floor(at + half) + 1)])
            for at, half in ((x, HALF[0]), (y, HALF[1]))
        )
        return float(height(*np.meshgrid(across, along)).max())

    start = np.column_stack([rng.uniform(5, 27, (100, 2)), np.full(100, 8.0)])
    hit = thud.cast(ground, thud.Box(HALF), None, thud.Pose(start), motion_b=[0, 0, -FALL])
    truth = np.array([(8.0 - HALF[2] - highest(x, y)) / FALL for x, y, _ in start])
    # A millionth of a patch, whose size is up to some 2 m.
    np.testing.assert_allclose(FALL * hit.time, FALL * truth, atol=1e-6)
    box = start - FALL * hit.time[:, None] * [0, 0, 1]
    outside = np.maximum(np.abs(hit.point - box) - HALF, 0.0)
    assert outside.max() < 1e-5
    np.testing.assert_allclose(hit.point[:, 2], height(hit.point[:, 0], hit.point[:, 1]), atol=1e-5)
