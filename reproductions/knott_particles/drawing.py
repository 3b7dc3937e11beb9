"""Panels of the figures: colliders as a camera sees them, with splats, particles and paths; textures and maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.particles import ColliderSet, ImpactMap, ParticleSystem
from thud.report.camera import Camera
from thud.report.particle_view import Look, View, view
from thud.report.rain_pictures import aspect, draw_stones, map_image
from thud.results import ParticleImpacts

Floats = npt.NDArray[np.float64]
Panel = tuple[str, Callable[[Any], None]]

#: Width of a picture, pixels.
WIDTHS = {"ci": 48, "standard": 640, "full": 1280}

FLOOR = Look((0.80, 0.80, 0.78))
COPPER, TEAL, SLATE = Look((0.72, 0.40, 0.24)), Look((0.20, 0.48, 0.50)), Look((0.42, 0.46, 0.56))
PLUM, OLIVE, SAND = Look((0.50, 0.28, 0.46)), Look((0.46, 0.50, 0.26)), Look((0.76, 0.62, 0.40))


def camera(size: str, eye: npt.ArrayLike, target: npt.ArrayLike, field: float) -> Camera:
    """A camera with pictures as wide as the size says, 4 to 3."""
    return Camera(eye, target, field, WIDTHS[size], WIDTHS[size] * 3 // 4)


def look_at(colliders: ColliderSet, where: Camera, size: str, *, extent: float = 4.0) -> View:
    """What is seen, with less care at ci. extent: half the window of what has no end, metres."""
    return view(colliders, where, fine=1 if size == "ci" else 3, sky_rays=1 if size == "ci" else 6, extent=extent)


def picture(axes: Any, image: Floats) -> None:
    """A picture, pixels as coordinates."""
    height, width = image.shape[:2]
    axes.imshow(image, extent=(0, width, height, 0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()


def draw_path(
    axes: Any, seen: View, points: Floats, color: str, *, style: str = "-", width: float = 1.8, hidden: bool = True
) -> None:
    """A path of (N, 3) points; what is behind a collider is faint, or left out."""
    at, distance = seen.camera.see(points)
    depth = seen.depth()
    x, y = np.nan_to_num(at, nan=-1.0).astype(np.int64).T
    inside = (x >= 0) & (y >= 0) & (x < seen.camera.width) & (y < seen.camera.height) & (distance > 0.0)
    behind = np.zeros(len(at), bool)
    behind[inside] = distance[inside] > depth[y[inside], x[inside]] + 0.02
    for rows, alpha in ((behind, 0.3 if hidden else 0.0), (~behind, 1.0)):
        shown = at.copy()
        # The point after a run belongs to it, so that runs join.
        shown[~(rows | np.r_[False, rows[:-1]])] = np.nan
        axes.plot(shown[:, 0], shown[:, 1], style, color=color, linewidth=width, alpha=alpha, clip_on=True)


def draw_points(axes: Any, seen: View, points: Floats, color: str, *, size: float = 5.0, marker: str = "o") -> None:
    """Points with a dark edge."""
    at, _ = seen.camera.see(points)
    axes.plot(at[:, 0], at[:, 1], marker, color=color, markeredgecolor="black", markeredgewidth=0.6, markersize=size)


def stones(
    axes: Any, seen: View, system: ParticleSystem, colliders: ColliderSet, t: float, radius: float = 0.02, color: Any = "black"
) -> None:
    """The particles in the air at a time."""
    draw_stones(axes, seen, system.states(t, colliders), radius, color)


def texture_panel(axes: Any, color: Sequence[float], texture: Any, collider: Any) -> None:
    """A splat texture, v upwards."""
    cover = np.asarray(texture, dtype=float)[::-1, :, None]
    image = np.asarray(color) * (1.0 - cover) + np.array([0.97, 0.98, 1.0]) * cover
    axes.imshow(image, extent=(0, 1, 0, 1), aspect=aspect(collider), interpolation="nearest")
    _coordinates(axes)


def map_panel(axes: Any, found: ImpactMap, place: int, collider: Any) -> None:
    """An impact map, v upwards: blue is early, red is late."""
    axes.imshow(map_image(found, place), extent=(0, 1, 0, 1), aspect=aspect(collider), interpolation="nearest")
    _coordinates(axes)


def _coordinates(axes: Any) -> None:
    axes.set_xticks([0, 1])
    axes.set_yticks([0, 1])
    axes.tick_params(labelsize=7)
    axes.set_xlabel("u", fontsize=8, labelpad=-6)
    axes.set_ylabel("v", fontsize=8, labelpad=-6)


def panels(
    report: Any,
    name: str,
    cells: Sequence[Panel],
    *,
    columns: int = 2,
    widths: Sequence[float] | None = None,
    scale: float = 1.0,
) -> None:
    """Write a figure of panels: titles and what draws them. scale: of its size."""

    def draw(plt: Any) -> Any:
        rows = -(-len(cells) // columns)
        ratios = list(widths) if widths is not None else [1.0] * columns
        figure, grid = plt.subplots(
            rows,
            columns,
            figsize=(5.6 * scale * sum(ratios), 4.5 * scale * rows),
            squeeze=False,
            gridspec_kw={"width_ratios": ratios},
        )
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, (title, paint) in zip(grid.flat, cells):
            axes.set_axis_on()
            paint(axes)
            axes.set_title(title, fontsize=10)
        return figure

    report.figure(name, draw)


def flight(position: npt.ArrayLike, velocity: npt.ArrayLike, acceleration: npt.ArrayLike, times: Floats) -> Floats:
    """(N, 3) a path in closed form, Eq. (3.4)."""
    t = np.asarray(times)[:, None]
    return np.asarray(position) + t * (np.asarray(velocity) + 0.5 * t * np.asarray(acceleration))


def per_particle(impacts: ParticleImpacts, particle: int) -> npt.NDArray[np.int64]:
    """Rows of one particle, in time."""
    return np.flatnonzero(impacts.particle == particle)
