"""Time of impact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["edge_edge", "vertex_face"]

if TYPE_CHECKING:
    from thud.continuous.elementary import edge_edge, vertex_face


def __getattr__(name: str) -> Any:
    if name in __all__:
        from thud.continuous import elementary

        return getattr(elementary, name)
    raise AttributeError(f"module 'thud.continuous' has no attribute {name!r}")
