"""Files in and out: worlds, scenes, elevation models, pieces of terrain."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thud.io.elevation import ElevationModel as ElevationModel
    from thud.io.elevation import read_elevation as read_elevation
    from thud.io.scene.limits import SceneLimits as SceneLimits
    from thud.io.scene.load import load_scene as load_scene
    from thud.io.scene.robot import Joint as Joint
    from thud.io.scene.robot import Robot as Robot
    from thud.io.scene.scene import Note as Note
    from thud.io.scene.scene import Part as Part
    from thud.io.scene.scene import Scene as Scene
    from thud.io.terrain_piece import export_terrain as export_terrain
    from thud.io.world_file import load_world as load_world
    from thud.io.world_file import save_world as save_world

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "ElevationModel": "thud.io.elevation",
    "Joint": "thud.io.scene.robot",
    "Note": "thud.io.scene.scene",
    "Part": "thud.io.scene.scene",
    "Robot": "thud.io.scene.robot",
    "Scene": "thud.io.scene.scene",
    "SceneLimits": "thud.io.scene.limits",
    "export_terrain": "thud.io.terrain_piece",
    "load_scene": "thud.io.scene.load",
    "load_world": "thud.io.world_file",
    "read_elevation": "thud.io.elevation",
    "save_world": "thud.io.world_file",
}

__all__ = [
    "ElevationModel",
    "Joint",
    "Note",
    "Part",
    "Robot",
    "Scene",
    "SceneLimits",
    "export_terrain",
    "load_scene",
    "load_world",
    "read_elevation",
    "save_world",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'thud.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
