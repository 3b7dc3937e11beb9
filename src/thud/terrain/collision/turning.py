"""Casts of a shape that turns against a displaced surface: by windows of time (`turning_rows.py`), or, where the surface turns
or the shape is a half-space, by conservative advancement on their distance (`pairing/advance.py`)."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud._core.threads import run_rows
from thud.constants import UNIT_ROUNDOFF
from thud.pairing import advance as by_steps
from thud.pairing.advance import reach_about_origin
from thud.pairing.join import put_rows
from thud.pairing.leaves import placed, some_rows
from thud.pairing.motions import empty_impacts
from thud.pairing.rows import impact_fields
from thud.pairing.turning_reach import turning_reach
from thud.results import Distances, Impacts
from thud.shapes.shape import Shape
from thud.terrain.collision.query_object import query_object
from thud.terrain.collision.tolerances import (
    SURFACE_CAST_GAP,
    SURFACE_CAST_STEPS,
    SURFACE_TURN_WINDOW,
    SURFACE_TURN_WINDOWS,
)
from thud.terrain.surface import DisplacedSurface

#: Rows that are worth a hand-over to another thread.
_ROWS = 8


def advance(
    surface: DisplacedSurface,
    shape: Shape,
    rows_s: Floats,
    rows_o: Floats,
    move_s: Floats,
    move_o: Floats,
    inner_s: Floats,
    inner_o: Floats,
    count: int,
    threads: int | None,
) -> Impacts:
    """First contacts with motions (N, 6) of the frames that the two stand in at (12,) inner poses."""
    endless = not np.isfinite(shape.bounding_sphere()[1])
    turns = np.broadcast_to(move_s[:, 3:].any(axis=1) | endless, (count,))
    out = empty_impacts(count)
    for chosen, answer in ((~turns, _by_windows), (turns, _by_distances)):
        rows = np.flatnonzero(chosen)
        if len(rows):
            poses_a, poses_b, moves_a, moves_b = (some_rows(array, rows, count) for array in (rows_s, rows_o, move_s, move_o))
            given = (poses_a, poses_b, moves_a, moves_b, inner_s, inner_o)
            put_rows(out, rows, answer(surface, shape, *given, len(rows), threads))
    return out


def _by_windows(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, move_s: Floats, move_o: Floats, inner_s: Floats,
    inner_o: Floats, count: int, threads: int | None,
) -> Impacts:  # fmt: skip
    """Of a surface that does not turn."""
    from thud.terrain.collision.turning_rows import surface_turning_rows

    out = empty_impacts(count)
    near = SURFACE_TURN_WINDOW * shape.bounding_sphere()[1]
    arguments = (surface.arrays, query_object(shape), inner_o[None].copy(), near, SURFACE_TURN_WINDOWS)
    fields = (placed(rows_s, inner_s), rows_o, move_s, move_o, impact_fields(out))
    run_rows(surface_turning_rows, count, threads, *arguments, *fields, rows_per_chunk=_ROWS)
    return out


def _by_distances(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, move_s: Floats, move_o: Floats, inner_s: Floats,
    inner_o: Floats, count: int, threads: int | None,
) -> Impacts:  # fmt: skip
    """Of a surface that turns, or a half-space."""
    from thud.terrain.collision.queries import distance_and_rest

    extent = reach_about_origin(surface, inner_s)
    # A part of what is smaller, the shape; coordinates that are large add what they are rounded by.
    size = min(shape.bounding_sphere()[1], surface.bounding_sphere()[1])

    def gap(rows: Floats) -> Floats:
        return SURFACE_CAST_GAP * size + 16.0 * UNIT_ROUNDOFF * (extent + np.abs(rows[:, 9:]).max(axis=1))

    def apart(place_s: Floats, place_o: Floats, many: int) -> Distances:
        found, rough = distance_and_rest(surface, shape, place_s, place_o, many, threads=threads)
        # Never more than they are apart.
        found.distance[:] = np.maximum(found.distance - rough, 0.0)
        return found

    return by_steps.advance(
        apart, rows_s, rows_o, move_s, move_o, inner_s, inner_o, count, reach_a=extent, reach_b=turning_reach(shape, inner_o),
        gap=gap, steps=SURFACE_CAST_STEPS,
    )  # fmt: skip
