"""Colliders as triangles: textured ones of dose maps, and those of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.colliders.field_collider import FieldCollider
from thud.particles.colliders.planar import Plane, Rectangle
from thud.particles.maps.parameters import DEFAULT_EXTENT, ElementCharts, MeshCharts, map_charts
from thud.particles.maps.pixel_areas import is_on

#: Squares a side of a chart that is drawn (a count).
_DRAWN = 48


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
    each, middle = faces[:, 0] // (_DRAWN + 1) ** 2, uv[faces].mean(axis=1) * charts.side
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
    line = np.linspace(0.0, 1.0, _DRAWN + 1)
    local = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    corner = (np.arange(_DRAWN)[:, None] * (_DRAWN + 1) + np.arange(_DRAWN)).reshape(-1, 1)
    squares = np.concatenate([corner + [0, 1, _DRAWN + 2], corner + [0, _DRAWN + 2, _DRAWN + 1]])
    points, uv, faces = [], [], []
    for k in range(count):
        at = (np.clip(local, 1e-9, 1.0 - 1e-9) + [k % side, k // side]) / side
        here = chart.charts[k].points(local) if isinstance(chart, ElementCharts) else chart.points(at)
        uv.append((local + [k % side, k // side]) / side)
        points.append(np.nan_to_num(here))
        there = np.asarray(np.isfinite(here).all(axis=1))
        faces.append(squares[there[squares].all(axis=1)] + k * len(local))
    return np.concatenate(points), np.concatenate(uv), np.concatenate(faces)
