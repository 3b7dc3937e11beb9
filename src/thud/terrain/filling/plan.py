"""What a source hands to the build: the manifest, the keys, and a pure function that makes the record of one tile.

`Job` is small, is sent to every worker once, and has no state: the same key and piece give the same bytes anywhere. What a tile
needs of a large source is its *piece*, read by the client, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey


class Job(Protocol):
    """The pure function of a tile; it can be pickled."""

    def __call__(self, key: TileKey, piece: Any) -> bytes | None:
        """The record of a tile, or None where there is no ground."""


#: Runs a job over keys and pieces, in any order, and yields records; it takes pieces only as it needs them.
Runner = Callable[[Job, Iterable[tuple[TileKey, Any]]], Iterator[tuple[TileKey, bytes | None]]]


def no_piece(key: TileKey) -> None:
    """Of a source whose job knows all that it needs."""


@dataclass(frozen=True)
class Plan:
    """How to fill a store."""

    manifest: Manifest
    keys: tuple[TileKey, ...]
    """In the order in which they are made: neighbours soon after one another."""
    job: Job
    piece: Callable[[TileKey], Any] = no_piece
    """What the job needs of the source for a tile; called in this process only."""
    samples: int = 0
    """In a whole tile, for the rate; 0 if unknown."""


def grid_keys(across: int, down: int) -> tuple[TileKey, ...]:
    """Keys of a grid of one layer, row by row."""
    return tuple(TileKey(i, j) for j in range(down) for i in range(across))


def here(job: Job, tasks: Iterable[tuple[TileKey, Any]]) -> Iterator[tuple[TileKey, bytes | None]]:
    """The runner of one process: this one."""
    for key, piece in tasks:
        yield key, job(key, piece)
