"""Where on its collider an impact lies, as two numbers from 0 to 1: the coordinates of impact maps and textures. 3.4.2.

Planes and quadrics have charts (`element_charts.py`); a solid is an atlas of them, one tile a piece; a mesh is an atlas of
charts of neighbouring faces (`mesh_atlas.py`), or has texture coordinates of its own; a displaced surface has its displacement
map, blobs a tile a ball, patches one a tetrahedron (`patch_charts.py`). Every kind also leads from coordinates back to points,
but for quadrics without a name.
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
from thud.particles.colliders.implicit_patches import ImplicitPatches
from thud.particles.colliders.mesh import Mesh
from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
from thud.particles.colliders.quadric import Quadric
from thud.particles.colliders.skeleton import Skeleton
from thud.particles.colliders.solid import Solid
from thud.particles.colliders.surface import Surface
from thud.particles.maps.element_charts import (
    AROUND,
    CHART_KIND,
    CHART_WIDTH,
    Chart,
    in_tile,
    piece_chart,
    tile_of,
    tiled,
    tiles,
)
from thud.particles.maps.mesh_atlas import given_atlas, mesh_atlas
from thud.particles.maps.patch_charts import PatchCharts
from thud.particles.maps.tolerances import FLAT_OVERLAP

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
        self.pieces = pieces
        self.charts: list[Chart] = tiled([piece_chart(piece, extent) for piece in pieces])
        self.rows = np.array([chart.row for chart in self.charts])
        self.side = tiles(len(self.charts))
        self.around = len(self.charts) == 1 and self.rows[0, CHART_KIND] == AROUND

    def points(self, uv: Floats) -> Floats:
        """See `ColliderCharts`."""
        tile, local = tile_of(uv, self.side)
        out = np.full((len(uv), 3), np.nan)
        for k in np.unique(tile):
            if 0 <= k < len(self.charts):
                here = tile == k
                out[here] = self.charts[k].points(local[here])
        return out


class MeshCharts:
    """Coordinates of a mesh: linear in each face, at its place in the atlas (`mesh_atlas.py`)."""

    def __init__(self, mesh: Any, pose_row: Floats, texture: Floats | None) -> None:
        self.turn, self.at = pose_row[:9].reshape(3, 3), pose_row[9:]
        corners = np.asarray(mesh.vertices, dtype=float)[np.asarray(mesh.faces)]
        self.atlas = mesh_atlas(corners) if texture is None else given_atlas(texture)
        self.first, self.edges = corners[:, 0], corners[:, 1:] - corners[:, :1]
        cross = np.cross(self.edges[:, 0], self.edges[:, 1])
        double = np.linalg.norm(cross, axis=1)
        self.areas = 0.5 * double
        """(F,) of faces, square metres."""
        self.normals = (cross / np.where(double > 0.0, double, 1.0)[:, None]) @ self.turn.T
        """(F, 3) of faces, world frame."""
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
        # Within the face, roundoff aside.
        b = np.maximum(b, 0.0)
        b /= np.maximum(b.sum(axis=1), 1.0)[:, None]
        flat = self.atlas.flat[part]
        return np.clip(flat[:, 0] + np.einsum("mi,mik->mk", b, flat[:, 1:] - flat[:, :1]), 0.0, 1.0)

    def points(self, uv: Floats) -> Floats:
        """See `ColliderCharts`."""
        return self.near(uv, (FLAT_OVERLAP, FLAT_OVERLAP))[0]

    def metres(self) -> float:
        """Metres a unit of u and v, a mean: the root of the faces' area over that in the atlas."""
        e, g = (self.atlas.flat[:, k] - self.atlas.flat[:, 0] for k in (1, 2))
        flat = 0.5 * np.abs(e[:, 0] * g[:, 1] - e[:, 1] * g[:, 0]).sum()
        return float(np.sqrt(self.areas.sum() / flat)) if flat > 0.0 else 1.0

    def near(self, uv: Floats, reach: tuple[float, float]) -> tuple[Floats, Ints]:
        """(M, 3) points at coordinates, or at the nearest ones that the atlas has within reach along u and v, and (M,) faces;
        NaN and -1 where there are none."""
        face, b = self.atlas.find(uv, reach)
        out = np.full((len(uv), 3), np.nan)
        there = face >= 0
        f = face[there]
        out[there] = (self.first[f] + np.einsum("mi,mik->mk", b[there], self.edges[f])) @ self.turn.T + self.at
        return out, face


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
    """Coordinates of blobs: a tile a ball, the direction from its centre on an octahedron unfolded to a square: no poles.
    Back: the first place where a ray from the centre crosses the surface, where that ball adds most."""

    def __init__(self, collider: Any, centers: Floats) -> None:
        self.collider, self.centers, self.side = collider, centers, tiles(len(centers))

    def coordinates(self, part: Ints, point: Floats) -> Floats:
        """See `ColliderCharts`."""
        uv = _unfolded(point - self.centers[part])
        return in_tile(uv, part % self.side, part // self.side, np.full(len(part), 1.0 / self.side))

    def points(self, uv: Floats) -> Floats:
        """See `ColliderCharts`."""
        from thud.particles.flight.system import ParticleSystem

        tile, local = tile_of(uv, self.side)
        out = np.full((len(uv), 3), np.nan)
        rows = np.flatnonzero(tile < len(self.centers))
        if not len(rows):
            return out
        toward = _folded(local[rows])
        box = np.asarray(self.collider.box())
        size = float(np.linalg.norm(box[3:] - box[:3]))
        # Rays are particles: in one second they leave all balls.
        rays = ParticleSystem(self.centers[tile[rows]], size * toward, lifetime=1.0, generations=1)
        found = rays.impacts([self.collider], 0.0, 1.0)
        mine = found.part == tile[rows[found.particle]]
        out[rows[found.particle[mine]]] = found.point[mine]
        return out


def _unfolded(d: Floats) -> Floats:
    """(M, 2) of directions (M, 3): on the octahedron |x| + |y| + |z| = 1, the lower half folded out to the square's corners."""
    total = np.abs(d).sum(axis=1, keepdims=True)
    x, y, z = (d / np.where(total > 0.0, total, 1.0)).T
    low = z < 0.0
    u = np.where(low, (1.0 - np.abs(y)) * np.where(x < 0.0, -1.0, 1.0), x)
    v = np.where(low, (1.0 - np.abs(x)) * np.where(y < 0.0, -1.0, 1.0), y)
    return np.clip(0.5 + 0.5 * np.column_stack([u, v]), 0.0, 1.0)


def _folded(uv: Floats) -> Floats:
    """(M, 3) unit directions of coordinates: the way back."""
    u, v = (2.0 * uv - 1.0).T
    z = 1.0 - np.abs(u) - np.abs(v)
    low = z < 0.0
    x = np.where(low, (1.0 - np.abs(v)) * np.where(u < 0.0, -1.0, 1.0), u)
    y = np.where(low, (1.0 - np.abs(u)) * np.where(v < 0.0, -1.0, 1.0), v)
    d = np.column_stack([x, y, z])
    return np.asarray(d / np.linalg.norm(d, axis=1, keepdims=True))


def charts_of(collider: Collider, extent: float) -> ColliderCharts:
    """The coordinates of a collider of any kind."""
    if isinstance(collider, (Plane, Rectangle, Disc, Polygon, Quadric)):
        return ElementCharts((collider,), extent)
    if isinstance(collider, Solid):
        return ElementCharts(collider.pieces, extent)
    if isinstance(collider, Mesh):
        return MeshCharts(collider.mesh, collider._rows, collider._texture)
    if isinstance(collider, Surface):
        return TerrainCharts(collider)
    if isinstance(collider, Blobs):
        return BlobCharts(collider, np.asarray(collider.centers))
    if isinstance(collider, Skeleton):
        return BlobCharts(collider, np.asarray(collider.segments).mean(axis=1))
    if isinstance(collider, ImplicitPatches):
        return PatchCharts(collider)
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

    def near(self, collider: Ints, uv: Floats, reach: tuple[float, float]) -> Floats:
        """(M, 3) points at (M, 2) coordinates, on meshes at the nearest within reach along u and v."""
        out = np.full((len(collider), 3), np.nan)
        for rows in _by_collider(collider):
            chart = self.charts[int(collider[rows[0]])]
            out[rows] = chart.near(uv[rows], reach)[0] if isinstance(chart, MeshCharts) else chart.points(uv[rows])
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
