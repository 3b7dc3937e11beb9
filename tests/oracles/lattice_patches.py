"""Straight paths through a field that is linear in the six tetrahedra of each cell of a grid, in rational numbers.

Where the field changes its sign, however a path meets vertices, edges and faces, and however often the field is 0 there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def lattice_value(values: np.ndarray, p: list[Fraction]) -> Fraction:
    """The field at p: from the cell's lowest vertex along its axes in the order of what p has left of them."""
    low = [min(int(x // 1), n - 2) for x, n in zip(p, values.shape)]
    part = [x - k for x, k in zip(p, low)]
    order = sorted(range(3), key=lambda axis: -part[axis])
    left = [Fraction(1), *(part[axis] for axis in order), Fraction(0)]
    total, at = Fraction(0), list(low)
    for k in range(4):
        total += int(values[tuple(at)]) * (left[k] - left[k + 1])
        if k < 3:
            at[order[k]] += 1
    return total


def lattice_change(values: np.ndarray, x: np.ndarray, v: np.ndarray) -> Fraction | None:
    """When the field along x + t v, t >= 0, first changes its sign within the grid; of a stretch of zeros the begin."""
    place, speed = [Fraction(float(c)) for c in x], [Fraction(float(c)) for c in v]
    begin, end = Fraction(0), Fraction(10**6)
    for c, w, n in zip(place, speed, values.shape):
        if w == 0:
            if not 0 <= c <= n - 1:
                return None
            continue
        one, other = sorted([-c / w, (n - 1 - c) / w])
        begin, end = max(begin, one), min(end, other)
    if begin >= end:
        return None
    # The tetrahedra end at whole coordinates and at whole differences of two.
    most, times = max(values.shape), {begin, end}
    lines = list(zip(place, speed))
    lines += [(place[a] - place[b], speed[a] - speed[b]) for a in range(3) for b in range(a)]
    for c, w in lines:
        if w != 0:
            times |= {t for k in range(-most, most + 1) if begin < (t := (k - c) / w) < end}
    order = sorted(times)
    heights = [lattice_value(values, [c + t * w for c, w in zip(place, speed)]) for t in order]
    side, zero = 0, None
    for k, (t, f) in enumerate(zip(order, heights)):
        if k and heights[k - 1] * f < 0:
            before = heights[k - 1]
            return order[k - 1] + (t - order[k - 1]) * before / (before - f)
        if f == 0:
            zero = t if zero is None else zero
            continue
        sign = 1 if f > 0 else -1
        if side and sign != side:
            return zero
        side, zero = sign, None
    return None
