"""A world as a picture, drawn by rays: a sun, its shadows, a colour a body."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.report.camera import Camera
from thud.world.world import World

_SUN = np.array([0.45, -0.65, 0.8]) / np.linalg.norm([0.45, -0.65, 0.8])
_SKY = (0.93, 0.95, 0.97)

#: Rays a side of a pixel.
_FINE = 2


def world_picture(world: World, camera: Camera, colors: npt.ArrayLike) -> Floats:
    """(height, width, 3) from 0 to 1.

    Parameters
    ----------
    colors : (N, 3) of the bodies in the order of `world.handles()`, from 0 to 1
    """
    eye, rays = np.asarray(camera.eye), camera.rays(_FINE)
    seen = world.raycast(eye, rays)
    hit = seen.handle >= 0
    handles = world.handles()
    order = np.argsort(handles)
    base = np.zeros((len(rays), 3))
    base[hit] = np.asarray(colors, float)[order[np.searchsorted(handles[order], seen.handle[hit])]]
    # Of a sheet both sides are seen.
    facing = seen.normal * np.where(np.einsum("ni,ni->n", seen.normal, rays) > 0.0, -1.0, 1.0)[:, None]
    light = np.maximum(facing @ _SUN, 0.0)
    rows = np.flatnonzero(hit & (light > 0.0))
    shade = world.raycast(seen.point[rows] + 1e-4 * facing[rows], _SUN, max_distance=100.0, any_hit=True)
    light[rows[shade.handle >= 0]] = 0.0
    color = np.tile(_SKY, (len(rays), 1))
    color[hit] = (base * (0.45 + 0.2 * facing[:, 2:] + 0.45 * light[:, None]))[hit]
    fine = np.clip(color, 0.0, 1.0).reshape(camera.height, _FINE, camera.width, _FINE, 3)
    return np.asarray(fine.mean(axis=(1, 3)))
