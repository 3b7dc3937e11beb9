"""Points and sticks the slow way: relaxation in plain Python, a catenary, and who passes whom by brute force."""

from __future__ import annotations

from itertools import pairwise

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


def _together(x: list[Floats], d: list[Floats]) -> tuple[Ints, Floats]:
    """(row, time) of four points x (M, 3) that go straight by d in one plane: where a cubic changes its sign in [0, 1]."""
    p = x[0]
    a, b, c = (x[k] - p for k in (1, 2, 3))
    da, db, dc = (d[k] - d[0] for k in (1, 2, 3))

    def volume(t: Floats, rows: Ints) -> Floats:
        u, v = a[rows] + t[:, None] * da[rows], b[rows] + t[:, None] * db[rows]
        return np.asarray(np.einsum("mi,mi->m", np.cross(u, v), c[rows] + t[:, None] * dc[rows]))

    every = np.arange(len(p))
    # Values at four times give the cubic, and the roots of its derivative the intervals in which it rises or falls.
    at = np.stack([volume(np.full(len(p), t), every) for t in (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)], axis=1)
    k = at @ np.linalg.inv(np.vander([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0], 4)).T
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(k[:, 1] ** 2 - 3.0 * k[:, 0] * k[:, 2])
        cubic, square = 3.0 * k[:, 0], 2.0 * k[:, 1]
        turns = np.stack([(-k[:, 1] - root) / cubic, (-k[:, 1] + root) / cubic, -k[:, 2] / square])
    turns = np.where(np.isfinite(turns), np.clip(turns, 0.0, 1.0), 0.0)
    ends = np.sort(np.concatenate([np.zeros((1, len(p))), turns, np.ones((1, len(p)))]), axis=0)
    rows, times = [], []
    for low, high in pairwise(ends):
        change = np.flatnonzero(volume(low, every) * volume(high, every) < 0.0)
        left, right = low[change], high[change]
        sign = np.sign(volume(left, change))
        for _ in range(50):
            middle = 0.5 * (left + right)
            same = np.sign(volume(middle, change)) == sign
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        rows.append(change)
        times.append(left)
    return np.concatenate(rows), np.concatenate(times)


def _near_ways(a: Floats, b: Floats) -> Ints:
    """(K, 2) which of the groups (A, m, 3) and (B, n, 3) of points at the begin and the end meet as boxes."""
    low_a, high_a, low_b, high_b = a.min(axis=1), a.max(axis=1), b.min(axis=1), b.max(axis=1)
    found = []
    for k in range(0, len(a), 500):
        meet = (low_a[k : k + 500, None] <= high_b).all(axis=2) & (high_a[k : k + 500, None] >= low_b).all(axis=2)
        i, j = np.nonzero(meet)
        found.append(np.stack([i + k, j], axis=1))
    return np.concatenate(found)


