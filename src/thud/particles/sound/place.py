"""Where on its body an impact lands: the coordinates of impact maps, and how large the surface is along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.sound.tolerances import SOUND_PLACE_STEP

#: Metres: surfaces without end are known within +- this of their own point; farther out strikes land "somewhere".
EXTENT = 1000.0


class Surfaces:
    """The surfaces of colliders.

    Parameters
    ----------
    colliders : a `ColliderSet`, or a list; rows that are no colliders of `thud.particles` (materials alone, say) have no places
    """

    def __init__(self, colliders: Any) -> None:
        rows = list(getattr(colliders, "colliders", colliders))
        self.count = len(rows)
        self.extent, self.around = np.full((self.count, 2), np.nan), np.zeros(self.count, np.bool_)
        self._charts: Any = None
        if rows and all(isinstance(row, Collider) for row in rows):
            self._look(colliders if isinstance(colliders, ColliderSet) else ColliderSet(rows))

    def _look(self, ready: ColliderSet) -> None:
        from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
        from thud.particles.colliders.quadric import Quadric
        from thud.particles.maps.parameters import MapCharts

        self._charts = MapCharts(ready, EXTENT)
        line = np.linspace(0.0, 1.0, 65)
        for k, collider in enumerate(ready.colliders):
            # Others, such as solids and meshes, have atlases of many pieces: their places are taken as they are.
            if not isinstance(collider, (Plane, Rectangle, Disc, Polygon, Quadric)):
                continue
            chart = self._charts.charts[k]
            self.around[k] = getattr(chart, "around", False)
            for axis in range(2):
                uv = np.full((len(line), 2), 0.5)
                uv[:, axis] = line
                steps = np.linalg.norm(np.diff(chart.points(uv), axis=0), axis=1)
                self.extent[k, axis] = np.nansum(steps) if np.isfinite(steps).any() else np.nan

    def places(self, impacts: Any, collider: Ints) -> Floats:
        """(N, 2) from 0 to 1; NaN where it is not known."""
        point, part = getattr(impacts, "point", None), getattr(impacts, "part", None)
        if self._charts is None or point is None or part is None:
            return np.full((len(collider), 2), np.nan)
        found = self._charts.coordinates(collider, np.asarray(part), np.asarray(point))
        return np.asarray(np.round(found / SOUND_PLACE_STEP) * SOUND_PLACE_STEP)
