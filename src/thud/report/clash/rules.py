"""Which pairs of parts are looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate

import numpy as np

from thud._core.arrays import Bools, Ints
from thud.errors import InvalidInputError
from thud.io.scene.scene import Scene

#: Characters of a pattern: a name is matched in time in proportion to both.
_LONGEST = 1000

#: Most patterns of one rule (a count).
_MOST = 10_000


@dataclass(frozen=True)
class Rules:
    """What is checked against what, and what is left out.

    Patterns are those of file names (`*`, `?`, `[abc]`), case counts. They match from any level of a full name on, to its end
    or to the end of a level: of "plant/gearbox/shaft", `shaft`, `gearbox`, `gear*/shaft` and `plant` do, `box` does not.

    Attributes
    ----------
    a, b : patterns of selection A and selection B: pairs of one of A and one of B. No `b`: A against everything. Neither: all
        pairs
    ignore : patterns of parts that are left out altogether
    ignore_pairs : pairs of patterns: a part of the one against a part of the other is left out
    same_parent : leave out parts of one parent: what was assembled together is meant to be so. Parts without one do not count
    adjacent : leave out links of a robot that a joint connects, and parts of one link
    touching : "list" contacts apart; "ignore" them; or count them as "clash"
    """

    a: Sequence[str] = ()
    b: Sequence[str] = ()
    ignore: Sequence[str] = ()
    ignore_pairs: Sequence[tuple[str, str]] = ()
    same_parent: bool = False
    adjacent: bool = True
    touching: str = "list"

    def __post_init__(self) -> None:
        for name in ("a", "b", "ignore"):
            patterns = getattr(self, name)
            given = (patterns,) if isinstance(patterns, str) else tuple(patterns)
            object.__setattr__(self, name, tuple(_pattern(pattern, name) for pattern in given))
        pairs = []
        for row, pair in enumerate(self.ignore_pairs):
            if isinstance(pair, str) or len(pair) != 2:
                raise InvalidInputError(f"ignore_pairs: row {row} is {pair!r}; expected two patterns")
            pairs.append((_pattern(pair[0], "ignore_pairs"), _pattern(pair[1], "ignore_pairs")))
        object.__setattr__(self, "ignore_pairs", tuple(pairs))
        for name in ("a", "b", "ignore", "ignore_pairs"):
            if len(getattr(self, name)) > _MOST:
                raise InvalidInputError(f"{name}: expected at most {_MOST} patterns, got {len(getattr(self, name))}")
        if self.touching not in ("list", "ignore", "clash"):
            raise InvalidInputError(f"touching: expected 'list', 'ignore' or 'clash', got {self.touching!r}")
        if self.b and not self.a:
            raise InvalidInputError("b: selection B needs a selection A")

    def keep(self, scene: Scene, pairs: Ints) -> Bools:
        """(M,) which of the pairs of parts are looked at."""
        kept = np.ones(len(pairs), dtype=bool)
        first, second = pairs[:, 0], pairs[:, 1]
        if self.a:
            in_a = chosen(scene, self.a)
            in_b = chosen(scene, self.b) if self.b else np.ones(len(scene.parts), dtype=bool)
            kept &= (in_a[first] & in_b[second]) | (in_b[first] & in_a[second])
        if self.ignore:
            out = chosen(scene, self.ignore)
            kept &= ~(out[first] | out[second])
        for one, other in self.ignore_pairs:
            of_one, of_other = chosen(scene, (one,)), chosen(scene, (other,))
            kept &= ~((of_one[first] & of_other[second]) | (of_other[first] & of_one[second]))
        if self.same_parent:
            parents = {parent: k for k, parent in enumerate(sorted({part.parent for part in scene.parts}))}
            row = np.array([parents[part.parent] if part.parent else -1 for part in scene.parts], dtype=np.int64)
            kept &= (row[first] != row[second]) | (row[first] < 0)
        if self.adjacent and scene.robot is not None:
            kept &= ~neighbours(scene)[first, second]
        return kept


def neighbours(scene: Scene) -> Bools:
    """(P, P) parts of one link, or of links that a joint connects."""
    robot = scene.robot
    count = len(scene.parts)
    if robot is None:
        return np.zeros((count, count), dtype=bool)
    rows = {link: row for row, link in enumerate(robot.links)}
    table = np.zeros((len(robot.links) + 1,) * 2, dtype=bool)
    np.fill_diagonal(table, True)
    for one, other in robot.adjacent:
        table[rows[one], rows[other]] = table[rows[other], rows[one]] = True
    # The last row stands for parts of no link, which are nobody's neighbours.
    table[-1] = table[:, -1] = False
    links = np.asarray(robot.part_links)
    return table[links[:, None], links[None, :]]


def chosen(scene: Scene, patterns: Iterable[str]) -> Bools:
    """(P,) parts that a pattern fits: the full name or its end from any level on, or what is above it."""
    tests = [re.compile(f"{translate(pattern)}|{translate(f'{pattern}/*')}") for pattern in patterns]

    def fits(name: str) -> bool:
        levels = name.split("/")
        ends = ["/".join(levels[k:]) for k in range(len(levels))]
        return any(test.match(end) for test in tests for end in ends)

    return np.array([fits(part.name) for part in scene.parts], dtype=bool)


def unmatched(scene: Scene, rules: Rules) -> list[str]:
    """A sentence for each pattern that no part's name fits: a typing error would look like nothing to clash."""
    said = [
        ("a", rules.a),
        ("b", rules.b),
        ("ignore", rules.ignore),
        ("ignore", [one for pair in rules.ignore_pairs for one in pair]),
    ]
    return [
        f"{where}: no part has a name that {pattern!r} fits" for where, patterns in said for pattern in patterns
        if not chosen(scene, [pattern]).any()
    ]  # fmt: skip


def _pattern(pattern: object, name: str) -> str:
    if not isinstance(pattern, str) or not pattern:
        raise InvalidInputError(f"{name}: expected patterns of names, got {pattern!r}")
    if len(pattern) > _LONGEST:
        raise InvalidInputError(f"{name}: a pattern of {len(pattern)} characters; expected at most {_LONGEST}")
    return pattern
