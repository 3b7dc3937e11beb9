"""What happens then: rigid bodies that move, turn and fall ([Slides], physics)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "INTEGRATORS": "thud.dynamics.integrator_names",
    "Ball": "thud.dynamics.joints",
    "Character": "thud.dynamics.characters.character",
    "CharacterHits": "thud.dynamics.characters.character",
    "CharacterMoves": "thud.dynamics.characters.character",
    "Distance": "thud.dynamics.joints",
    "Fixed": "thud.dynamics.joints",
    "Hinge": "thud.dynamics.joints",
    "HitKind": "thud.dynamics.characters.character",
    "Motor": "thud.dynamics.joints",
    "MoveStatus": "thud.dynamics.characters.character",
    "RigidBodies": "thud.dynamics.rigid_bodies",
    "Slider": "thud.dynamics.joints",
    "StickStatus": "thud.dynamics.sticks.sticks",
    "StickStep": "thud.dynamics.sticks.sticks",
    "Sticks": "thud.dynamics.sticks.sticks",
    "cloth": "thud.dynamics.sticks.makers",
    "inertia_of_points": "thud.dynamics.inertia",
    "inertia_of_shape": "thud.dynamics.inertia",
    "rag_doll": "thud.dynamics.sticks.makers",
    "rope": "thud.dynamics.sticks.makers",
    "world_inertia": "thud.dynamics.inertia",
}

__all__ = [
    "INTEGRATORS",
    "Ball",
    "Character",
    "CharacterHits",
    "CharacterMoves",
    "Distance",
    "Fixed",
    "Hinge",
    "HitKind",
    "Motor",
    "MoveStatus",
    "RigidBodies",
    "Slider",
    "StickStatus",
    "StickStep",
    "Sticks",
    "cloth",
    "inertia_of_points",
    "inertia_of_shape",
    "rag_doll",
    "rope",
    "world_inertia",
]

if TYPE_CHECKING:
    from thud.dynamics.characters.character import Character, CharacterHits, CharacterMoves, HitKind, MoveStatus
    from thud.dynamics.inertia import inertia_of_points, inertia_of_shape, world_inertia
    from thud.dynamics.integrator_names import INTEGRATORS
    from thud.dynamics.joints import Ball, Distance, Fixed, Hinge, Motor, Slider
    from thud.dynamics.rigid_bodies import RigidBodies
    from thud.dynamics.sticks.makers import cloth, rag_doll, rope
    from thud.dynamics.sticks.sticks import Sticks, StickStatus, StickStep


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thud.dynamics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
