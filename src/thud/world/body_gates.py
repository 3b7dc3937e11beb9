"""The gates of what bodies are made of: each argument of `World.add`, one for all or one a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, check_finite, finite_array
from thud.constants import FARTHEST_POSE
from thud.errors import InvalidInputError
from thud.gates import as_flags, as_points, as_vector
from thud.shapes.mass_properties import mass_properties, own_moments
from thud.shapes.shape import Shape
from thud.world.tolerances import INERTIA_ROUNDING

#: What a body has unless it is told.
FRICTION, RESTITUTION = 0.5, 0.0

#: Why ground has no mass.
GROUND = "is a DisplacedSurface, a Terrain or a HeightField without a thickness, which is static ground"


def each(value: npt.ArrayLike, count: int, name: str, axes: int = 1) -> npt.NDArray[Any]:
    """One value for all or one a body."""
    array = np.asarray(value)
    if array.ndim == 0:
        array = array[None]
    if array.ndim != axes:
        raise InvalidInputError(f"{name}: expected one or {count} values, got shape {array.shape}")
    if len(array) not in (1, count):
        raise InvalidInputError(f"{name}: expected one or {count} rows, got {len(array)}")
    return np.broadcast_to(array, (count, *array.shape[1:]))


def refuse_rows(wrong: Bools, name: str, text: str) -> None:
    """Named error for the first row that is wrong."""
    if wrong.any():
        raise InvalidInputError(f"{name}: row {int(np.argmax(wrong))} {text}")


def refuse_moving_surface(
    static: bool, mass: bool, moves: bool, bullet: bool, where: str = "", *, kinematic: bool = False
) -> None:
    """Named error unless a body that is a surface is one that stays where it is."""
    wrongs = (
        ("static=False", not static), ("mass", mass), ("velocity", moves), ("bullet", bullet), ("kinematic", kinematic),
    )  # fmt: skip
    given = [name for name, wrong in wrongs if wrong]
    if given:
        raise InvalidInputError(
            f"{where + ': ' if where else ''}{', '.join(given)}: a DisplacedSurface, Terrain or HeightField without a "
            "thickness is static ground without mass and velocity; move it by set_poses"
        )


def as_mask(mask: int) -> int:
    """Bits of layers."""
    if isinstance(mask, bool) or not isinstance(mask, (int, np.integer)) or not -(2**63) <= mask < 2**64:
        raise InvalidInputError(f"mask: expected a whole number of 64 bits, one a layer, got {mask!r}")
    return int(mask)


def as_velocity(value: npt.ArrayLike | None, name: str) -> Floats:
    """One (3,) velocity, 0 for None."""
    velocity = np.zeros(3) if value is None else as_vector(value, name)
    check_finite(velocity, name, FARTHEST_POSE)
    return velocity


def as_velocities(value: npt.ArrayLike, name: str) -> Floats:
    """(N, 3) velocities: their limit is that of places, so that a step of a second stays within it."""
    return as_points(value, name, limit=FARTHEST_POSE)


def as_masses(value: npt.ArrayLike, count: int, name: str = "mass") -> Floats:
    """(count,) positive numbers: masses or densities."""
    found = each(finite_array(value, name), count, name)
    refuse_rows(found <= 0.0, name, "is not positive; expected a positive number, or None for none")
    return found


def as_frictions(value: npt.ArrayLike, count: int) -> Floats:
    """(count,) coefficients of friction."""
    found = each(finite_array(value, "friction"), count, "friction")
    refuse_rows(found < 0.0, "friction", "is negative; expected a number of at least 0")
    return found


def as_restitutions(value: npt.ArrayLike, count: int) -> Floats:
    """(count,) coefficients of restitution."""
    found = each(finite_array(value, "restitution"), count, "restitution")
    refuse_rows((found < 0.0) | (found > 1.0), "restitution", "is not between 0 and 1; expected a number from 0 to 1")
    return found


def as_centers(value: npt.ArrayLike, count: int) -> Floats:
    """(count, 3) centres of mass, body frame."""
    return each(as_points(value, "center_of_mass", limit=FARTHEST_POSE), count, "center_of_mass", 2)


def as_inertias(value: npt.ArrayLike, count: int, *, one: bool = False) -> Floats:
    """(count, 3, 3) moments of inertia: matrices, or rows of three principal ones along the body's axes; with `one` (3,) or
    (3, 3) of a single body."""
    array = finite_array(value, "inertia")
    if one:
        array = array[None] if array.shape in ((3,), (3, 3)) else array
    if array.ndim == 1 and array.shape == (3,):
        array = array[None]
    if array.ndim not in (2, 3) or array.shape[1:] not in ((3,), (3, 3)):
        expected = "(3,) or (3, 3)" if one else f"({count}, 3) or ({count}, 3, 3), or one row for all"
        raise InvalidInputError(f"inertia: expected shape {expected}, got {array.shape}")
    if array.ndim == 2:
        array = array[:, :, None] * np.eye(3)
    matrix = each(array, count, "inertia", 3)
    size = np.abs(matrix).max(axis=(1, 2), initial=0.0)
    skew = np.abs(matrix - np.swapaxes(matrix, 1, 2)).max(axis=(1, 2), initial=0.0)
    refuse_rows(skew > INERTIA_ROUNDING * size, "inertia", "is not symmetric; expected a symmetric matrix, kg m^2")
    matrix = 0.5 * (matrix + np.swapaxes(matrix, 1, 2))
    principal = np.linalg.eigvalsh(matrix)
    refuse_rows(~(principal[:, 0] > 0.0), "inertia", "is not positive definite; expected three positive principal moments")
    refuse_rows(
        principal[:, 2] > (principal[:, 0] + principal[:, 1]) * (1.0 + INERTIA_ROUNDING),
        "inertia",
        "has a principal moment above the sum of the other two, which no body has; expected moments about the centre of mass",
    )
    return matrix


class Physics(NamedTuple):
    """Columns of bodies that a simulation needs, (N,) and so on."""

    kinematic: Any = False
    mass: Any = np.nan
    inertia: Any = np.nan
    center_of_mass: Any = np.nan
    friction: Any = FRICTION
    restitution: Any = RESTITUTION


def as_physics(
    shapes: Sequence[Shape], count: int, static: Bools, *, kinematic: npt.ArrayLike, mass: npt.ArrayLike | None,
    density: npt.ArrayLike | None, inertia: npt.ArrayLike | None, center_of_mass: npt.ArrayLike | None,
    friction: npt.ArrayLike, restitution: npt.ArrayLike, one: bool = False,
) -> Physics:  # fmt: skip
    """The gate of what `World.add` and `add_many` are given, one for all or one a body; `shapes` likewise."""
    flags = each(as_flags(kinematic, "kinematic"), count, "kinematic")
    refuse_rows(flags & static, "kinematic", "is static too; expected one of the two")
    rub, bounce = as_frictions(friction, count), as_restitutions(restitution, count)
    if mass is not None and density is not None:
        raise InvalidInputError("mass, density: expected one of the two, got both")
    if inertia is not None and mass is None and density is None:
        raise InvalidInputError("inertia: expected it together with mass or density, got neither")
    ground = np.broadcast_to([shape.is_ground for shape in shapes], (count,))
    for name, value in (("density", density), ("inertia", inertia), ("center_of_mass", center_of_mass)):
        if value is not None:
            refuse_rows(ground, name, f"{GROUND} and has no mass; expected None")
    masses = np.full(count, np.nan)
    inertias, centers = np.full((count, 3, 3), np.nan), np.full((count, 3), np.nan)
    given = as_inertias(inertia, count, one=one) if inertia is not None else None
    center = as_centers(center_of_mass, count) if center_of_mass is not None else None
    if density is not None:
        masses = as_masses(density, count, "density").copy()
    elif mass is not None:
        masses = as_masses(mass, count).copy()
    if density is not None or mass is not None:
        for shape, rows in _by_shape(shapes, count):
            if shape.is_ground:
                continue
            if density is not None:
                whole = _named_mass(shape, int(rows[0]), count)
                masses[rows] *= whole.volume
                unit, middle = whole.inertia / whole.mass, whole.center_of_mass
            else:
                middle, unit = own_moments(shape)
            inertias[rows], centers[rows] = unit * masses[rows, None, None], middle
    if given is not None:
        inertias = given
    if center is not None:
        centers = center
    return Physics(flags, masses, inertias, centers, rub, bounce)


def _named_mass(shape: Shape, row: int, count: int) -> Any:
    """Its properties at a density of 1; an error says which body."""
    try:
        return mass_properties(shape, 1.0)
    except Exception as error:
        if count == 1:
            raise
        raise type(error)(f"density: row {row}: {error}") from None


def _by_shape(shapes: Sequence[Shape], count: int) -> list[tuple[Shape, Any]]:
    """Each shape once, with the rows that have it."""
    if len(shapes) == 1:
        return [(shapes[0], np.arange(count))]
    rows: dict[int, list[int]] = {}
    for row, shape in enumerate(shapes):
        rows.setdefault(id(shape), []).append(row)
    return [(shapes[some[0]], np.array(some)) for some in rows.values()]
