"""Heights of the topmost ground, seen straight from above: triangles of tiles of any kind on a grid of pixels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats
from thud._core.decorators import exact_kernel

if TYPE_CHECKING:
    from thud.terrain.tiles.terrain import Terrain


def top_view(terrain: Terrain, bounds: tuple[float, float, float, float], step: float) -> Floats:
    """(rows, columns) greatest heights of the ground at the middles of square pixels, row 0 the southernmost; NaN for none.

    Parameters
    ----------
    terrain : open
    bounds : x0, y0, x1, y1 of the part, metres
    step : side of a pixel, metres
    """
    x0, y0, x1, y1 = bounds
    columns, rows = max(1, round((x1 - x0) / step)), max(1, round((y1 - y0) / step))
    out = np.full((rows, columns), -np.inf)
    low, high = np.array([x0, y0, -np.inf]), np.array([x1, y1, np.inf])
    keys = [key for key in terrain.manifest.keys_near(low, high) if key in terrain]
    for key in keys:
        corners = np.ascontiguousarray(terrain.tile(key).triangles().corners, np.float64)
        highest(corners, x0, y0, step, out)
    out[np.isinf(out)] = np.nan
    return out


@exact_kernel("f8[:,:,::1], f8, f8, f8, f8[:,::1]")
def highest(corners, x0, y0, step, heights_out):
    """Raise pixels to the triangles above their middles."""
    rows, columns = heights_out.shape
    for t in range(corners.shape[0]):
        ax, ay, az = (corners[t, 0, 0] - x0) / step - 0.5, (corners[t, 0, 1] - y0) / step - 0.5, corners[t, 0, 2]
        bx, by, bz = (corners[t, 1, 0] - x0) / step - 0.5, (corners[t, 1, 1] - y0) / step - 0.5, corners[t, 1, 2]
        cx, cy, cz = (corners[t, 2, 0] - x0) / step - 0.5, (corners[t, 2, 1] - y0) / step - 0.5, corners[t, 2, 2]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        # As numbers first: a place far out must not become a wrong whole number.
        left, right = max(math.ceil(min(ax, bx, cx)), 0.0), min(math.floor(max(ax, bx, cx)), columns - 1.0)
        below, above = max(math.ceil(min(ay, by, cy)), 0.0), min(math.floor(max(ay, by, cy)), rows - 1.0)
        if left > right or below > above:
            continue
        for y in range(np.int64(below), np.int64(above) + 1):
            for x in range(np.int64(left), np.int64(right) + 1):
                u = ((bx - x) * (cy - y) - (by - y) * (cx - x)) / area
                v = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) / area
                w = 1.0 - u - v
                if u >= -1e-9 and v >= -1e-9 and w >= -1e-9:
                    z = u * az + v * bz + w * cz
                    if z > heights_out[y, x]:
                        heights_out[y, x] = z
