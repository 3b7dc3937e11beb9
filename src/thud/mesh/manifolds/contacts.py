"""Contacts of a mesh with a convex shape or another mesh: from checked arguments to kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.mesh.dispatch import ROWS, convex_contained, meshes_contained
from thud.mesh.manifolds.rows import (
    ALONG_N,
    CONTACT,
    DEEP,
    FACE_GROUND,
    FACE_OTHER,
    GROUND,
    MIDWAY,
    OTHER_SIDE,
    PATCH,
    ManifoldRows,
)
from thud.mesh.manifolds.tolerances import ALL_PAIRS, DIRECTIONS, ENOUGH_PAIRS, PATCH_POINTS, SHOWN, SNAP, SURE_OF
from thud.mesh.mesh_convex import PlaceholderTriangle, convex_query
from thud.mesh.trees import box_tree
from thud.pairing.ask import ask_pair
from thud.pairing.contact_points import feature_ids
from thud.pairing.families import MESH
from thud.pairing.join import joined_contacts
from thud.pairing.leaves import some_rows
from thud.results import Contacts, Distances, Status
from thud.shapes.packed import Packed, pack
from thud.shapes.shape import HALF_SPACE, Shape
from thud.shapes.triangle_mesh import TriangleMesh

#: Room for facets of a row at first (a count), and for those of two meshes of many faces at least and at most: a row that needs
#: more is done again. Memory that is not used is never touched, but a call of a few rows pays for getting it.
_FACETS, _LEAST_FACETS, _MOST_FACETS = 256, 8192, 131072

#: Room for contacts of a row (a count): a patch for each direction of what overlaps and of what is apart, and the nearest pair.
#: There cannot be more.
_CONTACTS = 2 * DIRECTIONS * PATCH_POINTS + 1

#: Rows that are worked on at once (a count): it bounds the memory.
_BLOCK = 4096

_NO_FORMER = np.empty((0, 12))

_TRIANGLE = PlaceholderTriangle()


@lru_cache(maxsize=256)
def packed_with_triangle(shape: Shape) -> Packed:
    """A convex shape and a triangle to be written over."""
    return pack((shape, _TRIANGLE))


def mesh_convex_contacts(
    a: TriangleMesh, b: Shape, rows_a: Floats, rows_b: Floats, count: int, *, margin: float, max_points: int,
    former_a: Floats | None = None, former_b: Floats | None = None, threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points of a mesh and a convex shape."""
    from thud.mesh.manifolds.mesh_convex import mesh_convex_contact_rows
    from thud.mesh.manifolds.mesh_half_space import mesh_half_space_contact_rows

    limit = min(max_points, PATCH_POINTS)
    if b.parts()[0].kind == HALF_SPACE:
        plane = np.array(b.parts()[0].parameters[:4], dtype=np.float64)

        def half_space(poses_a: Floats, poses_b: Floats, _former: tuple[Floats, Floats], _room: int, out: ManifoldRows) -> None:
            arguments = (box_tree(a), a.edges_beyond, plane, poses_a, poses_b, margin, limit, out)
            run_rows(mesh_half_space_contact_rows, len(out.counts), threads, *arguments, rows_per_chunk=ROWS)

        return collect(half_space, rows_a, rows_b, None, None, count)

    def rows(
        reach: float, poses_a: Floats, poses_b: Floats, former: tuple[Floats, Floats], room: int, out: ManifoldRows
    ) -> None:
        trees = (box_tree(a), a.edges_beyond, packed_with_triangle(b), convex_query(b).box)
        arguments = (*trees, poses_a, poses_b, *former, reach, limit, room, out)
        run_rows(mesh_convex_contact_rows, len(out.counts), threads, *arguments, rows_per_chunk=ROWS)

    former = (None, None) if a.is_closed else (former_a, former_b)
    found = collect(partial(rows, margin), rows_a, rows_b, *former, count)
    inside = convex_contained
    return with_contained(
        found, a, b, rows_a, rows_b, count, threads, lambda x, y, p, q, number: inside(y, x, q, p, number, threads)[0], rows
    )


