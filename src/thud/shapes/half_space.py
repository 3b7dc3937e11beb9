"""Half-space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.constants import LARGEST_SIZE
from thud.errors import InvalidInputError, UnboundedShapeError
from thud.gates import as_vector, finite_array, unit
from thud.shapes.shape import HALF_SPACE, Part, Shape, frozen


@dataclass(frozen=True, eq=False)
class HalfSpace(Shape):
    """All points with normal . x <= offset: solid below the plane, the normal points out of it.

    Parameters
    ----------
    normal : (3,) not zero; kept at unit length
    offset : float, metres along the unit normal
    """

    normal: npt.ArrayLike
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = as_vector(self.normal, "normal")
        if not normal.any():
            raise InvalidInputError("normal: expected a direction, got zero")
        offset = finite_array(self.offset, "offset", limit=LARGEST_SIZE)
        if offset.ndim != 0:
            raise InvalidInputError(f"offset: expected one number, got shape {offset.shape}")
        object.__setattr__(self, "normal", frozen(unit(normal[None])[0]))
        object.__setattr__(self, "offset", float(offset))

    @property
    def _normal(self) -> Floats:
        return np.asarray(self.normal)

    def parts(self) -> list[Part]:
        """An unbounded part; every pair with it has a closed form."""
        return [Part(HALF_SPACE, (*self._normal.tolist(), self.offset), 0.0, self._normal * self.offset, np.inf)]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        normal = rows[:, :9].reshape(-1, 3, 3) @ self._normal
        height = self.offset + np.einsum("ni,ni->n", normal, rows[:, 9:])
        lower, upper = np.full((len(rows), 3), -np.inf), np.full((len(rows), 3), np.inf)
        # Bounded on one side only where the plane is exactly orthogonal to an axis.
        for axis in range(3):
            across = np.delete(normal, axis, axis=1).any(axis=1)
            upward, downward = ~across & (normal[:, axis] > 0.0), ~across & (normal[:, axis] < 0.0)
            upper[upward, axis] = height[upward]
            lower[downward, axis] = -height[downward]
        return lower, upper

    def bounding_sphere(self) -> tuple[Floats, float]:
        """A point of the plane, and inf."""
        return self._normal * self.offset, np.inf

    @property
    def volume(self) -> float:
        """Infinite."""
        return np.inf

    @property
    def centroid(self) -> Floats:
        """Does not exist."""
        raise UnboundedShapeError("a HalfSpace has no centroid: it is unbounded")

    def inertia(self, mass: float = 1.0) -> Floats:
        """Does not exist."""
        raise UnboundedShapeError("a HalfSpace has no inertia: it is unbounded")
