"""Units and axes of files: metres and z up is what comes out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError

#: Metres of a unit, by its names.
METRES = {
    "micron": 1e-6,
    "micrometer": 1e-6,
    "um": 1e-6,
    "mm": 1e-3,
    "millimetre": 1e-3,
    "millimeter": 1e-3,
    "cm": 1e-2,
    "centimetre": 1e-2,
    "centimeter": 1e-2,
    "dm": 0.1,
    "m": 1.0,
    "metre": 1.0,
    "meter": 1.0,
    "km": 1e3,
    "in": 0.0254,
    "inch": 0.0254,
    "ft": 0.3048,
    "foot": 0.3048,
    "feet": 0.3048,
    "yd": 0.9144,
    "yard": 0.9144,
}

_WORDS = {1e-6: "micrometre", 1e-3: "millimetre", 1e-2: "centimetre", 0.1: "decimetre", 1.0: "metre", 1e3: "kilometre"}
_WORDS |= {0.0254: "inch", 0.3048: "foot", 0.9144: "yard"}

#: Turns the file's up axis to z and keeps right-handedness.
_TURNS = {
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "x": ((0, 0, -1), (0, 1, 0), (1, 0, 0)),
}


def metres_of(units: Any) -> float:
    """Metres of one unit, from its name ("mm", "inch", ...) or a number of metres."""
    if isinstance(units, str):
        key = units.strip().lower()
        value = METRES.get(key, METRES.get(key.removesuffix("s")))
        if value is None:
            raise InvalidInputError(f"units: {units!r}; expected one of {', '.join(METRES)}, or a number of metres")
        return value
    if isinstance(units, bool) or not isinstance(units, (int, float)) or not 0.0 < units < math.inf:
        raise InvalidInputError(f"units: {units!r}; expected a name such as 'mm', or a positive number of metres")
    return float(units)


def words_for(metres: float) -> str:
    """The unit's name, or its length."""
    for value, name in _WORDS.items():
        if math.isclose(metres, value, rel_tol=1e-6):
            return name
    return f"{metres:.6g} metres"


def turn_of(up: Any) -> Floats:
    """(3, 3) rotation that makes the file's up axis z."""
    if up not in _TURNS:
        raise InvalidInputError(f"up: {up!r}; expected 'x', 'y' or 'z', the axis that points up in the file")
    return np.array(_TURNS[up], dtype=np.float64)
