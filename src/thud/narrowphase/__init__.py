"""Pair tests of convex parts and of what is made of them. See ARCHITECTURE.md for the walk of one query."""

from __future__ import annotations

from typing import Any

__all__ = ["distance_pairs", "intersects_pairs"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from thud.narrowphase import dispatch

        return getattr(dispatch, name)
    raise AttributeError(f"module 'thud.narrowphase' has no attribute {name!r}")
