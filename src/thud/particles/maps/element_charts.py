"""Two coordinates of a point on a plane or a quadric, as numbers that any backend evaluates. 3.4.2, 3.5.1.

A chart is a row: with d = p - origin, a = U . d + u0, b = V . d + v0, c = W . d + w0, the coordinates (u, v) are

- LINEAR: (a, b): planar colliders in their plane; paraboloids, saddles and what has no kind in plan
- AROUND: (angle of (a, b) / 2 pi, c): ellipsoids, cylinders, cones, hyperboloids of one sheet
- SHEETS: ((a + 1 on the upper sheet) / 2, b): hyperboloids of two sheets in plan

each from 0 to 1. Linear wherever it can be, so that a pixel means the same length all over (3.5.1); (angle, z) of a sphere is
equal in area. What has no end is seen through a window of +- `extent` metres about its own point; beyond it there are no
coordinates (NaN). Several charts of one collider are the tiles of an atlas.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.particles.colliders.element import any_tangents
from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
from thud.particles.colliders.quadric import Quadric, QuadricForm
from thud.particles.maps.tolerances import CLIP_ALONG, TILE_MARGIN

# Kinds that both backends dispatch on.
LINEAR, AROUND, SHEETS = range(3)

# Columns of a chart's row. TILE: column and row of its tile in the atlas, and the tile's side. CLOSED: 1 where all of the
# collider has coordinates, 0 where it is seen through a window.
CHART_ORIGIN, CHART_U, CHART_V, CHART_W, CHART_KIND, CHART_CLOSED, CHART_TILE, CHART_WIDTH = 0, 3, 7, 11, 15, 16, 17, 20


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """The coordinates of one element, and the way back."""

    row: Floats
    """(CHART_WIDTH,) as above."""
    corner: Floats
    """(3,) where (u, v) = (0, 0) is, of planar charts; of quadrics their centre, world frame."""
    edges: Floats
    """(2, 3) from there to (1, 0) and (0, 1), of planar charts."""
    form: QuadricForm | None
    """Of quadrics."""
    ranges: Floats
    """(3, 2) of quadrics: what the chart spans of x, y and z in the form's frame, metres."""

    @property
    def flat(self) -> bool:
        """Whether it is of a planar collider."""
        return self.form is None

    def points(self, uv: Floats) -> Floats:
        """(M, 3) points at (M, 2) coordinates within the tile; NaN where a kind has no way back."""
        if self.form is None:
            return self.corner + uv @ self.edges
        form, (low, high) = self.form, self.ranges.T
        a, b, c = form.radii
        kind = int(self.row[CHART_KIND])
        if kind == AROUND:
            angle, z = 2.0 * np.pi * uv[:, 0], low[2] + uv[:, 1] * (high[2] - low[2])
            rho = {
                "ellipsoid": lambda: np.sqrt(np.maximum(0.0, 1.0 - (z / c) ** 2)),
                "cylinder": lambda: np.ones(len(z)),
                "cone": lambda: np.abs(z),
                "hyperboloid1": lambda: np.sqrt(1.0 + (z / c) ** 2),
            }[form.kind]()
            local = np.column_stack([a * rho * np.cos(angle), b * rho * np.sin(angle), z])
        else:
            u = uv[:, 0]
            upper = u >= 0.5
            if kind == SHEETS:
                u = 2.0 * u - upper
            x, y = low[0] + u * (high[0] - low[0]), low[1] + uv[:, 1] * (high[1] - low[1])
            z = {
                "paraboloid": lambda: (x / a) ** 2 + (y / b) ** 2,
                "saddle": lambda: (x / a) ** 2 - (y / b) ** 2,
                "hyperboloid2": lambda: np.where(upper, 1.0, -1.0) * c * np.sqrt(1.0 + (x / a) ** 2 + (y / b) ** 2),
            }.get(form.kind, lambda: np.full(len(u), np.nan))()
            local = np.column_stack([x, y, z])
        return form.center + local @ form.rotation.T


def piece_chart(piece: Plane | Rectangle | Disc | Polygon | Quadric, extent: float) -> Chart:
    """The chart of one planar or quadric collider, in a tile of its own."""
    if isinstance(piece, Quadric):
        return _quadric_chart(piece, extent)
    corner, edges = _window(piece, extent)
    row = np.zeros(CHART_WIDTH)
    # Dual vectors: U . edge_u = 1, U . edge_v = 0 and the other way round.
    normal = np.cross(edges[0], edges[1])
    u, v = np.cross(edges[1], normal), np.cross(normal, edges[0])
    row[CHART_ORIGIN : CHART_ORIGIN + 3] = corner
    row[CHART_U : CHART_U + 3], row[CHART_V : CHART_V + 3] = u / (u @ edges[0]), v / (v @ edges[1])
    row[CHART_KIND], row[CHART_CLOSED] = LINEAR, 0.0 if isinstance(piece, Plane) else 1.0
    row[CHART_TILE + 2] = 1.0
    return Chart(row, corner, edges, None, np.zeros((3, 2)))


def _window(piece: Plane | Rectangle | Disc | Polygon, extent: float) -> tuple[Floats, Floats]:
    """Corner and edges of what a planar chart spans."""
    if isinstance(piece, Rectangle):
        return np.asarray(piece.origin), np.array([piece.edge_u, piece.edge_v])
    if isinstance(piece, Polygon):
        # The outline's bounding rectangle along its plane's tangents.
        (element,) = piece.elements()
        u, v = any_tangents(element.numbers[:3])
        flat = element.loops[0] * element.size
        low, high = flat.min(axis=0), flat.max(axis=0)
        return element.origin + low[0] * u + low[1] * v, np.array([u * (high[0] - low[0]), v * (high[1] - low[1])])
    middle, half = (piece.point, extent) if isinstance(piece, Plane) else (piece.center, piece.radius)
    u, v = any_tangents(np.asarray(piece.normal))
    return np.asarray(middle) - half * (u + v), np.array([2.0 * half * u, 2.0 * half * v])


