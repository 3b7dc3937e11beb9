"""Terrain: displacement-mapped surfaces, forward and backward projection, bounding maps, multiresolution collision."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "DisplacedSurface": "thud.terrain.surface",
    "Samples": "thud.terrain.surface",
}

__all__ = ["DisplacedSurface", "Samples"]

if TYPE_CHECKING:
    from thud.terrain.surface import DisplacedSurface, Samples


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thud.terrain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
