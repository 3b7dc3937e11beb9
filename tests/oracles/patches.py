"""Paths against bilinear patches by elimination: a bilinear patch lies on a quadric, so the times are roots of a quartic."""

from __future__ import annotations

import mpmath as mp
import numpy as np

from thud.terrain import DisplacedSurface

BITS = 16


def patches_of(surface: DisplacedSurface) -> tuple[np.ndarray, np.ndarray]:
    """(corners (N, 4, 3): p00, p10, p01, p11; parts (N,))."""
    corners, parts = [], []
    for quad in range(len(surface.quads)):  # type: ignore[arg-type]
        p = surface.samples(quad).point
        y, x = np.mgrid[: p.shape[0] - 1, : p.shape[1] - 1].reshape(2, -1)
        corners.append(np.stack([p[y, x], p[y, x + 1], p[y + 1, x], p[y + 1, x + 1]], axis=1))
        parts.append((quad << 2 * BITS) | (y << BITS) | x)
    return np.concatenate(corners), np.concatenate(parts)


def first_patch_crossing(corners: np.ndarray, path: np.ndarray, end: float, begin: float = 0.0) -> tuple[float, int]:
    """(time, row) of the first simple root in [begin, end); (inf, -1) if there is none. Patches must be twisted."""
    p00 = corners[:, 0]
    e, f = corners[:, 1] - p00, corners[:, 2] - p00
    g = corners[:, 3] - corners[:, 2] - e
    whole = np.einsum("ij,ij->i", np.cross(e, f), g)
    # Coordinates A, B, C of q = p - p00 along e, f, g, and their polynomials in time; on the patch C = A B.
    parts = [path[:3] - p00, np.broadcast_to(path[3:6], p00.shape), np.broadcast_to(0.5 * path[6:], p00.shape)]
    a, b, c = (
        np.stack([np.einsum("ij,ij->i", part, axis) / whole for part in parts], axis=1)
        for axis in (np.cross(f, g), np.cross(g, e), np.cross(e, f))
    )
    best, row = np.inf, -1
    # Only patches whose box the path's box meets.
    t = np.linspace(begin, end, 400)
    way = path[:3] + t[:, None] * (path[3:6] + 0.5 * t[:, None] * path[6:])
    step = np.abs(np.diff(way, axis=0)).max() if len(way) > 1 else 0.0
    near = (way.min(axis=0) - step <= corners.max(axis=1)).all(axis=1) & (way.max(axis=0) + step >= corners.min(axis=1)).all(
        axis=1
    )
    for k in np.flatnonzero(near):
        product = np.convolve(a[k], b[k])
        product[:3] -= c[k]
        roots = np.roots(np.trim_zeros(product[::-1], "f"))
        for root in roots[np.abs(roots.imag) < 1e-9].real:
            u, v = (np.polyval(x[k][::-1], root) for x in (a, b))
            if begin <= root < min(best, end) and -1e-12 <= u <= 1 + 1e-12 and -1e-12 <= v <= 1 + 1e-12:
                best, row = float(root), int(k)
    return best, row


def exact_patch_time(
    corners: np.ndarray, path: np.ndarray, a: float, b: float, t: float
) -> tuple[mp.mpf, mp.mpf, mp.mpf, mp.mpf]:
    """(a, b, time, |h'| by its largest): the root near the one given, in as many digits as are in force."""
    p = [[mp.mpf(float(x)) for x in corner] for corner in corners]
    x, v, acc = ([mp.mpf(float(c)) for c in path[k : k + 3]] for k in (0, 3, 6))
    a, b, t = mp.mpf(a), mp.mpf(b), mp.mpf(t)
    slope = mp.mpf(0)
    for _ in range(12):
        j = mp.matrix(3, 3)
        r = mp.matrix(3, 1)
        for i in range(3):
            e, f, g = p[1][i] - p[0][i], p[2][i] - p[0][i], p[3][i] - p[2][i] - p[1][i] + p[0][i]
            r[i] = p[0][i] + a * e + b * f + a * b * g - x[i] - t * (v[i] + t * acc[i] / 2)
            j[i, 0], j[i, 1], j[i, 2] = e + b * g, f + a * g, -v[i] - t * acc[i]
        d = mp.lu_solve(j, -r)
        a, b, t = a + d[0], b + d[1], t + d[2]
        n = [j[(i + 1) % 3, 0] * j[(i + 2) % 3, 1] - j[(i + 2) % 3, 0] * j[(i + 1) % 3, 1] for i in range(3)]
        speed = mp.sqrt(sum(j[i, 2] ** 2 for i in range(3)))
        slope = abs(sum(n[i] * j[i, 2] for i in range(3))) / (mp.sqrt(sum(c * c for c in n)) * speed)
    return a, b, t, slope
