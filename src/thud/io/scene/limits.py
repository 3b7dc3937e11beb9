"""`SceneLimits`: how much a file may cost before it is refused."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from thud.errors import InvalidInputError


@dataclass(frozen=True)
class SceneLimits:
    """Bounds on what a file may ask for. What exceeds one is a `SceneLimitError` that names the field to raise.

    Attributes
    ----------
    file_bytes : bytes of one file, and of all that it refers to together
    memory_bytes : address space of the process that reads a file
    seconds : time to read one file
    triangles : triangles of one scene, a mesh counted as often as it is shown
    vertices : vertices of one scene, each mesh counted once
    parts : parts of one scene
    depth : levels of the hierarchy, of JSON and of XML
    references : other files that one file refers to
    archive_entries : members of an archive (3MF, USDZ)
    archive_bytes : bytes of an archive when unpacked
    archive_ratio : how much larger unpacked than packed a member of over 1 MB may be
    name_length : characters of a name; longer ones are cut
    """

    file_bytes: int = 2 * 2**30
    memory_bytes: int = 8 * 2**30
    seconds: float = 300.0
    triangles: int = 50_000_000
    vertices: int = 100_000_000
    parts: int = 200_000
    depth: int = 64
    references: int = 1000
    archive_entries: int = 10_000
    archive_bytes: int = 4 * 2**30
    archive_ratio: float = 200.0
    name_length: int = 200

    def times(self, factor: float) -> SceneLimits:
        """All limits but the length of names, so many times as high: `SceneLimits().times(4)` for a file that is trusted."""
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0.0 < factor < 1e6:
            raise InvalidInputError(f"factor: {factor!r}; expected a number above 0, up to 1e6")
        raised: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            raised[field.name] = value * factor if isinstance(value, float) else max(1, int(value * factor))
        return SceneLimits(**raised | {"name_length": self.name_length})

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise InvalidInputError(f"limits: {field.name} is {value!r}; expected a number above 0")
