"""Characters the slow way: distances by brute force over all triangles, contacts by creeping up to them."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats


def closest_on_triangles(p: Floats, triangles: Floats) -> tuple[Floats, Floats]:
    """(T,) distances and (T, 3) closest points of p to (T, 3, 3) triangles: the best of the foot in the plane and of the three
    edges."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    n = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ti,ti->t", n, n), 1e-300)
    foot = p - (np.einsum("ti,ti->t", p - a, n) / square)[:, None] * n
    inside = np.ones(len(triangles), np.bool_)
    for u, v in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ti,ti->t", np.cross(v - u, foot - u), n) >= 0.0
    inside &= square > 1e-300
    points, distances = [foot], [np.where(inside, np.linalg.norm(p - foot, axis=1), np.inf)]
    for u, v in ((a, b), (b, c), (c, a)):
        e = v - u
        s = np.clip(np.einsum("ti,ti->t", p - u, e) / np.maximum(np.einsum("ti,ti->t", e, e), 1e-300), 0.0, 1.0)
        q = u + s[:, None] * e
        points.append(q)
        distances.append(np.linalg.norm(p - q, axis=1))
    best = np.argmin(distances, axis=0)
    every = np.arange(len(triangles))
    return np.asarray(distances)[best, every], np.asarray(points)[best, every]


def clearance(center: Floats, radii: Floats, triangles: Floats) -> float:
    """How far the ellipsoid is from the nearest triangle, in its radii: 0 touches, -1 has a triangle through its centre."""
    return float(closest_on_triangles(center / radii, triangles / radii)[0].min(initial=np.inf)) - 1.0


def first_contact(c: Floats, m: Floats, radius: float, triangles: Floats) -> tuple[float, Floats]:
    """(time, point) at which a sphere first touches triangles that it approaches, by steps no longer than its distance from
    them; inf for none. All in one space."""
    length, t = float(np.linalg.norm(m)), 0.0
    distance, point = closest_on_triangles(c, triangles)
    away = c - point
    # What is touched and not approached is never met: it is convex.
    left = (distance > radius + 1e-9) | (np.einsum("ti,i->t", away, m) < -1e-7 * length * distance)
    triangles = triangles[left]
    if not len(triangles) or length == 0.0:
        return np.inf, np.zeros(3)
    for _ in range(2_000_000):
        distance, point = closest_on_triangles(c + t * m, triangles)
        k = int(np.argmin(distance))
        gap = distance[k] - radius
        if gap <= 1e-9:
            return t, point[k]
        t += max(gap, 1e-9) / length
        if t > 1.0:
            return np.inf, np.zeros(3)
    raise AssertionError("no end")


def slides_move(center: Floats, radii: Floats, way: Floats, gap: float, triangles: Floats, limit: int) -> Floats:
    """The recursive slide of [Slides]: M = diag(1 / radii); the sliding plane through the point of contact with the normal
    towards the sphere's centre; the rest of the velocity projected on it."""

    def collide(c: Floats, m: Floats, depth: int) -> Floats:
        if depth == limit or np.linalg.norm(m) <= 1e-9:
            return c
        t, point = first_contact(c, m, 1.0 + gap, soup)
        if t > 1.0:
            return c + m
        c = c + t * m
        n = (c - point) / np.linalg.norm(c - point)
        rest = (1.0 - t) * m
        return collide(c, rest - (rest @ n) * n, depth + 1)

    soup = triangles / radii
    return collide(center / radii, way / radii, 0) * radii
