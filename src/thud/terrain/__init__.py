"""Terrain: displacement-mapped surfaces, forward and backward projection, bounding maps, multiresolution collision."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "BoundingMaps": "thud.terrain.bounding.maps",
    "DisplacedSurface": "thud.terrain.surface",
    "GeneratedWorld": "thud.terrain.filling.generated",
    "GridField": "thud.terrain.making.fields",
    "MadeSurface": "thud.terrain.making.make",
    "Samples": "thud.terrain.surface",
    "Slides": "thud.terrain.tiles.slide",
    "SurfaceCollision": "thud.terrain.collision.surface_collision",
    "backward_project": "thud.terrain.projection.backward",
    "former_distance": "thud.terrain.collision.former_distance",
    "forward_project": "thud.terrain.projection.forward",
    "from_field": "thud.terrain.making.make",
    "from_heights": "thud.terrain.making.heights",
    "from_mesh": "thud.terrain.making.make",
    "patch_triangles": "thud.terrain.bounding.triangles",
    "surface_collision": "thud.terrain.collision.surface_collision",
    "Manifest": "thud.terrain.tiles.manifest",
    "TileWriter": "thud.terrain.tiles.writer",
    "displaced_record": "thud.terrain.tiles.displaced_tile",
    "height_record": "thud.terrain.tiles.height_tile",
    "triangle_record": "thud.terrain.tiles.triangle_tile",
    "verify": "thud.terrain.tiles.verify",
    "write_tiles": "thud.terrain.tiles.writer",
    "HeightWindows": "thud.terrain.filling.height_windows",
    "build": "thud.terrain.filling.build",
    "generated_world": "thud.terrain.filling.generated",
}

__all__ = [
    "BoundingMaps",
    "DisplacedSurface",
    "GeneratedWorld",
    "GridField",
    "HeightWindows",
    "MadeSurface",
    "Manifest",
    "Samples",
    "Slides",
    "SurfaceCollision",
    "TileWriter",
    "backward_project",
    "build",
    "displaced_record",
    "former_distance",
    "forward_project",
    "from_field",
    "from_heights",
    "from_mesh",
    "generated_world",
    "height_record",
    "patch_triangles",
    "surface_collision",
    "triangle_record",
    "verify",
    "write_tiles",
]

if TYPE_CHECKING:
    from thud.terrain.bounding.maps import BoundingMaps
    from thud.terrain.bounding.triangles import patch_triangles
    from thud.terrain.collision.former_distance import former_distance
    from thud.terrain.collision.surface_collision import SurfaceCollision, surface_collision
    from thud.terrain.filling.build import build
    from thud.terrain.filling.generated import GeneratedWorld, generated_world
    from thud.terrain.filling.height_windows import HeightWindows
    from thud.terrain.making.fields import GridField
    from thud.terrain.making.heights import from_heights
    from thud.terrain.making.make import MadeSurface, from_field, from_mesh
    from thud.terrain.projection.backward import backward_project
    from thud.terrain.projection.forward import forward_project
    from thud.terrain.surface import DisplacedSurface, Samples
    from thud.terrain.tiles.displaced_tile import displaced_record
    from thud.terrain.tiles.height_tile import height_record
    from thud.terrain.tiles.manifest import Manifest
    from thud.terrain.tiles.slide import Slides
    from thud.terrain.tiles.triangle_tile import triangle_record
    from thud.terrain.tiles.verify import verify
    from thud.terrain.tiles.writer import TileWriter, write_tiles


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thud.terrain' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
