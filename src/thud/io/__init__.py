"""Files in and out: worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thud.io.world_file import load_world as load_world
    from thud.io.world_file import save_world as save_world

__all__ = ["load_world", "save_world"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from thud.io import world_file

        return getattr(world_file, name)
    raise AttributeError(f"module 'thud.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
