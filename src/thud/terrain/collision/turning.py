"""Casts of a shape that turns against a displaced surface, by conservative advancement on their distance."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.constants import UNIT_ROUNDOFF
from thud.pairing import advance as turning
from thud.pairing.advance import reach_about_origin
from thud.results import Distances, Impacts
from thud.shapes.shape import Shape
from thud.terrain.collision.tolerances import PATCH_FLAT, SURFACE_CAST_GAP, SURFACE_CAST_STEPS
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
    from thud.terrain.collision.queries import distance

    extent = reach_about_origin(surface, inner_s)
    # A part of what is smaller, the shape; coordinates that are large add what they are rounded by.
    size = min(shape.bounding_sphere()[1], surface.bounding_sphere()[1])

    def gap(rows: Floats) -> Floats:
        # Distances know patches to PATCH_FLAT of their size, which is less than that of a primitive.
        near = SURFACE_CAST_GAP * size + 4.0 * PATCH_FLAT * surface.longest_edge
        return near + 16.0 * UNIT_ROUNDOFF * (extent + np.abs(rows[:, 9:]).max(axis=1))

    def apart(place_s: Floats, place_o: Floats, many: int) -> Distances:
        return distance(surface, shape, place_s, place_o, many, threads=threads)

    return turning.advance(
        apart, rows_s, rows_o, move_s, move_o, inner_s, inner_o, count,
        reach_a=extent, reach_b=reach_about_origin(shape, inner_o), gap=gap, steps=SURFACE_CAST_STEPS,
    )  # fmt: skip
