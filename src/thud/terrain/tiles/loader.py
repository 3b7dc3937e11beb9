"""The tiles that are ready: read from the store when they are asked for or before, within a budget of memory.

What counts is what a tile keeps resident: the pages of its record, and meshes that were made of it. Stitched windows count too.
When there is more than the budget, what was used longest ago goes, and its pages are given back to the system.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from thud.errors import DamagedStoreError, FileFormatError, MissingTileError
from thud.terrain.tiles.ground_tile import GroundTile
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.snapshot import Snapshot
from thud.terrain.tiles.tile import Tile
from thud.terrain.tiles.tolerances import LOADING_THREADS, MOST_AHEAD


class _Kept(Protocol):
    @property
    def nbytes(self) -> int: ...


_Made = TypeVar("_Made", bound=_Kept)


@dataclass(slots=True)
class StreamStats:
    """What the loader of a terrain did so far."""

    hits: int = 0
    """Tiles that were ready when they were asked for."""
    misses: int = 0
    """Tiles that were not: read at once, by whoever asked."""
    stalls: int = 0
    """Times that a query waited: all misses, and tiles that were just being read ahead."""
    prefetched: int = 0
    """Tiles read ahead."""
    dropped: int = 0
    """Tiles and windows that went because of the budget."""
    windows: int = 0
    """Windows stitched from several tiles."""
    bytes: int = 0
    """Kept ready now: pages of tiles, meshes and windows."""
    most_bytes: int = 0
    """The most so far."""


class Loader:
    """Tiles and windows of one snapshot of a store."""

    def __init__(self, snapshot: Snapshot, folder: Path, budget: int) -> None:
        self.snapshot, self.folder, self.budget = snapshot, folder, budget
        self.stats = StreamStats()
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._loading: dict[TileKey, threading.Event] = {}
        self._checked: set[TileKey] = set()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False
        self._reserved = 0

    # Tiles ---------------------------------------------------------------------------------------------------------------

    def ground(self, key: TileKey) -> GroundTile:
        """A tile; read now if it is not ready."""
        waited = False
        while True:
            with self._lock:
                found = self._kept.get(key)
                if found is not None:
                    self._kept.move_to_end(key)
                    if not waited:
                        self.stats.hits += 1
                    return found[0]
                event = self._loading.get(key)
                if event is None:
                    self._loading[key] = threading.Event()
                    self.stats.misses += 1
                    self.stats.stalls += not waited
                    break
                self.stats.stalls += not waited
            waited = True
            event.wait()
        return self._load(key)

    def _load(self, key: TileKey) -> GroundTile:
        """Read a tile that this thread has said to be loading."""
        try:
            place = self.snapshot.places.get(key)
            if place is None:
                raise MissingTileError(f"{self.folder}: no tile {tuple(key)}")
            with self._lock:
                # Room is made before: what is being read counts.
                self._reserved += place.size
                self._make_room()
            try:
                tile = Tile(self.snapshot.record(place), key=key, owner=self.snapshot, checksum=key not in self._checked)
            except FileFormatError as error:
                raise type(error)(f"{self.folder}: {error}") from None
            if tile.kind != self.snapshot.manifest.kind:
                raise DamagedStoreError(
                    f"{self.folder}: tile {tuple(key)} is of kind {tile.kind}; the terrain's is {self.snapshot.manifest.kind}"
                )
            ground = GroundTile(tile, place.size)
            self.snapshot.trim(place)
            with self._lock:
                self._checked.add(key)
                self._reserved -= place.size
                place = None
                self._keep(key, ground)
            return ground
        finally:
            if place is not None:
                with self._lock:
                    self._reserved -= place.size
            self._done(key)

    def _done(self, key: TileKey) -> None:
        """Wake those that wait for a tile."""
        with self._lock:
            event = self._loading.pop(key, None)
        if event is not None:
            event.set()

    def _keep(self, key: Hashable, value: _Kept) -> None:
        """Keep something ready; what was used longest ago goes. The lock is held."""
        if self._closed:
            return
        before = self._kept.pop(key, None)
        size = value.nbytes
        self._kept[key] = (value, size)
        self.stats.bytes += size - (0 if before is None else before[1])
        # Whoever asked holds what was just made; the budget counts what is kept.
        self._make_room()
        self.stats.most_bytes = max(self.stats.most_bytes, self.stats.bytes)

    def _make_room(self) -> None:
        """Until what is kept and what is being read fit the budget. The lock is held."""
        while self.stats.bytes + self._reserved > self.budget and self._kept:
            old, (gone, freed) = self._kept.popitem(last=False)
            self.stats.bytes -= freed
            self.stats.dropped += 1
            if isinstance(gone, GroundTile):
                self.snapshot.give_back(self.snapshot.places[old])  # type: ignore[index]

    def grown(self, key: TileKey) -> None:
        """Something was made of a tile: count it."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None and found[0].nbytes != found[1]:
                self._keep(key, found[0])

    def window(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Something stitched from tiles, made if it is not ready."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found[0]
        made = make()
        with self._lock:
            self.stats.windows += 1
            self._keep(key, made)
        return made

    def is_ready(self, key: TileKey) -> bool:
        """Whether a tile is there, or about to be."""
        return key in self._kept or key in self._loading

    # Ahead ---------------------------------------------------------------------------------------------------------------

    def later(self, work: Callable[[], None]) -> None:
        """Do something in the threads that read ahead; what fails there is found again by whoever asks."""
        with self._lock:
            if self._closed:
                return
            pool = self._threads()
        with contextlib.suppress(RuntimeError):
            pool.submit(work)

    def _threads(self) -> ThreadPoolExecutor:
        """The lock is held."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(LOADING_THREADS, thread_name_prefix="thud-tiles")
        return self._pool

    def prefetch(self, keys: Iterable[TileKey]) -> None:
        """Read tiles that may soon be needed, in threads, the first of them first; those that are ready are marked as used."""
        wanted = []
        with self._lock:
            if self._closed:
                return
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                elif key not in self._loading and key in self.snapshot.places and len(self._loading) < MOST_AHEAD:
                    self._loading[key] = threading.Event()
                    wanted.append(key)
            pool = self._threads()
        for key in wanted:
            try:
                pool.submit(self._ahead, key)
            except RuntimeError:
                # Closed meanwhile.
                self._done(key)

    def _ahead(self, key: TileKey) -> None:
        if self._closed:
            self._done(key)
            return
        # Whatever is wrong with a tile is said to whoever asks for it.
        try:
            self._load(key)
        except Exception:
            return
        with self._lock:
            self.stats.prefetched += 1

    def close(self) -> None:
        """End; what is being read is waited for."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            self._kept.clear()
            self.stats.bytes = 0
            for event in self._loading.values():
                event.set()
            self._loading.clear()
