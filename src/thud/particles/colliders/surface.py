"""Surface: displaced terrain as a collider of particles."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_points
from thud.pairing.families import SURFACE, as_family
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.frame import frame_of, one_pose, widened
from thud.pose import PoseLike
from thud.terrain.surface import DisplacedSurface

#: Bits of a patch's x and y in its part (see `surface_path.py`).
_BITS = 16


@dataclass(frozen=True, eq=False, repr=False)
class Surface(Collider):
    """The sheet of a displaced surface, two-sided: its bilinear patches, without the ground below.

    Parameters
    ----------
    surface : DisplacedSurface
    pose : one pose of it in the world; None: its own frame is the world's
    restitution, friction, material : see `Collider`

    The part of an impact is its patch: quad * 2**32 + y * 2**16 + x, in samples from the quad's lowest corner.
    """

    surface: DisplacedSurface
    pose: PoseLike = None
    _rows: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        as_family(self.surface, "surface", SURFACE)
        object.__setattr__(self, "_rows", one_pose(self.pose))
        self.check_response()

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """What `surface_path_rows` reads, in its order: the surface's arrays, the frame."""
        arrays = self.surface.arrays
        box = arrays.node_boxes[0].astype(np.float64)
        return arrays, frame_of(self._rows, np.zeros(3), box[:3], box[3:])

    def box(self) -> Floats:
        """(6,) lower and upper corner in the world, metres."""
        lower, upper = self.surface._bounds(self._rows[None])
        return widened(lower[0], upper[0])

    def map_places(self, parts: npt.ArrayLike, points: npt.ArrayLike) -> Floats:
        """(N, 2) places (s, t) in the displacement map, in its samples, of impacts.

        Parameters
        ----------
        parts : (N,) of impacts on this collider
        points : (N, 3) where they happened, world frame, metres
        """
        from thud._core.threads import run_rows
        from thud.particles.crossings.path_box import LOCAL
        from thud.particles.crossings.surface_path import patch_place_rows

        chosen = np.array(parts, dtype=np.int64).reshape(-1)
        if not len(chosen):
            return np.empty((0, 2))
        places = as_points(points, "points")
        if len(places) != len(chosen):
            raise InvalidInputError(f"points: expected one a part ({len(chosen)}), got {len(places)}")
        sides = np.asarray(self.surface.quads)[:, 2].astype(np.int64) * self.surface.detail_ratio
        quad, x, y = chosen >> 2 * _BITS, chosen & (2**_BITS - 1), (chosen >> _BITS) & (2**_BITS - 1)
        wrong = (chosen < 0) | (quad >= len(sides))
        wrong |= np.maximum(x, y) >= sides[np.where(wrong, 0, quad)]
        if wrong.any():
            raise InvalidInputError(f"parts: row {int(np.argmax(wrong))} is no patch of this surface")
        rows = np.zeros((len(chosen), 10))
        rows[:, :3] = places
        out = np.empty((len(chosen), 2))
        run_rows(patch_place_rows, len(chosen), None, *self.arrays, chosen, rows, out, np.empty((len(chosen), LOCAL)))
        return out

    def earliest(
        self, rows: int, place: int, paths: Any, came: Any, last: Any, time: Any, hit: Any, normal: Any, status: Any
    ) -> None:
        """Improve the earliest crossing of each of the first rows (see `flights.py`); `place` is the collider's."""
        from thud.particles.crossings.surface_path import surface_path_rows

        surface_path_rows(0, rows, *self.arrays, place, paths, came, last, time, hit, normal, status)
