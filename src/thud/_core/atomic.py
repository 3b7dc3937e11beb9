"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replaced_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty file beside `path`, by name, that takes its place when the block ends, and never if it fails.

    What the block wrote to it is brought to the disk and renamed: whoever reads `path`, or finds it after a crash, sees the
    old file or the new one. A process that is killed may leave the other one behind, `.<name>.<random>.tmp`.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {str(target.parent)!r}; make it first", os.fspath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    # Not `tempfile`: the file should have the rights that the user's umask gives.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    # The new name itself, where folders can be opened.
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when the block ends, and never if it fails: see `replaced_path`."""
    with replaced_path(path) as temporary, temporary.open("wb") as file:
        yield file
