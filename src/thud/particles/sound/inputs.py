"""Gates of the sound: materials, impacts, factors."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import finite_array
from thud.particles.sound.materials import Material


class SilentSoundWarning(UserWarning):
    """Nothing that can be hit has a material: the sound is silence."""


class ImpactArrays(NamedTuple):
    """Impacts given as arrays."""

    time: Floats
    collider: Ints
    speed: Floats


def as_gain(gain: Any) -> float:
    """One finite number."""
    array = finite_array(gain, "gain")
    if array.ndim != 0:
        raise InvalidInputError(f"gain: expected one number, got shape {array.shape}")
    return float(array)


def as_materials(values: Any) -> list[Material | None]:
    """Materials, None, or colliders that have such."""
    try:
        rows = [getattr(value, "material", value) for value in values]
    except TypeError:
        raise InvalidInputError(f"materials: expected a sequence, got a {type(values).__name__}") from None
    for row, material in enumerate(rows):
        if material is not None and not isinstance(material, Material):
            expected = "a Material, None, or a collider with such a `material`"
            raise InvalidInputError(f"materials: row {row} is a {type(material).__name__}; expected {expected}")
    return rows


def materials_of(colliders: Any) -> list[Material | None]:
    """Materials of colliders: a set of them, a list, or one. What has no `material`, as plain shapes, is silent."""
    colliders = getattr(colliders, "colliders", colliders)
    if not isinstance(colliders, (list, tuple)):
        colliders = [colliders]
    return as_materials([getattr(collider, "material", None) for collider in colliders])


def warn_if_silent(materials: list[Material | None]) -> None:
    """Say so if there is something to hit and none of it sounds."""
    if materials and all(material is None for material in materials):
        warnings.warn(
            f"colliders: none of {len(materials)} has a material, so nothing is heard; give them one, such as "
            "thud.particles.materials.sheet_metal()",
            SilentSoundWarning,
            stacklevel=3,
        )


def as_impacts(impacts: Any) -> Any:
    """Impacts, or three arrays as such."""
    if isinstance(impacts, tuple) and not hasattr(impacts, "time"):
        if len(impacts) != 3:
            raise InvalidInputError(f"impacts: expected (time, collider, speed), got a tuple of {len(impacts)}")
        time, collider, speed = impacts
        return ImpactArrays(finite_array(time, "impacts.time"), _whole(collider), finite_array(speed, "impacts.speed"))
    return impacts


def _whole(collider: Any) -> Ints:
    """Indices of colliders as int64."""
    try:
        array = np.asarray(collider)
    except ValueError as error:
        raise InvalidInputError(f"impacts.collider: expected whole numbers ({error})") from None
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(f"impacts.collider: expected whole numbers, got {array.dtype}")
    return array.astype(np.int64)


def checked(impacts: Any, colliders: int) -> tuple[Floats, Ints, Floats]:
    """Times, colliders and speeds of impacts, of one length and in range."""
    for name in ("time", "collider", "speed"):
        if not hasattr(impacts, name):
            raise InvalidInputError(f"impacts: a {type(impacts).__name__} has no `{name}`; expected time, collider and speed")
    time, speed = finite_array(impacts.time, "impacts.time"), finite_array(impacts.speed, "impacts.speed")
    collider = _whole(impacts.collider)
    shapes = [array.shape for array in (time, collider, speed)]
    if time.ndim != 1 or len(set(shapes)) > 1:
        raise InvalidInputError(f"impacts: expected time, collider and speed of one shape (N,), got {shapes}")
    wrong = (collider < 0) | (collider >= colliders)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"impacts.collider: row {row} is {collider[row]}; expected an index below {colliders}")
    if (speed < 0.0).any():
        row = int(np.argmax(speed < 0.0))
        raise InvalidInputError(f"impacts.speed: row {row} is {speed[row]}; expected at least 0")
    return time, collider, speed


def factors(strength: Any, impacts: Any, count: int) -> Floats:
    """One factor an impact."""
    if strength is None:
        return np.ones(count)
    factors = finite_array(strength(impacts) if callable(strength) else strength, "strength")
    if factors.shape != (count,):
        raise InvalidInputError(f"strength: expected one factor for each of {count} impacts, got shape {factors.shape}")
    return factors
