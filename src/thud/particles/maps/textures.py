"""What is known of each place of a collider, read at impacts (5.2.1), and splats painted where they fell (Figure 3.6).

A texture is an array (H, W) or (H, W, K) over the coordinates of `parameters.py`: texel (row, column) covers v from row / H and
u from column / W, a cell of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_positive, as_size
from thud.particles.colliders.collider_set import as_set
from thud.particles.maps.parameters import DEFAULT_EXTENT, ElementCharts, impact_coordinates, map_charts
from thud.particles.maps.tolerances import SPLAT_BACK

#: What textures may be given as: by place of the collider, None or left out where it has none.
Textures = Mapping[int, npt.ArrayLike] | Sequence[npt.ArrayLike | None]


def as_textures(textures: Textures, colliders: int) -> tuple[list[Floats | None], int]:
    """One (H, W, K) array or None a collider, and K."""
    if isinstance(textures, str) or not isinstance(textures, Iterable):
        raise InvalidInputError(f"textures: expected an array for each collider, by place, got a {type(textures).__name__}")
    given: dict[int, Any] = dict(textures) if isinstance(textures, Mapping) else dict(enumerate(textures))
    if any(not 0 <= int(k) < colliders for k in given):
        raise InvalidInputError(f"textures: expected places of colliders from 0 to {colliders - 1}, got {sorted(given)}")
    arrays: list[Floats | None] = [None] * colliders
    depth = 0
    for k, value in given.items():
        if value is None:
            continue
        array = np.asarray(value, dtype=float)
        array = array[:, :, None] if array.ndim == 2 else array
        if array.ndim != 3 or 0 in array.shape or not np.isfinite(array).all():
            raise InvalidInputError(f"textures: row {k}: expected finite (H, W) or (H, W, K), got shape {np.shape(value)}")
        if depth not in (0, array.shape[2]):
            raise InvalidInputError(f"textures: row {k} has {array.shape[2]} channels, others {depth}; expected one number")
        depth, arrays[k] = array.shape[2], np.ascontiguousarray(array)
    return arrays, depth


def texture_at(
    impacts: Any,
    colliders: Any,
    textures: Textures,
    *,
    filter: Literal["nearest", "bilinear"] = "nearest",  # noqa: A002
    extent: float = DEFAULT_EXTENT,
) -> Floats:
    """(M, K) texture of the collider at each impact; 0 where it has none or the impact has no coordinates.

    Parameters
    ----------
    impacts : `ParticleImpacts`
    colliders : those that were hit
    textures : by place of the collider, (H, W) or (H, W, K) each, all of one K; a list may hold None
    filter : "nearest" takes the texel that holds the impact, "bilinear" mixes the four nearest ones
    extent : as in `impact_coordinates`
    """
    ready = as_set(colliders)
    if filter not in ("nearest", "bilinear"):
        raise InvalidInputError(f'filter: expected "nearest" or "bilinear", got {filter!r}')
    arrays, depth = as_textures(textures, len(ready))
    uv = impact_coordinates(impacts, ready, extent=extent)
    return read_textures(np.asarray(impacts.collider), uv, arrays, depth, filter)


def read_textures(
    collider: npt.NDArray[np.int64], uv: Floats, arrays: list[Floats | None], depth: int, filter_name: str
) -> Floats:
    """(M, K) of coordinates (M, 2); see `texture_at`."""
    out = np.zeros((len(collider), depth))
    known = ~np.isnan(uv[:, 0])
    for k, texture in enumerate(arrays):
        rows = np.flatnonzero(known & (collider == k))
        if texture is None or not len(rows):
            continue
        size = np.array([texture.shape[1], texture.shape[0]])
        if filter_name == "nearest":
            x, y = np.minimum((uv[rows] * size).astype(np.int64), size - 1).T
            out[rows] = texture[y, x]
            continue
        at = np.clip(uv[rows] * size - 0.5, 0.0, size - 1.0)
        low = np.minimum(at.astype(np.int64), np.maximum(size - 2, 0))
        high = np.minimum(low + 1, size - 1)
        fx, fy = (at - low).T[:, :, None]
        below = (1.0 - fx) * texture[low[:, 1], low[:, 0]] + fx * texture[low[:, 1], high[:, 0]]
        above = (1.0 - fx) * texture[high[:, 1], low[:, 0]] + fx * texture[high[:, 1], high[:, 0]]
        out[rows] = (1.0 - fy) * below + fy * above
    return out


def splat(
    impacts: Any,
    colliders: Any,
    *,
    resolution: int | tuple[int, int] = 256,
    radius: float = 0.02,
    fastest: float | None = None,
    extent: float = DEFAULT_EXTENT,
) -> npt.NDArray[np.float32]:
    """(C, q, p) coverage from 0 to 1 of each collider's texture by splats: a disc about each impact, as in Figure 3.6.

    Discs are round on the collider, whatever its coordinates do to lengths: a texel is painted if its place on the surface lies
    within the radius of the impact. They go on over edges and over borders of charts, but not through to the back: not on
    faces of a mesh that look away, nor deeper below an impact on another collider than 0.8 of the radius.

    Parameters
    ----------
    impacts : `ParticleImpacts`
    colliders : those that were hit
    resolution : p, or (p, q), texels along u and v
    radius : metres, of the fastest impact; others' in proportion to their speed. At least the texel that was hit is painted
    fastest : m/s; None: that of the impacts
    extent : as in `impact_coordinates`
    """
    from thud.particles.maps.impact_maps import as_resolution
    from thud.particles.maps.splat_points import cover_texels, splat_reach
    from thud.particles.maps.splats import splat_rows

    ready = as_set(colliders)
    p, q = as_resolution(resolution, len(ready))
    radius = as_size(radius, "radius")
    out = np.zeros((len(ready), q, p), np.float32)
    uv = impact_coordinates(impacts, ready, extent=extent)
    known = np.flatnonzero(~np.isnan(uv[:, 0]))
    if not len(known):
        return out
    uv, collider, part = uv[known], np.asarray(impacts.collider)[known], np.asarray(impacts.part)[known]
    top = None if fastest is None else as_positive(fastest, "fastest")
    reach = splat_reach(np.asarray(impacts.speed)[known], radius, top)
    charts = map_charts(ready, as_size(extent, "extent"))
    # Metres a unit of u and v: constant on planes, and all that is needed there.
    metric = np.tile([1.0, 0.0, 1.0], (len(uv), 1))
    paint = reach.copy()
    for k, chart in enumerate(charts.charts):
        here = np.flatnonzero(collider == k)
        if not len(here):
            continue
        if isinstance(chart, ElementCharts) and len(chart.charts) == 1 and chart.charts[0].flat:
            edges = chart.charts[0].edges
            metric[here] = edges[0] @ edges[0], edges[0] @ edges[1], edges[1] @ edges[1]
            continue
        paint[here] = 0.0
        at = SimpleNamespace(point=np.asarray(impacts.point)[known[here]], normal=np.asarray(impacts.normal)[known[here]])
        out[k] = cover_texels(chart, p, q, at, part[here], reach[here], SPLAT_BACK)
    numbers = np.column_stack([uv, paint, metric])
    splat_rows(np.ascontiguousarray(collider), np.ascontiguousarray(numbers), out)
    return out
