"""Materials for the ear: the modes in which a struck thing rings.

The modal model is that of van den Doel, Kry and Pai, "FoleyAutomatic" (2001): a body has modes with frequencies f_k, dampings
d_k and shapes phi_k, and a force F(t) where phi_k = a_k is heard as the sum of

    p_k(t) = g_k a_k q_k'',    q'' + 2 d q' + ((2 pi f)^2 + d^2) q = F(t).    (1)

After a short strike of impulse J a mode rings as 2 pi f g a J exp(-d t) sin(2 pi f t), nearly: pressure goes with acceleration.

The named materials have the frequencies and shapes of a body of that kind (`bodies.py`), g = G / (mass <phi^2>) with the
pressure G by acceleration (`radiation.py`), and the dampings

    d_k = d_0 + pi f_k tan(phi) + what radiation costs.    (2)

Of all modes up to 20 kHz those are kept that are heard most (`hearing.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.errors import InvalidInputError
from thud.gates import as_positive, finite_array
from thud.particles.sound.bodies import GLASS, STEEL, WOOD, BodyModes, Stuff, bar, disc, plate, shell
from thud.particles.sound.hearing import audible, choose_modes
from thud.particles.sound.mode_shapes import ModeShapes
from thud.particles.sound.radiation import AIR_DENSITY, pressure_by_acceleration, radiation_damping
from thud.particles.sound.tolerances import HEARING_HIGHEST

__all__ = ["Material", "earth", "glass", "lid", "sheet_metal", "tin_can", "wood"]

#: Modes of a named material, unless told otherwise.
MODES = 256

#: Seconds of the contact by which modes are chosen: a hailstone on steel.
_REFERENCE_CONTACT = 60e-6


@dataclass(frozen=True, eq=False)
class Material:
    """How a thing sounds when it is struck: one resonator a mode.

    Parameters
    ----------
    frequencies : (K,) Hz, positive
    dampings : (K,) 1/s, positive: a mode falls to 1/e in 1/damping seconds
    gains : (K,) Pa/N: a strike of impulse J (N s) rings with 2 pi f g J pascals at 1 m where the mode's shape is 1; any sign
    name : for people
    shapes : the modes' shapes; None: each is 1 everywhere
    modulus : E / (1 - nu^2) of the surface, Pa: the softer, the longer and duller a contact
    spread : how much the frequencies of one body differ from those of another of the same make, as a part of them
    """

    frequencies: npt.ArrayLike
    dampings: npt.ArrayLike
    gains: npt.ArrayLike
    name: str = ""
    shapes: ModeShapes | None = None
    modulus: float = 100e9
    spread: float = 0.0

    def __post_init__(self) -> None:
        arrays = {}
        for name in ("frequencies", "dampings", "gains"):
            array = np.array(finite_array(getattr(self, name), name))
            if array.ndim != 1 or len(array) == 0:
                raise InvalidInputError(f"{name}: expected shape (K,) with at least one mode, got {array.shape}")
            if name != "gains" and (array <= 0.0).any():
                row = int(np.argmax(array <= 0.0))
                unit = "Hz" if name == "frequencies" else "1/s"
                raise InvalidInputError(f"{name}: row {row} is {array[row]}; expected a positive number of {unit}")
            array.flags.writeable = False
            arrays[name] = array
        if len({len(array) for array in arrays.values()}) > 1:
            sizes = ", ".join(f"{len(array)} {name}" for name, array in arrays.items())
            raise InvalidInputError(f"frequencies, dampings, gains: expected one of each a mode, got {sizes}")
        if not isinstance(self.name, str):
            raise InvalidInputError(f"name: expected a string, got a {type(self.name).__name__}")
        if self.shapes is not None and not isinstance(self.shapes, ModeShapes):
            raise InvalidInputError(f"shapes: expected the ModeShapes of a body, or None, got a {type(self.shapes).__name__}")
        if self.shapes is not None and len(self.shapes.first.columns) != len(arrays["gains"]):
            raise InvalidInputError(
                f"shapes: expected one a mode, {len(arrays['gains'])}, got {len(self.shapes.first.columns)}"
            )
        object.__setattr__(self, "modulus", as_positive(self.modulus, "modulus"))
        object.__setattr__(self, "spread", as_positive(self.spread, "spread", zero=True))
        if self.spread >= 0.5:
            raise InvalidInputError(f"spread: expected a part below 0.5, got {self.spread}")
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        f = np.asarray(self.frequencies)
        return f"Material({self.name!r}, {len(f)} modes from {f.min():.0f} to {f.max():.0f} Hz)"

    def _key(self) -> tuple[Any, ...]:
        modes = (np.asarray(self.frequencies), np.asarray(self.dampings), np.asarray(self.gains))
        parts: list[Any] = [array.tobytes() for array in modes]
        if self.shapes is not None:
            parts += [self.shapes.kind, self.shapes.size]
            for factor in (self.shapes.first, self.shapes.second):
                parts += [factor.columns.tobytes(), None if factor.table is None else factor.table.tobytes()]
        return (*parts, self.name, self.modulus, self.spread)

    def __eq__(self, other: object) -> bool:
        return self is other or (self._key() == other._key() if isinstance(other, Material) else NotImplemented)

    def __hash__(self) -> int:
        return hash(self._key()[:3])

    def ring_time(self, decibels: float = 60.0) -> float:
        """Seconds until the slowest mode has fallen by so many decibels."""
        return as_positive(decibels, "decibels") * float(np.log(10.0)) / 20.0 / float(np.min(self.dampings))

    def body(self, number: int) -> Material:
        """The material as body `number` of its make has it: all frequencies shifted by up to `spread`, each by up to a tenth
        of it more.

        No two things of one make ring alike, and the two modes of a round thing that would have one frequency beat.
        """
        if self.spread == 0.0:
            return self
        count = len(np.asarray(self.frequencies))
        # Multiples of irrational numbers are spread evenly.
        all_of_it = (0.5 + number * 0.6180339887498949) % 1.0 - 0.5
        each = ((np.arange(count) + 1.0) * 0.7548776662466927 + (number + 1.0) * 0.5698402909980532) % 1.0 - 0.5
        factor = 1.0 + 2.0 * self.spread * (all_of_it + 0.1 * each)
        return replace(self, frequencies=np.asarray(self.frequencies) * factor)


def _named(found: BodyModes, stuff: Stuff, losses: float, modes: int, loudness: float, name: str, spread: float) -> Material:
    """The most audible modes of a body, with dampings by Eq. (2)."""
    f = found.frequencies
    dampings = losses + np.pi * f * stuff.friction + radiation_damping(found.efficiency, found.mass / found.area)
    pressure = pressure_by_acceleration(f, found.efficiency, found.area, found.mean_square)
    gains = pressure / (found.mass * found.mean_square)
    x = f * _REFERENCE_CONTACT
    # The spectrum of the contact, without its zeros: what is longer or shorter has them elsewhere.
    strike = 2.0 * np.pi * f * gains / (1.0 + x**3)
    rows, factor = choose_modes(f, strike**2 * found.mean_square / (4.0 * dampings), modes)
    return Material(f[rows], dampings[rows], loudness * gains[rows] * factor, name, found.shapes(rows), stuff.modulus, spread)


def _mode_count(modes: int) -> int:
    if isinstance(modes, bool) or not isinstance(modes, (int, np.integer)) or modes < 1:
        raise InvalidInputError(f"modes: expected a whole number of at least 1, got {modes!r}")
    return int(modes)


@lru_cache(maxsize=64)
def _made(make: Callable[..., BodyModes], sizes: tuple[Any, ...], stuff: Stuff, rest: tuple[Any, ...]) -> Material:
    """Kept: a disc's Bessel functions take a moment."""
    shear = (0.06 * stuff.young,) if make is bar else ()
    return _named(make(*sizes, stuff, *shear), stuff, *rest)


