"""Contacts of a field and a convex shape or a mesh, from checked arguments to kernels. For the pair table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from thud._core.arrays import Bools, Floats
from thud._core.threads import run_rows
from thud.heightfield import half_space
from thud.heightfield.half_space import is_half_space
from thud.heightfield.objects import field_object
from thud.heightfield.points import contains
from thud.heightfield.queries import ROWS, ground_inside
from thud.mesh.manifolds.contacts import collect, packed_with_triangle, with_contained
from thud.mesh.manifolds.mesh_side import mesh_side
from thud.mesh.manifolds.rows import ManifoldRows
from thud.mesh.manifolds.tolerances import PATCH_POINTS, SURE_OF
from thud.pairing.families import MESH
from thud.results import Contacts
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Shape


def contacts(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, margin: float, max_points: int,
    nearest: bool = False, threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points of a field and a convex shape or a mesh. nearest: in a step of a world depths up to a part of the margin
    are deep enough."""
    if is_half_space(other):
        return half_space.contacts(field, other, rows_f, rows_o, count, margin=margin, max_points=max_points, threads=threads)
    kernel, bodies = _kernel_and_bodies(other)
    limit = min(max_points, PATCH_POINTS)

    def rows(reach: float, poses_f: Floats, poses_o: Floats, _former: Any, room: int, out: ManifoldRows) -> None:
        # A mesh's are compared with what they say without a margin.
        sure = (SURE_OF * reach if nearest else 0.0,) if other.family == MESH else ()
        arguments = (field.grid, *bodies, poses_f, poses_o, reach, *sure, limit, room, out)
        run_rows(kernel, len(out.counts), threads, *arguments, rows_per_chunk=ROWS)

    def inside(_field: Any, _other: Any, poses_f: Floats, poses_o: Floats, number: int) -> Bools:
        if other.family == MESH:
            return ground_inside(field, other, poses_f, poses_o, number, threads)[0]
        return contains(field, _middles(other, poses_o), poses_f, number, threads=threads)

    found = collect(partial(rows, margin), rows_f, rows_o, None, None, count)
    return with_contained(found, field, other, rows_f, rows_o, count, threads, inside, rows)


def _kernel_and_bodies(other: Any) -> tuple[Any, tuple[Any, ...]]:
    """The kernel for a convex shape or a mesh, and what it takes of it."""
    if other.family == MESH:
        from thud.heightfield.mesh_manifolds import field_mesh_contact_rows

        return field_mesh_contact_rows, (field_object(other), mesh_side(other))
    from thud.heightfield.manifolds import field_convex_contact_rows

    return field_convex_contact_rows, (field_object(other).parts, packed_with_triangle(other))


def _middles(shape: Shape, poses: Floats) -> Floats:
    """(N, 3) the middle of a convex shape at poses, or (1, 3) at one."""
    middle = np.asarray(shape.parts()[0].center)
    return np.ascontiguousarray(poses[:, :9].reshape(-1, 3, 3) @ middle + poses[:, 9:])
