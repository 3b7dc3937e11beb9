"""Casts of shapes that turn against a field: by windows of time (`turning_rows.py`), or, where the field turns or the other is
a half-space, by conservative advancement on their distance (`pairing/advance.py`)."""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.bvh.height_tree import BOTTOM, SPACING_X, SPACING_Y, TOP
from thud.constants import TINY, TOUCH, UNIT_ROUNDOFF
from thud.heightfield.half_space import is_half_space
from thud.heightfield.objects import field_object
from thud.heightfield.queries import ROWS, distance, with_inside
from thud.heightfield.tolerances import TURN_ERROR, TURN_GAP, TURN_ROUNDING, TURN_STEPS, TURN_WINDOW
from thud.pairing.advance import advance, reach_about_origin
from thud.pairing.join import put_rows
from thud.pairing.leaves import placed, some_rows
from thud.pairing.motions import empty_impacts
from thud.pairing.rows import impact_fields
from thud.pairing.turning_reach import turning_reach
from thud.results import Distances, Impacts
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Shape


def turning_cast(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats,
    inner_a: Floats, inner_b: Floats, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 6); poses and motions are those of the shapes that the two stand in."""
    turns = np.broadcast_to(move_a[:, 3:].any(axis=1) | is_half_space(other), (count,))
    out = empty_impacts(count)
    for chosen, answer in ((~turns, _by_windows), (turns, _by_distances)):
        rows = np.flatnonzero(chosen)
        if len(rows):
            poses_a, poses_b, moves_a, moves_b = (some_rows(array, rows, count) for array in (rows_f, rows_o, move_a, move_b))
            given = (poses_a, poses_b, moves_a, moves_b, inner_a, inner_b)
            put_rows(out, rows, answer(field, other, *given, len(rows), threads))
    return with_inside(out, field, other, placed(rows_f, inner_a), placed(rows_o, inner_b), count, threads)


def _by_windows(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, move_f: Floats, move_o: Floats, inner_f: Floats,
    inner_o: Floats, count: int, threads: int | None,
) -> Impacts:  # fmt: skip
    """Of a field that does not turn."""
    from thud.heightfield.turning_rows import field_turning_rows

    thing, numbers = field_object(other), field.grid.numbers
    frames = []
    for inner, origin in ((inner_f, field.grid.origin), (inner_o, thing.tree.origin)):
        frame = inner[None].copy()
        frame[0, 9:] += inner[:9].reshape(3, 3) @ origin
        frames.append(frame)
    far = reach_about_origin(other, inner_o) * (1.0 + TURN_ROUNDING)
    cell = float(max(numbers[SPACING_X], numbers[SPACING_Y]))
    error = TURN_ERROR * (far + cell + float(numbers[TOP] - numbers[BOTTOM]))
    out = empty_impacts(count)
    arguments = (field.grid, thing, *frames, far, TURN_WINDOW * cell, error, TURN_STEPS)
    fields = (rows_f, rows_o, move_f, move_o, impact_fields(out))
    run_rows(field_turning_rows, count, threads, *arguments, *fields, rows_per_chunk=ROWS)
    return out


def _by_distances(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, move_a: Floats, move_b: Floats, inner_a: Floats,
    inner_b: Floats, count: int, threads: int | None,
) -> Impacts:  # fmt: skip
    """Of a field that turns, or a half-space."""
    center, radius = field.top_ball
    extent = float(np.linalg.norm(inner_a[:9].reshape(3, 3) @ center + inner_a[9:])) + radius
    plane = is_half_space(other)
    size = min(field.bounding_sphere()[1], other.bounding_sphere()[1])
    size = radius if size == math.inf else size

    def gap(rows: Floats) -> Floats:
        return TURN_GAP * size + 16.0 * UNIT_ROUNDOFF * (extent + np.abs(rows[:, 9:]).max(axis=1))

    def apart(place_f: Floats, place_o: Floats, many: int) -> Distances:
        return distance(field, other, place_f, place_o, many, threads=threads)

    turn = np.linalg.norm(move_a[:, 3:], axis=1) + np.linalg.norm(move_b[:, 3:], axis=1)
    turn = np.broadcast_to(turn, (count,))

    def to_horizon(place_f: Floats, place_o: Floats, rows: Ints) -> Floats:
        """Until the half-space's normal may point upwards in the field's frame: then it holds ground without end, however
        deep."""
        normal = place_o[:, :9].reshape(-1, 3, 3) @ np.array(other.parts()[0].parameters[:3])
        up = np.einsum("ni,ni->n", normal, place_f[:, :9].reshape(-1, 3, 3)[:, :, 2])
        angle = np.arcsin(np.clip(-up, 0.0, 1.0))
        # A little further at the horizon itself, so that it is crossed.
        return (angle + 4.0 * TOUCH) / np.maximum(turn[rows], TINY)

    # Against a half-space that faces it, the ground below the triangles is never nearer than they are: what counts is their
    # reach.
    unbounded = field.thickness is None
    reach = extent if plane and unbounded else reach_about_origin(field, inner_a)
    return advance(
        apart, rows_f, rows_o, move_a, move_b, inner_a, inner_b, count,
        reach_a=reach, reach_b=turning_reach(other, inner_b), gap=gap, steps=TURN_STEPS,
        longest=to_horizon if plane and unbounded else None,
    )  # fmt: skip
