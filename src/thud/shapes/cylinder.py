"""Cylinder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats
from thud.gates import as_size
from thud.shapes.shape import CYLINDER, Part, Shape, box_about


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """Right circular cylinder along z, centred.

    Parameters
    ----------
    radius : float, metres, above 0
    half_length : float, metres, above 0: the caps lie at z = -half_length and z = +half_length
    """

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", as_size(self.radius, "radius"))
        object.__setattr__(self, "half_length", as_size(self.half_length, "half_length"))

    def parts(self) -> list[Part]:
        """A curved part."""
        return [
            Part(CYLINDER, (self.radius, self.half_length), 0.0, np.zeros(3), float(np.hypot(self.radius, self.half_length)))
        ]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        axis = rows[:, [2, 5, 8]]
        rim = self.radius * np.sqrt(np.maximum(1.0 - axis * axis, 0.0))
        return box_about(np.zeros(3), np.abs(axis) * self.half_length + rim, rows)

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the origin, through the rims."""
        return np.zeros(3), float(np.hypot(self.radius, self.half_length))

    @property
    def volume(self) -> float:
        """2 pi r^2 h."""
        return 2.0 * np.pi * self.radius**2 * self.half_length

    @property
    def centroid(self) -> Floats:
        """The origin."""
        return np.zeros(3)

    def inertia(self, mass: float = 1.0) -> Floats:
        """m r^2 / 2 along the axis, m (r^2 / 4 + h^2 / 3) across."""
        r, h = self.radius, self.half_length
        across = mass * (r * r / 4.0 + h * h / 3.0)
        return np.diag([across, across, mass * r * r / 2.0])
