"""Convex hull of a point set."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.constants import LARGEST_SIZE, LEAST_SIZE
from thud.gates import as_points, check_extent
from thud.shapes.hull_topology import HullTopology, hull_topology
from thud.shapes.shape import HULL, Part, Shape, box_of_points, frozen


@dataclass(frozen=True, eq=False)
class ConvexHull(Shape):
    """Solid convex hull of points.

    Parameters
    ----------
    points : (N, 3) metres, spanning a volume; those inside the hull are dropped
    """

    points: npt.ArrayLike

    def __post_init__(self) -> None:
        points = frozen(as_points(self.points, "points", limit=LARGEST_SIZE, least=1))
        check_extent(points, "points", LEAST_SIZE)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "topology", hull_topology(points))

    topology: HullTopology = field(default=None, init=False, repr=False)  # type: ignore[assignment]

    def __repr__(self) -> str:
        topology = self.topology
        return f"ConvexHull({len(topology.vertices)} vertices, {len(topology.triangles)} triangles)"

    @property
    def vertices(self) -> Floats:
        """(V, 3) the corners of the hull."""
        return self.topology.vertices

    @cached_property
    def _moments(self) -> tuple[float, Floats, Floats]:
        return polyhedron_moments(self.topology.vertices, self.topology.triangles)

    def parts(self) -> list[Part]:
        """A polytope."""
        center, radius = self.bounding_sphere()
        return [Part(HULL, (), 0.0, center, radius, self.topology)]

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        return box_of_points(self.topology.vertices, rows)

    def _core_points(self) -> tuple[Floats, float]:
        return self.topology.vertices, 0.0

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the centroid."""
        center = self.centroid
        return center, float(np.linalg.norm(self.topology.vertices - center, axis=1).max())

    @property
    def volume(self) -> float:
        """Sum over tetrahedra from a corner to each triangle."""
        return self._moments[0]

    @property
    def centroid(self) -> Floats:
        """Centre of volume."""
        return self._moments[1].copy()

    def inertia(self, mass: float = 1.0) -> Floats:
        """From the second moments of the tetrahedra."""
        return self._moments[2] * mass


def polyhedron_moments(vertices: Floats, triangles: npt.NDArray[np.int64]) -> tuple[float, Floats, Floats]:
    """Volume, centroid and inertia per unit mass about the centroid of a closed, outward-oriented polyhedron."""
    origin = vertices.mean(axis=0)
    a, b, c = (vertices[triangles[:, k]] - origin for k in range(3))
    six_volumes = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = six_volumes.sum() / 6.0
    centroid = ((a + b + c) * six_volumes[:, None]).sum(axis=0) / (24.0 * volume)
    # Second moments about the centroid: the integral of x x^T over the tetrahedron (p0, p1, p2, p3) is
    # V/20 (sum_i p_i p_i^T + (sum_i p_i)(sum_i p_i)^T).
    p = np.stack([a - centroid, b - centroid, c - centroid, np.broadcast_to(-centroid, a.shape)], axis=1)
    total = p.sum(axis=1)
    moments = np.einsum("t,tki,tkj->ij", six_volumes, p, p) + np.einsum("t,ti,tj->ij", six_volumes, total, total)
    moments /= 120.0 * volume
    return float(volume), centroid + origin, np.eye(3) * np.trace(moments) - moments
