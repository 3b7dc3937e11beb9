"""The gate of `Sticks`: what it is told, checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, number_array, whole_array
from thud.constants import LEAST_SIZE
from thud.dynamics.colouring import colour_pairs, sort_colours
from thud.errors import InvalidInputError
from thud.gates import as_flags, as_points, as_vector, one_or

METHODS = ("xpbd", "slides")

#: Sub-steps and iterations of each.
_COUNTS = {"xpbd": (8, 1), "slides": (1, 16)}


class Asked(NamedTuple):
    """What `Sticks` is given."""

    points: npt.ArrayLike
    sticks: npt.ArrayLike
    faces: npt.ArrayLike | None
    mass: npt.ArrayLike
    rest: npt.ArrayLike | None
    compliance: npt.ArrayLike
    mode: npt.ArrayLike
    tear: npt.ArrayLike
    collide: npt.ArrayLike | None
    pinned: npt.ArrayLike | None
    velocity: npt.ArrayLike | None
    gravity: npt.ArrayLike | None
    method: str
    substeps: int | None
    iterations: int | None
    mask: int
    ignore: npt.ArrayLike | None


class Given(NamedTuple):
    """The same, checked."""

    position: Floats
    sticks: Ints
    faces: Ints
    mass: Floats
    rest: Floats
    compliance: Floats
    mode: Ints
    tear: Floats
    collide: Bools
    pinned: Ints
    velocity: Floats
    gravity: Floats | None
    method: str
    substeps: int
    iterations: int
    mask: int
    ignore: Ints


def as_indices(value: npt.ArrayLike, name: str, count: int) -> Ints:
    """(M,) indices of points, or of sticks."""
    rows = np.atleast_1d(whole_array(value, name))
    if rows.ndim != 1:
        raise InvalidInputError(f"{name}: expected one index or (M,), got shape {rows.shape}")
    wrong = np.flatnonzero((rows < 0) | (rows >= count))
    if len(wrong):
        raise InvalidInputError(f"{name}: row {wrong[0]} is {rows[wrong[0]]}; expected indices from 0 to {count - 1}")
    return rows


def as_each(
    value: npt.ArrayLike, name: str, count: int, *, least: float = 0.0, above: bool = False, infinite: bool = False
) -> Floats:
    """(count,) numbers from one or so many, of at least `least`, or above it."""
    array = number_array(value, name).astype(np.float64)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != count):
        raise InvalidInputError(f"{name}: expected one number or ({count},), got shape {array.shape}")
    whole = np.array(np.broadcast_to(array, (count,)), order="C")
    bad = ~(whole > least if above else whole >= least)
    if not infinite:
        bad |= np.isinf(whole)
    wrong = np.flatnonzero(bad)
    if len(wrong):
        expected = f"{'above' if above else 'of at least'} {least:g}"
        raise InvalidInputError(f"{name}: row {wrong[0]} is {whole[wrong[0]]:g}; expected numbers {expected}")
    return whole


def check_world(world: object) -> None:
    """Named error unless it can be asked what is where."""
    if world is not None and not hasattr(world, "near"):
        raise InvalidInputError(f"world: expected a thud.World or None, got a {type(world).__name__}")


def colour_order(sticks: Ints, count: int) -> tuple[Ints, Ints]:
    """(K,) sticks by colours, and (C + 1,) where each begins."""
    rows, colour = np.ascontiguousarray(sticks), np.zeros(len(sticks), np.int64)
    colours = int(colour_pairs(rows, np.ones(count), np.zeros(count, np.uint64), colour)) if len(sticks) else 0
    order, starts = np.empty(len(sticks), np.int64), np.zeros(colours + 1, np.int64)
    if len(sticks):
        sort_colours(colour, np.zeros(len(sticks), np.int64), colours, 1, np.empty(colours + 1, np.int64), order, starts)
    return order, starts


def gate(asked: Asked) -> Given:
    """Check all; a named error for what is wrong."""
    position = as_points(asked.points, "points", least=1).copy()
    count = len(position)
    sticks = _corners(asked.sticks, "sticks", 2, count)
    faces = np.empty((0, 3), np.int64) if asked.faces is None else _corners(asked.faces, "faces", 3, count)
    many = len(sticks)
    lengths = np.linalg.norm(position[sticks[:, 1]] - position[sticks[:, 0]], axis=1)
    if asked.rest is None:
        short = np.flatnonzero(lengths < LEAST_SIZE)
        if len(short):
            k = int(short[0])
            raise InvalidInputError(
                f"sticks: row {k} joins points {sticks[k].tolist()} that are {lengths[k]:g} m apart; expected at least"
                f" {LEAST_SIZE:g} m, or give rest"
            )
        rest = lengths
    else:
        rest = as_each(asked.rest, "rest", many, least=LEAST_SIZE)
    mode = whole_array(asked.mode, "mode")
    if mode.ndim > 1 or (mode.ndim == 1 and len(mode) != many) or not np.isin(mode, (-1, 0, 1)).all():
        raise InvalidInputError(f"mode: expected 0, 1 or -1, one or ({many},), got {asked.mode!r}")
    if asked.collide is None:
        collide = np.full(many, asked.faces is None)
    else:
        collide = as_flags(asked.collide, "collide")
        if collide.ndim > 1 or (collide.ndim == 1 and len(collide) != many):
            raise InvalidInputError(f"collide: expected one or ({many},) bool, got shape {collide.shape}")
    velocity = np.zeros((count, 3))
    if asked.velocity is not None:
        given = as_points(asked.velocity, "velocity")
        if len(given) not in (1, count):
            raise InvalidInputError(f"velocity: expected {one_or(count)}, got {len(given)}")
        velocity[:] = given
    if asked.method not in METHODS:
        raise InvalidInputError(f"method: expected one of {', '.join(METHODS)}, got {asked.method!r}")
    substeps, iterations = (
        _count(value, name, usual)
        for value, name, usual in zip(
            (asked.substeps, asked.iterations), ("substeps", "iterations"), _COUNTS[asked.method], strict=True
        )
    )
    if isinstance(asked.mask, bool) or not isinstance(asked.mask, (int, np.integer)):
        raise InvalidInputError(f"mask: expected a whole number, the bits of layers, got {asked.mask!r}")
    pinned = np.empty(0, np.int64) if asked.pinned is None else as_indices(asked.pinned, "pinned", count)
    ignore = np.empty(0, np.int64) if asked.ignore is None else np.atleast_1d(whole_array(asked.ignore, "ignore"))
    return Given(
        position, sticks, faces, as_each(asked.mass, "mass", count, above=True), rest,
        as_each(asked.compliance, "compliance", many), np.array(np.broadcast_to(mode, (many,)), dtype=np.int64),
        as_each(asked.tear, "tear", many, infinite=True), np.array(np.broadcast_to(collide, (many,))), pinned, velocity,
        None if asked.gravity is None else as_vector(asked.gravity, "gravity"), asked.method, substeps, iterations,
        int(asked.mask), ignore,
    )  # fmt: skip


def _corners(value: npt.ArrayLike, name: str, width: int, count: int) -> Ints:
    """(M, width) different points."""
    rows = whole_array(value, name)
    rows = rows.reshape(0, width) if rows.size == 0 else rows
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InvalidInputError(f"{name}: expected whole numbers of shape (M, {width}), got shape {rows.shape}")
    wrong = np.flatnonzero(((rows < 0) | (rows >= count)).any(axis=1))
    if len(wrong):
        raise InvalidInputError(
            f"{name}: row {wrong[0]} is {rows[wrong[0]].tolist()}; expected indices of points, from 0 to {count - 1}"
        )
    same = np.zeros(len(rows), np.bool_)
    for k in range(width):
        same |= rows[:, k] == rows[:, (k + 1) % width]
    if same.any():
        k = int(np.argmax(same))
        raise InvalidInputError(f"{name}: row {k} is {rows[k].tolist()}; expected different points")
    return rows


def _count(value: int | None, name: str, usual: int) -> int:
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInputError(f"{name}: expected a whole number of at least 1, got {value!r}")
    return int(value)
