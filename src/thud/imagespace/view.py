"""Views: orthographic, tight around what is tested (4.5.3); pixels are square.

A view turns the world so that rays go along +z: (x, y) are pixels from the lower left corner, z is depth in metres from the
near plane. Outward normals that face the viewer have z < 0; their triangles run counter-clockwise in (x, y).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats
from thud.constants import TINY
from thud.imagespace.tolerances import VIEW_MARGIN, VIEW_PIXEL, VIEW_SPAN

#: Directions of the rays of up to nine views: three at right angles, turned away from the axes that things are built
#: along, then their six bisectors.
_TURN = np.array(
    [[0.8638, -0.3943, 0.3138], [0.4735, 0.8404, -0.2636], [-0.1598, 0.3763, 0.9126]],
)


def directions(count: int) -> Floats:
    """(count, 3) unit directions of rays."""
    turn = np.linalg.qr(_TURN)[0]
    axes = turn.T
    pairs = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (0, 1, -1), (1, 2, -1), (2, 0, -1)]
    more = [(axes[i] + s * axes[j]) / np.sqrt(2.0) for i, j, s in pairs]
    return np.array([axes[2], axes[0], axes[1], *more])[:count]


@dataclass(frozen=True, eq=False)
class View:
    """An orthographic view of a box of the turned world."""

    rotation: Floats
    """(3, 3) rows: right, up, along the rays."""
    lower: Floats
    """(3,) corner of the region in turned coordinates, metres."""
    pixel: float
    """Side of a pixel, metres."""
    width: int
    height: int
    depth: float
    """Depth of the region, metres."""

    def project(self, points: Floats) -> Floats:
        """(N, 3) pixels and depth of world points."""
        turned = points @ self.rotation.T - self.lower
        turned[:, :2] /= self.pixel
        return turned

    def unproject(self, pixels: Floats) -> Floats:
        """World points of (N, 3) pixels and depth."""
        turned = pixels.copy()
        turned[:, :2] *= self.pixel
        return (turned + self.lower) @ self.rotation

    def cut(self, pixel: float, most: int) -> list[View]:
        """The same region with pixels of this side or smaller: one view, or several of at most `most` pixels a side."""
        views = []
        wide, high = self.width * self.pixel, self.height * self.pixel
        across, up = max(1, int(np.ceil(wide / pixel / most))), max(1, int(np.ceil(high / pixel / most)))
        width, height = int(np.ceil(wide / across / pixel)) + 2 * VIEW_MARGIN, int(np.ceil(high / up / pixel)) + 2 * VIEW_MARGIN
        for j in range(up):
            for i in range(across):
                corner = self.lower + [i * wide / across - VIEW_MARGIN * pixel, j * high / up - VIEW_MARGIN * pixel, 0.0]
                views.append(View(self.rotation, corner, pixel, width, height, self.depth))
        return views


def camera(direction: Floats) -> Floats:
    """(3, 3) rotation whose third row is the direction of the rays; right x up points to the viewer."""
    along = direction / np.linalg.norm(direction)
    other = np.eye(3)[int(np.argmin(np.abs(along)))]
    right = np.cross(along, other)
    right /= np.linalg.norm(right)
    # right x up = -along
    return np.array([right, np.cross(right, along), along])


def box_corners(boxes: Floats) -> Floats:
    """(8 N, 3) corners of (N, 6) boxes."""
    picks = np.array([[x, y, z] for x in (0, 3) for y in (1, 4) for z in (2, 5)])
    return boxes[:, picks].reshape(-1, 3)


def tight_view(points: Floats, direction: Floats, resolution: tuple[int, int], seen: Floats) -> View:
    """The view along a direction that shows all points, as large as fits the resolution (width, height); as deep as all that is
    `seen` (points around it): faces in front of a region count, too."""
    rotation = camera(direction)
    turned = points @ rotation.T
    lower, upper = turned.min(axis=0), turned.max(axis=0)
    extent = np.maximum(upper - lower, 0.0)
    pixel = max(float(extent[0]) / (resolution[0] - 2 * VIEW_MARGIN), float(extent[1]) / (resolution[1] - 2 * VIEW_MARGIN))
    around = seen @ rotation.T
    pixel = max(pixel, float(np.ptp(around, axis=0).max()) / VIEW_SPAN, VIEW_PIXEL * float(np.abs(turned).max()), TINY)
    middle = 0.5 * (lower + upper)
    corner = middle - 0.5 * pixel * np.array([resolution[0], resolution[1], 0.0])
    along = around[:, 2]
    room = 4.0 * pixel
    corner[2] = along.min() - room
    return View(rotation, corner, pixel, resolution[0], resolution[1], float(np.ptp(along)) + 2.0 * room)
