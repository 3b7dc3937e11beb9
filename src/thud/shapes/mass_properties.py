"""Mass, centre of mass and moment of inertia of solid shapes of uniform density.

Each shape knows its own volume, centre and inertia: spheres, boxes and the like in closed form; hulls and closed meshes as sums
of tetrahedra from one point to each triangle; height fields as sums of prisms; compounds by the parallel-axis theorem. Here is
what they have in common, and what has no such values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError, InvalidShapeError, UnboundedShapeError
from thud.gates import as_positive, kind_of
from thud.shapes.compound import Compound
from thud.shapes.shape import Shape, frozen
from thud.shapes.tolerances import LEAST_VOLUME
from thud.shapes.triangle_mesh import TriangleMesh


@dataclass(frozen=True, slots=True, repr=False)
class MassProperties:
    """Of one shape, in its own frame."""

    mass: float
    """kg"""
    volume: float
    """Cubic metres."""
    center_of_mass: Floats
    """(3,) metres."""
    inertia: Floats
    """(3, 3) kg m^2, about the centre of mass, along the shape's axes."""

    def __repr__(self) -> str:
        def said(values: Floats) -> str:
            return f"[{' '.join(f'{value:.4g}' for value in values)}]"

        moments = said(np.asarray(np.linalg.eigvalsh(self.inertia), dtype=np.float64))
        return (
            f"MassProperties({self.mass:.4g} kg, {self.volume:.4g} m^3, centre {said(self.center_of_mass)} m, "
            f"principal moments {moments} kg m^2)"
        )


def mass_properties(shape: Shape, density: float = 1000.0) -> MassProperties:
    """Mass, volume, centre of mass and moment of inertia of a solid of uniform density.

    Shapes of a compound that overlap count twice where they do. An open mesh, and one whose triangles face both ways, have no
    volume: an `InvalidShapeError`. A `HalfSpace` and ground without end have none either: an `UnboundedShapeError`.

    Parameters
    ----------
    shape : a convex shape, a hull, a closed mesh, a height field with a thickness, or a compound of such
    density : kg / m^3
    """
    if not isinstance(shape, Shape):
        raise InvalidInputError(f"shape: expected a thud shape, got {kind_of(shape)}")
    density = as_positive(density, "density")
    check_solid(shape, "shape")
    volume = shape.volume
    mass = density * volume
    if not 0.0 < mass < np.inf:
        raise InvalidShapeError(f"shape, density: {volume:g} m^3 have a mass of {mass:g} kg; expected a positive number")
    return MassProperties(mass, volume, shape.centroid, _symmetric(shape.inertia(mass)))


def _symmetric(inertia: Floats) -> Floats:
    """To the last bit."""
    return 0.5 * (inertia + inertia.T)


def check_solid(shape: Shape, name: str) -> None:
    """Named error unless the shape, and every shape of a compound, is a bounded solid."""
    if isinstance(shape, Compound):
        for row, part in enumerate(shape.shapes):
            check_solid(part, f"{name}: part {row}")
    elif isinstance(shape, TriangleMesh):
        if not shape.is_closed:
            raise InvalidShapeError(
                f"{name}: a mesh with {len(shape.problems().open_edges)} open edges is a surface without volume; close it "
                "(see mesh.problems()), or give mass and inertia"
            )
        flipped = len(shape.problems().flipped_edges)
        if flipped:
            raise InvalidShapeError(
                f"{name}: at {flipped} edges the triangles of this mesh face different ways, so that its volume is not known; "
                "turn them (see mesh.problems()), or give mass and inertia"
            )
        if not shape.volume > LEAST_VOLUME * float(shape.half_extents.max()) ** 3:
            raise InvalidShapeError(f"{name}: this closed mesh encloses no volume; give mass and inertia")
    elif shape.is_ground or not np.isfinite(shape.bounding_sphere()[1]):
        raise UnboundedShapeError(
            f"{name}: a {type(shape).__name__} has no end, and so neither volume nor mass; it can only be static"
        )


@lru_cache(maxsize=256)
def own_moments(shape: Shape) -> tuple[Floats, Floats]:
    """(centre (3,), inertia of unit mass (3, 3) about it) of a shape that was given a mass: of an open mesh as of a thin shell.
    NaN for a shape that has none. Kept by identity: shapes are frozen."""
    try:
        # A compound of open meshes alone has no volume to weigh them by.
        with np.errstate(divide="ignore", invalid="ignore"):
            center, inertia = shape.centroid, _symmetric(shape.inertia(1.0))
    except UnboundedShapeError:
        center, inertia = np.full(3, np.nan), np.full((3, 3), np.nan)
    known = np.isfinite(center).all() and np.isfinite(inertia).all()
    return frozen(center if known else np.full(3, np.nan)), frozen(inertia if known else np.full((3, 3), np.nan))
