"""Coordinates by charts, with NumPy, a row of a chart an impact."""

from __future__ import annotations

import numpy as np

from thud.particles.maps.element_charts import (
    AROUND,
    CHART_CLOSED,
    CHART_KIND,
    CHART_ORIGIN,
    CHART_TILE,
    CHART_U,
    CHART_V,
    CHART_W,
    SHEETS,
    in_tile,
)
from thud.particles.maps.tolerances import TILE_MARGIN


def chart_coordinates(rows: np.ndarray, point: np.ndarray) -> np.ndarray:
    """(M, 2) coordinates of (M, 3) points, each by its own chart row (M, CHART_WIDTH)."""
    d = point - rows[:, CHART_ORIGIN : CHART_ORIGIN + 3]
    a, b, c = (np.einsum("ij,ij->i", rows[:, at : at + 3], d) + rows[:, at + 3] for at in (CHART_U, CHART_V, CHART_W))
    kind, closed = rows[:, CHART_KIND], rows[:, CHART_CLOSED] != 0.0
    uv = np.column_stack([a, b])
    around, sheets = kind == AROUND, kind == SHEETS
    if around.any():
        turn = np.arctan2(b[around], a[around]) / (2.0 * np.pi)
        uv[around, 0], uv[around, 1] = np.where(turn < 0.0, turn + 1.0, turn), c[around]
    # A bounded collider has coordinates everywhere, roundoff aside.
    uv[closed] = np.clip(uv[closed], 0.0, 1.0)
    outside = ~closed & ~((uv >= 0.0) & (uv <= 1.0)).all(axis=1)
    if sheets.any():
        # The lower sheet keeps to its half.
        upper = c[sheets] > 0.0
        uv[sheets, 0] = np.where(upper, 0.5 + 0.5 * uv[sheets, 0], np.minimum(0.5 * uv[sheets, 0], 0.5 - TILE_MARGIN))
    uv[outside] = np.nan
    return in_tile(uv, rows[:, CHART_TILE], rows[:, CHART_TILE + 1], rows[:, CHART_TILE + 2])
