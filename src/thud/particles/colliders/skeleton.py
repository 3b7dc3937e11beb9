"""Skeleton: a convolution surface about line segments as a collider of particles, 5.2.1."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, finite_array
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.gates import as_points
from thud.particles.colliders.field_collider import FieldCollider, checked_threshold, checked_weights
from thud.particles.colliders.frame import widened


@dataclass(frozen=True, eq=False, repr=False)
class Skeleton(FieldCollider):
    """The surface f(p) = threshold, f the kernel of `Blobs` convolved along line segments.

    f is the sum over segments of strength 35 / (32 radius) times the integral of (1 - |p - x|^2 / radius^2)^3 along each, where
    that is positive. Segments melt into one another without bulges: one cut in two is the same surface. World frame.

    Parameters
    ----------
    segments : (N, 2, 3) ends, metres
    radii : (N,) or one number; how far each reaches, metres. About a long segment of strength 1 the surface is a cylinder of
        radius sqrt(1 - threshold^(2/7)) times that
    strengths : (N,) or one number, not 0; negative ones carve
    threshold : not 0; the surface is where f equals it
    restitution, friction, material : see `Collider`

    The part of an impact is the segment that adds most to f there.
    """

    segments: npt.ArrayLike
    radii: npt.ArrayLike
    strengths: npt.ArrayLike = 1.0
    threshold: float = 0.5
    _values: tuple[Floats, Floats, Floats] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        segments = finite_array(self.segments, "segments", limit=MESH_COORDINATE).copy()
        if segments.ndim != 3 or segments.shape[1:] != (2, 3) or not len(segments):
            raise InvalidInputError(f"segments: expected (N, 2, 3) ends of at least one, got shape {segments.shape}")
        radii, strengths = checked_weights(self.radii, self.strengths, len(segments), "segment")
        length = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1)
        if not (length > 0.0).all():
            raise InvalidInputError(f"segments: row {int(np.argmin(length))} has no length; a ball of `Blobs` is a point's")
        threshold = checked_threshold(self.threshold)
        for name, value in (("segments", segments), ("radii", radii), ("strengths", strengths)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "_values", (segments, radii, strengths))
        self.check_response()

    def value(self, points: npt.ArrayLike) -> Floats:
        """(N,) f - threshold, dimensionless, at (N, 3) points in metres; positive inside where strengths are."""
        p = as_points(points, "points")
        total = np.full(len(p), -self.threshold)
        for (a, b), reach, s in zip(*self._values):
            length = float(np.linalg.norm(b - a))
            along = (b - a) / length
            d = p - a
            t = d @ along
            c = np.maximum(0.0, 1.0 - ((d - t[:, None] * along) ** 2).sum(axis=1) / reach**2)
            ends = np.clip([-t / reach, (length - t) / reach], -np.sqrt(c), np.sqrt(c))
            low, high = (y * (c**3 - y**2 * (c**2 - y**2 * (0.6 * c - y**2 / 7.0))) for y in ends)
            total += s * 35.0 / 32.0 * (high - low)
        return total

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """See `FieldCollider`."""
        from thud.bvh.morton_tree import build_morton_tree
        from thud.particles.crossings.path_field import BLOBS
        from thud.particles.crossings.segment_field import ALONG, LENGTH, REACH, SEGMENT

        segments, radii, strengths = self._values
        rows = np.zeros((len(segments), SEGMENT))
        run = segments[:, 1] - segments[:, 0]
        rows[:, :3], rows[:, 3], rows[:, 5] = segments[:, 0], 1.0 / radii**2, strengths
        rows[:, LENGTH], rows[:, REACH] = np.linalg.norm(run, axis=1), radii
        rows[:, ALONG : ALONG + 3] = run / rows[:, LENGTH, None]
        boxes, skip, item = build_morton_tree(np.ascontiguousarray(np.concatenate(self._boxes(), axis=1)))
        reach = float(np.abs(segments).max() + radii.max())
        return BLOBS, rows, np.empty((0, 0)), boxes, skip, item, self.threshold, reach, 0

    def _boxes(self) -> tuple[Floats, Floats]:
        segments, radii, _strengths = self._values
        return segments.min(axis=1) - radii[:, None], segments.max(axis=1) + radii[:, None]

    def box(self) -> Floats:
        """(6,) lower and upper corner of all that the segments reach, metres."""
        lower, upper = self._boxes()
        return widened(lower.min(axis=0), upper.max(axis=0))

    def _inward(self, points: Floats) -> Floats:
        # Beyond all reach the field is -threshold: what is meshed is the other side.
        return -np.sign(self.threshold) * self.value(points)
