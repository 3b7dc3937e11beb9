"""Polygons as triangles: fans where they are convex, ears where they are not."""

from __future__ import annotations

import numpy as np


def triangulated(points: np.ndarray, counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(T, 3) triangles of polygons.

    points : (V, 3)
    counts : corners of each polygon
    corners : vertex rows, one polygon after the other
    """
    starts = np.cumsum(counts) - counts
    out = []
    for size in np.unique(counts):
        if size < 3:
            continue
        rings = corners[starts[counts == size][:, None] + np.arange(size)]
        if size == 3:
            out.append(rings)
            continue
        convex = _convex(points[rings])
        fan = rings[convex]
        for k in range(1, size - 1):
            out.append(np.stack([fan[:, 0], fan[:, k], fan[:, k + 1]], axis=1))
        out += [_ears(points, ring) for ring in rings[~convex]]
    return np.concatenate(out) if out else np.empty((0, 3), dtype=np.int64)


def _convex(rings: np.ndarray) -> np.ndarray:
    """(P,) whether all corners of (P, N, 3) turn one way about the polygon's normal."""
    ahead = np.roll(rings, -1, axis=1) - rings
    turns = np.cross(np.roll(ahead, 1, axis=1), ahead)
    # The area vector, by the fan from the first corner.
    spokes = rings[:, 1:] - rings[:, :1]
    normal = np.cross(spokes[:, :-1], spokes[:, 1:]).sum(axis=1)
    return ~((turns * normal[:, None]).sum(axis=2) < 0.0).any(axis=1)


def _ears(points: np.ndarray, ring: np.ndarray) -> np.ndarray:
    """Cut ears in the polygon's plane. What has none left (it crosses itself) is closed by a fan."""
    at = points[ring]
    spokes = at[1:] - at[0]
    normal = np.cross(spokes[:-1], spokes[1:]).sum(axis=0)
    axis = int(np.argmax(np.abs(normal)))
    flat = at[:, [(axis + 1) % 3, (axis + 2) % 3]] * np.array([1.0, 1.0])
    sign = 1.0 if normal[axis] > 0 else -1.0

    def turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
        return sign * float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    left, out = list(range(len(ring))), []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            if turn(flat[a], flat[b], flat[c]) <= 0.0:
                continue
            others = [p for p in left if p not in (a, b, c)]
            inside = any(
                turn(flat[a], flat[b], flat[p]) >= 0
                and turn(flat[b], flat[c], flat[p]) >= 0
                and turn(flat[c], flat[a], flat[p]) >= 0
                for p in others
            )
            if not inside:
                out.append((ring[a], ring[b], ring[c]))
                left.pop(k)
                break
        else:
            break
    out += [(ring[left[0]], ring[left[k]], ring[left[k + 1]]) for k in range(1, len(left) - 1)]
    return np.array(out, dtype=np.int64).reshape(-1, 3)
