"""The folder of compiled kernels: private, shared by all of a user's checkouts and processes, bounded.

Entries are pickles, so loading one is running it. Only a folder that the user owns and nobody else can write to is read or
written; any other is passed over for a fresh private one. An entry is written aside and renamed, so that a reader sees all
of it or nothing, and carries a hash, so that a damaged one is noticed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import secrets
import stat
import sys
import tempfile
import time
from pathlib import Path

from thud.errors import InvalidInputError

#: First bytes of an entry; then 32 bytes of SHA-256, then the content.
_MAGIC = b"thud kernel 1\n"

#: Bytes that all entries together may take, unless THUD_CACHE_SIZE says otherwise.
DEFAULT_LIMIT = 10**9

#: Seconds after which a use of an entry is noted again: reading should rarely write.
_NOTE_AGAIN = 3600.0

#: Seconds after which a file written aside belongs to a process that was killed.
_ABANDONED = 3600.0

#: Of the limit this much is left after the oldest entries went, so that not every store has to look again.
_AFTER_PRUNING = 0.9

#: A limit beyond this is a slip of the keyboard.
_LARGEST_LIMIT = 1e18

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def size_limit() -> int:
    """Bytes that the entries may take: THUD_CACHE_SIZE (`500MB`, `2 GiB`, a number of bytes), else 1 GB."""
    text = os.environ.get("THUD_CACHE_SIZE")
    if not text:
        return DEFAULT_LIMIT
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS:
        raise InvalidInputError(f"THUD_CACHE_SIZE: expected a size such as 500MB or 2GiB, got {text!r}")
    size = float(match[1]) * _UNITS[match[2]]
    if size > _LARGEST_LIMIT:
        raise InvalidInputError(f"THUD_CACHE_SIZE: expected at most {_LARGEST_LIMIT:.0e} bytes, got {text[:40]!r}")
    return int(size)


def wanted_folder() -> Path:
    """Where entries should be: THUD_CACHE_DIR, else `thud` in the user's cache folder; then `kernels` in it."""
    chosen = os.environ.get("THUD_CACHE_DIR")
    if chosen:
        return Path(chosen) / "kernels"
    try:
        home = Path.home()
    except RuntimeError:
        # No home at all: a name that cannot be made, so that a private folder is taken.
        home = Path(os.devnull)
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "thud" / "kernels"


def untrusted(status: os.stat_result) -> str | None:
    """Why something is not the user's alone; None if it is."""
    if stat.S_ISLNK(status.st_mode):
        return "is a link"
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return "belongs to another user"
    if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return None


class Store:
    """Named entries in one folder. Nothing raises for the sake of a disk: an entry that cannot be kept is made again."""

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT, private: bool = False) -> None:
        self.folder = folder
        self.limit = limit
        #: Whether it is this process's alone.
        self.private = private
        self._total: int | None = None

    def load(self, name: str) -> bytes | None:
        """Content of an entry; None if there is none, or it is damaged (which is said, and the entry removed)."""
        path = self.folder / name
        try:
            # Not through a link, and not somebody else's file.
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            return None
        status = os.fstat(descriptor)
        if untrusted(status) is not None or not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            return None
        try:
            with open(descriptor, "rb") as file:
                data = file.read()
        except OSError:
            return None
        content = data[len(_MAGIC) + 32 :]
        if not data.startswith(_MAGIC) or hashlib.sha256(content).digest() != data[len(_MAGIC) : len(_MAGIC) + 32]:
            self.discard(name)
            return None
        if time.time() - status.st_mtime > _NOTE_AGAIN:
            with contextlib.suppress(OSError):
                os.utime(path)
        return content

    def discard(self, name: str) -> None:
        """Remove a damaged entry, and say so."""
        say(f"thud: {name} in the kernel cache is damaged and is made again")
        with contextlib.suppress(OSError):
            os.unlink(self.folder / name)

    def save(self, name: str, content: bytes) -> bool:
        """Keep an entry; whether it could be kept."""
        aside = self.folder / f".{name}.{secrets.token_hex(8)}.tmp"
        data = b"".join((_MAGIC, hashlib.sha256(content).digest(), content))
        try:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(aside, self.folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            return False
        self._bound(len(data))
        return True

    def size_of(self, name: str) -> int | None:
        """Bytes of an entry; None if there is none."""
        try:
            return os.lstat(self.folder / name).st_size
        except OSError:
            return None

    def names(self) -> list[str]:
        """Names of all entries, sorted."""
        try:
            return sorted(name for name in os.listdir(self.folder) if not name.startswith("."))
        except OSError:
            return []

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(size for _, size, _ in self._entries())

    def _entries(self) -> list[tuple[float, int, str]]:
        """(last use, bytes, name) of each entry; files that a killed process left are removed."""
        found, now = [], time.time()
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                with contextlib.suppress(OSError):
                    status = file.stat(follow_symlinks=False)
                    if not file.name.startswith("."):
                        found.append((status.st_mtime, status.st_size, file.name))
                    elif now - status.st_mtime > _ABANDONED:
                        os.unlink(file.path)
        return found

    def _bound(self, added: int) -> None:
        """Let the entries that were not used for longest go, once all take more than the limit.

        What other processes add meanwhile is seen when this one looks again.
        """
        self._total = self.size() if self._total is None else self._total + added
        if self._total <= self.limit:
            return
        entries = sorted(self._entries())
        self._total = sum(size for _, size, _ in entries)
        for _, size, name in entries:
            if self._total <= _AFTER_PRUNING * self.limit:
                break
            with contextlib.suppress(OSError):
                os.unlink(self.folder / name)
                self._total -= size


@functools.cache
def user_store() -> Store:
    """The user's store, found and checked once a process."""
    folder = wanted_folder()
    limit = size_limit()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = os.lstat(folder)
        why = untrusted(status) or (None if stat.S_ISDIR(status.st_mode) else "is not a folder")
    except OSError as error:
        why = f"cannot be made ({error.strerror})"
    if why is None:
        return Store(folder, limit)
    # Fresh, with a name nobody could guess and rights for this user alone; it goes with the process.
    private = _private_folder()
    say(f"thud: kernels are kept for this process only: {folder} {why}")
    return Store(private, limit, private=True)


def _private_folder() -> Path:
    import atexit
    import shutil

    try:
        folder = Path(tempfile.mkdtemp(prefix="thud-"))
    except OSError:
        # No place to write at all: every save fails, and nothing is found.
        return Path(os.devnull) / "kernels"
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def say(text: str) -> None:
    """One line for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)
