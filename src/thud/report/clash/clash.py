"""`Clash` and `ClashReport`: what a check finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError

if TYPE_CHECKING:
    from thud.io.scene.scene import Scene
    from thud.report.clash.groups import Group
    from thud.report.clash.robot import LinkPair
    from thud.report.clash.rules import Rules

#: Kinds of clashes, the gravest first. hard: the two overlap by more than the tolerance. containment: one is inside the
#: other, and the surfaces do not meet. duplicate: the same surface twice in one place. clearance: apart, but closer than the
#: clearance. contact: touching, or overlapping by no more than the tolerance.
KINDS = ("hard", "containment", "duplicate", "clearance", "contact")

#: What may have been decided about a clash.
STATUSES = ("new", "open", "accepted", "resolved")


@dataclass(frozen=True, eq=False)
class Clash:
    """Two parts that are where they should not both be. Metres, world frame.

    Attributes
    ----------
    id : the same in every run on the same parts, however they are ordered
    kind : one of `KINDS`
    a, b : rows of the scene's parts; A has the smaller name
    name_a, name_b : their full names
    guid_a, guid_b : the global ids that the file gives them, or None
    depth : B moved by depth * normal is free of A, which was tested; 0 for parts that are apart, NaN where no way was found
    depth_is_bound : a shorter way may exist in a direction that was not tried
    penetration : deepest point found of one surface below the other; NaN where a mesh is open and has no inside
    gap : between the surfaces, 0 where they meet
    normal : (3,) unit, from A to B; 0 if none is better than another
    point : (3,) the middle of where they meet or are closest
    points : (K, 3) the extent of where the surfaces meet or are closest
    curve : (S, 2, 3) some of the segments in which triangles of the two cross, to be drawn
    volume : of what both fill, cubic metres; NaN where it was not computed
    inside : "a" or "b", the one that is inside the other, or ""
    smaller : "a" or "b", the one with the smaller box: what one would rather move
    status : "new", or what a baseline says: "open", "accepted", "resolved"
    assignee, note : as a baseline has them
    worse : a baseline knew it as less deep or of a milder kind
    configuration : values of the robot's joints where it was found, or () for the parts as they stand
    """

    id: str
    kind: str
    a: int
    b: int
    name_a: str
    name_b: str
    guid_a: str | None
    guid_b: str | None
    depth: float
    depth_is_bound: bool
    penetration: float
    gap: float
    normal: Floats
    point: Floats
    points: Floats
    volume: float = float("nan")
    inside: str = ""
    smaller: str = "b"
    status: str = "new"
    assignee: str = ""
    note: str = ""
    worse: bool = False
    configuration: tuple[float, ...] = ()
    curve: Floats = field(default_factory=lambda: np.empty((0, 2, 3)))

    def __repr__(self) -> str:
        return f"Clash({self.id}, {self.kind}, {self.name_a!r}, {self.name_b!r}, {self.measure})"

    @property
    def measure(self) -> str:
        """How deep, or how far apart, in words."""
        if self.kind == "clearance" or (self.kind == "contact" and self.gap > 0.0):
            return f"{length(self.gap)} apart"
        if self.kind in ("contact", "duplicate"):
            return "touching" if self.kind == "contact" else "in one place"
        bound = "at most " if self.depth_is_bound else ""
        return f"{bound}{length(self.depth)} deep" if np.isfinite(self.depth) else "no way out found"

    def explain(self) -> str:
        """One or two sentences: what is wrong, and what would mend it."""
        a, b = self.name_a, self.name_b
        if self.kind == "duplicate":
            return f"{a} and {b} are the same surface in one place; one of them is probably superfluous."
        if self.kind == "clearance":
            return f"{a} and {b} are {length(self.gap)} apart, less than the clearance."
        if self.kind == "contact":
            return f"{a} and {b} touch." if self.gap == 0.0 else f"{a} and {b} touch within the tolerance ({self.measure})."
        if self.kind == "containment":
            inner, outer = (a, b) if self.inside == "a" else (b, a)
            said = f"{inner} is inside {outer}; the surfaces do not meet."
        else:
            deep = f" by up to {length(self.penetration)}" if np.isfinite(self.penetration) else ""
            said = f"{a} and {b} overlap{deep}."
        if np.isfinite(self.volume):
            said += f" They share {volume(self.volume)}."
        if np.isfinite(self.depth):
            # B goes along the normal, A against it.
            moved, along = (b, self.normal) if self.smaller == "b" else (a, -self.normal)
            way = ", ".join(f"{value + 0.0:.3g}" for value in np.round(along, 4))
            most = "at most " if self.depth_is_bound else ""
            said += f" Moving {moved} by {most}{length(self.depth)} along ({way}) parts them."
        return said


@dataclass(frozen=True, eq=False)
class ClashReport:
    """What a check found, the gravest first.

    Attributes
    ----------
    scene : what was checked
    clashes : every clash but contacts, ranked by kind, then depth
    contacts : parts that only touch
    tolerance, clearance : metres, as used
    pairs_tested : pairs of parts that were near enough to be tested
    pairs_ignored : near pairs that rules left out
    known : clashes that a baseline accepts
    gone : entries of the baseline whose clash is no longer there: id to (name, name)
    links : pairs of a robot's links that collide always, sometimes or never
    notes : what the check itself has to say (limits reached, packages missing)
    rules : which pairs were looked at
    """

    scene: Scene
    clashes: tuple[Clash, ...]
    contacts: tuple[Clash, ...]
    tolerance: float
    clearance: float
    pairs_tested: int
    pairs_ignored: int
    known: tuple[Clash, ...] = ()
    gone: dict[str, tuple[str, str]] = field(default_factory=dict)
    links: tuple[LinkPair, ...] = ()
    notes: tuple[str, ...] = ()
    rules: Rules | None = None

    def __len__(self) -> int:
        return len(self.clashes)

    def __iter__(self) -> Iterator[Clash]:
        return iter(self.clashes)

    def __repr__(self) -> str:
        return f"ClashReport({self.summary()})"

    def summary(self) -> str:
        """One line."""
        counts = [f"{count} {kind}" for kind in KINDS if (count := sum(clash.kind == kind for clash in self.clashes))]
        said = f"{_count(len(self.clashes), 'clash', 'clashes')} in {_count(len(self.scene.parts), 'part', 'parts')}"
        if counts:
            said += f": {', '.join(counts)}"
        more = [_count(len(self.contacts), "contact", "contacts")] if self.contacts else []
        more += [f"{len(self.known)} accepted"] if self.known else []
        more += [f"{len(self.gone)} gone"] if self.gone else []
        return said + (f"; {', '.join(more)}" if more else "")

    @property
    def above(self) -> str:
        """The levels that the names of all parts begin with, with a "/" at the end, or "": said once, they need not be
        repeated."""
        parents = [part.parent.split("/") for part in self.scene.parts if part.parent]
        levels: list[str] = []
        if parents and len(parents) == len(self.scene.parts):
            for names in zip(*parents):
                if len(set(names)) > 1:
                    break
                levels.append(names[0])
        return "/".join([*levels, ""]) if levels else ""

    def clash(self, identity: str) -> Clash:
        """The clash of this id, or of the only id that begins so; contacts and accepted ones too."""
        found = [clash for clash in (*self.clashes, *self.known, *self.contacts) if clash.id.startswith(identity)]
        exact = [clash for clash in found if clash.id == identity]
        if len(exact or found) != 1:
            raise InvalidInputError(f"identity: {len(found)} clashes have an id that begins with {identity!r}; expected one")
        return (exact or found)[0]

    def looks_at(self, names: Sequence[tuple[str, str]]) -> list[bool]:
        """Whether the rules let each pair of parts through. Parts that are not there any more are no matter of rules."""
        kept = [True] * len(names)
        row_of = {name: row for row, name in enumerate(self.scene.names)}
        there = [k for k, (one, other) in enumerate(names) if one in row_of and other in row_of]
        if self.rules is not None and there:
            pairs = np.array([[row_of[names[k][0]], row_of[names[k][1]]] for k in there], dtype=np.int64)
            for k, keep in zip(there, self.rules.keep(self.scene, pairs).tolist()):
                kept[k] = keep
        return kept

    def groups(self, by: str = "auto") -> list[Group]:
        """Clashes that belong together, see `thud.report.clash.groups`."""
        from thud.report.clash.groups import group

        return group(self.scene, self.clashes, by)

    def poses(self, clash: Clash) -> Floats:
        """(P, 7) poses of all parts where the clash was found."""
        if clash.configuration and self.scene.robot is not None:
            return self.scene.robot.poses([clash.configuration])[0]
        poses = self.scene.poses()
        return np.concatenate([poses.position.reshape(-1, 3), poses.quaternion.reshape(-1, 4)], axis=1)

    def with_clashes(self, clashes: list[Clash], **changes: object) -> ClashReport:
        """Ranked."""
        return replace(self, clashes=tuple(sorted(clashes, key=rank)), **changes)  # type: ignore[arg-type]


def rank(clash: Clash) -> tuple[int, float, str]:
    """Sorts the gravest first: by kind, then depth, then gap."""
    deep = clash.depth if np.isfinite(clash.depth) else np.inf
    return KINDS.index(clash.kind), clash.gap - deep, clash.id


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def length(metres: float) -> str:
    """With a unit in which it is easy to read."""
    for factor, unit in ((1.0, "m"), (1e3, "mm"), (1e6, "µm")):
        # Rounded first: 0.9999 mm is 1 mm, not 1000 µm.
        rounded = float(f"{metres * factor:.3g}")
        if abs(rounded) >= 1.0:
            return f"{rounded:g} {unit}"
    return "0 mm" if metres == 0.0 else f"{metres * 1e9:.3g} nm"


def volume(cubic_metres: float) -> str:
    """The same of a volume."""
    for factor, unit in ((1.0, "m³"), (1e6, "cm³"), (1e9, "mm³")):
        rounded = float(f"{cubic_metres * factor:.3g}")
        if abs(rounded) >= 1.0:
            return f"{rounded:g} {unit}"
    return f"{cubic_metres * 1e9:.3g} mm³"
