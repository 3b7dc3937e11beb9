"""Shapes in motion, by the definition: poses at a time, and the first contact among many samples of it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import thud
from thud.shapes.shape import Shape


def pose_at(rows: np.ndarray, motion: np.ndarray, time: np.ndarray) -> thud.Pose:
    """Poses (N, 12) moved along motions (N, 6), displacement and rotation vector, up to times (N,)."""
    rotation = Rotation.from_rotvec(time[:, None] * motion[:, 3:]).as_matrix() @ rows[:, :9].reshape(-1, 3, 3)
    moved = rows[:, 9:] + time[:, None] * motion[:, :3]
    return thud.Pose.from_rows(np.concatenate([rotation.reshape(-1, 9), moved], axis=1))


def distance_at(a: Shape, b: Shape, rows: tuple, motions: tuple, time: np.ndarray) -> np.ndarray:
    """(N,) unsigned distances at times (N,), 0 where they overlap."""
    poses = [pose_at(*pair, time) for pair in zip(rows, motions, strict=True)]
    return thud.distance(a, b, *poses, threads=1).distance


def first_overlap(a: Shape, b: Shape, rows: tuple, motions: tuple, samples: int = 200) -> np.ndarray:
    """(N,) time of the first of evenly spaced samples at which the two overlap, brought forward by bisection; inf for none.

    At this time they overlap, so that the first contact is no later (it may be earlier, in between two samples).
    """
    count = len(rows[0])
    upper = np.full(count, np.inf)
    for k in range(samples + 1):
        open_rows = np.flatnonzero(np.isinf(upper))
        if len(open_rows) == 0:
            break
        part = [tuple(array[open_rows] for array in pair) for pair in (rows, motions)]
        hit = distance_at(a, b, *part, np.full(len(open_rows), k / samples)) == 0.0
        upper[open_rows[hit]] = k / samples
    found = np.flatnonzero(np.isfinite(upper) & (upper > 0.0))
    part = [tuple(array[found] for array in pair) for pair in (rows, motions)]
    high, low = upper[found].copy(), upper[found] - 1.0 / samples
    for _ in range(40):
        middle = 0.5 * (low + high)
        hit = distance_at(a, b, *part, middle) == 0.0 if len(found) else np.zeros(0, bool)
        high, low = np.where(hit, middle, high), np.where(hit, low, middle)
    upper[found] = high
    return upper
