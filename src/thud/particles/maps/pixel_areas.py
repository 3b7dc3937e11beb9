"""How much of its collider's surface each pixel of a map holds, square metres.

- meshes: faces cut at the borders of pixels, exact but for roundoff
- planes and quadrics: |dp/du x dp/dv| in closed form, by 4 x 4 Gauss points a pixel; where a disc's rim, a polygon's outline or
  a clip crosses a pixel, by 16 x 16 points that lie on the collider or not
- implicit patches: by their slant at 16 places a pixel
- displaced surfaces and blobs: 4 x 4 squares a pixel, two triangles each, between points of the surface
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
from thud.particles.maps.element_charts import AROUND, CHART_KIND, SHEETS, Chart
from thud.particles.maps.parameters import ElementCharts, MeshCharts
from thud.particles.maps.patch_charts import PatchCharts
from thud.particles.maps.tolerances import TILE_MARGIN

#: Gauss points a side of a pixel, points a side where a border crosses it, squares a side of what is sampled (counts).
_GAUSS, _FINE, _SAMPLED = 4, 16, 4


def pixel_areas(charts: Any, p: int, q: int) -> Floats:
    """(q, p) square metres of a collider's surface in each pixel; NaN for quadrics without a way back."""
    if isinstance(charts, MeshCharts):
        from thud.particles.maps.atlas_rows import face_areas

        out = np.zeros((q, p))
        face_areas(charts.atlas.flat, np.ascontiguousarray(charts.areas), out)
        return out
    if isinstance(charts, ElementCharts):
        out = np.zeros((q, p))
        for k, (piece, chart) in enumerate(zip(charts.pieces, charts.charts)):
            _add_piece(piece, chart, k % charts.side, k // charts.side, charts.side, out)
        return out
    if isinstance(charts, PatchCharts):
        return charts.areas(p, q)
    return _sampled(charts, p, q)


def _stretches(place: int, side: int, pixels: int) -> tuple[Any, Floats, Floats]:
    """Pixels along one axis that a tile lies in, and from where to where in the tile's own coordinates."""
    first, last = place * pixels // side, -(-(place + 1) * pixels // side)
    at = np.arange(first, last)
    low = np.maximum(at * side / pixels - place, 0.0)
    high = np.minimum((at + 1) * side / pixels - place, 1.0)
    return at, low, high


def _add_piece(piece: Any, chart: Chart, column: int, row: int, side: int, out: Floats) -> None:
    """Add the areas of one element's chart."""
    q, p = out.shape
    x, u0, u1 = _stretches(column, side, p)
    y, v0, v1 = _stretches(row, side, q)
    node, weight = np.polynomial.legendre.leggauss(_GAUSS)

    def at(points: Floats) -> tuple[Floats, Floats]:
        """(Y, K, X, K) coordinates in the tile, points from 0 to 1 a pixel."""
        u, v = (low[:, None] + points * (high - low)[:, None] for low, high in ((u0, u1), (v0, v1)))
        return np.broadcast_to(u, (len(y), len(points), *u.shape)), np.broadcast_to(v[:, :, None, None], (*v.shape, *u.shape))

    u, v = at(0.5 + 0.5 * node)
    square = (v1 - v0)[:, None] * (u1 - u0)
    area = 0.25 * np.einsum("yjxi,j,i->yx", _density(chart, u, v), weight, weight) * square
    if not isinstance(piece, (Plane, Rectangle)):
        # Pixels that a border crosses: corners and middles differ.
        edge_u, edge_v = at(np.linspace(0.0, 1.0, 5))
        inside = is_on(piece, chart, edge_u, edge_v)
        whole, some = inside.all(axis=(1, 3)), inside.any(axis=(1, 3))
        fine_u, fine_v = at((np.arange(_FINE) + 0.5) / _FINE)
        crossed = np.argwhere(some & ~whole)
        for j, i in crossed:
            uu, vv = fine_u[j, :, i], fine_v[j, :, i]
            there = is_on(piece, chart, uu, vv)
            area[j, i] = square[j, i] * float((_density(chart, uu, vv) * there).mean())
        area[~some] = 0.0
    out[np.ix_(y, x)] += area


def _density(chart: Chart, u: Floats, v: Floats) -> Floats:
    """Square metres a unit of u times a unit of v in the tile."""
    if chart.form is None:
        return np.full(u.shape, float(np.linalg.norm(np.cross(chart.edges[0], chart.edges[1]))))
    form, (low, high) = chart.form, chart.ranges.T
    a, b, c = form.radii
    span, kind = high - low, int(chart.row[CHART_KIND])
    if kind == AROUND:
        # p = (a r cos, b r sin, z) with r^2 a polynomial of z, and r r' half its slope.
        angle, z = 2.0 * np.pi * u, low[2] + v * span[2]
        square, slope = {
            "ellipsoid": lambda: (np.maximum(0.0, 1.0 - (z / c) ** 2), -z / c**2),
            "cylinder": lambda: (np.ones(z.shape), np.zeros(z.shape)),
            "cone": lambda: (z * z, z),
            "hyperboloid1": lambda: (1.0 + (z / c) ** 2, z / c**2),
        }[form.kind]()
        ring = (b * np.cos(angle)) ** 2 + (a * np.sin(angle)) ** 2
        return np.asarray(2.0 * np.pi * span[2] * np.sqrt(square * ring + (a * b * slope) ** 2))
    sheets = kind == SHEETS
    x = low[0] + (2.0 * u - (u >= 0.5) if sheets else u) * span[0]
    y = low[1] + v * span[1]
    root = np.sqrt(1.0 + (x / a) ** 2 + (y / b) ** 2)
    rise = {
        "paraboloid": lambda: (2.0 * x / a**2, 2.0 * y / b**2),
        "saddle": lambda: (2.0 * x / a**2, -2.0 * y / b**2),
        "hyperboloid2": lambda: (c * x / (a**2 * root), c * y / (b**2 * root)),
    }.get(form.kind, lambda: (np.full(x.shape, np.nan), y))()
    return np.asarray((2.0 if sheets else 1.0) * span[0] * span[1] * np.sqrt(1.0 + rise[0] ** 2 + rise[1] ** 2))


def is_on(piece: Any, chart: Chart, u: Floats, v: Floats) -> npt.NDArray[np.bool_]:
    """Whether places of a chart lie on the collider."""
    points = chart.points(np.column_stack([u.ravel(), v.ravel()]))
    if isinstance(piece, Disc):
        return np.asarray(np.linalg.norm(points - np.asarray(piece.center, dtype=float), axis=1) <= piece.radius).reshape(
            u.shape
        )
    if isinstance(piece, Polygon):
        (element,) = piece.elements()
        axes = chart.edges / np.linalg.norm(chart.edges, axis=1)[:, None]
        flat, odd = (points - element.origin) @ axes.T, np.zeros(len(points), bool)
        for loop in element.loops:
            corners = loop * element.size
            for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0)):
                over = (flat[:, 1] < y0) != (flat[:, 1] < y1)
                with np.errstate(divide="ignore", invalid="ignore"):
                    odd ^= over & (flat[:, 0] < x0 + (flat[:, 1] - y0) * (x1 - x0) / (y1 - y0))
        return odd.reshape(u.shape)
    form = piece.form
    size = 1e-9 * (np.abs(chart.ranges).max() + np.abs(form.center).max())
    z = (points - form.center) @ form.rotation[:, 2]
    on = (z >= form.z[0] - size) & (z <= form.z[1] + size) if form.z is not None else np.ones(len(z), bool)
    for clip in np.asarray(piece.clip).reshape(-1, 4):
        on &= points @ clip[:3] <= clip[3] + size * np.linalg.norm(clip[:3])
    box = np.asarray(piece.box)
    on &= ((points >= box[:3] - size) & (points <= box[3:] + size)).all(axis=1)
    return np.asarray(on | np.isnan(points).any(axis=1)).reshape(u.shape)


