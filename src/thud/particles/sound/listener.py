"""Who listens: two ears in space. A strike is nearer to one than to the other: it arrives there earlier and louder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_vector
from thud.particles.sound.radiation import SPEED_OF_SOUND
from thud.particles.sound.tolerances import SOUND_NEAREST

#: Half the distance of the ears, metres (Woodworth's head).
EAR = 0.0875

#: How much of a strike's power the head keeps from the far ear, and gives to the near one; 12.8 dB between the ears at the
#: side.
SHADOW = 0.9


@dataclass(frozen=True, eq=False)
class Listener:
    """Two ears. What they hear is delayed by r / c, falls with 1 / r, and is shaded by the head.

    Parameters
    ----------
    position : (3,) middle of the head, metres
    facing : (3,) where it looks, of any length but zero
    up : (3,) not along `facing`
    """

    position: npt.ArrayLike
    facing: npt.ArrayLike = (0.0, 1.0, 0.0)
    up: npt.ArrayLike = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        for name in ("position", "facing", "up"):
            object.__setattr__(self, name, as_vector(getattr(self, name), name))
        if not np.linalg.norm(np.cross(np.asarray(self.facing), np.asarray(self.up))) > 0.0:
            raise InvalidInputError("facing: expected a direction other than that of `up`, and neither zero")

    @property
    def right(self) -> Floats:
        """(3,) unit vector to the right."""
        right = np.cross(np.asarray(self.facing), np.asarray(self.up))
        return np.asarray(right / np.linalg.norm(right))

    def ears(self, points: Floats) -> list[tuple[Floats, Floats]]:
        """For the left and the right ear: seconds by which sounds from (N, 3) points are late, and what is left of them."""
        middle, right = np.asarray(self.position), self.right
        # Component by component: sums by other routines may depend on how many rows there are.
        d = [points[:, axis] - middle[axis] for axis in range(3)]
        distance = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        lateral = (d[0] * right[0] + d[1] * right[1] + d[2] * right[2]) / np.where(distance > 0.0, distance, 1.0)
        found = []
        for side in (-1.0, 1.0):
            e = [d[axis] - side * EAR * right[axis] for axis in range(3)]
            far = np.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
            found.append((far / SPEED_OF_SOUND, np.sqrt(1.0 + side * SHADOW * lateral) / np.maximum(far, SOUND_NEAREST)))
        return found
