"""The paper's figures as pictures of our own data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from reproductions.euve.flight import RADIUS, RATE, SPEED, Pilot
from reproductions.euve.world import WALL, FlightWorld
from reproductions.report import Report
from thud.report.camera import Camera
from thud.terrain import Manifest, triangle_record, write_tiles
from thud.terrain.tiles.tile_arrays import CHILDREN, NEXT

Floats = npt.NDArray[np.float64]

#: Pixels of a shot by the size of the run.
_PIXELS = {"ci": (120, 75), "standard": (640, 400), "full": (960, 600)}


def draw(report: Report, terrain: thud.Terrain, world: FlightWorld) -> None:
    """All of them."""
    report.heading("Figures")
    _spheres(report, terrain)
    _visited(report, terrain, world)
    _reaction(report)
    _shots(report, terrain, world)


def _levels(links: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """(K,) level of each node."""
    level, ends, out = 0, [len(links)], np.zeros(len(links), np.int64)
    for k in range(len(links)):
        while ends[-1] <= k:
            ends.pop()
        level = len(ends) - 1
        out[k] = level
        if links[k, CHILDREN]:
            ends.append(int(links[k, NEXT]))
    return out


def _spheres(report: Report, terrain: thud.Terrain) -> None:
    """Figure 2: the spheres of a tile, level by level, and how they lie in memory."""
    arrays = terrain.tile(terrain.keys()[0]).arrays
    level, nodes = _levels(arrays.links), arrays.nodes

    def picture(plt: Any) -> Any:
        figure, axes = plt.subplots(1, 4, figsize=(13, 3.6))
        for axis, chosen in zip(axes[:3], (0, 1, 2)):
            rows = np.flatnonzero(level == chosen)
            for row in rows:
                axis.add_patch(plt.Circle(nodes[row, :2], nodes[row, 3], fill=False, color=f"C{chosen}", lw=0.8))
            axis.set_aspect("equal")
            axis.autoscale_view()
            axis.set_title(f"(a) level {chosen}: {len(rows)} spheres", fontsize=9)
        shown = min(len(level), 200)
        axes[3].bar(
            np.arange(shown), level[:shown].max() - level[:shown] + 1, width=1.0, color=[f"C{k % 10}" for k in level[:shown]]
        )
        axes[3].set_title("(c) memory: one row after the other, by level", fontsize=9)
        axes[3].set_xlabel("row")
        return figure

    report.figure("figure_2", picture)


def _visited(report: Report, terrain: thud.Terrain, world: FlightWorld) -> None:
    """Figure 4: nodes that one frame tests, and those that it passes over."""
    start = Pilot(world).start()
    reach = SPEED / RATE + RADIUS
    tile = terrain.tiles_near(start - reach, start + reach)[0]
    arrays = tile.arrays
    level, row, tested, hit = _levels(arrays.links), 0, [], []
    p = start - arrays.origin
    while row < len(arrays.links):
        near = float(np.linalg.norm(arrays.nodes[row, :3] - p)) <= float(arrays.nodes[row, 3]) + reach
        tested.append(row)
        hit.append(near)
        row = row + 1 if near and arrays.links[row, CHILDREN] else int(arrays.links[row, NEXT])
    report.say(
        f"Figure 4: a frame tests {len(tested)} of {len(level)} spheres and opens "
        f"{sum(h and not arrays.links[k, CHILDREN] for k, h in zip(tested, hit))} leaves."
    )

    def picture(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(9, 3.4))
        axis.scatter(np.arange(len(level)), -level, s=2, color="0.85", label="not looked at")
        colors = ["C3" if h else "C0" for h in hit]
        axis.scatter(tested, -level[tested], s=14, c=colors)
        axis.scatter([], [], c="C3", s=14, label="overlaps the motion's sphere")
        axis.scatter([], [], c="C0", s=14, label="tested, does not")
        axis.set(xlabel="row in memory: the walk goes to the right only", ylabel="- level")
        axis.legend(fontsize=8, loc="lower right")
        return figure

    report.figure("figure_4", picture)


def _reaction(report: Report) -> None:
    """Figure 5: a camera that slides over a hill, by both methods."""
    import tempfile
    from pathlib import Path

    x = np.linspace(0.0, 40.0, 21)
    z = 6.0 * np.exp(-(((x - 20.0) / 6.0) ** 2))
    y = np.array([-10.0, 10.0])
    vertices = np.array([[a, b, c] for b in y for a, c in zip(x, z)])
    k = np.arange(20)
    faces = np.concatenate([np.column_stack([k, k + 1, k + 22]), np.column_stack([k, k + 22, k + 21])])
    with tempfile.TemporaryDirectory() as folder:
        manifest = Manifest(
            "triangles", (-50, -50, -50, 100, 50, 50), (200.0, 200.0, 0.0), (1, 1), corner=(-100.0, -100.0, 0.0)
        )
        write_tiles(Path(folder) / "t", manifest, [((0, 0), triangle_record((0, 0), vertices, faces, quantum=2.0**-10))])
        paths = {}
        with thud.Terrain.open(Path(folder) / "t") as terrain:
            for method in ("slide", "euve"):
                at = np.array([3.0, 0.0, 3.0])
                path = [at]
                for _ in range(60):
                    at = terrain.slide(at, (0.55, 0.0, -0.12), 1.0, method=method).position[0]
                    path.append(at)
                paths[method] = np.array(path)

    def picture(plt: Any) -> Any:
        figure, axis = plt.subplots(figsize=(8, 3.2))
        axis.fill_between(x, z, -2.0, color="0.8")
        for method, path in paths.items():
            axis.plot(path[:, 0], path[:, 2], "-" if method == "slide" else "--", label=method)
        for at in paths["slide"][::12]:
            axis.add_patch(plt.Circle(at[[0, 2]], 1.0, fill=False, lw=0.7))
        axis.set_aspect("equal")
        axis.legend(fontsize=8)
        return figure

    report.figure("figure_5", picture)


def _shots(report: Report, terrain: thud.Terrain, world: FlightWorld) -> None:
    """Figure 6: above the highest place, as it was without collisions, and down in the canyon, as it is with them."""
    width, height = _PIXELS[report.size]
    x = np.array([350.0])
    y = world.middle(x)
    floor = float(world.floor(x, y)[0])
    ahead = np.array([x[0] + 150.0, float(world.middle(x + 150.0)[0]), floor])
    shots = {
        "(a) without collisions: above all": Camera((x[0], y[0], floor + WALL + 120.0), ahead, 1.2, width, height),
        "(b) with collisions: in the canyon": Camera((x[0], y[0], floor + 8.0), ahead + [0.0, 0.0, 10.0], 1.2, width, height),
    }
    images = {name: shaded(terrain, camera) for name, camera in shots.items()}

    def picture(plt: Any) -> Any:
        figure, axes = plt.subplots(1, 2, figsize=(12, 4.2))
        for axis, (name, image) in zip(axes, images.items()):
            axis.imshow(image)
            axis.set_axis_off()
            axis.set_title(name, fontsize=10)
        return figure

    report.figure("figure_6", picture)


def shaded(terrain: thud.Terrain, camera: Camera) -> Floats:
    """(H, W, 3) what a camera sees, by rays, with the sun from the side and haze."""
    rays = camera.rays()
    found = terrain.raycast(np.asarray(camera.eye)[None], rays, max_distance=2500.0)
    hit = np.isfinite(found.distance)
    sun = np.array([0.4, -0.6, 0.7]) / np.linalg.norm([0.4, -0.6, 0.7])
    light = 0.25 + 0.75 * np.clip(found.normal @ sun, 0.0, 1.0)
    rock, grass = np.array([0.55, 0.5, 0.45]), np.array([0.42, 0.55, 0.3])
    flat = np.clip(2.0 * found.normal[:, 2] - 1.0, 0.0, 1.0)[:, None]
    color = light[:, None] * (flat * grass + (1.0 - flat) * rock)
    sky = np.array([0.7, 0.8, 0.93])
    haze = np.where(hit, 1.0 - np.exp(-np.where(hit, found.distance, 0.0) / 1800.0), 1.0)[:, None]
    return np.clip((1.0 - haze) * color + haze * sky, 0.0, 1.0).reshape(camera.height, camera.width, 3)
