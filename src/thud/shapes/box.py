"""Box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.gates import as_sizes
from thud.shapes.hull_topology import HullTopology, box_topology
from thud.shapes.shape import BOX, Part, Shape, box_about, frozen


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """Box about the origin, along the axes.

    Parameters
    ----------
    half_extents : (3,) metres, each above 0
    """

    half_extents: npt.ArrayLike

    def __post_init__(self) -> None:
        half = as_sizes(self.half_extents, "half_extents", "three positive lengths")
        object.__setattr__(self, "half_extents", frozen(half))

    @property
    def _half(self) -> Floats:
        return np.asarray(self.half_extents)

    @cached_property
    def topology(self) -> HullTopology:
        """Vertices, faces and edges, as a convex hull has them."""
        return box_topology(self._half)

    def parts(self) -> list[Part]:
        """A polytope with a support function of its own."""
        radius = float(np.linalg.norm(self._half))
        return [Part(BOX, tuple(self._half.tolist()), 0.0, np.zeros(3), radius, self.topology)]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        return box_about(np.zeros(3), np.abs(rows[:, :9].reshape(-1, 3, 3)) @ self._half, rows)

    def _core_points(self) -> tuple[Floats, float]:
        signs = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        return signs * self._half, 0.0

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the origin, through the corners."""
        return np.zeros(3), float(np.linalg.norm(self._half))

    @property
    def volume(self) -> float:
        """8 hx hy hz."""
        return float(8.0 * np.prod(self._half))

    @property
    def centroid(self) -> Floats:
        """The origin."""
        return np.zeros(3)

    def inertia(self, mass: float = 1.0) -> Floats:
        """m/3 (hy^2 + hz^2) and so on."""
        squares = self._half**2
        return np.diag(mass / 3.0 * (squares.sum() - squares))
