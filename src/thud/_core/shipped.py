"""Kernels inside the installed package: machine code for a few levels of processors, made when the wheel was built.

They are trusted as the package's code is: the folder lies in the package, and every kernel is checked against the digests of
its index. One is used only if it is what would be compiled here: the same versions and switches, the same sources, and a
level that this processor has. Otherwise, and in a checkout, kernels are compiled and kept in the user's store.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from thud._core import kernel_key, target

#: The folder in the package, its index, and the ending of a level's file of kernels.
FOLDER = Path(__file__).parents[1] / "_kernels"
INDEX, PACK = "index.json", ".pack"

#: Changes whenever the index or what it points to means something else.
FORMAT = 2


class Kernels(NamedTuple):
    """The kernels of the level that is used."""

    level: str
    pack: Path
    rows: dict[str, tuple[int, int, str, str]]
    """By module and qualified name: place, bytes, digest, argument types."""


@functools.cache
def kernels() -> Kernels | None:
    """What came with the package and can be used here; None if nothing."""
    try:
        index = json.loads((FOLDER / INDEX).read_bytes())
        if index["format"] != FORMAT or index["environment"] != kernel_key.environment_text():
            return None
        wanted = _wanted_levels(index["levels"])
        if not wanted or index["sources"] != source_digest():
            return None
        pack = FOLDER / (wanted[-1] + PACK)
        size, rows = pack.stat().st_size, {}
        for name, (place, length, digest, types) in index["levels"][wanted[-1]].items():
            if not (isinstance(place, int) and isinstance(length, int) and 0 <= place <= place + length <= size):
                return None
            rows[name] = (place, length, str(digest), str(types))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None
    return Kernels(wanted[-1], pack, rows)


def source_digest() -> str:
    """Hash of all Python files of the package: an edited one may hold a constant of any kernel."""
    digest, package = hashlib.sha256(), FOLDER.parent
    for folder, _, files in sorted(os.walk(package)):
        for name in sorted(files):
            if name.endswith(".py"):
                path = Path(folder, name)
                digest.update(f"{path.relative_to(package).as_posix()}\n".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _wanted_levels(present: Iterable[str]) -> list[str]:
    """Levels of those present that may be used, the best one last."""
    pinned, chosen = target.pinned_level(), os.environ.get("THUD_TARGET")
    if pinned is None and (chosen or os.environ.get("NUMBA_CPU_NAME") or os.environ.get("NUMBA_CPU_FEATURES")):
        # Somebody asked for code of this processor, or of one that Numba was told.
        return []
    allowed = [pinned] if pinned is not None else [level for level in target.LEVELS if target.fits_host(level)]
    return [level.name for level in allowed if level.name in set(present)]


def find(function: FunctionType, arguments: Iterable[Any]) -> bytes | None:
    """What is stored of an entry or inner kernel; None if it did not come with the package, or is not what it was."""
    found = kernels()
    row = None if found is None else found.rows.get(f"{function.__module__}.{function.__qualname__}")
    if found is None or row is None:
        return None
    place, size, digest, types = row
    try:
        if types != kernel_key.arguments_text(arguments):
            return None
    except kernel_key.Unknown:
        return None
    try:
        with found.pack.open("rb") as file:
            file.seek(place)
            content = file.read(size)
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == digest else None
