"""The sound of impacts, straight from its formula: a sum over impacts and modes at each sample. Slow.

Times and phases are taken exactly (fractions), so that the sum is right to a few roundoffs however late it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from thud.particles import Material

Floats = npt.NDArray[np.float64]


def modal_sum(
    time: Iterable[float],
    collider: Iterable[int],
    strength: Iterable[float],
    materials: Sequence[Material | None],
    t0: float,
    rate: int,
    samples: Iterable[int],
) -> Floats:
    """y(t) = sum_i s_i sum_k g_k exp(-d_k (t - t_i)) sin(2 pi f_k (t - t_i)) over t_i <= t, at t = t0 + n / rate."""
    samples = list(samples)
    terms: list[list[float]] = [[] for _ in samples]
    for begin, which, s in zip(time, collider, strength, strict=True):
        material = materials[int(which)]
        if material is None:
            continue
        modes = [
            (Fraction(float(f)), float(d), float(g))
            for f, d, g in zip(
                np.asarray(material.frequencies), np.asarray(material.dampings), np.asarray(material.gains), strict=True
            )
            if f < rate / 2
        ]
        start = Fraction(float(t0)) - Fraction(float(begin))
        for row, n in enumerate(samples):
            tau = start + Fraction(int(n), rate)
            if tau < 0:
                continue
            seconds = float(tau)
            for f, d, g in modes:
                turns = float(_fraction_of_turn(f * tau))
                terms[row].append(g * float(s) * math.exp(-d * seconds) * math.sin(2.0 * math.pi * turns))
    return np.array([math.fsum(row) for row in terms])


def _fraction_of_turn(turns: Fraction) -> Fraction:
    """Turns less the nearest whole number of them."""
    return turns - round(turns)
