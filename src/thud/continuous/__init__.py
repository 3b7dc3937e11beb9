"""Time of impact in closed form or by inclusion: vertex and face, edge and edge, moving spheres. Shapes: `thud.cast`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "edge_edge": "elementary",
    "sphere_sphere": "moving_spheres",
    "sphere_triangle": "moving_spheres",
    "vertex_face": "elementary",
}

__all__ = ["edge_edge", "sphere_sphere", "sphere_triangle", "vertex_face"]

if TYPE_CHECKING:
    from thud.continuous.elementary import edge_edge, vertex_face
    from thud.continuous.moving_spheres import sphere_sphere, sphere_triangle


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'thud.continuous' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
