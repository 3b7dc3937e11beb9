"""Generated terrains as signed distance fields: hills with a cave, an arch and a cliff; closed bodies; a flat road.

Each function returns a callable from points (N, 3), metres, to distances (N,), negative inside the ground. Distances are bounds
near the surface rather than exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Field = Callable[[Floats], Floats]

#: Lowest and highest corner of the domain of `cave_field`, metres.
CAVE_DOMAIN = (np.array([0.0, 0.0, -14.0]), np.array([96.0, 96.0, 34.0]))

#: Of `road_field`.
ROAD_DOMAIN = (np.array([0.0, 0.0, -4.0]), np.array([96.0, 48.0, 4.0]))


def smooth_union(a: Floats, b: Floats, round_off: float) -> Floats:
    """Of two fields, with a fillet of about `round_off` metres."""
    h = np.maximum(round_off - np.abs(a - b), 0.0) / round_off
    return np.minimum(a, b) - h * h * round_off / 4.0


def smooth_difference(a: Floats, b: Floats, round_off: float) -> Floats:
    """Ground `a` without `b`."""
    return -smooth_union(-a, b, round_off)


def cave_field(seed: int = 0) -> Field:
    """Hills, a cliff that leans over, an arch that stands free, and a tunnel through a hill."""
    rng = np.random.default_rng(seed)
    waves = rng.normal(size=(7, 2)) * np.array([0.05, 0.06, 0.08, 0.11, 0.17, 0.3, 0.5])[:, None]
    phases, heights = rng.uniform(0.0, 2.0 * np.pi, 7), np.array([2.2, 1.8, 1.2, 0.8, 0.35, 0.15, 0.06])
    foot = np.array([66.0, 28.0]) + rng.uniform(-3.0, 3.0, 2)
    turn = rng.uniform(-0.4, 0.4)
    lean = 0.25

    def rolling(xy: Floats) -> Floats:
        return np.sin(xy @ waves.T + phases) @ heights

    def hill(xy: Floats) -> Floats:
        return 22.0 * np.exp(-((xy[:, 0] - 30.0) ** 2 + (xy[:, 1] - 30.0) ** 2) / (2.0 * 13.0**2))

    def field(points: Floats) -> Floats:
        x, y, z = points.T
        # The cliff: a plateau along y = 62 that leans out over its foot, its edge winding.
        edge = y - 64.0 - 3.0 * np.sin(0.09 * x + turn) - 0.8 * np.sin(0.31 * x) + lean * (z - 6.0)
        low = (z - rolling(points[:, :2]) - hill(points[:, :2])) * 0.85
        plateau = np.maximum((z - 14.0 - 0.4 * rolling(points[:, :2])) * 0.95, -edge * 0.9)
        ground = smooth_union(low, plateau, 5.0)
        # The arch: half of a ring, upright, both feet in the ground.
        c, s = np.cos(0.6 + turn), np.sin(0.6 + turn)
        along, across = c * (x - foot[0]) + s * (y - foot[1]), -s * (x - foot[0]) + c * (y - foot[1])
        ring = np.hypot(np.hypot(along, z + 1.0) - 14.0, across) - 4.2 - 0.3 * np.sin(0.7 * along)
        ground = smooth_union(ground, ring, 2.5)
        # The tunnel: through the hill, bent, wide enough to drive in.
        bend = 30.0 + 4.0 * np.sin(0.12 * (x - 30.0)) + turn * 4.0
        tube = np.hypot((y - bend) * 0.93, (z - 3.5 - 0.5 * np.sin(0.2 * x)) * 1.1) - 4.8 - 0.25 * np.sin(0.55 * x)
        ends = np.abs(x - 30.0) - 34.0
        return smooth_difference(ground, np.maximum(tube, ends), 2.5)

    return field


def sphere_field(radius: float = 3.0) -> Field:
    """A ball about the origin."""
    return lambda points: np.linalg.norm(points, axis=1) - radius


def torus_field(radius: float = 3.0, thickness: float = 1.2) -> Field:
    """A ring about z."""
    return lambda points: np.hypot(np.hypot(points[:, 0], points[:, 1]) - radius, points[:, 2]) - thickness


def road_field(roughness: float = 0.0, seed: int = 0) -> Field:
    """A flat road along x, with shoulders; `roughness` metres of bumps."""
    rng = np.random.default_rng(seed)
    waves, phases = rng.normal(size=(6, 2)) * 1.3, rng.uniform(0.0, 2.0 * np.pi, 6)

    def field(points: Floats) -> Floats:
        _, y, z = points.T
        shoulder = 0.5 * (1.0 + np.tanh((np.abs(y - 24.0) - 12.0) / 3.0)) * 1.5
        bumps = roughness * np.sin(points[:, :2] @ waves.T + phases).mean(axis=1)
        return 0.9 * (z - shoulder - bumps)

    return field
