"""Materials for the ear: the modes in which a struck thing rings.

The modal model is that of van den Doel, Kry and Pai, "FoleyAutomatic" (2001): a strike of strength s at time 0 is heard as

    y(t) = s sum_k g_k exp(-d_k t) sin(2 pi f_k t),  t >= 0.    (1)

The named materials below take their frequencies from the textbook formula of a body of that kind, and the rest from two rules:

    d_k = d_0 + pi f_k tan(phi)           (2)  losses at the supports and by radiation, and internal friction, which is
                                               proportional to the frequency (Wildes and Richards 1988; van den Doel, Pai 1998)
    g_k = loudness h_k / sum_j h_j,       (3)  h = 1 / (1 + (f T)^2): a contact that lasts T seconds has little force beyond
                                               the frequency 1 / T. A strike anywhere finds all mode shapes alike on average.

By (3) a strike of 1 m/s never exceeds `loudness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_positive, finite_array

__all__ = ["Material", "earth", "glass", "sheet_metal", "tin_can", "wood"]


@dataclass(frozen=True, eq=False)
class Material:
    """How a thing sounds when it is struck: one damped sine a mode.

    Equal materials are one to the synthesis: their strikes ring in the same resonators.

    Parameters
    ----------
    frequencies : (K,) Hz, positive
    dampings : (K,) 1/s, positive: a mode falls to 1/e in 1/damping seconds
    gains : (K,) amplitude at a strike of 1 m/s (full scale is 1); any sign
    name : for people
    """

    frequencies: npt.ArrayLike
    dampings: npt.ArrayLike
    gains: npt.ArrayLike
    name: str = ""

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
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    def _key(self) -> tuple[bytes, bytes, bytes, str]:
        modes = (np.asarray(self.frequencies), np.asarray(self.dampings), np.asarray(self.gains))
        return modes[0].tobytes(), modes[1].tobytes(), modes[2].tobytes(), self.name

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Material) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def ring_time(self, decibels: float = 60.0) -> float:
        """Seconds until the slowest mode has fallen by so many decibels."""
        return as_positive(decibels, "decibels") * float(np.log(10.0)) / 20.0 / float(np.min(self.dampings))


def _from_frequencies(
    frequencies: npt.NDArray[Any], modes: int, friction: float, losses: float, contact: float, loudness: float, name: str
) -> Material:
    """The lowest `modes` of the frequencies, with dampings by Eq. (2) and gains by Eq. (3)."""
    frequencies = np.sort(frequencies.ravel())[:modes]
    weights = 1.0 / (1.0 + (frequencies * contact) ** 2)
    dampings = losses + np.pi * frequencies * friction
    return Material(frequencies, dampings, loudness * weights / weights.sum(), name)


def _mode_count(modes: int) -> int:
    if isinstance(modes, bool) or not isinstance(modes, (int, np.integer)) or modes < 1:
        raise InvalidInputError(f"modes: expected a whole number of at least 1, got {modes!r}")
    return int(modes)


def _plate(sides: tuple[float, float], thickness: float, young: float, poisson: float, density: float, modes: int) -> Floats:
    """Thin rectangular plate, simply supported: f = pi/2 sqrt(D / (density thickness)) (m^2/a^2 + n^2/b^2)."""
    a, b = (as_positive(side, "sides") for side in sides)
    thickness = as_positive(thickness, "thickness")
    stiffness = young * thickness**3 / (12.0 * (1.0 - poisson**2))  # D
    # The lowest `modes` of all (m, n) have both below modes + 1.
    m, n = np.mgrid[1 : modes + 1, 1 : modes + 1]
    return 0.5 * np.pi * np.sqrt(stiffness / (density * thickness)) * ((m / a) ** 2 + (n / b) ** 2)


def sheet_metal(
    sides: tuple[float, float] = (0.12, 0.25), thickness: float = 0.7e-3, *, modes: int = 16, loudness: float = 1.0
) -> Material:
    """A roof of sheet steel: one pan between ribs and battens, a thin plate (simply supported).

    Parameters
    ----------
    sides, thickness : metres
    modes : how many
    loudness : bound of the amplitude at a strike of 1 m/s
    """
    frequencies = _plate(sides, thickness, 200e9, 0.3, 7850.0, _mode_count(modes))
    return _from_frequencies(frequencies, modes, 2e-3, 12.0, 0.5e-3, as_positive(loudness, "loudness"), "sheet metal")


def glass(
    sides: tuple[float, float] = (0.3, 0.4), thickness: float = 4e-3, *, modes: int = 16, loudness: float = 0.6
) -> Material:
    """A pane of window glass, a thin plate (simply supported). Parameters as those of `sheet_metal`."""
    frequencies = _plate(sides, thickness, 70e9, 0.22, 2500.0, _mode_count(modes))
    return _from_frequencies(frequencies, modes, 3e-3, 15.0, 0.2e-3, as_positive(loudness, "loudness"), "glass")


def tin_can(
    radius: float = 0.033, length: float = 0.11, thickness: float = 0.2e-3, *, modes: int = 16, loudness: float = 0.8
) -> Material:
    """A can of tin plate: a cylindrical shell with m half waves along and n whole waves around.

    With L = m pi radius / length and c = sqrt(E / density), by the shallow-shell theory of Donnell:

        (2 pi f radius / c)^2 = L^4 / (L^2 + n^2)^2 + thickness^2 / (12 radius^2 (1 - nu^2)) (L^2 + n^2)^2,  n >= 2.

    A garbage can is `tin_can(0.25, 0.7, 0.6e-3)`.

    Parameters
    ----------
    radius, length, thickness : metres
    modes : how many
    loudness : bound of the amplitude at a strike of 1 m/s
    """
    modes = _mode_count(modes)
    radius, length = as_positive(radius, "radius"), as_positive(length, "length")
    young, poisson, density = 200e9, 0.3, 7850.0
    ratio = as_positive(thickness, "thickness") / radius
    # Where waves around run out of membrane stiffness, bending takes over: the lowest n lies near sqrt(radius / thickness),
    # and beyond it the frequency rises with n.
    around = int(np.ceil(2.0 / np.sqrt(ratio))) + modes + 2
    m, n = np.mgrid[1 : modes + 1, 2 : around + 1]
    along = (m * np.pi * radius / length) ** 2  # L^2
    squared = (along / (along + n**2)) ** 2 + ratio**2 / (12.0 * (1.0 - poisson**2)) * (along + n**2) ** 2
    frequencies = np.sqrt(squared) * np.sqrt(young / density) / (2.0 * np.pi * radius)
    return _from_frequencies(frequencies, modes, 1.5e-3, 10.0, 0.3e-3, as_positive(loudness, "loudness"), "tin can")


def wood(length: float = 0.8, thickness: float = 0.025, *, modes: int = 16, loudness: float = 0.5) -> Material:
    """The board of a wooden table: a bar with free ends (Euler and Bernoulli), struck across.

    f_k = B_k^2 thickness / (2 pi length^2 sqrt(12)) sqrt(E / density), where B_k solves cos(B) cosh(B) = 1: 4.730, 7.853, ...

    Parameters
    ----------
    length, thickness : metres
    modes : how many
    loudness : bound of the amplitude at a strike of 1 m/s
    """
    modes = _mode_count(modes)
    young, density = 11e9, 600.0
    k = np.arange(1, modes + 1)
    root = (k + 0.5) * np.pi
    for _ in range(8):
        # Fixed points of cos(B) = 1 / cosh(B), on alternating branches of arccos; they settle at once.
        root = (k + 0.5) * np.pi + np.where(k % 2 == 1, 1.0, -1.0) * np.arcsin(1.0 / np.cosh(np.minimum(root, 700.0)))
    bar = as_positive(thickness, "thickness") / (2.0 * np.pi * as_positive(length, "length") ** 2 * np.sqrt(12.0))
    frequencies = root**2 * bar * np.sqrt(young / density)
    return _from_frequencies(frequencies, modes, 0.03, 40.0, 0.8e-3, as_positive(loudness, "loudness"), "wood")


def earth(depth: float = 0.25, shear_speed: float = 100.0, *, modes: int = 16, loudness: float = 0.3) -> Material:
    """Bare ground: a soft layer on firm soil, whose shear waves stand at f_k = (2 k - 1) speed / (4 depth); a dull thud.

    Parameters
    ----------
    depth : of the layer, metres
    shear_speed : of shear waves in it, m/s
    modes : how many
    loudness : bound of the amplitude at a strike of 1 m/s
    """
    k = np.arange(1, _mode_count(modes) + 1)
    frequencies = (2 * k - 1) * as_positive(shear_speed, "shear_speed") / (4.0 * as_positive(depth, "depth"))
    return _from_frequencies(frequencies, modes, 0.25, 60.0, 3e-3, as_positive(loudness, "loudness"), "earth")
