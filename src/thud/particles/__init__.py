"""Particles whose whole path is a formula, colliders that are formulas too: impacts, impact maps and the sound of hail."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "Blobs": "thud.particles.colliders.blobs",
    "Collider": "thud.particles.colliders.collider",
    "ColliderSet": "thud.particles.colliders.collider_set",
    "Disc": "thud.particles.colliders.planar",
    "DoseMap": "thud.particles.maps.dose_map",
    "ImpactMap": "thud.particles.maps.map_result",
    "Impactor": "thud.particles.sound.contact",
    "ImplicitPatches": "thud.particles.colliders.implicit_patches",
    "Listener": "thud.particles.sound.listener",
    "MapImpacts": "thud.particles.maps.map_result",
    "Material": "thud.particles.sound.materials",
    "Mesh": "thud.particles.colliders.mesh",
    "ParticleImpacts": "thud.results",
    "ParticleState": "thud.results",
    "ParticleStates": "thud.results",
    "ParticleSystem": "thud.particles.flight.system",
    "Plane": "thud.particles.colliders.planar",
    "Polygon": "thud.particles.colliders.planar",
    "Quadric": "thud.particles.colliders.quadric",
    "Rectangle": "thud.particles.colliders.planar",
    "SilentSoundWarning": "thud.particles.sound.inputs",
    "Skeleton": "thud.particles.colliders.skeleton",
    "Solid": "thud.particles.colliders.solid",
    "Surface": "thud.particles.colliders.surface",
    "dose_map": "thud.particles.maps.dose_map",
    "impact_coordinates": "thud.particles.maps.parameters",
    "impact_map": "thud.particles.maps.impact_maps",
    "render_sound": "thud.particles.sound.synthesis",
    "sound_blocks": "thud.particles.sound.synthesis",
    "splat": "thud.particles.maps.textures",
    "surface_points": "thud.particles.maps.parameters",
    "texture_at": "thud.particles.maps.textures",
    "WrittenSound": "thud.particles.sound.sound_file",
    "write_sound": "thud.particles.sound.sound_file",
}

_MODULES = {"materials": "thud.particles.sound.materials", "scenes": "thud.particles.scenes"}

__all__ = [
    "Blobs",
    "Collider",
    "ColliderSet",
    "Disc",
    "DoseMap",
    "ImpactMap",
    "Impactor",
    "ImplicitPatches",
    "Listener",
    "MapImpacts",
    "Material",
    "Mesh",
    "ParticleImpacts",
    "ParticleState",
    "ParticleStates",
    "ParticleSystem",
    "Plane",
    "Polygon",
    "Quadric",
    "Rectangle",
    "SilentSoundWarning",
    "Skeleton",
    "Solid",
    "Surface",
    "WrittenSound",
    "dose_map",
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
    from thud.particles import scenes
    from thud.particles.colliders.blobs import Blobs
    from thud.particles.colliders.collider import Collider
    from thud.particles.colliders.collider_set import ColliderSet
    from thud.particles.colliders.implicit_patches import ImplicitPatches
    from thud.particles.colliders.mesh import Mesh
    from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
    from thud.particles.colliders.quadric import Quadric
    from thud.particles.colliders.skeleton import Skeleton
    from thud.particles.colliders.solid import Solid
    from thud.particles.colliders.surface import Surface
    from thud.particles.flight.system import ParticleSystem
    from thud.particles.maps.dose_map import DoseMap, dose_map
    from thud.particles.maps.impact_maps import impact_map
    from thud.particles.maps.map_result import ImpactMap, MapImpacts
    from thud.particles.maps.parameters import impact_coordinates, surface_points
    from thud.particles.maps.textures import splat, texture_at
    from thud.particles.sound import materials
    from thud.particles.sound.contact import Impactor
    from thud.particles.sound.inputs import SilentSoundWarning
    from thud.particles.sound.listener import Listener
    from thud.particles.sound.materials import Material
    from thud.particles.sound.sound_file import WrittenSound, write_sound
    from thud.particles.sound.synthesis import render_sound, sound_blocks
    from thud.results import ParticleImpacts, ParticleState, ParticleStates


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    raise AttributeError(f"module 'thud.particles' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
