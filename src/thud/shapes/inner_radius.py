"""How thick a shape is: what passes no farther into it than this has not passed through."""

from __future__ import annotations

import numpy as np

from thud.shapes.compound import Compound
from thud.shapes.half_space import HalfSpace
from thud.shapes.mass_properties import own_moments
from thud.shapes.shape import Shape


def inner_radius(shape: Shape) -> float:
    """Metres; 0 of meshes and ground, which may be thin anywhere; of a compound that of its thinnest part.

    Half the thickness of the box of the same mass and moments: exact for boxes, 0.77 of a ball's radius.
    """
    if isinstance(shape, HalfSpace):
        return float("inf")
    if isinstance(shape, Compound):
        return min(inner_radius(part) for part in shape.shapes)
    if shape.family != "convex":
        return 0.0
    moments = np.linalg.eigvalsh(own_moments(shape)[1])
    # Of a unit mass the mean square along the axis of the largest moment.
    return float(np.sqrt(3.0 * max(0.5 * (moments[0] + moments[1] - moments[2]), 0.0)))
