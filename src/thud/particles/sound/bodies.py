"""All modes below 20 kHz of plates, discs, bars and shells, by the textbooks' closed forms.

Frequencies and shapes after Leissa, "Vibration of Plates" (NASA SP-160, 1969) and "Vibration of Shells" (NASA SP-288, 1973),
and Rayleigh, "The Theory of Sound" (1894), chapter 8. A mode's mass is that of the body times the mean square of its shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import as_positive
from thud.particles.sound.hearing import audible
from thud.particles.sound.mode_shapes import Factor, ModeShapes
from thud.particles.sound.radiation import mode_efficiency, plate_efficiency
from thud.particles.sound.tolerances import HEARING_HIGHEST, SHAPE_POINTS


@dataclass(frozen=True)
class Stuff:
    """What a body is made of."""

    young: float
    """Pa."""
    poisson: float
    density: float
    """kg/m^3."""
    friction: float
    """Loss factor tan(phi): internal friction costs a mode pi f tan(phi) a second (Wildes and Richards 1988)."""

    @property
    def modulus(self) -> float:
        """E / (1 - nu^2), Pa."""
        return self.young / (1.0 - self.poisson**2)

    def plate_speed(self, thickness: float) -> float:
        """sqrt(D / (rho h)), m^2/s: of bending waves in a plate; they have omega = this k^2."""
        return float(np.sqrt(self.modulus * thickness**2 / (12.0 * self.density)))


STEEL = Stuff(200e9, 0.30, 7850.0, 1e-3)
GLASS = Stuff(70e9, 0.22, 2500.0, 3e-3)
WOOD = Stuff(11e9, 0.30, 600.0, 0.03)


@dataclass(frozen=True, eq=False)
class BodyModes:
    """All audible modes of a body, in any order."""

    frequencies: Floats
    """(K,) Hz."""
    efficiency: Floats
    """(K,) of radiation."""
    mean_square: Floats
    """(K,) of the shape over the body."""
    shapes: Callable[[Ints], ModeShapes]
    """Of some of the modes; those that are not kept are never made."""
    area: float
    """m^2."""
    mass: float
    """kg."""


def _sizes(**values: float) -> list[float]:
    return [as_positive(value, name) for name, value in values.items()]


def _pair(sides: tuple[float, float]) -> tuple[float, float]:
    try:
        a, b = sides
    except (TypeError, ValueError):
        raise InvalidInputError(f"sides: expected two lengths, metres, got {sides!r}") from None
    return as_positive(a, "sides"), as_positive(b, "sides")


def _heard(frequencies: Floats) -> Ints:
    """Rows of the audible ones."""
    rows = np.flatnonzero(audible(frequencies))
    if not len(rows):
        raise InvalidInputError("sides, radius, length, thickness: a body of this size has no mode from 20 Hz to 20 kHz")
    return rows


def _most(count: float) -> int:
    """A count of half waves, within what memory has."""
    if count > 3000.0:
        raise InvalidInputError(
            "sides, radius, length: a body of this size has millions of modes below 20 kHz; give the size of one panel"
        )
    return int(np.ceil(count)) + 1


def plate(sides: tuple[float, float], thickness: float, stuff: Stuff) -> BodyModes:
    """A thin rectangular plate, simply supported: f = pi/2 sqrt(D / (rho h)) (m^2/a^2 + n^2/b^2)."""
    (a, b), (thickness,) = _pair(sides), _sizes(thickness=thickness)
    speed = stuff.plate_speed(thickness)
    reach = np.sqrt(2.0 * HEARING_HIGHEST / (np.pi * speed))
    m, n = (x.ravel() for x in np.mgrid[1 : _most(reach * a) + 1, 1 : _most(reach * b) + 1])
    frequencies = 0.5 * np.pi * speed * ((m / a) ** 2 + (n / b) ** 2)
    rows = _heard(frequencies)
    m, n, frequencies = m[rows], n[rows], frequencies[rows]

    def shapes(kept: Ints) -> ModeShapes:
        return ModeShapes("plate", Factor(2 * m[kept] + 1), Factor(2 * n[kept] + 1), (a, b))

    efficiency = plate_efficiency(frequencies, m, n, (a, b))
    return BodyModes(frequencies, efficiency, np.full(len(m), 0.25), shapes, a * b, stuff.density * thickness * a * b)


def shell(radius: float, length: float, thickness: float, stuff: Stuff) -> BodyModes:
    """A cylindrical shell whose ends keep round: m half waves along, n >= 2 whole waves around, each twice (cos and sin).

    With L = m pi radius / length and c = sqrt(E / rho), by the shallow-shell theory of Donnell:

        (2 pi f radius / c)^2 = L^4 / (L^2 + n^2)^2 + h^2 / (12 radius^2 (1 - nu^2)) (L^2 + n^2)^2.
    """
    radius, length, thickness = _sizes(radius=radius, length=length, thickness=thickness)
    # Bending alone is above 20 kHz beyond this wave number.
    reach = np.sqrt(2.0 * np.pi * HEARING_HIGHEST / stuff.plate_speed(thickness))
    around = max(3, _most(reach * radius))
    m, n, side = (x.ravel() for x in np.mgrid[1 : _most(reach * length / np.pi) + 1, 2 : around + 1, 0:2])
    along = (m * np.pi * radius / length) ** 2  # L^2
    bending = thickness**2 / (12.0 * radius**2 * (1.0 - stuff.poisson**2))
    squared = (along / (along + n**2)) ** 2 + bending * (along + n**2) ** 2
    frequencies = np.sqrt(squared * stuff.young / stuff.density) / (2.0 * np.pi * radius)
    rows = _heard(frequencies)
    m, n, side, frequencies = m[rows], n[rows], side[rows], frequencies[rows]
    area = 2.0 * np.pi * radius * length

    def shapes(kept: Ints) -> ModeShapes:
        around_ = Factor(2 * n[kept] + side[kept])
        return ModeShapes("shell", Factor(2 * m[kept] + 1), around_, (length, 2.0 * np.pi * radius))

    efficiency = mode_efficiency(frequencies, np.sqrt(along[rows] + n**2) / radius, area)
    return BodyModes(frequencies, efficiency, np.full(len(m), 0.25), shapes, area, stuff.density * thickness * area)


def disc(radius: float, thickness: float, stuff: Stuff) -> BodyModes:
    """A thin disc with a clamped rim: f = B^2 / (2 pi radius^2) sqrt(D / (rho h)), n whole waves around, cos and sin.

    J_n(B) I_n+1(B) + I_n(B) J_n+1(B) = 0, and R(x) = J_n(B x) - J_n(B) / I_n(B) I_n(B x).
    """
    radius, thickness = _sizes(radius=radius, thickness=thickness)
    speed = stuff.plate_speed(thickness)
    reach = radius * np.sqrt(2.0 * np.pi * HEARING_HIGHEST / speed)
    orders, roots = clamped_roots(float(_most(reach)))
    # Twice those with n >= 1.
    order = np.concatenate([orders, orders[orders > 0]])
    root = np.concatenate([roots, roots[orders > 0]])
    side = np.repeat([0, 1], [len(orders), len(order) - len(orders)])
    frequencies = root**2 / (2.0 * np.pi * radius**2) * speed
    rows = _heard(frequencies)
    order, root, side, frequencies = order[rows], root[rows], side[rows], frequencies[rows]
    area = np.pi * radius**2

    def shapes(kept: Ints) -> ModeShapes:
        table = disc_shapes(order[kept], root[kept], np.linspace(0.0, 1.0, SHAPE_POINTS))
        around = Factor(2 * order[kept] + side[kept])
        return ModeShapes("disc", Factor(np.arange(len(kept)), table), around, (2.0 * radius, 2.0 * radius))

    from scipy.special import jv

    # The integral of x R^2 from 0 to 1 is J_n(B)^2.
    mean_square = 2.0 * jv(order, root) ** 2 * np.where(order == 0, 1.0, 0.5)
    efficiency = mode_efficiency(frequencies, root / radius, area)
    return BodyModes(frequencies, efficiency, mean_square, shapes, area, stuff.density * thickness * area)


def clamped_roots(most: float) -> tuple[Ints, Floats]:
    """Orders n and roots B below `most` of J_n(B) I_n+1(B) + I_n(B) J_n+1(B)."""
    from scipy.special import ive, jv

    def rest(n: Ints, b: Floats) -> Floats:
        # Scaled by exp(-B).
        return np.asarray(jv(n, b) * ive(n + 1, b) + ive(n, b) * jv(n + 1, b))

    # Roots of one order lie nearly pi apart, the first above n.
    grid = np.arange(1.0, most + 1.0)
    n, b = (x.ravel() for x in np.meshgrid(np.arange(int(most)), grid, indexing="ij"))
    value = np.where(b >= n, rest(n, np.maximum(b, n)), np.nan)
    at = np.flatnonzero((value[:-1] * value[1:] < 0.0) & (n[:-1] == n[1:]))
    order, low, high, at_low = n[at], b[at], b[at + 1], value[at]
    for _ in range(6):
        middle = 0.5 * (low + high)
        at_middle = rest(order, middle)
        same = at_middle * at_low > 0.0
        low, high, at_low = np.where(same, middle, low), np.where(same, high, middle), np.where(same, at_middle, at_low)
    # Secants from there.
    before, root = low, high
    at_before, at_root = at_low, rest(order, high)
    for _ in range(5):
        step = np.where(at_root == at_before, 0.0, at_root * (root - before))
        before, root, at_before = root, root - step / np.where(at_root == at_before, 1.0, at_root - at_before), at_root
        at_root = rest(order, root)
    return order, root


def disc_shapes(orders: Ints, roots: Floats, x: Floats) -> Floats:
    """(P, K) R(x)."""
    from scipy.special import ive, jv

    growth = np.exp(roots * (x[:, None] - 1.0))  # I(B x) / I(B) of the scaled functions
    at = roots * x[:, None]
    return np.ascontiguousarray(jv(orders, at) - jv(orders, roots) * ive(orders, at) / ive(orders, roots) * growth)


def bar_roots(count: int) -> Floats:
    """The first solutions of cos(B) cosh(B) = 1 beyond 0: 4.730, 7.853, ..."""
    k = np.arange(1, count + 1)
    root = (k + 0.5) * np.pi
    for _ in range(8):
        # Fixed points of cos(B) = 1 / cosh(B), on alternating branches of arccos; they settle at once.
        root = (k + 0.5) * np.pi + np.where(k % 2 == 1, 1.0, -1.0) * np.arcsin(1.0 / np.cosh(np.minimum(root, 700.0)))
    return np.asarray(root, dtype=np.float64)


def bar_shapes(roots: Floats, x: Floats) -> Floats:
    """(P, K) X(x) / 2 of a bar with free ends: 1 at x = 0. Written so that no exponential overflows."""
    x = x[:, None]
    decay = np.exp(-roots)
    below = 1.0 - decay**2 - 2.0 * np.sin(roots) * decay  # 2 exp(-B) (sinh B - sin B)
    less = (np.cos(roots) - np.sin(roots) - decay) / below  # (1 - s) exp(B) / 2, s = (cosh B - cos B) / (sinh B - sin B)
    s = 1.0 - 2.0 * less * decay
    waves = np.cos(roots * x) - s * np.sin(roots * x)
    return 0.5 * (waves + less * np.exp(roots * (x - 1.0)) + 0.5 * (1.0 + s) * np.exp(-roots * x))


def bar(length: float, width: float, thickness: float, stuff: Stuff, shear: float) -> BodyModes:
    """A flat bar with free ends (Euler and Bernoulli): bending, and torsion with the shear modulus `shear` (Pa).

    f = B_k^2 h / (2 pi length^2 sqrt(12)) sqrt(E / rho), cos(B) cosh(B) = 1; and f = k h / (length width) sqrt(shear / rho).
    """
    length, width, thickness = _sizes(length=length, width=width, thickness=thickness)
    bending = thickness / (2.0 * np.pi * length**2 * np.sqrt(12.0)) * np.sqrt(stuff.young / stuff.density)
    turning = thickness / (length * width) * np.sqrt(shear / stuff.density)
    roots = bar_roots(_most(np.sqrt(HEARING_HIGHEST / bending) / np.pi))
    k = np.arange(1, _most(HEARING_HIGHEST / turning) + 1)
    frequencies = np.concatenate([roots**2 * bending, k * turning])
    numbers = np.concatenate([roots / length, np.hypot(k * np.pi / length, np.pi / width)])
    torsion = np.repeat([0, 1], [len(roots), len(k)])
    rows = _heard(frequencies)
    frequencies, area = frequencies[rows], length * width

    def shapes(kept: Ints) -> ModeShapes:
        x = np.linspace(0.0, 1.0, SHAPE_POINTS)
        table = np.column_stack([bar_shapes(roots, x), np.cos(k * np.pi * x[:, None])])[:, rows[kept]]
        across = np.array([[1.0, -1.0], [1.0, 1.0]])
        along = Factor(np.arange(len(kept)), np.ascontiguousarray(table))
        return ModeShapes("bar", along, Factor(torsion[rows[kept]], across), (length, width))

    mean_square = np.where(torsion[rows] == 0, 0.25, 1.0 / 6.0)
    efficiency = mode_efficiency(frequencies, numbers[rows], area)
    return BodyModes(frequencies, efficiency, mean_square, shapes, area, stuff.density * thickness * area)
