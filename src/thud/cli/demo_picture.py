"""The picture of `thud demo`: found by ray casting with thud itself, one ray a pixel, shaded by the hit normals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import thud
from thud.shapes.shape import Shape

_WIDTH, _HEIGHT = 960, 600
_EYE, _TARGET = np.array([3.2, -4.2, 2.6]), np.array([0.1, 0.1, 0.45])
_LIGHT = np.array([0.35, -0.5, 0.8]) / np.linalg.norm([0.35, -0.5, 0.8])


_FIELD = 0.95
"""Width of the picture at distance 1 from the eye."""


def _camera() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Unit vectors forward, right and up."""
    forward = (_TARGET - _EYE) / np.linalg.norm(_TARGET - _EYE)
    right = np.cross(forward, [0, 0, 1.0])
    right /= np.linalg.norm(right)
    return forward, right, np.cross(right, forward)


def _rays() -> npt.NDArray[np.float64]:
    """(H * W, 3) directions of a pinhole camera."""
    forward, right, up = _camera()
    x, y = np.meshgrid(np.linspace(-0.5, 0.5, _WIDTH), np.linspace(0.5, -0.5, _HEIGHT) * _HEIGHT / _WIDTH)
    return (forward + _FIELD * (x[..., None] * right + y[..., None] * up)).reshape(-1, 3)


def draw(names: list[str], shapes: list[Shape], poses: thud.Pose, path: Path) -> None:
    """Write the scene to a PNG, with the contact points marked."""
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise thud.errors.MissingExtraError.for_package("matplotlib", "app") from None
    directions = _rays()
    depth = np.full(len(directions), np.inf)
    image = np.tile([0.93, 0.95, 0.98], (len(directions), 1))
    hit_points = np.zeros((len(directions), 3))
    palette = colormaps["tab10"]
    for k, shape in enumerate(shapes):
        hits = thud.raycast(shape, _EYE, directions, pose=poses[k], max_distance=30.0)
        nearer = hits.distance < depth
        depth[nearer] = hits.distance[nearer]
        base = np.array([0.80, 0.79, 0.76]) if names[k] == "ground" else np.array(palette(k % 10)[:3])
        light = 0.35 + 0.65 * np.clip(hits.normal[nearer] @ _LIGHT, 0.0, 1.0)
        image[nearer] = base * light[:, None]
        hit_points[nearer] = hits.point[nearer]
    # Shadows: a ray from each hit towards the light that meets any shape.
    seen = np.flatnonzero(np.isfinite(depth))
    shadow = np.zeros(len(seen), dtype=bool)
    for k, shape in enumerate(shapes):
        if names[k] != "ground":
            start = hit_points[seen] + 1e-6 * _LIGHT - 1e-6 * directions[seen]
            shadow |= np.isfinite(thud.raycast(shape, start, _LIGHT, pose=poses[k], any_hit=True).distance)
    image[seen[shadow]] *= 0.6
    # Distance fades the ground into the sky.
    fade = np.clip((depth[seen] - 6.0) / 20.0, 0.0, 1.0)[:, None]
    image[seen] = image[seen] * (1.0 - fade) + np.array([0.93, 0.95, 0.98]) * fade
    figure = Figure(figsize=(9.6, 6.0), dpi=100)
    axes = figure.subplots()
    axes.imshow(image.reshape(_HEIGHT, _WIDTH, 3))
    for a in range(len(shapes)):
        for b in range(a + 1, len(shapes)):
            points = thud.contacts(shapes[a], shapes[b], poses[a], poses[b]).point
            if len(points):
                u, v = _project(points)
                axes.plot(u, v, "o", color="white", markeredgecolor="black", markersize=5)
    u, v = _project(poses.position)
    for k, name in enumerate(names):
        if name != "ground":
            axes.annotate(name, (u[k], v[k]), color="white", ha="center", va="center", fontsize=9, fontweight="bold")
    axes.set_axis_off()
    axes.set_title("thud demo: rays, shadows and contact points (white) by thud", fontsize=10)
    figure.tight_layout()
    figure.savefig(path)


def _project(points: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Pixel coordinates of world points."""
    forward, right, up = _camera()
    d = points - _EYE
    along = _FIELD * (d @ forward)
    x, y = d @ right / along, d @ up / along
    return (x + 0.5) * _WIDTH, (0.5 - y * _WIDTH / _HEIGHT) * _HEIGHT
