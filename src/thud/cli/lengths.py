"""Lengths with a unit on the command line, 5mm, 0.2in, 1e-3, and poses made of them."""

from __future__ import annotations

import math
import re

from thud.errors import InvalidInputError
from thud.pose import Pose

#: Metres of one of each.
UNITS = {
    "": 1.0, "m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 1e-3, "um": 1e-6, "µm": 1e-6, "nm": 1e-9, "km": 1000.0,
    "in": 0.0254, "inch": 0.0254, '"': 0.0254, "ft": 0.3048, "foot": 0.3048, "mil": 2.54e-5,
}  # fmt: skip

_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_LENGTH = re.compile(r"\s*([0-9.eE+-]+)\s*([a-zµ\"]*)\s*")


def metres(text: str, name: str) -> float:
    """The length in metres; a number alone is in metres."""
    value = _signed(text)
    if value is None:
        raise InvalidInputError(f"{name}: expected a length such as 5mm, 0.2in or 0.005, got {text!r}")
    if not math.isfinite(value) or value < 0.0:
        raise InvalidInputError(f"{name}: expected a length of at least 0, got {text!r}")
    return value


def place(text: str, name: str) -> Pose:
    """A pose: "X,Y,Z", lengths that may be negative; then, if wanted, ",RX,RY,RZ", degrees about fixed x, y and z in turn."""
    words = text.split(",")
    lengths = [_signed(word) for word in words[:3]]
    turns = [float(word) if _NUMBER.fullmatch(word) else None for word in words[3:]]
    values = [value for value in (*lengths, *turns) if value is not None and math.isfinite(value)]
    if len(words) not in (3, 6) or len(values) != len(words):
        raise InvalidInputError(
            f"{name}: expected X,Y,Z or X,Y,Z,RX,RY,RZ, such as 1m,0,-20mm or 0,0,0,0,0,90 (degrees), got {text!r}"
        )
    return Pose.from_euler(values[:3], values[3:] or [0.0, 0.0, 0.0], degrees=True)


def _signed(text: str) -> float | None:
    """Metres, or None if it is no length."""
    found = _LENGTH.fullmatch(text)
    if found is None or found[2] not in UNITS or not _NUMBER.fullmatch(found[1]):
        return None
    return float(found[1]) * UNITS[found[2]]
