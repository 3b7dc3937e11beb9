"""Interference in image space: which closed meshes overlap, found by drawing them. No tree, no preprocessing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "Interference": "thud.results",
    "interference": "thud.imagespace.interference",
}

__all__ = ["Interference", "interference"]

if TYPE_CHECKING:
    from thud.imagespace.interference import interference
    from thud.results import Interference


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thud.imagespace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
