"""First impacts of particles from the definitions alone: each collider as a function of points, each path as one of the time,
both written here once more; a change of sign between dense samples, refined by halving. It shares no code with
`thud.particles`, and knows no polynomial.

A collider is a list of *sheets*, (f, inside): the surface f = 0 where `inside`. Of a solid there is one, whose f is negative
within. A kind of collider or of path that is added later is one more function here.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import factorial
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

Sheet = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]
Path = Callable[[np.ndarray], np.ndarray]


def everywhere(p: np.ndarray) -> np.ndarray:
    return np.ones(len(p), bool)


def straight(x: Any, v: Any) -> Path:
    return lambda t: np.asarray(x) + t[:, None] * np.asarray(v)


def curved(x: Any, v: Any, a: Any) -> Path:
    return lambda t: np.asarray(x) + t[:, None] * np.asarray(v) + 0.5 * t[:, None] ** 2 * np.asarray(a)


def dragged(x: Any, v: Any, a: Any, rate: float, wind: Any) -> Path:
    """x' = v, v' = a - rate (v - wind): in 64-bit floats with x87 digits, where there are such, since terms cancel."""
    many = np.longdouble
    x, v, a, wind, k = (np.asarray(one, many) for one in (x, v, a, wind, rate))

    def path(t: np.ndarray) -> np.ndarray:
        s = np.asarray(t, many)[:, None]
        last = wind + a / k
        return np.asarray(x + last * s - (v - last) * np.expm1(-k * s) / k, float)

    return path


# Planes and what is cut out of them.


def plane(point: Any, normal: Any, inside: Callable[[np.ndarray], np.ndarray] = everywhere) -> list[Sheet]:
    return [(lambda p: (p - point) @ np.asarray(normal, float), inside)]


def rectangle(origin: Any, u: Any, v: Any) -> list[Sheet]:
    solve = np.linalg.pinv(np.column_stack([u, v]))

    def inside(p: np.ndarray) -> np.ndarray:
        st = (p - origin) @ solve.T
        return ((st >= 0.0) & (st <= 1.0)).all(axis=1)

    return plane(origin, np.cross(u, v), inside)


def disc(center: Any, normal: Any, radius: float) -> list[Sheet]:
    return plane(center, normal, lambda p: np.linalg.norm(p - center, axis=1) <= radius)


def polygon(vertices: Any, holes: Any, u: Any, v: Any) -> list[Sheet]:
    """u, v: two unit vectors of its plane at right angles."""
    frame = np.column_stack([u, v])

    def within(p: np.ndarray, loop: np.ndarray) -> np.ndarray:
        q, corners = (p - vertices[0]) @ frame, (np.asarray(loop) - vertices[0]) @ frame
        angle = np.zeros(len(p))
        for a, b in zip(corners, np.roll(corners, -1, axis=0)):
            one, other = a - q, b - q
            angle += np.arctan2(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0], (one * other).sum(axis=1))
        return np.abs(angle) > np.pi

    def inside(p: np.ndarray) -> np.ndarray:
        odd = within(p, vertices)
        for hole in holes:
            odd ^= within(p, hole)
        return odd

    return plane(vertices[0], np.cross(u, v), inside)


# Quadrics by their equations, in their own frame.


def quadric(kind: str, center: Any, turn: np.ndarray, radii: Any, low: float = -np.inf, high: float = np.inf) -> list[Sheet]:
    r = np.asarray(radii, float)

    def local(p: np.ndarray) -> np.ndarray:
        return (p - center) @ turn

    def f(p: np.ndarray) -> np.ndarray:
        x, y, z = local(p).T
        around = (x / r[0]) ** 2 + (y / r[1]) ** 2
        return {
            "ellipsoid": lambda: around + (z / r[-1]) ** 2 - 1.0,
            "cylinder": lambda: around - 1.0,
            "cone": lambda: around - z * z,
            "paraboloid": lambda: around - z,
            "saddle": lambda: (x / r[0]) ** 2 - (y / r[1]) ** 2 - z,
            "hyperboloid1": lambda: around - (z / r[-1]) ** 2 - 1.0,
            "hyperboloid2": lambda: around - (z / r[-1]) ** 2 + 1.0,
        }[kind]()

    def inside(p: np.ndarray) -> np.ndarray:
        z = local(p)[:, 2]
        return (z >= low) & (z <= high)

    return [(f, inside)]


# Solids: negative within.


def solid(kind: str, center: Any, turn: np.ndarray, size: Any) -> list[Sheet]:
    def f(p: np.ndarray) -> np.ndarray:
        q = (p - center) @ turn
        round_, z = np.hypot(q[:, 0], q[:, 1]), q[:, 2]
        if kind == "sphere":
            return np.linalg.norm(q, axis=1) - size
        if kind == "ellipsoid":
            return ((q / size) ** 2).sum(axis=1) - 1.0
        if kind == "box":
            return (np.abs(q) - size).max(axis=1)
        if kind == "capsule":
            return np.hypot(round_, z - np.clip(z, -size[1], size[1])) - size[0]
        if kind == "cylinder":
            return np.maximum(round_ - size[0], np.abs(z) - size[1])
        if kind == "cone":
            return np.maximum(round_ - size[0] * (size[1] - z) / (2.0 * size[1]), -z - size[1])
        if kind == "half space":
            return q @ np.asarray(size[:3]) - size[3]
        assert kind == "hull"
        return (q @ size.equations[:, :3].T + size.equations[:, 3]).max(axis=1)

    return [(f, everywhere)]


def hull_of(points: np.ndarray) -> ConvexHull:
    return ConvexHull(points)


def mesh(corners: np.ndarray) -> list[Sheet]:
    """(F, 3, 3) corners of triangles, world frame."""

    def sheet(c: np.ndarray) -> Sheet:
        solve = np.linalg.pinv(np.column_stack([c[1] - c[0], c[2] - c[0]]))

        def inside(p: np.ndarray) -> np.ndarray:
            st = (p - c[0]) @ solve.T
            return (st >= -1e-12).all(axis=1) & (st.sum(axis=1) <= 1.0 + 1e-12)

        return plane(c[0], np.cross(c[1] - c[0], c[2] - c[0]), inside)[0]

    return [sheet(c) for c in corners]


def blobs(centers: Any, radii: Any, strengths: Any, threshold: float) -> list[Sheet]:
    def f(p: np.ndarray) -> np.ndarray:
        total = np.full(len(p), -threshold)
        for c, r, s in zip(centers, radii, strengths):
            total += s * np.clip(1.0 - ((p - c) ** 2).sum(axis=1) / r**2, 0.0, None) ** 3
        return total

    return [(f, everywhere)]


def skeleton(segments: Any, radii: Any, strengths: Any, threshold: float) -> list[Sheet]:
    """The integral of 35 / (32 r) (1 - |p - x|^2 / r^2)^3 along each segment, by Gauss points where that is positive."""
    nodes, weights = np.polynomial.legendre.leggauss(8)

    def f(p: np.ndarray) -> np.ndarray:
        total = np.full(len(p), -threshold)
        for (a, b), r, s in zip(segments, radii, strengths):
            length = np.sqrt(((b - a) ** 2).sum())
            u = (b - a) / length
            foot = (p - a) @ u
            half = np.sqrt(np.clip(r**2 - ((p - a) ** 2).sum(axis=1) + foot**2, 0.0, None))
            begin, end = np.clip(foot - half, 0.0, length), np.clip(foot + half, 0.0, length)
            for node, weight in zip(nodes, weights):
                x = a + (0.5 * (begin + end) + 0.5 * (end - begin) * node)[:, None] * u
                k = np.clip(1.0 - ((p - x) ** 2).sum(axis=1) / r**2, 0.0, None) ** 3
                total += s * 35.0 / (32.0 * r) * 0.5 * (end - begin) * weight * k
        return total

    return [(f, everywhere)]


def patches(corners: np.ndarray, control: np.ndarray, degree: int) -> list[Sheet]:
    """(T, 4, 3) corners of tetrahedra and (T, K) control values: sums of Bernstein polynomials, one sheet a tetrahedron."""
    powers = np.array(sorted((p for p in product(range(degree + 1), repeat=4) if sum(p) == degree), reverse=True))
    many = np.array([factorial(degree) / np.prod([factorial(k) for k in power]) for power in powers])

    def sheet(c: np.ndarray, values: np.ndarray) -> Sheet:
        solve = np.linalg.inv(np.vstack([c.T, np.ones(4)]))

        def weights(p: np.ndarray) -> np.ndarray:
            return np.column_stack([p, np.ones(len(p))]) @ solve.T

        def f(p: np.ndarray) -> np.ndarray:
            w, total = weights(p), np.full(len(p), np.nan)
            # Beyond about its own size nothing is asked of it.
            near = w.min(axis=1) > -0.5
            w = w[near]
            total[near] = np.prod([w[:, i, None] ** powers[:, i] for i in range(4)], axis=0) @ (many * values)
            return total

        return f, lambda p: (weights(p) >= -1e-12).all(axis=1)

    return [sheet(c, values) for c, values in zip(corners, control)]


def terrain(z: np.ndarray, spacing: float) -> list[Sheet]:
    """Heights z[y, x] over a grid from (0, 0) on, bilinear between."""
    top = (np.array(z.shape[::-1]) - 1) * spacing

    def f(p: np.ndarray) -> np.ndarray:
        at = np.clip(p[:, :2] / spacing, 0.0, np.array(z.shape[::-1]) - 1.0)
        x, y = np.minimum(at.astype(int), np.array(z.shape[::-1]) - 2).T
        a, b = at[:, 0] - x, at[:, 1] - y
        low, high = (1 - a) * z[y, x] + a * z[y, x + 1], (1 - a) * z[y + 1, x] + a * z[y + 1, x + 1]
        return p[:, 2] - (1 - b) * low - b * high

    return [(f, lambda p: ((p[:, :2] >= 0.0) & (p[:, :2] <= top)).all(axis=1))]


def first_impact(sheets: list[Sheet], path: Path, end: float, samples: int = 4001) -> tuple[float, float]:
    """(time, doubt): the earliest crossing in (0, end), inf if there is none; doubt: how near a bound or a touch may have
    decided otherwise, the least of |f| at an extreme between samples and of the change of `inside` about a crossing."""
    best, doubt = np.inf, np.inf
    t = np.linspace(0.0, end, samples)
    points = path(t)
    for f, inside in sheets:
        values = f(points)
        # An extreme close to zero may cross it twice between two samples.
        turn = np.flatnonzero((np.diff(values)[1:] > 0) != (np.diff(values)[:-1] > 0)) + 1
        # NaN where a sheet says nothing, since it is elsewhere.
        there = np.isfinite(values)
        turn = turn[there[turn]]
        near = np.abs(values[turn]) / np.abs(values[there]).max(initial=1e-300)
        doubt = min(doubt, float(near.min(initial=np.inf)))
        for k in np.flatnonzero(((values[1:] > 0.0) != (values[:-1] > 0.0)) & there[1:] & there[:-1]):
            low, high = t[k], t[k + 1]
            for _ in range(70):
                middle = 0.5 * (low + high)
                if (f(path(np.array([middle])))[0] > 0.0) == (values[k] > 0.0):
                    low = middle
                else:
                    high = middle
            about = inside(path(np.array([low - 1e-7, 0.5 * (low + high), high + 1e-7])))
            if about.any() and not about.all():
                doubt = 0.0
            if about[1] and high < best:
                best = high
                break
    return best, doubt
