"""Pairs of a robot's links that collide always, sometimes or never, over sampled configurations."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.io.scene.scene import Scene
from thud.queries import prepare
from thud.report.clash.rules import Rules
from thud.report.clash.tasks import Progress
from thud.report.clash.tolerances import CONFIGURATIONS_AT_ONCE


@dataclass(frozen=True)
class LinkPair:
    """Two links, or a link and a part that stands still.

    Attributes
    ----------
    link_a, link_b : their names
    verdict : "always", "sometimes" or "never"
    share : of the configurations in which they collide, 0 to 1
    at_rest : whether they collide at rest
    configuration : values of the robot's joints in the first configuration in which they do, radians or metres; () for never
    parts : rows of two parts that meet there, or None
    meetings : (M, 3) each configuration's number, rest being 0, with the rows of two parts that meet in it
    """

    link_a: str
    link_b: str
    verdict: str
    share: float
    at_rest: bool
    configuration: tuple[float, ...]
    parts: tuple[int, int] | None
    meetings: Ints = field(repr=False, compare=False)

    @property
    def share_text(self) -> str:
        """The share in per cent; what is rare is not 0 %, and what happens nearly always not 100 %."""
        if self.verdict == "sometimes" and not 0.005 <= self.share < 0.995:
            return "<1 %" if self.share < 0.5 else ">99 %"
        return f"{100.0 * self.share:.0f} %"


def link_pairs(
    scene: Scene, rules: Rules, values: Floats, threads: int | None, progress: Progress | None
) -> tuple[LinkPair, ...]:
    """Each pair of links that the rules let through.

    values : (C, J) the configurations to look at, rest first
    """
    robot = scene.robot
    if robot is None:
        return ()
    owner = [robot.link_of(row) or scene.parts[row].name for row in range(len(scene.parts))]
    first, second = np.triu_indices(len(scene.parts), 1)
    moves = (np.asarray(robot.part_links)[first] >= 0) | (np.asarray(robot.part_links)[second] >= 0)
    pairs = np.stack([first, second], axis=1)[moves]
    pairs = pairs[rules.keep(scene, pairs)] if len(pairs) else pairs
    # Parts of one link stay as they are.
    pairs = np.array([pair for pair in pairs.tolist() if owner[pair[0]] != owner[pair[1]]], dtype=np.int64).reshape(-1, 2)
    if not len(pairs):
        return ()
    table = prepare([scene.meshes[part.mesh] for part in scene.parts], pairs)
    hits = np.zeros((len(values), len(pairs)), dtype=bool)
    for start in range(0, len(values), CONFIGURATIONS_AT_ONCE):
        if progress is not None:
            progress("configurations", start, len(values))
        rows = slice(start, start + CONFIGURATIONS_AT_ONCE)
        hits[rows] = table.intersects(robot.poses(values[rows]), threads=threads)
    if progress is not None:
        progress("configurations", len(values), len(values))
    of_links: dict[tuple[str, str], list[int]] = {}
    for row, (a, b) in enumerate(pairs.tolist()):
        one, other = sorted((owner[a], owner[b]))
        of_links.setdefault((one, other), []).append(row)
    found = []
    for (one, other), rows_of in of_links.items():
        any_part = np.asarray(hits[:, rows_of].any(axis=1))
        share = float(any_part.mean())
        verdict = "never" if share == 0.0 else "always" if share == 1.0 else "sometimes"
        configuration: tuple[float, ...] = ()
        parts = None
        if share > 0.0:
            shown = int(np.argmax(any_part))
            configuration = tuple(float(value) for value in values[shown])
            a, b = pairs[rows_of[int(np.argmax(hits[shown, rows_of]))]]
            parts = int(a), int(b)
        when, which = np.nonzero(hits[:, rows_of])
        meetings = np.column_stack([when, pairs[rows_of][which]])
        found.append(LinkPair(one, other, verdict, share, bool(any_part[0]), configuration, parts, meetings))
    return tuple(sorted(found, key=lambda pair: (-pair.share, pair.link_a, pair.link_b)))
