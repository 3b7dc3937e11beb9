"""Archives that need not be trusted: entries counted, sizes and ratios looked at, unpacked bytes counted."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from typing import IO

from thud.errors import SceneFileError, SceneLimitError, SceneReferenceError
from thud.io.scene.limits import SceneLimits

#: Members below this may be packed as tightly as they like (bytes).
_SMALL = 2**20


def opened(path: str, limits: SceneLimits, what: str) -> zipfile.ZipFile:
    """An archive whose directory promises nothing beyond the limits."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise SceneFileError(f"{what}: not a whole ZIP archive ({error})") from None
    entries = archive.infolist()
    if len(entries) > limits.archive_entries:
        raise SceneLimitError(f"{what}: {len(entries)} members; more than limits.archive_entries = {limits.archive_entries}")
    total = sum(entry.file_size for entry in entries)
    if total > limits.archive_bytes:
        raise SceneLimitError(f"{what}: {total} bytes unpacked; more than limits.archive_bytes = {limits.archive_bytes}")
    names, places = set(), set()
    for entry in entries:
        name = entry.filename
        if name.startswith("/") or "\\" in name or ".." in name.split("/") or "\0" in name:
            raise SceneReferenceError(f"{what}: the member {name[:100]!r} lies outside the archive")
        if entry.flag_bits & 1:
            raise SceneFileError(f"{what}: the member {name[:100]!r} is encrypted")
        if entry.file_size > _SMALL and entry.file_size > limits.archive_ratio * max(entry.compress_size, 1):
            raise SceneLimitError(
                f"{what}: the member {name[:100]!r} is {entry.file_size / max(entry.compress_size, 1):.0f} times larger "
                f"unpacked; more than limits.archive_ratio = {limits.archive_ratio:g}"
            )
        # Members that share their bytes make much of little.
        if name in names or entry.header_offset in places:
            raise SceneFileError(f"{what}: the member {name[:100]!r} is there twice")
        names.add(name)
        places.add(entry.header_offset)
    return archive


def member(archive: zipfile.ZipFile, name: str, what: str) -> IO[bytes]:
    """A member as a stream; it is unpacked here, up to the size that it states."""
    wanted = posixpath.normpath(name.lstrip("/"))
    entry = next((e for e in archive.infolist() if e.filename.lower() == wanted.lower()), None)
    if entry is None:
        raise SceneReferenceError(f"{what}: the archive has no member {wanted[:100]!r}")
    try:
        with archive.open(entry) as file:
            data = file.read(entry.file_size + 1)
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, NotImplementedError, ValueError, zlib.error) as error:
        raise SceneFileError(f"{what}: the member {wanted[:100]!r} cannot be unpacked ({error})") from None
    if len(data) != entry.file_size:
        raise SceneFileError(f"{what}: the member {wanted[:100]!r} is not as long as it states")
    return io.BytesIO(data)
