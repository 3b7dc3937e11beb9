"""Splats on points of surfaces, by distance in space: round on whatever they lie, over edges and borders of charts too."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.particles.maps.tolerances import SPLAT_DEPTH

#: Points that are looked at at a time (a count): some hundred pairs each are held.
_BAND = 200_000


def splat_reach(speed: Floats, radius: float, fastest: float | None) -> Floats:
    """(M,) radius of each splat, metres: in proportion to the speed, `radius` at `fastest` (None: that of the fastest)."""
    top = float(np.max(speed, initial=0.0)) if fastest is None else fastest
    return radius * np.minimum(speed / top, 1.0) if top > 0.0 else np.full(len(speed), radius)


def cover_points(
    points: Floats,
    soft: Floats,
    impacts: Any,
    reach: Floats,
    *,
    normals: Floats | None = None,
    impact_normals: Floats | None = None,
    least: float = -1.0,
) -> Floats:
    """(N,) coverage from 0 to 1 of points on a surface by splats: 1 within each one's radius, with a soft edge.

    Parameters
    ----------
    points : (N, 3) metres; NaN: not covered
    soft : (N,) width of the soft edge, metres
    impacts : with `point` and `normal`
    reach : (M,) radius of each splat, metres
    normals, impact_normals, least : unit normals at points and at impacts; where their cosine is below least, the point looks
        away and is not covered. None: points deep below an impact are not covered
    """
    from scipy.spatial import cKDTree

    out = np.zeros(len(points))
    known = np.flatnonzero(np.isfinite(points).all(axis=1))
    if not len(known) or not len(reach):
        return out
    middle, normal = np.asarray(impacts.point), np.asarray(impacts.normal)
    tree = cKDTree(middle)
    far = float(reach.max() + 0.5 * soft[known].max())
    for start in range(0, len(known), _BAND):
        rows = known[start : start + _BAND]
        pair = cKDTree(points[rows]).sparse_distance_matrix(tree, far, output_type="ndarray")
        n, k, distance = rows[pair["i"]], pair["j"], pair["v"]
        cover = np.clip((reach[k] - distance) / soft[n] + 0.5, 0.0, 1.0)
        if normals is not None and impact_normals is not None:
            cover *= np.einsum("ij,ij->i", normals[n], impact_normals[k]) >= least
        else:
            depth = -np.einsum("ij,ij->i", points[n] - middle[k], normal[k])
            cover *= depth <= SPLAT_DEPTH * reach[k] + 0.5 * soft[n]
        np.maximum.at(out, n, cover)
    return out


def cover_texels(charts: Any, p: int, q: int, impacts: Any, part: Ints, reach: Floats, least: float) -> npt.NDArray[np.float32]:
    """(q, p) coverage of a collider's texture: each texel by the place on the surface of its middle."""
    column, row = np.meshgrid(np.arange(p), np.arange(q))
    uv = np.column_stack([(column.ravel() + 0.5) / p, (row.ravel() + 0.5) / q])
    normals = impact_normals = None
    if hasattr(charts, "near"):
        # Texels at a chart's border too, and one beyond: what is read between two of them is right.
        points, face = charts.near(uv, (1.0 / p, 1.0 / q))
        normals, impact_normals = charts.normals[face], charts.normals[part]
    else:
        points = charts.points(uv)
    grid = points.reshape(q, p, 3)
    # Size of a texel on the surface: from its neighbours, the smaller step of two so that no border counts.
    steps = [np.full((q, p), np.nan), np.full((q, p), np.nan)]
    for axis, step in enumerate(steps):
        size = np.linalg.norm(np.diff(grid, axis=axis), axis=2)
        first = (slice(None), slice(-1)) if axis else (slice(-1),)
        second = (slice(None), slice(1, None)) if axis else (slice(1, None),)
        step[first] = size
        step[second] = np.fmin(step[second], size)
    soft = np.sqrt(steps[0] * steps[1]).ravel()
    usual = np.nanmedian(soft) if np.isfinite(soft).any() else float(reach.max(initial=1.0))
    soft = np.where(
        np.isfinite(soft) & (soft > 0.0), np.clip(soft, 1e-3 * usual, max(float(reach.max(initial=0.0)), 1e-12)), usual
    )
    cover = cover_points(points, soft, impacts, reach, normals=normals, impact_normals=impact_normals, least=least)
    return cover.reshape(q, p).astype(np.float32)
