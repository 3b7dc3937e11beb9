"""A generated warship of convex parts, in place of the game's model ([Yang] Figure A.3): about 60 m long and 10 m wide, bow
towards +x, keel down, the waterline at z = 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import thud

Floats = npt.NDArray[np.float64]

LENGTH, BEAM, DRAUGHT, FREEBOARD = 60.0, 10.0, 3.2, 3.4


def prism(base: Floats, top: Floats) -> thud.ConvexHull:
    """Hull of two polygons."""
    return thud.ConvexHull(np.concatenate([base, top]))


def box(center: tuple[float, float, float], size: tuple[float, float, float], taper: float = 0.0) -> thud.ConvexHull:
    """A block whose top is narrower by `taper` of its width and length; z of the centre is that of its bottom."""
    x, y = np.array([-0.5, 0.5, 0.5, -0.5]) * size[0], np.array([-0.5, -0.5, 0.5, 0.5]) * size[1]
    low = np.column_stack([x, y, np.zeros(4)]) + center
    high = np.column_stack([x * (1 - taper), y * (1 - taper), np.full(4, size[2])]) + center
    return prism(low, high)


def rod(
    start: tuple[float, float, float], end: tuple[float, float, float], radius: float, sides: int, tip: float = 1.0
) -> thud.ConvexHull:
    """A cylinder of `sides` sides from start to end; `tip`: radius at the end, of the one at the start."""
    a, b = np.array(start), np.array(end)
    axis = (b - a) / np.linalg.norm(b - a)
    side = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    up = np.cross(axis, side)
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = radius * (np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * up)
    return prism(a + ring, b + tip * ring)


def _breadth(x: float) -> float:
    """Half the beam at deck height."""
    part = (x + LENGTH / 2) / LENGTH
    # The stem, three metres short of the bow that leans over it.
    bow = np.clip((LENGTH / 2 - 3.0 - x) / (0.36 * LENGTH), 0.0, 1.0)
    stern = np.clip(0.72 + part / 0.3 * 0.28, 0.0, 1.0)
    return BEAM / 2 * float(np.sin(0.5 * np.pi * bow) ** 0.8 * stern)


def _sheer(x: float) -> float:
    """Height of the deck: it rises to the bow."""
    return FREEBOARD + 1.8 * max(0.0, x / (LENGTH / 2)) ** 2


def _station(x: float, lean: float = 0.0) -> Floats:
    """Cross section of the hull at x, four points a side from keel to deck; `lean`: how far the deck is ahead of the keel."""
    half = max(_breadth(x), 0.12)
    keel = DRAUGHT * float(np.clip((x + LENGTH / 2) / 8.0, 0.35, 1.0))
    rows = ((0.12, -keel), (0.62, -0.8 * keel), (0.86, -0.3 * keel), (1.0, _sheer(x)))
    points = [(x + lean * (z + keel) / (keel + _sheer(x)), sign * width * half, z) for width, z in rows for sign in (-1, 1)]
    return np.array(points)


def _hull() -> list[thud.ConvexHull]:
    stations = np.linspace(-LENGTH / 2, LENGTH / 2 - 3.0, 15)
    parts = []
    for k in range(len(stations) - 1):
        last = k == len(stations) - 2
        parts.append(prism(_station(stations[k]), _station(stations[k + 1], 3.0 if last else 0.0)))
    return parts


def _turret(x: float, z: float, aft: bool, barrels: int = 3) -> list[thud.ConvexHull]:
    """A barbette, a house with a sloping front, and its guns."""
    way = -1.0 if aft else 1.0
    angle = 2.0 * np.pi * (np.arange(16) + 0.5) / 16
    ring = np.column_stack([1.7 * np.cos(angle), 1.7 * np.sin(angle), np.zeros(16)])
    parts = [prism(ring + (x, 0.0, z - 0.2), ring + (x, 0.0, z + 0.7))]
    outline = np.array([[-2.0, -1.3], [-1.4, -1.9], [1.2, -1.8], [2.2, -1.2], [2.2, 1.2], [1.2, 1.8], [-1.4, 1.9], [-2.0, 1.3]])
    low = np.column_stack([way * outline[:, 0] + x, way * outline[:, 1], np.full(8, z + 0.7)])
    high = np.column_stack([way * (0.82 * outline[:, 0] - 0.2) + x, way * 0.85 * outline[:, 1], np.full(8, z + 2.2)])
    parts.append(prism(low, high))
    for k in range(barrels):
        y = 0.75 * (k - (barrels - 1) / 2)
        parts.append(rod((x + way * 1.6, y, z + 1.4), (x + way * 6.2, y, z + 2.0), 0.2, 16, 0.75))
    return parts


def _superstructure(deck: float) -> list[thud.ConvexHull]:
    parts = [
        box((-3.0, 0.0, deck), (19.0, 6.4, 2.4), 0.03),
        box((1.6, 0.0, deck + 2.4), (8.4, 5.6, 2.2), 0.06),
        box((2.4, 0.0, deck + 4.6), (5.6, 4.8, 1.9), 0.1),
        box((2.9, 0.0, deck + 6.5), (3.4, 7.2, 1.4), 0.06),
        box((2.9, 0.0, deck + 7.9), (2.6, 2.6, 0.9), 0.2),
        box((-8.6, 0.0, deck + 2.4), (5.6, 4.4, 1.9), 0.08),
        box((-9.0, 0.0, deck + 4.3), (2.8, 2.6, 1.5), 0.12),
    ]
    # Funnels, raked, with a cap each.
    for x in (-2.4, -5.6):
        parts.append(rod((x, 0.0, deck + 2.4), (x - 0.7, 0.0, deck + 6.6), 1.05, 16, 0.85))
        parts.append(rod((x - 0.7, 0.0, deck + 6.6), (x - 0.75, 0.0, deck + 6.9), 1.05, 16))
    # Masts with yards and lookouts, and the dishes of the radars.
    for x, z, tall in ((1.2, deck + 8.4, 8.0), (-9.2, deck + 5.8, 6.0)):
        parts.append(rod((x, 0.0, z - 0.6), (x - 0.2, 0.0, z + tall), 0.22, 8, 0.4))
        parts.append(rod((x - 0.1, -2.4, z + 0.55 * tall), (x - 0.1, 2.4, z + 0.55 * tall), 0.08, 6))
        parts.append(rod((x - 0.15, -1.4, z + 0.8 * tall), (x - 0.15, 1.4, z + 0.8 * tall), 0.06, 6))
        parts.append(rod((x, 0.0, z + 0.35 * tall), (x, 0.0, z + 0.35 * tall + 0.7), 0.55, 8))
        parts.append(box((x + 0.2, 0.0, z + 0.62 * tall), (0.25, 2.2, 0.9)))
    return parts


def _small(deck: float) -> list[thud.ConvexHull]:
    """Boats, light guns, directors, bollards, vents: both sides, most important first."""
    parts = []
    for x in (-1.2, -4.6, -8.0):
        for side in (-1.0, 1.0):
            y = side * 3.9
            low = np.array([[1.1, 0.0], [0.7, 0.28], [-0.9, 0.28], [-0.9, -0.28], [0.7, -0.28]])
            high = np.array([[1.5, 0.0], [0.8, 0.55], [-1.1, 0.5], [-1.1, -0.5], [0.8, -0.55]])
            keel = np.column_stack([low + (x, y), np.full(5, deck + 1.0)])
            rail = np.column_stack([high + (x, y), np.full(5, deck + 1.8)])
            parts.append(prism(keel, rail))
    for x in (7.2, 4.6, -11.6):
        for side in (-1.0, 1.0):
            y = side * min(3.6, _breadth(x) - 0.8)
            parts.append(rod((x, y, deck), (x, y, deck + 0.9), 0.6, 8, 0.8))
            parts.append(box((x, y, deck + 0.9), (1.0, 0.9, 0.7), 0.2))
            for gun in (-0.2, 0.2):
                parts.append(rod((x + 0.3, y + gun, deck + 1.3), (x + 1.9, y + gun, deck + 1.9), 0.07, 8))
    for x, z in ((5.0, deck + 4.5), (0.4, deck + 6.4)):
        parts.append(rod((x, 0.0, z), (x, 0.0, z + 0.9), 0.7, 12, 0.8))
    for x in np.linspace(-26.0, 23.0, 10):
        for side in (-1.0, 1.0):
            y, z = side * (_breadth(x) - 0.35), _sheer(x)
            parts.append(rod((x, y, z - 0.1), (x, y, z + 0.5), 0.16, 8))
    parts += [box((-28.0, 0.0, _sheer(-28.0)), (1.6, 2.0, 0.9), 0.1), box((22.0, 0.0, _sheer(22.0)), (1.2, 1.4, 0.8), 0.1)]
    return parts


def warship(parts: int = 120, seed: int = 0) -> thud.Compound:
    """The ship of exactly `parts` convex hulls, at least 100.

    Parameters
    ----------
    parts : how many; beyond the fittings there are vents and lockers about the deck
    seed : where those are
    """
    if parts < 100:
        raise ValueError(f"parts: expected at least 100, got {parts}")
    deck = FREEBOARD
    hulls = _hull()
    hulls += [box((-4.0, 0.0, deck - 0.3), (40.0, 7.0, 0.35)), box((-2.0, 0.0, -DRAUGHT - 0.5), (40.0, 0.5, 0.7))]
    hulls += _turret(16.8, _sheer(16.8), aft=False) + _turret(11.6, deck + 1.5, aft=False)
    hulls += [box((11.2, 0.0, deck), (5.4, 4.6, 1.6), 0.04)]
    hulls += _turret(-17.2, deck + 1.5, aft=True) + _turret(-22.6, deck, aft=True)
    hulls += [box((-16.8, 0.0, deck), (5.4, 4.6, 1.6), 0.04)]
    hulls += _superstructure(deck)
    # Shafts, screws and the rudder.
    for side in (-1.0, 1.0):
        hulls.append(rod((-18.0, 1.6 * side, -2.4), (-27.0, 1.6 * side, -2.6), 0.16, 8))
        hulls.append(rod((-27.0, 1.6 * side, -2.6), (-27.3, 1.6 * side, -2.6), 0.9, 16))
    hulls.append(box((-28.4, 0.0, -3.0), (1.6, 0.25, 2.6)))
    hulls += _small(deck)
    rng = np.random.default_rng(seed)
    while len(hulls) < parts:
        x = rng.uniform(-27.0, 20.0)
        y = rng.choice([-1.0, 1.0]) * rng.uniform(0.6, 0.9) * (_breadth(x) - 0.5)
        size = rng.uniform(0.3, 0.9, 3)
        hulls.append(box((x, y, _sheer(x) - 0.05), (size[0], size[1], size[2]), 0.1))
    return thud.Compound(hulls[:parts])
