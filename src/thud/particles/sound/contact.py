"""What strikes: its impulse, how long it touches, and the click that it makes itself.

The force of a contact is taken as F(t) = J / T (1 - cos(2 pi t / T)), 0 <= t <= T, close to what Hertz's law gives; its
impulse is J = m (1 + e) v, of the speed v along the normal and the restitution e, and its spectrum

    W(f T) = sin(pi f T) / (pi f T (1 - (f T)^2)).

A ball of radius R and mass m on a large body touches it for (Hertz; Goldsmith, "Impact", 1960)

    T = 2.868 (m^2 / (R E*^2 v))^(1/5),    1 / E* = (1 - nu^2) / E of the ball + the same of the body:

a harder hit is shorter and so brighter. A drop does not bounce but collapses, in the time 2 R / v in which it runs into the
surface.

The ball's own jolt is heard too. A rigid sphere with the force F on it radiates, far away and averaged over directions (Morse
and Ingard, "Theoretical Acoustics", 1968, Section 7.1),

    p = rho R^3 / (2 sqrt(3) c m) F'(t) / r    for waves longer than the ball, less by sqrt(1 + (2 pi f R / c)^4 / 4) for
    shorter ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_positive, finite_array
from thud.particles.sound.radiation import AIR_DENSITY, SPEED_OF_SOUND
from thud.particles.sound.tolerances import SOUND_LONGEST_CONTACT


@dataclass(frozen=True)
class Impactor:
    """A ball that strikes: by default a hailstone of 1 cm.

    Parameters
    ----------
    radius : metres
    density : kg/m^3
    modulus : E / (1 - nu^2) of what it is made of, Pa; 0 for a liquid
    name : for people
    """

    radius: float = 0.005
    density: float = 917.0
    modulus: float = 1e9
    name: str = "hail"

    def __post_init__(self) -> None:
        for name in ("radius", "density"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))
        object.__setattr__(self, "modulus", as_positive(self.modulus, "modulus", zero=True))

    @classmethod
    def hail(cls, radius: float = 0.005) -> Impactor:
        """A hailstone. Clear ice has E / (1 - nu^2) = 10 GPa; hail is milky, and its surface crushes: a tenth is taken."""
        return cls(radius)

    @classmethod
    def rain(cls, radius: float = 0.001) -> Impactor:
        """A drop of water."""
        return cls(radius, 998.0, 0.0, "rain")

    @classmethod
    def steel(cls, radius: float = 0.005) -> Impactor:
        """A ball of steel."""
        return cls(radius, 7850.0, 220e9, "steel")

    @property
    def mass(self) -> float:
        """Kilograms."""
        return 4.0 / 3.0 * math.pi * self.radius**3 * self.density

    def contact_time(self, speed: float, modulus: float) -> float:
        """Seconds that it touches a body of so much E / (1 - nu^2), Pa, at a speed along the normal, m/s."""
        speed, modulus = as_positive(speed, "speed"), as_positive(modulus, "modulus")
        return float(contact_times(self, np.array([speed]), np.array([modulus]), None, None)[0])


def contact_times(impactor: Impactor, speed: Floats, modulus: Floats, radius: Floats | None, mass: Floats | None) -> Floats:
    """(N,) seconds of contacts. `radius` and `mass` (N,): of each impactor, where they are not all alike."""
    from thud.particles.sound.modal import hertz_rows

    out = np.empty(len(speed))
    radii = np.full(len(speed), impactor.radius) if radius is None else np.ascontiguousarray(radius)
    masses = np.full(len(speed), impactor.mass) if mass is None else np.ascontiguousarray(mass)
    hertz_rows(
        np.ascontiguousarray(speed), np.ascontiguousarray(modulus), radii, masses, impactor.modulus, SOUND_LONGEST_CONTACT, out
    )
    return out


def click_factors(impactor: Impactor, contact: Floats, radius: Floats | None, mass: Floats | None) -> Floats:
    """(N,) pressure at 1 m over F' of the jolt of the impactor itself, Pa s/N, for contacts drawn out to so many seconds."""
    radii = np.full(len(contact), impactor.radius) if radius is None else radius
    masses = np.full(len(contact), impactor.mass) if mass is None else mass
    ratio = 2.0 * np.pi / contact * radii / SPEED_OF_SOUND
    ratio = ratio * ratio
    volume = radii * radii * radii / (2.0 * math.sqrt(3.0))
    return AIR_DENSITY / SPEED_OF_SOUND * volume / masses / np.sqrt(1.0 + ratio * ratio / 4.0)


def not_stated(mass: Any) -> bool:
    """Whether no mass is stated: particles have none unless their system does."""
    array = np.asarray(mass)
    return array.dtype.kind == "f" and array.size > 0 and bool(np.isnan(array).all())


def impactor_columns(impacts: Any, count: int) -> tuple[Floats | None, Floats | None]:
    """Radius (m) and mass (kg) of each impactor, where the impacts have such columns, else None. NaN is no mass."""
    columns: list[Floats | None] = []
    for name in ("radius", "mass"):
        value = getattr(impacts, name, None)
        if value is None or (name == "mass" and not_stated(value)):
            columns.append(None)
            continue
        array = finite_array(value, f"impacts.{name}")
        if name == "radius" and not array.any():
            # Points: they strike as the impactor does.
            columns.append(None)
            continue
        if array.shape not in ((), (count,)) or (array <= 0.0).any():
            raise InvalidInputError(f"impacts.{name}: expected a positive number for each of {count} impacts")
        columns.append(np.ascontiguousarray(np.broadcast_to(array, (count,)), dtype=np.float64))
    return columns[0], columns[1]