def passed_between(before: Floats, after: Floats, faces: Ints, fixed: Floats | None = None) -> int:
    """How often a point goes through a face, or an edge through an edge, while all points go straight from `before` to `after`:
    by the times at which four of them are in one plane. `fixed` (T, 3, 3): triangles that stand still, beside the cloth."""
    if fixed is not None and len(fixed):
        still = len(before) + np.arange(3 * len(fixed)).reshape(-1, 3)
        before, after = (np.concatenate([where, fixed.reshape(-1, 3)]) for where in (before, after))
        own = len(faces)
        faces = np.concatenate([faces, still])
        moving = np.arange(len(before)) < still.min()
    else:
        own, moving = len(faces), np.ones(len(before), np.bool_)
    edges = np.unique(np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    swept = np.stack([before, after], axis=1)
    total = 0
    pairs = _near_ways(swept, swept[faces].reshape(len(faces), 6, 3))
    p, f = pairs[:, 0], faces[pairs[:, 1]]
    pairs = np.concatenate([p[:, None], f], axis=1)[(p[:, None] != f).all(axis=1) & (moving[p] | (pairs[:, 1] < own))]
    total += _crossed(before, after, pairs, False)
    pairs = _near_ways(swept[edges].reshape(len(edges), 4, 3), swept[edges].reshape(len(edges), 4, 3))
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    a, b = edges[pairs[:, 0]], edges[pairs[:, 1]]
    apart = (a[:, :, None] != b[:, None]).all(axis=(1, 2)) & (moving[a[:, 0]] | moving[b[:, 0]])
    return total + _crossed(before, after, np.concatenate([a, b], axis=1)[apart], True)


def _crossed(before: Floats, after: Floats, pairs: Ints, edges: bool) -> int:
    """Of pairs of a point and a face, or of two edges, (M, 4) points: how often they are in one place."""
    x = [before[pairs[:, k]] for k in range(4)]
    d = [after[pairs[:, k]] - before[pairs[:, k]] for k in range(4)]
    row, time = _together(x, d)
    p, q, r, s = (x[k][row] + time[:, None] * d[k][row] for k in range(4))
    if edges:
        # p + u (q - p) = r + v (s - r).
        n = np.cross(q - p, s - r)
        n2 = np.einsum("mi,mi->m", n, n)
        u = np.einsum("mi,mi->m", np.cross(r - p, s - r), n) / n2
        v = np.einsum("mi,mi->m", np.cross(r - p, q - p), n) / n2
        return int(((u > 0.0) & (u < 1.0) & (v > 0.0) & (v < 1.0)).sum())
    n = np.cross(r - q, s - q)
    n2 = np.einsum("mi,mi->m", n, n)
    u = np.einsum("mi,mi->m", np.cross(p - q, s - q), n) / n2
    v = np.einsum("mi,mi->m", np.cross(r - q, p - q), n) / n2
    return int(((u > 0.0) & (v > 0.0) & (u + v < 1.0)).sum())


def _to_segment(p: Floats, a: Floats, b: Floats) -> Floats:
    """Distances of points from segments, row by row."""
    d = b - a
    t = np.clip(np.einsum("mi,mi->m", p - a, d) / np.einsum("mi,mi->m", d, d), 0.0, 1.0)
    return np.asarray(np.linalg.norm(p - a - t[:, None] * d, axis=1))


def feature_distances(points: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """(distance, points (M, 4)) of each point and face, then of each two edges, that share no point."""
    edges = np.unique(np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    p, f = (index.ravel() for index in np.indices((len(points), len(faces))))
    first = np.concatenate([p[:, None], faces[f]], axis=1)
    first = first[(first[:, :1] != first[:, 1:]).all(axis=1)]
    x, a, b, c = (points[first[:, k]] for k in range(4))
    near = np.minimum(np.minimum(_to_segment(x, a, b), _to_segment(x, b, c)), _to_segment(x, c, a))
    n = np.cross(b - a, c - a)
    n2 = np.einsum("mi,mi->m", n, n)
    u = np.einsum("mi,mi->m", np.cross(x - a, c - a), n) / n2
    v = np.einsum("mi,mi->m", np.cross(b - a, x - a), n) / n2
    above = np.abs(np.einsum("mi,mi->m", x - a, n)) / np.sqrt(n2)
    distance = np.where((u > 0.0) & (v > 0.0) & (u + v < 1.0), above, near)
    i, j = np.triu_indices(len(edges), 1)
    second = np.concatenate([edges[i], edges[j]], axis=1)
    second = second[(second[:, :2, None] != second[:, None, 2:]).all(axis=(1, 2))]
    a, b, c, d = (points[second[:, k]] for k in range(4))
    ends = np.min([_to_segment(a, c, d), _to_segment(b, c, d), _to_segment(c, a, b), _to_segment(d, a, b)], axis=0)
    n = np.cross(b - a, d - c)
    n2 = np.einsum("mi,mi->m", n, n)
    with np.errstate(invalid="ignore", divide="ignore"):
        s = np.einsum("mi,mi->m", np.cross(c - a, d - c), n) / n2
        t = np.einsum("mi,mi->m", np.cross(c - a, b - a), n) / n2
        across = np.abs(np.einsum("mi,mi->m", c - a, n)) / np.sqrt(n2)
    inside = (s > 0.0) & (s < 1.0) & (t > 0.0) & (t < 1.0)
    return np.concatenate([distance, np.where(inside, across, ends)]), np.concatenate([first, second])