def mesh_mesh_contacts(
    a: TriangleMesh, b: TriangleMesh, rows_a: Floats, rows_b: Floats, count: int, *, margin: float, max_points: int,
    former_a: Floats | None = None, former_b: Floats | None = None, nearest: bool = False, threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points of two meshes. nearest: of very many within the margin those that are nearer are enough."""
    from thud.mesh.manifolds.mesh_mesh import mesh_contact_rows
    from thud.mesh.manifolds.mesh_side import mesh_side

    limit = min(max_points, PATCH_POINTS)

    def rows(
        reach: float, poses_a: Floats, poses_b: Floats, former: tuple[Floats, Floats], room: int, out: ManifoldRows
    ) -> None:
        faces = len(a.corners) + len(b.corners)
        likely = max(room, min(4 * faces, _LEAST_FACETS), min(faces // 2, _MOST_FACETS))
        enough = ENOUGH_PAIRS if nearest else ALL_PAIRS
        sure = SURE_OF * reach if nearest else 0.0
        arguments = (mesh_side(a), mesh_side(b), poses_a, poses_b, *former, reach, sure, limit, enough, likely, out)
        run_rows(mesh_contact_rows, len(out.counts), threads, *arguments, rows_per_chunk=ROWS)

    former = (None, None) if a.is_closed and b.is_closed else (former_a, former_b)
    found = collect(partial(rows, margin), rows_a, rows_b, *former, count)
    inside = meshes_contained
    return with_contained(
        found, a, b, rows_a, rows_b, count, threads, lambda x, y, p, q, number: inside(x, y, p, q, number, threads)[0], rows
    )


def collect(
    rows: Callable[[Floats, Floats, tuple[Floats, Floats], int, ManifoldRows], None],
    rows_a: Floats, rows_b: Floats, former_a: Floats | None, former_b: Floats | None, count: int,
) -> Contacts:  # fmt: skip
    """Contacts of all rows, block by block; a block whose rows need more room is done again."""
    parts, status = [], np.zeros(count, dtype=np.uint8)
    facets = _FACETS
    for start in range(0, count, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, count))
        poses = some_rows(rows_a, block, count), some_rows(rows_b, block, count)
        former = (_NO_FORMER, _NO_FORMER)
        if former_a is not None and former_b is not None:
            former = some_rows(former_a, block, count), some_rows(former_b, block, count)
        while True:
            many, needed = np.zeros(len(block), dtype=np.int64), np.zeros(len(block), dtype=np.int64)
            table = np.empty((len(block), _CONTACTS, CONTACT))
            out = ManifoldRows(table, many, needed, np.zeros(len(block), dtype=np.uint8))
            rows(*poses, former, facets, out)
            if needed.max() <= facets:
                break
            facets = int(needed.max())
        status[block] = out.status
        chosen = table[np.arange(_CONTACTS) < many[:, None]]
        parts.append((np.repeat(block, many), chosen))
    row = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
    table = np.concatenate([np.empty((0, CONTACT)), *(part[1] for part in parts)])
    return _contacts(row, table, status)


def _contacts(row: Ints, table: Floats, status: np.ndarray) -> Contacts:
    whole = [np.ascontiguousarray(table[:, k]).astype(np.int64) for k in (PATCH, GROUND, OTHER_SIDE, FACE_GROUND, FACE_OTHER)]
    patch, ground, other, face_ground, face_other = whole
    return Contacts(
        row=row,
        point=table[:, MIDWAY : MIDWAY + 3].copy(),
        normal=table[:, ALONG_N : ALONG_N + 3].copy(),
        depth=table[:, DEEP].copy(),
        feature=feature_ids(ground, other),
        patch=patch,
        status=status,
        triangle_a=face_ground,
        triangle_b=face_other,
    )


def with_contained(
    found: Contacts, a: Shape, b: Shape, rows_a: Floats, rows_b: Floats, count: int, threads: int | None,
    inside_of: Callable[[Any, Any, Floats, Floats, int], np.ndarray],
    rows: Callable[[float, Floats, Floats, tuple[Floats, Floats], int, ManifoldRows], None],
) -> Contacts:  # fmt: skip
    """Overlaps that show at no triangle, one body inside the other, or whose searches did not converge, get the contacts that
    they have at the end of their way out, or that end alone."""
    # What touches from inside touches at no depth.
    near = SHOWN * min(a.bounding_sphere()[1], b.bounding_sphere()[1])
    deepest = np.full(count, -np.inf)
    np.maximum.at(deepest, found.row, found.depth)
    # The middle of a convex shape tells; a mesh is told by a corner, which says nothing where it touches.
    asked = np.flatnonzero(deepest <= near if b.family != MESH else found.status == Status.SEPARATED)
    inside = np.zeros(count, dtype=bool)
    if len(asked):
        poses = some_rows(rows_a, asked, count), some_rows(rows_b, asked, count)
        inside[asked] = inside_of(a, b, *poses, len(asked))
        found.status[inside & (found.status == Status.SEPARATED)] = Status.OVERLAPPING
    lost = np.flatnonzero(inside | ((found.status == Status.OVERLAPPING) & (deepest < -near)))
    if len(lost) == 0:
        return found
    poses = some_rows(rows_a, lost, count), some_rows(rows_b, lost, count)
    gap = ask_pair("signed_distance", a, b, *poses, len(lost), reach=np.inf, threads=threads)
    ends = at_way_out(gap, poses, near, rows)
    alone = np.setdiff1d(np.arange(len(lost)), ends.row)
    zero = np.zeros(len(alone), dtype=np.int64)
    middle, depth = 0.5 * (gap.point_a + gap.point_b), np.maximum(-gap.distance, 0.0)
    more = Contacts(lost[alone], middle[alone], gap.normal[alone], depth[alone], zero, zero.copy(), found.status)
    kept = ~np.isin(found.row, lost)
    outer = replace(found, **{f.name: getattr(found, f.name)[kept] for f in fields(found) if f.name != "status"})
    return joined_contacts([outer, replace(ends, row=lost[ends.row]), more], found.status)


def at_way_out(
    gap: Distances, poses: tuple[Floats, Floats], near: float,
    rows: Callable[[float, Floats, Floats, tuple[Floats, Floats], int, ManifoldRows], None],
) -> Contacts:  # fmt: skip
    """Contacts along the way out of each row, whose signed distance is given: those that touch when B was moved by it, as much
    deeper."""
    count, depth = len(gap.distance), np.where(np.isfinite(gap.distance), np.maximum(-gap.distance, 0.0), 0.0)
    moved = np.broadcast_to(poses[1], (count, 12)).copy()
    moved[:, 9:] += depth[:, None] * gap.normal
    found = collect(partial(rows, near), poses[0], moved, None, None, count)
    deeper, normal = depth[found.row], gap.normal[found.row]
    kept = (np.einsum("ij,ij->i", found.normal, normal) >= SNAP) & (deeper > 0.0)
    found = replace(found, point=found.point - 0.5 * deeper[:, None] * normal, normal=normal, depth=found.depth + deeper)
    return replace(found, **{f.name: getattr(found, f.name)[kept] for f in fields(found) if f.name != "status"})
