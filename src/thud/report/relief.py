"""Shaded relief: a terrain from above, coloured by height, lit from the north-west."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError, MissingExtraError
from thud.terrain.tiles.terrain import Terrain
from thud.terrain.top_view import top_view

#: Colours from the lowest to the highest ground, red, green, blue.
_COLOURS = np.array(
    [[0.33, 0.47, 0.36], [0.55, 0.63, 0.42], [0.78, 0.74, 0.54], [0.66, 0.53, 0.40], [0.62, 0.57, 0.54], [0.95, 0.95, 0.96]]
)

#: Towards the light: from the north-west, 45 degrees up.
_LIGHT = np.array([-0.5, 0.5, np.sqrt(0.5)])


def relief(
    terrain: Terrain, *, size: int = 1200, bounds: Any = None
) -> tuple[npt.NDArray[np.float64], Floats, tuple[float, ...]]:
    """A picture (rows, columns, 3) from 0 to 1, north up; the heights (rows, columns), south first; and what it shows: x0, y0,
    x1, y1.

    Parameters
    ----------
    terrain : open
    size : pixels of the longer side
    bounds : x0, y0, x1, y1, metres; None for all of it
    """
    if isinstance(size, bool) or not isinstance(size, int) or not 16 <= size <= 16384:
        raise InvalidInputError(f"size: expected pixels from 16 to 16384, got {size!r}")
    shown = _bounds(terrain, bounds)
    step = max(shown[2] - shown[0], shown[3] - shown[1]) / size
    heights = top_view(terrain, shown, step)
    if np.isnan(heights).all():
        raise InvalidInputError(f"bounds: there is no ground within {shown}")
    return shaded(heights, step), heights, shown


def _bounds(terrain: Terrain, bounds: Any) -> tuple[float, float, float, float]:
    if bounds is None:
        x0, y0, _, x1, y1, _ = terrain.manifest.bounds
        # Of worlds made of fields the manifest's bounds have the overhang around them.
        manifest = terrain.manifest
        low = [manifest.corner[k] + manifest.first[k] * manifest.tile_size[k] for k in (0, 1)]
        high = [low[k] + manifest.count[k] * manifest.tile_size[k] for k in (0, 1)]
        return max(x0, low[0]), max(y0, low[1]), min(x1, high[0]), min(y1, high[1])
    try:
        x0, y0, x1, y1 = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise InvalidInputError(f"bounds: expected x0, y0, x1, y1 in metres, got {bounds!r}") from None
    if not (np.isfinite([x0, y0, x1, y1]).all() and x0 < x1 and y0 < y1):
        raise InvalidInputError(f"bounds: expected x0 < x1 and y0 < y1 in metres, got {bounds!r}")
    return x0, y0, x1, y1


def shaded(heights: Floats, step: float) -> npt.NDArray[np.float64]:
    """Heights, south first, as a picture, north up. Holes are dark."""
    there = ~np.isnan(heights)
    low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
    filled = np.where(there, heights, low)
    dy, dx = np.gradient(filled, step) if min(filled.shape) > 1 else (np.zeros_like(filled), np.zeros_like(filled))
    light = (_LIGHT[2] - _LIGHT[0] * dx - _LIGHT[1] * dy) / np.sqrt(1.0 + dx * dx + dy * dy)
    part = (filled - low) / max(high - low, 1e-300) * (len(_COLOURS) - 1)
    k = np.minimum(part.astype(np.int64), len(_COLOURS) - 2)
    colour = _COLOURS[k] + (part - k)[..., None] * (_COLOURS[k + 1] - _COLOURS[k])
    picture = colour * (0.35 + 0.85 * np.clip(light, 0.0, 1.0))[..., None]
    picture[~there] = 0.12
    return np.clip(picture, 0.0, 1.0)[::-1]


def relief_picture(terrain: Terrain, path: Path, *, size: int = 1200, bounds: Any = None) -> tuple[int, int]:
    """Write a shaded relief as a PNG; returns its columns and rows."""
    image = _image()
    picture, _, _ = relief(terrain, size=size, bounds=bounds)
    image.imsave(path, picture, format="png")
    return picture.shape[1], picture.shape[0]


def flight_picture(
    terrain: Terrain,
    path: Path,
    positions: Floats,
    hits: npt.NDArray[np.int64],
    seconds: Floats,
    radius: float,
    *,
    size: int = 1200,
) -> None:
    """A relief with a camera's path, what height it and the ground below had, and what its frames took.

    Parameters
    ----------
    terrain : open
    path : of the PNG
    positions : (F + 1, 3) where the camera was
    hits : (F,) what it met in each frame
    seconds : (F,) of each frame, spent in collision
    radius : of the camera, metres
    size : pixels across
    """
    _image()
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    picture, heights, shown = relief(terrain, size=min(size, 1200))
    figure, (above, profile, times) = plt.subplots(
        3, 1, figsize=(size / 110, size / 110 * 1.35), gridspec_kw={"height_ratios": [4, 1, 1]}, layout="constrained"
    )
    above.imshow(picture, extent=(shown[0], shown[2], shown[1], shown[3]), interpolation="bilinear")
    above.plot(positions[:, 0], positions[:, 1], color="#d7263d", linewidth=1.2)
    met = np.flatnonzero(hits)
    above.scatter(positions[met + 1, 0], positions[met + 1, 1], s=3, color="#ffd23f", label="slides", zorder=3)
    above.plot(*positions[0, :2], "o", color="white", markeredgecolor="black")
    above.set_xlabel("x, m")
    above.set_ylabel("y, m")
    if len(met):
        above.legend(loc="lower right")
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(positions[:, :2], axis=0), axis=1))])
    step = max(shown[2] - shown[0], shown[3] - shown[1]) / min(size, 1200)
    column = np.clip(((positions[:, 0] - shown[0]) / step).astype(int), 0, heights.shape[1] - 1)
    row = np.clip(((positions[:, 1] - shown[1]) / step).astype(int), 0, heights.shape[0] - 1)
    profile.fill_between(way, heights[row, column], np.nanmin(heights), color="#8a7a5c", label="topmost ground")
    profile.plot(way, positions[:, 2], color="#d7263d", linewidth=1.0, label=f"camera, radius {radius:g} m")
    profile.set_xlabel("way, m")
    profile.set_ylabel("height, m")
    profile.legend(loc="upper right", fontsize="small")
    times.semilogy(1e3 * np.maximum(seconds, 1e-9), color="#1b6ca8", linewidth=0.7)
    times.set_xlabel("frame")
    times.set_ylabel("collision, ms")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _image() -> Any:
    try:
        import matplotlib.image
    except ImportError:
        raise MissingExtraError.for_package("matplotlib", "app") from None
    return matplotlib.image
