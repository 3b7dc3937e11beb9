"""What the geometry functions return beside `thud.results.RayHits`: frozen dataclasses of arrays, world frame, metres."""

from __future__ import annotations

from dataclasses import dataclass

from thud._core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class ClosestPairs:
    """Closest points of N pairs. Where a pair intersects: distance 0 and one common point."""

    distance: Floats
    """(N,) metres, never negative."""
    point_a: Floats
    """(N, 3) on or in the first of the pair."""
    point_b: Floats
    """(N, 3) on or in the second."""


@dataclass(frozen=True, slots=True)
class Intersections:
    """What N pairs have in common: nothing, a point or a segment. Whether they meet is exact; the points are rounded."""

    intersects: Bools
    """(N,) touching counts."""
    coplanar: Bools
    """(N,) both lie in one plane (segments: on one line), so that they may share more than one point per crossing."""
    start: Floats
    """(N, 3), or (N, 2) for input in the plane: one end of the common segment; 0 where there is none."""
    end: Floats
    """(N, 3) or (N, 2) the other end; equal to `start` for a single point."""


@dataclass(frozen=True, slots=True)
class MeshCrossings:
    """All places where N rays pass through a mesh, M in all, sorted by row, then by distance, then by triangle."""

    row: Ints
    """(M,) which ray."""
    distance: Floats
    """(M,) metres along the ray."""
    point: Floats
    """(M, 3)."""
    normal: Floats
    """(M, 3) unit normal of the triangle, by its winding."""
    triangle: Ints
    """(M,) which face."""
