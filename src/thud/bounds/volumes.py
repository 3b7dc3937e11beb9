"""Bounding volumes one can hold: one, or S of them side by side, in float64 and in the frame of the points they were fitted to.

Boxes along the axes, smallest spheres, oriented boxes and k-DOPs. `fit.py` makes them, `pair_tests.py` tells whether two meet.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats
from thud.bounds.kdop import directions
from thud.errors import InvalidInputError
from thud.gates import as_points, finite_array
from thud.pose import Pose


class Volume:
    """What all bounding volumes have. One volume has no leading axis; S have (S, ...), and `volume[k]` is one of them."""

    __slots__ = ()

    _first: ClassVar[str]
    """A field that is (n,) of one volume and (S, n) of S."""
    _sizes: ClassVar[tuple[tuple[int, ...], ...]]
    """Of each field of one volume; 0 for any number of them, the same for all fields."""

    def _check(self) -> None:
        """Fields as arrays of float64, for volumes that are made by hand; or a named error."""
        leading: tuple[int, ...] | None = None
        for field, size in zip(fields(self), self._sizes, strict=True):  # type: ignore[arg-type]
            name, value = field.name, finite_array(getattr(self, field.name), field.name)
            own, few = value.shape[: value.ndim - len(size)], value.shape[value.ndim - len(size) :]
            wanted = tuple(n or m for n, m in zip(size, few, strict=False))
            leading = own if leading is None else leading
            if value.ndim < len(size) or few != wanted or own != leading or len(own) > 1:
                said = ", ".join(str(n) if n else "k / 2" for n in size) + ("," if len(size) == 1 else "")
                many = f"(S, {said.rstrip(',')})" if size else "(S,)"
                raise InvalidInputError(
                    f"{name}: expected {f'({said})' if size else 'a number'} of one volume or {many} of S, as its other fields"
                    f" are, got {value.shape}"
                )
            object.__setattr__(self, name, value)

    def _check_order(self, low: str, high: str) -> None:
        if (getattr(self, low) > getattr(self, high)).any():
            raise InvalidInputError(f"{low}: expected at most `{high}`, got {getattr(self, low)} and {getattr(self, high)}")

    @property
    def is_one(self) -> bool:
        """Whether it is a single volume."""
        return np.ndim(getattr(self, self._first)) == 1

    def __len__(self) -> int:
        if self.is_one:
            raise TypeError(f"one {type(self).__name__} has no len()")
        return len(getattr(self, self._first))

    def __getitem__(self, index: Any) -> Self:
        if self.is_one:
            raise TypeError(f"one {type(self).__name__} has no rows")
        return type(self)(*(getattr(self, field.name)[index] for field in fields(self)))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        if self.is_one:
            values = ((field.name, np.round(getattr(self, field.name), 6)) for field in fields(self))  # type: ignore[arg-type]
            said = (f"{name}={value.tolist()}" for name, value in values)
            return f"{type(self).__name__}({', '.join(said)})"
        return f"{type(self).__name__}({len(self)} of them)"


@dataclass(frozen=True, slots=True, repr=False)
class Aabb(Volume):
    """Boxes along the axes."""

    lower: Floats
    """(3,) or (S, 3)"""
    upper: Floats
    """(3,) or (S, 3)"""

    _first = "lower"
    _sizes = ((3,), (3,))

    def __post_init__(self) -> None:
        self._check()
        self._check_order("lower", "upper")

    @property
    def center(self) -> Floats:
        """(3,) or (S, 3)"""
        return np.asarray(0.5 * (self.lower + self.upper))

    @property
    def half_extents(self) -> Floats:
        """(3,) or (S, 3)"""
        return np.asarray(0.5 * (self.upper - self.lower))

    @property
    def volume(self) -> Floats:
        """Cubic metres, a number or (S,)."""
        return np.asarray(np.prod(self.upper - self.lower, axis=-1))

    def contains(self, points: npt.ArrayLike) -> Bools:
        """(N,) whether points are in the box, (S, N) of S boxes. The border counts."""
        x = as_points(points, "points")
        lower, upper = self.lower[..., None, :], self.upper[..., None, :]
        return np.asarray(((x >= lower) & (x <= upper)).all(axis=-1))


@dataclass(frozen=True, slots=True, repr=False)
class BoundingSphere(Volume):
    """Spheres."""

    center: Floats
    """(3,) or (S, 3)"""
    radius: Floats
    """A number or (S,), metres."""

    _first = "center"
    _sizes = ((3,), ())

    def __post_init__(self) -> None:
        self._check()
        if (self.radius < 0.0).any():
            raise InvalidInputError(f"radius: expected at least 0, got {self.radius}")

    @property
    def volume(self) -> Floats:
        """Cubic metres, a number or (S,)."""
        return np.asarray(4.0 / 3.0 * np.pi * np.asarray(self.radius) ** 3)

    def contains(self, points: npt.ArrayLike) -> Bools:
        """(N,) whether points are in the sphere, (S, N) of S spheres. The border counts."""
        x = as_points(points, "points")
        away = np.linalg.norm(x - self.center[..., None, :], axis=-1)
        return np.asarray(away <= np.asarray(self.radius)[..., None])


@dataclass(frozen=True, slots=True, repr=False)
class Obb(Volume):
    """Oriented boxes: c + s_0 a_0 + s_1 a_1 + s_2 a_2 with |s_i| <= h_i."""

    center: Floats
    """(3,) or (S, 3)"""
    axes: Floats
    """(3, 3) or (S, 3, 3) orthonormal, right-handed, one a row, the longest side first."""
    half_extents: Floats
    """(3,) or (S, 3) metres, along the axes."""

    _first = "center"
    _sizes = ((3,), (3, 3), (3,))

    def __post_init__(self) -> None:
        self._check()
        if (self.half_extents < 0.0).any():
            raise InvalidInputError(f"half_extents: expected at least 0, got {self.half_extents}")

    @property
    def pose(self) -> Pose:
        """Where `thud.Box(half_extents)` is this box."""
        matrices = np.zeros((*self.center.shape[:-1], 4, 4))
        matrices[..., :3, :3] = np.swapaxes(self.axes, -1, -2)
        matrices[..., :3, 3], matrices[..., 3, 3] = self.center, 1.0
        return Pose.from_matrix(matrices)

    @property
    def volume(self) -> Floats:
        """Cubic metres, a number or (S,)."""
        return np.asarray(8.0 * np.prod(self.half_extents, axis=-1))

    def contains(self, points: npt.ArrayLike) -> Bools:
        """(N,) whether points are in the box, (S, N) of S boxes. The border counts."""
        x = as_points(points, "points")
        along = (x - self.center[..., None, :]) @ np.swapaxes(self.axes, -1, -2)
        return np.asarray((np.abs(along) <= self.half_extents[..., None, :]).all(axis=-1))


@dataclass(frozen=True, slots=True, repr=False)
class Kdop(Volume):
    """k-DOPs: low <= d . x <= high for k / 2 directions d, which are not of unit length."""

    low: Floats
    """(k / 2,) or (S, k / 2)"""
    high: Floats
    """(k / 2,) or (S, k / 2)"""

    _first = "low"
    _sizes = ((0,), (0,))

    def __post_init__(self) -> None:
        self._check()
        if self.low.shape[-1] not in (3, 7, 9, 13):
            raise InvalidInputError(f"low: expected 3, 7, 9 or 13 directions, got {self.low.shape[-1]}")
        if self.low.shape != self.high.shape:
            raise InvalidInputError(f"high: expected {self.low.shape}, as `low`, got {self.high.shape}")
        self._check_order("low", "high")

    @property
    def directions(self) -> Floats:
        """(k / 2, 3): the axes, then the diagonals of a cube, or those of its faces, or both."""
        return directions(2 * self.low.shape[-1]).copy()

    @property
    def aabb(self) -> Aabb:
        """The box of the first three directions."""
        return Aabb(self.low[..., :3], self.high[..., :3])

    def contains(self, points: npt.ArrayLike) -> Bools:
        """(N,) whether points are in the k-DOP, (S, N) of S. The border counts."""
        along = as_points(points, "points") @ self.directions.T
        return np.asarray(((along >= self.low[..., None, :]) & (along <= self.high[..., None, :])).all(axis=-1))
