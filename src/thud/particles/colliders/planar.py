"""Planar colliders, Eq. (3.5), and their bounds: planes, rectangles, discs, polygons with holes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_points, as_size, as_vector
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.element import DISC, EVERYWHERE, PLANE, POLYGON, RECTANGLE, Element, any_tangents, box_of, planar
from thud.particles.colliders.tolerances import PLANAR_POLYGON, POLYGON_AREA
from thud.particles.tolerances import LARGEST


def _unit(normal: npt.ArrayLike) -> Floats:
    vector = as_vector(normal, "normal", limit=LARGEST)
    length = float(np.linalg.norm(vector))
    if not length > 0.0:
        raise InvalidInputError("normal: expected a direction, got zero")
    return vector / length


@dataclass(frozen=True, eq=False, repr=False)
class Plane(Collider):
    """An unbounded plane.

    Parameters
    ----------
    point : (3,) any point of it, metres
    normal : (3,) of any length but zero
    """

    point: npt.ArrayLike
    normal: npt.ArrayLike

    def __post_init__(self) -> None:
        self.check_response()
        object.__setattr__(self, "point", as_vector(self.point, "point", limit=LARGEST))
        object.__setattr__(self, "normal", _unit(self.normal))

    def elements(self) -> list[Element]:
        """Itself; (s, t) are metres from `point`."""
        point, normal = np.asarray(self.point), np.asarray(self.normal)
        u, v = any_tangents(normal)
        box = EVERYWHERE.copy()
        for axis in range(3):
            if abs(normal[axis]) == 1.0:
                box[axis] = box[axis + 3] = point[axis]
        return [planar(PLANE, point, u, v, 0.0, box)]


@dataclass(frozen=True, eq=False, repr=False)
class Rectangle(Collider):
    """A rectangle, or a parallelogram: origin + s edge_u + t edge_v, s and t from 0 to 1.

    Parameters
    ----------
    origin : (3,) a corner, metres
    edge_u, edge_v : (3,) the two edges from there, metres
    """

    origin: npt.ArrayLike
    edge_u: npt.ArrayLike
    edge_v: npt.ArrayLike

    def __post_init__(self) -> None:
        self.check_response()
        for name in ("origin", "edge_u", "edge_v"):
            object.__setattr__(self, name, as_vector(getattr(self, name), name, limit=LARGEST))
        self.elements()

    def elements(self) -> list[Element]:
        """Itself."""
        o, u, v = np.asarray(self.origin), np.asarray(self.edge_u), np.asarray(self.edge_v)
        size = float(np.linalg.norm(u) + np.linalg.norm(v))
        return [planar(RECTANGLE, o, u, v, size, box_of(np.array([o, o + u, o + v, o + u + v])))]


@dataclass(frozen=True, eq=False, repr=False)
class Disc(Collider):
    """A disc: c(p) = radius - |p - center| >= 0.

    Parameters
    ----------
    center : (3,) metres
    normal : (3,) of any length but zero
    radius : metres
    """

    center: npt.ArrayLike
    normal: npt.ArrayLike
    radius: float

    def __post_init__(self) -> None:
        self.check_response()
        object.__setattr__(self, "center", as_vector(self.center, "center", limit=LARGEST))
        object.__setattr__(self, "normal", _unit(self.normal))
        object.__setattr__(self, "radius", as_size(self.radius, "radius"))

    def elements(self) -> list[Element]:
        """Itself; (s, t) from -1 to 1."""
        center, normal = np.asarray(self.center), np.asarray(self.normal)
        u, v = any_tangents(normal)
        half = self.radius * np.sqrt(np.clip(1.0 - normal * normal, 0.0, 1.0))
        box = np.concatenate([center - half, center + half])
        return [planar(DISC, center, u * self.radius, v * self.radius, self.radius, box)]


@dataclass(frozen=True, eq=False, repr=False)
class Polygon(Collider):
    """A planar polygon with holes, of any shape: what lies in an odd number of its loops.

    Parameters
    ----------
    vertices : (N, 3) the outline in order, metres, in one plane
    holes : loops of (K, 3) in the same plane
    """

    vertices: npt.ArrayLike
    holes: Sequence[npt.ArrayLike] = ()

    def __post_init__(self) -> None:
        self.check_response()
        if isinstance(self.holes, str) or not isinstance(self.holes, Iterable):
            raise InvalidInputError(f"holes: expected loops of (K, 3) points, got a {type(self.holes).__name__}")
        loops = [as_points(self.vertices, "vertices", limit=LARGEST)] + [
            as_points(hole, f"holes[{k}]", limit=LARGEST) for k, hole in enumerate(self.holes)
        ]
        for k, loop in enumerate(loops):
            if len(loop) < 3:
                raise InvalidInputError(f"{'vertices' if k == 0 else f'holes[{k - 1}]'}: expected at least 3, got {len(loop)}")
        object.__setattr__(self, "vertices", loops[0])
        object.__setattr__(self, "holes", tuple(loops[1:]))
        self.elements()

    def elements(self) -> list[Element]:
        """Itself; (s, t) are metres over the size of the outline."""
        outline = np.asarray(self.vertices)
        # Newell: the area vector of the outline, whatever its shape.
        origin = outline.mean(axis=0)
        spokes = outline - origin
        normal = np.cross(spokes, np.roll(spokes, -1, axis=0)).sum(axis=0)
        size = float(np.ptp(outline, axis=0).max())
        length = float(np.linalg.norm(normal))
        if not length > POLYGON_AREA * size * size:
            raise InvalidInputError("vertices: expected an outline that encloses an area")
        normal = normal / length
        loops = [outline] + [np.asarray(hole) for hole in self.holes]
        for k, loop in enumerate(loops):
            off = np.abs((loop - origin) @ normal)
            if off.max() > PLANAR_POLYGON * size:
                name = "vertices" if k == 0 else f"holes[{k - 1}]"
                raise InvalidInputError(f"{name}: row {int(np.argmax(off))} lies {off.max():.3g} m off the outline's plane")
        u, v = any_tangents(normal)
        frame = np.column_stack([u, v]) / size
        flat = tuple((loop - origin) @ frame for loop in loops)
        return [planar(POLYGON, origin, u * size, v * size, size, box_of(outline), flat)]
