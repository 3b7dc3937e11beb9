"""What the geometry functions return beside `RayHits`, `RayCrossings` and `Impacts`: frozen dataclasses of arrays, metres."""

from __future__ import annotations

from dataclasses import dataclass

from thud._core.arrays import Bools, Floats
from thud._core.columns import Columns, extent


@dataclass(frozen=True, slots=True, repr=False)
class ClosestPairs(Columns):
    """Closest points of N pairs. Where a pair intersects: distance 0 and one common point."""

    distance: Floats
    """(N,) metres, never negative."""
    point_a: Floats
    """(N, 3) on or in the first of the pair."""
    point_b: Floats
    """(N, 3) on or in the second."""

    _unit = "pair"

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class Intersections(Columns):
    """What N pairs have in common: nothing, a point or a segment. Whether they meet is exact; the points are rounded."""

    intersects: Bools
    """(N,) touching counts."""
    coplanar: Bools
    """(N,) both lie in one plane (segments: on one line), so that they may share more than one point per crossing."""
    start: Floats
    """(N, 3), or (N, 2) for input in the plane: one end of the common segment; 0 where there is none."""
    end: Floats
    """(N, 3) or (N, 2) the other end; equal to `start` for a single point."""

    _unit = "pair"

    def _say(self) -> list[str]:
        return [f"{self.intersects.sum():,} intersect"]
