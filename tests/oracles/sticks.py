"""Points and sticks the slow way: relaxation in plain Python, a catenary, and who passes whom by brute force."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from thud._core.arrays import Bools, Floats, Ints


def relaxed(
    x: Floats, before: Floats, sticks: Ints, rest: Floats, inverse_mass: Floats, gravity: Floats, dt: float, passes: int
) -> Floats:
    """One step of Jakobsen's scheme: Verlet, then each stick in the order given, so many times."""
    free = inverse_mass > 0.0
    y = x.copy()
    y[free] = 2.0 * x[free] - before[free] + gravity * dt * dt
    for _ in range(passes):
        for (a, b), length in zip(sticks.tolist(), rest.tolist(), strict=True):
            delta = y[b] - y[a]
            now = float(np.sqrt(delta @ delta))
            diff = (now - length) / (now * (inverse_mass[a] + inverse_mass[b]))
            y[a] += inverse_mass[a] * diff * delta
            y[b] -= inverse_mass[b] * diff * delta
    return y


def catenary(span: float, length: float, x: Floats) -> Floats:
    """Heights of a hanging chain below two ends at the same height, x from 0 to span."""
    # length = 2 a sinh(span / 2a)
    a = float(brentq(lambda s: 2.0 * s * np.sinh(span / (2.0 * s)) - length, span / 50.0, 1e3 * span))
    return np.asarray(a * (np.cosh((x - 0.5 * span) / a) - np.cosh(0.5 * span / a)))


def segments_through_triangles(start: Floats, end: Floats, triangles: Floats, rows: int = 500) -> Ints:
    """(M, 2) which segments cross which triangles, by signs of volumes: each against each whose box it meets."""
    low, high = triangles.min(axis=1), triangles.max(axis=1)
    found = []
    for k in range(0, len(start), rows):
        p, q = start[k : k + rows], end[k : k + rows]
        below, above = np.minimum(p, q), np.maximum(p, q)
        near = np.ones((len(p), len(triangles)), np.bool_)
        for axis in range(3):
            near &= (below[:, None, axis] <= high[None, :, axis]) & (above[:, None, axis] >= low[None, :, axis])
        i, j = np.nonzero(near)
        hit = _crosses(p[i], q[i], triangles[j, 0], triangles[j, 1], triangles[j, 2])
        found.append(np.stack([i[hit] + k, j[hit]], axis=1))
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def _volume(u: Floats, v: Floats, w: Floats, o: Floats) -> Floats:
    return np.asarray(np.einsum("ni,ni->n", np.cross(u - o, v - o), w - o))


def _crosses(p: Floats, q: Floats, a: Floats, b: Floats, c: Floats) -> Bools:
    sides = _volume(a, b, c, p) * _volume(a, b, c, q) < 0.0
    first, second, third = _volume(p, q, a, b), _volume(p, q, b, c), _volume(p, q, c, a)
    inside = ((first > 0) & (second > 0) & (third > 0)) | ((first < 0) & (second < 0) & (third < 0))
    return np.asarray(sides & inside)


def passings(points: Floats, faces: Ints, triangles: Floats) -> tuple[int, int]:
    """How many edges of cloth cross faces of it that they share no point with; and how many edges of cloth cross triangles
    (T, 3, 3), or edges of those cross faces of cloth."""
    edges = np.unique(np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    start, end = points[edges[:, 0]], points[edges[:, 1]]
    hit = segments_through_triangles(start, end, points[faces])
    shared = (edges[hit[:, 0]][:, :, None] == faces[hit[:, 1]][:, None]).any(axis=(1, 2))
    sides = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2, 3)
    other = len(segments_through_triangles(start, end, triangles))
    other += len(segments_through_triangles(sides[:, 0], sides[:, 1], points[faces]))
    return int((~shared).sum()), other