def _sides(sides: Any) -> Any:
    return tuple(sides) if isinstance(sides, (list, np.ndarray)) else sides


def sheet_metal(
    sides: tuple[float, float] = (0.3, 0.6), thickness: float = 0.7e-3, *, modes: int = MODES, loudness: float = 1.0
) -> Material:
    """A roof of sheet steel: one pan between ribs and battens, a thin plate (simply supported). A roof is covered by such pans.

    Parameters
    ----------
    sides, thickness : metres
    modes : how many are kept
    loudness : factor on what physics says
    """
    rest = (12.0, _mode_count(modes), as_positive(loudness, "loudness"), "sheet metal", 0.03)
    return _made(plate, (_sides(sides), thickness), STEEL, rest)


def glass(
    sides: tuple[float, float] = (0.3, 0.4), thickness: float = 4e-3, *, modes: int = MODES, loudness: float = 1.0
) -> Material:
    """A pane of window glass, a thin plate (simply supported). Parameters as those of `sheet_metal`."""
    return _made(
        plate, (_sides(sides), thickness), GLASS, (15.0, _mode_count(modes), as_positive(loudness, "loudness"), "glass", 0.02)
    )


def tin_can(
    radius: float = 0.033, length: float = 0.11, thickness: float = 0.2e-3, *, modes: int = MODES, loudness: float = 1.0
) -> Material:
    """A can of tin plate: a cylindrical shell. A garbage can is `tin_can(0.25, 0.7, 0.6e-3)`.

    Parameters
    ----------
    radius, length, thickness : metres
    modes : how many are kept
    loudness : factor on what physics says
    """
    rest = (8.0, _mode_count(modes), as_positive(loudness, "loudness"), "tin can", 0.03)
    return _made(shell, (radius, length, thickness), STEEL, rest)


