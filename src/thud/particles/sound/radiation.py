"""How a vibrating mode is heard: its pressure by its acceleration, its radiation efficiency, what that costs it.

A mode that moves as q(t) phi(x) over an area A on a rigid wall radiates the power rho c A sigma <phi^2> q'^2 to one side, and
so, 1 m away and averaged over directions, the pressure

    p = G q'',    G = rho c sqrt(A sigma <phi^2> / (2 pi)) / omega.    (1)

For the modes of a plate whose halves do not cancel this is, at low frequencies, Rayleigh's integral itself: rho / (2 pi) times
the volume that phi displaces.

sigma of a simply supported plate with m by n half waves is Wallace's (1972), its leading terms below coincidence,

    32 k^2 a b / (pi^5 m^2 n^2)          m and n odd,
    8 k^4 a b^3 / (3 pi^5 m^2 n^2)       n even (a and b swapped: m even),    (2)
    2 k^6 a^3 b^3 / (15 pi^5 m^2 n^2)    both even,

and about 1 above it, where the wave of the air is longer than that of the plate. x / (1 + x) with x = (2) + (k / k_s)^8 leads
from the one to the other. Discs, bars and shells take the first line for a square of their area and wave number k_s.

Wallace, "Radiation resistance of a rectangular panel", J. Acoust. Soc. Am. 51 (1972) 946-952.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints

#: Of air at 20 degrees Celsius, kg/m^3 and m/s.
AIR_DENSITY = 1.204
SPEED_OF_SOUND = 343.2


def plate_efficiency(frequencies: Floats, m: Ints, n: Ints, sides: tuple[float, float]) -> Floats:
    """sigma of a plate's modes, Eq. (2)."""
    a, b = sides
    k = 2.0 * np.pi * frequencies / SPEED_OF_SOUND
    ka, kb = (k * a) ** 2, (k * b) ** 2
    x = 32.0 * k * k * a * b / (np.pi**5 * (m * n) ** 2)
    x = x * np.where(m % 2 == 0, ka / 12.0, 1.0) * np.where(n % 2 == 0, kb / 12.0, 1.0)
    x = np.where((m % 2 == 0) & (n % 2 == 0), 2.0 * (ka * kb) ** 1.5 / (15.0 * np.pi**5 * (m * n) ** 2), x)
    return _saturated(x, k, np.pi * np.hypot(m / a, n / b))


def mode_efficiency(frequencies: Floats, wave_number: Floats, area: float) -> Floats:
    """sigma of modes of any body, as those of a square plate of that area (m^2) and wave number (rad/m)."""
    k = 2.0 * np.pi * frequencies / SPEED_OF_SOUND
    return _saturated(128.0 / np.pi * (k / wave_number) ** 2 / (wave_number**2 * area), k, wave_number)


def _saturated(x: Floats, k: Floats, wave_number: Floats) -> Floats:
    x = x + np.minimum(k / wave_number, 10.0) ** 8
    return x / (1.0 + x)


def pressure_by_acceleration(frequencies: Floats, efficiency: Floats, area: float, mean_square: Floats | float) -> Floats:
    """G of Eq. (1): Pa at 1 m for an acceleration of 1 m/s^2 where phi is 1."""
    speed = AIR_DENSITY * SPEED_OF_SOUND * np.sqrt(area * efficiency * mean_square / (2.0 * np.pi))
    return speed / (2.0 * np.pi * frequencies)


def radiation_damping(efficiency: Floats, mass_by_area: float) -> Floats:
    """1/s: what a thin wall of so many kg/m^2 loses of its amplitude to the air on both sides."""
    return AIR_DENSITY * SPEED_OF_SOUND * efficiency / mass_by_area
