"""What a world keeps of its touching pairs from one call of `contacts` to the next, for whoever computes with contacts.

A point is known again by its pair, the handles of both bodies, and its feature. `ContactRecords.columns` are numbers that a
solver keeps of each point, such as its impulses: they follow the point, and are 0 for one that is new.

    records = world._records
    records.widen(3)                    # once: three numbers a point
    found = world.contacts()
    records.columns[...]                # (M, 3), as they were left after the last call
    records.previous()                  # (M,) which point of the last call each one was, -1 for a new one
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import kernel
from thud._core.threads import run_rows
from thud.pairing.join import empty_contacts
from thud.results import Contacts
from thud.world.body_rows import rows_key
from thud.world.contact_rows import FRAME, ContactColumns, PairRecords
from thud.world.events import NO_TOUCHES, PairTouches
from thud.world.pair_axes import PairAxes


class PointList(NamedTuple):
    """Which points a call of `contacts` gave."""

    pairs: Ints
    """(P, 2) handles, sorted by their rows."""
    start: Ints
    length: Ints
    """(P,) first point of each pair, and how many it has."""
    feature: Ints
    """(M,)"""


NO_POINTS = PointList(np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


@kernel("i8, i8, point_list, point_list, i8[::1]")
def match_points(start, stop, points, before, previous_out):
    """For each point of the pairs [start, stop) the point of the call before with the same handles and feature, or -1. Of
    several with one feature, as parts of compounds have them, the first is the first, and so on."""
    low, high = 0, before.pairs.shape[0]
    while low < high:
        middle = (low + high) // 2
        if rows_key(before.pairs, middle) < rows_key(points.pairs, start):
            low = middle + 1
        else:
            high = middle
    at = low
    for q in range(start, stop):
        key = rows_key(points.pairs, q)
        while at < before.pairs.shape[0] and rows_key(before.pairs, at) < key:
            at += 1
        known = at < before.pairs.shape[0]
        known = known and before.pairs[at, 0] == points.pairs[q, 0] and before.pairs[at, 1] == points.pairs[q, 1]
        for k in range(points.start[q], points.start[q] + points.length[q]):
            previous_out[k] = -1
            if not known:
                continue
            earlier = 0
            for m in range(points.start[q], k):
                earlier += np.int64(points.feature[m] == points.feature[k])
            for m in range(before.start[at], before.start[at] + before.length[at]):
                if before.feature[m] == points.feature[k]:
                    if earlier == 0:
                        previous_out[k] = m
                        break
                    earlier -= 1


@kernel("i8[::1], f8[:,::1], f8[:,::1]")
def carry_columns(previous, before, columns_out):
    """Numbers of the points that were there before, 0 for the others."""
    for k in range(previous.shape[0]):
        for c in range(columns_out.shape[1]):
            columns_out[k, c] = before[previous[k], c] if previous[k] >= 0 else 0.0


#: Pairs that are looked at at once: this bounds the room for points, most of which stays empty.
BLOCK = 32768


def new_records(count: int, limit: int) -> PairRecords:
    """Room for so many pairs, and for `limit` points of each of up to BLOCK of them."""
    frames, points = np.empty((count, FRAME)), min(count, BLOCK) * limit
    return PairRecords(
        np.empty(count, np.uint64), frames, frames.view(np.int64), np.empty((count, 4), np.int64), np.empty(count, np.int64),
        np.empty(count, np.int64), np.empty(count, np.uint8), np.empty(count, np.uint8), np.empty((points, 4)),
        np.empty(points, np.int64),
    )  # fmt: skip


def new_columns(points: int, pairs: int) -> ContactColumns:
    """Room for so many points of so many pairs."""
    whole = [np.empty(points, np.int64) for _ in range(6)]
    return ContactColumns(
        whole[0], whole[1], np.empty((points, 3)), np.empty((points, 3)), np.empty(points), whole[2], whole[3],
        np.empty(points, np.uint8), whole[4], whole[5], np.empty((pairs, 2), np.int64), np.empty((pairs, 2), np.int64),
        np.empty(pairs, np.int64), np.empty(pairs, np.int64), np.empty(pairs, np.bool_),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """Contacts of pairs of which a compound, a mesh or a surface is one, in the order of the pairs; world frame."""

    reals: Floats
    """(M, 7) point, normal, depth."""
    ints: Ints
    """(M, 4) feature, patch, triangles of A and B."""

    @classmethod
    def of(cls, found: Contacts) -> Elsewhere:
        """From a result by row."""
        none = np.full(len(found.row), -1)
        sides = (getattr(found, name, None) for name in ("triangle_a", "triangle_b"))
        triangles = [none if side is None else side for side in sides]
        reals = np.concatenate([found.point, found.normal, found.depth[:, None]], axis=1)
        return cls(reals, np.stack([found.feature, found.patch, *triangles], axis=1))


#: No contacts.
NOTHING_ELSEWHERE = Elsewhere.of(empty_contacts(np.empty(0, np.uint8)))


@dataclass(slots=True)
class ContactRecords:
    """See the module."""

    width: int = 0
    """Numbers that are kept of each point."""
    columns: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """(M, width) of the points of the last call."""
    points: PointList = NO_POINTS
    """Of the last call."""
    before: PointList = NO_POINTS
    """Of the call before."""
    touches: PairTouches = NO_TOUCHES
    touches_before: PairTouches = NO_TOUCHES
    pairs: PairRecords = field(default_factory=lambda: new_records(0, 1))
    """What the narrow phase knows of the last call's pairs."""
    limit: int = 0
    """Most points of each of them."""
    elsewhere: Elsewhere = NOTHING_ELSEWHERE
    key: tuple[object, ...] | None = None
    """What the last call was asked, and of which state of the world: while it is the same, so is the answer."""
    axes: PairAxes = field(default_factory=PairAxes)
    """Axes that part covers."""
    rooms: list[PairRecords] = field(default_factory=lambda: [new_records(0, 1), new_records(0, 1)])
    """Arrays for two frames: `pairs` are rows of the first, the second is written over next."""

    @property
    def of_step(self) -> bool:
        """Whether the pairs are those of a step, whose contacts follow their bodies."""
        return self.key is None

    def widen(self, width: int) -> None:
        """Keep so many numbers of each point; those that are there stay."""
        columns = np.zeros((len(self.points.feature), width))
        kept = min(width, self.columns.shape[1])
        columns[: len(self.columns), :kept] = self.columns[:, :kept]
        self.width, self.columns = width, columns

    def previous(self, threads: int | None = None) -> Ints:
        """(M,) for each point of the last call the same one's place in the call before, -1 for one that is new."""
        found = np.empty(len(self.points.feature), np.int64)
        run_rows(match_points, len(self.points.pairs), threads, self.points, self.before, found)
        return found

    def room(self, count: int, limit: int) -> PairRecords:
        """Arrays for the next frame, not those of the last one; with room for the points of BLOCK pairs."""
        whole, most = self.rooms[1], min(count, BLOCK)
        if len(whole.keys) < count or len(whole.features) < most * limit:
            whole = self.rooms[1] = new_records(count + count // 4 + 16, limit)
        return PairRecords._make([*(column[:count] for column in whole[:8]), *(column[: most * limit] for column in whole[8:])])

    def keep_pairs(self, fresh: PairRecords, limit: int) -> None:
        """What `room` gave was filled: the next frame's old ones."""
        self.pairs, self.limit = fresh, limit
        self.rooms.reverse()

    def forget_pairs(self) -> None:
        """Know nothing of pairs; points, columns and events stay."""
        self.pairs, self.elsewhere, self.key = new_records(0, 1), NOTHING_ELSEWHERE, None
        self.axes.forget()

    def renew(self, found: ContactColumns, touches: PairTouches, threads: int | None) -> None:
        """A call of `contacts` has found these. Its caller may write over them, so that copies are kept."""
        self.before, self.touches_before = self.points, self.touches
        self.points = PointList(touches.pairs, found.start.copy(), found.length.copy(), found.feature.copy())
        self.touches = touches
        if self.width:
            columns = np.empty((len(found.feature), self.width))
            carry_columns(self.previous(threads), self.columns, columns)
            self.columns = columns
