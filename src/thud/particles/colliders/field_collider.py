"""What implicit surfaces f(p) = 0 share as colliders of particles: the kernel that finds their crossings, and their meshes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, finite_array
from thud.errors import InvalidInputError
from thud.particles.colliders.collider import Collider
from thud.particles.tolerances import LARGEST
from thud.shapes.triangle_mesh import TriangleMesh


@dataclass(frozen=True, eq=False, repr=False)
class FieldCollider(Collider, ABC):
    """The surface where a field has one value: `Blobs`, `Skeleton`, `ImplicitPatches`."""

    @abstractmethod
    def value(self, points: npt.ArrayLike) -> Floats:
        """(N,) the field less its value on the surface, at (N, 3) points in metres, world frame."""

    @abstractmethod
    def box(self) -> Floats:
        """(6,) lower and upper corner of where the field is not constant, metres."""

    @property
    @abstractmethod
    def arrays(self) -> tuple[Any, ...]:
        """What `field_rows` reads, in its order: kind, rows, control values, tree over them, level, the largest coordinate, and
        the size of the scratch."""

    @abstractmethod
    def _inward(self, points: Floats) -> Floats:
        """(N,) of points, negative inside of the mesh that is made."""

    def _mesh_box(self) -> Floats:
        """(6,) of all that is inside."""
        return self.box()

    def to_mesh(self, resolution: int = 48) -> TriangleMesh:
        """The surface as a closed mesh, for `thud.imagespace` and for drawing.

        Parameters
        ----------
        resolution : cells along the longest side of `box()`, 4 to 384; what is thinner than a cell may be missing
        """
        from thud.particles.colliders.field_mesh import field_mesh

        return field_mesh(self._inward, self._mesh_box(), resolution)

    def earliest(
        self, rows: int, place: int, paths: Any, came: Any, last: Any, time: Any, hit: Any, normal: Any, status: Any
    ) -> None:
        """Improve the earliest crossing of each of the first rows (see `flights.py`); `place` is the collider's."""
        from thud.particles.crossings.field_path import field_rows

        field_rows(0, rows, *self.arrays, place, paths, came, last, time, hit, normal, status)


def checked_threshold(value: float) -> float:
    """A threshold: a number that is not 0, which the field is outside."""
    threshold = finite_array(value, "threshold")
    if threshold.ndim != 0 or threshold == 0.0:
        raise InvalidInputError(f"threshold: expected a number that is not 0, got {value!r}")
    return float(threshold)


def checked_weights(radii: npt.ArrayLike, strengths: npt.ArrayLike, count: int, one: str) -> tuple[Floats, Floats]:
    """Radii and strengths, (count,) each from as many or one; `one`: what has them."""
    reach, weight = _spread(radii, "radii", count, one), _spread(strengths, "strengths", count, one)
    if (reach < 1.0 / LARGEST).any():
        row = int(np.argmax(reach < 1.0 / LARGEST))
        raise InvalidInputError(f"radii: row {row} is {reach[row]:g}, not positive or too small; expected metres")
    if (weight == 0.0).any():
        raise InvalidInputError(f"strengths: row {int(np.argmax(weight == 0.0))} is 0; leave the {one} out")
    return reach, weight


def _spread(value: npt.ArrayLike, name: str, count: int, one: str) -> Floats:
    """(count,) numbers from as many or one."""
    array = finite_array(value, name, limit=LARGEST)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != count):
        raise InvalidInputError(f"{name}: expected one number or one a {one} ({count}), got shape {array.shape}")
    return np.array(np.broadcast_to(array, count), dtype=np.float64)
