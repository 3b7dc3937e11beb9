"""Capsule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats
from thud.gates import as_size
from thud.shapes.shape import CAPSULE, SPHERE, Part, Shape, box_about


@dataclass(frozen=True, eq=False)
class Capsule(Shape):
    """All points within `radius` of a segment along z.

    Parameters
    ----------
    radius : float, metres, above 0
    half_length : float, metres, at least 0: half the length of the segment (the caps come on top)
    """

    radius: float
    half_length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", as_size(self.radius, "radius"))
        object.__setattr__(self, "half_length", as_size(self.half_length, "half_length", zero=True))

    def parts(self) -> list[Part]:
        """A segment rounded by the radius; of length 0 a sphere, for which more closed forms exist."""
        if self.half_length == 0.0:
            return [Part(SPHERE, (), self.radius, np.zeros(3), self.radius)]
        return [Part(CAPSULE, (0.0, self.half_length), self.radius, np.zeros(3), self.radius + self.half_length)]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        axis = rows[:, [2, 5, 8]]
        return box_about(np.zeros(3), np.abs(axis) * self.half_length + self.radius, rows)

    def _core_points(self) -> tuple[Floats, float]:
        return np.array([[0.0, 0.0, -self.half_length], [0.0, 0.0, self.half_length]]), self.radius

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the origin, through the tips."""
        return np.zeros(3), self.radius + self.half_length

    @property
    def volume(self) -> float:
        """Cylinder and ball."""
        r, h = self.radius, self.half_length
        return np.pi * r * r * (2.0 * h + 4.0 / 3.0 * r)

    @property
    def centroid(self) -> Floats:
        """The origin."""
        return np.zeros(3)

    def inertia(self, mass: float = 1.0) -> Floats:
        """Cylinder of length 2h and two half balls, the latter moved out by h + 3r/8 from their own centroids."""
        r, h = self.radius, self.half_length
        cylinder = mass * 2.0 * h / (2.0 * h + 4.0 / 3.0 * r)
        ball = mass - cylinder
        along = cylinder * r * r / 2.0 + ball * 0.4 * r * r
        across = cylinder * (r * r / 4.0 + h * h / 3.0) + ball * (0.4 * r * r + h * h + 0.75 * h * r)
        return np.diag([across, across, along])
