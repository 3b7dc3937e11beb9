"""Names of parts: paths from the root with "/" between levels, unique within a scene."""

from __future__ import annotations

from collections.abc import Iterable

#: What stands for a part that has no name.
NAMELESS = "part"


def path_name(parent: str, name: str) -> str:
    """The full path of a child. A "/" within its own name becomes a fraction slash, so that paths can be taken apart."""
    own = str(name).replace("/", "\u2215").strip() or NAMELESS
    return f"{parent}/{own}" if parent else own


class UniqueNames:
    """Gives each name once: the second "a/bolt" is "a/bolt#2"."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def take(self, name: str) -> str:
        """The name itself, or with the first free number."""
        if name not in self._taken:
            self._taken.add(name)
            return name
        number = self._next.get(name, 2)
        while f"{name}#{number}" in self._taken:
            number += 1
        self._next[name] = number + 1
        self._taken.add(f"{name}#{number}")
        return f"{name}#{number}"
