"""What the ground below a displaced surface is, as a picture for the docs: `python -m tools.ground_picture`.

Sections through four surfaces. Ground is what `thud.contains` says; the sheet is where rays cross it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import thud
from thud.terrain import DisplacedSurface, from_field, from_heights

WHERE = Path(__file__).parents[1] / "docs" / "what_is_ground.png"


def _open_sheet() -> DisplacedSurface:
    x = np.arange(17) * 0.5
    return from_heights(np.tile(0.5 * np.sin(1.3 * x), (17, 1)), 0.5, samples=8, thickness=1.2).surface


def _thick(made: DisplacedSurface, metres: float) -> DisplacedSurface:
    """The same with ground of about so many metres."""
    unit = float(np.linalg.norm(np.asarray(made.directions), axis=1).mean())
    names = ("positions", "directions", "coordinates", "primitives", "quads", "displacements")
    return DisplacedSurface(*(getattr(made, name) for name in names), thickness=metres / unit)


def _overhang() -> DisplacedSurface:
    def field(points: np.ndarray) -> np.ndarray:
        x, _y, z = points.T
        land = z - 0.3 * np.sin(x)
        rock = np.hypot((x - 0.6) / 2.4, (z - 2.2) / 0.7) - 1.0
        stem = np.maximum(np.abs(x + 0.9) - 0.6, np.abs(z - 1.0) - 1.2)
        return np.minimum(np.minimum(land, 0.7 * rock), stem)

    return _thick(from_field(field, [-4, -3, -3.5], [4, 3, 4], cell=0.5, samples=4).surface, 1.0)


def _tunnel() -> DisplacedSurface:
    def field(points: np.ndarray) -> np.ndarray:
        x, _y, z = points.T
        return np.maximum(0.7 * (z - 3.0 * np.exp(-(x**2) / 5.0)), 0.8 - np.hypot(x, z - 1.1))

    return _thick(from_field(field, [-4, -3, -3.5], [4, 3, 4], cell=0.5, samples=4).surface, 1.5)


def _roof() -> DisplacedSurface:
    """A roof of 0.8 m over a floor, with a thickness of three times that."""

    def field(points: np.ndarray) -> np.ndarray:
        x, _y, z = points.T
        roof = np.maximum(np.abs(z - 1.9) - 0.4, np.abs(x) - 2.6)
        return np.minimum(roof, z + 0.4)

    return _thick(from_field(field, [-4, -3, -3.5], [4, 3, 4], cell=0.5, samples=4).surface, 2.4)


def _panel(axes: Any, surface: DisplacedSurface, title: str, middle: float) -> None:
    bounds = surface.bounds()
    low, high = bounds.lower[0], bounds.upper[0]
    x = np.linspace(low[0] - 0.4, high[0] + 0.4, 420)
    z = np.linspace(low[2] - 0.3, high[2] + 0.6, 320)
    points = np.stack(np.meshgrid(x, z), axis=-1)
    points = np.stack([points[..., 0], np.full(points.shape[:2], middle), points[..., 1]], axis=-1)
    inside = thud.contains(surface, points.reshape(-1, 3)).reshape(points.shape[:2])
    axes.imshow(inside, origin="lower", extent=(x[0], x[-1], z[0], z[-1]), cmap="YlOrBr", vmin=0.0, vmax=2.2, aspect="equal")
    for along, across in (((0, 0, -1.0), x), ((1.0, 0, 0), z)):
        down = along[2] != 0
        start = [(v, middle, high[2] + 1.0) if down else (low[0] - 1.0, middle, v) for v in across]
        hits = thud.raycast_all(surface, start, along)
        axes.plot(hits.point[:, 0], hits.point[:, 2], "k.", markersize=0.9)
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)


def main() -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(9.0, 6.4), constrained_layout=True)
    panels = (
        (_open_sheet(), "an open sheet, 1.2 m thick: bottom and sides", 4.1),
        (_overhang(), "an overhang, 1 m thick: rock, and no air below it", 0.1),
        (_tunnel(), "a tunnel, 1.5 m thick: ground all around, air inside", 0.1),
        (_roof(), "a roof of 0.8 m, 2.4 m thick: ends at its underside", 0.1),
    )
    for axis, panel in zip(axes.flat, panels):
        _panel(axis, *panel)
    figure.savefig(WHERE, dpi=90)
    print(WHERE)


if __name__ == "__main__":
    main()
