"""Pictures of triangles by casting a ray a pixel: what is in front hides what is behind, however many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import thud

Floats = npt.NDArray[np.float64]

_SUN = np.array([0.45, -0.55, 0.75]) / np.linalg.norm([0.45, -0.55, 0.75])
#: Rays a side of a pixel.
_FINE = 2


@dataclass(frozen=True)
class Camera:
    """Parallel rays: what lies in a box, seen from an elevation and an azimuth."""

    center: Floats
    right: Floats
    up: Floats
    toward: Floats
    """Unit vector from the scene to the camera."""
    width: float
    height: float

    @classmethod
    def around(cls, points: Floats, view: tuple[float, float]) -> Camera:
        """All points are in the picture. `view`: elevation and azimuth of the camera, degrees."""
        elevation, azimuth = np.radians(view)
        toward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
        right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
        up = np.cross(toward, right)
        flat = points @ np.stack([right, up, toward], axis=1)
        low, high = flat.min(axis=0), flat.max(axis=0)
        middle = 0.5 * (low + high)
        center = middle[0] * right + middle[1] * up + (high[2] + 1.0) * toward
        margin = 1.04
        return cls(center, right, up, toward, margin * float(high[0] - low[0]), margin * float(high[1] - low[1]))

    def rays(self, columns: int) -> tuple[Floats, int]:
        """Origins, row after row from the top, and how many rows."""
        step = self.width / columns
        rows = max(1, round(self.height / step))
        x = (np.arange(columns) + 0.5 - columns / 2) * step
        y = (rows / 2 - np.arange(rows) - 0.5) * step
        origins = self.center + x[None, :, None] * self.right + y[:, None, None] * self.up
        return origins.reshape(-1, 3), rows


def render(
    triangles: Floats, colors: Floats, camera: Camera, *, columns: int = 900, lines: npt.NDArray[np.bool_] | None = None
) -> Floats:
    """(rows, columns, 3) picture of triangles in sunlight, on white.

    Parameters
    ----------
    triangles : (T, 3, 3) counter-clockwise seen from outside; undersides are darker
    colors : (3,) or (T, 3) from 0 to 1
    camera : where from
    columns : width in pixels
    lines : (T, 3) which edges (k to k + 1) are drawn; default none
    """
    mesh = thud.TriangleMesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))
    origins, rows = camera.rays(columns * _FINE)
    hit = thud.raycast(mesh, origins, np.broadcast_to(-camera.toward, origins.shape).copy())
    seen = hit.triangle >= 0
    row = np.maximum(hit.triangle, 0)
    light = np.where(hit.normal @ camera.toward > 0.0, 0.32 + 0.68 * np.clip(hit.normal @ _SUN, 0.0, 1.0), 0.22)
    paint = np.broadcast_to(colors, (len(triangles), 3))[row] * light[:, None]
    if lines is not None:
        width = 0.8 * camera.width / columns
        corner = triangles[row]
        for k in range(3):
            a, b = corner[:, k], corner[:, (k + 1) % 3]
            along = b - a
            length = np.maximum(np.linalg.norm(along, axis=1), 1e-300)
            off = np.linalg.norm(np.cross(hit.point - a, along), axis=1) / length
            paint = np.where((lines[row, k] & (off < width))[:, None], 0.35 * paint, paint)
    paint = np.where(seen[:, None], np.clip(paint, 0.0, 1.0), 1.0)
    return (
        paint.reshape(rows, columns * _FINE, 3)[: rows - rows % _FINE].reshape(-1, _FINE, columns, _FINE, 3).mean(axis=(1, 3))
    )
