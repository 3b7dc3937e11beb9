"""How to look: the options of `interference`, checked; and those of `World(midphase="image")`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thud.errors import InvalidInputError
from thud.gates import as_positive
from thud.imagespace.tolerances import ALL_LAYERS, MOST_PIXELS, MOST_VIEWS

BACKENDS = ("cpu", "gl")


@dataclass(frozen=True)
class ImageOptions:
    """As the arguments of `interference`, but three views unless told otherwise; checked when it is made."""

    resolution: int | tuple[int, int] = 512
    """Pixels a side, or (width, height)."""
    views: int = 3
    layers: int | None = 1
    precision: float | None = None
    """Metres; None: one look."""
    backend: str = "cpu"

    def __post_init__(self) -> None:
        checked_options(self.resolution, self.views, self.layers, self.precision, self.backend)
        if isinstance(self.resolution, list):
            object.__setattr__(self, "resolution", tuple(self.resolution))


def checked_options(
    resolution: int | tuple[int, int], views: int, layers: int | None, precision: float | None, backend: str
) -> tuple[tuple[int, int], int, int, float | None]:
    """(width, height), views, layers and precision, looked at; a named error if one is wrong."""
    if backend not in BACKENDS:
        raise InvalidInputError(f"backend: expected {' or '.join(map(repr, BACKENDS))}, got {backend!r}")
    return (
        _resolution(resolution),
        _whole(views, "views", 1, MOST_VIEWS),
        ALL_LAYERS if layers is None else _whole(layers, "layers", 1, ALL_LAYERS),
        None if precision is None else as_positive(precision, "precision"),
    )


def _resolution(value: int | tuple[int, int]) -> tuple[int, int]:
    both = (value, value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else value
    if not isinstance(both, (tuple, list)) or len(both) != 2:
        raise InvalidInputError(f"resolution: expected pixels a side or (width, height), got {value!r}")
    return _whole(both[0], "resolution", 16, MOST_PIXELS), _whole(both[1], "resolution", 16, MOST_PIXELS)


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= int(value) <= most:
        raise InvalidInputError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")
    return int(value)
