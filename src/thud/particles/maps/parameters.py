"""Where on its collider an impact lies, as two numbers from 0 to 1: the coordinates of impact maps and textures. 3.4.2.

Planes and quadrics have charts (`element_charts.py`); a solid is an atlas of them, one tile a piece; a mesh is an atlas of
square cells with two triangles each, linear in each; a displaced surface has its displacement map, blobs a tile a ball. Every
kind but blobs also leads from coordinates back to points, where that has a closed form.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.gates import as_size
from thud.particles.colliders.blobs import Blobs
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.collider_set import ColliderSet, as_set
from thud.particles.colliders.mesh import Mesh
from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
from thud.particles.colliders.quadric import Quadric
from thud.particles.colliders.solid import Solid
from thud.particles.colliders.surface import Surface
from thud.particles.maps.element_charts import AROUND, CHART_KIND, CHART_WIDTH, Chart, in_tile, piece_chart, tiled, tiles

#: Half the side of the window through which colliders without end are seen, metres, unless the caller says otherwise.
DEFAULT_EXTENT = 10.0


class ColliderCharts(Protocol):
    """The way back from coordinates of one collider to points."""

    def points(self, uv: Floats) -> Floats:
        """(M, 3) points at (M, 2) coordinates; NaN where there is none or no closed form."""
        ...


@runtime_checkable
class OwnCoordinates(Protocol):
    """Coordinates of a collider that is not made of planes and quadrics."""

    def coordinates(self, part: Ints, point: Floats) -> Floats:
        """(M, 2) of (M, 3) points on parts (M,)."""
        ...


class ElementCharts:
    """Coordinates of a collider made of planes and quadrics."""

    def __init__(self, pieces: tuple[Any, ...], extent: float) -> None:
        self.charts: list[Chart] = tiled([piece_chart(piece, extent) for piece in pieces])
        self.rows = np.array([chart.row for chart in self.charts])
        self.side = tiles(len(self.charts))
        self.around = len(self.charts) == 1 and self.rows[0, CHART_KIND] == AROUND

    def points(self, uv: Floats) -> Floats:
        """See `ColliderCharts`."""
        tile, local = _tile_of(uv, self.side)
        out = np.full((len(uv), 3), np.nan)
        for k in np.unique(tile):
            if 0 <= k < len(self.charts):
                here = tile == k
                out[here] = self.charts[k].points(local[here])
        return out


class MeshCharts:
    """Coordinates of a mesh: cell k of the atlas holds faces 2 k and 2 k + 1, each one half of it, linear."""

    def __init__(self, mesh: Any, pose_row: Floats) -> None:
        self.turn, self.at = pose_row[:9].reshape(3, 3), pose_row[9:]
        corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)]
        self.first, self.edges = corners[:, 0], corners[:, 1:] - corners[:, :1]
        self.side = tiles(-(-len(corners) // 2))
        # b = G^-1 (e0 . d, e1 . d): barycentric coordinates by the triangle's own metric; a degenerate one is its corner.
        g = np.einsum("fik,fjk->fij", self.edges, self.edges)
        det = g[:, 0, 0] * g[:, 1, 1] - g[:, 0, 1] ** 2
        fine = det > 0.0
        inverse = np.stack([g[:, 1, 1], -g[:, 0, 1], -g[:, 0, 1], g[:, 0, 0]], axis=1).reshape(-1, 2, 2)
        self.inverse = inverse / np.where(fine, det, np.inf)[:, None, None]

    def coordinates(self, part: Ints, point: Floats) -> Floats:
        """See `ColliderCharts`."""
        d = (point - self.at) @ self.turn - self.first[part]
        b = np.einsum("mij,mjk,mk->mi", self.inverse[part], self.edges[part], d)
        b = np.clip(b, 0.0, 1.0)
        odd = (part % 2 == 1)[:, None]
        cell = part // 2
        return in_tile(np.where(odd, 1.0 - b, b), cell % self.side, cell // self.side, np.full(len(part), 1.0 / self.side))

    def points(self, uv: Floats) -> Floats:
        """See `ColliderCharts`. The upper half of a cell, u + v > 1 within it, is the odd face."""
        cell, local = _tile_of(uv, self.side)
        odd = local.sum(axis=1) > 1.0
        face = 2 * cell + odd
        there = (face >= 0) & (face < len(self.first))
        out = np.full((len(uv), 3), np.nan)
        f = face[there]
        b = np.where(odd[there, None], 1.0 - local[there], local[there])
        out[there] = (self.first[f] + np.einsum("mi,mik->mk", b, self.edges[f])) @ self.turn.T + self.at
        return out


class TerrainCharts:
    """Coordinates of a displaced surface: those of its displacement map, as parts of it."""

    def __init__(self, collider: Surface) -> None:
        self.collider, surface = collider, collider.surface
        self.turn, self.at = collider._rows[:9].reshape(3, 3), collider._rows[9:]
        height, width = np.shape(surface.displacements)
        self.size = np.array([width - 1.0, height - 1.0])
        # The quad of each square of the map, -1 for none.
        self.quads = np.asarray(surface.quads).astype(np.int64)
        self.owner = np.full((height - 1, width - 1), -1, np.int64)
        for k, (s, t, side) in enumerate(self.quads):
            self.owner[t : t + side, s : s + side] = k

    def coordinates(self, part: Ints, point: Floats) -> Floats:
        """See `ColliderCharts`."""
        return np.clip(self.collider.map_places(part, point) / self.size, 0.0, 1.0)

    def points(self, uv: Floats) -> Floats:
        """See `ColliderCharts`: bilinear between four samples, as the surface is."""
        place = uv * self.size
        s, t = np.minimum(place, self.size - 1.0).astype(np.int64).T
        quad = self.owner[t, s]
        out = np.full((len(uv), 3), np.nan)
        ratio = self.collider.surface.detail_ratio
        for k in np.unique(quad[quad >= 0]):
            here = np.flatnonzero(quad == k)
            samples = self.collider.surface.samples(int(k)).point
            at = (place[here] - self.quads[k, :2]) * ratio
            x, y = np.clip(at.astype(np.int64), 0, len(samples) - 2).T
            a, b = (at[:, 0] - x)[:, None], (at[:, 1] - y)[:, None]
            low = (1.0 - a) * samples[y, x] + a * samples[y, x + 1]
            high = (1.0 - a) * samples[y + 1, x] + a * samples[y + 1, x + 1]
            out[here] = ((1.0 - b) * low + b * high) @ self.turn.T + self.at
        return out


class BlobCharts:
    """Coordinates of blobs: a tile a ball, the longitude and the height of the direction from its centre; equal in the area of
    directions. The way back has no closed form."""

    def __init__(self, centers: Floats) -> None:
        self.centers, self.side = centers, tiles(len(centers))
        self.around = len(centers) == 1

    def coordinates(self, part: Ints, point: Floats) -> Floats:
        """See `ColliderCharts`."""
        d = point - self.centers[part]
        turn = np.arctan2(d[:, 1], d[:, 0]) / (2.0 * np.pi)
        length = np.linalg.norm(d, axis=1)
        height = np.clip(0.5 + 0.5 * d[:, 2] / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
        uv = np.column_stack([np.where(turn < 0.0, turn + 1.0, turn), height])
        return in_tile(uv, part % self.side, part // self.side, np.full(len(part), 1.0 / self.side))

    def points(self, uv: Floats) -> Floats:
        """NaN: see `ColliderCharts`."""
        return np.full((len(uv), 3), np.nan)


def _tile_of(uv: Floats, side: int) -> tuple[Ints, Floats]:
    """Tile and coordinates within it of coordinates in an atlas."""
    column_row = np.clip(np.floor(uv * side), 0, side - 1)
    local = np.clip(uv * side - column_row, 0.0, 1.0)
    return (column_row[:, 0] + side * column_row[:, 1]).astype(np.int64), local


def charts_of(collider: Collider, extent: float) -> ColliderCharts:
    """The coordinates of a collider of any kind."""
    if isinstance(collider, (Plane, Rectangle, Disc, Polygon, Quadric)):
        return ElementCharts((collider,), extent)
    if isinstance(collider, Solid):
        return ElementCharts(collider.pieces, extent)
    if isinstance(collider, Mesh):
        return MeshCharts(collider.mesh, collider._rows)
    if isinstance(collider, Surface):
        return TerrainCharts(collider)
    if isinstance(collider, Blobs):
        return BlobCharts(np.asarray(collider.centers))
    raise UnsupportedQueryError(f"colliders: {type(collider).__name__} has no two-dimensional coordinates")


class MapCharts:
    """The coordinates of all colliders of a set."""

    def __init__(self, colliders: ColliderSet, extent: float) -> None:
        self.extent = extent
        self.charts = [charts_of(collider, extent) for collider in colliders.colliders]
        # Those of planes and quadrics as one table, and the row of each collider's first; -1 for the others.
        tables = [chart.rows for chart in self.charts if isinstance(chart, ElementCharts)]
        self.rows = np.concatenate([*tables, np.empty((0, CHART_WIDTH))])
        self.first, count = np.full(len(self.charts), -1, np.int64), 0
        for k, chart in enumerate(self.charts):
            if isinstance(chart, ElementCharts):
                self.first[k], count = count, count + len(chart.rows)

    def coordinates(self, collider: Ints, part: Ints, point: Floats, threads: int | None = None) -> Floats:
        """(M, 2) coordinates of impacts; NaN beyond the window of what has no end."""
        from thud.particles.maps.map_rows import chart_rows

        which, piece, at = (np.ascontiguousarray(a, t) for a, t in ((collider, np.int64), (part, np.int64), (point, float)))
        out = np.full((len(which), 2), np.nan)
        run_rows(chart_rows, len(which), threads, self.rows, self.first, which, piece, at, out)
        for k, chart in enumerate(self.charts):
            if isinstance(chart, OwnCoordinates):
                rows = np.flatnonzero(which == k)
                if len(rows):
                    out[rows] = chart.coordinates(piece[rows], at[rows])
        return out

    def points(self, collider: Ints, uv: Floats) -> Floats:
        """(M, 3) points at (M, 2) coordinates."""
        out = np.full((len(collider), 3), np.nan)
        for rows in _by_collider(collider):
            out[rows] = self.charts[int(collider[rows[0]])].points(uv[rows])
        return out


def _by_collider(collider: Ints) -> list[Ints]:
    """Rows of each collider that occurs."""
    if not len(collider):
        return []
    order = np.argsort(collider, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(collider[order])) + 1)


def map_charts(colliders: ColliderSet, extent: float) -> MapCharts:
    """The coordinates of a set; the last ones made are kept with it."""
    kept: MapCharts | None = vars(colliders).get("_charts")
    if kept is None or kept.extent != extent:
        kept = vars(colliders)["_charts"] = MapCharts(colliders, extent)
    return kept


def impact_coordinates(impacts: Any, colliders: Any, *, extent: float = DEFAULT_EXTENT) -> Floats:
    """(M, 2) coordinates (u, v) from 0 to 1 of impacts on their colliders; the pixel of a map of p by q is (u p, v q).

    Parameters
    ----------
    impacts : `ParticleImpacts`
    colliders : those that were hit: a list or a `ColliderSet`
    extent : metres; what has no end (planes, cylinders without ends, ...) is seen within +- this about its own point, centre
        or apex. Beyond that an impact has no coordinates: NaN.
    """
    ready = as_set(colliders)
    if len(impacts.collider) and int(np.max(impacts.collider)) >= len(ready):
        raise InvalidInputError(f"colliders: expected those that were hit, at least {int(np.max(impacts.collider)) + 1}")
    charts = map_charts(ready, as_size(extent, "extent"))
    return charts.coordinates(np.asarray(impacts.collider), np.asarray(impacts.part), np.asarray(impacts.point))


def surface_points(
    colliders: Any, collider: npt.ArrayLike, coordinates: npt.ArrayLike, *, extent: float = DEFAULT_EXTENT
) -> Floats:
    """(M, 3) points on colliders at coordinates, the way back from `impact_coordinates`.

    NaN where an atlas has nothing, and for kinds without a closed form (parabolic and hyperbolic cylinders, pairs of planes).

    Parameters
    ----------
    colliders : a list or a `ColliderSet`
    collider : (M,) or one place in it
    coordinates : (M, 2) from 0 to 1
    extent : as in `impact_coordinates`
    """
    ready = as_set(colliders)
    uv = np.asarray(coordinates, dtype=float)
    uv = uv[None] if uv.ndim == 1 else uv
    if uv.ndim != 2 or uv.shape[1] != 2 or not ((uv >= 0.0) & (uv <= 1.0)).all():
        raise InvalidInputError(f"coordinates: expected (M, 2) numbers from 0 to 1, got shape {np.shape(coordinates)}")
    which = np.broadcast_to(np.asarray(collider, dtype=np.int64), (len(uv),))
    if len(which) and not (which.min() >= 0 and which.max() < len(ready)):
        raise InvalidInputError(f"collider: expected places from 0 to {len(ready) - 1}")
    return map_charts(ready, as_size(extent, "extent")).points(which, uv)
