"""From where a clash is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.report.clash.clash import Clash

#: Angle of view from the lower to the upper edge, degrees: BCF 2.1 allows 45 to 60.
FIELD = 50.0

#: Heights above the horizon that are tried, radians, each at eight directions around.
_HEIGHTS, _AROUND = (0.45, 0.9, -0.3), np.arange(8) * (np.pi / 4.0) - 0.9


def _directions() -> tuple[Floats, Floats]:
    """(24, 3) from the target to the eye, and (24, 3) what is up then; both unit."""
    height, azimuth = (grid.ravel() for grid in np.meshgrid(_HEIGHTS, _AROUND, indexing="ij"))
    way = np.stack([np.cos(azimuth) * np.cos(height), np.sin(azimuth) * np.cos(height), np.sin(height)], axis=1)
    right = np.cross([0.0, 0.0, 1.0], way)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    return way, np.cross(way, right)


_WAYS, _UPS = _directions()


@dataclass(frozen=True, eq=False)
class View:
    """An eye, what it looks at, and which way is up; metres, world frame.

    Attributes
    ----------
    eye, target : (3,)
    up : (3,) unit, across the line of sight
    radius : of the ball about the target that fills the picture
    """

    eye: Floats
    target: Floats
    up: Floats
    radius: float

    @property
    def direction(self) -> Floats:
        """(3,) unit, from the eye to the target."""
        way = self.target - self.eye
        return np.asarray(way / np.linalg.norm(way))


def clash_view(clash: Clash, lower: Floats, upper: Floats) -> View:
    """Sideways to the normal, so that the overlap is seen, from where few other parts are in between.

    lower, upper : (P, 3) boxes about all parts
    """
    rows = [clash.a, clash.b]
    sizes = 0.5 * np.linalg.norm(upper[rows] - lower[rows], axis=1)
    small, large = float(sizes.min()), float(sizes.max())
    reach = float(np.linalg.norm(clash.points - clash.point, axis=1).max(initial=0.0))
    reach = max(reach, clash.gap, 0.15 * small)
    radius = float(np.clip(max(1.8 * reach, min(1.15 * small, 8.0 * reach)), 0.2 * small, 1.3 * large))
    if clash.kind in ("containment", "duplicate"):
        # What is inside is told by what is around it.
        radius = min(1.1 * large, 4.0 * small)
    return _best(clash.point, radius, clash.normal, lower, upper, rows)


def scene_view(lower: Floats, upper: Floats) -> View:
    """All of it."""
    low, high = lower.min(axis=0), upper.max(axis=0)
    return _view(0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low)), 0)


def _best(target: Floats, radius: float, normal: Floats, lower: Floats, upper: Floats, own: list[int]) -> View:
    others = np.ones(len(lower), dtype=bool)
    others[own] = False
    # What the target itself is in cannot be looked past.
    others &= ~((lower <= target) & (upper >= target)).all(axis=1)
    hidden = _crossed(target, _WAYS * _far(radius), lower[others], upper[others])
    cost = np.abs(_WAYS @ normal) + 0.2 * np.minimum(hidden, 5) + 0.02 * np.arange(len(_WAYS))
    return _view(target, radius, int(np.argmin(cost)))


def _far(radius: float) -> float:
    """How far the eye is from a ball that fills the picture."""
    return max(radius, 1e-9) / float(np.sin(np.radians(0.5 * FIELD)))


def _view(target: Floats, radius: float, tried: int) -> View:
    return View(target + _far(radius) * _WAYS[tried], target, _UPS[tried], max(radius, 1e-9))


def _crossed(target: Floats, ways: Floats, lower: Floats, upper: Floats) -> Ints:
    """(D,) how many boxes each line of sight, from the target to the eye, passes through."""
    if not len(lower):
        return np.zeros(len(ways), dtype=np.int64)
    slope = 1.0 / np.where(np.abs(ways) < 1e-300, 1e-300, ways)[:, None, :]
    one, other = (lower - target) * slope, (upper - target) * slope
    enter, leave = np.minimum(one, other).max(axis=2), np.maximum(one, other).min(axis=2)
    return np.asarray(((enter <= leave) & (leave >= 0.0) & (enter <= 1.0)).sum(axis=1))
