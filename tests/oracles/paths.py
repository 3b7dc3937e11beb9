"""Paths of particles against triangles in 50-digit arithmetic, and against any function by dense sampling."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np

DIGITS = 50


def _cross(a: list, b: list) -> list:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _dot(a: list, b: list) -> mp.mpf:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def quadratic_crossings(c0: mp.mpf, c1: mp.mpf, c2: mp.mpf) -> list:
    """Simple roots of c0 + c1 t + c2 t^2."""
    if c2 == 0:
        return [-c0 / c1] if c1 != 0 else []
    under = c1 * c1 - 4 * c0 * c2
    if under <= 0:
        return []
    s = mp.sqrt(under)
    return sorted([(-c1 - s) / (2 * c2), (-c1 + s) / (2 * c2)])


def triangle_crossings(vertices: np.ndarray, faces: np.ndarray, pose: np.ndarray, path: np.ndarray, end: float) -> list:
    """(time, face, slope, distance from the nearest edge's line in barycentric coordinates) of all crossings in [0, end) of the
    triangles, earliest first; a slope of |h'| by its largest value on the path up to `end`."""
    with mp.workdps(DIGITS):
        r = [[mp.mpf(float(pose[3 * i + j])) for j in range(3)] for i in range(3)]
        world = [[_dot(r[i], [mp.mpf(float(x)) for x in v]) + mp.mpf(float(pose[9 + i])) for i in range(3)] for v in vertices]
        x, v, a = ([mp.mpf(float(c)) for c in path[k : k + 3]] for k in (0, 3, 6))
        found = []
        for row, face in enumerate(faces):
            p, q, s = (world[i] for i in face)
            e, f = [q[i] - p[i] for i in range(3)], [s[i] - p[i] for i in range(3)]
            n = _cross(e, f)
            whole = _dot(n, n)
            if whole == 0:
                continue
            c0 = _dot(n, [x[i] - p[i] for i in range(3)])
            c1, c2 = _dot(n, v), _dot(n, a) / 2
            for t in quadratic_crossings(c0, c1, c2):
                if not 0 <= t < end:
                    continue
                at = [x[i] + t * (v[i] + t * a[i] / 2) - p[i] for i in range(3)]
                u, w = _dot(_cross(at, f), n) / whole, _dot(_cross(e, at), n) / whole
                inside = min(u, w, 1 - u - w)
                if inside < 0:
                    continue
                most = max(abs(c1), abs(c1 + 2 * c2 * mp.mpf(end)))
                found.append((t, row, abs(c1 + 2 * c2 * t) / most, inside))
        return sorted(found, key=lambda one: one[0])


def first_sign_change(h: Callable[[np.ndarray], np.ndarray], end: float, samples: int = 20001, begin: float = 0.0) -> float:
    """The first time in [begin, end] at which the samples of h change their sign, by bisection; inf if they do not."""
    t = np.linspace(begin, end, samples)
    sign = np.sign(h(t))
    change = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    if not len(change):
        return np.inf
    low, high, below = t[change[0]], t[change[0] + 1], sign[change[0]]
    for _ in range(80):
        middle = 0.5 * (low + high)
        if np.sign(h(np.array([middle]))[0]) == below:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def new_rows(paths: np.ndarray, end: float | np.ndarray = np.inf, came: np.ndarray | None = None, last: object = None) -> tuple:
    """(paths, came, last, time, hit, normal) as row kernels take them."""
    paths = np.array(np.atleast_2d(paths), dtype=np.float64)
    count = len(paths)
    # No drag.
    paths = np.hstack([paths, np.zeros((count, 10 - paths.shape[1]))])
    arrivals = np.zeros((count, 3)) if came is None else np.array(np.broadcast_to(came, (count, 3)), dtype=np.float64)
    left = np.full((count, 2), -1, dtype=np.int64)
    if last is not None:
        left[:] = last
    time = np.array(np.broadcast_to(end, count), dtype=np.float64)
    return paths, arrivals, left, time, np.full((count, 2), -1, dtype=np.int64), np.zeros((count, 3))


def blob_value(
    centers: np.ndarray, radii: np.ndarray, strengths: np.ndarray, threshold: float, path: np.ndarray, t: mp.mpf
) -> mp.mpf:
    """f - threshold of blobs on a path at t, in as many digits as are in force."""
    total = -mp.mpf(float(threshold))
    for c, r, s in zip(centers, radii, strengths):
        far = mp.mpf(0)
        for axis in range(3):
            x, v, a = (mp.mpf(float(path[k + axis])) for k in (0, 3, 6))
            far += (x - mp.mpf(float(c[axis])) + t * (v + t * a / 2)) ** 2
        g = 1 - far / mp.mpf(float(r)) ** 2
        if g > 0:
            total += mp.mpf(float(s)) * g**3
    return total
