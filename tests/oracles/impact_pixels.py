"""An impact map by a plain loop over impacts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def slow_map(impacts: Any, uv: np.ndarray, colliders: int, p: int, q: int, t0: float, t1: float, combine: str) -> np.ndarray:
    """(C, q, p, 4) float64: id, time offset, speed, count."""
    data = np.zeros((colliders, q, p, 4))
    for k in range(len(impacts.time)):
        u, v = uv[k]
        if math.isnan(u):
            continue
        pixel = data[impacts.collider[k], min(int(v * q), q - 1), min(int(u * p), p - 1)]
        offset = (impacts.time[k] - t0) / (t1 - t0)
        pixel[0] = impacts.collider[k] + 1
        pixel[1] = offset if combine == "last" else pixel[1] + offset
        pixel[2] = impacts.speed[k] if combine == "last" else pixel[2] + impacts.speed[k]
        pixel[3] += 1
    return data


def slow_byte_map(
    impacts: Any,
    uv: np.ndarray,
    colliders: int,
    p: int,
    q: int,
    t0: float,
    t1: float,
    combine: str,
    speeds: tuple[float, float],
) -> np.ndarray:
    """(C, q, p, 4) uint8."""
    data = np.zeros((colliders, q, p, 4), int)
    for k in range(len(impacts.time)):
        u, v = uv[k]
        if math.isnan(u):
            continue
        pixel = data[impacts.collider[k], min(int(v * q), q - 1), min(int(u * p), p - 1)]
        offset = min(int((impacts.time[k] - t0) / (t1 - t0) * 256), 255)
        share = min(max((impacts.speed[k] - speeds[0]) / (speeds[1] - speeds[0]), 0.0), 1.0)
        speed = int(share * 255 + 0.5)
        pixel[0] = impacts.collider[k] + 1
        pixel[1] = offset if combine == "last" else pixel[1] + offset
        pixel[2] = speed if combine == "last" else pixel[2] + speed
        pixel[3] += 1
    return np.minimum(data, 255).astype(np.uint8)
