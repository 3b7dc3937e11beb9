"""Flights in progress at the end of a query, from which the next one goes on.

A generation's flights follow from each other and from nothing else; taken up at any of them, they have the same bytes as from
birth. Kept are generations of many flights, with the system, for the last few queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Ints
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.flight.flight_rows import GENERATION, PARTICLE, FlightRows
from thud.particles.flight.tolerances import CHECKPOINT_ROWS, CHECKPOINTS


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Flights in progress at a time, by particle and generation."""

    colliders: ColliderSet
    time: float
    passed: bool
    """Whether impacts at this very time are behind."""
    flights: FlightRows

    def serves(self, colliders: ColliderSet, t: float) -> bool:
        """Whether all that happens from t on follows from it."""
        return self.colliders is colliders and (self.time < t or (self.time == t and not self.passed))

    def places(self, first: Ints, count: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """(rows, places): which of its flights are among the generations of a query, and at which of their rows, rising."""
        particle, generation = self.flights.row[:, PARTICLE], self.flights.row[:, GENERATION]
        offset = generation - first[particle]
        rows = np.flatnonzero((offset >= 0) & (offset < count[particle]))
        return rows, (ends[particle] - count[particle] + offset)[rows]


def best_of(kept: tuple[Checkpoint, ...], colliders: ColliderSet, t: float) -> Checkpoint | None:
    """The latest one that serves."""
    return max((one for one in kept if one.serves(colliders, t)), key=lambda one: one.time, default=None)


def with_one_more(
    kept: tuple[Checkpoint, ...], colliders: ColliderSet, time: float, passed: bool, saved: list[FlightRows]
) -> tuple[Checkpoint, ...]:
    """What is kept after a query up to `time`, which has saved these flights."""
    total = sum(len(rows.row) for rows in saved)
    if not 0 < total <= CHECKPOINT_ROWS:
        return kept
    joined = [np.concatenate(columns) for columns in zip(*saved)]
    order = np.lexsort((joined[0][:, GENERATION], joined[0][:, PARTICLE]))
    one = Checkpoint(colliders, time, passed, FlightRows(*(np.ascontiguousarray(column[order]) for column in joined)))
    others = [old for old in kept if not (old.colliders is colliders and old.time == time and old.passed == passed)]
    return (*others[1 - CHECKPOINTS :], one)
