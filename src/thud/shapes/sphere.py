"""Sphere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats
from thud.gates import as_size
from thud.shapes.shape import SPHERE, Part, Shape, box_about


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """Ball about the origin.

    Parameters
    ----------
    radius : float, metres, above 0
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", as_size(self.radius, "radius"))

    def parts(self) -> list[Part]:
        """A point rounded by the radius."""
        return [Part(SPHERE, (), self.radius, np.zeros(3), self.radius)]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        return box_about(np.zeros(3), np.full((len(rows), 3), self.radius), rows)

    def _core_points(self) -> tuple[Floats, float]:
        return np.zeros((1, 3)), self.radius

    def bounding_sphere(self) -> tuple[Floats, float]:
        """The sphere itself."""
        return np.zeros(3), self.radius

    @property
    def volume(self) -> float:
        """4/3 pi r^3."""
        return 4.0 / 3.0 * np.pi * self.radius**3

    @property
    def centroid(self) -> Floats:
        """The origin."""
        return np.zeros(3)

    def inertia(self, mass: float = 1.0) -> Floats:
        """2/5 m r^2."""
        return np.eye(3) * (0.4 * mass * self.radius**2)
