"""Writing a store: tiles in batches, each committed as a whole, so that a build that is killed goes on from what is there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from thud.errors import ClosedTerrainError, InvalidInputError
from thud.terrain.tiles.environment import environment, named_errors
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey, as_key, record_key
from thud.terrain.tiles.snapshot import MANIFEST_KEY, Snapshot, content_rows, key_bytes
from thud.terrain.tiles.tile import Tile
from thud.terrain.tiles.tolerances import COMMIT_BYTES, COMMIT_SECONDS, MAP_SIZE


class TileWriter:
    """One store, open for writing by one process at a time; others wait. A context manager.

    Tiles are collected and committed when there are enough of them, and when it is closed. `finish` states the content hash.
    A store that is there is gone on with, if its manifest is the same.

    Parameters
    ----------
    path : the folder; made if it is not there
    manifest : what the terrain is
    map_size : bytes that the store may reach; addresses, not memory
    """

    def __init__(self, path: str | os.PathLike[str], manifest: Manifest, *, map_size: int = MAP_SIZE) -> None:
        if not isinstance(manifest, Manifest):
            raise InvalidInputError(f"manifest: expected a Manifest, got {type(manifest).__name__}")
        if isinstance(map_size, bool) or not isinstance(map_size, int) or not 2**20 <= map_size <= 2**46:
            raise InvalidInputError(f"map_size: expected bytes from 2^20 to 2^46, got {map_size!r}")
        self.folder = Path(path)
        self.manifest = manifest.unfinished()
        self._batch: dict[TileKey, bytes] = {}
        self._bytes, self._since = 0, time.monotonic()
        self._environment = environment(self.folder, write=True, map_size=map_size)
        self._process = os.getpid()
        try:
            self._begin()
        except BaseException:
            self._environment.release()
            raise

    def _begin(self) -> None:
        """The manifest is the first thing that is written."""
        with named_errors(self.folder):
            empty = self._environment.handle.stat()["entries"] == 0  # type: ignore[union-attr]
        if empty:
            self.keys: set[TileKey] = set()
            self._commit({MANIFEST_KEY: self.manifest.to_json()})
            return
        snapshot = Snapshot(self._environment)
        there = snapshot.manifest
        self.keys = set(snapshot.places)
        snapshot.close()
        if there.unfinished() != self.manifest:
            raise InvalidInputError(f"path: {self.folder} holds another terrain; its manifest is not the one given")
        self._complete = there.is_complete

    _complete = False

    def __enter__(self) -> TileWriter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _check(self) -> None:
        if self._environment.handle is None or self._process != os.getpid():
            raise ClosedTerrainError(f"{self.folder}: this writer was closed, or opened in another process")

    def put(self, record: bytes) -> None:
        """Add a tile. One of the same key that is there is replaced."""
        self._check()
        found = Tile(record)
        if found.kind != self.manifest.kind:
            raise InvalidInputError(f"tile {tuple(found.key)}: its kind is {found.kind}, the terrain's {self.manifest.kind}")
        if not self.manifest.holds(found.key):
            raise InvalidInputError(f"tile {tuple(found.key)}: outside the manifest's grid of tiles")
        lower, upper = found.bounds
        if not self.manifest.fits(found.key, lower, upper):
            raise InvalidInputError(
                f"tile {tuple(found.key)}: from {lower} to {upper} it reaches beyond its place; state a larger overhang"
            )
        self._batch[found.key] = record
        self._bytes += len(record)
        if self._bytes >= COMMIT_BYTES or time.monotonic() - self._since >= COMMIT_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit what was collected: it is on the disk when this returns."""
        self._check()
        if self._batch:
            values = {key_bytes(key): self._batch[key] for key in sorted(self._batch)}
            if self._complete:
                values[MANIFEST_KEY] = self.manifest.to_json()
            self._commit(values)
            self._complete = False
            self.keys |= set(self._batch)
            self._batch, self._bytes = {}, 0
        self._since = time.monotonic()

    def _commit(self, values: dict[bytes, bytes]) -> None:
        own = self._environment
        with named_errors(self.folder, room=sum(len(value) for value in values.values()) + 2**20):
            own.busy = True
            try:
                with own.handle.begin(write=True) as transaction:  # type: ignore[union-attr]
                    for key, value in values.items():
                        transaction.put(key, value)
            finally:
                own.busy = False

    def finish(self) -> Manifest:
        """Commit the rest and state the content hash of all that is there."""
        self.flush()
        snapshot = Snapshot(self._environment)
        try:
            found = self.manifest.finished(content_rows(snapshot))
        finally:
            snapshot.close()
        if found != snapshot.manifest:
            self._commit({MANIFEST_KEY: found.to_json()})
        self._complete = True
        return found

    def close(self) -> None:
        """Commit the rest, and let others write."""
        if self._environment.handle is not None and self._process == os.getpid():
            try:
                self.flush()
            finally:
                self._environment.release()


def write_tiles(
    path: str | os.PathLike[str],
    manifest: Manifest,
    tiles: Iterable[tuple[Any, bytes | Callable[[], bytes | None]]],
    *,
    map_size: int = MAP_SIZE,
    progress: Callable[[int, TileKey], None] | None = None,
) -> Manifest:
    """Write tiles to a store and finish it; tiles that are there are left as they are, so that a build goes on where it ended.

    Parameters
    ----------
    path : the folder; made if it is not there
    manifest : what the terrain is
    tiles : key, and the record of the tile or a function that makes it, which is called only if the tile is not there yet. A
        function may return None: there is no ground in this tile
    map_size : bytes that the store may reach; addresses, not memory
    progress : called with the number of tiles done and the key of the last one

    Returns
    -------
    The manifest with its content hash
    """
    with TileWriter(path, manifest, map_size=map_size) as writer:
        for done, (key, record) in enumerate(_missing(tiles, writer, progress)):
            if record is not None:
                writer.put(record)
            if progress is not None:
                progress(done + 1, key)
        return writer.finish()


def _missing(tiles: Any, writer: TileWriter, progress: Any) -> Iterator[tuple[TileKey, bytes | None]]:
    """Keys and records; None for what is there, or has no ground."""
    for given, record in tiles:
        key = as_key(given)
        if key in writer.keys:
            yield key, None
            continue
        data = record() if callable(record) else record
        if data is not None and record_key(data) != key:
            raise InvalidInputError(f"tiles: the record given for {tuple(key)} is that of another tile")
        yield key, data
