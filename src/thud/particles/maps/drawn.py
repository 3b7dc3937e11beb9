"""Colliders as triangles: textured ones of dose maps, and those of pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.colliders.field_collider import FieldCollider
from thud.particles.colliders.planar import Plane, Rectangle
from thud.particles.maps.parameters import DEFAULT_EXTENT, ElementCharts, MeshCharts, map_charts
from thud.particles.maps.pixel_areas import is_on

#: Squares a side of a chart that is drawn, at most and at least, and of all charts of a collider together (counts).
_DRAWN, _FEWEST, _MOST = 48, 4, 1_000_000

#: How often a square is halved for its rim.
_HALVINGS = 6


def collider_triangles(collider: Collider, extent: float = DEFAULT_EXTENT) -> Floats:
    """(F, 3, 3) corners that draw a collider, world frame, metres; of what has no end a window of +- `extent`."""
    if isinstance(collider, FieldCollider):
        mesh = collider.to_mesh()
        return np.asarray(mesh.vertices)[np.asarray(mesh.faces)]
    charts = map_charts(ColliderSet([collider]), extent).charts[0]
    points, uv, faces = drawn_triangles(charts)
    if not isinstance(charts, ElementCharts):
        return points[faces]
    # A chart is a square: what is beyond a rim, an outline or a clip, or in a hole, is left out by its middle.
    middle = uv[faces].mean(axis=1) * charts.side
    each = np.floor(middle).astype(np.int64) @ [1, charts.side]
    kept = np.ones(len(faces), bool)
    for k, (piece, chart) in enumerate(zip(charts.pieces, charts.charts, strict=True)):
        own = np.flatnonzero(each == k)
        if not isinstance(piece, (Plane, Rectangle)):
            u, v = (middle[own] - [k % charts.side, k // charts.side]).T
            kept[own] = is_on(piece, chart, u, v)
    return points[faces[kept]]


def drawn_triangles(chart: Any) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Points, coordinates and faces of a collider, to be drawn."""
    if isinstance(chart, MeshCharts):
        fine = np.flatnonzero(chart.atlas.chart >= 0)
        corners = np.stack([chart.first, chart.first + chart.edges[:, 0], chart.first + chart.edges[:, 1]], axis=1)[fine]
        world = corners.reshape(-1, 3) @ chart.turn.T + chart.at
        return world, chart.atlas.flat[fine].reshape(-1, 2), np.arange(3 * len(fine)).reshape(-1, 3)
    side = getattr(chart, "side", 1)
    count = len(getattr(chart, "charts", getattr(chart, "centers", (0,))))
    squares = int(np.clip(np.sqrt(_MOST / max(count, 1)), _FEWEST, _DRAWN))
    line = np.linspace(0.0, 1.0, squares + 1)
    place = np.broadcast_to(np.stack(np.meshgrid(line, line), axis=-1), (count, squares + 1, squares + 1, 2)).copy()
    tile = np.stack([np.arange(count) % side, np.arange(count) // side], axis=1)

    def points_at(local: Floats, k: npt.NDArray[np.int64]) -> Floats:
        """(M, 3) at (M, 2) coordinates in the tiles k, NaN where there is nothing."""
        if not isinstance(chart, ElementCharts):
            return np.asarray(chart.points((np.clip(local, 1e-9, 1.0 - 1e-9) + tile[k]) / side))
        out = np.full((len(k), 3), np.nan)
        for one in np.unique(k):
            out[k == one] = chart.charts[one].points(local[k == one])
        return out

    own = np.repeat(np.arange(count), (squares + 1) ** 2)
    points = points_at(place.reshape(-1, 2), own).reshape(*place.shape[:3], 3)
    _draw_rims(place, points, points_at)
    corner = (np.arange(squares)[:, None] * (squares + 1) + np.arange(squares)).reshape(-1, 1)
    faces = np.concatenate([corner + [0, 1, squares + 2], corner + [0, squares + 2, squares + 1]])
    faces = (faces + (squares + 1) ** 2 * np.arange(count)[:, None, None]).reshape(-1, 3)
    points = points.reshape(-1, 3)
    there = _finite(points)
    return np.nan_to_num(points), (place.reshape(-1, 2) + tile[own]) / side, faces[there[faces].all(axis=1)]


def _draw_rims(place: Floats, points: Floats, points_at: Callable[[Floats, npt.NDArray[np.int64]], Floats]) -> None:
    """Nodes (K, n, n) beyond a rim go to it, towards a neighbour on the surface: squares across it would all be lost."""
    there = _finite(points)
    inside, n = np.full(place.shape, np.nan), there.shape[1]
    for step in ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)):
        to, at = (tuple(slice(max(0, sign * d), n + min(0, sign * d)) for d in step) for sign in (1, -1))
        lost = (~there & ~_finite(inside))[:, *to] & there[:, *at]
        inside[:, *to][lost] = place[:, *at][lost]
    rim = np.nonzero(np.isfinite(inside[..., 0]))
    low, high = inside[rim], place[rim]
    found = points_at(low, rim[0])
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        tried = points_at(middle, rim[0])
        on = _finite(tried)[:, None]
        low, high, found = np.where(on, middle, low), np.where(on, high, middle), np.where(on, tried, found)
    place[rim], points[rim] = low, found


def _finite(points: Floats) -> Bools:
    return np.asarray(np.isfinite(points).all(axis=-1))
