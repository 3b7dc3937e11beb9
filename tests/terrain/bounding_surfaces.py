"""Quads with samples for tests of bounding maps: p (m, m, 3), r (m, m, 3), l (m, m), indexed [t, s]."""

from __future__ import annotations

import numpy as np

KINDS = ("flat", "plane", "waves", "cliff", "overhang", "skewed", "very skewed", "noise", "mirrored", "far", "tiny", "bent")


def two_triangles(corners: np.ndarray, nodes: int) -> np.ndarray:
    """Values at the corners 00, 10, 01, 11 of (s, t), interpolated in the two triangles along 00-11."""
    s, t = np.meshgrid(np.linspace(0, 1, nodes), np.linspace(0, 1, nodes))
    s, t = s[..., None], t[..., None]
    below = corners[0] + (corners[1] - corners[0]) * s + (corners[3] - corners[1]) * t
    above = corners[0] + (corners[2] - corners[0]) * t + (corners[3] - corners[2]) * s
    return np.where(s >= t, below, above)


def quad(kind: str, nodes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    side = 16.0
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]) * side + rng.normal(size=(4, 3)) * 0.04 * side
    up = np.tile([0.0, 0.0, 1.0], (4, 1))
    s, t = np.meshgrid(np.linspace(0, 1, nodes), np.linspace(0, 1, nodes))
    k = rng.normal(size=(3, 2)) * 5
    l = sum(np.sin(a * s + b * t) / (i + 1) for i, (a, b) in enumerate(k)) + rng.normal(size=s.shape) * 0.05
    if kind == "flat":
        corners[:, 2] = 0.0
        l = np.zeros_like(l)
    elif kind == "plane":
        l = 0.3 * s + 0.1 * t
    elif kind == "cliff":
        l = l * 0.05 + np.where(s + 0.3 * t > 0.6, 9.0, 0.0)
    elif kind == "overhang":
        # The sheet turns by more than a quarter circle over the quad.
        up = np.array([[0.2, 0, 1], [1, 0, -0.3], [0.1, 0.1, 1], [1, 0, -0.2]])
        l = l * 0.5
    elif kind in ("skewed", "very skewed", "far", "tiny"):
        up = up + rng.normal(size=(4, 3)) * (0.6 if kind == "very skewed" else 0.25)
    elif kind == "noise":
        l = rng.normal(size=s.shape) * 2
    elif kind == "mirrored":
        corners[[1, 2]] = corners[[2, 1]]
        up = up + rng.normal(size=(4, 3)) * 0.1
    p, r = two_triangles(corners, nodes), two_triangles(up, nodes)
    if kind == "bent":
        # Base vertices inside of the quad: cells whose base is no combination of their corners.
        p[..., 2] += 2.0 * np.abs(s - 0.5) + np.sin(7 * t)
        r[..., 0] += 0.3 * np.sin(5 * s)
    elif kind == "far":
        p += [3e5, -2e5, 1e5]
    elif kind == "tiny":
        p, r = p * 1e-4, r * 1e-5
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn[:, 0] *= np.sign(np.linalg.det(turn))
    return p @ turn.T, r @ turn.T, l


def batch(kinds: tuple[str, ...], nodes: int, seeds: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [quad(kind, nodes, seed) for kind in kinds for seed in range(seeds)]
    return tuple(np.ascontiguousarray(np.stack(part)) for part in zip(*rows))  # type: ignore[return-value]
