"""What every shape can say of itself, and the flat description (`Part`) that it hands to `packed.py`.

Shapes are data: frozen, checked once when made, in their own local frame. Queries are free functions elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from thud._core.arrays import Floats
from thud.pose import PoseLike, as_poses

if TYPE_CHECKING:
    from thud.bounds.volumes import Volume
    from thud.shapes.hull_topology import HullTopology
    from thud.shapes.triangle_mesh import TriangleMesh


# Kinds of convex parts that kernels dispatch on. Up to HULL the core (the part without its rounding radius) is a
# polytope, so GJK and EPA end exactly; from CYLINDER on the surface is curved.
SPHERE, CAPSULE, BOX, HULL, CYLINDER, CONE, ELLIPSOID, HALF_SPACE = range(8)

KIND_NAMES = ("Sphere", "Capsule", "Box", "ConvexHull", "Cylinder", "Cone", "Ellipsoid", "HalfSpace")

IDENTITY = np.array([1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0, 0, 0, 0])


@dataclass(frozen=True, slots=True)
class Bounds:
    """Axis-aligned boxes of N poses, world frame, metres."""

    lower: Floats
    """(N, 3)"""
    upper: Floats
    """(N, 3)"""


@dataclass(frozen=True, slots=True)
class Part:
    """One convex part as kernels see it: a kind, up to four numbers, a rounding radius, perhaps a hull, and its place."""

    kind: int
    parameters: tuple[float, ...]
    radius: float
    center: Floats
    """(3,) a point well inside the part, in its own frame."""
    bounding_radius: float
    """Radius about `center` of a ball that holds the part; inf for a half-space."""
    hull: HullTopology | None = None
    pose: Floats = field(default_factory=lambda: IDENTITY)
    """(12,) the part in its shape's frame."""


class Shape(ABC):
    """A closed set of points in its own frame: touching intersects."""

    __slots__ = ()

    family: ClassVar[str] = "convex"
    """What the pair table knows it by (`pairing/families.py`)."""

    is_solid: ClassVar[bool] = True
    """Whether points can lie inside, not only on the surface."""

    is_refitted: ClassVar[bool] = False
    """Whether its tree was taken over from a mesh that it is a deformation of."""

    is_ground: ClassVar[bool] = False
    """Whether it is fixed to the world: it has neither volume nor mass."""

    @abstractmethod
    def parts(self) -> list[Part]:
        """The convex parts of the shape; one for a convex shape."""

    @abstractmethod
    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        """Lower and upper corners for (N, 12) pose rows."""

    @abstractmethod
    def bounding_sphere(self) -> tuple[Floats, float]:
        """Centre (3,) in the shape's frame and radius of a ball that holds the shape, metres."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """Cubic metres."""

    @property
    @abstractmethod
    def centroid(self) -> Floats:
        """(3,) centre of volume in the shape's frame."""

    @abstractmethod
    def inertia(self, mass: float = 1.0) -> Floats:
        """(3, 3) moment of inertia about the centroid, shape's axes, for uniform density. kg m^2."""

    def bounds(self, pose: PoseLike = None) -> Bounds:
        """Tight axis-aligned boxes of the shape under one or N poses."""
        return Bounds(*self._bounds(as_poses(pose, "pose")))

    def fit(self, kind: str = "aabb", pose: PoseLike = None, *, k: int = 18, method: str = "pca") -> Volume:
        """A bounding volume of the shape at a pose: one of `thud.bounds`.

        Parameters
        ----------
        kind : "aabb" and "kdop", which are tight; "sphere", the smallest one (of a compound with curved parts: about the balls
            of its parts); "obb", by the corners of a polytope, along its own axes for a curved shape
        pose : one pose; None for the shape's own frame
        k : half-spaces of a k-DOP: 6, 14, 18 or 26
        method : "pca" or "tight", see `thud.bounds.fit_obb`
        """
        from thud.shapes.fitting import fit_shape

        return fit_shape(self, kind, pose, k, method)

    def to_mesh(self, resolution: int = 32) -> TriangleMesh:
        """The shape as triangles, for drawing and other programs: `thud.to_mesh`. Curved shapes are approximated from inside.

        resolution : sides of a circle, from 4 to 2,048
        """
        from thud.shapes.triangles import mesh_of

        return mesh_of(self, resolution)

    def _core_points(self) -> tuple[Floats, float] | None:
        """Points whose hull, grown by a radius, is the hull of the shape; None if there are none."""
        return None


def box_about(center: Floats, extent: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Boxes with the given half extents (N, 3) about the local `center` under pose rows."""
    middle = rows[:, :9].reshape(-1, 3, 3) @ center + rows[:, 9:]
    return middle - extent, middle + extent


def box_of_points(points: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Boxes about local points (V, 3) under pose rows."""
    lower, upper = np.empty((len(rows), 3)), np.empty((len(rows), 3))
    # In blocks, so that a million poses of a thousand points fit in memory.
    block = max(1, 2**22 // len(points))
    for start in range(0, len(rows), block):
        part = slice(start, start + block)
        turned = points @ np.swapaxes(rows[part, :9].reshape(-1, 3, 3), 1, 2)
        lower[part] = turned.min(axis=1) + rows[part, 9:]
        upper[part] = turned.max(axis=1) + rows[part, 9:]
    return lower, upper


def frozen(array: Floats) -> Floats:
    """A read-only copy, for the fields of shapes."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy
