"""Triangles that move, every one against every other, in NumPy: when they let go of each other, and whether they cross."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def _edges(corners: Floats) -> tuple[Floats, Floats]:
    """Starts and vectors of the edges of (T, 3, 3) triangles."""
    start = corners.reshape(-1, 3)
    return start, np.roll(corners, -1, axis=1).reshape(-1, 3) - start


def hits_along(origins: Floats, direction: Floats, corners: Floats) -> Floats:
    """(P, T) how far along the direction, forth or back, lines through points meet triangles; NaN where they do not."""
    p, e, f = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normal = np.cross(e, f)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.einsum("pti,ti->pt", p[None] - origins[:, None], normal) / (normal @ direction)
        x = origins[:, None] + t[..., None] * direction - p[None]
        area = np.einsum("ti,ti->t", normal, normal)
        v = np.einsum("pti,ti->pt", np.cross(x, f[None]), normal) / area
        w = np.einsum("pti,ti->pt", np.cross(e[None], x), normal) / area
    return np.where((v >= -1e-9) & (w >= -1e-9) & (v + w <= 1 + 1e-9), t, np.nan)


def clearing_length(a: Floats, b: Floats, direction: Floats) -> float:
    """The least length from which on B, moved along the unit direction, is clear of A for good: the last contact of a corner
    and a face, or of two edges. (T, 3, 3) corners each. 0 if there is none."""
    best = [0.0]
    best.append(np.max(np.nan_to_num(hits_along(b.reshape(-1, 3), direction, a)), initial=0.0))
    best.append(np.max(np.nan_to_num(hits_along(a.reshape(-1, 3), -direction, b)), initial=0.0))
    (p, e), (q, f) = _edges(a), _edges(b)
    c = np.cross(e[:, None], f[None])
    c2 = np.einsum("ijk,ijk->ij", c, c)
    y = q[None] - p[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -np.einsum("ijk,ijk->ij", c, y) / (c @ direction)
        y = y + t[..., None] * direction
        u = np.einsum("ijk,ijk->ij", np.cross(y, f[None]), c) / c2
        v = np.einsum("ijk,ijk->ij", np.cross(y, e[:, None]), c) / c2
    on = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1) & np.isfinite(t)
    best.append(np.max(t, where=on, initial=0.0))
    return float(max(best))


def crossing_depth(a: Floats, b: Floats) -> float:
    """How far, at most, an edge of one of (T, 3, 3) triangles reaches through a triangle of the other: 0 if none crosses."""
    deepest = 0.0
    for one, other in ((a, b), (b, a)):
        start, along = _edges(one)
        normal = np.cross(other[:, 1] - other[:, 0], other[:, 2] - other[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        h0 = np.einsum("eti,ti->et", start[:, None] - other[None, :, 0], normal)
        h1 = np.einsum("eti,ti->et", (start + along)[:, None] - other[None, :, 0], normal)
        edge, face = np.nonzero(h0 * h1 < 0)
        if len(edge) == 0:
            continue
        s = h0[edge, face] / (h0[edge, face] - h1[edge, face])
        x = start[edge] + s[:, None] * along[edge] - other[face, 0]
        e, f, n = other[face, 1] - other[face, 0], other[face, 2] - other[face, 0], normal[face]
        area = np.einsum("ij,ij->i", np.cross(e, f), n)
        v = np.einsum("ij,ij->i", np.cross(x, f), n) / area
        w = np.einsum("ij,ij->i", np.cross(e, x), n) / area
        inside = (v > 0) & (w > 0) & (v + w < 1)
        through = np.minimum(np.abs(h0[edge, face]), np.abs(h1[edge, face]))
        deepest = max(deepest, float(np.max(through, where=inside, initial=0.0)))
    return deepest
