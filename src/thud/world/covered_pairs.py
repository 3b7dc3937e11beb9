"""Queries of two shapes that the kernels of a world know by their covers: meshes, compounds with meshes, displaced surfaces."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud import queries
from thud.continuous import mesh_contacts
from thud.continuous import mesh_dispatch as mesh_casts
from thud.continuous.mesh_depth import cover, signed_distance
from thud.narrowphase import mesh_dispatch
from thud.narrowphase.pair_cache import PairCache
from thud.pose import Pose
from thud.results import Contacts, Distances, Impacts
from thud.shapes.box import Box
from thud.shapes.compound import Compound
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.surface import DisplacedSurface

Floats = npt.NDArray[np.float64]

#: A surface's cover is wider by this part of its coordinates, so that what touches the surface touches the cover, and so that
#: that of a flat surface has a volume.
_ROOM = 1e-9


def is_covered(shape: Shape) -> bool:
    """Whether kernels have a cover of the shape, not the shape itself."""
    return isinstance(shape, DisplacedSurface) or mesh_dispatch.has_mesh(shape)


def has_surface_inside(shape: Shape) -> bool:
    """Whether a compound has a displaced surface among its parts, at any depth."""
    if not isinstance(shape, Compound):
        return False
    return any(isinstance(part, DisplacedSurface) or has_surface_inside(part) for part in shape.shapes)


def cover_of(shape: Shape, meshes: str) -> Shape:
    """A convex shape that holds the shape; of a surface its box, ground included. meshes: "hull", "box", or "auto": the box of
    one that was deformed (it may be another in the next frame), else the hull."""
    changes = isinstance(shape, TriangleMesh) and (meshes == "box" or (meshes == "auto" and shape.is_refitted))
    if not changes and not isinstance(shape, DisplacedSurface):
        return cover(shape)
    box = shape.bounds()
    lower, upper = box.lower[0], box.upper[0]
    room = _ROOM * (np.abs(lower).max() + np.abs(upper).max() + 1.0)
    # Quicker than the hull of its corners.
    return Compound([Box(0.5 * (upper - lower) + room)], Pose(0.5 * (lower + upper)))


def _with_surface(a: Shape, b: Shape) -> bool:
    return isinstance(a, DisplacedSurface) or isinstance(b, DisplacedSurface)


def intersects(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, threads: int | None, cache: PairCache | None
) -> npt.NDArray[np.bool_]:
    """As `thud.intersects`, for (N, 12) poses of both."""
    if _with_surface(a, b):
        return queries.intersects(a, b, Pose.from_rows(rows_a), Pose.from_rows(rows_b), threads=threads, cache=cache)
    return mesh_dispatch.intersects(a, b, rows_a, rows_b, count, threads, cache)


def distance(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, signed: bool, reach: float, threads: int | None
) -> Distances:
    """As `thud.distance`."""
    if _with_surface(a, b):
        poses = Pose.from_rows(rows_a), Pose.from_rows(rows_b)
        return queries.distance(a, b, *poses, signed=signed, max_distance=reach, threads=threads)
    query = signed_distance if signed else mesh_dispatch.distance
    return query(a, b, rows_a, rows_b, count, reach=reach, threads=threads)


def contacts(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, margin: float, max_points: int, threads: int | None
) -> Contacts:
    """As `thud.contacts`."""
    if _with_surface(a, b):
        poses = Pose.from_rows(rows_a), Pose.from_rows(rows_b)
        return queries.contacts(a, b, *poses, margin=margin, max_points=max_points, threads=threads)
    return mesh_contacts.contacts(a, b, rows_a, rows_b, count, margin=margin, max_points=max_points, threads=threads)


def cast(
    a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, move_a: Floats, move_b: Floats, count: int, threads: int | None
) -> Impacts:
    """As `thud.cast`, for motions (N, 6)."""
    if _with_surface(a, b):
        return queries.cast(a, b, Pose.from_rows(rows_a), Pose.from_rows(rows_b), move_a, move_b, threads=threads)
    return mesh_casts.cast(a, b, rows_a, rows_b, move_a, move_b, count, threads)