def lid(radius: float = 0.3, thickness: float = 0.6e-3, *, modes: int = MODES, loudness: float = 1.0) -> Material:
    """A lid or drum head of sheet steel: a disc with a clamped rim. Parameters as those of `tin_can`."""
    return _made(disc, (radius, thickness), STEEL, (8.0, _mode_count(modes), as_positive(loudness, "loudness"), "lid", 0.03))


def wood(
    length: float = 0.8, thickness: float = 0.025, *, width: float = 0.14, modes: int = MODES, loudness: float = 1.0
) -> Material:
    """Boards of a wooden table: bars with free ends, struck across; bending and torsion.

    Parameters
    ----------
    length, thickness, width : metres
    modes : how many are kept
    loudness : factor on what physics says
    """
    rest = (40.0, _mode_count(modes), as_positive(loudness, "loudness"), "wood", 0.04)
    made = _made(bar, (length, width, thickness), WOOD, rest)
    # Across the grain, where it is struck, wood is ten times softer.
    return replace(made, modulus=0.1 * WOOD.modulus)


def earth(depth: float = 0.25, shear_speed: float = 100.0, *, modes: int = MODES, loudness: float = 1.0) -> Material:
    """Bare ground: a soft layer on firm soil, whose shear waves stand at f_k = (2 k - 1) speed / (4 depth); a dull thud.

    Half the mass of the layer under a patch moves with a mode and the patch radiates, whatever its size: g = rho_air / (pi rho
    depth). The ground has no edges: it sounds alike wherever it is struck.

    Parameters
    ----------
    depth : of the layer, metres
    shear_speed : of shear waves in it, m/s
    modes : how many at most
    loudness : factor on what physics says
    """
    depth, shear_speed = as_positive(depth, "depth"), as_positive(shear_speed, "shear_speed")
    count = _mode_count(modes)
    k = np.arange(1, min(count, int(max(HEARING_HIGHEST * 2.0 * depth / shear_speed, 1.0)) + 1) + 1)
    frequencies = np.asarray((2 * k - 1) * shear_speed / (4.0 * depth), np.float64)
    if not audible(frequencies).any():
        raise InvalidInputError(
            f"depth, shear_speed: of such a layer none of the {len(k)} lowest modes is from 20 Hz to 20 kHz"
        )
    density, poisson = 1600.0, 0.35
    gains = np.full(len(k), as_positive(loudness, "loudness") * AIR_DENSITY / (np.pi * density * depth))
    # E / (1 - nu^2) = 2 G / (1 - nu), and G = rho c^2. The uppermost grains, on which things land, are far looser.
    modulus = 0.03 * 2.0 * density * shear_speed**2 / (1.0 - poisson)
    return Material(frequencies, 60.0 + np.pi * 0.25 * frequencies, gains, "earth", None, modulus)
