"""Motions over a step: the gate, and rows that turn apart from those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.constants import FARTHEST_POSE
from thud.errors import InvalidInputError
from thud.gates import as_points
from thud.pairing.families import PACKED
from thud.pairing.join import put_rows
from thud.pairing.leaves import some_rows
from thud.pairing.tolerances import TURN_LARGEST
from thud.pairing.turning_reach import turning_reach
from thud.pose import Pose
from thud.results import Impacts
from thud.shapes.shape import Shape


def empty_impacts(count: int) -> Impacts:
    """Results of `count` rows, to be filled; the depths are 0."""
    points = np.empty((count, 3)), np.empty((count, 3))
    return Impacts(np.empty(count), *points, np.empty(count, dtype=np.uint8), np.zeros(count))


def as_motion(motion: npt.ArrayLike, name: str) -> Floats:
    """The gate of motions: (N, 3) displacements, or (N, 6) with a rotation vector; 0 is at rest."""
    if isinstance(motion, Pose):
        raise InvalidInputError(f"{name}: expected displacements, (3,) or (6,) or rows of these, got a Pose")
    if np.ndim(motion) == 0 and motion == 0:
        return np.zeros((1, 3))
    width = np.shape(motion)[-1:]
    if width not in ((3,), (6,)) or np.ndim(motion) > 2:
        raise InvalidInputError(
            f"{name}: expected shape (3,) or (N, 3), or (6,) or (N, 6) with a rotation vector, got {np.shape(motion)}"
        )
    rows = as_points(motion, name, width=width[0], limit=FARTHEST_POSE)
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


def as_moved(shape: Shape, move: Floats) -> Floats:
    """The motion without a rotation that moves nothing: a ball about its own origin sweeps the same whether it turns or not."""
    if move.shape[1] == 3 or shape.family not in PACKED:
        return move
    return _straight(move) if len(shape.parts()) == 1 and turning_reach(shape) == 0.0 else move


#: Which of "cast" and "turning_cast", the rows (None: all), poses and motions of both, their number -> first contacts.
Caster = Callable[[str, Any, Floats, Floats, Floats, Floats, int], Impacts]


def by_rotation(cast: Caster, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int) -> Impacts:
    """Rows in which neither shape turns by "cast", with motions (N, 3), the others by "turning_cast", with (N, 6).

    So a rotation of zero gives the bytes of the linear cast.
    """
    turns = np.broadcast_to(_turns(move_a) | _turns(move_b), (count,))
    if not turns.any():
        return cast("cast", None, rows_a, rows_b, _straight(move_a), _straight(move_b), count)
    if turns.all():
        return cast("turning_cast", None, rows_a, rows_b, _with_rotation(move_a), _with_rotation(move_b), count)
    out = empty_impacts(count)
    for query, chosen, form in (("cast", ~turns, _straight), ("turning_cast", turns, _with_rotation)):
        rows = np.flatnonzero(chosen)
        poses = [some_rows(array, rows, count) for array in (rows_a, rows_b)]
        moves = [form(some_rows(array, rows, count)) for array in (move_a, move_b)]
        put_rows(out, rows, cast(query, rows, poses[0], poses[1], moves[0], moves[1], len(rows)))
    return out
