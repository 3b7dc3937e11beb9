"""A soft constraint as three numbers (Catto, Soft constraints, GDC 2011)."""

from __future__ import annotations

import math

import numpy as np

from thud._core.arrays import Floats
from thud.dynamics.tolerances import CONTACT_CYCLES, CONTACT_DAMPING


def soft_numbers(hertz: float, damping: float, h: float) -> tuple[float, float, float]:
    """(rate of the bias, scale of the effective mass, scale of the impulse) of a spring of so many cycles a second with a
    damping ratio, over sub-steps of h seconds."""
    omega = 2.0 * math.pi * hertz
    a1 = 2.0 * damping + h * omega
    a2 = h * omega * a1
    return omega / a1, a2 / (1.0 + a2), 1.0 / (1.0 + a2)


def contact_softness(h: float) -> Floats:
    """(2, 3) of contacts between two moving bodies, and with one that does not respond."""
    hertz = CONTACT_CYCLES / h
    return np.array([soft_numbers(hertz, CONTACT_DAMPING, h), soft_numbers(2.0 * hertz, CONTACT_DAMPING, h)])
