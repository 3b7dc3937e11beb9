"""Casts of shapes that turn against a field, by conservative advancement on their distance (`pairing/advance.py`)."""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.constants import TINY, TOUCH, UNIT_ROUNDOFF
from thud.heightfield.half_space import is_half_space
from thud.heightfield.queries import distance, with_inside
from thud.heightfield.tolerances import TURN_GAP, TURN_STEPS
from thud.pairing.advance import advance, reach_about_origin
from thud.pairing.leaves import placed
from thud.results import Distances, Impacts
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Shape


def turning_cast(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, move_a: Floats, move_b: Floats,
    inner_a: Floats, inner_b: Floats, threads: int | None,
) -> Impacts:  # fmt: skip
    """First contacts with motions (N, 6); poses and motions are those of the shapes that the two stand in."""
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
    out = advance(
        apart, rows_f, rows_o, move_a, move_b, inner_a, inner_b, count,
        reach_a=reach, reach_b=reach_about_origin(other, inner_b), gap=gap, steps=TURN_STEPS,
        longest=to_horizon if plane and unbounded else None,
    )  # fmt: skip
    return with_inside(out, field, other, placed(rows_f, inner_a), placed(rows_o, inner_b), count, threads)
