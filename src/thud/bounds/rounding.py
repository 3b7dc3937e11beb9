"""Rounding outward from float64 to float32, so that a stored volume holds what the computed one did."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device
from thud.constants import FLOAT32_STEP, FLOAT32_TINY


@exact_device
def up32(x):
    """A float32 above the length x >= 0, and above 0: a step of 2^-23 outweighs the 2^-24 of rounding to nearest."""
    return np.float32(max(x * (1.0 + FLOAT32_STEP), FLOAT32_TINY))
