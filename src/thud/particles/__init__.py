"""Particles whose whole path is a formula, colliders that are formulas too: impacts, impact maps and the sound of hail."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "Blobs": "thud.particles.blobs",
    "Collider": "thud.particles.collider",
    "ColliderSet": "thud.particles.collider_set",
    "Disc": "thud.particles.planar",
    "ImpactMap": "thud.particles.map_result",
    "MapImpacts": "thud.particles.map_result",
    "Material": "thud.particles.materials",
    "Mesh": "thud.particles.mesh",
    "ParticleSystem": "thud.particles.system",
    "Plane": "thud.particles.planar",
    "Polygon": "thud.particles.planar",
    "Quadric": "thud.particles.quadric",
    "Rectangle": "thud.particles.planar",
    "Solid": "thud.particles.solid",
    "Surface": "thud.particles.surface",
    "impact_coordinates": "thud.particles.parameters",
    "impact_map": "thud.particles.impact_maps",
    "render_sound": "thud.particles.sound",
    "sound_blocks": "thud.particles.sound",
    "splat": "thud.particles.textures",
    "surface_points": "thud.particles.parameters",
    "texture_at": "thud.particles.textures",
    "write_sound": "thud.particles.sound",
}

_MODULES = {"materials", "scenes"}

__all__ = [
    "Blobs",
    "Collider",
    "ColliderSet",
    "Disc",
    "ImpactMap",
    "MapImpacts",
    "Material",
    "Mesh",
    "ParticleSystem",
    "Plane",
    "Polygon",
    "Quadric",
    "Rectangle",
    "Solid",
    "Surface",
    "impact_coordinates",
    "impact_map",
    "materials",
    "render_sound",
    "scenes",
    "sound_blocks",
    "splat",
    "surface_points",
    "texture_at",
    "write_sound",
]

if TYPE_CHECKING:
    from thud.particles import materials, scenes
    from thud.particles.blobs import Blobs
    from thud.particles.collider import Collider
    from thud.particles.collider_set import ColliderSet
    from thud.particles.impact_maps import impact_map
    from thud.particles.map_result import ImpactMap, MapImpacts
    from thud.particles.materials import Material
    from thud.particles.mesh import Mesh
    from thud.particles.parameters import impact_coordinates, surface_points
    from thud.particles.planar import Disc, Plane, Polygon, Rectangle
    from thud.particles.quadric import Quadric
    from thud.particles.solid import Solid
    from thud.particles.sound import render_sound, sound_blocks, write_sound
    from thud.particles.surface import Surface
    from thud.particles.system import ParticleSystem
    from thud.particles.textures import splat, texture_at


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"thud.particles.{name}")
    raise AttributeError(f"module 'thud.particles' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
