"""Paths that a file names: inside its folder, or refused."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from thud.errors import SceneLimitError, SceneReferenceError
from thud.io.scene.limits import SceneLimits

_ADDRESS = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]+:")


class References:
    """Resolves what a file refers to, and counts number and bytes of it."""

    def __init__(self, path: str, root: str, limits: SceneLimits) -> None:
        self.root = os.path.realpath(root)
        self.base = os.path.dirname(os.path.realpath(path))
        self.limits = limits
        self._bytes = 0
        self._seen: set[str] = set()

    def inside(self, name: str, where: str, *, base: str | None = None, quoted: bool = False) -> str:
        """The real path of what `name` means, relative to `base` (the file's folder).

        quoted : it is a URI, so that %20 is a blank
        """
        shown = name if len(name) < 100 else name[:100] + "..."
        if _ADDRESS.match(name) or name.startswith(("//", "\\\\")):
            raise SceneReferenceError(f"{where}: refers to {shown!r}; expected a file in its folder (nothing is fetched)")
        name = unquote(name) if quoted else name
        if "\0" in name or not name.strip():
            raise SceneReferenceError(f"{where}: refers to {shown!r}, which is no file name")
        full = os.path.realpath(os.path.join(base or self.base, name.replace("\\", "/")))
        if full != self.root and not full.startswith(self.root.rstrip(os.sep) + os.sep):
            raise SceneReferenceError(f"{where}: refers to {shown!r}, outside the folder {self.root}; root= allows a wider one")
        if not os.path.isfile(full):
            raise SceneReferenceError(f"{where}: refers to {shown!r}, which is not there")
        if full not in self._seen:
            self._seen.add(full)
            self._bytes += os.path.getsize(full)
        if len(self._seen) > self.limits.references:
            raise SceneLimitError(f"{where}: more than limits.references = {self.limits.references} other files")
        if self._bytes > self.limits.file_bytes:
            raise SceneLimitError(f"{where}: more than limits.file_bytes = {self.limits.file_bytes} bytes in other files")
        return full