def _quadric_chart(piece: Quadric, extent: float) -> Chart:
    form = piece.form
    assert form is not None
    ranges = _ranges(piece, form)
    around = form.kind in ("ellipsoid", "cylinder", "cone", "hyperboloid1")
    needed = [2] if around else [0, 1]
    closed = bool(np.isfinite(ranges[needed]).all())
    for axis in range(3):
        ranges[axis] = _cut(ranges[axis, 0], ranges[axis, 1], extent)
    span = ranges[:, 1] - ranges[:, 0]
    row = np.zeros(CHART_WIDTH)
    row[CHART_ORIGIN : CHART_ORIGIN + 3] = form.center
    x, y, z = form.rotation.T
    if around:
        # Radii make the ellipse a circle; the angle is that circle's.
        row[CHART_U : CHART_U + 3], row[CHART_V : CHART_V + 3] = x / form.radii[0], y / form.radii[1]
    else:
        row[CHART_U : CHART_U + 3], row[CHART_U + 3] = x / span[0], -ranges[0, 0] / span[0]
        row[CHART_V : CHART_V + 3], row[CHART_V + 3] = y / span[1], -ranges[1, 0] / span[1]
    row[CHART_W : CHART_W + 3], row[CHART_W + 3] = z / span[2], -ranges[2, 0] / span[2]
    if form.kind == "hyperboloid2":
        # Which sheet: the sign of z.
        row[CHART_W + 3] = 0.0
    row[CHART_KIND] = AROUND if around else SHEETS if form.kind == "hyperboloid2" else LINEAR
    row[CHART_CLOSED], row[CHART_TILE + 2] = float(closed), 1.0
    return Chart(row, form.center, np.zeros((2, 3)), form, ranges)


def _ranges(piece: Quadric, form: QuadricForm) -> Floats:
    """(3, 2) what a quadric spans in its own frame, infinite where it has no end."""
    ranges = np.tile([-np.inf, np.inf], (3, 1))
    ranges[2] = form.z
    # Clips across its axes.
    for normal_offset in np.asarray(piece.clip):
        length = float(np.linalg.norm(normal_offset[:3]))
        n = form.rotation.T @ normal_offset[:3] / length
        axis = int(np.argmax(np.abs(n)))
        if abs(n[axis]) > CLIP_ALONG:
            offset = (normal_offset[3] - normal_offset[:3] @ form.center) / length
            if n[axis] > 0.0:
                ranges[axis, 1] = min(ranges[axis, 1], offset)
            else:
                ranges[axis, 0] = max(ranges[axis, 0], -offset)
    box = np.asarray(piece.box)
    if np.isfinite(box).all():
        middle, half = 0.5 * (box[:3] + box[3:]) - form.center, 0.5 * (box[3:] - box[:3])
        at, reach = form.rotation.T @ middle, np.abs(form.rotation.T) @ half
        ranges[:, 0], ranges[:, 1] = np.maximum(ranges[:, 0], at - reach), np.minimum(ranges[:, 1], at + reach)
    a, b, c = form.radii
    most = float(np.abs(ranges[2]).max())
    half_plan = np.inf
    if form.kind == "ellipsoid":
        ranges[2, 0], ranges[2, 1] = max(ranges[2, 0], -c), min(ranges[2, 1], c)
    elif form.kind == "paraboloid" and ranges[2, 1] > 0.0:
        half_plan = sqrt(ranges[2, 1])
    elif form.kind == "hyperboloid2" and most > c:
        half_plan = sqrt((most / c) ** 2 - 1.0)
    for axis, radius in enumerate((a, b)):
        ranges[axis] = max(ranges[axis, 0], -radius * half_plan), min(ranges[axis, 1], radius * half_plan)
    # Nothing is left of it: any range will do.
    empty = ~(ranges[:, 0] < ranges[:, 1])
    ranges[empty] = [-1.0, 1.0]
    return ranges


def _cut(low: float, high: float, extent: float) -> tuple[float, float]:
    """A range cut to +- extent where it has no end."""
    if np.isinf(low):
        low = -extent if np.isinf(high) or high > -extent else high - 2.0 * extent
    if np.isinf(high):
        high = extent if low < extent else low + 2.0 * extent
    return low, high


def tiles(count: int) -> int:
    """Tiles a side of a square atlas that holds so many."""
    return max(1, ceil(sqrt(count)))


def tiled(charts: list[Chart]) -> list[Chart]:
    """The charts of one collider, each in its tile: row by row from (0, 0)."""
    side = tiles(len(charts))
    for k, chart in enumerate(charts):
        chart.row[CHART_TILE : CHART_TILE + 3] = k % side, k // side, 1.0 / side
    return charts


def in_tile(uv: Floats, column: Any, row: Any, side: Any) -> Floats:
    """Coordinates in the atlas from those in a tile. Within it: what lies on a border to the next tile stays on this side."""
    size = np.asarray(side)
    inside = np.where((size < 1.0)[..., None], np.minimum(uv, 1.0 - TILE_MARGIN), uv)
    return (inside + np.stack([column, row], axis=-1)) * size[..., None]


def tile_of(uv: Floats, side: int) -> tuple[Ints, Floats]:
    """Tile and coordinates within it of coordinates in an atlas."""
    column_row = np.clip(np.floor(uv * side), 0, side - 1)
    local = np.clip(uv * side - column_row, 0.0, 1.0)
    return (column_row[:, 0] + side * column_row[:, 1]).astype(np.int64), local
