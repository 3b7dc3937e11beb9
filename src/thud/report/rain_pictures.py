"""Pictures of hail on a scene: the things with their splats and the stones in the air; impact maps beside splat textures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thud._core.arrays import Floats
from thud.errors import MissingExtraError
from thud.particles.maps.map_result import COUNT, OFFSET, ImpactMap
from thud.particles.maps.parameters import charts_of
from thud.particles.scenes import Scene, Thing
from thud.report.camera import Camera
from thud.report.particle_view import Look, View
from thud.results import ParticleImpacts, ParticleState, ParticleStates

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Exposure of a picture, seconds: stones are streaks as long as they fall in it.
EXPOSURE = 1.0 / 90.0

#: Radius of the fastest stone's splat, in radii of stones.
SPLAT = 1.7


def scene_camera(scene: Scene, width: int) -> Camera:
    """The camera of a scene, at a ratio of 8 to 5."""
    return Camera(scene.eye, scene.target, scene.field, width, max(1, round(width * 0.625)))


def paint_scene(scene: Scene, seen: View, impacts: ParticleImpacts) -> Floats:
    """(height, width, 3) the scene with splats."""
    looks = [Look(thing.color, thing.stripes) for thing in scene.things]
    return seen.paint(looks, seen.splats(impacts, radius=SPLAT * scene.stone), [thing.ink for thing in scene.things])


def draw_stones(axes: Axes, seen: View, states: ParticleStates, radius: float, color: Any = "white") -> int:
    """Draw the stones in the air over a picture (pixels as coordinates), those that are not hidden. Returns how many.

    Parameters
    ----------
    axes : shows the picture
    seen : what the camera sees
    states : of the particles, at the time of the picture
    radius : of a stone, metres
    color : of stones
    """
    from matplotlib.collections import LineCollection

    camera, depth = seen.camera, seen.depth()
    flying = states.state == ParticleState.FLYING
    point, velocity = states.position[flying], states.velocity[flying]
    head, distance = camera.see(point)
    tail, _ = camera.see(point - EXPOSURE * velocity)
    inside = (distance > 0.3) & (head >= 0.0).all(axis=1) & (head < [camera.width, camera.height]).all(axis=1)
    inside &= np.isfinite(tail).all(axis=1)
    head, tail, distance = head[inside], tail[inside], distance[inside]
    x, y = head.astype(np.int64).T
    free = distance < depth[y, x]
    head, tail, distance = head[free], tail[free], distance[free]
    # Points a pixel: axes fill the figure.
    point_size = 72.0 / axes.figure.dpi
    across = np.maximum(2.0 * radius * camera.width / (camera.field * distance), 1.6) * point_size
    axes.add_collection(
        LineCollection(list(np.stack([tail, head], axis=1)), linewidths=0.55 * across, colors=color, alpha=0.35)
    )
    axes.scatter(head[:, 0], head[:, 1], s=across**2, c=color, linewidths=0.0)
    return len(head)


def storm_picture(scene: Scene, seen: View, impacts: ParticleImpacts, states: ParticleStates, path: Path) -> None:
    """Write the picture of a scene with splats and stones."""
    figure, axes = plain_figure(seen.camera)
    axes.imshow(paint_scene(scene, seen, impacts), extent=(0, seen.camera.width, seen.camera.height, 0))
    draw_stones(axes, seen, states, scene.stone)
    figure.savefig(path)


def plain_figure(camera: Camera) -> tuple[Any, Axes]:
    """A figure that is the picture of a camera, pixel by pixel."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError.for_package("matplotlib", "app") from None
    figure = Figure(figsize=(camera.width / 100.0, camera.height / 100.0), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, camera.width)
    axes.set_ylim(camera.height, 0)
    axes.set_axis_off()
    return figure, axes


def splat_image(thing: Thing, texture: Any) -> Floats:
    """(q, p, 3) a thing's colour with its splats, v upwards."""
    cover = np.asarray(texture, dtype=float)[::-1, :, None]
    return np.asarray(thing.color) * (1.0 - cover) + np.asarray(thing.ink) * cover


def map_image(found: ImpactMap, collider: int, colormap: str = "turbo") -> Floats:
    """(q, p, 3) an impact map for the eye, v upwards: colours from early to late in the window, dark where nothing hit."""
    from matplotlib import colormaps

    data = found.data[collider, ::-1].astype(float)
    offset = data[..., OFFSET] / (256.0 if found.encoding == "uint8" else 1.0)
    image = colormaps[colormap](0.08 + 0.84 * np.clip(offset, 0.0, 1.0))[..., :3]
    image[data[..., COUNT] == 0.0] = (0.09, 0.10, 0.13)
    return np.asarray(image)


def aspect(collider: Any) -> float:
    """Height over width of a map as it is best seen: that of a planar collider, else 1."""
    charts = getattr(charts_of(collider, 10.0), "charts", [])
    if len(charts) == 1 and charts[0].flat:
        u, v = np.linalg.norm(charts[0].edges, axis=1)
        return float(v / u)
    return 1.0


def map_picture(scene: Scene, textures: list[Any], found: ImpactMap, path: Path) -> None:
    """Write the splat textures of a scene's main things, and their impact maps below."""
    try:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, Normalize
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError.for_package("matplotlib", "app") from None
    from matplotlib import colormaps

    shown = [k for k, thing in enumerate(scene.things) if thing.shown]
    figure = Figure(figsize=(3.1 * len(shown) + 0.6, 6.2), dpi=100, layout="constrained")
    cells = figure.subplots(2, len(shown), squeeze=False)
    for column, k in enumerate(shown):
        thing = scene.things[k]
        images = (splat_image(thing, textures[k]), map_image(found, k))
        for cell, image in zip(cells[:, column], images):
            cell.imshow(image, extent=(0, 1, 0, 1), aspect=aspect(thing.collider), interpolation="nearest")
            cell.set_xticks([])
            cell.set_yticks([])
        hits = int(found.data[k, ..., COUNT].astype(float).sum())
        cells[0, column].set_title(f"{thing.name}: splats", fontsize=10)
        cells[1, column].set_title(f"impact map, {hits:,} impacts", fontsize=10)
    colors = ListedColormap(colormaps["turbo"](np.linspace(0.08, 0.92, 256)))
    bar = figure.colorbar(ScalarMappable(Normalize(found.t0, found.t1), colors), ax=cells[1].tolist(), shrink=0.8)
    bar.set_label("time of the last impact, s", fontsize=9)
    figure.savefig(path)
