"""A pinhole camera: rays of pixels, and where points are seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_points, as_positive, as_vector


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera, z up in the picture.

    Parameters
    ----------
    eye, target : (3,) where it stands and what is in the middle of the picture, metres
    field : width of the picture at distance 1 from the eye
    width, height : pixels
    """

    eye: npt.ArrayLike
    target: npt.ArrayLike
    field: float = 0.8
    width: int = 800
    height: int = 500

    def __post_init__(self) -> None:
        for name in ("eye", "target"):
            object.__setattr__(self, name, as_vector(getattr(self, name), name))
        as_positive(self.field, "field")
        if self.width < 1 or self.height < 1:
            raise InvalidInputError(f"width, height: expected at least one pixel, got {self.width} by {self.height}")
        if not np.linalg.norm(np.cross(np.asarray(self.target) - np.asarray(self.eye), [0.0, 0.0, 1.0])) > 0.0:
            raise InvalidInputError("target: expected a point that is not straight above or below the eye")

    @cached_property
    def axes(self) -> Floats:
        """(3, 3) unit rows: forward, right, up."""
        forward = np.asarray(self.target) - np.asarray(self.eye)
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        return np.stack([forward, right, np.cross(right, forward)])

    def rays(self, fine: int = 1, rows: npt.NDArray[np.int64] | None = None) -> Floats:
        """(R, 3) unit directions, row after row from the top.

        Parameters
        ----------
        fine : rays a side of a pixel
        rows : (R,) which of all width * fine by height * fine rays; None: every one
        """
        wide, high = self.width * fine, self.height * fine
        y, x = np.divmod(np.arange(wide * high) if rows is None else rows, wide)
        forward, right, up = self.axes
        across = ((x + 0.5) / wide - 0.5) * self.field
        rise = (0.5 - (y + 0.5) / high) * self.field * self.height / self.width
        rays = forward + across[:, None] * right + rise[:, None] * up
        return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))

    def see(self, points: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Where points are seen: (M, 2) pixels to the right and down, and (M,) distances from the eye; behind it negative."""
        offset = as_points(points, "points") - np.asarray(self.eye)
        along, x, y = (offset @ axis for axis in self.axes)
        depth = np.where(along > 0.0, along, np.nan) * self.field / self.width
        distance = np.linalg.norm(offset, axis=1) * np.sign(along)
        return np.column_stack([x / depth + 0.5 * self.width, 0.5 * self.height - y / depth]), distance
