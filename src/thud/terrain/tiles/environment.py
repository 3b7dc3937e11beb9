"""The LMDB environments of this process: one a store, shared by all that use it, and left behind at a fork.

LMDB forbids a process to open a store twice, and to use across a fork what was opened before it. So environments are counted
here, and a child starts without any. What it inherits is dropped without a call that would reach the parent's locks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thud.errors import (
    DamagedStoreError,
    DiskFullError,
    ForeignStoreError,
    MapFullError,
    MissingExtraError,
    StoreError,
    StoreInUseError,
)
from thud.terrain.tiles.lmdb_pages import DATA_FILE, check_file
from thud.terrain.tiles.tolerances import MAP_SIZE, MOST_READERS

if TYPE_CHECKING:
    import lmdb

#: What the system says when there is no room.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_lock = threading.RLock()

#: Open environments by the identity of their data file.
_open: dict[tuple[int, int], Environment] = {}


def lmdb_package() -> Any:
    """The package, or a named error that says how to get it."""
    try:
        import lmdb
    except ImportError:
        raise MissingExtraError.for_package("lmdb", "terrain") from None
    return lmdb


class Environment:
    """One store, open in this process. Use `environment` to get one, and `release` when done."""

    def __init__(self, folder: Path, *, write: bool, map_size: int) -> None:
        self.folder = folder
        self.can_write = write
        self.uses = 0
        #: A write transaction is open: a fork leaves the environment as it is.
        self.busy = False
        #: Whether readers are entered in the lock file, so that a writer spares what they read.
        self.locked = True
        #: Snapshots that hold a transaction.
        self.snapshots: weakref.WeakSet[Any] = weakref.WeakSet()
        self.handle: lmdb.Environment | None = self._opened(map_size)

    def _opened(self, map_size: int) -> Any:
        lmdb = lmdb_package()
        options = {
            "map_size": map_size if self.can_write else 0,
            "readonly": not self.can_write,
            "create": self.can_write,
            "readahead": False,
            "max_readers": MOST_READERS,
            # A transaction kept for later would be the parent's in a child.
            "max_spare_txns": 0,
            "mode": 0o666,
        }
        path = os.fspath(self.folder)
        try:
            with named_errors(self.folder):
                handle = lmdb.open(path, **options)
        except PermissionError:
            # The lock file cannot be written. LMDB itself goes on without one on a read-only disk.
            if self.can_write:
                raise
            with named_errors(self.folder):
                handle = lmdb.open(path, lock=False, **options)
            self.locked = False
        if self.locked:
            # Rows of processes that were killed would keep what they read for ever.
            with contextlib.suppress(lmdb.Error):
                handle.reader_check()
        return handle

    def release(self) -> None:
        """One use less; the last one closes it."""
        with _lock:
            self.uses -= 1
            if self.uses <= 0 and self.handle is not None:
                for key in [key for key, value in _open.items() if value is self]:
                    del _open[key]
                handle, self.handle = self.handle, None
                handle.close()

    def forget(self) -> None:
        """In a child: drop transactions, which does not touch the parent's rows, and close what is this process's own."""
        for snapshot in list(self.snapshots):
            snapshot.forget()
        handle, self.handle = self.handle, None
        if handle is not None and not self.busy:
            handle.close()


def environment(folder: Path, *, write: bool = False, map_size: int = MAP_SIZE) -> Environment:
    """The environment of a store, opened if it is not; its file is checked first."""
    with _lock:
        data = folder / DATA_FILE
        new = write and (not data.exists() or data.stat().st_size == 0)
        if not new:
            check_file(folder)
        key = None if new else _identity(data)
        found = None if key is None else _open.get(key)
        if found is None:
            if new:
                if folder.exists() and not folder.is_dir():
                    raise ForeignStoreError(f"{folder}: it is a file; expected a folder, or a name that is free")
                folder.mkdir(parents=True, exist_ok=True)
            found = Environment(folder, write=write, map_size=map_size)
            _open[_identity(data)] = found
        elif write:
            how = "writing" if found.can_write else "reading"
            raise StoreInUseError(f"{folder}: this process has it open for {how}; close it, or write in another process")
        found.uses += 1
        return found


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def named_errors(folder: Path, *, room: int = 0) -> Iterator[None]:
    """LMDB's errors by our names. `room`: bytes that were to be written, to tell a full disk from a broken one."""
    lmdb = lmdb_package()
    try:
        yield
    except lmdb.MapFullError:
        raise MapFullError(f"{folder}: the store has reached its map size; give a larger `map_size`") from None
    except (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.InvalidError) as error:
        raise DamagedStoreError(f"{folder}: {error}") from None
    except lmdb.VersionMismatchError as error:
        raise ForeignStoreError(f"{folder}: {error}") from None
    except (lmdb.DiskError, lmdb.MemoryError, lmdb.Error, OSError) as error:
        if isinstance(error, (StoreError, FileNotFoundError)):
            raise
        text = str(error)
        if _is_full(folder, room) or any(os.strerror(code) in text for code in _NO_ROOM):
            raise DiskFullError(f"{folder}: no room left on the disk ({text})") from None
        if os.strerror(errno.EACCES) in text or os.strerror(errno.EPERM) in text:
            raise PermissionError(errno.EACCES, text) from None
        if "already open in this process" in text:
            raise StoreInUseError(f"{folder}: this process has it open outside of thud, or from before a fork") from None
        raise StoreError(f"{folder}: {text}") from None


def _is_full(folder: Path, room: int) -> bool:
    """Whether the disk does not take so many bytes more: LMDB reports that as any other failed write."""
    if room == 0 or not hasattr(os, "posix_fallocate"):
        return False
    probe = folder / f".room.{os.getpid()}"
    try:
        descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        return error.errno in _NO_ROOM
    try:
        os.posix_fallocate(descriptor, 0, os.stat(folder / DATA_FILE).st_size + room)
    except OSError as error:
        return error.errno in _NO_ROOM
    finally:
        os.close(descriptor)
        os.unlink(probe)
    return False


def _after_fork() -> None:
    """In a child: nothing is open here."""
    global _lock
    _lock = threading.RLock()
    inherited = list(_open.values())
    _open.clear()
    for one in inherited:
        one.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
