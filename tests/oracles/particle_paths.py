"""Impacts of particles with 50 digits: the polynomial h(t) of each collider, all its roots, the bounds; nothing clever."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath as mp
import numpy as np

from thud.particles.colliders.element import DISC, POLYGON, QUADRIC, RECTANGLE, Element

DIGITS = 50


def exact(values: Any) -> list[Any]:
    """Floats as mpmath numbers."""
    return [mp.mpf(float(x)) for x in values]


def dot(a: Any, b: Any) -> Any:
    return sum((x * y for x, y in zip(a, b)), mp.mpf(0))


def polynomial(element: Element, x: Any, v: Any, a: Any) -> list[Any]:
    """Coefficients of h, lowest first."""
    d = [p - q for p, q in zip(x, exact(element.origin))]
    if element.kind != QUADRIC:
        n = exact(element.numbers[:3])
        return [dot(n, d), dot(n, v), dot(n, a) / 2]
    q = exact(element.numbers)
    matrix = [[q[0], q[1], q[2]], [q[1], q[3], q[4]], [q[2], q[4], q[5]]]
    g, j = q[6:9], q[9]
    half = [y / 2 for y in a]

    def form(p: Any, r: Any) -> Any:
        return dot(p, [dot(row, r) for row in matrix])

    return [
        form(d, d) + 2 * dot(g, d) + j,
        2 * form(d, v) + 2 * dot(g, v),
        form(v, v) + 2 * form(d, half) + 2 * dot(g, half),
        2 * form(v, half),
        form(half, half),
    ]


def real_roots(c: list[Any]) -> list[Any]:
    """Real roots of odd multiplicity (double ones are touches), rising."""
    c = list(c)
    while c and c[-1] == 0:
        c.pop()
    if len(c) < 2:
        return []
    with warnings.catch_warnings():
        # Newer versions would have the order of coefficients said.
        warnings.simplefilter("ignore", DeprecationWarning)
        roots = mp.polyroots(c[::-1], maxsteps=500, extraprec=120)
    real = sorted(mp.re(r) for r in roots if abs(mp.im(r)) <= mp.mpf(10) ** (-DIGITS // 2) * max(abs(r), mp.mpf(10) ** -30))
    return [r for r in real if changes_sign(c, r)]


def value(c: list[Any], t: Any) -> Any:
    return sum((k * t**i for i, k in enumerate(c)), mp.mpf(0))


def slope(c: list[Any], t: Any) -> Any:
    return sum((i * k * t ** (i - 1) for i, k in enumerate(c) if i), mp.mpf(0))


def changes_sign(c: list[Any], t: Any) -> bool:
    step = mp.mpf(10) ** -20 * max(abs(t), mp.mpf(10) ** -30)
    return value(c, t - step) * value(c, t + step) < 0


def margin(element: Element, p: Any) -> float:
    """c(p): the least of the bounds, metres; negative outside."""
    d = [q - r for q, r in zip(p, exact(element.origin))]
    least = mp.inf
    if element.kind in (RECTANGLE, DISC, POLYGON):
        du, dv = exact(element.numbers[3:6]), exact(element.numbers[6:9])
        s, t = dot(du, d), dot(dv, d)
        unit = 1 / max(mp.sqrt(dot(du, du)), mp.sqrt(dot(dv, dv)))
        if element.kind == RECTANGLE:
            least = min(s, t, 1 - s, 1 - t) * unit
        elif element.kind == DISC:
            least = (1 - mp.sqrt(s * s + t * t)) * unit
        else:
            least = polygon_margin(element, float(s), float(t)) * unit
    for row in element.clip:
        n = exact(row[:3])
        least = min(least, (mp.mpf(float(row[3])) - dot(n, p)) / mp.sqrt(dot(n, n)))
    return float(least)


def polygon_margin(element: Element, s: float, t: float) -> float:
    """Distance to the nearest side, negative outside, by winding angles."""
    angle, nearest = 0.0, np.inf
    odd = 0
    for loop in element.loops:
        ends = np.roll(loop, -1, axis=0)
        a, b = loop - [s, t], ends - [s, t]
        cross = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        angle = float(np.arctan2(cross, (a * b).sum(axis=1)).sum())
        odd += round(angle / (2 * np.pi))
        edge = ends - loop
        along = np.clip(-(a * edge).sum(axis=1) / (edge * edge).sum(axis=1), 0.0, 1.0)
        nearest = min(nearest, float(np.linalg.norm(a + along[:, None] * edge, axis=1).min()))
    return nearest if odd % 2 else -nearest


def first_impact(elements: list[tuple[int, Element]], x: Any, v: Any, a: Any, end: float) -> tuple[Any, int, float, float]:
    """(time, collider, steepness, margin) of the earliest impact in (0, end): steepness is |h'| there over its largest on the
    path so far; margin the least |c(p)| of the crossings up to then, over which an answer may rightly differ."""
    with mp.workdps(DIGITS):
        x, v, a = exact(x), exact(v), exact(a)
        best: tuple[Any, int, float] = (mp.inf, -1, 1.0)
        closest = np.inf
        for collider, element in elements:
            c = polynomial(element, x, v, a)
            for t in real_roots(c):
                if not 0 < t < end:
                    continue
                p = [q + t * (w + t * b / 2) for q, w, b in zip(x, v, a)]
                c_p = margin(element, p)
                if t < best[0] * (1 + mp.mpf(10) ** -9):
                    closest = min(closest, abs(c_p))
                if c_p >= 0:
                    rough = np.polynomial.Polynomial([float(k) for k in c]).deriv()
                    most = max(float(np.abs(rough(np.linspace(0.0, float(t), 33))).max()), 1e-300)
                    if t < best[0]:
                        best = (t, collider, float(abs(slope(c, t)) / most))
                    break
        return best[0], best[1], best[2], closest
