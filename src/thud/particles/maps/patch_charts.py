"""Coordinates of implicit surface patches: a tile a tetrahedron that may hold some of the surface, in the order of its rows.

Within a tile they are linear: along two axes across the mean slope of f in the tetrahedron, over a rectangle that holds the
surface in it. A single-sheeted patch is seen once along that slope; of several sheets over one another the way back finds the
first, and two places share their coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.particles.colliders import bernstein
from thud.particles.colliders.element import any_tangents
from thud.particles.maps.element_charts import in_tile, tile_of, tiles
from thud.particles.maps.tolerances import PATCH_BEYOND

#: Places of a pixel at which its area is looked at (a count), and where they are: steps of the plastic number's powers, which
#: lie along no line. Sides of tetrahedra are diagonals of their tiles, and the points of a grid would lie on them.
_PLACES = 16
_STEPS = (0.7548776662466927, 0.5698402909980532)


class PatchCharts:
    """Coordinates of `ImplicitPatches`."""

    def __init__(self, collider: Any) -> None:
        self.collider, self.rows = collider, collider._active
        self.side = tiles(len(self.rows))
        self.centers = self.corners.mean(axis=1)
        """(A, 3) of the tetrahedra, metres."""
        slopes = bernstein.mean_slopes(np.asarray(collider.coefficients)[self.rows], collider.degree)
        inverse = collider._inverses[self.rows]
        toward = np.einsum("ai,aij->aj", slopes[:, 1:] - slopes[:, :1], inverse)
        length = np.linalg.norm(toward, axis=1)
        level = np.abs(slopes).max(axis=1) * np.abs(inverse).max(axis=(1, 2), initial=0.0)
        steep = length > PATCH_BEYOND * level
        # What has no slope on the whole, such as a ball about the middle, is seen from above.
        self.toward = np.where(steep[:, None], toward / np.where(steep, length, 1.0)[:, None], [0.0, 0.0, 1.0])
        self.axes = np.array([any_tangents(n) for n in self.toward]).reshape(-1, 2, 3)
        """(A, 2, 3) unit vectors across."""
        self.low, self.span = self._rectangles()

    def _rectangles(self) -> tuple[Floats, Floats]:
        """(A, 2) low ends and lengths of what tiles span: the parts of tetrahedra that may hold some of the surface."""
        flat = np.einsum("akx,acx->ack", self.axes, self.corners)
        low, high = np.full((len(flat), 2), np.inf), np.full((len(flat), 2), -np.inf)
        control = np.asarray(self.collider.coefficients)[self.rows]
        slack = PATCH_BEYOND * np.abs(control).max(axis=1, keepdims=True, initial=0.0)
        for corners, change in bernstein.parts(self.collider.degree):
            within = control @ change.T
            chosen = np.flatnonzero(~((within > slack).all(axis=1) | (within < -slack).all(axis=1)))
            here = np.einsum("ij,ajk->aik", corners, flat[chosen])
            low[chosen], high[chosen] = np.minimum(low[chosen], here.min(axis=1)), np.maximum(high[chosen], here.max(axis=1))
        # None of them: it only comes near to a face.
        none = low[:, :1] > high[:, :1]
        low, high = np.where(none, flat.min(axis=1), low), np.where(none, flat.max(axis=1), high)
        return low, high - low

    @property
    def corners(self) -> Floats:
        """(A, 4, 3) metres."""
        return np.asarray(self.collider.vertices)[np.asarray(self.collider.tetrahedra)[self.rows]]

    def coordinates(self, part: Ints, point: Floats) -> Floats:
        """See `ColliderCharts`."""
        k = np.searchsorted(self.rows, part)
        uv = np.clip((np.einsum("mkx,mx->mk", self.axes[k], point) - self.low[k]) / self.span[k], 0.0, 1.0)
        return in_tile(uv, k % self.side, k // self.side, np.full(len(k), 1.0 / self.side))

    def points(self, uv: Floats) -> Floats:
        """See `ColliderCharts`."""
        return self._seen(uv)[0]

    def areas(self, p: int, q: int) -> Floats:
        """(q, p) square metres in each pixel: by the slant of the surface at 16 places of it."""
        out, column = np.zeros((q, p)), np.repeat(np.arange(p), _PLACES)
        for row in range(q):
            # One sequence through all pixels, so that what one tile has too much another lacks.
            place = (0.5 + (row * p * _PLACES + np.arange(p * _PLACES)[:, None]) * _STEPS) % 1.0
            _points, slant, tile = self._seen((place + np.column_stack([column, np.full(len(place), row)])) / (p, q))
            whole = self.span[np.minimum(tile, len(self.rows) - 1)].prod(axis=1) * self.side**2 / (_PLACES * p * q)
            area = np.where(slant > 0.0, whole / np.where(slant > 0.0, slant, 1.0), 0.0)
            out[row] = area.reshape(p, _PLACES).sum(axis=1)
        return out

    def _seen(self, uv: Floats) -> tuple[Floats, Floats, Ints]:
        """(M, 3) points at coordinates, NaN where there are none; (M,) cosines between the surface's normal there and the
        direction in which it is seen, else 0; (M,) tiles."""
        from thud.particles.flight.system import ParticleSystem

        tile, local = tile_of(uv, self.side)
        out, slant = np.full((len(uv), 3), np.nan), np.zeros(len(uv))
        known = np.flatnonzero(tile < len(self.rows))
        k = tile[known]
        across = np.einsum("mk,mkx->mx", self.low[k] + local[known] * self.span[k], self.axes[k])
        # Barycentric coordinates along the line through that place are c + s b: in the tetrahedron where all are positive.
        c = self.collider._barycentric(self.rows[k], across)
        b = self.collider._barycentric(self.rows[k], across + self.toward[k]) - c
        with np.errstate(divide="ignore", invalid="ignore"):
            at = -c / b
        low = np.where(b > 0.0, at, np.where((b == 0.0) & (c < 0.0), np.inf, -np.inf)).max(axis=1, initial=-np.inf)
        high = np.where(b < 0.0, at, np.inf).min(axis=1, initial=np.inf)
        there = np.flatnonzero(np.isfinite(low) & np.isfinite(high) & (low < high))
        if not len(there):
            return out, slant, tile
        known, k, length = known[there], k[there], (high - low)[there]
        reach = PATCH_BEYOND * length
        start = across[there] + (low[there] - reach)[:, None] * self.toward[k]
        rays = ParticleSystem(start, (length + 2.0 * reach)[:, None] * self.toward[k], lifetime=1.0, generations=1)
        found = rays.impacts([self.collider], 0.0, 1.0)
        mine = found.part == self.rows[k[found.particle]]
        ray = found.particle[mine]
        out[known[ray]] = found.point[mine]
        slant[known[ray]] = np.abs((found.normal[mine] * self.toward[k[ray]]).sum(axis=1))
        return out, slant, tile
