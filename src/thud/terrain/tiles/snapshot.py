"""A store as it was at one moment: where its records lie in the file, and the transaction that keeps them there.

Records are found by our own reading of LMDB's pages (`lmdb_pages.py`) and read through a map of our own. So nothing of a
hostile file reaches LMDB but its meta pages; finding a tile is a look into a table; and arrays stay mapped as long as somebody
holds one, whatever happened to the terrain. LMDB's transaction enters this process among the readers, so that a writer takes no
page of the snapshot for anything else.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from typing import Any

from thud.errors import DamagedStoreError, FileFormatError, ForeignStoreError, StoreError
from thud.terrain.tiles.environment import Environment, named_errors
from thud.terrain.tiles.lmdb_pages import DATA_FILE, Meta, Place, Read, check_free_pages, file_reader, read_meta, values
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey, record_digest
from thud.terrain.tiles.tolerances import FAULT_AROUND, LEAST_RECORD, PAGE_TRIES

#: Key of the manifest, and the first byte of the keys of tiles; then k, j, i moved to 0 and up, so that LMDB has them in order.
MANIFEST_KEY = b"manifest"
_TILE = b"t"
_KEY = struct.Struct(">III")
_MIDDLE = 2**31


def key_bytes(key: TileKey) -> bytes:
    """The key of a tile in the database."""
    return _TILE + _KEY.pack(key.k + _MIDDLE, key.j + _MIDDLE, key.i + _MIDDLE)


def key_from(data: bytes) -> TileKey:
    """And back."""
    if len(data) != 1 + _KEY.size or data[:1] != _TILE:
        raise ForeignStoreError(f"it has a key that no store of tiles has: {data[:40]!r}")
    k, j, i = _KEY.unpack_from(data, 1)
    return TileKey(i - _MIDDLE, j - _MIDDLE, k - _MIDDLE)


class Snapshot:
    """One moment of a store. Closed, it answers no more; what was read of it stays mapped."""

    def __init__(self, environment: Environment) -> None:
        self.closed = False
        self.process = os.getpid()
        self._transaction: Any = None
        environment.snapshots.add(self)
        try:
            self._take(environment)
        except BaseException:
            self.close()
            raise

    def _take(self, environment: Environment) -> None:
        path = environment.folder / DATA_FILE
        for _ in range(PAGE_TRIES):
            with named_errors(environment.folder):
                self._transaction = environment.handle.begin(buffers=True)  # type: ignore[union-attr]
            self.transaction = int(self._transaction.id())
            # Found by reading: each record that is touched in the map brings 64 KiB into memory, of large stores gigabytes.
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                read = file_reader(file)
                try:
                    meta = read_meta(read, len(self._map), transaction=self.transaction)
                    if meta is not None:
                        if environment.can_write:
                            check_free_pages(read, meta)
                        self._list(read, meta)
                        return
                except FileFormatError as error:
                    raise type(error)(f"{path}: {error}") from None
            # Two commits since then have overwritten its meta page: a newer one.
            self._end()
        raise StoreError(f"{path}: a writer commits faster than it can be read")

    def _list(self, read: Read, meta: Meta) -> None:
        """Find manifest and tiles."""
        self.places: dict[TileKey, Place] = {}
        manifest = None
        for key, place in values(read, meta):
            if key == MANIFEST_KEY:
                manifest = place
            else:
                self.places[key_from(key)] = place
        if manifest is None:
            raise ForeignStoreError("no store of tiles: it has no manifest")
        self.manifest = Manifest.from_json(read(*manifest))
        self.page_size = meta.page_size
        self.bytes_used = (meta.last_page + 1) * meta.page_size

    def record(self, place: Place) -> memoryview:
        """The bytes of a value, in the file's own memory."""
        return memoryview(self._map)[place.offset : place.offset + place.size]

    def give_back(self, place: Place) -> None:
        """Give the pages of a value back to the system; who still reads them finds them again in the file."""
        # Reading a page brings its neighbours along, also those of the records beside it.
        self._advise(max(place.offset - FAULT_AROUND, 0), place.offset + place.size + FAULT_AROUND)

    def trim(self, place: Place) -> None:
        """Give back what reading a value has brought along of its neighbours."""
        page = mmap.PAGESIZE
        start, end = place.offset // page * page, -(-(place.offset + place.size) // page) * page
        self._advise(max(start - FAULT_AROUND, 0), start)
        self._advise(end, end + FAULT_AROUND)

    def _advise(self, start: int, end: int) -> None:
        page = mmap.PAGESIZE
        start, end = start // page * page, min(-(-end // page) * page, len(self._map))
        if end > start and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED, start, end - start)

    def _end(self) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is not None and self.process == os.getpid():
            transaction.abort()

    def close(self) -> None:
        """Give the pages free."""
        self.closed = True
        self._end()

    def forget(self) -> None:
        """In a child of the process that took it: end without a word to LMDB."""
        self.closed = True
        self._transaction = None

    def __del__(self) -> None:
        if getattr(self, "_transaction", None) is not None:
            self._end()


def content_rows(snapshot: Snapshot) -> Iterator[tuple[bytes, int, bytes]]:
    """What the content hash is made of: key, size and digest of each record, in the order of the keys."""
    for key, place in sorted((key_bytes(key), place) for key, place in snapshot.places.items()):
        if place.size < LEAST_RECORD:
            raise DamagedStoreError(f"tile {tuple(key_from(key))}: {place.size} bytes that are no tile")
        digest = record_digest(snapshot.record(place))
        # Of all records together what was touched would be gigabytes.
        snapshot.give_back(place)
        yield key, place.size, digest
