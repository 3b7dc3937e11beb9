"""Clashes that belong together: a hundred clashes of one screw are one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thud.errors import InvalidInputError
from thud.io.scene.scene import Scene
from thud.report.clash.clash import KINDS, Clash

GROUPINGS = ("auto", "part", "type", "none")

#: Numbers at the end of a name: screw_12, screw.012, screw (12), screw#12.
_TAIL = re.compile(r"[\s._#:-]*[(\[]?\d+[)\]]?$")


@dataclass(frozen=True, eq=False)
class Group:
    """Clashes of one kind that share a part, or a type of part.

    Attributes
    ----------
    title : what they share
    kind : of all of them
    clashes : the gravest first
    """

    title: str
    kind: str
    clashes: tuple[Clash, ...]

    def __len__(self) -> int:
        return len(self.clashes)


def part_types(scene: Scene) -> list[str]:
    """One text a part, the same for parts of one geometry, or of one parent whose names differ by a number at the end."""
    shown = np.bincount([part.mesh for part in scene.parts], minlength=len(scene.meshes)) if scene.parts else np.zeros(0)
    stems = [_stem(part.name) for part in scene.parts]
    first: dict[int, str] = {}
    for part, stem in zip(scene.parts, stems):
        first.setdefault(part.mesh, stem)
    return [first[part.mesh] if shown[part.mesh] > 1 else stem for part, stem in zip(scene.parts, stems)]


def group(scene: Scene, clashes: Sequence[Clash], by: str = "auto") -> list[Group]:
    """Clashes of one kind, put together.

    by : "type" where both parts are of the same two types; "part" where they share a part; "none", each by itself; "auto"
        first what shares a part with most others, then by type, and what is left by itself
    """
    if by not in GROUPINGS:
        raise InvalidInputError(f"by: expected one of {', '.join(GROUPINGS)}, got {by!r}")
    types = part_types(scene)
    groups: list[Group] = []
    for kind in KINDS:
        left = [clash for clash in clashes if clash.kind == kind]
        if by in ("auto", "part"):
            found, left = _by_part(kind, left, 3 if by == "auto" else 1)
            groups += found
        if by in ("auto", "type"):
            groups += _by_type(kind, left, types, alone=by == "auto")
        else:
            groups += [Group(_names(clash.name_a, clash.name_b), kind, (clash,)) for clash in left]
    order = {clash.id: row for row, clash in enumerate(clashes)}
    return sorted(groups, key=lambda one: (KINDS.index(one.kind), min(order[clash.id] for clash in one.clashes)))


def _by_part(kind: str, clashes: list[Clash], least: int) -> tuple[list[Group], list[Clash]]:
    """The part with most clashes takes them, then the next, as long as it has `least`."""
    groups, left = [], list(clashes)
    while left:
        count: dict[str, int] = {}
        for clash in left:
            for name in (clash.name_a, clash.name_b):
                count[name] = count.get(name, 0) + 1
        most = min(count, key=lambda name: (-count[name], name))
        if count[most] < least:
            break
        mine = tuple(clash for clash in left if most in (clash.name_a, clash.name_b))
        title = f"{most} and {len(mine)} parts" if len(mine) > 1 else _names(mine[0].name_a, mine[0].name_b)
        groups.append(Group(title, kind, mine))
        left = [clash for clash in left if most not in (clash.name_a, clash.name_b)]
    return groups, left


def _by_type(kind: str, clashes: list[Clash], types: list[str], alone: bool) -> list[Group]:
    """By the two types."""
    found: dict[tuple[str, str], list[Clash]] = {}
    for clash in clashes:
        one, other = sorted((types[clash.a], types[clash.b]))
        found.setdefault((one, other), []).append(clash)
    groups = []
    for (one, other), mine in found.items():
        single = len(mine) == 1 and alone
        # A type has the name of the first part of its geometry, which need not be among these.
        stems = {tuple(sorted((_stem(clash.name_a), _stem(clash.name_b)))) for clash in mine}
        title = _names(mine[0].name_a, mine[0].name_b)
        if not single and (one, other) in stems:
            title = _names(one, other)
        elif not single and len(stems) == 1:
            title = _names(*stems.pop())
        elif not single and len(mine) > 1:
            title += f", and {len(mine) - 1} alike"
        groups.append(Group(title, kind, tuple(mine)))
    return groups


def _stem(name: str) -> str:
    """The last level, without a number at its end."""
    return _TAIL.sub("", name.rpartition("/")[2]) or name


def _names(one: str, other: str) -> str:
    return f"{one} and {other}"
