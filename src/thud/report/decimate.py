"""Fewer triangles for pictures, by clustering vertices in the cells of a grid (Rossignac and Borrel 1993)."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints

#: A grid twice as fine has four times the triangles; after so many corrections the count is close enough (a count).
_ROUNDS = 6

#: How far from the wanted number of triangles is close enough (a factor below it).
_CLOSE = 0.6


def decimated(vertices: Floats, faces: Ints, most: int) -> tuple[Floats, Ints]:
    """The triangles, or at most `most` that look like them: corners in one cell of a grid become their mean. For pictures
    alone: what comes out need not be closed, and thin walls may become one."""
    if len(faces) <= most:
        used, rows = np.unique(faces, return_inverse=True)
        return vertices[used], rows.reshape(faces.shape)
    corner = vertices[faces]
    area = 0.5 * float(np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1).sum())
    lower = corner.reshape(-1, 3).min(axis=0)
    size = float((corner.reshape(-1, 3).max(axis=0) - lower).max())
    # About two triangles a cell of the surface.
    cell = max((2.0 * area / most) ** 0.5, size / 2**20)
    best: tuple[Floats, Ints] | None = None
    for _ in range(_ROUNDS):
        found = _clustered(vertices, faces, lower, cell)
        count = len(found[1])
        if count <= most and (best is None or count > len(best[1])):
            best = found
        if _CLOSE * most <= count <= most:
            break
        cell *= float(np.clip((max(count, 1) / (0.8 * most)) ** 0.5, 0.35, 4.0))
    if best is not None and len(best[1]):
        return best
    # Nothing but slivers: some of the triangles as they are.
    some = faces[np.linspace(0, len(faces) - 1, max(most, 1)).astype(np.int64)]
    used, rows = np.unique(some, return_inverse=True)
    return vertices[used], rows.reshape(some.shape)


def _clustered(vertices: Floats, faces: Ints, lower: Floats, cell: float) -> tuple[Floats, Ints]:
    place = np.floor((vertices - lower) / cell).astype(np.int64)
    place -= place.min(axis=0)
    span = place.max(axis=0) + 1
    key = (place[:, 0] * span[1] + place[:, 1]) * span[2] + place[:, 2]
    _cells, cluster = np.unique(key, return_inverse=True)
    rows = cluster[faces]
    rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])]
    # Of triangles with the same three corners one, whichever way it is turned.
    ordered = np.sort(rows, axis=1)
    count = int(cluster.max()) + 1
    if len(rows):
        _same, first = np.unique((ordered[:, 0] * count + ordered[:, 1]) * count + ordered[:, 2], return_index=True)
        rows = rows[np.sort(first)]
    used, new = np.unique(rows, return_inverse=True)
    number = np.bincount(cluster, minlength=count)
    means = np.stack([np.bincount(cluster, weights=vertices[:, k], minlength=count) / number for k in range(3)], axis=1)
    return means[used], new.reshape(rows.shape)
