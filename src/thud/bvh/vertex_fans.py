"""Which triangles have a corner in a place: what walks over a surface go by. Takes time in proportion to the mesh."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Ints
from thud._core.decorators import kernel


class VertexFans(NamedTuple):
    """The triangles about each vertex, by their corners' places."""

    start: Ints
    """(V + 1,) where those of a vertex begin in `face`."""
    face: Ints
    """(3 T,) in order."""


def vertex_fans(faces: Ints, vertices: int) -> VertexFans:
    """Of (T, 3) triangles of that many vertices."""
    fans = VertexFans(np.zeros(vertices + 1, dtype=np.int64), np.empty(3 * len(faces), dtype=np.int64))
    find_fans(faces, *fans)
    return fans


@kernel("i8[:,::1], i8[::1], i8[::1]")
def find_fans(faces, start_out, face_out):
    """Fill `VertexFans`; start_out is 0."""
    for t in range(faces.shape[0]):
        for k in range(3):
            start_out[faces[t, k]] += 1
    total = 0
    for v in range(start_out.shape[0]):
        total += start_out[v]
        start_out[v] = total
    # Each start is the end of its fan by now, and moves back as the fan fills from behind.
    for t in range(faces.shape[0] - 1, -1, -1):
        for k in range(2, -1, -1):
            v = faces[t, k]
            start_out[v] -= 1
            face_out[start_out[v]] = t
