"""Lengths with a unit on the command line: 5mm, 0.2in, 1e-3."""

from __future__ import annotations

import math
import re

from thud.errors import InvalidInputError

#: Metres of one of each.
UNITS = {
    "": 1.0, "m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 1e-3, "um": 1e-6, "µm": 1e-6, "nm": 1e-9, "km": 1000.0,
    "in": 0.0254, "inch": 0.0254, '"': 0.0254, "ft": 0.3048, "foot": 0.3048, "mil": 2.54e-5,
}  # fmt: skip

_LENGTH = re.compile(r"\s*([0-9.eE+-]+)\s*([a-zµ\"]*)\s*")


def metres(text: str, name: str) -> float:
    """The length in metres; a number alone is in metres."""
    found = _LENGTH.fullmatch(text)
    try:
        if found is None or found[2] not in UNITS:
            raise ValueError
        value = float(found[1]) * UNITS[found[2]]
    except ValueError:
        raise InvalidInputError(f"{name}: expected a length such as 5mm, 0.2in or 0.005, got {text!r}") from None
    if not math.isfinite(value) or value < 0.0:
        raise InvalidInputError(f"{name}: expected a length of at least 0, got {text!r}")
    return value
