"""Triangles of a mesh that have no area, and the volume that all of them enclose. Time in proportion to the mesh."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Bools, Floats, Ints, writable
from thud._core.decorators import exact_kernel
from thud.geometry.exact_vec3 import cross, dot, load3, sub


def flat_and_volume(vertices: Floats, faces: Ints) -> tuple[Bools, float]:
    """((T,) whether a triangle has no area, six times the signed volume, positive where triangles face outward)."""
    flat = np.empty(len(faces), dtype=bool)
    return flat, measure_faces(writable(vertices), writable(faces), flat)


@exact_kernel("f8[:,::1], i8[:,::1], b1[::1]")
def measure_faces(vertices, faces, flat_out):
    """Six times the volume: the tetrahedra of all triangles with the first corner of the first one."""
    origin, volume = load3(vertices, faces[0, 0], 0), 0.0
    for t in range(faces.shape[0]):
        a, b, c = load3(vertices, faces[t, 0], 0), load3(vertices, faces[t, 1], 0), load3(vertices, faces[t, 2], 0)
        n = cross(sub(b, a), sub(c, a))
        flat_out[t] = n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0
        volume += dot(n, sub(a, origin))
    return volume
