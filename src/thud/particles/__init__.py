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
    "Material": "thud.particles.materials",
    "Mesh": "thud.particles.mesh",
    "ParticleSystem": "thud.particles.system",
    "Plane": "thud.particles.planar",
    "Polygon": "thud.particles.planar",
    "Quadric": "thud.particles.quadric",
    "Rectangle": "thud.particles.planar",
    "Solid": "thud.particles.solid",
    "render_sound": "thud.particles.sound",
    "sound_blocks": "thud.particles.sound",
    "write_sound": "thud.particles.sound",
}

_MODULES = {"materials"}

__all__ = [
    "Blobs",
    "Collider",
    "ColliderSet",
    "Disc",
    "Material",
    "Mesh",
    "ParticleSystem",
    "Plane",
    "Polygon",
    "Quadric",
    "Rectangle",
    "Solid",
    "materials",
    "render_sound",
    "sound_blocks",
    "write_sound",
]

if TYPE_CHECKING:
    from thud.particles import materials
    from thud.particles.blobs import Blobs
    from thud.particles.collider import Collider
    from thud.particles.collider_set import ColliderSet
    from thud.particles.materials import Material
    from thud.particles.mesh import Mesh
    from thud.particles.planar import Disc, Plane, Polygon, Rectangle
    from thud.particles.quadric import Quadric
    from thud.particles.solid import Solid
    from thud.particles.sound import render_sound, sound_blocks, write_sound
    from thud.particles.system import ParticleSystem


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
