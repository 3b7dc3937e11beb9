"""Quadric colliders: f(p) = [X 1] Q [X 1]' = 0 with X = p - origin, Eq. (3.8), clipped by half-spaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, finite_array
from thud.errors import InvalidInputError
from thud.gates import as_points, as_size, as_vector
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.element import EVERYWHERE, Element, quadric
from thud.particles.colliders.tolerances import QUADRIC_ROTATION, QUADRIC_SYMMETRY, QUADRIC_ZERO
from thud.particles.tolerances import LARGEST, LARGEST_ENTRY
from thud.rotations import rotation_from_quaternion


def _rotation(value: npt.ArrayLike | None) -> Floats:
    """3x3 rotation from a quaternion wxyz, a matrix or None."""
    if value is None:
        return np.eye(3)
    array = finite_array(value, "rotation")
    if array.shape == (4,):
        return rotation_from_quaternion(array[None], "rotation")[0].reshape(3, 3)
    if array.shape != (3, 3) or np.abs(array @ array.T - np.eye(3)).max() > QUADRIC_ROTATION or np.linalg.det(array) < 0.0:
        raise InvalidInputError("rotation: expected a unit quaternion (wxyz) or a 3x3 rotation matrix")
    return array


def _radii(value: npt.ArrayLike, name: str, count: int) -> Floats:
    array = finite_array(value, name)
    array = np.broadcast_to(array, (count,)).astype(float) if array.ndim == 0 else array
    if array.shape != (count,) or (array <= 0.0).any():
        raise InvalidInputError(f"{name}: expected a positive number or {count} of them, got {value!r}")
    if array.max() > LARGEST or array.min() < 1.0 / LARGEST:
        raise InvalidInputError(f"{name}: expected lengths from {1.0 / LARGEST:g} to {LARGEST:g}, got {value!r}")
    return array


@dataclass(frozen=True, eq=False, repr=False)
class Quadric(Collider):
    """A quadric surface.

    Parameters
    ----------
    matrix : (4, 4) symmetric Q of Eq. (3.8); f is negative on one side and positive on the other
    origin : (3,) metres, world frame; Q multiplies p - origin. Far from the world's origin this keeps the digits of Q
    clip : (C, 4) half-spaces [n, offset]; what has n . p <= offset (world frame, metres) is kept
    box : (6,) lower and upper corner, metres, world frame, of a box that holds all that is kept; it only saves time
    """

    matrix: npt.ArrayLike
    origin: npt.ArrayLike = (0.0, 0.0, 0.0)
    clip: npt.ArrayLike = ()
    box: npt.ArrayLike | None = None
    form: QuadricForm | None = field(default=None, repr=False)
    """Its own frame and extents; found from the matrix where a constructor did not give it."""

    def __post_init__(self) -> None:
        self.check_response()
        matrix = finite_array(self.matrix, "matrix", limit=LARGEST_ENTRY)
        if matrix.shape != (4, 4):
            raise InvalidInputError(f"matrix: expected shape (4, 4), got {matrix.shape}")
        scale = np.abs(matrix).max()
        if np.abs(matrix - matrix.T).max() > QUADRIC_SYMMETRY * scale:
            raise InvalidInputError("matrix: expected a symmetric one; (Q + Q^T) / 2 is the same surface")
        if not np.abs(matrix[:3]).max() > 0.0:
            raise InvalidInputError("matrix: expected at least one coefficient of x, y or z that is not zero")
        object.__setattr__(self, "matrix", 0.5 * (matrix + matrix.T))
        object.__setattr__(self, "origin", as_vector(self.origin, "origin", limit=LARGEST))
        clip = np.asarray(self.clip, dtype=float)
        clip = as_points(clip, "clip", width=4, limit=LARGEST) if clip.size else np.empty((0, 4))
        if (np.abs(clip[:, :3]).sum(axis=1) == 0.0).any():
            raise InvalidInputError("clip: expected normals that are not zero")
        object.__setattr__(self, "clip", clip)
        box = EVERYWHERE if self.box is None else np.asarray(self.box, dtype=float)
        if box.shape != (6,) or not (box[:3] <= box[3:]).all():
            raise InvalidInputError(f"box: expected (6,) lower and upper corner, got {self.box!r}")
        object.__setattr__(self, "box", box.copy())
        if self.form is None:
            object.__setattr__(self, "form", quadric_form(self.matrix, self.origin))  # type: ignore[arg-type]

    def elements(self) -> list[Element]:
        """Itself."""
        box, matrix = np.asarray(self.box), np.asarray(self.matrix)
        size = float((box[3:] - box[:3]).max())
        if not np.isfinite(size):
            # The lengths that its coefficients make.
            a, g, j = np.abs(matrix[:3, :3]).max(), np.abs(matrix[:3, 3]).max(), abs(matrix[3, 3])
            size = float(max(g / a, np.sqrt(j / a))) if a > 0.0 else 0.0
        return [quadric(self.matrix, self.origin, box, size, self.clip)]  # type: ignore[arg-type]

    @classmethod
    def ellipsoid(
        cls, center: npt.ArrayLike, radii: npt.ArrayLike, *, rotation: npt.ArrayLike | None = None, **rest: Any
    ) -> Quadric:
        """x^2/a^2 + y^2/b^2 + z^2/c^2 = 1 about `center`; one radius makes a sphere. `rotation`: wxyz or 3x3."""
        r = _radii(radii, "radii", 3)
        half = np.sqrt((_rotation(rotation) ** 2) @ (r * r))
        return cls._placed("ellipsoid", np.diag([*r**-2.0, -1.0]), center, rotation, r, half, None, rest)

    @classmethod
    def cylinder(
        cls, center: npt.ArrayLike, radii: npt.ArrayLike, half_length: float | None = None, *,
        rotation: npt.ArrayLike | None = None, **rest: Any,
    ) -> Quadric:  # fmt: skip
        """x^2/a^2 + y^2/b^2 = 1 about the local z axis through `center`, |z| <= half_length (None: without end), open at its
        ends."""
        r = _radii(radii, "radii", 2)
        z = None if half_length is None else (-as_size(half_length, "half_length"), float(half_length))
        shape = np.array([r[0], r[1], 1.0])
        return cls._placed("cylinder", np.diag([*r**-2.0, 0.0, -1.0]), center, rotation, shape, r, z, rest)

    @classmethod
    def cone(
        cls, apex: npt.ArrayLike, slopes: npt.ArrayLike, length: float | None = None, *,
        rotation: npt.ArrayLike | None = None, **rest: Any,
    ) -> Quadric:  # fmt: skip
        """x^2/a^2 + y^2/b^2 = z^2 about the local z axis; a and b are radius over height. With `length` the nappe below the
        apex, -length <= z <= 0; without it both, without end."""
        r = _radii(slopes, "slopes", 2)
        z = None if length is None else (-as_size(length, "length"), 0.0)
        half = r * (0.0 if length is None else length)
        return cls._placed("cone", np.diag([*r**-2.0, -1.0, 0.0]), apex, rotation, np.array([*r, 1.0]), half, z, rest)

    @classmethod
    def paraboloid(
        cls, vertex: npt.ArrayLike, radii: npt.ArrayLike, height: float | None = None, *, hyperbolic: bool = False,
        rotation: npt.ArrayLike | None = None, **rest: Any,
    ) -> Quadric:  # fmt: skip
        """z = x^2/a^2 + y^2/b^2 (metres), opening along local +z from `vertex`, up to `height` (None: without end); a and b are
        its radii 1 m above the vertex. `hyperbolic`: z = x^2/a^2 - y^2/b^2, a saddle, |z| <= height."""
        r = _radii(radii, "radii", 2)
        matrix = np.diag([r[0] ** -2.0, (-1.0 if hyperbolic else 1.0) * r[1] ** -2.0, 0.0, 0.0])
        matrix[2, 3] = matrix[3, 2] = -0.5
        z, half = None, np.zeros(2)
        if height is not None:
            height = as_size(height, "height")
            z, half = (-height if hyperbolic else 0.0, height), r * np.sqrt(height)
        if hyperbolic:
            half = np.full(2, np.inf)
        return cls._placed(
            "saddle" if hyperbolic else "paraboloid", matrix, vertex, rotation, np.array([*r, 1.0]), half, z, rest
        )

    @classmethod
    def hyperboloid(
        cls, center: npt.ArrayLike, radii: npt.ArrayLike, sheets: int = 1, half_length: float | None = None, *,
        rotation: npt.ArrayLike | None = None, **rest: Any,
    ) -> Quadric:  # fmt: skip
        """x^2/a^2 + y^2/b^2 - z^2/c^2 = 1 (one sheet, about the local z axis) or -1 (two sheets, beyond |z| >= c), |z| <=
        half_length."""
        r = _radii(radii, "radii", 3)
        if sheets not in (1, 2):
            raise InvalidInputError(f"sheets: expected 1 or 2, got {sheets!r}")
        z, half = None, np.zeros(2)
        if half_length is not None:
            half_length = as_size(half_length, "half_length")
            z = (-half_length, half_length)
            half = r[:2] * np.sqrt(max(0.0, (half_length / r[2]) ** 2 + (1.0 if sheets == 1 else -1.0)))
        matrix = np.diag([r[0] ** -2.0, r[1] ** -2.0, -(r[2] ** -2.0), -1.0 if sheets == 1 else 1.0])
        return cls._placed(f"hyperboloid{sheets}", matrix, center, rotation, r, half, z, rest)

    @classmethod
    def _placed(
        cls, kind: str, local: Floats, origin: npt.ArrayLike, rotation: npt.ArrayLike | None, radii: Floats, half: Floats,
        z: tuple[float, float] | None, rest: dict[str, Any],
    ) -> Quadric:  # fmt: skip
        """From the local matrix: turned about `origin`, clipped to local z; `half`: half extents in x and y (and z)."""
        at, turn = as_vector(origin, "center", limit=LARGEST), _rotation(rotation)
        whole = np.eye(4)
        whole[:3, :3] = turn.T
        matrix = whole.T @ local @ whole
        clip, box = np.empty((0, 4)), EVERYWHERE.copy()
        if kind == "ellipsoid":
            box = np.concatenate([at - half, at + half])
        elif z is not None:
            up = turn[:, 2]
            clip = np.array([[*up, up @ at + z[1]], [*-up, -(up @ at) - z[0]]])
            if np.isfinite(half).all():
                middle, reach = at + up * 0.5 * (z[0] + z[1]), np.abs(turn) @ np.array([*half, 0.5 * (z[1] - z[0])])
                box = np.concatenate([middle - reach, middle + reach])
        extra = np.asarray(rest.pop("clip", ()), dtype=float)
        clip = np.concatenate([clip, as_points(extra, "clip", width=4, limit=LARGEST)]) if extra.size else clip
        form = QuadricForm(kind, at, turn, radii, (-np.inf, np.inf) if z is None else z)
        return cls(0.5 * (matrix + matrix.T), at, clip, box, form, **rest)


@dataclass(frozen=True, eq=False)
class QuadricForm:
    """A quadric in its own frame, for the two-dimensional parameters of its impact map."""

    kind: str
    """ellipsoid, cylinder, cone, paraboloid, saddle, hyperboloid1, hyperboloid2, or other (planes, parabolic and hyperbolic
    cylinders, points)."""
    center: Floats
    """(3,) its centre, apex or vertex, world frame."""
    rotation: Floats
    """(3, 3) its axes as columns."""
    radii: Floats
    """(3,) along them."""
    z: tuple[float, float]
    """What is left of it along its axis, metres."""


def quadric_form(matrix: Floats, origin: Floats) -> QuadricForm:
    """Kind, place and axes of a quadric from its matrix, by the eigenvalues of A. What is within QUADRIC_ZERO of 0 is 0."""
    a, g, j = matrix[:3, :3], matrix[:3, 3], float(matrix[3, 3])
    values, axes = np.linalg.eigh(a)
    ends = (-np.inf, np.inf)
    none = QuadricForm("other", origin.copy(), np.eye(3), np.ones(3), ends)
    large = np.abs(values) > QUADRIC_ZERO * np.abs(values).max() if np.abs(values).max() > 0 else np.zeros(3, bool)
    if large.sum() < 2:
        return none
    local_g = axes.T @ g
    center_local = np.where(large, -local_g / np.where(large, values, 1.0), 0.0)
    constant = j + float(local_g @ center_local)
    if large.all():
        at = origin + axes @ center_local
        negative = values < 0.0
        if negative.sum() in (2, 3):
            values, constant, negative = -values, -constant, ~negative
        # Now at most one is negative; its axis goes last.
        order = np.argsort(negative, kind="stable")
        values, axes, negative = values[order], _right_handed(axes[:, order]), negative[order]
        tiny = QUADRIC_ZERO * (abs(j) + float(np.abs(local_g) @ np.abs(center_local)))
        if not negative.any():
            if constant >= -tiny:
                return none
            return QuadricForm("ellipsoid", at, axes, np.sqrt(-constant / values), ends)
        size = np.abs(values)
        if abs(constant) <= tiny:
            return QuadricForm("cone", at, axes, np.array([*np.sqrt(size[2] / size[:2]), 1.0]), ends)
        return QuadricForm("hyperboloid1" if constant < 0.0 else "hyperboloid2", at, axes, np.sqrt(abs(constant) / size), ends)
    flat = int(np.argmin(np.abs(values)))
    order = np.array([k for k in range(3) if k != flat] + [flat])
    values, axes, local_g, center_local = values[order], axes[:, order], local_g[order], center_local[order]
    rise = local_g[2]
    if abs(rise) > QUADRIC_ZERO * np.abs(matrix).max():
        # k0 x^2 + k1 y^2 + 2 rise z + constant = 0
        center_local[2] = -constant / (2.0 * rise)
        at = origin + axes @ center_local
        k0, k1 = -values[0] / (2.0 * rise), -values[1] / (2.0 * rise)
        if k0 < 0.0 and k1 < 0.0:
            k0, k1, axes = -k0, -k1, axes * np.array([1.0, 1.0, -1.0])
        if k0 < 0.0:
            k0, k1, axes = k1, k0, axes[:, [1, 0, 2]]
        kind = "paraboloid" if k1 > 0.0 else "saddle"
        return QuadricForm(kind, at, _right_handed(axes), np.array([k0**-0.5, abs(k1) ** -0.5, 1.0]), ends)
    if values[0] * values[1] < 0.0 or constant * values[0] >= 0.0:
        return none
    at = origin + axes @ center_local
    return QuadricForm("cylinder", at, _right_handed(axes), np.array([*np.sqrt(-constant / values[:2]), 1.0]), ends)


def _right_handed(axes: Floats) -> Floats:
    """The same axes, the first turned round where they are left-handed."""
    return axes * np.array([np.sign(np.linalg.det(axes)), 1.0, 1.0])