def _sampled(charts: Any, p: int, q: int) -> Floats:
    """Areas between points of the surface; squares with a corner off it, or in two tiles, are left out."""
    out, step, side = np.zeros((q, p)), np.linspace(TILE_MARGIN * max(p, q), 1.0 - TILE_MARGIN * max(p, q), _SAMPLED + 1), 0
    side = getattr(charts, "side", 1)
    band = max(1, 200_000 // (p * len(step) ** 2))
    for first in range(0, q, band):
        rows = np.arange(first, min(first + band, q))
        u = ((np.arange(p)[:, None] + step) / p).ravel()
        v = ((rows[:, None] + step) / q).ravel()
        uv = np.stack(np.broadcast_arrays(u, v[:, None]), axis=-1)
        points = charts.points(np.clip(uv.reshape(-1, 2), 0.0, 1.0)).reshape(len(rows), len(step), p, len(step), 3)
        tile = np.floor(uv * side).reshape(len(rows), len(step), p, len(step), 2) @ [1.0, side]
        a, b, c, d = (points[:, i : i + _SAMPLED, :, j : j + _SAMPLED] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
        t = [tile[:, i : i + _SAMPLED, :, j : j + _SAMPLED] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1))]
        two = np.linalg.norm(np.cross(b - a, d - a), axis=-1) + np.linalg.norm(np.cross(d - a, c - a), axis=-1)
        one = (t[0] == t[1]) & (t[0] == t[2]) & (t[0] == t[3])
        out[rows] = np.where(one, np.nan_to_num(0.5 * two), 0.0).sum(axis=(1, 3))
    return out
