"""What the last query of a world cost, phase by phase."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class WorldStats:
    """Counts and seconds of the last query, by phase. `seconds` has "boxes", "broad", "mid", "narrow", "place", as
    far as they ran."""

    query: str = ""
    bodies: int = 0
    boxes_updated: int = 0
    """Bodies whose box was made anew."""
    broad_pairs: int = 0
    """Pairs whose boxes overlap and that the rules allow."""
    mid_tested: int = 0
    mid_rejected: int = 0
    """Pairs separated by their covers."""
    narrow_tested: int = 0
    """Pairs that came to the narrow phase."""
    kept_axes: int = 0
    """Pairs separated by the last frame's axis."""
    kept_pairs: int = 0
    """Pairs whose contacts are those of the last frame, as they have not moved relative to each other."""
    hits: int = 0
    """Pairs that meet, or are within reach."""
    seconds: dict[str, float] = field(default_factory=dict)

    def phase(self, name: str) -> _Phase:
        """Add the time of a block to a phase."""
        return _Phase(self.seconds, name)


class _Phase:
    """The time of a `with` block."""

    __slots__ = ("_begin", "_name", "_seconds")

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self._seconds, self._name = seconds, name

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, *_error: object) -> None:
        self._seconds[self._name] = self._seconds.get(self._name, 0.0) + time.perf_counter() - self._begin
