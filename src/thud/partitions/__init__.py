"""Partitions of space that one can hold, walk and draw ([Slides]): BSP tree and grid of a mesh, octree and grid of boxes."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "mesh_bsp": ["BspWalk", "MeshBsp"],
    "mesh_grid": ["MeshGrid"],
    "box_octree": ["BoxOctree"],
    "box_grid": ["BoxGrid"],
}

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Import a class from its module when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
