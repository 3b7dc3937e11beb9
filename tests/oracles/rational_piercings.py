"""Which edges pierce which triangles, every one against every other, in rational numbers: no sign is ever rounded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

Point = tuple[Fraction, Fraction, Fraction]


def rational(point: np.ndarray) -> Point:
    return tuple(Fraction(float(x)) for x in point)  # type: ignore[return-value]


def volume(a: Point, b: Point, c: Point, d: Point) -> Fraction:
    """Six times that of a tetrahedron: positive where d is on the side of abc's normal."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = (tuple(p[k] - a[k] for k in range(3)) for p in (b, c, d))
    return (uy * vz - uz * vy) * wx + (uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz


def pierced(
    vertices_a: np.ndarray, edges: np.ndarray, vertices_b: np.ndarray, faces: np.ndarray
) -> dict[tuple[int, int], tuple]:
    """(edge row, face row) of all that meet, but for edges in a face's plane: (along, point, entering, proper)."""
    points_a, points_b = [rational(p) for p in vertices_a], [rational(p) for p in vertices_b]
    found = {}
    for e, (i, j) in enumerate(edges.tolist()):
        p, q = points_a[i], points_a[j]
        for f, corners in enumerate(faces.tolist()):
            a, b, c = (points_b[k] for k in corners)
            low, high = volume(a, b, c, p), volume(a, b, c, q)
            if low == high or low * high > 0:
                continue
            sides = volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)
            if min(sides) < 0 < max(sides):
                continue
            along = low / (low - high)
            point = tuple(p[k] + along * (q[k] - p[k]) for k in range(3))
            found[e, f] = (along, point, low > high, low * high != 0 and 0 not in sides)
    return found
