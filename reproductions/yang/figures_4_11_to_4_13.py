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
    shown = readable_quad(surface, quads)
    report.say(
        f"Shown is quad {shown}, a hillside that is a graph over its base, in its own frame: from above and from the side, "
        "green the surface, red and blue the upper and lower bounding triangles. The side view is a slice through the middle."
    )
    report.figure("figures_4_11_to_4_13", lambda plt: _draw(plt, surface, shown))


def readable_quad(surface: DisplacedSurface, quads: np.ndarray) -> int:
    """Of the quads whose directions hardly differ and whose surface is a graph along them, the one that bends most."""
    best, found = -1.0, int(quads[0])
    for quad in quads.tolist():
        samples = surface.samples(quad)
        n = samples.direction / np.linalg.norm(samples.direction, axis=-1, keepdims=True)
        mean = n.mean(axis=(0, 1))
        p = samples.point
        up = np.cross(p[:-1, 1:] - p[:-1, :-1], p[1:, :-1] - p[:-1, :-1])
        up /= np.linalg.norm(up, axis=-1, keepdims=True)
        steep = (up @ mean) / np.linalg.norm(mean)
        if (n @ mean).min() > 0.995 and steep.min() > 0.6:
            bend = float(np.abs(np.diff(samples.length, 2, axis=0)).mean() + np.abs(np.diff(samples.length, 2, axis=1)).mean())
            if bend > best:
                best, found = bend, quad
    return found


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


def own_frame(surface: DisplacedSurface, quad: int) -> tuple[np.ndarray, np.ndarray]:
    """(origin, axes (3, 3)): along the base, across it, and along the mean direction."""
    samples = surface.samples(quad)
    up = samples.direction.mean(axis=(0, 1))
    up = up / np.linalg.norm(up)
    along = samples.position[0, -1] - samples.position[0, 0]
    along = along - (along @ up) * up
    along /= np.linalg.norm(along)
    return samples.position[0, 0], np.stack([along, np.cross(up, along), up])


def _draw(plt: Any, surface: DisplacedSurface, quad: int) -> Any:
    """A column a size: from above the cells' triangles over the surface's heights, from the side their slice."""
    samples, maps = surface.samples(quad), surface.bounding_maps()
    origin, axes = own_frame(surface, quad)
    points = (samples.point - origin) @ axes.T
    middle = len(points) // 2
    figure, grid = plt.subplots(2, 3, figsize=(16, 9), sharex=True)
    for column, size in enumerate(SIZES):
        above, side = grid[:, column]
        above.contourf(points[..., 0], points[..., 1], points[..., 2], levels=20, cmap="Greens")
        base, along = samples.position[::size, ::size], samples.direction[::size, ::size]
        for lengths, color, name in ((maps.upper(quad, size), "C3", "upper"), (maps.lower(quad, size), "C0", "lower")):
            world = base + along * lengths[..., None].astype(float)
            ends = [x.reshape(-1, 3) for x in (world[:-1, :-1], world[:-1, 1:], world[1:, :-1], world[1:, 1:])]
            pairs = patch_triangles(*ends, along[:-1, :-1].reshape(-1, 3))
            chosen = pairs.upper if name == "upper" else pairs.lower
            local = (np.stack(ends, axis=1) - origin) @ axes.T
            rows = (chosen + 4 * np.arange(len(local))[:, None, None]).reshape(-1, 3)
            if name == "upper":
                above.triplot(*local.reshape(-1, 3)[:, :2].T, triangles=rows, color=color, lw=0.9)
            # The border of cells that runs through the middle of the quad.
            edge = (world[middle // size] - origin) @ axes.T
            side.plot(edge[:, 0], edge[:, 2], color=color, marker="o", ms=3, lw=1.2, label=f"{name} bounding points")
        side.plot(points[middle, :, 0], points[middle, :, 2], color="C2", lw=2.0, label="surface")
        above.set(title=f"Figure 4.{11 + column}: size {size}, from above", ylabel="across, m", aspect="equal")
        side.set(title=f"size {size}, from the side", xlabel="along, m", ylabel="above the base, m")
        side.grid(alpha=0.25)
    grid[1, 0].legend(fontsize=8)
    return figure
