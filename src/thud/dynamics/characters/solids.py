"""What a leaf of a shape is to a character: triangles with a tree, a grid of heights, a plane, or a curved convex part."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.dynamics.characters.reach import grid_in_reach, half_space_in_reach, mesh_in_reach
from thud.errors import UnsupportedQueryError
from thud.mesh.trees import box_tree
from thud.pairing.families import FIELD, MESH, SURFACE, TERRAIN
from thud.pairing.leaves import leaves
from thud.shapes.half_space import HalfSpace
from thud.shapes.height_field import HeightField
from thud.shapes.shape import BOX, HULL, Shape
from thud.shapes.triangle_mesh import TriangleMesh


class Solid(NamedTuple):
    """One leaf of a shape."""

    pose: Floats
    """(12,) in the shape's frame."""
    kernel: Any
    """That finds its triangles in reach; None for a curved part."""
    data: Any
    """What the kernel takes, or the curved shape."""
    has_inside: bool


_MADE: WeakKeyDictionary[Shape, tuple[Solid, ...]] = WeakKeyDictionary()


def solids_of(shape: Shape) -> tuple[Solid, ...]:
    """What a shape is made of, found once."""
    found = _MADE.get(shape)
    if found is None:
        found = tuple(solid for leaf, pose in leaves(shape) for solid in _solids(leaf, pose))
        _MADE[shape] = found
    return found


def _solids(leaf: Shape, pose: Floats) -> list[Solid]:
    if leaf.family == MESH:
        assert isinstance(leaf, TriangleMesh)
        return [_of_mesh(leaf, pose, leaf.is_closed)]
    if leaf.family == FIELD:
        assert isinstance(leaf, HeightField)
        if leaf.thickness is not None:
            return [_of_mesh(leaf.to_mesh(), pose, True)]
        return [Solid(pose, grid_in_reach, leaf.grid, True), _of_mesh(_walls(leaf), pose, False)]
    if leaf.family == SURFACE:
        # A sheet: what touches it from below must not be taken for something inside.
        return [_of_mesh(leaf.to_mesh(), pose, False)]
    if leaf.family == TERRAIN:
        raise UnsupportedQueryError("a Terrain inside a Compound is no ground for characters; add it to the world by itself")
    if isinstance(leaf, HalfSpace):
        return [Solid(pose, half_space_in_reach, np.array([*np.asarray(leaf.normal), leaf.offset]), True)]
    (part,) = leaf.parts()
    if part.kind in (BOX, HULL):
        assert part.hull is not None
        return [_of_mesh(TriangleMesh(part.hull.vertices, part.hull.triangles), pose, True)]
    return [Solid(pose, None, leaf, True)]


def _of_mesh(mesh: TriangleMesh, pose: Floats, has_inside: bool) -> Solid:
    return Solid(pose, mesh_in_reach, box_tree(mesh), has_inside)


def _walls(field: HeightField) -> TriangleMesh:
    """The upright walls in which ground without end stops at its border and at holes, as deep as the field is large."""
    if field.has_holes:
        vertices, faces, _ = field.surface()
    else:
        vertices, faces = _rim(field)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    # An edge that no other triangle runs the other way.
    size = len(vertices)
    border = edges[~np.isin(edges[:, 0] * size + edges[:, 1], edges[:, 1] * size + edges[:, 0])]
    if not field.has_holes:
        border = border[_on_border(field, vertices, border)]
    deep = float(np.ptp(vertices, axis=0).sum())
    a, b = vertices[border[:, 0]], vertices[border[:, 1]]
    down = np.array([0.0, 0.0, deep])
    corners = np.stack([a, a - down, b, b, a - down, b - down], axis=1).reshape(-1, 3)
    return TriangleMesh(corners, np.arange(len(corners)).reshape(-1, 3))


def _rim(field: HeightField) -> tuple[Floats, Ints]:
    """The triangles of the outermost cells alone: (V, 3) vertices and (T, 3) faces."""
    rows, columns = field.grid.rows, field.grid.columns
    x, y = np.asarray(field.spacing).tolist()
    j, i = np.divmod(np.arange(rows * columns) if rows * columns < 64 else _rim_cells(rows, columns), columns)
    width = columns + 1
    a = j * width + i
    faces = np.stack([a, a + 1, a + width + 1, a, a + width + 1, a + width], axis=1).reshape(-1, 3)
    used, packed = np.unique(faces, return_inverse=True)
    v, u = np.divmod(used, width)
    heights = field.scale * np.asarray(field.heights)[v, u].astype(np.float64)
    points = np.stack([u * x, v * y, heights], axis=1) + np.asarray(field.origin)
    return points, packed.reshape(-1, 3).astype(np.int64)


def _rim_cells(rows: int, columns: int) -> Ints:
    """Numbers of the cells at the border."""
    j, i = np.arange(rows)[:, None], np.arange(columns)[None, :]
    if rows * columns <= 1_000_000:
        return np.flatnonzero((j == 0) | (j == rows - 1) | (i == 0) | (i == columns - 1))
    across, down = np.arange(columns), np.arange(rows) * columns
    return np.unique(np.concatenate([across, (rows - 1) * columns + across, down, down + columns - 1]))


def _on_border(field: HeightField, vertices: Floats, edges: Ints) -> Any:
    """(E,) which edges lie on the border of the grid."""
    low = np.asarray(field.origin)[:2]
    high = low + np.array([field.grid.columns, field.grid.rows]) * np.asarray(field.spacing)
    a, b = vertices[edges[:, 0], :2], vertices[edges[:, 1], :2]
    near = 1e-6 * np.asarray(field.spacing)
    return ((np.abs(a - low) < near) & (np.abs(b - low) < near) | (np.abs(a - high) < near) & (np.abs(b - high) < near)).any(
        axis=1
    )
