"""The sound of impacts straight from its definition, slow: a sum over impacts and modes at each sample.

A mode answers the force F of a contact by q'' = F(t) + integral of F(s) h''(t - s) ds with h'' = Im(c^2 exp(c t)) / w and c =
-d + i w; the integral is done numerically (Gauss and Legendre), not by the closed form that is tested. Times and phases are
taken exactly (fractions), so that the sum is right to a few roundoffs however late it is.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from thud.particles import Material

Floats = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def contact_seconds(speed: float, modulus: float, radius: float, density: float, ball: float) -> float:
    """Hertz: contact of a ball with a half-space."""
    mass = density * 4.0 / 3.0 * math.pi * radius**3
    both = 1.0 / (1.0 / modulus + 1.0 / ball)
    return min(2.868 * (mass**2 / (radius * both**2 * speed)) ** 0.2, 0.02)


def spectrum(x: float) -> float:
    """Of F = (1 - cos(2 pi t / T)) / T at the frequency x / T, by quadrature."""
    t = 0.5 * (_NODES + 1.0)
    return float(np.sum(0.5 * _WEIGHTS * (1.0 - np.cos(2.0 * np.pi * t)) * np.cos(2.0 * np.pi * x * (t - 0.5))))


def _drive(c: complex, length: float, upto: float) -> complex:
    """Integral of F(s) exp(-c s) from 0 to `upto`, F of unit impulse over `length` seconds."""
    pieces = max(1, math.ceil(abs(c) * upto / 4.0), math.ceil(2.0 * upto / length))
    edges = np.linspace(0.0, upto, pieces + 1)
    half = 0.5 * np.diff(edges)[:, None]
    s = half * (_NODES + 1.0) + edges[:-1, None]
    force = (1.0 - np.cos(2.0 * np.pi * s / length)) / length
    return complex(np.sum(half * _WEIGHTS * force * np.exp(-c * s)))


def modal_sum(
    time: Iterable[float],
    collider: Iterable[int],
    impulse: Iterable[float],
    length: Iterable[float],
    materials: Sequence[Material | None],
    t0: float,
    rate: int,
    samples: Iterable[int],
    shapes: Sequence[Floats] | None = None,
    click: Iterable[float] | None = None,
) -> Floats:
    """p(t) = sum_i J_i (sum_k g_k phi_ik q_k''(t - t_i) + click_i F'(t - t_i)) at t = t0 + n / rate.

    `length`: seconds of contacts; shorter ones than two samples are drawn out to two, each mode getting what it would get, and
    clicks to four.
    `shapes`: (K,) of each impact; None: 1.
    """
    samples = list(samples)
    terms: list[list[float]] = [[] for _ in samples]
    time, length = list(time), list(length)
    clicks = [0.0] * len(time) if click is None else list(click)
    for i, (begin, which, j, true) in enumerate(zip(time, collider, impulse, length, strict=True)):
        material = materials[int(which)]
        if material is None:
            continue
        drawn = max(true, 2.0 / rate)
        shape = np.ones(len(np.asarray(material.gains))) if shapes is None else shapes[i]
        modes = []
        columns = (np.asarray(material.frequencies), np.asarray(material.dampings), np.asarray(material.gains))
        for f, d, g, a in zip(*columns, shape, strict=True):
            if f < rate / 2:
                c = complex(-d, 2.0 * math.pi * f)
                weight = g * a * j * (spectrum(f * true) / spectrum(f * drawn) if true < drawn else 1.0)
                modes.append((Fraction(float(f)), c, weight, _drive(c, drawn, drawn)))
        start = Fraction(float(t0)) - Fraction(float(begin))
        for row, n in enumerate(samples):
            tau = start + Fraction(int(n), rate)
            if tau < 0:
                continue
            seconds = float(tau)
            inside = seconds < drawn
            turn = 2.0 * math.pi * seconds / drawn
            force = (1.0 - math.cos(turn)) / drawn if inside else 0.0
            for f, c, weight, whole in modes:
                drive = _drive(c, drawn, seconds) if inside else whole
                wave = math.exp(c.real * seconds) * cmath.exp(2j * math.pi * float(_fraction_of_turn(f * tau)))
                terms[row].append(weight * (force + (c * c / c.imag * wave * drive).imag))
            wave_length = max(true, 4.0 / rate)
            if seconds < wave_length:
                turn = 2.0 * math.pi * seconds / wave_length
                terms[row].append(clicks[i] * j * 2.0 * math.pi / wave_length**2 * math.sin(turn))
    return np.array([math.fsum(row) for row in terms])


def _fraction_of_turn(turns: Fraction) -> Fraction:
    """Turns less the nearest whole number of them."""
    return turns - round(turns)
