"""Bounding volumes: fitted to points and triangles, tested against each other, and as payloads of the trees in `bvh/`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_NAMES = {
    "Aabb": "volumes",
    "BoundingSphere": "volumes",
    "Kdop": "volumes",
    "Obb": "volumes",
    "fit_aabb": "fit",
    "fit_kdop": "fit",
    "fit_obb": "fit",
    "fit_sphere": "fit",
    "overlap": "pair_tests",
}

__all__ = ["Aabb", "BoundingSphere", "Kdop", "Obb", "fit_aabb", "fit_kdop", "fit_obb", "fit_sphere", "overlap"]

if TYPE_CHECKING:
    from thud.bounds.fit import fit_aabb, fit_kdop, fit_obb, fit_sphere
    from thud.bounds.pair_tests import overlap
    from thud.bounds.volumes import Aabb, BoundingSphere, Kdop, Obb


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(f"thud.bounds.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'thud.bounds' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
