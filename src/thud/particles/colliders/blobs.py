"""Blobs: implicit surfaces about balls as colliders of particles, 5.2.1."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.gates import as_points
from thud.particles.colliders.field_collider import FieldCollider, checked_threshold, checked_weights
from thud.particles.colliders.frame import widened


@dataclass(frozen=True, eq=False, repr=False)
class Blobs(FieldCollider):
    """The surface f(p) = threshold, f a sum over balls of strength (1 - |p - centre|^2 / radius^2)^3 inside each.

    Balls melt into one another where they overlap; those of negative strength carve. World frame.

    Parameters
    ----------
    centers : (N, 3) metres
    radii : (N,) or one number; how far each reaches, metres. The surface of a lone ball of strength 1 lies where
        |p - c| = radius sqrt(1 - threshold^(1/3))
    strengths : (N,) or one number, not 0
    threshold : not 0; the surface is where f equals it
    restitution, friction, material : see `Collider`

    The part of an impact is the ball that adds most to f there.
    """

    centers: npt.ArrayLike
    radii: npt.ArrayLike
    strengths: npt.ArrayLike = 1.0
    threshold: float = 0.5
    _values: tuple[Floats, Floats, Floats] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        centers = as_points(self.centers, "centers", least=1).copy()
        if np.abs(centers).max() > MESH_COORDINATE:
            row = int(np.argmax(np.abs(centers).max(axis=1)))
            raise InvalidInputError(f"centers: row {row} has a coordinate beyond {MESH_COORDINATE:g}, the limit of colliders")
        radii, strengths = checked_weights(self.radii, self.strengths, len(centers), "ball")
        threshold = checked_threshold(self.threshold)
        for name, value in (("centers", centers), ("radii", radii), ("strengths", strengths)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "_values", (centers, radii, strengths))
        self.check_response()

    def value(self, points: npt.ArrayLike) -> Floats:
        """(N,) f - threshold, dimensionless, at (N, 3) points in metres; positive inside where strengths are."""
        centers, radii, strengths = self._values
        p = as_points(points, "points")
        total = np.full(len(p), -self.threshold)
        for c, r, s in zip(centers, radii, strengths):
            g = np.maximum(0.0, 1.0 - ((p - c) ** 2).sum(axis=1) / r**2)
            total += s * g**3
        return total

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """See `FieldCollider`."""
        from thud.bvh.morton_tree import build_morton_tree
        from thud.particles.crossings.path_field import BLOBS

        centers, radii, strengths = self._values
        balls = np.zeros((len(centers), 6))
        balls[:, :3], balls[:, 5] = centers, strengths
        for k, radius in enumerate(radii.tolist()):
            exact = 1 / Fraction(radius) ** 2
            balls[k, 3] = float(exact)
            balls[k, 4] = float(exact - Fraction(balls[k, 3]))
        boxes, skip, item = build_morton_tree(np.ascontiguousarray(np.concatenate(self._boxes(), axis=1)))
        reach = float(np.abs(centers).max() + radii.max())
        return BLOBS, balls, np.empty((0, 0)), boxes, skip, item, self.threshold, reach, 0

    def _boxes(self) -> tuple[Floats, Floats]:
        centers, radii, _strengths = self._values
        return centers - radii[:, None], centers + radii[:, None]

    def box(self) -> Floats:
        """(6,) lower and upper corner of all that the balls reach, metres."""
        lower, upper = self._boxes()
        return widened(lower.min(axis=0), upper.max(axis=0))

    def _inward(self, points: Floats) -> Floats:
        # Beyond all reach the field is -threshold: what is meshed is the other side.
        return -np.sign(self.threshold) * self.value(points)
