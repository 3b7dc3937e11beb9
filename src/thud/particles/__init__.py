"""Particles whose whole path is a formula, colliders that are formulas too: impacts, impact maps and the sound of hail."""

from __future__ import annotations

import importlib
from typing import Any

#: Public names and the module each comes from, imported on first use.
_NAMES: dict[str, str] = {}

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thud.particles' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
