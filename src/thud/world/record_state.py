"""What steps know of touching pairs (`contact_rows.py`) as plain arrays, and back: contacts that follow their bodies go on
doing so in a world that was saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.status import UNCONVERGED
from thud.dynamics.solver_types import POINTS
from thud.errors import InvalidInputError
from thud.shapes.packed import NODE_COUNT
from thud.world.contact_records import Elsewhere, new_records
from thud.world.contact_rows import ANCHOR, ASKED, AXIS, ELSEWHERE, ELSEWHERE_KEPT, FRAME, MARGIN, PairRecords, pack_points
from thud.world.shape_state import check_rigid

if TYPE_CHECKING:
    from thud.world.world import World

#: Arrays of a state that are about them: type and shape, -1 for any number of rows. Pairs by their rows; then the points of all
#: pairs one after the other, those of convex pairs, and those that were found elsewhere.
RECORD_ARRAYS: dict[str, tuple[str, tuple[int, ...]]] = {
    "record_rows": ("<i8", (-1, 2)),
    "record_frames": ("<f8", (-1, FRAME)),
    "record_counts": ("<i8", (-1,)),
    "record_status": ("|u1", (-1,)),
    "record_points": ("<f8", (-1, 4)),
    "record_features": ("<i8", (-1,)),
    "record_elsewhere": ("|b1", (-1,)),
    "record_elsewhere_reals": ("<f8", (-1, 7)),
    "record_elsewhere_ints": ("<i8", (-1, 4)),
}


def records_of(world: World) -> dict[str, Any]:
    """Of pairs that have contacts and whose shapes are still the same."""
    records = world._records
    pairs, elsewhere = records.pairs, records.elsewhere
    if not records.of_step or records.limit != POINTS or not world.caches:
        pairs = new_records(0, POINTS)
    rows = _rows_of(pairs)
    revision = world._bodies.revision
    current = (revision[rows[:, 0], 0] == pairs.revisions[:, 0]) & (revision[rows[:, 1], 0] == pairs.revisions[:, 2])
    chosen = np.flatnonzero(current & (pairs.counts > 0))
    known = PairRecords._make([*(column[chosen] for column in pairs[:8]), pairs.points, pairs.features])
    away = known.how >= ELSEWHERE
    frames = known.frames.copy()
    frames[~away, ANCHOR : ANCHOR + 12] = 0.0
    frames[away, AXIS : AXIS + 3] = 0.0
    most = int(known.counts[~away].sum())
    points, features = np.empty((most, 4)), np.empty(most, np.int64)
    source = np.repeat(known.places[away], known.counts[away]) + _within(known.counts[away])
    pack_points(known, 0, points, features)
    return {
        "record_rows": rows[chosen],
        "record_frames": frames,
        "record_counts": known.counts,
        "record_status": known.status,
        "record_points": points,
        "record_features": features,
        "record_elsewhere": away,
        "record_elsewhere_reals": elsewhere.reals[source],
        "record_elsewhere_ints": elsewhere.ints[source],
    }


def _rows_of(pairs: PairRecords) -> Ints:
    """(P, 2) rows of the bodies of each pair."""
    low = (pairs.keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return np.stack([(pairs.keys >> np.uint64(32)).astype(np.int64), low], axis=1)


def _within(counts: Ints) -> Ints:
    """0, 1, ... of each count."""
    starts = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) - np.repeat(starts, counts)


def check_records(state: Mapping[str, Any]) -> None:
    """Refuse what no world holds; whether a pair is found elsewhere is looked at when the shapes are there."""
    rows, frames, counts, away = (state[f"record_{name}"] for name in ("rows", "frames", "counts", "elsewhere"))
    alive = state["alive"]
    if any(len(state[f"record_{name}"]) != len(rows) for name in ("frames", "counts", "status", "elsewhere")):
        raise InvalidInputError("record_rows: expected as many rows in every array of records")
    if (rows < 0).any() or (rows >= len(alive)).any() or (rows[:, 0] >= rows[:, 1]).any() or not alive[rows].all():
        raise InvalidInputError("record_rows: expected two bodies that are there, the lower row first")
    if (np.diff(rows[:, 0] * 2**32 + rows[:, 1]) <= 0).any():
        raise InvalidInputError("record_rows: expected ascending pairs")
    if (away.view(np.uint8) > 1).any() or (state["record_status"] > UNCONVERGED).any():
        raise InvalidInputError("record_elsewhere, record_status: expected 0 and 1, and 0 to 2")
    points, reals = state["record_points"], state["record_elsewhere_reals"]
    limit = np.where(away, len(reals), POINTS)
    if (counts < 1).any() or (counts > limit).any():
        raise InvalidInputError(f"record_counts: expected 1 to {POINTS}, or as many as there are")
    if counts[~away].sum() != len(points) or counts[away].sum() != len(reals):
        raise InvalidInputError("record_counts: expected one a pair, and so many points in all")
    if len(state["record_features"]) != len(points) or len(state["record_elsewhere_ints"]) != len(reals):
        raise InvalidInputError("record_features: expected one a point")
    if not all(np.isfinite(array).all() for array in (frames, points, reals)) or (frames[:, MARGIN] < 0.0).any():
        raise InvalidInputError("record_frames: expected finite numbers")
    check_rigid(np.ascontiguousarray(frames[:, :12]), "record_frames")
    check_rigid(np.ascontiguousarray(frames[away, ANCHOR : ANCHOR + 12]), "record_frames")


def put_records(world: World, state: Mapping[str, Any]) -> None:
    """The other way, into a world that has its bodies and shapes."""
    rows, counts, away = state["record_rows"], state["record_counts"], state["record_elsewhere"]
    if not len(rows):
        return
    if not np.array_equal(away, _found_elsewhere(world, rows)):
        raise InvalidInputError("record_elsewhere: expected the pairs with a compound, a mesh or a surface")
    bodies, records = world._bodies, world._records
    fresh = new_records(len(rows), POINTS)
    fresh.keys[:] = (rows[:, 0].astype(np.uint64) << np.uint64(32)) | rows[:, 1].astype(np.uint64)
    fresh.frames[:] = state["record_frames"]
    # The poses count as changed: what the pairs were found at may lie back.
    fresh.revisions[:] = -1
    fresh.revisions[:, 0], fresh.revisions[:, 2] = bodies.revision[rows[:, 0], 0], bodies.revision[rows[:, 1], 0]
    fresh.counts[:], fresh.status[:] = counts, state["record_status"]
    fresh.how[:] = np.where(away, ELSEWHERE_KEPT, ASKED)
    for mine in (away, ~away):
        fresh.places[mine] = np.cumsum(counts[mine]) - counts[mine]
    points: Floats = state["record_points"].copy()
    records.pairs = fresh._replace(points=points, features=state["record_features"].copy())
    records.elsewhere = Elsewhere(state["record_elsewhere_reals"].copy(), state["record_elsewhere_ints"].copy())
    records.limit = POINTS


def _found_elsewhere(world: World, rows: Ints) -> Bools:
    """(P,) pairs of which a compound, a mesh or a surface is one."""
    shapes, shape = world._shapes, world._bodies.shape[rows]
    packed, shape_rows = shapes.packed()
    assert packed is not None
    return (shapes.is_covered[shape] | (packed.shape_ints[shape_rows[shape], NODE_COUNT] > 0)).any(axis=1)
