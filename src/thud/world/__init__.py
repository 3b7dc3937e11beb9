"""Many bodies: `World`, its broad, mid and narrow phases, handles and caches; `WorldBatch`, many copies of a world."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public names and the module each comes from, imported on first use.
_NAMES = {
    "BatchContacts": "thud.world.batch.batch_results",
    "BatchEvents": "thud.world.batch.batch_results",
    "BatchState": "thud.world.batch.world_batch",
    "BatchStepContacts": "thud.world.batch.batch_results",
    "World": "thud.world.world",
    "WorldBatch": "thud.world.batch.world_batch",
}

__all__ = ["BatchContacts", "BatchEvents", "BatchState", "BatchStepContacts", "World", "WorldBatch"]

if TYPE_CHECKING:
    from thud.world.batch.batch_results import BatchContacts, BatchEvents, BatchStepContacts
    from thud.world.batch.world_batch import BatchState, WorldBatch
    from thud.world.world import World


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thud.world' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
