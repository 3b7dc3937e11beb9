"""Casts of convex shapes and compounds of them, from checked arguments to kernels. Rows that turn go their own way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from thud._threads import run_rows
from thud.constants import TURN_LARGEST
from thud.continuous.convex_cast import cast_rows
from thud.continuous.turning_cast import turning_rows
from thud.errors import InvalidInputError
from thud.gates import as_points
from thud.narrowphase.mesh_dispatch import some_rows
from thud.results import Impacts
from thud.shapes.packed import Packed

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Rows of a turning pair that are worth a hand-over to another thread: each takes some microseconds.
_ROWS = 64


def empty_impacts(count: int) -> Impacts:
    """Results of `count` rows, to be filled."""
    return Impacts(np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty(count, dtype=np.uint8))


def as_motion(motion: npt.ArrayLike, name: str) -> Floats:
    """The gate of motions: (N, 3) displacements, or (N, 6) with a rotation vector; 0 is at rest."""
    if np.ndim(motion) == 0 and motion == 0:
        return np.zeros((1, 3))
    width = np.shape(motion)[-1:]
    if width not in ((3,), (6,)) or np.ndim(motion) > 2:
        raise InvalidInputError(
            f"{name}: expected shape (3,) or (N, 3), or (6,) or (N, 6) with a rotation vector, got {np.shape(motion)}"
        )
    rows = as_points(motion, name, width=width[0])
    if width == (6,):
        far = np.abs(rows[:, 3:]).max(axis=1) > TURN_LARGEST
        if far.any():
            raise InvalidInputError(
                f"{name}: row {int(np.argmax(far))} turns by more than {TURN_LARGEST:g} radians; expected a rotation vector"
            )
    return rows


def _turns(move: Floats) -> npt.NDArray[np.bool_]:
    """(N,) rows with a rotation."""
    return (move[:, 3:] != 0.0).any(axis=1) if move.shape[1] == 6 else np.zeros(len(move), np.bool_)


def _straight(move: Floats) -> Floats:
    return move if move.shape[1] == 3 else np.ascontiguousarray(move[:, :3])


def _with_rotation(move: Floats) -> Floats:
    return move if move.shape[1] == 6 else np.concatenate([move, np.zeros((len(move), 3))], axis=1)


Caster = Callable[[Floats, Floats, Floats, Floats, int], Impacts]


def by_rotation(
    linear: Caster, turning: Caster, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int
) -> Impacts:
    """Rows in which neither shape turns by `linear`, with motions (N, 3), the others by `turning`, with (N, 6).

    Each caster takes poses and motions of both and the number of rows. So a rotation of zero gives the bytes of the linear
    cast.
    """
    turns = np.broadcast_to(_turns(move_a) | _turns(move_b), (count,))
    if not turns.any():
        return linear(rows_a, rows_b, _straight(move_a), _straight(move_b), count)
    if turns.all():
        return turning(rows_a, rows_b, _with_rotation(move_a), _with_rotation(move_b), count)
    out = empty_impacts(count)
    for caster, chosen, form in ((linear, ~turns, _straight), (turning, turns, _with_rotation)):
        rows = np.flatnonzero(chosen)
        poses = [some_rows(array, rows, count) for array in (rows_a, rows_b)]
        moves = [form(some_rows(array, rows, count)) for array in (move_a, move_b)]
        found = caster(poses[0], poses[1], moves[0], moves[1], len(rows))
        for name in ("time", "point", "normal", "status"):
            getattr(out, name)[rows] = getattr(found, name)
    return out


def convex_turning_cast(
    packed: Packed, pairs: Ints, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """First contacts with motions (N, 6); `pairs` has one row for all, or `count`."""
    out = empty_impacts(count)
    fields = (out.time, out.point, out.normal, out.status)
    arguments = (packed, pairs, rows_a, rows_b, 0, move_a, move_b)
    run_rows(turning_rows, count, threads, *arguments, *fields, rows_per_chunk=_ROWS)
    return out


def cast(
    packed: Packed, pairs: Ints, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """First contacts with motions (N, 3) or (N, 6)."""
    turns = np.broadcast_to(_turns(move_a) | _turns(move_b), (count,))

    def table(chosen: npt.NDArray[np.bool_]) -> Ints:
        return pairs if len(pairs) == 1 or chosen.all() else np.ascontiguousarray(pairs[chosen])

    def linear(rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int) -> Impacts:
        out = empty_impacts(count)
        fields = (out.time, out.point, out.normal, out.status)
        run_rows(cast_rows, count, threads, packed, table(~turns), rows_a, rows_b, 0, move_a, move_b, *fields)
        return out

    def turning(rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int) -> Impacts:
        return convex_turning_cast(packed, table(turns), rows_a, rows_b, move_a, move_b, count, threads)

    return by_rotation(linear, turning, rows_a, rows_b, move_a, move_b, count)
