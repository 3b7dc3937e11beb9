"""Broad phases: boxes in, sorted pairs of those that overlap out. All give the same pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thud.broadphase.boxes import Boxes as Boxes
    from thud.broadphase.boxes import as_boxes as as_boxes
    from thud.broadphase.choose import METHODS as METHODS
    from thud.broadphase.choose import BroadPhase as BroadPhase
    from thud.broadphase.choose import broad_phase as broad_phase
    from thud.broadphase.choose import pairs as pairs

__all__ = ["METHODS", "Boxes", "BroadPhase", "as_boxes", "broad_phase", "pairs"]


def __getattr__(name: str) -> Any:
    if name in ("Boxes", "as_boxes"):
        from thud.broadphase import boxes

        return getattr(boxes, name)
    if name in __all__:
        from thud.broadphase import choose

        return getattr(choose, name)
    raise AttributeError(f"module 'thud.broadphase' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
