"""Casts of a shape that turns against a displaced surface, by conservative advancement on their distance."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.constants import UNIT_ROUNDOFF
from thud.pairing import advance as turning
from thud.pairing.advance import reach_about_origin
from thud.pairing.leaves import placed
from thud.pairing.turning_reach import turning_reach
from thud.results import CastStatus, Distances, Impacts
from thud.shapes.shape import Shape
from thud.terrain.collision.tolerances import SURFACE_CAST_GAP, SURFACE_CAST_STEPS, WINDOW_ROOM, WINDOW_TURN
from thud.terrain.surface import DisplacedSurface


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
    from thud.terrain.collision.queries import cast, distance_and_rest

    extent = reach_about_origin(surface, inner_s)
    arm = turning_reach(shape, inner_o)
    # A part of what is smaller, the shape; coordinates that are large add what they are rounded by.
    size = min(shape.bounding_sphere()[1], surface.bounding_sphere()[1])
    rows_s, rows_o, move_s, move_o = (
        np.ascontiguousarray(np.broadcast_to(x, (count, x.shape[1]))) for x in (rows_s, rows_o, move_s, move_o)
    )

    def gap(rows: Floats) -> Floats:
        return SURFACE_CAST_GAP * size + 16.0 * UNIT_ROUNDOFF * (extent + np.abs(rows[:, 9:]).max(axis=1))

    def apart(place_s: Floats, place_o: Floats, many: int) -> Distances:
        found, rough = distance_and_rest(surface, shape, place_s, place_o, many, threads=threads)
        # Never more than they are apart.
        found.distance[:] = np.maximum(found.distance - rough, 0.0)
        return found

    step = np.linalg.norm(move_o[:, :3] - move_s[:, :3], axis=1)
    # A half-space has no end, and no windows.
    turn = (arm if np.isfinite(arm) else 0.0) * np.linalg.norm(move_o[:, 3:], axis=1)
    slides = (step > turn) & (turn > 0.0) & ~move_s[:, 3:].any(axis=1)

    def farther(rows: Ints, at: Floats, far: Floats, known: Floats) -> Floats:
        """The shape as it is turned in the middle of a window of time, rounded off by what turning moves any of its points by
        in half of it, goes straight on: what slides along the ground is not held up by how fast it does."""
        out = np.zeros(len(rows))
        window = np.minimum(2.0 * WINDOW_TURN * far / np.where(slides[rows], turn[rows], np.inf), 1.0 - at)
        some = np.flatnonzero(slides[rows] & (window > known) & (known > 0.0))
        if len(some) == 0:
            return out
        k, at, window = rows[some], at[some], window[some]
        place = turning.moved(rows_o[k], move_o[k], at + 0.5 * window)
        place[:, 9:] = rows_o[k, 9:] + at[:, None] * move_o[k, :3]
        hit = cast(
            surface, shape, placed(turning.moved(rows_s[k], move_s[k], at), inner_s), placed(place, inner_o), len(k),
            move_a=move_s[k, :3] * window[:, None], move_b=move_o[k, :3] * window[:, None],
            grow=0.5 * window * turn[k] + WINDOW_ROOM * far[some], threads=threads,
        )  # fmt: skip
        share = np.where(hit.status == CastStatus.MISS, 1.0, np.where(hit.status == CastStatus.HIT, hit.time, 0.0))
        out[some] = share * window
        return out

    return turning.advance(
        apart, rows_s, rows_o, move_s, move_o, inner_s, inner_o, count, reach_a=extent, reach_b=arm, gap=gap,
        steps=SURFACE_CAST_STEPS, farther=farther,
    )  # fmt: skip
