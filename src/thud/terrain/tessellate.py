"""The surface as triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats, Ints

if TYPE_CHECKING:
    from thud.terrain.surface import DisplacedSurface


def tessellate(surface: DisplacedSurface, *, split: int = 1) -> tuple[Floats, Ints]:
    """Vertices (V, 3) and faces (T, 3), counter-clockwise seen from above.

    Parameters
    ----------
    surface : the surface
    split : each bilinear patch becomes split x split squares of two triangles; 1 uses the diagonal that bounds the patch
    from above
    """
    quads = np.asarray(surface.quads)
    vertices: list[Floats] = []
    faces: list[Ints] = []
    count = 0
    for side in np.unique(quads[:, 2]).tolist():
        rows = np.flatnonzero(quads[:, 2] == side)
        points = surface.quad_samples(rows).point
        if split > 1:
            points = refined(points, split)
        corners, triangles = grid_triangles(points)
        vertices.append(corners)
        faces.append(triangles + count)
        count += len(corners)
    every = np.concatenate(vertices)
    # Neighbours share their border samples bit for bit.
    unique, first, inverse = np.unique(every, axis=0, return_index=True, return_inverse=True)
    del unique
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return every[first[order]], rank[inverse.reshape(-1)][np.concatenate(faces)]


def refined(points: Floats, split: int) -> Floats:
    """(B, m, m, 3) -> nodes of patches split into split x split, Eq. (3.5)."""
    weight = np.arange(split) / split
    for axis in (1, 2):
        low, high = np.take(points, range(points.shape[axis] - 1), axis), np.take(points, range(1, points.shape[axis]), axis)
        between = [(1.0 - w) * low + w * high for w in weight]
        mixed = np.stack(between, axis=axis + 1)
        shape = list(low.shape)
        shape[axis] *= split
        mixed = mixed.reshape(shape)
        points = np.concatenate([mixed, np.take(points, [points.shape[axis] - 1], axis)], axis=axis)
    return points


def grid_triangles(points: Floats) -> tuple[Floats, Ints]:
    """Two triangles a square of (B, m, n, 3) points, indexed [t, s]; by the facing rule of 3.4.2 the upper pair."""
    b, m, n, _ = points.shape
    index = np.arange(b * m * n).reshape(b, m, n)
    i00, i10 = index[:, :-1, :-1].reshape(-1), index[:, :-1, 1:].reshape(-1)
    i01, i11 = index[:, 1:, :-1].reshape(-1), index[:, 1:, 1:].reshape(-1)
    flat = points.reshape(-1, 3)
    normal = np.cross(flat[i10] - flat[i00], flat[i01] - flat[i00])
    above = np.einsum("ij,ij->i", normal, flat[i11] - flat[i00]) > 0.0
    # p11 above the plane of the other three: the diagonal p00 p11 is the upper one.
    first = np.where(above[:, None], np.column_stack([i00, i10, i11]), np.column_stack([i00, i10, i01]))
    second = np.where(above[:, None], np.column_stack([i00, i11, i01]), np.column_stack([i10, i11, i01]))
    return flat, np.stack([first, second], axis=1).reshape(-1, 3)
