"""Figures 4.11 to 4.13: bounding volumes of sizes 8, 4 and 2 over one quad, and how tight each level is."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from reproductions.report import Report
from reproductions.terrains import CAVE_DOMAIN, cave_field
from thud.terrain import DisplacedSurface, from_field, patch_triangles

SIZES = (8, 4, 2)


def run(size: str, report: Report) -> None:
    """Mean volumes of the levels over some quads of a generated terrain with cliffs and caves, and the picture of one."""
    report.heading("Figures 4.11 to 4.13: bounding volumes in the terrain")
    surface = from_field(cave_field(0), *CAVE_DOMAIN, 12.0 if size == "ci" else 6.0, samples=16).surface
    maps = surface.bounding_maps()
    quads = np.linspace(0, len(surface.quads) - 1, 12 if size == "ci" else 120).astype(int)
    volumes = np.array([level_volumes(surface, int(quad)) for quad in quads])
    relief = np.array([np.ptp(surface.samples(int(quad)).length) for quad in quads])
    means = volumes.mean(axis=0)
    labels = ["8", "4", "2", "tetrahedra of the patches"]
    report.say(f"{len(surface.quads)} quads of 16 x 16 samples; {len(quads)} of them measured, all cells of a level together.")
    report.table(["size", "volume, m^3 a quad", "of size 8"], [
        [label, f"{value:.2f}", f"{value / means[0]:.3f}"] for label, value in zip(labels, means)
    ])  # fmt: skip
    for label, value in zip(labels, means):
        report.row("4.11", label, "volume", 0, float(value))
    report.compare(
        "As the resolution goes from coarser to finer, the bounding volumes bound the projected surface more and more tightly.",
        ", ".join(f"{value:.2f}" for value in means) + " m^3 a quad.",
        bool(np.all(np.diff(means) < 0)),
    )
    extreme = int((maps.codes == 255).sum())
    report.compare(
        "Extreme lengths are eliminated (3.5.7).",
        f"{extreme} of {len(maps.codes)} cells have no volume at their level.",
        extreme < 0.01 * len(maps.codes),
    )
    # One with some relief, and not the wildest.
    shown = int(quads[np.argsort(relief)[int(0.8 * len(quads))]])
    report.figure("figures_4_11_to_4_13", lambda plt: _draw(plt, surface, shown))


def level_volumes(surface: DisplacedSurface, quad: int) -> list[float]:
    """Volumes (m^3) of all cells of each level of a quad, and of the tetrahedra of its patches."""
    samples, maps = surface.samples(quad), surface.bounding_maps()
    found = []
    for size in SIZES:
        cells = maps.volumes(quad, size, samples.position, samples.direction).reshape(-1, 8, 3)
        found.append(sum(ConvexHull(cell).volume for cell in cells if not np.isnan(cell).any()))
    p = samples.point
    a, b, c = p[:-1, 1:] - p[:-1, :-1], p[1:, :-1] - p[:-1, :-1], p[1:, 1:] - p[:-1, :-1]
    found.append(float(np.abs((np.cross(a, b) * c).sum(axis=-1)).sum() / 6.0))
    return found


def _draw(plt: Any, surface: DisplacedSurface, quad: int) -> Any:
    """Upper and lower bounding triangles (red, blue) about the projected surface (green), a panel a size."""
    samples, maps = surface.samples(quad), surface.bounding_maps()
    figure = plt.figure(figsize=(17, 6.2))
    for panel, size in enumerate(SIZES):
        ax = figure.add_subplot(1, 3, panel + 1, projection="3d")
        ax.plot_surface(*np.moveaxis(samples.point, -1, 0), color="C2", alpha=0.7, rstride=1, cstride=1, linewidth=0)
        base, along = samples.position[::size, ::size], samples.direction[::size, ::size]
        for lengths, color in ((maps.upper(quad, size), "C3"), (maps.lower(quad, size), "C0")):
            p = base + along * lengths[..., None].astype(float)
            corners = [x.reshape(-1, 3) for x in (p[:-1, :-1], p[:-1, 1:], p[1:, :-1], p[1:, 1:])]
            pairs = patch_triangles(*corners, along[:-1, :-1].reshape(-1, 3))
            chosen = pairs.upper if color == "C3" else pairs.lower
            points = np.stack(corners, axis=1)
            rows = (chosen + 4 * np.arange(len(points))[:, None, None]).reshape(-1, 3)
            ax.plot_trisurf(*points.reshape(-1, 3).T, triangles=rows, color=color, alpha=0.1, edgecolor=color, linewidth=1.0)
        ax.set(title=f"Figure 4.{11 + panel}: size {size}", xlabel="x", ylabel="y", zlabel="z")
        ax.set_aspect("equal")
        # From the side, a little from above, whichever way the quad faces.
        side = np.cross(samples.direction.mean(axis=(0, 1)), samples.position[-1, -1] - samples.position[0, 0])
        ax.view_init(elev=15, azim=float(np.degrees(np.arctan2(side[1], side[0]))))
    return figure
