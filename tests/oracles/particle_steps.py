"""Particles by small steps: each flight is sampled, a change of f's sign is refined by halving, the response is that of a
point that hits a wall. Slow and plain, in NumPy and Python floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracles.particle_paths import margin
from thud.particles.colliders.element import QUADRIC, Element
from thud.particles.tolerances import RESTING_SPEED


def field(element: Element, points: Any) -> Any:
    """f at (N, 3) points."""
    d = points - element.origin
    q = element.numbers
    if element.kind != QUADRIC:
        return d @ q[:3]
    matrix = np.array([[q[0], q[1], q[2]], [q[1], q[3], q[4]], [q[2], q[4], q[5]]])
    return ((d @ matrix) * d).sum(axis=1) + 2.0 * d @ q[6:9] + q[9]


def gradient(element: Element, point: Any) -> Any:
    q = element.numbers
    if element.kind != QUADRIC:
        return q[:3]
    matrix = np.array([[q[0], q[1], q[2]], [q[1], q[3], q[4]], [q[2], q[4], q[5]]])
    return 2.0 * (matrix @ (point - element.origin) + q[6:9])


def flights(
    elements: list[tuple[int, Element]], responses: Any, x: Any, v: Any, a: Any, life: float, bounces: int, step: float
) -> list[tuple[float, int]]:
    """(time, collider) of all impacts of one particle. `bounces` -1: removed at the first."""
    events: list[tuple[float, int]] = []
    begin, skip = 0.0, -1
    while True:
        times = np.arange(0.0, life - begin + step, step)
        times[-1] = life - begin
        points = x + times[:, None] * v + 0.5 * times[:, None] ** 2 * a
        best, which = np.inf, -1
        for row, (_, element) in enumerate(elements):
            values = field(element, points)
            if row == skip:
                # What was just left: its side is that of the first steps.
                values[0] = values[1]
            for k in np.flatnonzero(values[1:] * values[:-1] < 0.0):
                low, high = times[k], times[k + 1]
                sign = values[k]
                for _ in range(60):
                    middle = 0.5 * (low + high)
                    at = x + middle * v + 0.5 * middle**2 * a
                    if field(element, at[None])[0] * sign > 0.0:
                        low = middle
                    else:
                        high = middle
                at = x + low * v + 0.5 * low**2 * a
                if low < best and margin(element, at) >= 0.0:
                    best, which = low, row
                    break
        if which < 0 or begin + best >= life:
            return events
        collider, element = elements[which]
        events.append((begin + best, collider))
        point, w = x + best * v + 0.5 * best**2 * a, v + best * a
        n = gradient(element, point)
        n = n / np.linalg.norm(n)
        n = -n if n @ w > 0.0 else n
        e, friction = responses[collider]
        approach = n @ w
        along = w - approach * n
        speed = np.linalg.norm(along)
        keep = max(0.0, 1.0 + friction * (1.0 + e) * approach / speed) if speed > 0.0 else 0.0
        if len(events) > bounces or -e * approach < RESTING_SPEED:
            return events
        x, v, begin, skip = point, keep * along - e * approach * n, begin + best, which
