"""Ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.gates import as_sizes
from thud.shapes.shape import ELLIPSOID, SPHERE, Part, Shape, box_about, frozen


@dataclass(frozen=True, eq=False)
class Ellipsoid(Shape):
    """(x/a)^2 + (y/b)^2 + (z/c)^2 <= 1.

    Parameters
    ----------
    radii : (3,) metres, each above 0
    """

    radii: npt.ArrayLike

    def __post_init__(self) -> None:
        radii = as_sizes(self.radii, "radii", "three positive lengths")
        object.__setattr__(self, "radii", frozen(radii))

    @property
    def _radii(self) -> Floats:
        return np.asarray(self.radii)

    def parts(self) -> list[Part]:
        """A curved part; with three equal radii a sphere, which is exact and faster."""
        r = self._radii
        if r[0] == r[1] == r[2]:
            return [Part(SPHERE, (), float(r[0]), np.zeros(3), float(r[0]))]
        return [Part(ELLIPSOID, tuple(r.tolist()), 0.0, np.zeros(3), float(r.max()))]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        extent = np.linalg.norm(rows[:, :9].reshape(-1, 3, 3) * self._radii, axis=2)
        return box_about(np.zeros(3), extent, rows)

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the origin, through the farthest poles."""
        return np.zeros(3), float(self._radii.max())

    @property
    def volume(self) -> float:
        """4/3 pi a b c."""
        return float(4.0 / 3.0 * np.pi * np.prod(self._radii))

    @property
    def centroid(self) -> Floats:
        """The origin."""
        return np.zeros(3)

    def inertia(self, mass: float = 1.0) -> Floats:
        """m/5 (b^2 + c^2) and so on."""
        squares = self._radii**2
        return np.diag(mass / 5.0 * (squares.sum() - squares))
