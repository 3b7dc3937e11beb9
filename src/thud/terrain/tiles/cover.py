"""A convex shape that holds a terrain, for the mid phase of a world."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from thud.pose import Pose
from thud.shapes.box import Box
from thud.shapes.compound import Compound
from thud.shapes.half_space import HalfSpace
from thud.shapes.shape import Shape
from thud.shapes.tolerances import COVER_ROOM

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain


def terrain_cover(terrain: Terrain, _meshes: str = "hull") -> Shape:
    """The box about the ground; of ground without end the half-space below its highest point."""
    low, high = terrain.box
    if math.isinf(low[2]):
        top = float(high[2])
        return HalfSpace([0.0, 0.0, 1.0], top + COVER_ROOM * abs(top))
    room = COVER_ROOM * (np.abs(low).max() + np.abs(high).max())
    return Compound([Box(0.5 * (high - low) + room)], Pose(0.5 * (low + high)))
