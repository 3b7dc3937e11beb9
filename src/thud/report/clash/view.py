"""From where a clash is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats
from thud.report.clash.clash import Clash

#: Angle of view from the lower to the upper edge, degrees: BCF 2.1 allows 45 to 60.
FIELD = 50.0

#: Directions that are tried: eight around at two heights, radians.
_TRIED = [(azimuth, height) for height in (0.45, 0.9, -0.3) for azimuth in np.arange(8) * (np.pi / 4.0) - 0.9]


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
    return _along(0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low)), *_TRIED[0])


def _best(target: Floats, radius: float, normal: Floats, lower: Floats, upper: Floats, own: list[int]) -> View:
    others = np.ones(len(lower), dtype=bool)
    others[own] = False
    # What the target itself is in cannot be looked past.
    others &= ~((lower <= target) & (upper >= target)).all(axis=1)
    views = [_along(target, radius, azimuth, height) for azimuth, height in _TRIED]
    cost = []
    for k, view in enumerate(views):
        hidden = _crossed(view.eye, target, lower[others], upper[others])
        cost.append(abs(float(view.direction @ normal)) + 0.2 * min(hidden, 5) + 0.02 * k)
    return views[int(np.argmin(cost))]


def _along(target: Floats, radius: float, azimuth: float, height: float) -> View:
    way = np.array([np.cos(azimuth) * np.cos(height), np.sin(azimuth) * np.cos(height), np.sin(height)])
    far = max(radius, 1e-9) / np.sin(np.radians(0.5 * FIELD))
    right = np.cross([0.0, 0.0, 1.0], way)
    right /= np.linalg.norm(right)
    return View(target + far * way, target, np.cross(way, right), max(radius, 1e-9))


def _crossed(eye: Floats, target: Floats, lower: Floats, upper: Floats) -> int:
    """How many boxes the line of sight passes through."""
    if not len(lower):
        return 0
    way = target - eye
    way = np.where(np.abs(way) < 1e-300, 1e-300, way)
    one, other = (lower - eye) / way, (upper - eye) / way
    enter, leave = np.minimum(one, other).max(axis=1), np.maximum(one, other).min(axis=1)
    return int(((enter <= leave) & (leave >= 0.0) & (enter <= 1.0)).sum())
