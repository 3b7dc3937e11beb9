"""The planes of a view."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_positive, as_vector, finite_array
from thud.geometry.tolerances import MOST_PIXELS


def frustum_planes(
    position: npt.ArrayLike, direction: npt.ArrayLike, up: npt.ArrayLike, angles: npt.ArrayLike, near: float, far: float
) -> Floats:
    """The six planes of a perspective view, as `sphere_frustum` and `Terrain.look` take them.

    Parameters
    ----------
    position : (3,) of the eye, metres
    direction : (3,) where it looks; of any length
    up : (3,) what is up in the picture; any vector that is not along the direction
    angles : full angles of view across and upright, radians, below pi; one number for both
    near, far : distances of the near and the far plane along the direction, metres

    Returns
    -------
    (6, 4) [A B C D]: near, far, left, right, bottom, top; unit normals into the frustum
    """
    eye = as_vector(position, "position")
    begin, end = as_positive(near, "near"), as_positive(far, "far")
    if not begin < end:
        raise InvalidInputError(f"far: {end:g} m; expected more than the near plane's distance, {begin:g} m")
    across, upright = (0.5 * _opening(angles)).tolist()
    x, y, z = _view_axes(direction, up)
    normals = [
        z,
        -z,
        math.cos(across) * x + math.sin(across) * z,
        -math.cos(across) * x + math.sin(across) * z,
        math.cos(upright) * y + math.sin(upright) * z,
        -math.cos(upright) * y + math.sin(upright) * z,
    ]
    offsets = [-begin, end, 0.0, 0.0, 0.0, 0.0]
    return np.array([[*n, offset - float(n @ eye)] for n, offset in zip(normals, offsets, strict=True)])


def camera_rays(
    position: npt.ArrayLike, direction: npt.ArrayLike, up: npt.ArrayLike, angles: npt.ArrayLike, width: int, height: int
) -> tuple[Floats, Floats]:
    """Rays of the pixels of a perspective view, as `raycast` takes them: a depth image is
    `thud.raycast(shape, *camera_rays(...)).distance.reshape(height, width)`.

    Parameters
    ----------
    position : (3,) of the eye, metres
    direction : (3,) where it looks; of any length
    up : (3,) what is up in the picture; any vector that is not along the direction
    angles : full angles of view across and upright, radians, below pi; one number for that across, with square pixels
    width, height : pixels

    Returns
    -------
    origins, directions : (height * width, 3), row after row from the top left; unit directions through the middles of pixels.
    Distances are along the rays; times `directions @ direction / |direction|` they are depths.
    """
    eye, (x, y, z) = as_vector(position, "position"), _view_axes(direction, up)
    for size, name in ((width, "width"), (height, "height")):
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise InvalidInputError(f"{name}: expected a whole number of pixels, at least 1, got {size!r}")
    if width * height > MOST_PIXELS:
        raise InvalidInputError(
            f"width, height: {width} x {height} are {width * height:,} pixels, and a call makes at most {MOST_PIXELS:,} rays; "
            "ask for parts of the picture"
        )
    across, upright = np.tan(0.5 * _opening(angles))
    if np.size(angles) == 1:
        upright = across * height / width
    right = across * (2.0 * (np.arange(width) + 0.5) / width - 1.0)
    above = upright * (1.0 - 2.0 * (np.arange(height) + 0.5) / height)
    rays = z + right[None, :, None] * x + above[:, None, None] * y
    rays = (rays / np.linalg.norm(rays, axis=2, keepdims=True)).reshape(-1, 3)
    return np.tile(eye, (len(rays), 1)), rays


def _opening(angles: npt.ArrayLike) -> Floats:
    """(2,) full angles across and upright."""
    opening = finite_array(angles, "angles")
    if opening.shape not in ((), (1,), (2,)) or not ((opening > 0.0) & (opening < math.pi)).all():
        raise InvalidInputError(f"angles: expected one or two angles between 0 and pi, got {angles!r}")
    return np.broadcast_to(opening, (2,))


def _view_axes(direction: npt.ArrayLike, up: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Right, up and forward, of unit length."""
    forward, above = as_vector(direction, "direction"), as_vector(up, "up")
    if not np.abs(forward).max() > 0.0:
        raise InvalidInputError("direction: expected a vector other than 0")
    z = forward / np.abs(forward).max()
    z /= np.linalg.norm(z)
    x = np.cross(z, above / max(float(np.abs(above).max()), 1e-300))
    if not np.linalg.norm(x) > 1e-12:
        raise InvalidInputError("up: expected a vector that is not along the direction")
    x /= np.linalg.norm(x)
    return x, np.cross(x, z), z
