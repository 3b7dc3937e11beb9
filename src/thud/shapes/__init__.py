"""The shapes as frozen dataclasses, one a file, and `packed.py`, which turns any list of them into flat arrays."""

from thud.shapes.box import Box
from thud.shapes.capsule import Capsule
from thud.shapes.compound import Compound
from thud.shapes.cone import Cone
from thud.shapes.convex_hull import ConvexHull
from thud.shapes.cylinder import Cylinder
from thud.shapes.ellipsoid import Ellipsoid
from thud.shapes.half_space import HalfSpace
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Bounds, Shape
from thud.shapes.sphere import Sphere
from thud.shapes.sweeping import sweep, swept_bounds
from thud.shapes.triangle_mesh import TriangleMesh

__all__ = [
    "Bounds",
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "ConvexHull",
    "Cylinder",
    "Ellipsoid",
    "HalfSpace",
    "HeightField",
    "Shape",
    "Sphere",
    "TriangleMesh",
    "sweep",
    "swept_bounds",
]


def __dir__() -> list[str]:
    return sorted(__all__)
