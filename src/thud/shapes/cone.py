"""Cone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats
from thud.gates import as_size
from thud.shapes.shape import CONE, Part, Shape


@dataclass(frozen=True, eq=False)
class Cone(Shape):
    """Right circular cone along z: apex at +half_length, base at -half_length.

    Parameters
    ----------
    radius : float, metres, above 0: of the base
    half_length : float, metres, above 0
    """

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", as_size(self.radius, "radius"))
        object.__setattr__(self, "half_length", as_size(self.half_length, "half_length"))

    def parts(self) -> list[Part]:
        """A curved part."""
        center, radius = self.bounding_sphere()
        centroid = self.centroid
        return [Part(CONE, (self.radius, self.half_length), 0.0, centroid, radius + float(np.linalg.norm(center - centroid)))]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        axis, middle = rows[:, [2, 5, 8]], rows[:, 9:]
        apex, base = middle + self.half_length * axis, middle - self.half_length * axis
        rim = self.radius * np.sqrt(np.maximum(1.0 - axis * axis, 0.0))
        return np.minimum(apex, base - rim), np.maximum(apex, base + rim)

    def bounding_sphere(self) -> tuple[Floats, float]:
        """Through apex and rim where the cone is slim, else the ball of the base."""
        r, height = self.radius, 2.0 * self.half_length
        if height <= r:
            return np.array([0.0, 0.0, -self.half_length]), r
        radius = (r * r + height * height) / (2.0 * height)
        return np.array([0.0, 0.0, self.half_length - radius]), radius

    @property
    def volume(self) -> float:
        """2/3 pi r^2 h."""
        return 2.0 / 3.0 * np.pi * self.radius**2 * self.half_length

    @property
    def centroid(self) -> Floats:
        """A quarter of the height above the base."""
        return np.array([0.0, 0.0, -0.5 * self.half_length])

    def inertia(self, mass: float = 1.0) -> Floats:
        """3/10 m r^2 along the axis, 3/20 m (r^2 + H^2 / 4) across, H the height."""
        r, height = self.radius, 2.0 * self.half_length
        across = 0.15 * mass * (r * r + height * height / 4.0)
        return np.diag([across, across, 0.3 * mass * r * r])
