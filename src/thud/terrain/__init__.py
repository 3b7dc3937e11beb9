"""Terrain: displacement-mapped surfaces, forward and backward projection, bounding maps, multiresolution collision."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "BoundingMaps": "thud.terrain.bounding_maps",
    "DisplacedSurface": "thud.terrain.surface",
    "GridField": "thud.terrain.fields",
    "MadeSurface": "thud.terrain.make",
    "Samples": "thud.terrain.surface",
    "SurfaceCollision": "thud.terrain.multiresolution",
    "backward_project": "thud.terrain.backward",
    "forward_project": "thud.terrain.forward",
    "from_field": "thud.terrain.make",
    "from_heights": "thud.terrain.heights",
    "from_mesh": "thud.terrain.make",
    "patch_triangles": "thud.terrain.bounding_triangles",
    "surface_collision": "thud.terrain.multiresolution",
}

__all__ = [
    "BoundingMaps",
    "DisplacedSurface",
    "GridField",
    "MadeSurface",
    "Samples",
    "SurfaceCollision",
    "backward_project",
    "forward_project",
    "from_field",
    "from_heights",
    "from_mesh",
    "patch_triangles",
    "surface_collision",
]

if TYPE_CHECKING:
    from thud.terrain.backward import backward_project
    from thud.terrain.bounding_maps import BoundingMaps
    from thud.terrain.bounding_triangles import patch_triangles
    from thud.terrain.fields import GridField
    from thud.terrain.forward import forward_project
    from thud.terrain.heights import from_heights
    from thud.terrain.make import MadeSurface, from_field, from_mesh
    from thud.terrain.multiresolution import SurfaceCollision, surface_collision
    from thud.terrain.surface import DisplacedSurface, Samples


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thud.terrain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
