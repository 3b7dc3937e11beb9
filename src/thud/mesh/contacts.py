"""Contacts of meshes: the patches of their overlap (`mesh/patches.py`), and one point where they are apart by up to the margin.
What the pair table calls."""

from __future__ import annotations

from thud._core.arrays import Floats
from thud.mesh.convex_patches import convex_mesh_patches
from thud.mesh.dispatch import convex_distance, distance
from thud.mesh.patches import mesh_patches
from thud.pairing.swap import swapped_contacts
from thud.results import Contacts
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh


def mesh_mesh_contacts(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *,
    margin: float, max_points: int, threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points of two meshes."""
    gap = distance(a, b, rows_a, rows_b, count, reach=margin, threads=threads)
    return mesh_patches(a, b, rows_a, rows_b, count, gap, max_points, threads)


def convex_mesh_contacts(
    a: Shape, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *,
    margin: float, max_points: int, threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points of a convex shape and a mesh."""
    gap = convex_distance(a, b, rows_a, rows_b, count, reach=margin, threads=threads)
    return convex_mesh_patches(a, b, rows_a, rows_b, count, gap, max_points, threads)


def mesh_convex_contacts(
    a: TriangleMesh, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *,
    margin: float, max_points: int, threads: int | None,
) -> Contacts:  # fmt: skip
    """The other way round."""
    options = {"margin": margin, "max_points": max_points, "threads": threads}
    return swapped_contacts(convex_mesh_contacts(b, a, rows_b, rows_a, count, **options))  # type: ignore[arg-type]
