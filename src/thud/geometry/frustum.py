"""The planes of a view."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_positive, as_vector, finite_array


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
    eye, forward, above = (as_vector(one, name) for one, name in ((position, "position"), (direction, "direction"), (up, "up")))
    begin, end = as_positive(near, "near"), as_positive(far, "far")
    if not begin < end:
        raise InvalidInputError(f"far: {end:g} m; expected more than the near plane's distance, {begin:g} m")
    opening = finite_array(angles, "angles")
    if opening.shape not in ((), (1,), (2,)) or not ((opening > 0.0) & (opening < math.pi)).all():
        raise InvalidInputError(f"angles: expected one or two angles between 0 and pi, got {angles!r}")
    across, upright = (0.5 * np.broadcast_to(opening, (2,))).tolist()
    if not np.abs(forward).max() > 0.0:
        raise InvalidInputError("direction: expected a vector other than 0")
    z = forward / np.abs(forward).max()
    z /= np.linalg.norm(z)
    x = np.cross(z, above / max(float(np.abs(above).max()), 1e-300))
    if not np.linalg.norm(x) > 1e-12:
        raise InvalidInputError("up: expected a vector that is not along the direction")
    x /= np.linalg.norm(x)
    y = np.cross(x, z)
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
