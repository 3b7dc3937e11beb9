"""Casts of convex shapes and compounds of them, from checked arguments to kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.convex import dispatch
from thud.convex.casts.linear_cast import cast_rows
from thud.convex.casts.turning_cast import turning_rows
from thud.convex.queries import PAIR
from thud.pairing.leaves import some_rows
from thud.pairing.motions import by_rotation, empty_impacts
from thud.pairing.rows import PairBatch, impact_fields
from thud.pairing.start_depth import overlapping_rows, put_depths
from thud.pose import Pose
from thud.results import Distances, Impacts
from thud.shapes.compound import Compound
from thud.shapes.packed import KIND, PART_COUNT, PART_START, Packed, pack, pack_now
from thud.shapes.shape import IDENTITY, SPHERE, Shape

#: Rows of a turning pair that are worth a hand-over to another thread: each takes some microseconds.
_ROWS = 64


def _as_moved(packed: Packed, shapes: Ints, move: Floats) -> Floats:
    """`pairing.motions.as_moved` for rows of shapes: without the rotations of balls about their own origins."""
    if move.shape[1] == 3:
        return move
    used, which = np.unique(shapes, return_inverse=True)
    start = packed.shape_ints[used, PART_START]
    ball = (packed.shape_ints[used, PART_COUNT] == 1) & (packed.parts.ints[start, KIND] == SPHERE)
    balls = (ball & ~packed.part_poses[start, 9:].any(axis=1))[which]
    if not balls.any():
        return move
    rows = max(len(move), len(balls))
    move = np.array(np.broadcast_to(move, (rows, 6)))
    move[np.broadcast_to(balls, rows), 3:] = 0.0
    return move


def cast_packed(
    packed: Packed, pairs: Ints, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int,
    threads: int | None, *, depths: bool = True,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 3) or (N, 6); `pairs` has one row for all, or `count`. With `depths` also the way out of
    those that overlap at the start."""

    def cast(query: str, rows: Any, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int) -> Impacts:
        table = pairs if len(pairs) == 1 or rows is None else np.ascontiguousarray(pairs[rows])
        kernels = _linear if query == "cast" else _turning
        return kernels(packed, table, rows_a, rows_b, move_a, move_b, count, threads)

    def signed(rows: Ints) -> Distances:
        table = pairs if len(pairs) == 1 else np.ascontiguousarray(pairs[rows])
        poses = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
        return dispatch.distance(packed, table, *poses, 0, len(rows), signed=True, threads=threads)

    move_a, move_b = _as_moved(packed, pairs[:, 0], move_a), _as_moved(packed, pairs[:, 1], move_b)
    out = by_rotation(cast, rows_a, rows_b, move_a, move_b, count)
    if depths:
        put_depths(out, overlapping_rows(out), signed)
    return out


def _linear(
    packed: Packed, pairs: Ints, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    out = empty_impacts(count)
    run_rows(cast_rows, count, threads, PairBatch(packed, pairs, rows_a, rows_b, 0), move_a, move_b, impact_fields(out))
    return out


def _turning(
    packed: Packed, pairs: Ints, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    out = empty_impacts(count)
    batch = PairBatch(packed, pairs, rows_a, rows_b, 0)
    run_rows(turning_rows, count, threads, batch, move_a, move_b, impact_fields(out), rows_per_chunk=_ROWS)
    return out


def cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, move_a: Floats, move_b: Floats, threads: int | None
) -> Impacts:
    """First contacts with motions (N, 3)."""
    return _linear(pack((a, b)), PAIR, rows_a, rows_b, move_a, move_b, count, threads)


def turning_cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, move_a: Floats, move_b: Floats,
    inner_a: Floats = IDENTITY, inner_b: Floats = IDENTITY, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 6)."""
    if inner_a is IDENTITY and inner_b is IDENTITY:
        return _turning(pack((a, b)), PAIR, rows_a, rows_b, move_a, move_b, count, threads)
    sides = [
        shape if inner is IDENTITY else Compound([shape], Pose.from_rows(inner))
        for shape, inner in ((a, inner_a), (b, inner_b))
    ]
    return _turning(pack_now(tuple(sides)), PAIR, rows_a, rows_b, move_a, move_b, count, threads)
