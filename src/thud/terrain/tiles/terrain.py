"""`thud.Terrain`: a store of tiles, open for reading."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy.typing as npt

from thud._core.arrays import MOST, Floats
from thud.errors import ClosedTerrainError, DamagedStoreError, FileFormatError, InvalidInputError, MissingTileError
from thud.gates import as_flag, as_points
from thud.terrain.tiles.environment import environment
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import TileKey, as_key
from thud.terrain.tiles.slide import Slides, slide
from thud.terrain.tiles.snapshot import Snapshot
from thud.terrain.tiles.tile import Tile
from thud.terrain.tiles.verify import Verified, verify


class Terrain:
    """A terrain larger than memory, read from its store. Open it by `Terrain.open`; a context manager.

    It shows the store as it was when it was opened; `refresh` takes what was written since. Any number of threads may use one,
    and any number of processes may open the same store, also while one writes it. In a child process after a fork it opens the
    store anew by itself.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        self.folder = folder
        self.memory = memory
        self._lock = threading.RLock()
        self._planes: Floats | None = None
        self._start()
        self._closed = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, memory: int = 512 * 2**20, trusted: bool = True) -> Terrain:
        """Open a store.

        Parameters
        ----------
        path : its folder
        memory : bytes of tiles that are kept ready
        trusted : False for a store of unknown origin: all of it is verified first, in a process of its own
        """
        if isinstance(memory, bool) or not isinstance(memory, int) or memory < 0:
            raise InvalidInputError(f"memory: expected a number of bytes, got {memory!r}")
        folder = Path(path)
        if not as_flag(trusted, "trusted"):
            verify(folder)
        return cls(folder, memory)

    def _start(self) -> None:
        self._process = os.getpid()
        self._environment = environment(self.folder)
        try:
            self._snapshot = Snapshot(self._environment)
            self._snapshots = weakref.WeakSet([self._snapshot])
        except BaseException:
            self._environment.release()
            raise
        self._tiles: OrderedDict[TileKey, tuple[Tile, int]] = OrderedDict()
        self._tile_bytes = 0

    def _now(self) -> Snapshot:
        """The snapshot, of this process."""
        if self._closed:
            raise ClosedTerrainError(f"{self.folder}: this terrain was closed")
        if self._process != os.getpid():
            # A lock that another thread of the parent held would never be free here.
            self._lock = threading.RLock()
            self._start()
        return self._snapshot

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()

    def __reduce__(self) -> Any:
        """Another process opens the store itself."""
        return Terrain._reopened, (self.folder, self.memory)

    @classmethod
    def _reopened(cls, folder: Path, memory: int) -> Terrain:
        return cls.open(folder, memory=memory)

    def __enter__(self) -> Terrain:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return f"Terrain({os.fspath(self.folder)!r}, closed)"
        snapshot = self._now()
        return f"Terrain({os.fspath(self.folder)!r}, {len(snapshot.places)} tiles of {snapshot.manifest.kind})"

    def __len__(self) -> int:
        return len(self._now().places)

    def __contains__(self, key: Any) -> bool:
        return as_key(key) in self._now().places

    @property
    def manifest(self) -> Manifest:
        """What the terrain is."""
        return self._now().manifest

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def nbytes(self) -> int:
        """Bytes of the store's file that are in use."""
        return self._now().bytes_used

    def keys(self) -> list[TileKey]:
        """Keys of all tiles, in the order of the store: by k, then j, then i."""
        return list(self._now().places)

    def tile(self, key: Any) -> Tile:
        """A tile, checked, as views of the store's own memory; they end with the terrain's close.

        Parameters
        ----------
        key : (i, j) or (i, j, k)
        """
        where = as_key(key)
        with self._lock:
            snapshot = self._now()
            found = self._tiles.get(where)
            if found is not None:
                self._tiles.move_to_end(where)
                return found[0]
            place = snapshot.places.get(where)
            if place is None:
                raise MissingTileError(f"{self.folder}: no tile {tuple(where)}")
            try:
                tile = Tile(snapshot.record(place), key=where, owner=snapshot)
            except FileFormatError as error:
                raise type(error)(f"{self.folder}: {error}") from None
            if tile.kind != snapshot.manifest.kind:
                raise DamagedStoreError(
                    f"{self.folder}: tile {tuple(where)} is of kind {tile.kind}; the terrain's is {snapshot.manifest.kind}"
                )
            self._keep(where, tile, place.size)
            return tile

    def _keep(self, key: TileKey, tile: Tile, size: int) -> None:
        """Keep a tile ready; those used longest ago go."""
        self._tiles[key] = (tile, size)
        self._tile_bytes += size
        while self._tile_bytes > self.memory and self._tiles:
            _, (_, freed) = self._tiles.popitem(last=False)
            self._tile_bytes -= freed

    def tiles_near(self, lower: Floats, upper: Floats) -> list[Tile]:
        """The tiles that may reach into a box, in the order of the store."""
        snapshot = self._now()
        return [self.tile(key) for key in snapshot.manifest.keys_near(lower, upper) if key in snapshot.places]

    def look(self, planes: npt.ArrayLike | None) -> None:
        """What is in sight.

        Parameters
        ----------
        planes : (P, 4) [A B C D], normals into the frustum, as `thud.geometry.sphere_frustum` takes them; None for all
        """
        self._planes = None if planes is None else as_points(planes, "planes", width=4, limit=MOST)

    def slide(
        self, position: npt.ArrayLike, motion: npt.ArrayLike, radius: float, *, method: str = "slide", near: float | None = None
    ) -> Slides:
        """Move cameras, spheres of a radius, through the terrain: where one meets it, it slides along it.

        Parameters
        ----------
        position : (3,) or (N, 3) where they are, metres
        motion : (3,) or (N, 3) where they want to go from there
        radius : metres
        method : "slide": no camera that was outside ever comes nearer to the terrain than its radius. "euve": the one pass of
            the paper, faces only, trees in the frustum of `look` only, which lets cameras through
        near : distance of the near plane, if that is to be checked: the radius must be larger, or the picture cuts the ground

        Returns
        -------
        Slides of N rows
        """
        return slide(self, position, motion, radius, method=method, near=near, planes=self._planes)

    def refresh(self) -> bool:
        """Take what was written since; returns whether there was something. Tiles taken before stay as they are."""
        with self._lock:
            before = self._now()
            after = Snapshot(self._environment)
            if after.transaction == before.transaction:
                after.close()
                return False
            self._snapshot = after
            self._snapshots.add(after)
            self._tiles.clear()
            self._tile_bytes = 0
            return True

    def verify(self) -> Verified:
        """Walk everything in a process of its own: named error for whatever is wrong."""
        self._now()
        return verify(self.folder)

    def close(self) -> None:
        """End. Its tiles answer no more; arrays taken of them stay mapped, but a writer may change what they show."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._process == os.getpid():
                self._tiles.clear()
                for snapshot in list(self._snapshots):
                    snapshot.close()
                self._environment.release()
