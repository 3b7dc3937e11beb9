"""Meshes of a scene in few bytes: fewer triangles, coordinates of 16 bits."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from thud._core.arrays import Ints
from thud.io.scene.scene import Scene
from thud.report.decimate import decimated

#: Bytes that a triangle takes, in text: half a vertex of 6 bytes and three indices of 2 or 4, by 4/3.
_BYTES = 16

#: Triangles of one mesh (a count): a screen shows no more.
_MOST = 60_000

#: How much more a mesh of a clash gets than one that is drawn as glass (a factor).
_WEIGHT = 6.0


def packed_meshes(scene: Scene, used: set[int], room: int) -> tuple[list[dict[str, Any]], int]:
    """Each mesh as text, and how many of them have fewer triangles than in the file.

    used : parts that have a clash
    room : bytes that all may take
    """
    counts = np.array([len(np.asarray(mesh.faces)) for mesh in scene.meshes], dtype=np.int64)
    weights = np.ones(len(counts))
    weights[[scene.parts[row].mesh for row in used]] = _WEIGHT
    most = shares(counts, weights, max(room // _BYTES, 1))
    packed = []
    for mesh, count, limit in zip(scene.meshes, counts, most):
        vertices, faces = decimated(np.asarray(mesh.vertices), np.asarray(mesh.faces), int(limit))
        lower, upper = vertices.min(axis=0), vertices.max(axis=0)
        size = np.maximum(upper - lower, 1e-30)
        fine = np.round((vertices - lower) / size * 65535.0).astype("<u2")
        rows = faces.astype("<u2" if len(vertices) <= 65536 else "<u4")
        packed.append(
            {
                "low": [float(value) for value in lower],
                "size": [float(value) for value in size],
                "v": base64.b64encode(fine.tobytes()).decode("ascii"),
                "f": base64.b64encode(rows.tobytes()).decode("ascii"),
                "wide": int(rows.dtype.itemsize == 4),
                "of": int(count),
            }
        )
    return packed, int((counts > most).sum())


def shares(counts: Ints, weights: np.ndarray[Any, Any], total: int) -> Ints:
    """(N,) how many triangles each mesh may have: all it has if there is room, else in proportion to its weight."""
    most = np.minimum(counts, _MOST)
    if most.sum() <= total:
        return most
    given = np.zeros(len(counts), dtype=np.int64)
    left, room = np.ones(len(counts), dtype=bool), float(total)
    while left.any():
        each = room * weights / weights[left].sum()
        full = left & (most <= each)
        if not full.any():
            given[left] = np.maximum(each[left].astype(np.int64), 4)
            break
        given[full] = most[full]
        room -= float(most[full].sum())
        left &= ~full
    return np.minimum(given, most)
